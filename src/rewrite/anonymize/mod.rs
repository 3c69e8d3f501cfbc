//! Anonymizes recordings so that they can be shared: `--anonymize`.
//!
//! Known data is replaced or removed by category. Unknown data (records, features, fields, bytes after and between them) cannot
//! be classified and is removed.
//!
//! * [`category`]: the categories, and which are kept; [`vocabulary`]: common words, which are kept.
//! * [`key`]: the secret key; `permutation`: keyed permutations of numbers.
//! * `names`: replaces names.
//! * `pages`: permutes the pages of an address space; `addresses`: the address spaces of a recording.
//! * `replace`: replaces values; with it `fields`, [`events`], `features`, `cmdline`, `tracing`, `records` and
//!   `sample`.
//! * [`pass`]: the pass; [`options`]: its options.

pub(crate) mod addresses;
pub mod category;
pub(crate) mod cmdline;
pub mod events;
pub(crate) mod features;
pub(crate) mod fields;
pub mod key;
pub(crate) mod names;
pub mod options;
pub(crate) mod pages;
pub mod pass;
pub(crate) mod permutation;
pub(crate) mod records;
pub(crate) mod replace;
pub(crate) mod sample;
pub(crate) mod tracing;
pub mod vocabulary;
