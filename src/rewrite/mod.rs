//! Rewrite passes: records in, records out.
//!
//! The framework:
//!
//! * [`pass`]: the pass trait; [`passes`]: a chain of passes; [`output`]: the recording that a chain writes;
//!   [`disclosure`]: what else an output may contain.
//! * [`pass_options`]: passes with their options; `pass_type` and `registry`: their table as arguments of a command line.
//! * [`header`]: a recording's metadata, and edits of it that work in any container.
//! * [`record_function`], [`replacement`], [`rounds`], [`mmap`], [`sample_parts`], [`spooled_chains`]: building blocks of passes.
//!
//! The passes: [`anonymize`], [`build_ids`], [`filter`], [`header::edits`], [`jit`], [`merge`], [`perf_version`], [`quipper`],
//! [`repair`], [`sched_stat`], [`sort`], [`split`], [`strip_user_stack`], `unwind`. [`endian`] checks whether a recording can be written
//! in the other byte order.

pub mod anonymize;
pub mod build_ids;
pub mod disclosure;
pub mod endian;
pub mod filter;
pub mod header;
pub mod jit;
pub mod merge;
pub(crate) mod mmap;

pub mod output;
pub mod pass;
pub mod pass_options;
#[cfg(feature = "cli")]
pub mod pass_type;
pub mod passes;
pub mod perf_version;
pub mod quipper;
pub mod record_function;
#[cfg(feature = "cli")]
pub mod registry;
pub mod repair;
pub(crate) mod replacement;
pub(crate) mod rounds;
pub(crate) mod sample_parts;
pub mod sched_stat;
pub mod sort;
pub mod split;
pub(crate) mod spooled_chains;
pub mod strip_user_stack;
pub mod unwind;
