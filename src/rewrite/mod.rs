//! Records to records: one pass a file.

pub mod maps;
