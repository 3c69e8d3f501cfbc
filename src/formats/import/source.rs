//! A profile that is not a recording, as any of the imported formats describes it: stacks and values.

use crate::profile::imported::{ProfileHeader, SampleTypes};
use crate::session::slices::Slices;
use bytes::Bytes;
use hashbrown::HashMap;

/// A profile that becomes a recording. Everything is stored once, and referred to by its number.
#[derive(Debug, Default)]
pub struct SourceProfile {
    /// The profile's own header; `None` where the format has none because it prints a recording.
    pub header: Option<ProfileHeader>,
    /// What is counted.
    pub events: Vec<SourceEvent>,
    /// What is mapped.
    pub mappings: Vec<SourceMapping>,
    /// Names of functions, of processes and threads, paths.
    pub names: Slices<u8>,
    /// Functions, each once.
    pub functions: SourceFunctions,
    /// Frames, each once.
    pub frames: Vec<SourceFrame>,
    /// Stacks: numbers of frames, leaf first.
    pub stacks: Slices<u32>,
    /// Labels for which samples have no field.
    pub labels: SourceLabels,
    /// Samples in the order in which they were told.
    pub samples: Vec<SourceSample>,
    /// When it began, in nanoseconds since 1970.
    pub wall_clock_start: Option<u64>,
    /// How long it took, where samples do not tell their times.
    pub duration: u64,
    /// Version of perf.
    pub perf_version: Option<String>,
    /// Command line of perf.
    pub command: Option<String>,
    /// Whether samples have a label of the mode that the CPU was in, which is that of the leaf.
    pub has_execution_modes: bool,
    /// Whether addresses of callers are those behind their calls, as call chains have them.
    pub as_recorded: bool,
    /// What is not in any output.
    pub lost: Vec<String>,
    /// What is not in a recording, and is in profiles that are written from it.
    pub lost_in_recording: Vec<String>,
}

/// A function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SourceFunction {
    /// Number of its name.
    pub name: u32,
    /// Number of its name as linkers know it, where the profile has one.
    pub system_name: Option<u32>,
    /// Number of the path of its source file.
    pub file: Option<u32>,
    /// Its first line; 0 where unknown.
    pub start_line: i64,
}

/// Functions by number, each stored once.
#[derive(Debug, Default)]
pub struct SourceFunctions {
    list: Vec<SourceFunction>,
    known: HashMap<SourceFunction, u32>,
}

impl SourceFunctions {
    /// The number of a function.
    pub fn id(&mut self, function: SourceFunction) -> u32 {
        let Self { list, known } = self;
        *known.entry(function).or_insert_with(|| {
            list.push(function);
            list.len() as u32 - 1
        })
    }

    /// The number of a function of which only the name is known.
    pub fn named(&mut self, name: u32) -> u32 {
        self.id(SourceFunction { name, system_name: Some(name), ..SourceFunction::default() })
    }

    /// All of them, by number.
    pub fn list(&self) -> &[SourceFunction] {
        &self.list
    }
}

/// What is counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceEvent {
    /// Its name.
    pub name: String,
    /// In what it is counted, such as `nanoseconds`; `count` for what happens.
    pub unit: String,
    /// How much of it lies between two samples; 0 where that is not known.
    pub period: u64,
    /// Whether its samples do not tell what they stand for.
    pub has_no_period: bool,
    /// Whether its samples tell where the CPU was, and not by which calls.
    pub has_no_chain: bool,
    /// Whether it is a tracepoint, of which the only label is what perf prints of its fields.
    pub is_printed: bool,
    /// The columns that it is in the profile, where that has columns.
    pub sample_types: Option<SampleTypes>,
}

/// What is mapped, of all processes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceMapping {
    /// Path or name.
    pub path: Bytes,
    /// First address.
    pub start: u64,
    /// One past the last address; not beyond the first where addresses are not known.
    pub limit: u64,
    /// Offset in the file; of the kernel the address of its reference symbol.
    pub pgoff: u64,
    /// Build id.
    pub build_id: Option<Bytes>,
    /// Whether it belongs to the kernel.
    pub is_kernel: bool,
}

impl SourceFrame {
    /// The source file, by its number, and the line, where both are known and a line table has room for the line.
    pub fn source_line(&self, functions: &SourceFunctions) -> Option<(u32, u32)> {
        let file = functions.list().get(self.function? as usize)?.file?;
        u32::try_from(self.line).ok().filter(|&line| line > 0).map(|line| (file, line))
    }
}

impl SourceMapping {
    /// Whether an address is in it.
    pub fn has(&self, address: u64) -> bool {
        (self.start..self.limit).contains(&address)
    }

    /// Whether any address is in both.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.start < other.limit && other.start < self.limit
    }

    /// Whether something of that name belongs to a kernel: it, its modules, what it made at run time.
    pub fn is_kernel_name(path: &[u8]) -> bool {
        let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or(path);
        let is_module = [&b".ko"[..], b".ko.gz", b".ko.xz", b".ko.zst"].iter().any(|end| name.ends_with(end));
        is_module || path.starts_with(b"[kernel.") || path.starts_with(b"[guest.kernel.")
    }
}

/// A frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SourceFrame {
    /// What it is in.
    pub mapping: Option<u32>,
    /// Its address, of a caller that of the last byte of its call, unless [all are as recorded](SourceProfile::as_recorded).
    pub address: Option<u64>,
    /// Number of the function.
    pub function: Option<u32>,
    /// How far into the function it is, where that is known.
    pub offset: Option<u64>,
    /// Line in the function's source file; 0 where unknown.
    pub line: i64,
    /// Column in that line; 0 where unknown.
    pub column: i64,
    /// Whether the function is inlined into the one of the frame that follows: both are one location.
    pub is_inlined: bool,
    /// Whether it is of the kernel; what is mapped may tell it as well.
    pub is_kernel: bool,
}

/// A sample, or many of the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SourceSample {
    /// Event.
    pub event: u32,
    /// Stack.
    pub stack: u32,
    /// Process.
    pub pid: Option<u32>,
    /// Thread.
    pub tid: Option<u32>,
    /// Name of the process.
    pub comm: Option<u32>,
    /// Name of the thread.
    pub thread_comm: Option<u32>,
    /// CPU.
    pub cpu: Option<u32>,
    /// Time.
    pub time: Option<u64>,
    /// Path of the cgroup.
    pub cgroup: Option<u32>,
    /// Set of further labels.
    pub labels: u32,
    /// How many samples it is; `None` where that is not known.
    pub count: Option<u64>,
    /// The sum of their periods.
    pub value: u64,
}

/// Labels for which samples have no field, each set once. Set 0 is empty.
#[derive(Debug)]
pub struct SourceLabels {
    /// Keys: number of the name, and of that of the unit of numbers, `None` where it is a text.
    pub keys: Vec<(u32, Option<u32>)>,
    known: HashMap<(u32, Option<u32>), u32>,
    /// Sets of keys' numbers and values: numbers, or numbers of names; in the order of the keys.
    pub sets: Slices<(u32, u64)>,
}

impl Default for SourceLabels {
    fn default() -> Self {
        let mut sets = Slices::default();
        sets.id(&[]);
        Self { keys: Vec::new(), known: HashMap::new(), sets }
    }
}

impl SourceLabels {
    /// The number of a key.
    pub fn key(&mut self, name: u32, unit: Option<u32>) -> u32 {
        let Self { keys, known, .. } = self;
        *known.entry((name, unit)).or_insert_with(|| {
            keys.push((name, unit));
            keys.len() as u32 - 1
        })
    }
}
