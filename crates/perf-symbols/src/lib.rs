//! Functions, inlined functions, lines and unwound stacks of addresses in Linux `perf.data` recordings.
//!
//! Names of addresses in object files:
//!
//! ```
//! use perf_symbols::{SymbolObject, SymbolOptions, Symbolizer};
//!
//! let symbolizer = Symbolizer::new(&SymbolOptions::default().symfs("files"));
//! let found = symbolizer.look_up(&SymbolObject::new("/srv/sym/bin/mill-fp"), &[0x16a0]);
//! for function in found.functions(0) {
//!     println!("{} at {}:{}", function.name, function.file, function.line);
//! }
//! // Where files were searched, and why others were not used.
//! found.attempts().iter().for_each(|attempt| println!("{attempt}"));
//! ```
//!
//! [`SymbolOptions`] says where files are searched: debug files by build ID and link, `.dwo` and `.dwp` files, alternate files of
//! dwz, perf's caches, kallsyms, `perf-PID.map` files and jitdumps, and, with the cargo feature `debuginfod`, servers. A file is
//! only used if it is the recorded one. [`SymbolSource`] adds other sources.
//!
//! [`unwind`] finds the frames of the user stack dumps of `perf record --call-graph dwarf`.
//!
//! # Versions
//!
//! Types of gimli and object are no part of the interface. A new minor version of [`perf_data`] is a new minor version of this
//! crate, whose functions take its types.
//!
//! # Modules
//!
//! Each uses only those above it.
//!
//! | module | contents |
//! |---|---|
//! | [`object`] | object files and images: build IDs, jitdumps, perf maps |
//! | [`symbol`] | addresses to functions, inlined functions and lines |
//! | [`symbolizer`] | [`Symbolizer`]: what programs call first |
//! | [`unwind`] | user stack dumps to frames |
//! | `disassembly` | bytes to instructions; with the cargo feature `disassembly` |

#[cfg(feature = "disassembly")]
pub mod disassembly;
pub mod object;
pub mod symbol;
pub mod symbolizer;
pub mod unwind;

pub use symbol::custom::{SymbolObject, SymbolSource};
pub use symbolizer::{FoundFunctions, FunctionLine, SymbolOptions, Symbolizer};
