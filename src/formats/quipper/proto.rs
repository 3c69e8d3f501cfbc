//! Generated messages of `proto/perf_data.proto`, with strings as bytes.

#![expect(clippy::len_without_is_empty, reason = "generated; a field is called `len`")]
#![allow(missing_docs, reason = "generated; the fields are described in proto/perf_data.proto")]

include!(concat!(env!("OUT_DIR"), "/quipper.rs"));
