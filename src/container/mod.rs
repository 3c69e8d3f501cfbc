//! Where the bytes lie: files, pipes, directories.

pub mod block;
pub mod read;
pub mod spool;
pub mod walk;
