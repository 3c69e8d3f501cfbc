//! Definitions of jitdump files, by which JIT compilers describe their functions to perf.
//!
//! A file is a [`header::JitDumpHeader`] followed by records, each a [`record::RecordHeader`] and a body. Source:
//! `tools/perf/Documentation/jitdump-specification.txt`. Since Linux 4.7.

pub mod header;
pub mod record;
