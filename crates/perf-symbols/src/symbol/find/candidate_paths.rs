//! Candidate paths of an object's files. No file is opened here.

use super::SearchOptions;
use crate::object::build_id::Id;
use perf_data::abi::hex::to_hex;
use std::path::{Component, Path, PathBuf};

/// A path below a directory; `None` if it would lead out of the directory.
pub fn below(root: &Path, path: &Path) -> Option<PathBuf> {
    let mut inside = root.to_owned();
    for component in path.components() {
        match component {
            Component::Normal(part) => inside.push(part),
            Component::RootDir | Component::CurDir => {}
            Component::ParentDir | Component::Prefix(_) => return None,
        }
    }
    Some(inside)
}

/// The first two digits of a build ID, and the rest.
fn split(id: &Id) -> (String, String) {
    let digits = to_hex(id.bytes());
    let (first, rest) = digits.split_at(2.min(digits.len()));
    (first.to_owned(), rest.to_owned())
}

/// A debug file by build ID, as distributions install them.
pub fn by_build_id(debug_dir: &Path, id: &Id) -> PathBuf {
    let (first, rest) = split(id);
    debug_dir.join(".build-id").join(first).join(format!("{rest}.debug"))
}

/// An object or one of its files in perf's build ID cache: `.build-id/ab/cdef.../elf`, without a file name in old caches and in
/// archives of `perf archive`, and `PATH/abcdef.../elf`. A name that is not a path is a directory, too.
pub fn in_cache(cache: &Path, path: &Path, id: &Id, names: &[&str]) -> Vec<PathBuf> {
    let (first, rest) = split(id);
    let by_id = cache.join(".build-id").join(first).join(rest);
    let by_path = below(cache, path).map(|directory| directory.join(to_hex(id.bytes())));
    let directories = || std::iter::once(&by_id).chain(&by_path);
    let named = directories().flat_map(|directory| names.iter().map(|name| directory.join(name)));
    named.chain(directories().cloned()).collect()
}

/// Directory of the files of processes in an archive.
pub const PROCESSES: &str = "processes";

/// Name of a jitdump in an archive.
pub const JIT_DUMP: &str = "jit.dump";

/// Name of a map file in an archive.
pub const PERF_MAP: &str = "perf.map";

/// An archived file of a process with this ID on the recorded machine: `processes/PID/jit.dump` or `processes/PID/perf.map`.
pub fn process_file(directory: &Path, pid: u32, name: &str) -> PathBuf {
    directory.join(PROCESSES).join(pid.to_string()).join(name)
}

/// Directory of the files of objects without build ID in an archive.
pub const PATHS: &str = "paths";

/// The archived files of an object without build ID: `paths/PATH/elf` and `paths/PATH/debug`; `None` if its path is not valid.
pub fn without_build_id(directory: &Path, path: &Path) -> Option<PathBuf> {
    below(&directory.join(PATHS), path)
}

/// Name of the objects in a build ID cache that are supplementary files of dwz.
pub const DWZ: &str = "[dwz]";

/// Name of a split DWARF file in an archive, in the directory of its object.
pub fn split_dwarf_name(id: u64) -> String {
    format!("{id:016x}.dwo")
}

/// Candidates for the image of a kernel, by its release. Which kernel they are of, their build ID shows.
pub fn vmlinux(options: &SearchOptions) -> Vec<PathBuf> {
    let Some(release) = &options.release else { return Vec::new() };
    let of_release = |path: &str| path.replace("RELEASE", release);
    let below_debug = ["boot/vmlinux-RELEASE", "lib/modules/RELEASE/vmlinux", "usr/lib/modules/RELEASE/vmlinux"];
    let debug = below_debug.map(of_release);
    let mut paths: Vec<_> =
        options.debug_dirs.iter().flat_map(|root| debug.iter().map(move |path| root.join(path))).collect();
    let root = options.symfs.as_deref().unwrap_or(Path::new("/"));
    let installed = ["boot/vmlinux-RELEASE", "lib/modules/RELEASE/vmlinux", "lib/modules/RELEASE/build/vmlinux"];
    paths.extend(installed.map(|path| root.join(of_release(path))));
    paths
}

/// A file in debuginfod's cache, by build ID.
pub fn in_debuginfod_cache(cache: &Path, id: &Id, name: &str) -> PathBuf {
    cache.join(to_hex(id.bytes())).join(name)
}

/// Candidates for the debug file that an object names in `.gnu_debuglink`: beside the object, in `.debug` there, and below the
/// debug directories.
pub fn linked(object: &Path, recorded: &Path, link: &Path, debug_dirs: &[PathBuf]) -> Vec<PathBuf> {
    // The section contains a file name; a path could lead to any file.
    let Some(name) = link.file_name() else { return Vec::new() };
    let mut paths = Vec::new();
    if let Some(directory) = object.parent() {
        paths.extend([directory.join(name), directory.join(".debug").join(name)]);
    }
    let directory = recorded.parent().unwrap_or(Path::new(""));
    paths.extend(debug_dirs.iter().filter_map(|root| Some(below(root, directory)?.join(name))));
    paths.extend(debug_dirs.iter().map(|root| root.join(name)));
    // A file that links to itself.
    paths.retain(|path| path != object);
    paths
}

/// Candidates for a debug file by the path of its object.
pub fn by_path(recorded: &Path, debug_dirs: &[PathBuf]) -> Vec<PathBuf> {
    let below = |root: &PathBuf| {
        let path = below(root, recorded)?;
        let mut with_ending = path.clone().into_os_string();
        with_ending.push(".debug");
        Some([PathBuf::from(with_ending), path])
    };
    debug_dirs.iter().filter_map(below).flatten().collect()
}

/// Candidates for a debug file beside its object: `NAME.debug`, `.debug/NAME`.
pub fn beside(object: &Path) -> Vec<PathBuf> {
    let Some((directory, name)) = object.parent().zip(object.file_name()) else { return Vec::new() };
    let mut with_ending = object.as_os_str().to_owned();
    with_ending.push(".debug");
    vec![with_ending.into(), directory.join(".debug").join(name)]
}

/// Candidates for the file that `.gnu_debugaltlink` names, relative to the file with the link.
pub fn alternate(linking: &Path, link: &Path, id: &Id, options: &SearchOptions) -> Vec<PathBuf> {
    let SearchOptions { symfs, debug_dirs, build_id_dirs, .. } = options;
    let mut paths = Vec::new();
    if link.is_absolute() {
        paths.extend(symfs.as_ref().and_then(|root| below(root, link)));
        if symfs.is_none() {
            paths.push(link.to_owned());
        }
    } else if let Some(directory) = linking.parent() {
        paths.push(directory.join(link));
    }
    if let (Some(directory), Some(name)) = (linking.parent(), link.file_name()) {
        paths.push(directory.join(name));
        paths.extend(debug_dirs.iter().map(|root| root.join(".dwz").join(name)));
    }
    paths.extend(debug_dirs.iter().map(|root| by_build_id(root, id)));
    paths.extend(build_id_dirs.iter().flat_map(|cache| in_cache(cache, Path::new(DWZ), id, &["debug"])));
    paths
}

/// The split DWARF package beside a file: `NAME.dwp`.
pub fn package(file: &Path) -> PathBuf {
    let mut path = file.as_os_str().to_owned();
    path.push(".dwp");
    path.into()
}

/// What a unit of an object says about the file with the rest of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SplitUnit {
    /// Directory in which it was compiled.
    pub directory: PathBuf,
    /// Name of the file.
    pub name: PathBuf,
    /// ID of the unit in the file.
    pub id: u64,
}

/// Candidates for a split DWARF file: its recorded path, and beside the object.
pub fn split_dwarf(unit: &SplitUnit, object: &Path, symfs: Option<&Path>) -> Vec<PathBuf> {
    let SplitUnit { directory, name, id } = unit;
    let recorded = directory.join(name);
    let mut paths = Vec::new();
    match symfs {
        Some(root) => paths.extend(below(root, &recorded)),
        None if recorded.is_absolute() => paths.push(recorded),
        None => {}
    }
    if let Some(beside) = object.parent() {
        paths.extend(name.file_name().map(|name| beside.join(name)));
        paths.push(beside.join(split_dwarf_name(*id)));
        paths.extend((!name.is_absolute()).then(|| below(beside, name)).flatten());
    }
    paths.dedup();
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id() -> Id {
        Id::new(&[0xab, 0xcd, 0xef]).unwrap()
    }

    fn shown(paths: &[PathBuf]) -> Vec<&str> {
        paths.iter().filter_map(|path| path.to_str()).collect()
    }

    #[test]
    fn paths_stay_below_their_directory() {
        assert_eq!(below(Path::new("/s"), Path::new("/bin/ls")), Some("/s/bin/ls".into()));
        assert_eq!(below(Path::new("/s"), Path::new("[vdso]")), Some("/s/[vdso]".into()));
        assert_eq!(below(Path::new("/s"), Path::new("/bin/../../etc/x")), None);
    }

    #[test]
    fn layouts_of_caches() {
        let paths = in_cache(Path::new("/c"), Path::new("/bin/ls"), &id(), &["elf"]);
        let expected = ["/c/.build-id/ab/cdef/elf", "/c/bin/ls/abcdef/elf", "/c/.build-id/ab/cdef", "/c/bin/ls/abcdef"];
        assert_eq!(shown(&paths), expected);
        assert_eq!(by_build_id(Path::new("/d"), &id()), Path::new("/d/.build-id/ab/cdef.debug"));
        assert_eq!(in_debuginfod_cache(Path::new("/d"), &id(), "debuginfo"), Path::new("/d/abcdef/debuginfo"));
    }

    #[test]
    fn places_of_kernels() {
        let mut options = SearchOptions { debug_dirs: vec!["/d".into()], ..SearchOptions::default() };
        assert!(vmlinux(&options).is_empty());
        options.release = Some("6.1".to_owned());
        let expected = ["/d/boot/vmlinux-6.1", "/d/lib/modules/6.1/vmlinux", "/d/usr/lib/modules/6.1/vmlinux"];
        let places = vmlinux(&options);
        assert_eq!(shown(&places)[..3], expected);
        assert_eq!(shown(&places)[3], "/boot/vmlinux-6.1");
        options.symfs = Some("/s".into());
        assert_eq!(shown(&vmlinux(&options))[4], "/s/lib/modules/6.1/vmlinux");
    }

    #[test]
    fn places_of_linked_files() {
        let debug = ["/d".into()];
        let places = linked(Path::new("/s/bin/ls"), Path::new("/bin/ls"), Path::new("ls.debug"), &debug);
        assert_eq!(shown(&places), ["/s/bin/ls.debug", "/s/bin/.debug/ls.debug", "/d/bin/ls.debug", "/d/ls.debug"]);
        let options = SearchOptions { debug_dirs: debug.to_vec(), ..SearchOptions::default() };
        let places = alternate(Path::new("/s/bin/ls"), Path::new("../dwz/x"), &id(), &options);
        assert_eq!(shown(&places), ["/s/bin/../dwz/x", "/s/bin/x", "/d/.dwz/x", "/d/.build-id/ab/cdef.debug"]);
        assert_eq!(shown(&by_path(Path::new("/bin/ls"), &debug)), ["/d/bin/ls.debug", "/d/bin/ls"]);
        assert_eq!(shown(&beside(Path::new("/s/bin/ls"))), ["/s/bin/ls.debug", "/s/bin/.debug/ls"]);
    }

    #[test]
    fn places_of_split_dwarf() {
        let (unit, object) =
            (SplitUnit { directory: "/build".into(), name: "out/a.dwo".into(), id: 0x1a }, Path::new("/s/bin/a"));
        let beside = ["/s/bin/a.dwo", "/s/bin/000000000000001a.dwo", "/s/bin/out/a.dwo"];
        let places = split_dwarf(&unit, object, None);
        assert_eq!((shown(&places)[0], &shown(&places)[1..]), ("/build/out/a.dwo", &beside[..]));
        let places = split_dwarf(&unit, object, Some(Path::new("/s")));
        assert_eq!((shown(&places)[0], &shown(&places)[1..]), ("/s/build/out/a.dwo", &beside[..]));
        assert_eq!(package(object), Path::new("/s/bin/a.dwp"));
    }
}
