//! Collects the files of an object by its build ID.

use crate::container::spool::map;
use crate::object::build_id::Id;
use crate::object::build_id_note::{self, Elf};
use crate::rewrite::build_ids::find::FindOptions;
use crate::rewrite::build_ids::objects::KERNEL;
use bytes::Bytes;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// A file of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectFile {
    /// Name in a build ID cache: `elf`, `debug`, `kallsyms`, `vdso`.
    pub name: &'static str,
    /// Path.
    pub path: PathBuf,
}

impl ObjectFile {
    /// Reads the file.
    ///
    /// # Errors
    /// Fails if it cannot be read.
    pub fn read(&self) -> io::Result<Bytes> {
        // Files in /proc report a size of 0.
        if self.path.starts_with("/proc") {
            return fs::read(&self.path).map(Bytes::from);
        }
        map(&File::open(&self.path)?)
    }
}

/// Symbols of the running kernel.
const KALLSYMS: &str = "/proc/kallsyms";

/// Directory of distributions' debug files.
const DEBUG: &str = "usr/lib/debug";

/// The files of an object with this name and build ID, below `--symfs` or on this machine, and in the build ID cache.
///
/// The build ID of each ELF file is verified.
pub fn files(name: &[u8], id: Id, options: &FindOptions) -> Vec<ObjectFile> {
    let Ok(name) = std::str::from_utf8(name) else { return Vec::new() };
    let mut files = Vec::new();
    let mut add = |kind, candidates: Vec<PathBuf>, accept: &dyn Fn(&Path) -> bool| {
        let found = candidates.into_iter().find(|path| accept(path));
        files.extend(found.map(|path| ObjectFile { name: kind, path }));
    };
    let has_id = |path: &Path| build_id_note::read(path).is_ok_and(|found| found == Elf::Id(id));
    let cached = |kind: &str| cached(name, id, kind, options);
    if name == "[vdso]" {
        add("vdso", cached("vdso"), &has_id);
        return files;
    }
    let root = options.symfs.as_deref().unwrap_or(Path::new("/"));
    let path = name.strip_prefix('/').map(|path| root.join(path));
    add("elf", path.into_iter().chain(cached("elf")).collect(), &has_id);
    let debug = debug_files(root, name, id).into_iter().chain(cached("debug"));
    add("debug", debug.collect(), &has_id);
    if name.as_bytes() == KERNEL {
        add("kallsyms", cached("kallsyms"), &Path::is_file);
        let is_missing = !files.iter().any(|file| file.name == "kallsyms");
        if is_missing && options.symfs.is_none() && is_running(id) {
            files.push(ObjectFile { name: "kallsyms", path: KALLSYMS.into() });
        }
    }
    files
}

/// Paths of a file in the build ID cache.
fn cached(name: &str, id: Id, file: &str, options: &FindOptions) -> Vec<PathBuf> {
    let Some(cache) = &options.cache else { return Vec::new() };
    let id = id.to_string();
    let (start, rest) = id.split_at(2);
    let by_id = cache.dir.join(".build-id").join(start).join(rest);
    let by_name = cache.dir.join(name.trim_start_matches('/')).join(&id);
    vec![by_name.join(file), by_id.join(file)]
}

/// Paths of separate debug files.
fn debug_files(root: &Path, name: &str, id: Id) -> Vec<PathBuf> {
    let id = id.to_string();
    let (start, rest) = id.split_at(2);
    let mut files = vec![root.join(DEBUG).join(".build-id").join(start).join(format!("{rest}.debug"))];
    let Some(path) = name.strip_prefix('/').map(Path::new) else { return files };
    let (Some(directory), Some(file)) = (path.parent(), path.file_name()) else { return files };
    let mut debug = OsString::from(file);
    debug.push(".debug");
    for directory in [directory.to_owned(), directory.join(".debug"), Path::new(DEBUG).join(directory)] {
        files.push(root.join(&directory).join(&debug));
        if directory != path.parent().unwrap_or(Path::new("")) {
            files.push(root.join(&directory).join(file));
        }
    }
    files
}

/// Whether the running kernel has this build ID, and its symbol addresses are readable.
fn is_running(id: Id) -> bool {
    let is_same = build_id_note::read_notes(Path::new("/sys/kernel/notes")).is_ok_and(|found| found == Some(id));
    let has_addresses = |symbols: String| {
        symbols.lines().any(|line| line.starts_with(|char: char| char.is_ascii_hexdigit() && char != '0'))
    };
    is_same && fs::read_to_string(KALLSYMS).is_ok_and(has_addresses)
}
