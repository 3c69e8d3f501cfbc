//! The passes of quipper's perf_converter: `--pass`.

pub(crate) mod address_spaces;
pub(crate) mod combine;
mod discard_unused;
pub(crate) mod huge_pages;
mod mmaps;
pub(crate) mod remap;

use crate::rewrite::framework::pass::Pass;
#[cfg(feature = "cli")]
use crate::rewrite::framework::pass_options::RequestedPass;
use crate::rewrite::framework::pass_options::{PassContext, PassOptions};
#[cfg(feature = "cli")]
use crate::rewrite::framework::pass_type::PassType;
use crate::rewrite::sort::{SortPass, Untimed};
#[cfg(feature = "cli")]
use clap::{Args, FromArgMatches};
use combine::combine;
use discard_unused::UnusedPass;
use huge_pages::{restore_all, restore_existing};
use mmaps::MmapsPass;
use perf_data::container::read::ReadOptions;
use remap::RemapPass;
#[cfg(feature = "cli")]
use std::sync::Arc;

/// Quipper passes as arguments of a command line.
#[cfg(feature = "cli")]
#[derive(clap::Args)]
struct PassArgs {
    /// Apply these quipper passes to the records, separated by commas.
    #[arg(long = "pass", id = "pass", value_name = "PASSES", value_delimiter = ',', value_parser = parser())]
    passes: Vec<Quipper>,
}

/// `--pass`.
#[cfg(feature = "cli")]
pub const PASS: PassType = PassType::new("pass", PassArgs::augment_args, |matches| {
    let passes = PassArgs::from_arg_matches(matches)?.passes.into_iter();
    Ok(passes.map(|pass| Arc::new(pass) as RequestedPass).collect())
})
.pass_per_value()
.for_records(&["pass"]);

#[cfg(feature = "cli")]
fn parser() -> impl clap::builder::TypedValueParser<Value = Quipper> {
    crate::option_values::choice([
        ("sort", Quipper::Sort, "Sort records by time, records without a time first"),
        (
            "huge-pages",
            Quipper::HugePages { with_started: true },
            "Restore the file names of mappings that huge pages replaced",
        ),
        ("combine", Quipper::Combine, "Merge adjacent mappings of the same file"),
        ("remap", Quipper::Remap, "Replace addresses so that they do not reveal the address space layout"),
        ("discard-unused", Quipper::DiscardUnused, "Remove mappings without samples, and FINISHED_ROUND records"),
    ])
}

impl PassOptions for Quipper {
    fn pass(&self, context: &PassContext) -> Box<dyn Pass> {
        self.build(&context.read)
    }
}

/// A quipper pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quipper {
    /// Sorts records by time.
    Sort,
    /// Restores the file names of mappings that huge pages replaced: all of them, or as perf_converter only those that perf found
    /// in `/proc`.
    HugePages {
        /// Whether programs that perf started are considered.
        with_started: bool,
    },
    /// Merges adjacent mappings of the same file.
    Combine,
    /// Replaces addresses so that they do not reveal the address space layout.
    Remap,
    /// Removes mappings without samples, and FINISHED_ROUND records.
    DiscardUnused,
}

impl Quipper {
    /// The passes that perf_converter applies to every recording.
    pub const PERF_CONVERTER: [Self; 3] = [Self::Sort, Self::HugePages { with_started: false }, Self::Combine];

    /// Builds the pass. `options` set the memory limits and the directory of temporary files.
    pub fn build(self, options: &ReadOptions) -> Box<dyn Pass> {
        match self {
            Self::Sort => Box::new(SortPass::new(Untimed::First, options.clone())),
            Self::HugePages { with_started: true } => Box::new(MmapsPass::new("huge-pages", restore_all)),
            Self::HugePages { with_started: false } => Box::new(MmapsPass::new("huge-pages", restore_existing)),
            Self::Combine => Box::new(MmapsPass::new("combine", combine)),
            Self::Remap => Box::new(RemapPass),
            Self::DiscardUnused => Box::new(UnusedPass::default()),
        }
    }
}
