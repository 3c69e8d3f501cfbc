//! Recordings that can be shown to others: `--anonymize`.
//!
//! What is known is replaced or left out by what it is; what is not known (records, features, fields, bytes behind and between
//! them) cannot be judged, and goes.
//!
//! * [`category`]: what can be replaced, and what stays; [`vocabulary`]: words that stay because all recordings have them.
//! * [`key`]: the key by which all is replaced; [`permutation`]: numbers in another order by it.
//! * [`names`]: what takes the place of names.
//! * [`pages`]: the pages of an address space in another order; [`addresses`]: those of a recording's spaces.
//! * [`replace`]: what takes the place of each thing; with it [`fields`], [`events`], [`features`], [`cmdline`], [`tracing`],
//!   [`records`] and [`sample`].
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
