//! The files of an object: all that are of its build id, wherever they are.

use crate::container::spool::map;
use crate::rewrite::build_ids::elf::{self, Elf};
use crate::rewrite::build_ids::find::FindOptions;
use crate::rewrite::build_ids::id::Id;
use crate::rewrite::build_ids::objects::KERNEL;
use bytes::Bytes;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// A file of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectFile {
    /// What it is called in a cache: `elf`, `debug`, `kallsyms`, `vdso`.
    pub name: &'static str,
    /// Where it is.
    pub path: PathBuf,
}

impl ObjectFile {
    /// What is in it.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn read(&self) -> io::Result<Bytes> {
        // What the kernel makes up has no size.
        if self.path.starts_with("/proc") {
            return fs::read(&self.path).map(Bytes::from);
        }
        map(&File::open(&self.path)?)
    }
}

/// Where the symbols of the running kernel are.
const KALLSYMS: &str = "/proc/kallsyms";

/// Where distributions put files with debugging information.
const DEBUG: &str = "usr/lib/debug";

/// The files of an object of this name and build id, below `--symfs` or on this machine, and in the cache of build ids. None is
/// believed by its place if it tells another build id.
pub fn files(name: &[u8], id: Id, options: &FindOptions) -> Vec<ObjectFile> {
    let Ok(name) = std::str::from_utf8(name) else { return Vec::new() };
    let mut files = Vec::new();
    let mut add = |kind, candidates: Vec<PathBuf>, is_it: &dyn Fn(&Path) -> bool| {
        let found = candidates.into_iter().find(|path| is_it(path));
        files.extend(found.map(|path| ObjectFile { name: kind, path }));
    };
    let has_id = |path: &Path| elf::read(path).is_ok_and(|found| found == Elf::Id(id));
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

/// Where a cache of build ids has a file.
fn cached(name: &str, id: Id, file: &str, options: &FindOptions) -> Vec<PathBuf> {
    let Some(cache) = &options.cache else { return Vec::new() };
    let id = id.to_string();
    let (start, rest) = id.split_at(2);
    let by_id = cache.dir.join(".build-id").join(start).join(rest);
    let by_name = cache.dir.join(name.trim_start_matches('/')).join(&id);
    vec![by_name.join(file), by_id.join(file)]
}

/// Where debugging information is that was taken out of a program.
fn debug_files(root: &Path, name: &str, id: Id) -> Vec<PathBuf> {
    let id = id.to_string();
    let (start, rest) = id.split_at(2);
    let mut files = vec![root.join(DEBUG).join(".build-id").join(start).join(format!("{rest}.debug"))];
    let Some(path) = name.strip_prefix('/').map(Path::new) else { return files };
    let (Some(folder), Some(file)) = (path.parent(), path.file_name()) else { return files };
    let mut debug = OsString::from(file);
    debug.push(".debug");
    for folder in [folder.to_owned(), folder.join(".debug"), Path::new(DEBUG).join(folder)] {
        files.push(root.join(&folder).join(&debug));
        if folder != path.parent().unwrap_or(Path::new("")) {
            files.push(root.join(&folder).join(file));
        }
    }
    files
}

/// Whether the running kernel has this build id, and tells its addresses.
fn is_running(id: Id) -> bool {
    let is_it = elf::read_notes(Path::new("/sys/kernel/notes")).is_ok_and(|found| found == Some(id));
    let tells = |symbols: String| {
        symbols.lines().any(|line| line.starts_with(|char: char| char.is_ascii_hexdigit() && char != '0'))
    };
    is_it && fs::read_to_string(KALLSYMS).is_ok_and(tells)
}
