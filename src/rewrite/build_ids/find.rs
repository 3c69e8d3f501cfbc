//! Searches the build ID of an object: in the user's list, in the files of this machine or below `--symfs`, in the running
//! kernel, in the build ID cache.

use super::known_build_ids::KnownBuildIds;
use super::objects::{FileKey, KERNEL, MappedObject};
use perf_data::abi::hex::from_hex;
use perf_data::abi::record::CpuMode;
use perf_symbols::object::build_id::Id;
use perf_symbols::object::build_id_note::{self, Elf};
use perf_symbols::object::host::{Doubt, Host, Inode, RecordedFile};
use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Where build IDs are searched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
pub struct FindOptions {
    /// Build IDs of files, overriding recorded and found ones: a list, or a file with one per line, as printed by perf buildid-list.
    #[cfg_attr(
        feature = "cli",
        arg(
            long = "known-build-ids",
            id = "known_build_ids",
            value_name = "BUILDID FILE,...|PATH",
            value_parser = KnownBuildIds::parse,
        )
    )]
    pub known_build_ids: Option<KnownBuildIds>,

    /// Directory with the files of the recorded machine at their paths [default: /, for files that match the recorded ones].
    #[cfg_attr(feature = "cli", arg(long, value_name = "DIR", value_parser = crate::option_values::directory()))]
    pub symfs: Option<PathBuf>,

    /// Build ID cache, for files that no longer exist [default: ~/.debug].
    #[cfg_attr(feature = "cli", arg(long, value_name = "DIR", value_parser = crate::option_values::directory()))]
    pub buildid_dir: Option<PathBuf>,
}

impl FindOptions {
    fn cache(&self) -> Option<Cache> {
        let default_cache =
            || Some(Cache { dir: PathBuf::from(env::var_os("HOME")?).join(".debug"), has_recorded_files: false });
        let given_cache = self.buildid_dir.clone().map(|dir| Cache { dir, has_recorded_files: true });
        given_cache.or_else(default_cache)
    }
}

/// A build ID cache in perf's layout: `DIR/PATH/BUILDID/elf`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    /// Directory.
    pub dir: PathBuf,
    /// Whether the user states that it contains the recorded files. Then the only file of a name is used.
    pub has_recorded_files: bool,
}

/// Why an object has no build ID, with details.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingBuildId {
    /// The reason.
    pub reason: Reason,
    /// Details about the object; may be empty.
    pub detail: String,
}

/// Why an object has no build ID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// The recording is from another host.
    OtherHost,
    /// The local file cannot be verified to be the recorded one.
    Unproven,
    /// The local file is not the recorded one.
    OtherFile,
    /// The file does not exist.
    NotFound,
    /// The file cannot be read.
    Unreadable,
    /// The file has no build ID.
    NoId,
    /// Several files had the name.
    Several,
}

impl From<Reason> for MissingBuildId {
    fn from(reason: Reason) -> Self {
        Self { reason, detail: String::new() }
    }
}

impl From<Doubt> for MissingBuildId {
    fn from(doubt: Doubt) -> Self {
        let (reason, detail) = match doubt {
            Doubt::OtherHost => (Reason::OtherHost, ""),
            Doubt::Unproven => (Reason::Unproven, ""),
            Doubt::Inode => (Reason::OtherFile, "another inode"),
            Doubt::Modified => (Reason::OtherFile, "modified after the recording"),
        };
        Self { reason, detail: detail.to_owned() }
    }
}

/// How far a mapping may reach beyond the end of its file: the largest page size.
const PAGE: u64 = 1 << 16;

/// Prefixes of names that are not files, or not files of programs.
const SPECIAL_PREFIXES: [&[u8]; 7] = [b"//", b"/memfd:", b"/anon_hugepage", b"/SYSV", b"/dev/", b"/proc/", b"/sys/"];

/// Searches build IDs.
#[derive(Debug)]
pub struct Finder<'a> {
    options: &'a FindOptions,
    host: Host,
    /// Version of the recorded kernel.
    osrelease: Option<String>,
    /// Modification time of the recording, if known.
    written: Option<SystemTime>,
}

impl<'a> Finder<'a> {
    /// Creates a search for a recording in this file, from this host.
    pub fn new(options: &'a FindOptions, file: Option<&str>, host: Host, osrelease: Option<String>) -> Self {
        let written = file.and_then(|file| fs::metadata(file).ok()?.modified().ok());
        // The release becomes part of a path.
        Self { options, host, osrelease: osrelease.filter(|release| !release.contains('/')), written }
    }

    /// The build ID in the user's list.
    pub fn known_build_id(&self, name: &[u8]) -> Option<Id> {
        self.options.known_build_ids.as_ref()?.get(name)
    }

    /// Searches the build ID of a file that had an object's name; `None` if the object cannot have one.
    ///
    /// # Errors
    /// Why no build ID was found.
    pub fn find(&self, object: &MappedObject, file: &FileKey, end: u64) -> Result<Option<Id>, MissingBuildId> {
        let name = &*object.name;
        if name == KERNEL {
            return self.kernel().or_else(|why| self.cached(name, file, None, &why).map(Some).ok_or(why));
        }
        if object.mode == CpuMode::KERNEL
            && let Some(module) = module(name)
            && let Some(id) = self.loaded_module(&module)
        {
            return Ok(Some(id));
        }
        let Some(path) = path(name) else { return Ok(None) };
        let build_id = match (&self.options.symfs, &self.host) {
            (Some(root), _) => read(&below(root, path), end),
            (None, host) => self.read_here(host, path, file.inode, end),
        };
        build_id.or_else(|why| self.cached(name, file, Some(end), &why).map(Some).ok_or(why))
    }

    /// Reads the build ID of a local file, if it is the recorded one.
    fn read_here(
        &self,
        host: &Host,
        path: &Path,
        inode: Option<Inode>,
        end: u64,
    ) -> Result<Option<Id>, MissingBuildId> {
        let recorded = RecordedFile { inode, recorded: self.written };
        recorded.may_be_on(host)?;
        recorded.is(&fs::metadata(path).map_err(|e| unreadable(&e))?)?;
        read(path, end)
    }

    /// The kernel's build ID, from the running kernel or its file.
    fn kernel(&self) -> Result<Option<Id>, MissingBuildId> {
        if let Some(root) = &self.options.symfs {
            let Some(release) = &self.osrelease else { return Err(Reason::Unproven.into()) };
            let paths = [
                format!("boot/vmlinux-{release}"),
                format!("usr/lib/debug/boot/vmlinux-{release}"),
                format!("usr/lib/debug/lib/modules/{release}/vmlinux"),
                format!("lib/modules/{release}/vmlinux"),
                format!("lib/modules/{release}/build/vmlinux"),
            ];
            // The end of a kernel mapping is no offset in the file, so the size is not checked.
            let ids = paths.iter().filter_map(|path| read(&root.join(path), 0).ok().flatten());
            let missing = || MissingBuildId { reason: Reason::NotFound, detail: format!("vmlinux-{release}") };
            return ids.into_iter().next().map(Some).ok_or_else(missing);
        }
        match self.host {
            Host::Other(_) => Err(Reason::OtherHost.into()),
            Host::This { runs_the_kernel: true } => match build_id_note::read_notes(Path::new("/sys/kernel/notes")) {
                Ok(id) => id.map(Some).ok_or(Reason::NoId.into()),
                Err(e) => Err(unreadable(&e)),
            },
            Host::This { .. } | Host::Unknown => Err(Reason::Unproven.into()),
        }
    }

    /// The build ID of a loaded module.
    fn loaded_module(&self, module: &str) -> Option<Id> {
        let is_here = self.options.symfs.is_none() && self.host == Host::This { runs_the_kernel: true };
        let notes = format!("/sys/module/{module}/notes/.note.gnu.build-id");
        is_here.then(|| build_id_note::read_notes(Path::new(&notes)).ok().flatten()).flatten()
    }

    /// The cached build ID: of the same file, which the cache links, or of the only file of the name if the file no longer exists
    /// or the user states that the cache has the recorded files.
    fn cached(&self, name: &[u8], file: &FileKey, end: Option<u64>, why: &MissingBuildId) -> Option<Id> {
        let cache = self.options.cache()?;
        let directory = below(&cache.dir, Path::new(std::str::from_utf8(name).ok()?));
        let mut ids = Vec::new();
        for entry in fs::read_dir(directory).ok()?.flatten() {
            let Some(id) = from_hex(entry.file_name().as_encoded_bytes()).and_then(|id| Id::new(&id)) else { continue };
            let path = entry.path().join("elf");
            let metadata = fs::metadata(&path).ok();
            let fits = match (&metadata, end) {
                (_, None) => true,
                (None, Some(_)) => false,
                (Some(metadata), Some(end)) => {
                    reaches(metadata.len(), end) && build_id_note::read(&path).ok() == Some(Elf::Id(id))
                }
            };
            let inodes = file.inode.zip(metadata.as_ref().and_then(Inode::from_metadata));
            let is_same = inodes.is_some_and(|(recorded, here)| recorded.is(&here));
            // An inode of another host identifies nothing here.
            if fits && is_same && !matches!(self.host, Host::Other(_)) {
                return Some(id);
            }
            ids.extend(fits.then_some(id));
        }
        let is_deleted = why.reason == Reason::NotFound && matches!(self.host, Host::This { .. });
        match ids[..] {
            [id] if cache.has_recorded_files || is_deleted => Some(id),
            _ => None,
        }
    }
}

/// A path below a directory.
fn below(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

/// Reads the build ID of a file, if the file is as large as its mappings.
fn read(path: &Path, end: u64) -> Result<Option<Id>, MissingBuildId> {
    let size = fs::metadata(path).map_err(|e| unreadable(&e))?.len();
    if !reaches(size, end) {
        return Err(MissingBuildId {
            reason: Reason::OtherFile,
            detail: format!("{size} bytes, but {end} were mapped"),
        });
    }
    match build_id_note::read(path) {
        Ok(Elf::Id(id)) => Ok(Some(id)),
        Ok(Elf::NoId) => Err(Reason::NoId.into()),
        Ok(Elf::Other) => Ok(None),
        Err(e) => Err(unreadable(&e)),
    }
}

/// Whether a file of this size can have been mapped up to `end`.
fn reaches(size: u64, end: u64) -> bool {
    end.saturating_sub(size) < PAGE
}

fn unreadable(error: &io::Error) -> MissingBuildId {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::InvalidFilename => {
            Reason::NotFound.into()
        }
        _ => MissingBuildId { reason: Reason::Unreadable, detail: error.to_string() },
    }
}

/// The path of a name; `None` if the name is not that of an existing file.
fn path(name: &[u8]) -> Option<&Path> {
    let is_special = SPECIAL_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    let is_deleted = name.ends_with(b" (deleted)");
    let has_parent = name.split(|&byte| byte == b'/').any(|part| part == b"..");
    if !name.starts_with(b"/") || is_special || is_deleted || has_parent {
        return None;
    }
    std::str::from_utf8(name).ok().map(Path::new)
}

/// The kernel's name of the module in a mapping: of `[nf_nat]`, `/lib/modules/.../nf-nat.ko.xz`.
fn module(name: &[u8]) -> Option<String> {
    let name = std::str::from_utf8(name).ok()?;
    let module = match name.strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
        Some(module) => module,
        None => {
            let file = name.rsplit('/').next()?;
            let endings = [".ko", ".ko.gz", ".ko.xz", ".ko.zst"];
            endings.iter().find_map(|ending| file.strip_suffix(ending))?
        }
    };
    let is_name = !module.is_empty() && !module.contains(['/', '.']);
    is_name.then(|| module.replace('-', "_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normalizes_module_names() {
        let modules = [&b"[nf_nat]"[..], b"/lib/modules/6.1/kernel/nf-nat.ko.xz", b"nf_nat.ko"].map(module);
        assert_eq!(modules, [(); 3].map(|()| Some("nf_nat".to_owned())));
        assert_eq!(
            [&b"[../x]"[..], b"[]", b"/lib/x.so", b"__entry_SYSCALL_64_trampoline"].map(module),
            [(); 4].map(|()| None)
        );
    }

    #[test]
    fn special_names_have_no_path() {
        for name in
            ["//anon", "[heap]", "[vdso]", "/memfd:x (deleted)", "/tmp/x (deleted)", "/a/../../b", "anon_inode:[x]"]
        {
            assert_eq!(path(name.as_bytes()), None, "{name}");
        }
        assert_eq!(path(b"/bin/cat..x"), Some(Path::new("/bin/cat..x")));
    }
}
