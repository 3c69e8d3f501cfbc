//! ELF images for code without a file: generated at run time, or known only by its symbols.
//!
//! * [`image`]: contents of an image; [`write`](mod@write): its encoding as a file; [`machine`]: its machine.
//! * [`build_id_directory`]: directories of images.
//! * [`lines`]: source lines; [`unwind`]: unwind tables.

pub mod build_id_directory;
pub mod image;
pub mod lines;
pub mod machine;
pub mod unwind;
pub mod write;
