//! Where functions of addresses are looked up, and how stacks are unwound.

use super::help::SYMBOLS;
use super::{directory, file};
use clap::{Args, ValueEnum};
#[cfg(feature = "debuginfod")]
use perf_data::error::Error;
use perf_data::error::Result;
use perf_data::progress::Progress;
use perf_symbols::symbol::demangle::Demangle;
use perf_symbols::symbol::find::fetch::Notice;
use perfconv::recording::SymbolOptions;
use perfconv::rewrite::build_ids::find::FindOptions;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// The options that determine how stacks are unwound, and thus also apply to outputs without functions if stacks are to be.
pub(crate) const UNWINDING: &[&str] = &["symbols", "debug_dir", "debuginfod", "max_stack", "no_splice"];

/// The options that determine which functions are found, and thus also apply to recordings in which their names are stored.
pub(crate) const NAMING: &[&str] =
    &["symbols", "debug_dir", "debuginfod", "max_stack", "no_splice", "no_unwind", "vmlinux", "kallsyms"];

/// Where functions are looked up.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct SymbolArgs {
    /// Which object files and stored names to take symbols from
    #[arg(long, value_enum, value_name = "WHICH", default_value_t, help_heading = SYMBOLS)]
    pub symbols: WhichArg,

    #[command(flatten)]
    pub files: SymbolFileArgs,

    /// Download missing debug files by build ID from debuginfod servers, by default those of DEBUGINFOD_URLS
    #[cfg(feature = "debuginfod")]
    #[arg(long, value_name = "URLS", num_args = 0..=1, require_equals = true, default_missing_value = "", help_heading = SYMBOLS)]
    pub debuginfod: Option<String>,

    /// Omit inlined functions
    #[arg(long, help_heading = SYMBOLS)]
    pub no_inline: bool,

    /// How to demangle C++ and Rust names [default: full; in perf script text, as by --perf-style]
    #[arg(long, value_enum, value_name = "HOW", help_heading = SYMBOLS)]
    pub demangle: Option<DemangleArg>,

    /// Do not unwind the stack dumps of perf record --call-graph dwarf
    #[arg(long, conflicts_with_all = ["max_stack", "no_splice"], help_heading = SYMBOLS)]
    pub no_unwind: bool,

    /// Maximum number of frames of an unwound user stack [default: 127]
    #[arg(long, value_name = "N", value_parser = frames, help_heading = SYMBOLS)]
    pub max_stack: Option<NonZeroUsize>,

    /// Do not continue incomplete unwound stacks by recorded call chains
    #[arg(long, help_heading = SYMBOLS)]
    pub no_splice: bool,
}

/// Files with symbols.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct SymbolFileArgs {
    /// Directory with debug files, laid out as /usr/lib/debug, which is always searched; may be repeated
    #[arg(long = "debug-dir", id = "debug_dir", value_name = "DIR", value_parser = directory(), help_heading = SYMBOLS)]
    pub debug_dirs: Vec<PathBuf>,

    /// Image of the recorded kernel, with symbols
    #[arg(short = 'k', long, value_name = "FILE", value_parser = file(), help_heading = SYMBOLS)]
    pub vmlinux: Option<PathBuf>,

    /// Copy of /proc/kallsyms of the recorded kernel
    #[arg(long, value_name = "FILE", value_parser = file(), help_heading = SYMBOLS)]
    pub kallsyms: Option<PathBuf>,

    /// Whether debug files are searched below `--symfs` only, if that is given, as in perf.
    #[arg(skip)]
    pub only_below_symfs: bool,
}

/// Which object files are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum WhichArg {
    /// Files with the recorded build ID, or unchanged since the recording on the same machine; for other addresses, names stored in the
    /// recording
    #[default]
    Auto,
    /// Names stored in the recording, no files
    Embedded,
    /// Files as by auto, no names stored in the recording
    Objects,
    /// None: print addresses only
    No,
    /// Also files at the recorded paths that do not match; their names may be wrong
    Force,
}

/// How names are demangled.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum DemangleArg {
    /// With parameters
    Full,
    /// Without parameters and return types
    Short,
    /// Mangled, as in the symbol table
    No,
}

impl SymbolFileArgs {
    /// The first of these options that is given.
    pub(crate) fn first_given(&self) -> Option<&'static str> {
        let given = [
            (!self.debug_dirs.is_empty(), "--debug-dir"),
            (self.kallsyms.is_some(), "--kallsyms"),
            (self.vmlinux.is_some(), "--vmlinux"),
        ];
        given.into_iter().find(|(is_given, _)| *is_given).map(|(_, option)| option)
    }

    /// The search in these files, with the defaults of all other options.
    ///
    /// # Errors
    /// As [`SymbolArgs::search`].
    pub(crate) fn search(&self, find: &FindOptions, progress: &Progress) -> Result<Option<SymbolOptions>> {
        let symbols = SymbolArgs { files: self.clone(), ..SymbolArgs::default() };
        symbols.search(Demangle::Full, find, None, progress)
    }
}

impl SymbolArgs {
    /// The search that these options describe, and the directories of build ID searches; `None` for no symbols. Downloads are
    /// announced by `announce`.
    ///
    /// # Errors
    /// If files are to be downloaded, but no server is named, or there is no directory for them.
    pub(crate) fn search(
        &self,
        demangling: Demangle,
        find: &FindOptions,
        announce: Option<fn(&Notice)>,
        progress: &Progress,
    ) -> Result<Option<SymbolOptions>> {
        let mut options = SymbolOptions::default().progress(progress.clone()).demangling(match self.demangle {
            None => demangling,
            Some(DemangleArg::Full) => Demangle::Full,
            Some(DemangleArg::Short) => Demangle::Short,
            Some(DemangleArg::No) => Demangle::No,
        });
        options = match self.symbols {
            WhichArg::No => return Ok(None),
            WhichArg::Force => options.allow_mismatched_files(),
            WhichArg::Objects => options.without_embedded_names(),
            WhichArg::Auto | WhichArg::Embedded => options,
        };
        if let Some(symfs) = &find.symfs {
            if self.files.only_below_symfs {
                options = options.without_debug_dirs();
            }
            options = options.symfs(symfs);
        }
        if let Some(directory) = &find.buildid_dir {
            options = options.archived_objects(directory, None);
        }
        // Each goes before those already there.
        options = self.files.debug_dirs.iter().rev().fold(options, SymbolOptions::debug_dir);
        options = self.files.vmlinux.iter().fold(options, SymbolOptions::vmlinux);
        options = self.files.kallsyms.iter().fold(options, SymbolOptions::kallsyms);
        if self.no_inline {
            options = options.without_inlined();
        }
        if self.no_unwind {
            options = options.without_unwinding();
        }
        if self.no_splice {
            options = options.without_splicing();
        }
        options = self.max_stack.into_iter().fold(options, SymbolOptions::max_stack);
        if self.symbols == WhichArg::Embedded {
            options = options.only_embedded_names();
        }
        self.with_downloads(options, announce).map(Some)
    }

    #[cfg(feature = "debuginfod")]
    fn with_downloads(&self, options: SymbolOptions, announce: Option<fn(&Notice)>) -> Result<SymbolOptions> {
        let Some(urls) = &self.debuginfod else { return Ok(options) };
        let urls = match &**urls {
            "" => std::env::var("DEBUGINFOD_URLS").unwrap_or_default(),
            urls => urls.to_owned(),
        };
        if urls.trim().is_empty() {
            return Err(Error::not_found(
                "--debuginfod: no server is named; name one with --debuginfod=http://HOST, or in DEBUGINFOD_URLS",
            ));
        }
        options.debuginfod(&urls, announce)
    }

    #[cfg(not(feature = "debuginfod"))]
    fn with_downloads(&self, options: SymbolOptions, _: Option<fn(&Notice)>) -> Result<SymbolOptions> {
        Ok(options)
    }
}

fn frames(text: &str) -> std::result::Result<NonZeroUsize, &'static str> {
    let frames = text.parse().ok().filter(|frames: &NonZeroUsize| frames.get() <= 65536);
    frames.ok_or("expected a number from 1 to 65536")
}
