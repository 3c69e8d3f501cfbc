//! How symbols are searched.

use super::recorded_build_ids::BuildIds;
use crate::object::build_id::Id;
use crate::object::build_id_note::read_notes;
use crate::object::host::Host;
use crate::object::pending_images::PendingImages;
use crate::symbol;
use crate::symbol::custom::{CustomSource, SymbolSource};
use crate::symbol::demangle::Demangle;
#[cfg(feature = "debuginfod")]
use crate::symbol::find::debuginfod::{Debuginfod, Limits};
#[cfg(feature = "debuginfod")]
use crate::symbol::find::fetch::{Fetcher, Notice};
use crate::symbol::find::{Policy, RUNNING_KALLSYMS, SearchOptions};
use crate::symbol::source::Source;
use perf_data::abi::feature::FeatureId;
use perf_data::error::{Error, Result};
use perf_data::progress::Progress;
use perf_data::stream::meta::Meta;
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// How functions, inlined functions and lines of stacks are searched: by default in the files of this machine that match the
/// recorded ones.
#[derive(Clone, Debug)]
pub struct SymbolOptions {
    /// How addresses are resolved.
    lookup: symbol::Options,
    /// Where files are searched.
    search: SearchOptions,
    /// Omit inlined functions.
    without_inlined: bool,
    /// Maximum number of frames of an unwound user stack; `None` to not unwind.
    max_stack: Option<NonZeroUsize>,
    /// End unwound stacks where unwinding ends, even if the recorded call chain continues.
    without_splicing: bool,
    /// Sources that take precedence over files, the last one over the others.
    sources: Vec<CustomSource>,
    /// Do not use names that are stored in the recording.
    without_embedded_names: bool,
    /// Files and directories that were named, which must exist.
    named: Vec<PathBuf>,
}

/// Maximum number of frames of an unwound user stack by default, as in perf.
const MAX_STACK: NonZeroUsize = NonZeroUsize::new(127).unwrap();

impl Default for SymbolOptions {
    fn default() -> Self {
        Self {
            lookup: symbol::Options::default(),
            search: SearchOptions::from_system(),
            without_inlined: false,
            max_stack: Some(MAX_STACK),
            without_splicing: false,
            sources: Vec::new(),
            without_embedded_names: false,
            named: Vec::new(),
        }
    }
}

impl SymbolOptions {
    /// Searches files below a directory with the files of the recorded machine at their paths.
    #[must_use]
    pub fn symfs(mut self, directory: impl AsRef<Path>) -> Self {
        self.search = self.search.with_symfs(directory.as_ref());
        self.naming(directory.as_ref())
    }

    /// The directory of [`symfs`](Self::symfs).
    pub fn root_copy(&self) -> Option<&Path> {
        self.search.symfs.as_deref()
    }

    /// Searches no debug files in directories of this machine, such as `/usr/lib/debug`.
    #[must_use]
    pub fn without_debug_dirs(mut self) -> Self {
        self.search.debug_dirs.clear();
        self
    }

    /// Also searches debug files in a directory laid out as `/usr/lib/debug`, before other directories.
    #[must_use]
    pub fn debug_dir(mut self, directory: impl Into<PathBuf>) -> Self {
        let directory = directory.into();
        self.search.debug_dirs.insert(0, directory.clone());
        self.naming(&directory)
    }

    /// Also searches objects and debug files in a build ID cache of perf, before other caches.
    #[must_use]
    pub fn build_id_dir(mut self, directory: impl Into<PathBuf>) -> Self {
        let directory = directory.into();
        self.search.build_id_dirs.insert(0, directory.clone());
        self.naming(&directory)
    }

    /// Searches an unpacked archive of the recording, before other caches: a build ID cache with files of processes.
    #[doc(hidden)]
    #[must_use]
    pub fn archived_objects(mut self, directory: &Path, kallsyms: Option<PathBuf>) -> Self {
        self.search.archive_dirs.push(directory.to_owned());
        self.search.kallsyms = self.search.kallsyms.or(kallsyms);
        self.build_id_dir(directory)
    }

    /// Sets the time of the recording, after which files without a build ID must not have been modified; by default, the modification
    /// time of its file.
    #[must_use]
    pub fn recorded_until(mut self, time: Option<SystemTime>) -> Self {
        self.search.recorded = time;
        self
    }

    /// Reads functions of the kernel from a copy of `/proc/kallsyms` of the recorded machine.
    #[must_use]
    pub fn kallsyms(mut self, file: impl Into<PathBuf>) -> Self {
        let file = file.into();
        self.search.kallsyms = Some(file.clone());
        self.naming(&file)
    }

    /// Reads functions and lines of the kernel from an image of the recorded kernel.
    #[must_use]
    pub fn vmlinux(mut self, file: impl Into<PathBuf>) -> Self {
        let file = file.into();
        self.search.vmlinux = Some(file.clone());
        self.naming(&file)
    }

    /// Also uses files at the recorded paths that do not match the recorded ones; their names may be wrong.
    #[must_use]
    pub fn allow_mismatched_files(mut self) -> Self {
        self.search.policy = Policy::Force;
        self
    }

    /// Reads no files: uses only names that are stored in the recording, and does not unwind.
    #[must_use]
    pub fn only_embedded_names(mut self) -> Self {
        self.search.policy = Policy::No;
        self.without_unwinding()
    }

    /// Ignores names of functions that are stored in the recording; those of its BPF programs are used.
    #[must_use]
    pub fn without_embedded_names(mut self) -> Self {
        self.without_embedded_names = true;
        self
    }

    /// Sets how names of C++ and Rust are demangled; by default with parameters.
    #[must_use]
    pub fn demangling(mut self, demangling: Demangle) -> Self {
        self.lookup.demangle = demangling;
        self
    }

    /// Downloads debug files that are not found from debuginfod servers, whose addresses are separated by spaces, to the cache of
    /// debuginfod's own client; `announce` is called before each download.
    ///
    /// # Errors
    /// If there is no address, or no directory for downloads.
    #[cfg(feature = "debuginfod")]
    pub fn debuginfod(mut self, urls: &str, announce: Option<fn(&Notice)>) -> Result<Self> {
        let Some(cache) = &self.search.debuginfod_cache else {
            let message = "no directory for downloads is known; set DEBUGINFOD_CACHE_PATH";
            return Err(Error::not_found(message));
        };
        let Some(client) = Debuginfod::new(urls, cache, Limits::from_environment(), announce) else {
            return Err(Error::not_found("no debuginfod server is named"));
        };
        self.search.fetcher = Some(Fetcher(Arc::new(client.with_progress(self.lookup.progress.clone()))));
        Ok(self)
    }

    /// Omits inlined functions.
    #[must_use]
    pub fn without_inlined(mut self) -> Self {
        self.without_inlined = true;
        self
    }

    /// Omits source files and lines, which take a third of the time of a lookup in debug information.
    #[must_use]
    pub fn without_lines(mut self) -> Self {
        self.search.without_lines = true;
        self
    }

    /// Does not unwind the user stack dumps of `perf record --call-graph dwarf`.
    #[must_use]
    pub fn without_unwinding(mut self) -> Self {
        self.max_stack = None;
        self
    }

    /// Sets the maximum number of frames of an unwound user stack; by default 127, as in perf.
    #[must_use]
    pub fn max_stack(mut self, frames: NonZeroUsize) -> Self {
        self.max_stack = Some(frames);
        self
    }

    /// Does not continue an incomplete unwound stack by the recorded call chain of its sample.
    #[must_use]
    pub fn without_splicing(mut self) -> Self {
        self.without_splicing = true;
        self
    }

    /// Where passes list code images that are not yet in place, which are read from their temporary files.
    #[doc(hidden)]
    #[must_use]
    pub fn pending_images(&self) -> PendingImages {
        self.search.pending_images.clone()
    }

    /// Sets the observer of progress.
    #[must_use]
    pub fn progress(mut self, progress: Progress) -> Self {
        self.lookup.progress = progress;
        self
    }

    /// Adds a source of symbols, which takes precedence over files and sources added before.
    #[must_use]
    pub fn source(mut self, source: impl SymbolSource + 'static) -> Self {
        self.sources.push(CustomSource(Arc::new(source)));
        self
    }

    fn naming(mut self, path: &Path) -> Self {
        self.named.push(path.to_owned());
        self
    }

    /// Checks that the files and directories that were named exist: otherwise names would be missing without a reason.
    ///
    /// # Errors
    /// If one does not exist, or cannot be accessed.
    pub fn check(&self) -> Result<()> {
        for path in &self.named {
            fs::metadata(path).map_err(Error::io(path.display().to_string(), "cannot search symbols"))?;
        }
        Ok(())
    }

    /// Whether inlined functions are omitted.
    pub fn omits_inlined(&self) -> bool {
        self.without_inlined
    }

    /// Maximum number of frames of an unwound user stack; `None` if stacks are not unwound.
    pub fn max_frames(&self) -> Option<NonZeroUsize> {
        self.max_stack
    }

    /// Whether an incomplete unwound stack is continued by the recorded call chain.
    pub fn splices(&self) -> bool {
        !self.without_splicing
    }

    /// A symbolizer that searches files as these options say.
    pub(super) fn files(&self) -> symbol::Symbolizer {
        self.symbolizer(self.search.clone(), Vec::new())
    }

    /// The symbolizers of a recording, in the order in which addresses are looked up: each for the addresses that the ones before it
    /// do not know.
    ///
    /// 1. what the kernel recorded of its BPF programs, and files that match the recorded ones,
    /// 2. names that are stored in the recording: they have no identity that could be compared with a file,
    /// 3. files that may be others, and the functions of the running kernel.
    pub fn symbolizers(
        &self,
        search: SearchOptions,
        bpf: Arc<dyn Source>,
        embedded: Vec<Arc<dyn Source>>,
    ) -> Vec<symbol::Symbolizer> {
        if embedded.is_empty() || self.without_embedded_names {
            return vec![self.symbolizer(search, vec![bpf])];
        }
        let verified = search.only_verified();
        let stored = |source| symbol::Symbolizer::with_sources(self.lookup.clone(), vec![source]);
        let mut symbolizers = vec![self.symbolizer(verified.clone(), vec![bpf])];
        symbolizers.extend(embedded.into_iter().map(stored));
        if verified != search {
            symbolizers.push(self.symbolizer(search, Vec::new()));
        }
        symbolizers
    }

    /// A symbolizer that searches files as `search` says. The symbols in a recording take precedence over files.
    fn symbolizer(&self, search: SearchOptions, recorded: Vec<Arc<dyn Source>>) -> symbol::Symbolizer {
        let mut symbolizer = symbol::Symbolizer::new(self.lookup.clone(), search);
        recorded.into_iter().for_each(|source| symbolizer.add_source(source));
        self.sources.iter().for_each(|source| symbolizer.add_source(Arc::new(source.clone())));
        symbolizer
    }

    /// The search options for a recording: the running kernel and this machine's map files are only used if it is the recorded
    /// machine.
    pub fn for_recording(&self, meta: &Meta) -> SearchOptions {
        let mut search = self.search.clone();
        let host = Host::new(meta.string(FeatureId::HOSTNAME), meta.string(FeatureId::OSRELEASE));
        if search.recorded.is_none() {
            let file = meta.files.first();
            search.recorded = file.and_then(|file| fs::metadata(file).ok()?.modified().ok());
        }
        let is_here = matches!(host, Host::This { .. });
        if search.symfs.is_none() && !is_here {
            search.exclude_unverifiable(host.clone());
        }
        if search.kallsyms.is_none() {
            // A copy that `perf record --kcore` made.
            let copy = meta.directory.as_ref().map(|directory| directory.join("kcore_dir/kallsyms"));
            search.kallsyms = copy.filter(|copy| copy.is_file());
        }
        let runs_the_kernel = host == Host::This { runs_the_kernel: true };
        search.runs_the_kernel = runs_the_kernel && is_running_kernel(meta);
        if search.runs_the_kernel && search.kallsyms.is_none() {
            search.kallsyms = Some(RUNNING_KALLSYMS.into());
        }
        search.release = meta.string(FeatureId::OSRELEASE).filter(|release| is_plain(release));
        search
    }
}

/// Whether the name of a kernel release can be a part of a path.
fn is_plain(release: &str) -> bool {
    !release.is_empty() && !release.starts_with('.') && !release.contains(['/', '\0'])
}

/// Whether the recorded kernel has the build ID of the running one, or none was recorded.
fn is_running_kernel(meta: &Meta) -> bool {
    let recorded = BuildIds::new(meta).kernel().and_then(Id::new);
    recorded.is_none_or(|recorded| read_notes(Path::new("/sys/kernel/notes")).ok().flatten() == Some(recorded))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_files_must_exist() {
        let missing = || SymbolOptions::default().symfs("/").kallsyms("/nonexistent/kallsyms");
        let error = missing().check().expect_err("a missing file");
        assert!(error.to_string().starts_with("/nonexistent/kallsyms: cannot search symbols: "), "{error}");
        assert!(missing().symfs("/").check().is_err() && SymbolOptions::default().debug_dir("/").check().is_ok());
    }

    #[test]
    fn a_release_is_one_part_of_a_path() {
        assert!(is_plain("6.1.0-18-amd64") && !is_plain("../x") && !is_plain("a/b") && !is_plain(""));
    }
}
