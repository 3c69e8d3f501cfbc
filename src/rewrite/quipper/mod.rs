//! The passes of quipper's perf_converter.

pub mod address_spaces;
pub mod combine;
mod discard_unused;
pub mod huge_pages;
mod mmaps;
pub mod remap;

use crate::container::read::ReadOptions;
use crate::rewrite::option::{Choice, Outputs, Parameter, PassOption};
use crate::rewrite::pass::Pass;
use crate::rewrite::request::{PassFactory, PassRequest};
use crate::rewrite::sort::{SortPass, Untimed};
use combine::combine;
use discard_unused::UnusedPass;
use huge_pages::deduce_huge_pages;
use mmaps::MmapsPass;
use remap::RemapPass;

/// `--pass`.
pub const PASS: Parameter<Quipper> = Parameter::list("--pass", "PASSES", Quipper::parse);

/// The option of these passes.
pub const OPTIONS: &[PassOption] = &[PassOption::new(
    &PASS,
    Outputs::Records,
    "What to change of the records, by quipper's rules; separated by commas",
    |values| values.one(&PASS).map(Quipper::factory),
)
.choices(&[
    Choice { name: "sort", help: "Records in the order of time, those without one first" },
    Choice { name: "huge-pages", help: "Name maps that huge pages have hidden by the file that they are parts of" },
    Choice { name: "combine", help: "Tell maps as one that were told in pieces" },
    Choice { name: "remap", help: "Replace addresses by others that say nothing of where a process was" },
    Choice { name: "discard-unused", help: "Leave out maps that no sample was in, and the marks of rounds" },
])
.one_each()];

/// A pass by quipper's rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quipper {
    /// Records in the order of time.
    Sort,
    /// Maps that huge pages have hidden get their file's name.
    HugePages,
    /// Maps that were told in pieces are told as one.
    Combine,
    /// Addresses are replaced by others that say nothing of where a process was.
    Remap,
    /// Maps that no sample was in are left out, and the marks of rounds.
    DiscardUnused,
}

impl Quipper {
    /// What perf_converter does with every recording.
    pub const PERF_CONVERTER: [Self; 3] = [Self::Sort, Self::HugePages, Self::Combine];

    fn parse(text: &str) -> Result<Self, String> {
        match text {
            "sort" => Ok(Self::Sort),
            "huge-pages" => Ok(Self::HugePages),
            "combine" => Ok(Self::Combine),
            "remap" => Ok(Self::Remap),
            "discard-unused" => Ok(Self::DiscardUnused),
            other => Err(format!("{other} is no pass")),
        }
    }

    fn factory(self) -> PassFactory {
        PassFactory::boxed(move |context| self.pass(&context.read))
    }

    /// A request of the pass without an option.
    pub fn request(self) -> PassRequest {
        PassRequest::new(PASS.name(), Outputs::Records, self.factory())
    }

    /// The pass. What is too much for memory goes where the options say.
    pub fn pass(self, options: &ReadOptions) -> Box<dyn Pass> {
        match self {
            Self::Sort => Box::new(SortPass::new(Untimed::First, options.clone())),
            Self::HugePages => Box::new(MmapsPass::new("huge-pages", |mut mmaps| {
                deduce_huge_pages(&mut mmaps);
                mmaps.into_iter().map(Some).collect()
            })),
            Self::Combine => Box::new(MmapsPass::new("combine", combine)),
            Self::Remap => Box::new(RemapPass),
            Self::DiscardUnused => Box::new(UnusedPass::default()),
        }
    }
}
