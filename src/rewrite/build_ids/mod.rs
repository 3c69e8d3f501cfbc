//! Build ids of the files that were mapped, for recordings that do not tell them.
//!
//! * [`table`]: put into the table that a file has, and the records that a pipe has.
//! * [`maps`]: put into the records that tell what was mapped.
//! * [`objects`]: which files were mapped, and which of them samples are in.
//! * [`resolve`]: which build id each of them has, and why some have none.
//! * [`find`]: where build ids are looked for; [`host`]: whether what is here was recorded; [`elf`]: build ids in ELF files.
//! * [`known`]: build ids that the user tells.
//! * [`id`]: a build id.
//! * [`options`]: the options that say where build ids are looked for.

pub mod elf;
pub mod find;
pub mod host;
pub mod id;
pub mod known;
pub mod maps;
pub mod objects;
pub mod options;
pub mod resolve;
pub mod table;
