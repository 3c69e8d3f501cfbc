//! The tables of a dataset and their columns.

use super::column::{
    Columns, Flag, IdColumn, IdList, Int32, Int64, Structs, Text, TextMap, Timestamp, UInt64, columns,
};
use super::field_columns::FieldColumns;
use arrow_schema::DataType;

/// Version of the schema. It increases when a column changes its meaning or type; new columns do not change it.
pub const SCHEMA_VERSION: i32 = 1;

columns! {
    /// Samples, without their stacks.
    SampleColumns {
        /// Name of the event.
        event: Text,
        /// What the sample counts of the event: its period, or the increase of its counter.
        value: Int64,
        /// Nanoseconds of the recording's clock.
        time: Int64,
        /// Time in UTC, if the recording has clock data.
        timestamp: Timestamp,
        /// Process.
        pid: Int32,
        /// Thread.
        tid: Int32,
        /// Name of the thread.
        comm: Text,
        /// Name of the process: that of its main thread.
        process: Text,
        /// CPU.
        cpu: Int32,
        /// `user`, `kernel`, `guest user`, `guest kernel` or `hypervisor`.
        mode: Text,
        /// Recorded period.
        period: Int64,
        /// Instruction pointer.
        ip: UInt64,
        /// Data address.
        addr: UInt64,
        /// Physical data address.
        phys_addr: UInt64,
        /// Recorded weight; of three weights, the first: the latency of the memory access on x86.
        weight: Int64,
        /// Second of three weights: the latency of the instruction on x86.
        ins_lat: Int64,
        /// Third of three weights: the cycles until retirement on x86.
        retire_lat: Int64,
        /// Recorded data source.
        data_src: UInt64,
        /// Operation of the data source: `load`, `store`, `prefetch` or `exec`.
        mem_op: Text,
        /// Level of the data source, such as `L1` or `Local DRAM`.
        mem_level: Text,
        /// Snoop result of the data source: `None`, `Hit`, `Miss` or `HitM`.
        mem_snoop: Text,
        /// What the instruction does, of samples with a data source: `load`, `store`; of Arm SPE also `atomic`, `branch`, `call`, `return`,
        /// `simd` and others.
        operation: Text,
        /// Whether the TLB had the data address: `hit` or `miss`.
        tlb: Text,
        /// Whether the data was on another socket or node: `yes` or `no`.
        remote: Text,
        /// What became of a branch, of Arm SPE: `taken`, `not_taken` or `mispredicted`.
        branch_outcome: Text,
        /// Latency of the memory access in cycles: the first of three weights.
        cache_latency: Int64,
        /// Latency of the instruction in cycles: the second of three weights, or the only one; of Arm SPE the first.
        total_latency: Int64,
        /// Cycles up to the issue of the instruction, of Arm SPE.
        issue_latency: Int64,
        /// Cycles of the address translation, of Arm SPE.
        translation_latency: Int64,
        /// Registers of AMD IBS by name, and their fields: of `ibs_op`, `IbsDcMissLat` is the latency of a load in cycles.
        ibs: TextMap,
        /// Recorded transaction flags.
        transaction: UInt64,
        /// Path of the cgroup.
        cgroup: Text,
        /// Recorded ID of the cgroup.
        cgroup_id: UInt64,
        /// Page size of the instruction pointer.
        code_page_size: Int64,
        /// Page size of the data address.
        data_page_size: Int64,
        /// Why the thread stopped running after the sample: `blocked`, `uninterruptible`, `preempted` or `unknown`. Of several times, the
        /// longest.
        state: Text,
        /// Nanoseconds that the thread was off the CPU with the stack of the sample.
        off_cpu_ns: Int64,
        /// Of an event that counts nanoseconds, the value divided by the number of threads that ran.
        latency_ns: Int64,
        /// Number of threads that ran: of the process, in a recording of all CPUs.
        parallelism: Int32,
        /// Branch stack, newest branch first.
        branches: Structs<BranchColumns>,
        /// Labels of an imported profile.
        labels: TextMap,
    }
}

/// All columns of samples without their stacks.
pub(super) type SampleTable = (SampleColumns, FieldColumns);

columns! {
    /// Branches.
    BranchColumns {
        /// Source address.
        from: UInt64,
        /// Target address.
        to: UInt64,
        /// Whether the target was mispredicted.
        mispredicted: Flag,
        /// Whether the target was predicted.
        predicted: Flag,
        /// Cycles since the previous branch.
        cycles: Int32,
    }
}

columns! {
    /// The stacks of samples.
    StackOfSample {
        /// Identifier of the stack.
        stack: IdColumn,
    }
}

columns! {
    /// Stacks.
    StackColumns {
        /// Identifier.
        stack: IdColumn,
        /// Identifiers of the frames, innermost first.
        frames: IdList,
        /// Number of frames.
        depth: Int32,
    }
}

columns! {
    /// Frames: a row for each function at an address.
    FrameColumns {
        /// Identifier. The rows of an address have the same.
        frame: IdColumn,
        /// 0 for the innermost function; higher for the functions that it is inlined into.
        depth: Int32,
        /// Identifier of the object; NULL outside of objects.
        object: IdColumn,
        /// Path or name of the object.
        dso: Text,
        /// Offset in the object: in a file from its start, in a kernel from its first address; elsewhere the address itself.
        offset: UInt64,
        /// Name of the function.
        function: Text,
        /// Name of the function in the symbol table.
        system_name: Text,
        /// Source file.
        file: Text,
        /// First line of the function.
        start_line: Int64,
        /// Line.
        line: Int64,
        /// Column.
        column: Int64,
        /// Whether the function is inlined into the next one.
        inlined: Flag,
        /// Whether the address is in a kernel.
        kernel: Flag,
    }
}

columns! {
    /// Objects: files, kernels, and memory with code.
    ObjectColumns {
        /// Identifier.
        object: IdColumn,
        /// Path or name.
        dso: Text,
        /// Build ID in hexadecimal.
        build_id: Text,
        /// Process, for memory with code of a process.
        pid: Int32,
        /// Whether it is a kernel or a part of one.
        kernel: Flag,
        /// Why functions in it are unknown.
        missing: Text,
    }
}

columns! {
    /// Threads.
    ProcessColumns {
        /// Process.
        pid: Int32,
        /// Thread; for the main thread, the process.
        tid: Int32,
        /// Last name of the thread.
        comm: Text,
        /// Creation, in nanoseconds of the recording's clock; NULL if before the recording.
        start: Int64,
        /// Exit, in nanoseconds of the recording's clock; NULL if after the recording.
        end: Int64,
    }
}

columns! {
    /// Mappings, in time order.
    MappingColumns {
        /// Process; -1 for the kernel.
        pid: Int32,
        /// Nanoseconds of the recording's clock; NULL if older than the recording.
        time: Int64,
        /// First address.
        start: UInt64,
        /// One past the last address.
        end: UInt64,
        /// Offset in the file.
        offset: UInt64,
        /// Path or name.
        dso: Text,
        /// Build ID in hexadecimal.
        build_id: Text,
    }
}

columns! {
    /// Records other than samples and those that the stream uses.
    RecordColumns {
        /// Nanoseconds of the recording's clock; NULL if perf synthesized the record.
        time: Int64,
        /// Time in UTC, if the recording has clock data.
        timestamp: Timestamp,
        /// Type, such as `COMM`.
        record: Text,
        /// Process that was running.
        pid: Int32,
        /// Thread that was running.
        tid: Int32,
        /// CPU.
        cpu: Int32,
        /// The object of the record in [JSON Lines](json.md), without the data of AUXTRACE.
        json: Text,
    }
}

columns! {
    /// A part of the ledger.
    LedgerColumns {
        /// Type of the records.
        record: Text,
        /// `emitted` to the tables, `consumed` to interpret others, `not applicable` to tables, or `dropped`.
        outcome: Text,
        /// Why they were dropped.
        reason: Text,
        /// Number of records.
        count: Int64,
    }
}

columns! {
    /// Events.
    EventColumns {
        /// Name.
        event: Text,
        /// Unit of its values: `count`, `nanoseconds` or `bytes`.
        unit: Text,
        /// Type in `perf_event_attr`.
        attr_type: Int64,
        /// Config in `perf_event_attr`.
        config: UInt64,
        /// Period between two samples, if it is fixed or follows from the frequency.
        period: Int64,
        /// Rows of the event in the table of samples.
        samples: Int64,
        /// Sum of their values.
        value: Int64,
    }
}

columns! {
    /// Recordings: one row for each.
    RecordingColumns {
        /// Version of the schema.
        schema_version: Int32,
        /// Version of perfconv.
        perfconv: Text,
        /// Name of the input file; NULL if the recording was anonymized.
        source: Text,
        /// Name of the host.
        host: Text,
        /// Command line of perf.
        command: Text,
        /// Release of the kernel.
        kernel: Text,
        /// Architecture.
        arch: Text,
        /// CPU model.
        cpu: Text,
        /// Version of perf.
        perf: Text,
        /// Number of the clock, as in `clock_gettime(2)`; NULL for that of perf.
        clock: Int32,
        /// Time of the first sample, in nanoseconds of the recording's clock.
        first_time: Int64,
        /// Time of the last sample.
        last_time: Int64,
        /// Time of the first sample in UTC, if the recording has clock data.
        first_timestamp: Timestamp,
        /// Time of the last sample in UTC.
        last_timestamp: Timestamp,
        /// Sample records with rows in the table of samples.
        samples: Int64,
        /// Sample records that were dropped.
        dropped: Int64,
        /// Records that the kernel lost.
        lost_records: Int64,
        /// Samples that the kernel lost.
        lost_samples: Int64,
        /// Number of records by type, without those that are listed at the table of records.
        records: TextMap,
        /// What became of these records.
        ledger: Structs<LedgerColumns>,
        /// Features by name, with their content in [JSON Lines](json.md); in base64 if perfconv cannot decode it.
        features: TextMap,
    }
}

columns! {
    /// The columns of a tracepoint that it has in common with others.
    TracepointColumns {
        /// Nanoseconds of the recording's clock.
        sample_time: Int64,
        /// Time in UTC, if the recording has clock data.
        sample_timestamp: Timestamp,
        /// Process.
        sample_pid: Int32,
        /// Thread.
        sample_tid: Int32,
        /// Name of the thread.
        sample_comm: Text,
        /// CPU.
        sample_cpu: Int32,
        /// Identifier of the stack.
        sample_stack: IdColumn,
    }
}

columns! {
    /// The stack of a sample, in a single table.
    FramesOfSample {
        /// Functions, innermost first.
        frames: Structs<FrameOfSample>,
    }
}

columns! {
    /// A function of a stack.
    FrameOfSample {
        /// Name of the function.
        function: Text,
        /// Path or name of the object.
        dso: Text,
        /// Offset in the object.
        offset: UInt64,
        /// Source file.
        file: Text,
        /// Line.
        line: Int64,
        /// Whether the function is inlined into the next one.
        inlined: Flag,
    }
}

/// Names of tables in a dataset.
pub mod table {
    /// Samples.
    pub const SAMPLES: &str = "samples";
    /// Stacks.
    pub const STACKS: &str = "stacks";
    /// Frames.
    pub const FRAMES: &str = "frames";
    /// Objects.
    pub const OBJECTS: &str = "objects";
    /// Threads.
    pub const PROCESSES: &str = "processes";
    /// Mappings.
    pub const MAPPINGS: &str = "mappings";
    /// Records other than samples. Optional.
    pub const RECORDS: &str = "records";
    /// Events.
    pub const EVENTS: &str = "events";
    /// Recordings.
    pub const RECORDINGS: &str = "recordings";
    /// Directory of the tables of tracepoints: one for each system and name.
    pub const TRACEPOINTS: &str = "tracepoints";
    /// All of them, in the order in which files are put in place: a recording is complete once it has a row in the last.
    pub const ALL: [&str; 10] =
        [OBJECTS, FRAMES, STACKS, PROCESSES, MAPPINGS, RECORDS, EVENTS, TRACEPOINTS, SAMPLES, RECORDINGS];
}

/// A column for documentation: its name, its type in SQL, and its description.
pub type DescribedColumn = (&'static str, String, String);

/// All tables but those of tracepoints with their columns, as documented.
pub fn describe() -> Vec<(&'static str, Vec<DescribedColumn>)> {
    fn columns<C: Columns>() -> Vec<DescribedColumn> {
        let columns = C::describe().into_iter();
        columns.map(|(name, data_type, text)| (name, sql_type(&data_type), text)).collect()
    }
    vec![
        (table::SAMPLES, [columns::<StackOfSample>(), columns::<SampleTable>()].concat()),
        (table::STACKS, columns::<StackColumns>()),
        (table::FRAMES, columns::<FrameColumns>()),
        (table::OBJECTS, columns::<ObjectColumns>()),
        (table::PROCESSES, columns::<ProcessColumns>()),
        (table::MAPPINGS, columns::<MappingColumns>()),
        (table::RECORDS, columns::<RecordColumns>()),
        (table::EVENTS, columns::<EventColumns>()),
        (table::RECORDINGS, columns::<RecordingColumns>()),
        (table::TRACEPOINTS, columns::<TracepointColumns>()),
        ("single table", [columns::<SampleTable>(), columns::<FramesOfSample>()].concat()),
    ]
}

/// The name of a type in DuckDB.
fn sql_type(data_type: &DataType) -> String {
    match data_type {
        DataType::Int32 => "INTEGER".to_owned(),
        DataType::Int64 => "BIGINT".to_owned(),
        DataType::UInt64 => "UBIGINT".to_owned(),
        DataType::Boolean => "BOOLEAN".to_owned(),
        DataType::FixedSizeBinary(_) => "BLOB".to_owned(),
        DataType::Timestamp(..) => "TIMESTAMPTZ_NS".to_owned(),
        DataType::List(element) => format!("{}[]", sql_type(element.data_type())),
        DataType::Map(..) => "MAP(VARCHAR, VARCHAR)".to_owned(),
        DataType::Struct(fields) => {
            let fields = fields.iter().map(|field| format!("{} {}", field.name(), sql_type(field.data_type())));
            format!("STRUCT({})", fields.collect::<Vec<_>>().join(", "))
        }
        _ => "VARCHAR".to_owned(),
    }
}
