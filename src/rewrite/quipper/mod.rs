//! The passes of quipper's perf_converter: `--pass`.

pub mod address_spaces;
pub mod combine;
mod discard_unused;
pub mod huge_pages;
mod mmaps;
pub mod remap;

use crate::rewrite::option::{Choice, Outputs, Parameter, PassOption};
use crate::rewrite::pass::Pass;
use crate::rewrite::request::{PassFactory, PassRequest};
use crate::rewrite::sort::{SortPass, Untimed};
use combine::combine;
use discard_unused::UnusedPass;
use huge_pages::{restore_all, restore_existing};
use mmaps::MmapsPass;
use perf_data::container::read::ReadOptions;
use remap::RemapPass;

/// `--pass`.
pub const PASS: Parameter<Quipper> = Parameter::list("--pass", "PASSES", Quipper::parse);

/// The option of these passes.
pub const OPTIONS: &[PassOption] = &[PassOption::new(
    &PASS,
    Outputs::Records,
    "Apply these quipper passes to the records, separated by commas",
    |values| values.one(&PASS).map(Quipper::factory),
)
.choices(&[
    Choice { name: "sort", help: "Sort records by time, records without a time first" },
    Choice { name: "huge-pages", help: "Restore the file names of mappings that huge pages replaced" },
    Choice { name: "combine", help: "Merge adjacent mappings of the same file" },
    Choice { name: "remap", help: "Replace addresses so that they do not reveal the address space layout" },
    Choice { name: "discard-unused", help: "Remove mappings without samples, and FINISHED_ROUND records" },
])
.pass_per_value()];

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

    fn parse(text: &str) -> Result<Self, String> {
        match text {
            "sort" => Ok(Self::Sort),
            "huge-pages" => Ok(Self::HugePages { with_started: true }),
            "combine" => Ok(Self::Combine),
            "remap" => Ok(Self::Remap),
            "discard-unused" => Ok(Self::DiscardUnused),
            other => Err(format!("unknown pass '{other}'")),
        }
    }

    fn factory(self) -> PassFactory {
        PassFactory::boxed(move |context| self.pass(&context.read))
    }

    /// Creates a request that does not come from an option.
    pub fn request(self) -> PassRequest {
        PassRequest::new(PASS.name(), Outputs::Records, self.factory())
    }

    /// Builds the pass. `options` set the memory limits and the directory of temporary files.
    pub fn pass(self, options: &ReadOptions) -> Box<dyn Pass> {
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
