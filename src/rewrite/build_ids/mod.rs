//! Adds the build IDs of mapped files to a recording.
//!
//! * [`table`]: stores them in the table of a file, or in the records of a pipe.
//! * [`maps`]: stores them in mapping records.
//! * [`objects`]: collects the mapped files, and those that contain samples.
//! * `resolve`: determines the build ID of each file, or why it has none.
//! * [`find`]: searches build IDs.
//! * [`known_build_ids`]: build IDs given by the user.

pub mod find;
pub mod known_build_ids;
pub mod maps;
pub mod objects;
pub(crate) mod resolve;
pub mod table;
