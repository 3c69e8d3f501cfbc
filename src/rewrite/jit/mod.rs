//! Code that was compiled while the recording was made, so that it has names: ELF images of it, and the records that map them.
//!
//! * [`dump`]: what a jitdump tells; [`map_file`]: what a `perf-PID.map` does.
//! * [`find`]: where these files are.
//! * [`plan`]: which maps are to be told of a jitdump, when; [`pass`](mod@pass): the pass that tells them.
//! * [`perf_map`]: the pass that has the maps of anonymous memory be of an image.
//! * [`live`]: which functions are where in a process.
//! * [`clock`]: the times of a jitdump in the recording's clock.
//! * [`images`]: the files of images, which appear at the end.
//! * [`options`]: the options that say where jitdumps are and images go.

pub mod clock;
pub mod dump;
pub mod find;
pub mod images;
pub mod live;
pub mod map_file;
pub mod options;
pub mod pass;
pub mod perf_map;
pub mod plan;
