//! The passes of quipper's perf_converter.

use super::combine::combine;
use super::discard_unused::UnusedPass;
use super::huge_pages::deduce_huge_pages;
use super::mmaps::MmapsPass;
use super::pass::Pass;
use super::remap::RemapPass;
use super::sort::SortPass;
use crate::container::read::ReadOptions;

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

    /// The pass. What is too much for memory goes where the options say.
    pub fn pass(self, options: &ReadOptions) -> Box<dyn Pass> {
        match self {
            Self::Sort => Box::new(SortPass { options: options.clone() }),
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
