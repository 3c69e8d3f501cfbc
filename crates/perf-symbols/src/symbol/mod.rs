//! Symbolization: resolves addresses to functions, inlined functions and lines.
//!
//! [`Symbolizer`] resolves the addresses of many objects at once, on several threads. Addresses of one object are best resolved
//! in one call, since its debug information is read once for each call.
//!
//! ```no_run
//! use perf_symbols::symbol::find::SearchOptions;
//! use perf_symbols::symbol::{Addresses, ObjectKey, Options, Request, Symbolizer};
//!
//! let symbolizer = Symbolizer::new(Options::default(), SearchOptions::from_system());
//! let key = ObjectKey { path: "/usr/bin/cat".into(), ..ObjectKey::default() };
//! let resolved = symbolizer.resolve(&[Request::new(key, Addresses::Offsets(vec![0x4a10]))]);
//! for frame in resolved.symbols.frames(0, 0) {
//!     let function = frame.function.and_then(|id| resolved.symbols.function(id));
//!     let name = function.map_or(&b"?"[..], |function| resolved.symbols.name(function.name));
//!     println!("{} {}", String::from_utf8_lossy(name), frame.line);
//! }
//! ```
//!
//! * [`lookup`]: lookup of one address; [`source`]: the interface of symbol sources.
//! * [`elf`]: object files with their debug files; [`find`]: finds these; [`object`]: one opened file, `debug_segments`: where its code was; [`table`]: symbol
//!   tables; `dwarf`: debug information; `gopclntab`: the function table of Go programs.
//! * [`kernel`]: kallsyms (text: `kallsyms`) and vmlinux; `relocation`: kernel modules.
//! * [`bpf`]: BPF programs.
//! * [`stored_object`]: objects whose symbols are stored in a recording, by their path (`stored_paths`); [`simpleperf`]: their symbols, `hiperf`: in its recordings;
//!   [`stored_lines`]: their lines and inlined functions.
//! * [`jit_dump`]: jitdumps; [`perf_map`]: `perf-PID.map` files.
//! * [`custom`]: sources outside of this library.
//! * [`source_lookup`]: positions in source code with their discriminators, for profiles of compilers.
//! * [`code`]: code of functions.
//! * [`demangle`]: demangling of names (`cpp_name`, `java_name`, `ocaml_name`: of these languages); `symbols`: interned results.

mod arena;
pub mod bpf;
pub mod code;
mod cpp_name;
pub mod custom;
mod debug_segments;
pub mod demangle;
pub(crate) mod dwarf;
pub mod elf;
pub mod find;
mod gopclntab;
pub mod hiperf;
mod inflate;
mod java_name;
pub mod jit_dump;
mod kallsyms;
pub mod kernel;
pub mod lookup;
pub mod object;
mod object_cache;
mod ocaml_name;
pub mod perf_map;
mod plt;
mod ranges;
pub(crate) mod relocation;
mod resolve;
pub mod simpleperf;
pub mod source;
pub mod source_lookup;
pub mod stored_lines;
pub mod stored_object;
mod stored_paths;
pub(crate) mod symbols;
pub mod table;

pub use resolve::{Addresses, ObjectReport, Request, Resolved};
pub use source::{ObjectKey, Reference};
pub use symbols::{Function, FunctionId, ResolvedFrame, Symbols};

use demangle::Demangle;
use find::SearchOptions;
use object_cache::ObjectCache;
use perf_data::progress::Progress;
use source::Source;
use std::num::NonZeroUsize;
use std::sync::Arc;

/// How addresses are resolved, independent of the source of symbols.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Options {
    /// How much of a mangled name to show.
    pub demangle: Demangle,
    /// Maximum number of threads; by default the number of CPUs, but at most 8.
    pub threads: Option<NonZeroUsize>,
    /// Observes objects that are opened, addresses that are resolved, and downloads.
    pub progress: Progress,
}

/// Resolves addresses of objects to functions and lines.
#[derive(Clone, Debug)]
pub struct Symbolizer {
    options: Options,
    sources: Vec<Arc<dyn Source>>,
    /// Objects that stay open between calls.
    kept: Option<Arc<ObjectCache>>,
}

impl Symbolizer {
    /// Creates a symbolizer that uses the files, kernels and map files found with these options.
    pub fn new(options: Options, search: SearchOptions) -> Self {
        let search = Arc::new(search);
        let sources: Vec<Arc<dyn Source>> = vec![
            Arc::new(kernel::KernelSource::new(Arc::clone(&search))),
            Arc::new(jit_dump::JitDumpSource::new(Arc::clone(&search))),
            Arc::new(perf_map::PerfMapSource::new(Arc::clone(&search))),
            Arc::new(elf::ElfSource::new(search)),
        ];
        Self { options, sources, kept: None }
    }

    /// Creates a symbolizer with other sources. The first source that knows an object is used.
    pub fn with_sources(options: Options, sources: Vec<Arc<dyn Source>>) -> Self {
        Self { options, sources, kept: None }
    }

    /// Keeps objects open between calls, for callers that look up few addresses at a time.
    #[must_use]
    pub fn keep_objects(self) -> Self {
        Self { kept: Some(Arc::default()), ..self }
    }

    /// Adds a source that takes precedence over all others.
    pub fn add_source(&mut self, source: Arc<dyn Source>) {
        self.sources.insert(0, source);
    }
}
