//! A recording with the objects that its samples are in, in one file that can leave the machine, as `perf archive` makes it.
//!
//! It is a tar of `perf.data` and of a cache of build ids, as perf has it: `PATH/BUILDID/elf`, `debug`, `kallsyms` or `vdso`, and
//! `.build-id/xx/yyyy...`, a link to the folder `PATH/BUILDID`.
//!
//! * [`files`]: the files of an object; [`entry`]: what they are called in an archive.
//! * [`pack`](mod@pack): an archive is made; [`unpack`](mod@unpack): a cache is filled by one.

pub mod entry;
pub mod files;
pub mod pack;
pub mod unpack;
