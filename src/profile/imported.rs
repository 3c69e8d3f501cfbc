//! What a recording that was converted from another profile has no place for: sample types, labels, header, symbols.
//!
//! It travels beside the recording, so that a profile that is written from the recording has all of it.

use super::labels::Label;
use super::symbols::{FrameSymbol, Function, SymbolSource};
use crate::session::map::Map;
use crate::session::names::Names;
use crate::stream::ledger::Aggregated;
use hashbrown::{Equivalent, HashMap};

/// Type and unit of a column of values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SampleType {
    /// What is counted, such as `cpu`.
    pub kind: String,
    /// In what, such as `nanoseconds`.
    pub unit: String,
}

/// The columns of an event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SampleTypes {
    /// The column that counts samples, if there is one.
    pub samples: Option<SampleType>,
    /// The column of the values.
    pub value: SampleType,
}

/// What a profile says of itself, besides its sample types.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProfileHeader {
    /// What is sampled.
    pub period_type: Option<SampleType>,
    /// How much of it lies between two samples.
    pub period: i64,
    /// Name of the sample type to show first.
    pub default_sample_type: String,
    /// Comments.
    pub comments: Vec<String>,
    /// Regular expression of functions to drop with all that they call.
    pub drop_frames: String,
    /// Regular expression of functions to keep all the same.
    pub keep_frames: String,
    /// Address of a page that explains the profile.
    pub doc_url: String,
    /// When it began, in nanoseconds since 1970.
    pub time_nanos: i64,
    /// How long it took.
    pub duration_nanos: i64,
}

/// A label for which samples have no field: part of their raw data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedLabel {
    /// Its key.
    pub key: String,
    /// The unit of its number; `None` where it is a text.
    pub unit: Option<String>,
    /// Bytes that a text takes in the raw data; a number takes 8.
    pub size: usize,
}

/// A value of such a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportedValue<'a> {
    /// A text.
    Text(&'a [u8]),
    /// A number.
    Number(i64),
}

/// How large a profile is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportedSize {
    /// Values of stacks, as the profile lists them.
    pub values: u64,
    /// Whether each value becomes as many samples as it is the sum of.
    pub counts_samples: bool,
    /// Stacks that differ.
    pub stacks: u64,
    /// Frames that differ.
    pub frames: u64,
    /// Mappings.
    pub mappings: u64,
    /// Name, unit and sum of each event.
    pub totals: Vec<(SampleType, u64)>,
    /// Time of the first and the last sample, where samples have times.
    pub times: Option<(u64, u64)>,
}

/// What is kept of a profile beside the recording that it became.
#[derive(Debug, Default)]
pub struct ImportedProfile {
    /// The columns of events, by the first ID of the event.
    pub sample_types: HashMap<u64, SampleTypes>,
    /// Labels in the raw data of samples, in their order there.
    pub labels: Vec<ImportedLabel>,
    /// Labels that samples of the profile have; `None` where it prints a recording.
    pub default_labels: Option<Vec<Label>>,
    /// The profile's own header; `None` where it prints a recording.
    pub header: Option<ProfileHeader>,
    /// How large the profile is.
    pub size: ImportedSize,
    /// Where its functions are.
    pub symbols: ImportedSymbols,
}

impl ImportedSize {
    /// The account of a profile whose values are sums of samples that it does not count.
    pub fn aggregated(&self) -> Option<Aggregated> {
        let is_aggregated = !self.counts_samples && self.values > 0;
        is_aggregated.then(|| Aggregated { noun: "values", totals: totals(&self.totals) })
    }
}

/// Sums of the first few events in words.
pub fn totals(totals: &[(SampleType, u64)]) -> String {
    const SHOWN: usize = 4;
    let one = |(SampleType { kind, unit }, sum): &(SampleType, u64)| match &unit[..] {
        "count" | "" => format!("{sum} {kind}"),
        unit => format!("{sum} {unit} of {kind}"),
    };
    let mut words: Vec<String> = totals.iter().take(SHOWN).map(one).collect();
    if totals.len() > SHOWN {
        words.push(format!("{} more", totals.len() - SHOWN));
    }
    words.join(", ")
}

impl ImportedProfile {
    /// Calls `found` with the number and the value of each label in the raw data of a sample.
    pub fn for_each_label<'a>(&self, raw: &'a [u8], mut found: impl FnMut(u32, ImportedValue<'a>)) {
        /// Bytes of the fields that the raw data of all tracepoints begins with.
        const COMMON: usize = 8;
        let mut rest = raw.get(COMMON..).unwrap_or_default();
        for (number, label) in (0..).zip(&self.labels) {
            let len = if label.unit.is_some() { size_of::<i64>() } else { label.size };
            let Some((bytes, behind)) = rest.split_at_checked(len) else { return };
            rest = behind;
            match (&label.unit, bytes.first_chunk()) {
                (Some(_), Some(number_bytes)) => match i64::from_le_bytes(*number_bytes) {
                    // A sample without the label has 0 there.
                    0 => {}
                    value => found(number, ImportedValue::Number(value)),
                },
                _ => {
                    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
                    if end > 0 {
                        found(number, ImportedValue::Text(&bytes[..end]));
                    }
                }
            }
        }
    }
}

/// The functions of a profile, by the addresses that their frames have in the recording.
#[derive(Debug, Default)]
pub struct ImportedSymbols {
    /// Texts of functions.
    pub names: Names,
    /// Functions.
    pub functions: Vec<Function>,
    /// The profile's mappings.
    pub mappings: Vec<Map>,
    /// Numbers of files.
    files: HashMap<OwnedFileKey, u32>,
    /// By file and offset in the file.
    in_files: HashMap<(u32, u64), FrameSymbol>,
    /// By address, of the kernel and its modules.
    in_kernel: HashMap<u64, FrameSymbol>,
}

impl ImportedSymbols {
    /// No address is known yet.
    pub fn new(names: Names, functions: Vec<Function>, mappings: Vec<Map>) -> Self {
        Self { names, functions, mappings, ..Self::default() }
    }

    /// Adds what is known about an address in a mapping, unless something is already.
    pub fn add(&mut self, map: &Map, address: u64, is_kernel: bool, symbol: FrameSymbol) {
        if is_kernel {
            self.in_kernel.entry(address).or_insert(symbol);
            return;
        }
        let next = self.files.len() as u32;
        let file = *self.files.entry((map.filename.clone(), map.build_id.clone())).or_insert(next);
        self.in_files.entry((file, offset_in_file(map, address))).or_insert(symbol);
    }

    fn find(&self, map: &Map, address: u64) -> Option<FrameSymbol> {
        let file = self.files.get(&FileKey { path: &map.filename, build_id: map.build_id.as_deref() });
        let in_file = file.and_then(|&file| self.in_files.get(&(file, offset_in_file(map, address))));
        in_file.or_else(|| self.in_kernel.get(&address)).copied()
    }
}

impl SymbolSource for ImportedProfile {
    fn find(&self, map: &Map, address: u64) -> Option<FrameSymbol> {
        self.symbols.find(map, address)
    }

    fn functions(&self) -> &[Function] {
        &self.symbols.functions
    }

    fn mappings(&self) -> &[Map] {
        &self.symbols.mappings
    }

    fn names(&self) -> &Names {
        &self.symbols.names
    }
}

/// Path and build ID of a file.
type OwnedFileKey = (Box<[u8]>, Option<Box<[u8]>>);

/// The same, borrowed.
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
