//! Records to records: one pass a file.
//!
//! * [`passes`]: which there are, and in what order they are taken.
//! * [`sort`], [`huge_pages`], [`combine`], [`remap`], [`unused`]: each of them, by quipper's rules.
//! * [`mmap`], [`mmaps`]: what records tell of maps, and how they are told otherwise.
//! * [`spaces`]: what is mapped where in each process.
//! * [`changed`]: how a record is passed on that was changed.

pub mod changed;
pub mod combine;
pub mod huge_pages;
pub mod mmap;
pub mod mmaps;
pub mod passes;
pub mod remap;
pub mod sort;
pub mod spaces;
pub mod unused;
