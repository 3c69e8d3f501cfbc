//! Sample profiles of LLVM, for `clang -fprofile-sample-use` and `rustc -Zprofile-sample-use`, in the forms that `llvm-profdata merge
//! --sample` converts between.
//!
//! * `text`: lines of text, which `parse` reads; `binary`: the extensible binary form.

mod binary;
mod parse;
mod text;

use super::{Format, ShowsFunctions};
pub use crate::branches::attribution::Correlation;
pub(crate) use parse::add_text;
pub(crate) use text::write as write_text;

use crate::branches::attribution::{Discriminators, attribute};
use crate::branches::binary::BinaryBranches;
use crate::branches::context;
use crate::formats::framework::branch_profile::{self, BranchFormat, BranchProfileOptions};
use crate::formats::framework::converter::{ConvertOptions, Converter};
use crate::formats::framework::output::{FormatWriter, OutputFormat, OutputType, RecordFormat};
use perf_data::error::{Error, Result};
use perf_data::stream::ledger::{Ledger, counted};
use std::io::Write;

/// Sample profiles of LLVM.
pub const FORMAT: Format = Format {
    extensions: &[("sampleprof", None)],
    is_binary: true,
    output: Some(OutputType::of::<Llvm>()),
    functions: ShowsFunctions::Always,
    ..Format::new("llvm", "sample profile for clang and rustc")
};

/// A sample profile of LLVM with these options.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[non_exhaustive]
pub struct Llvm {
    /// What the profile is of.
    #[cfg_attr(feature = "cli", command(flatten))]
    pub profile: BranchProfileOptions,

    /// Form of the profile.
    #[cfg_attr(feature = "cli", arg(long, value_enum, value_name = "FORM", default_value_t))]
    pub llvm_format: LlvmForm,

    /// Compress the sections of a binary form.
    #[cfg_attr(feature = "cli", arg(long))]
    pub llvm_compress: bool,

    /// How code is found in its source.
    #[cfg_attr(feature = "cli", arg(long, value_enum, value_name = "HOW", default_value_t))]
    pub llvm_correlation: Correlation,

    /// Count functions separately by their callers, from call chains, where they are to be inlined.
    #[cfg_attr(feature = "cli", arg(long, conflicts_with = "llvm_correlation"))]
    pub context: bool,
}

/// A form of LLVM's sample profiles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum LlvmForm {
    /// Extensible binary, with names
    #[default]
    Extbinary,
    /// Extensible binary, with hashes of names
    Md5,
    /// Text
    Text,
}

impl OutputFormat for Llvm {
    fn format(&self) -> &'static Format {
        &FORMAT
    }

    fn writer(&self) -> FormatWriter<'_> {
        self.profile.writer(self, self)
    }
}

impl RecordFormat for Llvm {
    fn begin<'a>(&self, out: &'a mut dyn Write, options: &ConvertOptions) -> Box<dyn Converter + 'a> {
        branch_profile::begin(self.clone(), out, options)
    }
}

impl BranchFormat for Llvm {
    fn profile(&self) -> &BranchProfileOptions {
        &self.profile
    }

    fn write(&self, branches: &BinaryBranches, ledger: &mut Ledger, out: &mut dyn Write) -> Result<()> {
        let profile = if self.context {
            context::attribute(branches, ledger)?
        } else {
            attribute(branches, self.llvm_correlation, Discriminators::Composed, ledger)?
        };
        ledger.change(format!("counts of {}", counted(profile.functions.len() as u64, "function")));
        match self.llvm_format {
            LlvmForm::Text => text::write(&profile, out),
            LlvmForm::Extbinary => out.write_all(&binary::encode(&profile, binary::Names::Text, self.llvm_compress)),
            LlvmForm::Md5 => out.write_all(&binary::encode(&profile, binary::Names::Hashes, self.llvm_compress)),
        }
        .map_err(Error::Output)
    }

    fn needs_call_chains(&self) -> bool {
        self.context
    }
}
