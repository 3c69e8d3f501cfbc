//! Records: the header that they share, and one file for each type's body.

pub mod build_id;
pub mod comm;
pub mod compressed;
pub mod event_update;
pub mod header;
pub mod ksymbol;
pub mod lost;
pub mod mmap;
pub mod mmap2;
pub mod payload;
pub mod task;

pub use header::{CpuMode, Misc, RecordHeader, RecordType};
