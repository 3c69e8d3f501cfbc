//! Options of all formats that show the functions of frames.

use super::options::{FormatOption, OptionValues, ValueKind};

/// All of them.
pub const OPTIONS: &[FormatOption] = match cfg!(feature = "debuginfod") {
    true => &[SYMBOLS, DEBUG_DIR, DEBUGINFOD, VMLINUX, KALLSYMS, NO_INLINE, DEMANGLE, NO_UNWIND, MAX_STACK, NO_SPLICE],
    false => &[SYMBOLS, DEBUG_DIR, VMLINUX, KALLSYMS, NO_INLINE, DEMANGLE, NO_UNWIND, MAX_STACK, NO_SPLICE],
};

/// Those that determine how stacks are unwound, and thus also apply to outputs without functions if stacks are to be.
pub const OF_UNWINDING: &[FormatOption] = match cfg!(feature = "debuginfod") {
    true => &[SYMBOLS, DEBUG_DIR, DEBUGINFOD, MAX_STACK, NO_SPLICE],
    false => &[SYMBOLS, DEBUG_DIR, MAX_STACK, NO_SPLICE],
};

/// The option `--symbols`.
pub const SYMBOLS: FormatOption = FormatOption {
    default: Some("auto"),
    ..FormatOption::new(
        "symbols",
        "WHICH",
        "Which object files to read symbols from",
        ValueKind::Choice(&[
            ("auto", "Files with the recorded build ID, or unchanged since the recording on the same machine"),
            ("no", "None: print addresses only"),
            ("force", "Also files at the recorded paths that do not match; their names may be wrong"),
        ]),
    )
};

/// The option `--debug-dir`.
pub const DEBUG_DIR: FormatOption = FormatOption::new(
    "debug-dir",
    "DIR",
    "Directory with debug files, laid out as /usr/lib/debug, which is always searched; may be repeated",
    ValueKind::Files,
);

/// The option `--debuginfod`.
pub const DEBUGINFOD: FormatOption = FormatOption::new(
    "debuginfod",
    "URLS",
    "Download missing debug files by build ID from debuginfod servers, by default those of DEBUGINFOD_URLS",
    ValueKind::Text { is_optional: true },
);

/// The option `--vmlinux`.
pub const VMLINUX: FormatOption = FormatOption {
    short: Some('k'),
    ..FormatOption::new("vmlinux", "FILE", "Image of the recorded kernel, with symbols", ValueKind::File)
};

/// The option `--kallsyms`.
pub const KALLSYMS: FormatOption =
    FormatOption::new("kallsyms", "FILE", "Copy of /proc/kallsyms of the recorded kernel", ValueKind::File);

/// The option `--no-inline`.
pub const NO_INLINE: FormatOption = FormatOption::switch("no-inline", "Omit inlined functions");

/// The option `--demangle`.
pub const DEMANGLE: FormatOption = FormatOption::new(
    "demangle",
    "HOW",
    "How to demangle C++ and Rust names [default: full; in perf script text, as by --perf-style]",
    ValueKind::Choice(&[
        ("full", "With parameters"),
        ("short", "Without parameters and return types"),
        ("no", "Mangled, as in the symbol table"),
    ]),
);

/// The option `--no-unwind`.
pub const NO_UNWIND: FormatOption = FormatOption {
    conflicts: &[MAX_STACK.name, NO_SPLICE.name],
    ..FormatOption::switch("no-unwind", "Do not unwind the stack dumps of perf record --call-graph dwarf")
};

/// The option `--max-stack`.
pub const MAX_STACK: FormatOption = FormatOption::new(
    "max-stack",
    "N",
    "Maximum number of frames of an unwound user stack [default: 127]",
    ValueKind::Number { min: 1, max: 65536, if_missing: None },
);

/// The option `--no-splice`.
pub const NO_SPLICE: FormatOption =
    FormatOption::switch("no-splice", "Do not continue incomplete unwound stacks by recorded call chains");

mod search {
    use super::*;
    use crate::profile::symbolize::SymbolOptions;
    use crate::rewrite::build_ids::find::FindOptions;
    use perf_data::error::Result;
    use perf_data::progress::Progress;
    use perf_symbols::symbol::demangle::Demangle;
    use perf_symbols::symbol::find::fetch::{Fetcher, Notice};
    use perf_symbols::symbol::find::{Policy, SearchOptions};
    use std::num::NonZeroUsize;

    /// The search that the values of these options describe, and the directories of build ID searches; `None` for no symbols.
    /// Downloads are announced by `announce`.
    ///
    /// # Errors
    /// If files are to be downloaded, but no server is named, or there is no directory for them.
    pub fn symbol_search(
        values: &OptionValues,
        find: &FindOptions,
        announce: Option<fn(&Notice)>,
        progress: &Progress,
    ) -> Result<Option<SymbolOptions>> {
        let policy = match values.word(&SYMBOLS) {
            Some("no") => return Ok(None),
            Some("force") => Policy::Force,
            _ => Policy::Auto,
        };
        let mut search = SearchOptions::from_system();
        search.policy = policy;
        if let Some(symfs) = &find.symfs {
            search = search.with_symfs(symfs);
        }
        if let Some(cache) = find.cache.as_ref().filter(|cache| cache.is_of_recording) {
            search.build_id_dirs.insert(0, cache.dir.clone());
            search.archive_dirs.push(cache.dir.clone());
        }
        search.debug_dirs.splice(0..0, values.files(&DEBUG_DIR).iter().cloned());
        search.fetcher = fetcher(values, &search, announce, progress)?;
        search.vmlinux = values.file(&VMLINUX).map(Into::into);
        search.kallsyms = values.file(&KALLSYMS).map(Into::into);
        let mut options =
            SymbolOptions { search, without_inlined: values.is_given(&NO_INLINE), ..SymbolOptions::default() };
        if values.is_given(&NO_UNWIND) {
            options = options.without_unwinding();
        } else if let Some(frames) = values.number(&MAX_STACK).and_then(|frames| NonZeroUsize::new(frames as usize)) {
            options = options.max_stack(frames);
        }
        options.without_splicing = values.is_given(&NO_SPLICE);
        options.lookup.progress = progress.clone();
        options.lookup.demangle = match values.word(&DEMANGLE) {
            Some("short") => Demangle::Short,
            Some("no") => Demangle::No,
            _ => Demangle::Full,
        };
        Ok(Some(options))
    }

    #[cfg(feature = "debuginfod")]
    fn fetcher(
        values: &OptionValues,
        search: &SearchOptions,
        announce: Option<fn(&Notice)>,
        progress: &Progress,
    ) -> Result<Option<Fetcher>> {
        use perf_data::error::Error;
        use perf_symbols::symbol::find::debuginfod::{Debuginfod, Limits};
        let Some(urls) = values.word(&DEBUGINFOD) else { return Ok(None) };
        let urls = match urls {
            "" => std::env::var("DEBUGINFOD_URLS").unwrap_or_default(),
            urls => urls.to_owned(),
        };
        let Some(cache) = &search.debuginfod_cache else {
            let what = "--debuginfod: no directory for downloads is known; set DEBUGINFOD_CACHE_PATH";
            return Err(Error::not_found(what.to_owned()));
        };
        match Debuginfod::new(&urls, cache, Limits::from_environment(), announce) {
            Some(client) => Ok(Some(Fetcher(std::sync::Arc::new(client.with_progress(progress.clone()))))),
            None => {
                let what =
                    "--debuginfod: no server is named; name one with --debuginfod=http://HOST, or in DEBUGINFOD_URLS";
                Err(Error::not_found(what.to_owned()))
            }
        }
    }

    #[cfg(not(feature = "debuginfod"))]
    fn fetcher(_: &OptionValues, _: &SearchOptions, _: Option<fn(&Notice)>, _: &Progress) -> Result<Option<Fetcher>> {
        Ok(None)
    }
}

pub use search::symbol_search;
