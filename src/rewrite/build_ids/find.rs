//! Where the build id of an object is looked for: what the user tells, the files of this machine or below `--symfs`, what the
//! kernel tells of itself, the cache of build ids.

use super::elf::{self, Elf};
use super::host::{Host, Inode};
use super::id::Id;
use super::known::KnownBuildIds;
use super::objects::{FileKey, KERNEL, Object};
use crate::abi::hex::from_hex;
use crate::abi::record::CpuMode;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Where to look.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FindOptions {
    /// What the user tells.
    pub known: KnownBuildIds,
    /// A folder that has the files of the recorded machine: they are believed, whatever host and inodes.
    pub symfs: Option<PathBuf>,
    /// The cache of build ids.
    pub cache: Option<Cache>,
}

/// A cache of build ids, as perf has it: `DIR/PATH/BUILDID/elf`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    /// The folder.
    pub dir: PathBuf,
    /// Whether the user says that it has what was recorded. Then its only file of a name is the one.
    pub is_of_recording: bool,
}

/// Why an object has no build id, and what there is to say of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Why {
    /// The reason.
    pub reason: Reason,
    /// What there is to say of this object; empty where nothing is.
    pub detail: String,
}

/// Why an object has no build id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// The recording is of another host.
    OtherHost,
    /// Nothing shows that the file is the recorded one.
    Unproven,
    /// The file is not the recorded one.
    OtherFile,
    /// There is no such file.
    NotThere,
    /// The file cannot be read.
    Unreadable,
    /// The file has none.
    NoId,
    /// Several files had the name.
    Several,
}

impl From<Reason> for Why {
    fn from(reason: Reason) -> Self {
        Self { reason, detail: String::new() }
    }
}

/// How far a map may reach beyond the end of its file: no page is larger.
const PAGE: u64 = 1 << 16;

/// What names begin with that are no files, or none that programs are run from.
const MADE_UP: [&[u8]; 7] = [b"//", b"/memfd:", b"/anon_hugepage", b"/SYSV", b"/dev/", b"/proc/", b"/sys/"];

/// Looks for build ids.
#[derive(Debug)]
pub struct Finder<'a> {
    options: &'a FindOptions,
    host: Host,
    /// Version of the recorded kernel.
    osrelease: Option<String>,
    /// When the recording was written last, where that is known.
    written: Option<SystemTime>,
}

impl<'a> Finder<'a> {
    /// For a recording in this file, of this host.
    pub fn new(options: &'a FindOptions, file: Option<&str>, host: Host, osrelease: Option<String>) -> Self {
        let written = file.and_then(|file| fs::metadata(file).ok()?.modified().ok());
        // It becomes part of a path.
        Self { options, host, osrelease: osrelease.filter(|release| !release.contains('/')), written }
    }

    /// What the user tells.
    pub fn known(&self, name: &[u8]) -> Option<Id> {
        self.options.known.of(name)
    }

    /// The build id of a file that had an object's name; none where there is none, nor anything to be said of that.
    ///
    /// # Errors
    /// Why there is none.
    pub fn find(&self, object: &Object, file: &FileKey, end: u64) -> Result<Option<Id>, Why> {
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
        let found = match (&self.options.symfs, &self.host) {
            (Some(root), _) => read(&below(root, path), end),
            (None, Host::Other(_)) => Err(Reason::OtherHost.into()),
            (None, Host::Untold) if file.inode.is_none() => Err(Reason::Unproven.into()),
            (None, _) => self.read_here(path, file.inode, end),
        };
        found.or_else(|why| self.cached(name, file, Some(end), &why).map(Some).ok_or(why))
    }

    /// Reads the build id of a file of this machine, if it is the recorded one.
    fn read_here(&self, path: &Path, recorded: Option<Inode>, end: u64) -> Result<Option<Id>, Why> {
        let metadata = fs::metadata(path).map_err(|e| unreadable(&e))?;
        let here = Inode::of_file(&metadata);
        if recorded.is_some_and(|recorded| !here.is_some_and(|here| here.is(&recorded))) {
            return Err(Why { reason: Reason::OtherFile, detail: "another inode".to_owned() });
        }
        // Compilers may well give what they write anew the inode of what was there.
        if self.written.zip(metadata.modified().ok()).is_some_and(|(recording, file)| file > recording) {
            return Err(Why { reason: Reason::OtherFile, detail: "changed since".to_owned() });
        }
        read(path, end)
    }

    /// The kernel's, from itself or from its file.
    fn kernel(&self) -> Result<Option<Id>, Why> {
        if let Some(root) = &self.options.symfs {
            let Some(release) = &self.osrelease else { return Err(Reason::Unproven.into()) };
            let places = [
                format!("boot/vmlinux-{release}"),
                format!("usr/lib/debug/boot/vmlinux-{release}"),
                format!("usr/lib/debug/lib/modules/{release}/vmlinux"),
                format!("lib/modules/{release}/vmlinux"),
                format!("lib/modules/{release}/build/vmlinux"),
            ];
            let ids = places.iter().filter_map(|place| read(&root.join(place), 0).ok().flatten());
            let missing = || Why { reason: Reason::NotThere, detail: format!("vmlinux-{release}") };
            return ids.into_iter().next().map(Some).ok_or_else(missing);
        }
        match self.host {
            Host::Other(_) => Err(Reason::OtherHost.into()),
            Host::This { runs_the_kernel: true } => match elf::read_notes(Path::new("/sys/kernel/notes")) {
                Ok(id) => id.map(Some).ok_or(Reason::NoId.into()),
                Err(e) => Err(unreadable(&e)),
            },
            Host::This { .. } | Host::Untold => Err(Reason::Unproven.into()),
        }
    }

    /// That of a module that is loaded, from the kernel.
    fn loaded_module(&self, module: &str) -> Option<Id> {
        let is_here = self.options.symfs.is_none() && self.host == Host::This { runs_the_kernel: true };
        let notes = format!("/sys/module/{module}/notes/.note.gnu.build-id");
        is_here.then(|| elf::read_notes(Path::new(&notes)).ok().flatten()).flatten()
    }

    /// That of the cache: of the very file, which is linked there, or, where the file has gone or the user says so, of the
    /// only file of the name.
    fn cached(&self, name: &[u8], file: &FileKey, end: Option<u64>, why: &Why) -> Option<Id> {
        let cache = self.options.cache.as_ref()?;
        let folder = below(&cache.dir, Path::new(std::str::from_utf8(name).ok()?));
        let mut ids = Vec::new();
        for entry in fs::read_dir(folder).ok()?.flatten() {
            let Some(id) = from_hex(entry.file_name().as_encoded_bytes()).and_then(|id| Id::new(&id)) else { continue };
            let path = entry.path().join("elf");
            let metadata = fs::metadata(&path).ok();
            let fits = match (&metadata, end) {
                (_, None) => true,
                (None, Some(_)) => false,
                (Some(metadata), Some(end)) => {
                    reaches(metadata.len(), end) && elf::read(&path).ok() == Some(Elf::Id(id))
                }
            };
            let inodes = file.inode.zip(metadata.as_ref().and_then(Inode::of_file));
            let is_same = inodes.is_some_and(|(recorded, here)| recorded.is(&here));
            if fits && is_same && !matches!(self.host, Host::Other(_)) {
                return Some(id);
            }
            ids.extend(fits.then_some(id));
        }
        let has_gone = why.reason == Reason::NotThere && matches!(self.host, Host::This { .. });
        match ids[..] {
            [id] if cache.is_of_recording || has_gone => Some(id),
            _ => None,
        }
    }
}

/// A path below a folder.
fn below(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

/// Reads the build id of a file, if it is as large as what was mapped.
fn read(path: &Path, end: u64) -> Result<Option<Id>, Why> {
    let size = fs::metadata(path).map_err(|e| unreadable(&e))?.len();
    if !reaches(size, end) {
        return Err(Why { reason: Reason::OtherFile, detail: format!("{size} bytes, of which {end} were mapped") });
    }
    match elf::read(path) {
        Ok(Elf::Id(id)) => Ok(Some(id)),
        Ok(Elf::NoId) => Err(Reason::NoId.into()),
        Ok(Elf::Other) => Ok(None),
        Err(e) => Err(unreadable(&e)),
    }
}

/// Whether a file of this size can have been mapped so far.
fn reaches(size: u64, end: u64) -> bool {
    end.saturating_sub(size) < PAGE
}

fn unreadable(error: &io::Error) -> Why {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::InvalidFilename => {
            Reason::NotThere.into()
        }
        _ => Why { reason: Reason::Unreadable, detail: error.to_string() },
    }
}

/// The path that a name is; `None` where it is the name of something that has no file.
fn path(name: &[u8]) -> Option<&Path> {
    let is_made_up = MADE_UP.iter().any(|prefix| name.starts_with(prefix));
    let has_gone = name.ends_with(b" (deleted)");
    let leads_out = name.split(|&byte| byte == b'/').any(|part| part == b"..");
    if !name.starts_with(b"/") || is_made_up || has_gone || leads_out {
        return None;
    }
    std::str::from_utf8(name).ok().map(Path::new)
}

/// The module that a map of the kernel is of, as the kernel calls it: `[nf_nat]`, `/lib/modules/.../nf-nat.ko.xz`.
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
    fn modules_have_the_names_that_the_kernel_gives_them() {
        let modules = [&b"[nf_nat]"[..], b"/lib/modules/6.1/kernel/nf-nat.ko.xz", b"nf_nat.ko"].map(module);
        assert_eq!(modules, [(); 3].map(|()| Some("nf_nat".to_owned())));
        assert_eq!(
            [&b"[../x]"[..], b"[]", b"/lib/x.so", b"__entry_SYSCALL_64_trampoline"].map(module),
            [(); 4].map(|()| None)
        );
    }

    #[test]
    fn what_has_no_file_has_no_path() {
        for name in
            ["//anon", "[heap]", "[vdso]", "/memfd:x (deleted)", "/tmp/x (deleted)", "/a/../../b", "anon_inode:[x]"]
        {
            assert_eq!(path(name.as_bytes()), None, "{name}");
        }
        assert_eq!(path(b"/bin/cat..x"), Some(Path::new("/bin/cat..x")));
    }
}
