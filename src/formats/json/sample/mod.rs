//! A fast path for ordinary samples, which come by the million: it reads and writes them without serde and owned
//! values.
//!
//! Fields come in the order of [`SampleField`], in which [`Sample`](perf_data::abi::sample::Sample) is serialized, too.
//!
//! Its output equals that of [`value_writer`](super::value_writer), and its input is parsed as by
//! [`object`](super::object), which also handle every sample that is not ordinary.

mod read;
mod write;

pub(super) use read::scan;
pub(super) use write::append;

use perf_data::abi::sample::field::SampleField;
use perf_data::abi::sample_type::SampleType;

/// The supported fields: all but those of special hardware, registers, stacks and counter values.
const ORDINARY: SampleType = SampleField::Raw.up_to().difference(SampleType::READ);

#[cfg(test)]
mod tests;
