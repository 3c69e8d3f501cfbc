//! Containers of records: file, pipe and directory.

pub mod access;
pub mod block;
pub mod image;
pub mod limits;
pub mod misframed;
pub mod output;
pub mod read;
pub mod spool;
pub mod temp_directory;
pub mod walk;
pub mod write;
