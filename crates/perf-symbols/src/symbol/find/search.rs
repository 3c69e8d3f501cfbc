//! Opens the files of an object, checks that they are the recorded ones, and remembers what was tried.

use super::attempt::{Attempt, Mismatch, Outcome, Role};
use super::candidate_paths::SplitUnit;
use super::fetch::Wanted;
use super::living_programs::without_deleted;
use super::{Policy, SearchOptions};
use super::{candidate_paths, modules};
use crate::object::build_id::Id;
use crate::object::host::{self, Doubt, RecordedFile};
use crate::symbol::object::Object;
use crate::symbol::source::ObjectKey;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// What a file must match.
#[derive(Clone, Copy)]
enum Expected<'a> {
    /// The recorded object.
    Recorded(&'a ObjectKey),
    /// A build ID.
    BuildId(Id),
    /// A checksum of the whole file.
    Checksum(u32),
    /// Nothing: there is nothing to compare.
    Anything,
}

/// Name of the code that the kernel maps into each process.
const VDSO: &str = "[vdso]";

/// A search for the files of one object.
pub(crate) struct Search<'a> {
    options: &'a SearchOptions,
    key: &'a ObjectKey,
    attempts: &'a mut Vec<Attempt>,
}

impl<'a> Search<'a> {
    /// Creates a search for the files of an object.
    pub(crate) fn new(options: &'a SearchOptions, key: &'a ObjectKey, attempts: &'a mut Vec<Attempt>) -> Self {
        Self { options, key, attempts }
    }

    /// The object itself.
    pub(crate) fn object(&mut self) -> Option<Object> {
        let mut paths = self.recorded_places();
        if let Some(id) = &self.key.build_id {
            for cache in &self.options.build_id_dirs {
                paths.extend(candidate_paths::in_cache(cache, &self.key.path, id, &["elf", "vdso"]));
            }
            let cache = self.options.debuginfod_cache.as_ref();
            paths.extend(cache.map(|cache| candidate_paths::in_debuginfod_cache(cache, id, "executable")));
        }
        let (options, key) = (self.options, self.key);
        let in_containers = std::iter::once_with(|| match recorded_path(key) {
            // Without a build ID or an inode, nothing shows that it is the same file.
            Some(path) if key.build_id.is_some() => options.containers.files(path, true),
            Some(path) if key.inode.is_some() => options.containers.files(path, false),
            _ => Vec::new(),
        });
        let replaced = std::iter::once_with(|| match key.build_id.is_some() || key.inode.is_some() {
            true => options.living_programs.formerly_at(without_deleted(&key.path).unwrap_or(&key.path)),
            false => Vec::new(),
        });
        let paths = paths.into_iter().chain(in_containers.flatten()).chain(replaced.flatten());
        self.first(Role::Object, paths, Expected::Recorded(key), |_| None).or_else(|| self.running_vdso())
    }

    /// The vdso of the running kernel, as the kernel maps it into this process, if it has the recorded build ID. Recordings with
    /// build IDs in mappings have none for the vdso; then the kernel must be the recorded one.
    fn running_vdso(&mut self) -> Option<Object> {
        if !self.key.path.starts_with(VDSO) || self.options.symfs.is_some() {
            return None;
        }
        let is_known = self.key.build_id.is_some() || self.options.runs_the_kernel && !self.key.is_32_bit;
        let object = Object::parse(Path::new(VDSO), host::vdso().filter(|_| is_known)?.into())?;
        let mismatch = self.key.build_id.and_then(|id| differs(&object, id));
        let outcome = mismatch.map_or(Outcome::Used, Outcome::Mismatch);
        // The path of no file, so that archives do not try to read it.
        let role = Role::RunningVdso;
        self.attempts.push(Attempt { role, path: VDSO.into(), outcome });
        mismatch.is_none().then_some(object)
    }

    /// The image of a kernel.
    pub(crate) fn vmlinux(&mut self) -> Option<Object> {
        let options = self.options;
        let mut paths: Vec<_> = options.vmlinux.iter().cloned().collect();
        if let Some(id) = &self.key.build_id {
            paths.extend(options.debug_dirs.iter().map(|root| candidate_paths::by_build_id(root, id)));
            paths.extend(candidate_paths::vmlinux(options));
            for cache in &options.build_id_dirs {
                paths.extend(candidate_paths::in_cache(cache, Path::new("[kernel.kallsyms]"), id, &["vmlinux", "elf"]));
            }
            let cache = options.debuginfod_cache.as_ref();
            paths.extend(cache.map(|cache| candidate_paths::in_debuginfod_cache(cache, id, "debuginfo")));
        }
        self.first(Role::Object, paths, Expected::Recorded(self.key), |_| None)
    }

    /// Fetches the object itself.
    pub(crate) fn fetch_object(&mut self) -> Option<Object> {
        self.fetch(Role::Object, self.key.build_id?, |_| None)
    }

    /// Fetches the image of a kernel.
    pub(crate) fn fetch_vmlinux(&mut self) -> Option<Object> {
        self.fetch(Role::DebugFile, self.key.build_id?, without_symbols)
    }

    fn fetch(
        &mut self,
        role: Role,
        build_id: Id,
        unsuitable: impl Fn(&Object) -> Option<&'static str>,
    ) -> Option<Object> {
        let fetcher = self.options.fetcher.as_ref()?;
        let path = fetcher.0.fetch(&Wanted { object: &self.key.path, build_id, role }, self.attempts)?;
        self.first(role, [path], Expected::BuildId(build_id), unsuitable)
    }

    /// Candidates by the recorded path of the object.
    fn recorded_places(&self) -> Vec<PathBuf> {
        if self.key.load_address.is_some() {
            // The same path may be of another build of the kernel.
            let is_checked = self.key.build_id.is_some() || self.options.policy == Policy::Force;
            return if is_checked { modules::module_paths(self.options, &self.key.path) } else { Vec::new() };
        }
        if self.key.path.starts_with(VDSO) {
            return self.vdso_places();
        }
        let Some(path) = recorded_path(self.key) else {
            let name = self.options.symfs.iter().filter(|_| is_name_of_file(self.key));
            return name.map(|root| root.join(&self.key.path)).collect();
        };
        let mut paths = self.archived("elf");
        match &self.options.symfs {
            Some(root) => {
                let deleted = without_deleted(path);
                for path in std::iter::once(path).chain(deleted) {
                    // The directory may contain the files themselves, without the directories that they were in.
                    let flat = path.file_name().map(|name| root.join(name));
                    paths.extend(candidate_paths::below(root, path).into_iter().chain(flat));
                }
            }
            None => paths.push(path.to_owned()),
        }
        paths
    }

    /// Candidates for the vdso: a copy below `--symfs`, and the files that are installed with the kernel, which are of 64-bit and of
    /// 32-bit processes.
    fn vdso_places(&self) -> Vec<PathBuf> {
        let SearchOptions { symfs, release, .. } = self.options;
        let release = release.iter().filter(|_| self.key.build_id.is_some());
        let root = symfs.as_deref().unwrap_or(Path::new("/"));
        let installed = release.flat_map(|release| {
            let directory = root.join("lib/modules").join(release).join("vdso");
            ["vdso64.so", "vdso32.so", "vdso.so"].map(|name| directory.join(name))
        });
        symfs.iter().map(|root| root.join(VDSO)).chain(installed).collect()
    }

    /// Candidates for a file of an object without build ID in archives of the recording.
    fn archived(&self, name: &str) -> Vec<PathBuf> {
        if self.key.build_id.is_some() {
            return Vec::new();
        }
        let directories = self.options.archive_dirs.iter();
        let of_path = directories.filter_map(|archive| candidate_paths::without_build_id(archive, &self.key.path));
        of_path.map(|directory| directory.join(name)).collect()
    }

    /// The separate debug file of an object. Without the object, it is found by the recorded build ID alone.
    pub(crate) fn debug_file(&mut self, object: Option<&Object>) -> Option<Object> {
        let installed = self.installed_debug_file(object);
        // The vdso is a part of the kernel.
        if installed.is_some() || !self.key.path.is_absolute() && !is_name_of_file(self.key) {
            return installed;
        }
        let id = object.map_or(self.key.build_id, Object::build_id)?;
        self.fetch(Role::DebugFile, id, without_symbols)
    }

    fn installed_debug_file(&mut self, object: Option<&Object>) -> Option<Object> {
        let options = self.options;
        let recorded = modules::without_compression(&self.key.path).to_owned();
        let id = object.map_or(self.key.build_id, Object::build_id);
        if let Some(id) = &id {
            let mut paths: Vec<_> =
                options.debug_dirs.iter().map(|root| candidate_paths::by_build_id(root, id)).collect();
            for cache in &options.build_id_dirs {
                paths.extend(candidate_paths::in_cache(cache, &recorded, id, &["debug"]));
            }
            let cache = options.debuginfod_cache.as_ref();
            paths.extend(cache.map(|cache| candidate_paths::in_debuginfod_cache(cache, id, "debuginfo")));
            paths.extend(candidate_paths::by_path(&recorded, &options.debug_dirs));
            paths.extend(object.into_iter().flat_map(|object| candidate_paths::beside(object.path())));
            let root = object.and_then(|object| options.containers.container_root(object.path()));
            paths.extend(root.map(|root| candidate_paths::by_build_id(&root.join("usr/lib/debug"), id)));
            let debug_file = self.first(Role::DebugFile, paths, Expected::BuildId(*id), without_symbols);
            if debug_file.is_some() {
                return debug_file;
            }
        }
        let object = object?;
        let (link, checksum) = object.debug_link()?;
        let link = path_from_bytes(link)?;
        let mut paths = self.archived("debug");
        paths.extend(candidate_paths::linked(object.path(), &recorded, &link, &options.debug_dirs));
        let expected = id.map_or(Expected::Checksum(checksum), Expected::BuildId);
        self.first(Role::DebugFile, paths, expected, without_symbols)
    }

    /// The supplementary file of dwz that a file refers to.
    pub(crate) fn alternate(&mut self, linking: &Object) -> Option<Object> {
        let (link, id) = linking.alternate_link()?;
        let link = path_from_bytes(link)?;
        let paths = candidate_paths::alternate(linking.path(), &link, &id, self.options);
        self.first(Role::Alternate, paths, Expected::BuildId(id), |_| None)
    }

    /// The split DWARF package of these files.
    pub(crate) fn package(&mut self, files: &[&Object]) -> Option<Object> {
        let recorded = self.recorded_places();
        let mut paths: Vec<_> = files.iter().map(|file| candidate_paths::package(file.path())).collect();
        paths.extend(recorded.iter().map(|path| candidate_paths::package(path)));
        paths.dedup();
        let is_package = |file: &Object| {
            let has_index = file.section_index(b".debug_cu_index").is_some();
            (!has_index).then_some("is no DWARF package")
        };
        // Units are matched by their IDs, which are hashes of their contents.
        self.first(Role::Package, paths, Expected::Anything, is_package)
    }

    /// The first of these files that matches; if there is none, with [`Policy::Force`] the first object that does not match.
    fn first(
        &mut self,
        role: Role,
        paths: impl IntoIterator<Item = PathBuf>,
        expected: Expected<'_>,
        unsuitable: impl Fn(&Object) -> Option<&'static str>,
    ) -> Option<Object> {
        let mut other = None;
        for path in paths {
            let pending = self.options.pending_images.file(&path);
            let outcome = match open(pending.as_ref().unwrap_or(&path)) {
                Err(outcome) => outcome,
                Ok(object) => match unsuitable(&object) {
                    Some(why) => Outcome::Unsuitable(why),
                    None => match self.mismatch(&object, expected) {
                        None => {
                            self.attempts.push(Attempt { role, path, outcome: Outcome::Used });
                            return Some(object);
                        }
                        Some(mismatch) => {
                            if other.is_none() {
                                other = Some((object, mismatch));
                            }
                            Outcome::Mismatch(mismatch)
                        }
                    },
                },
            };
            self.attempts.push(Attempt { role, path, outcome });
        }
        // A debug file of another build would replace an object's correct names by wrong ones.
        let is_forced = self.options.policy == Policy::Force && role == Role::Object;
        let (object, mismatch) = other.filter(|_| is_forced)?;
        let path = object.path().to_owned();
        self.attempts.push(Attempt { role, path, outcome: Outcome::Forced(mismatch) });
        Some(object)
    }

    fn mismatch(&self, object: &Object, expected: Expected<'_>) -> Option<Mismatch> {
        match expected {
            Expected::Recorded(key) => match key.build_id {
                Some(id) => differs(object, id),
                None => self.differs_without_id(object, key),
            },
            Expected::BuildId(id) => differs(object, id),
            Expected::Checksum(checksum) => {
                let mut sum = flate2::Crc::new();
                sum.update(object.bytes());
                (sum.sum() != checksum).then_some(Mismatch::Checksum)
            }
            Expected::Anything => None,
        }
    }

    /// Files below a user-specified directory are assumed to be the recorded machine's unless recorded data contradicts that.
    fn differs_without_id(&self, object: &Object, key: &ObjectKey) -> Option<Mismatch> {
        let is_in = |archive: &PathBuf| object.path().starts_with(archive.join(candidate_paths::PATHS));
        if self.options.archive_dirs.iter().any(is_in) {
            return None;
        }
        let recorded = RecordedFile { inode: key.inode, recorded: self.options.recorded };
        if let Some(Err(doubt)) = self.options.host.as_ref().map(|host| recorded.may_be_on(host)) {
            return Some(doubt.into());
        }
        let metadata = fs::metadata(object.path()).ok()?;
        if key.size.is_some_and(|size| size != metadata.len()) {
            return Some(Mismatch::Size(metadata.len()));
        }
        let identity = if self.options.symfs.is_none() { recorded.is(&metadata) } else { Ok(()) };
        match (identity, key.modified) {
            // A recorded time of the file shows more than that of the recording.
            (Ok(()) | Err(Doubt::Modified), Some(modified)) => {
                (Some(modified) != metadata.modified().ok()).then_some(Mismatch::Modified)
            }
            (identity, _) => identity.err().map(Mismatch::from),
        }
    }
}

/// The recorded path of an object; `None` if it has no file.
fn recorded_path(key: &ObjectKey) -> Option<&Path> {
    // A replaced file may have been restored, which only its build ID can confirm.
    let deleted = without_deleted(&key.path).filter(|_| key.build_id.is_some());
    let path = deleted.unwrap_or(&key.path);
    // Names of memory begin with two slashes: `//anon`.
    (path.is_absolute() && !path.to_string_lossy().starts_with("//")).then_some(path)
}

/// Whether an object has the name of a file instead of its path, as in profiles of other profilers. The build ID shows whether it is a
/// file that was found by that name.
fn is_name_of_file(key: &ObjectKey) -> bool {
    let name = key.path.as_os_str().as_encoded_bytes();
    key.build_id.is_some() && !name.is_empty() && !name.starts_with(b"[") && !name.contains(&b'/')
}

/// Why a file is no debug file.
fn without_symbols(file: &Object) -> Option<&'static str> {
    let is_empty = !file.has_dwarf() && file.section_index(b".symtab").is_none();
    is_empty.then_some("has no debug information")
}

/// Compares the build ID of a file.
fn differs(object: &Object, id: Id) -> Option<Mismatch> {
    (object.build_id() != Some(id)).then(|| Mismatch::BuildId(object.build_id()))
}

/// Opens a split DWARF file. Its units show whether it is the right one.
pub(crate) fn split_dwarf(options: &SearchOptions, unit: &SplitUnit, object: &Path) -> Option<Object> {
    let paths = candidate_paths::split_dwarf(unit, object, options.symfs.as_deref());
    paths.iter().find_map(|path| open(path).ok())
}

fn open(path: &Path) -> Result<Object, Outcome> {
    match Object::open(path) {
        Ok(Some(object)) if object.exceeds_limit() => {
            Err(Outcome::Unsuitable("has sections that overlap, or that inflate to more than the limit of its size"))
        }
        Ok(Some(object)) => Ok(object),
        // Current caches have directories where old ones have files.
        // Clients of debuginfod mark missing files by empty ones.
        Ok(None) if fs::metadata(path).is_ok_and(|file| file.is_dir() || file.len() == 0) => Err(Outcome::NotFound),
        Ok(None) => Err(Outcome::Unsuitable("is no ELF file")),
        Err(e) => Err(match e.kind() {
            ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::InvalidFilename => Outcome::NotFound,
            _ => Outcome::Unreadable(e.to_string()),
        }),
    }
}

/// A path that a file contains.
fn path_from_bytes(bytes: &[u8]) -> Option<PathBuf> {
    str::from_utf8(bytes).ok().map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::host::{Host, Inode};
    use crate::symbol::object::tests::image;
    use perf_data::abi::Endian;

    fn search(options: &SearchOptions, key: &ObjectKey) -> (Option<Object>, Vec<Outcome>) {
        let mut attempts = Vec::new();
        let object = Search::new(options, key, &mut attempts).object();
        (object, attempts.into_iter().map(|attempt| attempt.outcome).collect())
    }

    #[test]
    fn only_matching_files_are_used_unless_forced() {
        let directory = tempfile::tempdir().unwrap();
        let write = |path: &str| {
            let path = directory.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, image(62, true, Endian::Little)).unwrap();
        };
        write("bin/app");
        let mut options = SearchOptions::default().with_symfs(directory.path());
        let key = ObjectKey { path: "/bin/app".into(), ..ObjectKey::default() };
        let (object, outcomes) = search(&options, &key);
        assert_eq!(outcomes, [Outcome::Used]);
        let id = object.unwrap().build_id().unwrap();
        let other = ObjectKey { build_id: Id::new(&[7; 20]), ..key.clone() };
        let mismatch = Mismatch::BuildId(Some(id));
        let (object, outcomes) = search(&options, &other);
        assert!(object.is_none() && outcomes.contains(&Outcome::Mismatch(mismatch)));
        let sized = ObjectKey { size: Some(1), ..key.clone() };
        assert!(search(&options, &sized).0.is_none());
        options.policy = Policy::Force;
        let (object, outcomes) = search(&options, &other);
        assert!(object.is_some() && outcomes.last() == Some(&Outcome::Forced(mismatch)));
        let gone = ObjectKey { path: "/bin/gone".into(), build_id: Some(id), ..ObjectKey::default() };
        assert!(search(&options, &gone).0.is_none());
        let cached = candidate_paths::in_cache(Path::new(".debug"), &gone.path, &id, &["elf"]).remove(0);
        write(cached.to_str().unwrap());
        assert!(search(&options, &gone).0.is_some());
    }

    #[test]
    fn a_file_with_the_recorded_inode_matches_where_no_machine_is_recorded() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("app");
        fs::write(&path, image(62, true, Endian::Little)).unwrap();
        let Some(inode) = Inode::from_metadata(&fs::metadata(&path).unwrap()) else { return };
        let key = |inode| ObjectKey { path: path.clone(), inode, ..ObjectKey::default() };
        let mut options = SearchOptions { host: Some(Host::Unknown), ..SearchOptions::default() };
        assert_eq!(search(&options, &key(Some(inode))).1, [Outcome::Used]);
        assert_eq!(search(&options, &key(None)).1, [Outcome::Mismatch(Mismatch::Foreign)]);
        assert_eq!(search(&options, &key(Some((8, 1, 1).into()))).1, [Outcome::Mismatch(Mismatch::Inode)]);
        options.host = Some(Host::Other("another".to_owned()));
        assert_eq!(search(&options, &key(Some(inode))).1, [Outcome::Mismatch(Mismatch::Foreign)]);
    }

    #[test]
    fn the_vdso_without_a_build_id_is_that_of_the_recorded_kernel() {
        if host::vdso().is_none() {
            return;
        }
        let used = |runs_the_kernel, is_32_bit| {
            let options = SearchOptions { runs_the_kernel, ..SearchOptions::default() };
            search(&options, &ObjectKey { path: VDSO.into(), is_32_bit, ..ObjectKey::default() }).0.is_some()
        };
        assert!(used(true, false) && !used(false, false) && !used(true, true));
    }

    #[test]
    fn a_deleted_program_is_searched_below_symfs() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("app"), image(62, true, Endian::Little)).unwrap();
        let options = SearchOptions::default().with_symfs(directory.path());
        let key = ObjectKey { path: "/bin/app (deleted)".into(), ..ObjectKey::default() };
        assert!(search(&options, &key).0.is_some());
    }

    #[test]
    fn files_modified_after_the_recording_do_not_match() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("app");
        fs::write(&path, image(62, true, Endian::Little)).unwrap();
        let key = ObjectKey { path, ..ObjectKey::default() };
        let before = Some(std::time::SystemTime::UNIX_EPOCH);
        let options = SearchOptions { recorded: before, ..SearchOptions::default() };
        assert_eq!(search(&options, &key).1, [Outcome::Mismatch(Mismatch::Modified)]);
        assert_eq!(search(&SearchOptions::default(), &key).1, [Outcome::Used]);
    }
}
