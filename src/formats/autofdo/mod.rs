//! Text profiles of AutoFDO, for `create_llvm_prof --profiler=text`, `create_gcov --profiler=text` and `sample_merger`; simpleperf
//! writes them, too.
//!
//! The numbers of ranges, of addresses and of branches, each followed by a line for each of them: `START-END:COUNT`, `ADDRESS:COUNT`,
//! `FROM->TO:COUNT`. Addresses are offsets in the file, in hexadecimal.

use super::{Format, ShowsFunctions};
use crate::branches::binary::BinaryBranches;
use crate::formats::framework::branch_profile::{self, BranchFormat, BranchProfileOptions};
use crate::formats::framework::converter::{ConvertOptions, Converter};
use crate::formats::framework::output::{FormatWriter, OutputFormat, OutputType, RecordFormat};
use perf_data::error::{Error, Result};
use perf_data::stream::ledger::Ledger;
use std::io::{self, Write};

/// Text profiles of AutoFDO.
pub const FORMAT: Format = Format {
    extensions: &[("autofdo", None)],
    output: Some(OutputType::of::<Autofdo>()),
    functions: ShowsFunctions::Always,
    ..Format::new("autofdo", "text profile for create_llvm_prof and create_gcov")
};

/// A text profile of AutoFDO with these options.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[non_exhaustive]
pub struct Autofdo {
    /// What the profile is of.
    #[cfg_attr(feature = "cli", command(flatten))]
    pub profile: BranchProfileOptions,
}

impl OutputFormat for Autofdo {
    fn format(&self) -> &'static Format {
        &FORMAT
    }

    fn writer(&self) -> FormatWriter<'_> {
        self.profile.writer(self, self)
    }
}

impl RecordFormat for Autofdo {
    fn begin<'a>(&self, out: &'a mut dyn Write, options: &ConvertOptions) -> Box<dyn Converter + 'a> {
        branch_profile::begin(self.clone(), out, options)
    }
}

impl BranchFormat for Autofdo {
    fn profile(&self) -> &BranchProfileOptions {
        &self.profile
    }

    fn write(&self, binary: &BinaryBranches, _: &mut Ledger, out: &mut dyn Write) -> Result<()> {
        write(binary, out).map_err(Error::Output)
    }
}

fn write(binary: &BinaryBranches, out: &mut dyn Write) -> io::Result<()> {
    // Readers add the same difference to all offsets.
    let difference = binary.first_executable().map_or(0, |segment| segment.address.wrapping_sub(segment.offset));
    let offset = |address: u64| address.wrapping_sub(difference);
    let ranges = binary.ranges();
    writeln!(out, "{}", ranges.len())?;
    for ((start, end), count) in ranges {
        writeln!(out, "{:x}-{:x}:{count}", offset(start), offset(end))?;
    }
    writeln!(out, "{}", binary.addresses.len())?;
    for &(address, count) in &binary.addresses {
        writeln!(out, "{:x}:{count}", offset(address))?;
    }
    let branches = binary.branches();
    writeln!(out, "{}", branches.len())?;
    for ((from, to), count) in branches {
        writeln!(out, "{:x}->{:x}:{count}", offset(from), offset(to))?;
    }
    Ok(())
}
