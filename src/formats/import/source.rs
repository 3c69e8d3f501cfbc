//! A profile as decoded from one of the imported formats, independent of the format: stacks and values.

use super::memory_limit;
pub use super::source_samples::{SourceSample, SourceSamples};
use crate::profile::imported::{ProfileHeader, SampleTypes};
use bytes::Bytes;
use perf_data::session::interned::Interned;
use perf_data::session::names::{MAX_NAME, truncated};
use perf_data::session::slices::Slices;

/// Memory for a function with a sample of its own, from import to output, as measured with a million functions.
pub(super) const FUNCTION_MEMORY: usize = 1500;

/// The name of the function that stands for those beyond the limit.
const OTHER_FUNCTIONS: &[u8] = b"[other functions]";

/// A profile to be converted to a recording. Everything is interned and referred to by number.
#[derive(Debug, Default)]
pub struct SourceProfile {
    /// The profile's own header; `None` if the format prints a recording.
    pub header: Option<ProfileHeader>,
    /// Events.
    pub events: Vec<SourceEvent>,
    /// Mappings.
    pub mappings: Vec<SourceMapping>,
    /// Names of functions, processes and threads, and paths.
    pub names: Slices<u8>,
    /// Functions; [`Self::function`] adds them.
    pub functions: Interned<SourceFunction>,
    /// The function that stands for those beyond the limit.
    pub other_functions: Option<u32>,
    /// Bytes of the input that have been read so far: they limit the number of functions.
    pub input_size: usize,
    /// Frames.
    pub frames: Vec<SourceFrame>,
    /// Stacks of frame numbers, leaf first.
    pub stacks: Slices<u32>,
    /// Labels that samples have no field for.
    pub labels: SourceLabels,
    /// Samples in the order of the input.
    pub samples: SourceSamples,
    /// Start time, in nanoseconds since 1970.
    pub wall_clock_start: Option<u64>,
    /// Duration in nanoseconds, where samples have no times.
    pub duration: u64,
    /// Version of perf.
    pub perf_version: Option<String>,
    /// Command line of perf.
    pub command: Option<String>,
    /// Whether samples have a label with the CPU mode, which is derived from the leaf.
    pub has_execution_modes: bool,
    /// Whether callers have return addresses, as in recorded call chains.
    pub as_recorded: bool,
    /// Notes about data that is in no output.
    pub lost: Vec<String>,
    /// Notes about data that a recording cannot store, but profiles written from it contain.
    pub lost_in_recording: Vec<String>,
}

impl SourceProfile {
    /// Interns a name, without NULs. This is where the names of imported profiles enter.
    pub fn name(&mut self, text: &str) -> u32 {
        let text = truncated(text.as_bytes(), MAX_NAME);
        let text = str::from_utf8(&text).unwrap_or_default();
        match text.contains('\0') {
            true => self.names.id(text.replace('\0', "").as_bytes()),
            false => self.names.id(text.as_bytes()),
        }
    }

    /// Interns a function. Those for which the input is too small become one.
    pub fn function(&mut self, function: SourceFunction) -> u32 {
        if let Some(id) = self.functions.find(function) {
            return id;
        }
        if self.functions.list().len() < memory_limit(self.input_size) / FUNCTION_MEMORY {
            return self.functions.id(function);
        }
        let Self { other_functions, names, functions, .. } = self;
        *other_functions.get_or_insert_with(|| functions.id(SourceFunction::named(names.id(OTHER_FUNCTIONS))))
    }

    /// Sets the sampling period of each event to the mean of its samples.
    pub fn set_mean_periods(&mut self) {
        let mut sums = vec![(0_u128, 0_u128); self.events.len()];
        for sample in self.samples.iter() {
            let (sum, samples) = &mut sums[sample.event as usize];
            (*sum, *samples) = (*sum + u128::from(sample.value), *samples + 1);
        }
        for (event, (sum, samples)) in self.events.iter_mut().zip(sums) {
            event.period = sum.checked_div(samples).and_then(|mean| u64::try_from(mean).ok()).unwrap_or(0).max(1);
        }
    }
}

/// A function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SourceFunction {
    /// Name, by number.
    pub name: u32,
    /// Mangled name, where the profile has one.
    pub system_name: Option<u32>,
    /// Path of the source file.
    pub file: Option<u32>,
    /// First line; 0 if unknown.
    pub start_line: i64,
}

impl SourceFunction {
    /// A function with only a name.
    pub fn named(name: u32) -> Self {
        Self { name, system_name: Some(name), ..Self::default() }
    }
}

/// An event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceEvent {
    /// Name.
    pub name: String,
    /// Unit, such as `nanoseconds`; `count` for occurrences.
    pub unit: String,
    /// Sampling period; 0 if unknown.
    pub period: u64,
    /// Whether its samples have no period.
    pub has_no_period: bool,
    /// Whether its samples have no call chain.
    pub has_no_chain: bool,
    /// Whether it is a tracepoint, with the text that perf printed of its fields as the only label.
    pub is_printed: bool,
    /// Its columns in the profile, where that has columns.
    pub sample_types: Option<SampleTypes>,
}

/// A mapping, in all processes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceMapping {
    /// Path or name.
    pub path: Bytes,
    /// First address.
    pub start: u64,
    /// One past the last address; at most `start` where addresses are unknown.
    pub limit: u64,
    /// File offset; for the kernel, the address of its reference symbol.
    pub pgoff: u64,
    /// Build ID.
    pub build_id: Option<Bytes>,
    /// Whether it belongs to the kernel.
    pub is_kernel: bool,
}

impl SourceFrame {
    /// The source file and line, where both are known and the line fits a line table.
    pub fn source_line(&self, functions: &Interned<SourceFunction>) -> Option<(u32, u32)> {
        let file = functions.list().get(self.function? as usize)?.file?;
        u32::try_from(self.line).ok().filter(|&line| line > 0).map(|line| (file, line))
    }
}

impl SourceMapping {
    /// Whether it contains an address.
    pub fn has(&self, address: u64) -> bool {
        (self.start..self.limit).contains(&address)
    }

    /// Whether it shares an address with another mapping.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.start < other.limit && other.start < self.limit
    }

    /// Whether something of that name belongs to a kernel: the kernel itself, a module, or code generated at run
    /// time.
    pub fn is_kernel_name(path: &[u8]) -> bool {
        let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or(path);
        let is_module = [&b".ko"[..], b".ko.gz", b".ko.xz", b".ko.zst"].iter().any(|end| name.ends_with(end));
        is_module || path.starts_with(b"[kernel.") || path.starts_with(b"[guest.kernel.")
    }
}

/// A frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SourceFrame {
    /// Number of its mapping.
    pub mapping: Option<u32>,
    /// Address; of callers, that of the last byte of the call, or the return address if
    /// [`as_recorded`](SourceProfile::as_recorded).
    pub address: Option<u64>,
    /// Function number.
    pub function: Option<u32>,
    /// Offset in the function, if known.
    pub offset: Option<u64>,
    /// Line in the function's source file; 0 if unknown.
    pub line: i64,
    /// Column; 0 if unknown.
    pub column: i64,
    /// Whether the function is inlined into that of the next frame, with which it shares a location.
    pub is_inlined: bool,
    /// Whether it is in the kernel; its mapping may say so, too.
    pub is_kernel: bool,
}

/// Labels that samples have no field for, in interned sets. Set 0 is empty.
#[derive(Debug)]
pub struct SourceLabels {
    /// Keys: number of the name, and of the unit for numbers, `None` for strings.
    pub keys: Interned<(u32, Option<u32>)>,
    /// Sets of key numbers and values, sorted by key. Values are numbers, or numbers of names.
    pub sets: Slices<(u32, u64)>,
}

impl Default for SourceLabels {
    fn default() -> Self {
        let mut sets = Slices::default();
        sets.id(&[]);
        Self { keys: Interned::default(), sets }
    }
}
