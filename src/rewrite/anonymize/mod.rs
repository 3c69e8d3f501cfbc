//! Anonymizes recordings so that they can be shared: `--anonymize`.
//!
//! Known data is replaced or removed by category. Unknown data (records, features, fields, bytes after and between them) cannot
//! be classified and is removed.
//!
//! * [`category`]: the categories, and which are kept; [`vocabulary`]: common words, which are kept.
//! * [`key`]: the secret key; [`permutation`]: keyed permutations of numbers.
//! * [`names`]: replaces names.
//! * [`pages`]: permutes the pages of an address space; [`addresses`]: the address spaces of a recording.
//! * [`replace`]: replaces values; with it [`fields`], [`events`], [`features`], [`cmdline`], [`tracing`], [`records`] and
//!   [`sample`].
//! * [`pass`]: the pass; [`options`]: its options.

pub mod addresses;
pub mod category;
pub mod cmdline;
pub mod events;
pub mod features;
pub mod fields;
pub mod key;
pub mod names;
pub mod options;
pub mod pages;
pub mod pass;
pub mod permutation;
pub mod records;
pub mod replace;
pub mod sample;
pub mod tracing;
pub mod vocabulary;
