//! The bytes of a recording outside its records.
//!
//! Writers lay out files differently: events before or after the records, gaps, spare slots in the feature table, sections
//! that share bytes. Rewriting unchanged records between these bytes reproduces the file.

use bytes::Bytes;

/// All bytes of a file except its records.
#[derive(Clone, Debug, Default)]
pub struct FileImage {
    /// All bytes before the records: the header and, in most files, the events.
    pub before: Bytes,
    /// All bytes after the records: in files the feature table, the features and sometimes the events.
    pub behind: Bytes,
    /// Number of bytes of records between them.
    pub data: u64,
}
