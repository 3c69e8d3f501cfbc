//! Archives: a recording with the object files of its samples in one file, as `perf archive` creates it.
//!
//! An archive is a tar of `perf.data` and of a build ID cache in perf's layout: `PATH/BUILDID/elf`, `debug`, `kallsyms` or
//! `vdso`, and `.build-id/xx/yyyy...`, a link to the directory `PATH/BUILDID`. Beside these, which perf reads, it contains
//! `PATH/BUILDID/elf.dwp`, `debug.dwp` and `UNIT.dwo` (split DWARF), `[dwz]/BUILDID/debug` (files that dwz moved debug
//! information to), `processes/PID/jit.dump` and `processes/PID/perf.map` (functions of JIT code).
//!
//! The archives that `perf archive` writes have such a cache only, and are compressed with bzip2; with `--all`, one is in an archive
//! with the recording. They are extracted, too.
//!
//! * `scan`: determines which objects and processes are needed; [`files`]: collects their files; [`entry`]: their paths in an
//!   archive.
//! * [`pack`](mod@pack): creates an archive; [`unpack`](mod@unpack): extracts one into a build ID cache.
//! * [`open`](mod@open): opens one for a conversion.

pub mod entry;
pub mod files;
pub mod open;
pub mod pack;
pub(crate) mod scan;
pub mod unpack;
