//! Options of all formats that show the functions of frames.

use super::options::{FormatOption, OptionValues, ValueKind};

/// All of them.
pub const OPTIONS: &[FormatOption] = &[SYMBOLS, DEBUG_DIR, VMLINUX, KALLSYMS, NO_INLINE, DEMANGLE];

/// The option `--symbols`.
pub const SYMBOLS: FormatOption = FormatOption {
    default: Some("auto"),
    ..FormatOption::new(
        "symbols",
        "WHICH",
        "Which files to read the functions of stacks from",
        ValueKind::Choice(&[
            ("auto", "Files with the recorded build ID, or unchanged since the recording on the same machine"),
            ("no", "None: stacks are addresses"),
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
pub const DEMANGLE: FormatOption = FormatOption {
    default: Some("full"),
    ..FormatOption::new(
        "demangle",
        "HOW",
        "How to show names of C++ and Rust",
        ValueKind::Choice(&[
            ("full", "With parameters"),
            ("short", "Without parameters and template arguments"),
            ("no", "As linker symbols"),
        ]),
    )
};

#[cfg(feature = "symbols")]
mod search {
    use super::*;
    use crate::profile::symbolize::SymbolOptions;
    use crate::rewrite::build_ids::find::FindOptions;
    use crate::symbol::demangle::Demangle;
    use crate::symbol::find::{Policy, SearchOptions};

    /// The search that the values of these options describe, and the directories of build ID searches; `None` for no symbols.
    pub fn symbol_search(values: &OptionValues, find: &FindOptions) -> Option<SymbolOptions> {
        let policy = match values.word(&SYMBOLS) {
            Some("no") => return None,
            Some("force") => Policy::Force,
            _ => Policy::Auto,
        };
        let mut search = SearchOptions { policy, ..SearchOptions::from_system() };
        if let Some(symfs) = &find.symfs {
            search = search.with_symfs(symfs);
        }
        if let Some(cache) = find.cache.as_ref().filter(|cache| cache.is_of_recording) {
            search.build_id_dirs.insert(0, cache.dir.clone());
        }
        search.debug_dirs.splice(0..0, values.files(&DEBUG_DIR).iter().cloned());
        search.vmlinux = values.file(&VMLINUX).map(Into::into);
        search.kallsyms = values.file(&KALLSYMS).map(Into::into);
        let mut options =
            SymbolOptions { search, without_inlined: values.is_given(&NO_INLINE), ..SymbolOptions::default() };
        options.lookup.demangle = match values.word(&DEMANGLE) {
            Some("short") => Demangle::Short,
            Some("no") => Demangle::No,
            _ => Demangle::Full,
        };
        Some(options)
    }
}

#[cfg(feature = "symbols")]
pub use search::symbol_search;
