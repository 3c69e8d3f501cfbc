//! Finds the files of an object: the object itself, its debug information, and files that these refer to.
//!
//! * [`fetch`](mod@fetch): downloads files; `debuginfod`: from debuginfod servers.
//! * [`candidate_paths`]: candidate paths; `modules`: those of kernel modules; [`containers`]: those in containers.
//! * [`attempt`]: outcomes of the search; `search`: opens and checks files.

pub mod attempt;
pub mod candidate_paths;
pub mod containers;
#[cfg(feature = "debuginfod")]
pub mod debuginfod;
pub mod fetch;
mod living_programs;
pub(crate) mod modules;
pub(crate) mod search;

use crate::object::host::Host;
use crate::object::pending_images::PendingImages;
use crate::object::recorded_file::{self, Owner};
use bytes::Bytes;
use containers::Containers;
use fetch::Fetcher;
use living_programs::LivingPrograms;
use std::env;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Which files to use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// Files that match the recorded ones: by build ID, or by size and time if no build ID was recorded.
    #[default]
    Auto,
    /// No files.
    No,
    /// Also files that do not match, if no other is found.
    Force,
}

/// Where to search for files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SearchOptions {
    /// Which files to use.
    pub policy: Policy,
    /// Directory with the files of the recorded machine; recorded paths are only opened below it.
    pub symfs: Option<PathBuf>,
    /// Directories of debug files, laid out as `/usr/lib/debug`.
    pub debug_dirs: Vec<PathBuf>,
    /// perf's caches of build IDs.
    pub build_id_dirs: Vec<PathBuf>,
    /// Cache of a debuginfod client.
    pub debuginfod_cache: Option<PathBuf>,
    /// Fetches files that are not found in these directories.
    pub fetcher: Option<Fetcher>,
    /// Symbols of the recorded kernel.
    pub kallsyms: Option<PathBuf>,
    /// Release of the recorded kernel, as in `/lib/modules/RELEASE`.
    pub release: Option<String>,
    /// Whether the recorded kernel is the running one.
    pub runs_the_kernel: bool,
    /// Image of the recorded kernel.
    pub vmlinux: Option<PathBuf>,
    /// Directories of `perf-PID.map` files and jitdumps.
    pub perf_map_dirs: Vec<PathBuf>,
    /// Directories of unpacked archives of the recording: files of [processes](candidate_paths::process_file), and of objects
    /// [without build ID](candidate_paths::without_build_id).
    pub archive_dirs: Vec<PathBuf>,
    /// Containers whose files are searched by their recorded paths.
    pub containers: Containers,
    /// Programs that are no longer at their recorded paths.
    pub living_programs: LivingPrograms,
    /// Code images of the same conversion, which are not yet at the recorded paths.
    pub pending_images: PendingImages,
    /// Time of the recording: without a build ID, files modified later do not match.
    pub recorded: Option<SystemTime>,
    /// The recorded machine, if it may be another one: without a build ID, files at recorded paths [may not
    /// match](crate::object::host::RecordedFile).
    pub host: Option<Host>,
    /// Whether source files and lines are omitted.
    pub without_lines: bool,
}

/// Functions of the running kernel.
pub(crate) const RUNNING_KALLSYMS: &str = "/proc/kallsyms";

/// Where distributions install debug files.
const DEBUG_DIR: &str = "/usr/lib/debug";

/// Where programs write `perf-PID.map` files.
const TEMPORARY: &str = "/tmp";

impl SearchOptions {
    /// The default directories of this machine.
    pub fn from_system() -> Self {
        let home = env::var_os("HOME").map(PathBuf::from);
        let cache = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
        let cache = cache.or_else(|| home.as_ref().map(|home| home.join(".cache")));
        let debuginfod = env::var_os("DEBUGINFOD_CACHE_PATH").map(PathBuf::from);
        Self {
            debug_dirs: vec![DEBUG_DIR.into()],
            build_id_dirs: home.iter().map(|home| home.join(".debug")).collect(),
            debuginfod_cache: debuginfod.or_else(|| cache.map(|cache| cache.join("debuginfod_client"))),
            perf_map_dirs: vec![TEMPORARY.into()],
            containers: Containers::from_system(),
            living_programs: LivingPrograms::from_system(),
            ..Self::default()
        }
    }

    /// Sets the root of a copy of the recorded machine's files, which is searched before this machine's own directories.
    pub fn with_symfs(mut self, symfs: &Path) -> Self {
        self.debug_dirs.insert(0, symfs.join(DEBUG_DIR.trim_start_matches('/')));
        self.build_id_dirs.insert(0, symfs.join(".debug"));
        self.perf_map_dirs = vec![symfs.join(TEMPORARY.trim_start_matches('/'))];
        self.symfs = Some(symfs.to_owned());
        self.containers = Containers::default();
        self.living_programs = LivingPrograms::default();
        self
    }

    /// The same search, without files that do not match the recorded ones, and without the functions of the running kernel: a
    /// recording may lack its build ID, and another kernel of the same release has functions at the same addresses.
    #[must_use]
    pub fn only_verified(&self) -> Self {
        let policy = if self.policy == Policy::No { Policy::No } else { Policy::Auto };
        let kallsyms = self.kallsyms.clone().filter(|path| path != Path::new(RUNNING_KALLSYMS));
        Self { policy, kallsyms, ..self.clone() }
    }

    /// Reads the jitdump or `perf-PID.map` file of a process. It must belong to the process's user, unless the user named the place or
    /// the policy forces its use.
    ///
    /// # Errors
    /// If it cannot be read, or is not the process's.
    pub fn read_code_map(&self, path: &Path, pid: u32) -> io::Result<Bytes> {
        let mut named = self.symfs.iter().chain(&self.archive_dirs);
        let is_any = self.policy == Policy::Force || named.any(|directory| path.starts_with(directory));
        recorded_file::read_code_map(path, if is_any { Owner::Any } else { Owner::OfProcess(pid) })
    }

    /// Excludes files of this machine that cannot be compared with the recorded ones, which may be of another machine.
    pub fn exclude_unverifiable(&mut self, host: Host) {
        self.perf_map_dirs.clear();
        self.containers = Containers::default();
        self.host = Some(host);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_files_and_the_running_kernel_are_not_verified() {
        let verified = |policy, kallsyms: &str| {
            let search = SearchOptions { policy, kallsyms: Some(kallsyms.into()), ..SearchOptions::default() };
            let SearchOptions { policy, kallsyms, .. } = search.only_verified();
            (policy, kallsyms)
        };
        assert_eq!(verified(Policy::Force, "/kallsyms"), (Policy::Auto, Some("/kallsyms".into())));
        assert_eq!(verified(Policy::No, "/kallsyms"), (Policy::No, Some("/kallsyms".into())));
        assert_eq!(verified(Policy::Auto, RUNNING_KALLSYMS), (Policy::Auto, None));
    }
}
