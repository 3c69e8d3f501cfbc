//! Pre-aggregated profiles of BOLT, for `perf2bolt --pa`.
//!
//! Text, one record a line; addresses are those of the file, in hexadecimal:
//!
//! | record | meaning | versions |
//! |---|---|---|
//! | `B FROM TO COUNT MISPREDICTED` | branch | all |
//! | `F START END COUNT` | range whose branch came from the same function | all |
//! | `f START END COUNT` | range whose branch came from another function | all |
//! | `T FROM TO END COUNT` | branch with the range after it; in version 23 also `MISPREDICTED` | 22, 23 |
//! | `E EVENT`, `S ADDRESS COUNT` | instruction pointers, without branch stacks | 22, 23 |
//!
//! `X:0` is an address outside of the file. The end of an unknown range is `ffffffffffffffff`.

mod records;

use super::{Format, ShowsFunctions};
use crate::branches::binary::BinaryBranches;
use crate::formats::framework::branch_profile::{self, BranchFormat, BranchProfileOptions};
use crate::formats::framework::converter::{ConvertOptions, Converter};
use crate::formats::framework::output::{FormatWriter, OutputFormat, OutputType, RecordFormat};
use perf_data::error::{Error, Result};
use perf_data::stream::ledger::Ledger;
use std::io::Write;

/// Pre-aggregated profiles of BOLT.
pub const FORMAT: Format = Format {
    extensions: &[("preagg", None)],
    output: Some(OutputType::of::<Bolt>()),
    functions: ShowsFunctions::Always,
    ..Format::new("bolt", "profile for perf2bolt --pa")
};

/// A pre-aggregated profile of BOLT with these options.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[non_exhaustive]
pub struct Bolt {
    /// What the profile is of.
    #[cfg_attr(feature = "cli", command(flatten))]
    pub profile: BranchProfileOptions,

    /// Version of BOLT to write records for.
    #[cfg_attr(feature = "cli", arg(long, value_enum, value_name = "VERSION", default_value_t))]
    pub bolt_version: BoltVersion,
}

/// A version of BOLT, by the records that it reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum BoltVersion {
    /// Branches and ranges, which all versions read
    #[default]
    #[cfg_attr(feature = "cli", value(name = "19"))]
    V19,
    /// Traces
    #[cfg_attr(feature = "cli", value(name = "22"))]
    V22,
    /// Traces with mispredictions
    #[cfg_attr(feature = "cli", value(name = "23"))]
    V23,
}

impl OutputFormat for Bolt {
    fn format(&self) -> &'static Format {
        &FORMAT
    }

    fn writer(&self) -> FormatWriter<'_> {
        self.profile.writer(self, self)
    }
}

impl RecordFormat for Bolt {
    fn begin<'a>(&self, out: &'a mut dyn Write, options: &ConvertOptions) -> Box<dyn Converter + 'a> {
        branch_profile::begin(self.clone(), out, options)
    }
}

impl BranchFormat for Bolt {
    fn profile(&self) -> &BranchProfileOptions {
        &self.profile
    }

    fn write(&self, binary: &BinaryBranches, ledger: &mut Ledger, out: &mut dyn Write) -> Result<()> {
        let written = match (binary.has_branches, self.bolt_version) {
            (true, BoltVersion::V19) => records::branches_and_ranges(binary, ledger, out),
            (true, version) => records::traces(binary, version == BoltVersion::V23, out),
            (false, BoltVersion::V19) => {
                let problem = "BOLT before version 22 reads no profiles without branch stacks";
                return Err(Error::invalid(problem).remedy("bolt_version", "22, if yours is"));
            }
            (false, _) => records::samples(binary, out),
        };
        written.map_err(Error::Output)
    }
}
