//! Opens files at paths that a recording, an object file or a process of another user names.
//!
//! Such a path may lead anywhere, and to something else by the time it is opened. Only regular files are opened, and opening never
//! waits. Links below the root directory of a container's process are resolved there, not on the host.

use bytes::Bytes;
use perf_data::container::spool::map;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::Path;

/// Maximum size of a file with the functions of generated code. A map file of ten million functions has one GB.
const MAX_CODE_MAP: u64 = 4 << 30;

/// The user to whom a file must belong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// Any user: the file was chosen by the user of this program.
    Any,
    /// The user of a process, of this program, or root.
    OfProcess(u32),
}

/// Opens a regular file.
///
/// # Errors
/// Errors of the system; `NotFound` if it is no regular file.
pub fn open(path: &Path) -> io::Result<File> {
    regular(path, true)
}

/// Maps a regular file.
///
/// # Errors
/// As [`open`].
pub fn read(path: &Path) -> io::Result<Bytes> {
    map(&open(path)?)
}

/// Maps a regular file to copy all of it. A file that is nearly all holes costs nothing until it is copied.
///
/// # Errors
/// As [`open`]; `InvalidData` if nearly all of the file are holes.
pub fn read_stored(path: &Path) -> io::Result<Bytes> {
    let file = open(path)?;
    if is_nearly_empty(&file.metadata()?) {
        return Err(io::Error::new(ErrorKind::InvalidData, "nearly all of the file are holes"));
    }
    map(&file)
}

/// Whether a large file has hardly any data. File systems that compress store more.
#[cfg(unix)]
fn is_nearly_empty(metadata: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    const LARGE: u64 = 16 << 20;
    const BLOCK: u64 = 512;
    metadata.len() > LARGE && metadata.blocks().saturating_mul(BLOCK) < metadata.len() / 64
}

#[cfg(not(unix))]
fn is_nearly_empty(_: &fs::Metadata) -> bool {
    false
}

/// Maps a jitdump or `perf-PID.map` file. Nothing in a map file shows that a process wrote it for its functions, so its contents are
/// used only if they are those of the process: it must not be a link, have other names, or belong to another user. perf checks the
/// owner, too.
///
/// # Errors
/// As [`open`]; `PermissionDenied` with the reason if the file is not the process's.
pub fn read_code_map(path: &Path, owner: Owner) -> io::Result<Bytes> {
    let file = regular(path, false)?;
    let metadata = file.metadata()?;
    let refused = |why: &str| Err(io::Error::new(ErrorKind::PermissionDenied, why));
    if metadata.len() > MAX_CODE_MAP {
        return refused("is larger than 4 GiB");
    }
    if is_nearly_empty(&metadata) {
        return refused("nearly all of the file are holes");
    }
    match owner {
        Owner::OfProcess(pid) if !belongs_to_process(&metadata, pid) => {
            refused("belongs neither to the user of the process nor to root, or has several names")
        }
        _ => map(&file),
    }
}

#[cfg(unix)]
fn belongs_to_process(metadata: &fs::Metadata, pid: u32) -> bool {
    use std::os::unix::fs::MetadataExt;
    const ROOT: u32 = 0;
    let user = |process: &str| fs::metadata(format!("/proc/{process}")).map(|process| process.uid()).ok();
    let is_owner = metadata.uid() == ROOT
        || Some(metadata.uid()) == user("self")
        // Without the process, nobody else is known to be its user.
        || Some(metadata.uid()) == user(&pid.to_string());
    // Another name of it may be that of any file of its owner.
    is_owner && metadata.nlink() <= 1
}

#[cfg(not(unix))]
fn belongs_to_process(_: &fs::Metadata, _: u32) -> bool {
    true
}

/// Opens a regular file; its last component may be a link only if `follows`.
fn regular(path: &Path, follows: bool) -> io::Result<File> {
    let not_regular = || io::Error::new(ErrorKind::NotFound, "is not a regular file");
    // Opening a device can have effects, so its kind is checked before and, since it may be replaced, after.
    if !kind::is_regular(path, follows)? {
        return Err(not_regular());
    }
    let file = kind::open(path, follows)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(not_regular()) }
}

#[cfg(target_os = "linux")]
mod kind {
    use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, openat, openat2};
    use rustix::io::Errno;
    use std::fs::File;
    use std::io;
    use std::os::fd::OwnedFd;
    use std::path::{Component, Path, PathBuf};

    pub(super) fn is_regular(path: &Path, follows: bool) -> io::Result<bool> {
        let file = descriptor(path, OFlags::PATH, follows)?;
        Ok(FileType::from_raw_mode(fstat(file)?.st_mode) == FileType::RegularFile)
    }

    pub(super) fn open(path: &Path, follows: bool) -> io::Result<File> {
        // A FIFO without writers must not wait.
        Ok(descriptor(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY, follows)?.into())
    }

    fn descriptor(path: &Path, mut flags: OFlags, follows: bool) -> io::Result<OwnedFd> {
        flags |= OFlags::CLOEXEC;
        if !follows {
            flags |= OFlags::NOFOLLOW;
        }
        let Some((root, below)) = process_root(path) else { return Ok(openat(CWD, path, flags, Mode::empty())?) };
        let root = openat(CWD, root, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
        match openat2(&root, &below, flags, Mode::empty(), resolve) {
            // Linux before 5.6, and the system call filters of that time.
            Err(Errno::NOSYS | Errno::PERM) => without_links(root, &below, flags),
            opened => Ok(opened?),
        }
    }

    /// Opens a path that has no links.
    fn without_links(root: OwnedFd, below: &Path, flags: OFlags) -> io::Result<OwnedFd> {
        let directory = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut above = root;
        for component in below.parent().into_iter().flat_map(Path::components) {
            above = openat(&above, component.as_os_str(), directory, Mode::empty())?;
        }
        let name = below.file_name().ok_or(Errno::ISDIR)?;
        Ok(openat(&above, name, flags | OFlags::NOFOLLOW, Mode::empty())?)
    }

    /// The root directory of a process in a path, and the path below it: `/proc/PID/root` and the rest.
    fn process_root(path: &Path) -> Option<(PathBuf, PathBuf)> {
        let mut components = path.components();
        let start: Vec<_> = components.by_ref().take(4).collect();
        let [Component::RootDir, proc, Component::Normal(pid), root] = start[..] else { return None };
        let is_root = proc.as_os_str() == "proc" && root.as_os_str() == "root";
        let is_process = pid.to_str().is_some_and(|pid| pid.bytes().all(|digit| digit.is_ascii_digit()));
        let below: PathBuf = components.filter(|component| matches!(component, Component::Normal(_))).collect();
        (is_root && is_process && below.file_name().is_some()).then(|| (start.iter().collect(), below))
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn paths_below_the_root_of_a_process_are_split() {
            let split = |path: &str| process_root(Path::new(path));
            assert_eq!(split("/proc/17/root/tmp/x"), Some(("/proc/17/root".into(), "tmp/x".into())));
            let others = ["/proc/17/root", "/proc/self/root/x", "/proc/17/cwd/x", "proc/17/root/x", "/tmp/17/root/x"];
            assert!(others.iter().all(|path| split(path).is_none()));
        }

        #[test]
        fn paths_without_links_are_opened_below_a_root() {
            let directory = tempfile::tempdir().unwrap();
            std::fs::create_dir(directory.path().join("tmp")).unwrap();
            std::fs::write(directory.path().join("tmp/x"), "x").unwrap();
            std::os::unix::fs::symlink("x", directory.path().join("tmp/link")).unwrap();
            std::os::unix::fs::symlink("/tmp", directory.path().join("absolute")).unwrap();
            let open = |below: &str| {
                let root = OFlags::PATH | OFlags::DIRECTORY;
                let root = openat(CWD, directory.path(), root, Mode::empty()).unwrap();
                without_links(root, Path::new(below), OFlags::RDONLY)
            };
            assert!(open("tmp/x").is_ok());
            assert!(["tmp/link", "absolute/x", "tmp/none"].iter().all(|path| open(path).is_err()));
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod kind {
    use std::fs::{self, File};
    use std::io;
    use std::path::Path;

    pub(super) fn is_regular(path: &Path, follows: bool) -> io::Result<bool> {
        let metadata = if follows { fs::metadata(path) } else { fs::symlink_metadata(path) };
        metadata.map(|metadata| metadata.is_file())
    }

    pub(super) fn open(path: &Path, _: bool) -> io::Result<File> {
        File::open(path)
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use std::process::{self, Command};

    #[test]
    fn only_regular_files_are_opened_and_opening_never_waits() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::write(at("file"), "contents").unwrap();
        symlink("file", at("link")).unwrap();
        assert!(Command::new("mkfifo").arg(at("fifo")).status().unwrap().success());
        assert_eq!((read(&at("file")).unwrap(), read(&at("link")).unwrap()), ("contents".into(), "contents".into()));
        for path in [&at("fifo"), directory.path(), Path::new("/dev/null"), &at("none")] {
            assert_eq!(read(path).unwrap_err().kind(), ErrorKind::NotFound, "{}", path.display());
        }
    }

    #[test]
    fn files_of_holes_are_not_copied() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        fs::write(&path, "contents").unwrap();
        assert_eq!(read_stored(&path).unwrap(), "contents");
        File::options().write(true).open(&path).unwrap().set_len(1 << 40).unwrap();
        assert_eq!(read_stored(&path).unwrap_err().kind(), ErrorKind::InvalidData);
    }

    #[test]
    fn code_maps_are_files_of_the_process_and_no_links() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let read = |name: &str| read_code_map(&at(name), Owner::OfProcess(process::id())).map(|bytes| bytes.len());
        fs::write(at("map"), "1 1 f").unwrap();
        symlink("map", at("link")).unwrap();
        assert_eq!(read("map").unwrap(), 5);
        assert!(read("link").is_err());
        File::create(at("sparse")).unwrap().set_len(MAX_CODE_MAP + 1).unwrap();
        assert_eq!(read("sparse").unwrap_err().to_string(), "is larger than 4 GiB");
        File::create(at("holes")).unwrap().set_len(1 << 30).unwrap();
        assert_eq!(read("holes").unwrap_err().to_string(), "nearly all of the file are holes");
        fs::hard_link(at("map"), at("name")).unwrap();
        assert_eq!(read("name").unwrap_err().kind(), ErrorKind::PermissionDenied);
        assert_eq!(read_code_map(&at("name"), Owner::Any).unwrap().len(), 5);
    }
}
