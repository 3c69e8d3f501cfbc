//! Records to records: one pass a file.
//!
//! * [`pass`]: what a pass is; [`passes`]: passes one behind the other.
//! * [`registry`]: all passes that can be asked for; [`option`]: the options that do so; [`option_values`]: values that several
//!   of them take; [`request`]: a pass that is asked for.
//! * [`header`]: what a recording tells of itself, to be edited; [`edited_header`]: that put in place, whatever the container.
//! * [`each`], [`replacement`]: what makes it easy to write a pass: records one by one, and how one is passed on that was changed.
//! * [`by_time`]: all records in the order of time.
//! * [`header_edits`]: features set, added and left out.
//! * [`build_ids`]: build ids of what was mapped, told by the table or with the maps.
//! * [`perf_version`]: a recording as a certain version of perf reads it.
//! * [`repair`]: a killed or damaged recording as a regular one.
//! * [`filter`]: what stays of a recording.
//! * [`merge`], [`split`]: several recordings as one, and one as several. [`rounds`]: rounds marked anew in what is in the order of time.
//! * [`sched_stat`], [`strip_user_stack`]: samples of two events merged; samples without user stacks.
//! * [`anonymize`]: a recording that can be shown to others.
//! * [`jit`]: names for code that was compiled at run time.
//! * [`endian`]: whether a recording can be written in another byte order.
//! * [`sort`], [`huge_pages`], [`combine`], [`remap`], [`discard_unused`]: passes by quipper's rules, all of them in [`quipper`].
//! * [`mmap`], [`mmaps`]: what records tell of maps, and how they are told otherwise.
//! * [`address_spaces`]: what is mapped where in each process.

pub mod address_spaces;
pub mod anonymize;
pub mod build_ids;
pub mod by_time;
pub mod combine;
pub mod discard_unused;
pub mod each;
pub mod edited_header;
pub mod endian;
pub mod filter;
pub mod header;
pub mod header_edits;
pub mod huge_pages;
pub mod jit;
pub mod merge;
pub mod mmap;
pub mod mmaps;
pub mod option;
pub mod option_values;
pub mod output;
pub mod pass;
pub mod passes;
pub mod perf_version;
pub mod quipper;
pub mod registry;
pub mod remap;
pub mod repair;
pub mod replacement;
pub mod request;
pub mod rounds;
pub mod sched_stat;
pub mod sort;
pub mod split;
pub mod strip_user_stack;
