//! A sample as a row of a table, and its columns.

use super::column::saturated;
use super::field_columns;
use super::schema::SampleTable;
use crate::profile::collect::dispatch::DecodedSample;
use crate::profile::data_source;
use crate::profile::imported::{ImportedProfile, ImportedValue};
use crate::profile::operation::SampledOperation;
use perf_data::abi::Endian;
use perf_data::abi::record::CpuMode;
use perf_data::abi::sample::branch::BranchFlags;
use perf_data::abi::sample::layout::SampleLayout;
use perf_data::abi::sample::weight::Weight;
use perf_data::abi::sample_type::SampleType;
use perf_data::ibs::{IbsSample, IbsUnit};
use perf_data::session::Session;
use perf_data::session::names::{NameId, Names};
use perf_data::session::thread_name::IDLE;
use perf_data::stream::events::{EventIndex, is_time};
use perf_data::stream::meta::Meta;

/// A sample of an event.
#[derive(Clone, Debug)]
pub(super) struct SampleRow {
    /// Event.
    pub event: EventIndex,
    /// What it counts of the event.
    pub value: u64,
    /// Nanoseconds of the recording's clock.
    pub time: Option<u64>,
    /// Process and thread.
    pub task: Option<(u32, u32)>,
    /// Name of the thread.
    pub comm: Option<NameId>,
    /// CPU.
    pub cpu: Option<u32>,
    process: Option<NameId>,
    mode: CpuMode,
    period: Option<u64>,
    ip: Option<u64>,
    addr: Option<u64>,
    phys_addr: Option<u64>,
    weights: [Option<u64>; 3],
    data_src: Option<u64>,
    operation: OperationColumns,
    /// RAW bytes of AMD IBS.
    pub ibs: Option<(IbsUnit, Box<[u8]>)>,
    transaction: Option<u64>,
    cgroup: Option<u64>,
    cgroup_path: Option<NameId>,
    code_page_size: Option<u64>,
    data_page_size: Option<u64>,
    /// Time off the CPU, and latency.
    pub scheduling: SampleScheduling,
    branches: Vec<Branch>,
    field_texts: Vec<Option<String>>,
    labels: Vec<(u32, String)>,
    /// RAW bytes of a tracepoint.
    pub payload: Option<Box<[u8]>>,
}

/// What the sample says about its operation.
#[derive(Clone, Copy, Debug, Default)]
struct OperationColumns {
    kind: Option<&'static str>,
    tlb: Option<&'static str>,
    remote: Option<&'static str>,
    branch_outcome: Option<&'static str>,
    /// Of the access, in all, up to the issue, of the address translation.
    latencies: [Option<u64>; 4],
}

impl From<SampledOperation<'_>> for OperationColumns {
    fn from(operation: SampledOperation<'_>) -> Self {
        Self {
            kind: operation.kind(),
            tlb: operation.tlb(),
            remote: operation.remote(),
            branch_outcome: operation.branch_outcome(),
            latencies: [
                operation.cache_latency(),
                operation.total_latency(),
                operation.issue_latency(),
                operation.translation_latency(),
            ],
        }
    }
}

/// What the scheduler did around a sample, if the recording shows that.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SampleScheduling {
    /// Why the thread stopped running after it.
    pub state: Option<&'static str>,
    /// Nanoseconds that the thread then was off the CPU.
    pub off_cpu: Option<u64>,
    /// The value divided by the number of threads that ran, in nanoseconds.
    pub latency: Option<u64>,
    /// Number of threads that ran.
    pub parallelism: Option<u64>,
}

/// A branch.
#[derive(Clone, Copy, Debug)]
struct Branch {
    from: u64,
    to: u64,
    flags: BranchFlags,
}

/// What is the same for all samples of a recording.
pub(super) struct Common<'a> {
    /// Names of the events.
    pub events: &'a [String],
    /// Names of threads and cgroups.
    pub names: &'a Names,
    /// The clock.
    pub clock: WallClock,
    /// The profile that the recording was converted from.
    pub imported: Option<&'a ImportedProfile>,
}

/// Converts times of the recording's clock to UTC.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WallClock(Option<i128>);

impl WallClock {
    /// The clock of a recording.
    pub(super) fn new(meta: &Meta) -> Self {
        Self(meta.clock_data().map(|clock| i128::from(clock.wall_clock_ns) - i128::from(clock.clockid_ns)))
    }

    /// Nanoseconds since 1970, if known.
    pub(super) fn utc(self, time: Option<u64>) -> Option<i64> {
        i64::try_from(i128::from(time?) + self.0?).ok()
    }
}

impl SampleRow {
    /// The row of a sample for one of the events that it counts for. `tracepoint` is whether its RAW bytes are those of a
    /// tracepoint.
    pub(super) fn new(
        decoded: &DecodedSample<'_>,
        (event, value): (EventIndex, u64),
        session: &Session,
        imported: Option<&ImportedProfile>,
        tracepoint: bool,
    ) -> Self {
        let DecodedSample { raw, view, event: of, .. } = decoded;
        let comm = view.task.and_then(|(_, tid)| session.thread(tid)?.comm);
        let process = view.task.and_then(|(pid, _)| session.process(pid)?.comm);
        let mut labels = Vec::new();
        if let Some((imported, payload)) = imported.zip(view.raw) {
            imported.for_each_label(payload, |number, value| {
                let text = match value {
                    ImportedValue::Text(text) => String::from_utf8_lossy(text).into_owned(),
                    ImportedValue::Number(number) => number.to_string(),
                };
                labels.push((number, text));
            });
        }
        let branches = view.branch_stack.map(|stack| branches(stack.entries.iter(), raw.endian()));
        Self {
            event,
            value,
            time: view.time.filter(|&time| is_time(time)),
            task: view.task,
            comm,
            cpu: view.cpu.map(|(cpu, _)| cpu),
            process,
            mode: decoded.cpu_mode(),
            period: view.period,
            ip: view.ip,
            addr: view.addr,
            phys_addr: view.phys_addr,
            weights: weights(view.weight, &of.layout),
            data_src: view.data_src,
            operation: SampledOperation::new(view, &of.layout).into(),
            ibs: None,
            transaction: view.transaction,
            cgroup: view.cgroup,
            cgroup_path: view.cgroup.and_then(|id| session.cgroup_path(id)),
            code_page_size: view.code_page_size,
            data_page_size: view.data_page_size,
            scheduling: SampleScheduling::default(),
            branches: branches.unwrap_or_default(),
            field_texts: field_columns::texts(view),
            labels,
            payload: view.raw.filter(|_| tracepoint).map(Into::into),
        }
    }

    /// Size of its variable parts.
    pub(super) fn size(&self) -> usize {
        let texts = self.labels.iter().map(|(_, text)| text).chain(self.field_texts.iter().flatten());
        let ibs = self.ibs.as_ref().map(|(_, raw)| raw);
        let payload = self.payload.iter().chain(ibs).map(|bytes| bytes.len()).sum::<usize>();
        texts.map(String::len).sum::<usize>() + size_of_val(&*self.branches) + payload
    }

    /// Appends the row to the columns.
    pub(super) fn append(&self, (columns, field_columns): &mut SampleTable, common: &Common<'_>) {
        let name = |id: NameId| common.names.name(id);
        let signed = |value: Option<u64>| value.map(saturated);
        columns.event.push(common.events.get(self.event as usize).map(String::as_str));
        columns.value.push(Some(saturated(self.value)));
        columns.time.push(signed(self.time));
        columns.timestamp.push(common.clock.utc(self.time));
        columns.pid.push(self.task.map(|(pid, _)| pid as i32));
        columns.tid.push(self.task.map(|(_, tid)| tid as i32));
        columns.comm.push_bytes(self.comm(common.names));
        let is_idle = self.task.is_some_and(|(pid, _)| pid == 0);
        columns.process.push_bytes(self.process.map(name).or(is_idle.then_some(IDLE.as_bytes())));
        columns.cpu.push(self.cpu.map(|cpu| cpu as i32));
        columns.mode.push(mode(self.mode));
        columns.period.push(signed(self.period));
        columns.ip.push(self.ip);
        columns.addr.push(self.addr);
        columns.phys_addr.push(self.phys_addr);
        let [weight, ins_lat, retire_lat] = self.weights.map(signed);
        columns.weight.push(weight);
        columns.ins_lat.push(ins_lat);
        columns.retire_lat.push(retire_lat);
        columns.data_src.push(self.data_src);
        columns.mem_op.push(self.data_src.and_then(data_source::operation));
        columns.mem_level.push(self.data_src.map(data_source::level));
        columns.mem_snoop.push(self.data_src.and_then(data_source::snoop));
        let OperationColumns { kind, tlb, remote, branch_outcome, latencies } = self.operation;
        columns.operation.push(kind);
        columns.tlb.push(tlb);
        columns.remote.push(remote);
        columns.branch_outcome.push(branch_outcome);
        let [cache, total, issue, translation] = latencies.map(signed);
        columns.cache_latency.push(cache);
        columns.total_latency.push(total);
        columns.issue_latency.push(issue);
        columns.translation_latency.push(translation);
        columns.ibs.push(self.ibs.iter().flat_map(|(unit, raw)| ibs_values(*unit, raw)));
        columns.transaction.push(self.transaction);
        columns.cgroup.push_bytes(self.cgroup_path.map(name));
        columns.cgroup_id.push(self.cgroup);
        columns.code_page_size.push(signed(self.code_page_size));
        columns.data_page_size.push(signed(self.data_page_size));
        let SampleScheduling { state, off_cpu, latency, parallelism } = self.scheduling;
        columns.state.push(state);
        columns.off_cpu_ns.push(signed(off_cpu));
        columns.latency_ns.push(signed(latency));
        columns.parallelism.push(parallelism.map(|count| i32::try_from(count).unwrap_or(i32::MAX)));
        for Branch { from, to, flags } in &self.branches {
            let rows = &mut columns.branches.rows;
            rows.from.push(Some(*from));
            rows.to.push(Some(*to));
            rows.mispredicted.push(flags.get(BranchFlags::MISPRED) == 1);
            rows.predicted.push(flags.get(BranchFlags::PREDICTED) == 1);
            rows.cycles.push(Some(flags.get(BranchFlags::CYCLES) as i32));
        }
        columns.branches.end((!self.branches.is_empty()).then_some(self.branches.len()));
        let key = |number: u32| common.imported.and_then(|imported| imported.labels.get(number as usize));
        columns.labels.push(self.labels.iter().filter_map(|(number, text)| Some((&key(*number)?.key, text))));
        field_columns.push(&self.field_texts);
    }

    /// Name of the thread.
    pub(super) fn comm<'a>(&self, names: &'a Names) -> Option<&'a [u8]> {
        let is_idle = self.task.is_some_and(|(_, tid)| tid == 0);
        self.comm.map(|comm| names.name(comm)).or(is_idle.then_some(IDLE.as_bytes()))
    }
}

/// The registers of a sample of AMD IBS that are addresses, and the fields of others.
fn ibs_values(unit: IbsUnit, raw: &[u8]) -> Vec<(&'static str, String)> {
    let mut values = Vec::new();
    for (register, word) in IbsSample::decode(unit, raw).iter().flat_map(IbsSample::registers) {
        match register.fields {
            [] => values.push((register.name, format!("{word:#x}"))),
            fields => values.extend(fields.iter().map(|(name, value)| (*name, value(word).to_string()))),
        }
    }
    values
}

fn branches(mut words: impl Iterator<Item = u64>, endian: Endian) -> Vec<Branch> {
    let mut branches = Vec::new();
    while let (Some(from), Some(to), Some(flags)) = (words.next(), words.next(), words.next()) {
        branches.push(Branch { from, to, flags: BranchFlags::from_word(flags, endian) });
    }
    branches
}

fn weights(word: Option<u64>, layout: &SampleLayout) -> [Option<u64>; 3] {
    let is_struct = layout.sample_type().contains(SampleType::WEIGHT_STRUCT);
    match word {
        Some(word) if is_struct => {
            [Weight::VAR1_DW, Weight::VAR2_W, Weight::VAR3_W].map(|field| Some(Weight(word).get(field)))
        }
        word => [word, None, None],
    }
}

fn mode(mode: CpuMode) -> Option<&'static str> {
    Some(match mode {
        CpuMode::KERNEL => "kernel",
        CpuMode::USER => "user",
        CpuMode::HYPERVISOR => "hypervisor",
        CpuMode::GUEST_KERNEL => "guest kernel",
        CpuMode::GUEST_USER => "guest user",
        _ => return None,
    })
}
