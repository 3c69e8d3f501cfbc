//! Object files: their identity, and images of code without a file, generated at run time or known only by its symbols.
//!
//! * [`build_id`]: build IDs; [`build_id_note`]: those of ELF files; [`host`]: whether a local file is the recorded one.
//! * [`jit_dump`], [`perf_map`]: descriptions of code generated at run time; [`jit_files`]: locates them.
//! * [`image`]: contents of an image; `write`: its encoding as a file; [`machine`]: its machine.
//! * [`recorded_file`]: opens files at paths that others choose.
//! * [`build_id_directory`]: directories of images; [`pending_images`]: images that are not yet in place.
//! * [`lines`]: source lines; `unwind`: unwind tables.

pub mod build_id;
pub mod build_id_directory;
pub mod build_id_note;
pub mod function_ranges;
pub mod host;
pub mod image;
pub mod jit_dump;
pub mod jit_files;
pub mod lines;
pub mod machine;
pub mod pending_images;
pub mod perf_map;
pub mod recorded_file;
pub(crate) mod unwind;
pub(crate) mod write;
