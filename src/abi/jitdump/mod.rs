//! What the bytes of a jitdump mean: the file in which a compiler at run time tells perf of the functions that it made.
//!
//! A file is a [`header::Header`] and records, each of which is a [`record::RecordHeader`] and a body of its kind. Source:
//! `tools/perf/Documentation/jitdump-specification.txt` of Linux, since 4.7.

pub mod header;
pub mod record;
