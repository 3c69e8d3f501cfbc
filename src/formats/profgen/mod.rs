//! Unsymbolized profiles of llvm-profgen, for its option `--unsymbolized-profile`: what `--skip-symbolization` writes.
//!
//! Text: the number of ranges, a line `START-END:COUNT` for each, the number of branches, a line `FROM->TO:COUNT` for each. Addresses
//! are hexadecimal, and relative to the page in which the first executable segment begins.

use super::{Format, ShowsFunctions};
use crate::branches::binary::{BinaryBranches, PairCounts};
use crate::formats::framework::branch_profile::{self, BranchFormat, BranchProfileOptions, without_branches};
use crate::formats::framework::converter::{ConvertOptions, Converter};
use crate::formats::framework::output::{FormatWriter, OutputFormat, OutputType, RecordFormat};
use perf_data::error::{Error, Result};
use perf_data::session::map::PAGE;
use perf_data::stream::ledger::Ledger;
use std::io::{self, Write};

/// Unsymbolized profiles of llvm-profgen.
pub const FORMAT: Format = Format {
    extensions: &[("unsymbolized", None)],
    output: Some(OutputType::of::<Profgen>()),
    functions: ShowsFunctions::Always,
    ..Format::new("profgen", "profile for llvm-profgen --unsymbolized-profile")
};

/// An unsymbolized profile of llvm-profgen with these options.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[non_exhaustive]
pub struct Profgen {
    /// What the profile is of.
    #[cfg_attr(feature = "cli", command(flatten))]
    pub profile: BranchProfileOptions,
}

/// Where llvm-profgen puts everything outside of the object.
const OUTSIDE: u64 = 1;

impl OutputFormat for Profgen {
    fn format(&self) -> &'static Format {
        &FORMAT
    }

    fn writer(&self) -> FormatWriter<'_> {
        self.profile.writer(self, self)
    }
}

impl RecordFormat for Profgen {
    fn begin<'a>(&self, out: &'a mut dyn Write, options: &ConvertOptions) -> Box<dyn Converter + 'a> {
        branch_profile::begin(self.clone(), &self.profile, out, options)
    }
}

impl BranchFormat for Profgen {
    fn write(&self, binary: &BinaryBranches, _: &mut Ledger, out: &mut dyn Write) -> Result<()> {
        if !binary.has_branches {
            return Err(without_branches(FORMAT.name));
        }
        let base = binary.first_executable().map_or(0, |segment| segment.address / PAGE * PAGE);
        let mut branches = binary.branches();
        for (to, count) in binary.entries() {
            *branches.entry((OUTSIDE, to)).or_default() += count;
        }
        write(&binary.ranges(), &branches, base, out).map_err(Error::Output)
    }
}

fn write(ranges: &PairCounts, branches: &PairCounts, base: u64, out: &mut dyn Write) -> io::Result<()> {
    for (pairs, between) in [(ranges, "-"), (branches, "->")] {
        writeln!(out, "{}", pairs.len())?;
        for (&(first, second), count) in pairs {
            writeln!(out, "{:x}{between}{:x}:{count}", first.wrapping_sub(base), second.wrapping_sub(base))?;
        }
    }
    Ok(())
}
