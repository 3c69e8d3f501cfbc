//! Writing of record streams as recordings.

pub mod directory;
pub mod file;
pub mod form;
pub mod image;
pub mod pipe;
pub(crate) mod records;
pub mod verbatim;
