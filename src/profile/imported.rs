//! Data of an imported profile that a recording cannot store: sample types, labels, header, symbols.
//!
//! It is kept with the recording, so that a profile written from the recording contains all of it.

use super::labels::Label;
use crate::profile::symbolize::symbols::{FrameSymbol, Function};
use hashbrown::{Equivalent, HashMap};
use perf_data::session::map::Map;
use perf_data::session::names::Names;
use perf_data::stream::ledger::Aggregated;

/// Type and unit of a value column.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SampleType {
    /// What is counted, such as `cpu`.
    pub kind: String,
    /// Unit, such as `nanoseconds`.
    pub unit: String,
}

/// The value columns of an event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SampleTypes {
    /// The column of sample counts, if any.
    pub samples: Option<SampleType>,
    /// The column of values.
    pub value: SampleType,
}

/// The header of a profile, without its sample types.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProfileHeader {
    /// The sampled quantity.
    pub period_type: Option<SampleType>,
    /// Its period between two samples.
    pub period: i64,
    /// Type of the sample values to show first.
    pub default_sample_type: String,
    /// Comments.
    pub comments: Vec<String>,
    /// Regular expression of functions to drop with their callees.
    pub drop_frames: String,
    /// Regular expression of functions to keep nevertheless.
    pub keep_frames: String,
    /// URL of documentation.
    pub doc_url: String,
    /// Start, in nanoseconds since 1970.
    pub time_nanos: i64,
    /// Duration in nanoseconds.
    pub duration_nanos: i64,
}

/// A label without a sample field: part of the samples' raw data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedLabel {
    /// Key.
    pub key: String,
    /// Unit of a number; `None` for a text.
    pub unit: Option<String>,
    /// Bytes of a text in the raw data; a number takes 8.
    pub size: usize,
}

/// A value of an imported label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportedValue<'a> {
    /// A text.
    Text(&'a [u8]),
    /// A number.
    Number(i64),
}

/// The size of a profile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportedSize {
    /// Number of values listed in the profile.
    pub values: u64,
    /// Whether each value is expanded to as many samples as it aggregates.
    pub counts_samples: bool,
    /// Number of distinct stacks.
    pub stacks: u64,
    /// Number of distinct frames.
    pub frames: u64,
    /// Number of mappings.
    pub mappings: u64,
    /// Type and sum of each event.
    pub totals: Vec<(SampleType, u64)>,
    /// Times of the first and the last sample, if samples have times.
    pub times: Option<(u64, u64)>,
}

/// Data of an imported profile that is kept with the recording.
#[derive(Debug, Default)]
pub struct ImportedProfile {
    /// Sample types by the first ID of the event.
    pub sample_types: HashMap<u64, SampleTypes>,
    /// Labels in the raw data of samples, in order.
    pub labels: Vec<ImportedLabel>,
    /// Default labels of the profile's samples; `None` if it prints a recording.
    pub default_labels: Option<Vec<Label>>,
    /// The header; `None` if the profile prints a recording.
    pub header: Option<ProfileHeader>,
    /// The size of the profile.
    pub size: ImportedSize,
    /// The functions by address.
    pub symbols: ImportedSymbols,
}

impl ImportedSize {
    /// The ledger entry of a profile whose values aggregate an unknown number of samples.
    pub fn aggregated(&self) -> Option<Aggregated> {
        let is_aggregated = !self.counts_samples && self.values > 0;
        is_aggregated.then(|| Aggregated { noun: "value", totals: totals(&self.totals) })
    }
}

/// Formats the sums of the first events.
pub fn totals(sums: &[(SampleType, u64)]) -> String {
    const SHOWN: usize = 4;
    let one = |(SampleType { kind, unit }, sum): &(SampleType, u64)| match &unit[..] {
        "count" | "" => format!("{sum} {kind}"),
        unit => format!("{sum} {unit} of {kind}"),
    };
    let mut words: Vec<String> = sums.iter().take(SHOWN).map(one).collect();
    if sums.len() > SHOWN {
        words.push(format!("{} more", sums.len() - SHOWN));
    }
    words.join(", ")
}

impl ImportedProfile {
    /// Calls `on_label` with the number and value of each label in the raw data of a sample.
    pub fn for_each_label<'a>(&self, raw: &'a [u8], mut on_label: impl FnMut(u32, ImportedValue<'a>)) {
        /// Size of the common fields at the start of tracepoint data.
        const COMMON: usize = 8;
        let mut rest = raw.get(COMMON..).unwrap_or_default();
        for (number, label) in (0..).zip(&self.labels) {
            let len = if label.unit.is_some() { size_of::<i64>() } else { label.size };
            let Some((bytes, after)) = rest.split_at_checked(len) else { return };
            rest = after;
            match (&label.unit, bytes.first_chunk()) {
                (Some(_), Some(number_bytes)) => match i64::from_le_bytes(*number_bytes) {
                    // 0 means that the sample lacks the label.
                    0 => {}
                    value => on_label(number, ImportedValue::Number(value)),
                },
                _ => {
                    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
                    if end > 0 {
                        on_label(number, ImportedValue::Text(&bytes[..end]));
                    }
                }
            }
        }
    }
}

/// The functions of a profile, by the addresses of their frames in the recording.
#[derive(Debug, Default)]
pub struct ImportedSymbols {
    /// Strings of functions.
    pub names: Names,
    /// Functions.
    pub functions: Vec<Function>,
    /// The profile's mappings.
    pub mappings: Vec<Map>,
    /// Index of each file.
    files: HashMap<OwnedFileKey, u32>,
    /// Symbols by file and file offset.
    in_files: HashMap<(u32, u64), FrameSymbol>,
    /// Symbols of the kernel and its modules by address.
    in_kernel: HashMap<u64, FrameSymbol>,
}

impl ImportedSymbols {
    /// Creates a table without addresses.
    pub fn new(names: Names, functions: Vec<Function>, mappings: Vec<Map>) -> Self {
        Self { names, functions, mappings, ..Self::default() }
    }

    /// Adds the symbol of an address in a mapping, unless it has one.
    pub fn add(&mut self, map: &Map, address: u64, is_kernel: bool, symbol: FrameSymbol) {
        if is_kernel {
            self.in_kernel.entry(address).or_insert(symbol);
            return;
        }
        let next = self.files.len() as u32;
        let file = *self.files.entry((map.filename.clone(), map.build_id.clone())).or_insert(next);
        self.in_files.entry((file, offset_in_file(map, address))).or_insert(symbol);
    }

    /// The symbol of an address in a mapping.
    pub fn find(&self, map: &Map, address: u64) -> Option<FrameSymbol> {
        let file = self.files.get(&FileKey { path: &map.filename, build_id: map.build_id.as_deref() });
        let in_file = file.and_then(|&file| self.in_files.get(&(file, offset_in_file(map, address))));
        in_file.or_else(|| self.in_kernel.get(&address)).copied()
    }
}

/// Path and build ID of a file.
type OwnedFileKey = (Box<[u8]>, Option<Box<[u8]>>);

/// The borrowed form of [`OwnedFileKey`].
#[derive(Hash)]
struct FileKey<'a> {
    path: &'a [u8],
    build_id: Option<&'a [u8]>,
}

impl Equivalent<OwnedFileKey> for FileKey<'_> {
    fn equivalent(&self, (path, build_id): &OwnedFileKey) -> bool {
        *self.path == **path && self.build_id == build_id.as_deref()
    }
}

fn offset_in_file(map: &Map, address: u64) -> u64 {
    address.wrapping_sub(map.start).wrapping_add(map.pgoff)
}
