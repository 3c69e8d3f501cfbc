//! Samples as most are, which come by the million: written and read without the way through owned values and serde.
//!
//! The order of the fields is that of [`SampleField`], in which [`Sample`](crate::abi::sample::Sample) is written too.
//!
//! What is written is what [`ser`](super::ser) would write, and what is read is read as by
//! [`object`](super::object): whatever is not quite usual is left to these.

mod read;
mod write;

pub use read::scan;
pub use write::append;

use crate::abi::sample_layout::SampleField;
use crate::abi::sample_type::SampleType;

/// The fields that are known here: all but those of special hardware, registers, stacks and counter values.
const USUAL: SampleType = SampleField::Raw.up_to().difference(SampleType::READ);

#[cfg(test)]
mod tests;
