//! Profiles for GCC's `-fauto-profile`, in the version that GCC 12 to 14 read.
//!
//! Words of 32 bits, little-endian; counters are two words, low first: magic number, version, 0, then sections with a tag and a length.

use super::{Format, ShowsFunctions};
use crate::branches::attribution::{Correlation, Discriminators, attribute};
use crate::branches::binary::BinaryBranches;
use crate::branches::source_profile::{FunctionCounts, SourcePosition, SourceProfile};
use crate::formats::framework::branch_profile::{self, BranchFormat, BranchProfileOptions};
use crate::formats::framework::converter::{ConvertOptions, Converter};
use crate::formats::framework::output::{FormatWriter, OutputFormat, OutputType, RecordFormat};
use perf_data::error::{Error, Result};
use perf_data::stream::ledger::{Ledger, counted};
use std::io::Write;

/// Profiles for GCC.
pub const FORMAT: Format = Format {
    extensions: &[("afdo", None)],
    is_binary: true,
    output: Some(OutputType::of::<Gcc>()),
    functions: ShowsFunctions::Always,
    ..Format::new("gcc", "profile for gcc -fauto-profile")
};

/// A profile for GCC with these options.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[non_exhaustive]
pub struct Gcc {
    /// What the profile is of.
    #[cfg_attr(feature = "cli", command(flatten))]
    pub profile: BranchProfileOptions,
}

impl OutputFormat for Gcc {
    fn format(&self) -> &'static Format {
        &FORMAT
    }

    fn writer(&self) -> FormatWriter<'_> {
        self.profile.writer(self, self)
    }
}

impl RecordFormat for Gcc {
    fn begin<'a>(&self, out: &'a mut dyn Write, options: &ConvertOptions) -> Box<dyn Converter + 'a> {
        branch_profile::begin(self.clone(), out, options)
    }
}

impl BranchFormat for Gcc {
    fn profile(&self) -> &BranchProfileOptions {
        &self.profile
    }

    fn write(&self, binary: &BinaryBranches, ledger: &mut Ledger, out: &mut dyn Write) -> Result<()> {
        let profile = attribute(binary, Correlation::Lines, Discriminators::Plain, ledger)?.renamed(gcc_name);
        ledger.change(format!("counts of {}", counted(profile.functions.len() as u64, "function")));
        out.write_all(&encode(&profile)).map_err(Error::Output)
    }
}

const MAGIC: u32 = 0x6763_6461;
const VERSION: u32 = 2;
/// Tags of sections.
const STRINGS: u32 = 0xaa00_0000;
const FUNCTIONS: u32 = 0xac00_0000;
const MODULES: u32 = 0xae00_0000;
const WORKING_SET: u32 = 0xaf00_0000;
/// Words of the working set, which GCC does not read.
const WORKING_SET_WORDS: usize = 384;
/// Kind of a histogram of targets.
const TARGETS: u32 = 7;

/// The name that GCC compares: it removes the suffixes of clones from its own names, and names constructors and destructors whose code
/// is shared by their complete form.
fn gcc_name(name: &[u8]) -> Vec<u8> {
    let mut name = name[..memchr::memchr(b'.', name).unwrap_or(name.len())].to_vec();
    for shared in [&b"C4Ev"[..], b"D4Ev"] {
        if let Some(at) = memchr::memmem::find(&name, shared) {
            name[at + 1] = b'2';
        }
    }
    name
}

/// Words of a profile.
#[derive(Default)]
struct Words(Vec<u8>);

impl Words {
    fn word(&mut self, word: u32) {
        self.0.extend_from_slice(&word.to_le_bytes());
    }

    fn counter(&mut self, counter: u64) {
        self.0.extend_from_slice(&counter.to_le_bytes());
    }

    /// Appends a section with its length in words, which GCC ignores.
    fn section(&mut self, tag: u32, contents: &Self) {
        self.word(tag);
        self.word((contents.0.len() / size_of::<u32>()) as u32);
        self.0.extend_from_slice(&contents.0);
    }
}

/// Encodes a profile whose names are sorted.
fn encode(profile: &SourceProfile) -> Vec<u8> {
    let mut strings = Words::default();
    // Number 0 is the empty name, so that others are numbered from 1.
    strings.word(profile.names().len() as u32 + 1);
    for name in std::iter::once(&b""[..]).chain(profile.names().iter().map(|name| &**name)) {
        strings.word(name.len() as u32 + 1);
        strings.0.extend_from_slice(name);
        strings.0.push(0);
    }
    let mut functions = Words::default();
    functions.word(profile.functions.len() as u32);
    for (name, counts) in &profile.functions {
        functions.counter(counts.head);
        function(*name, counts, &mut functions);
    }
    let mut out = Words::default();
    [MAGIC, VERSION, 0].into_iter().for_each(|word| out.word(word));
    out.section(STRINGS, &strings);
    out.section(FUNCTIONS, &functions);
    out.section(MODULES, &Words(vec![0; size_of::<u32>()]));
    out.section(WORKING_SET, &Words(vec![0; WORKING_SET_WORDS * size_of::<u32>()]));
    out.0
}

fn function(name: u32, counts: &FunctionCounts, out: &mut Words) {
    out.word(name + 1);
    out.word(counts.body.len() as u32);
    out.word(counts.each_inlined().count() as u32);
    for (at, count) in &counts.body {
        out.word(offset(*at));
        out.word(count.targets.len() as u32);
        out.counter(count.count);
        for (target, count) in FunctionCounts::sorted_targets(count) {
            out.word(TARGETS);
            out.counter(u64::from(target) + 1);
            out.counter(count);
        }
    }
    for (at, name, inlined) in counts.each_inlined() {
        out.word(offset(at));
        function(name, inlined, out);
    }
}

fn offset(at: SourcePosition) -> u32 {
    at.line << 16 | at.discriminator & 0xffff
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_that_gcc_compares() {
        let name = |name: &str| String::from_utf8(gcc_name(name.as_bytes())).unwrap();
        assert_eq!(name("run.constprop.0"), "run");
        assert_eq!([name("_ZN3AppC4Ev"), name("_ZN3AppD4Ev")], ["_ZN3AppC2Ev", "_ZN3AppD2Ev"]);
    }
}
