//! Entries of an archive, identified by their paths.

use perf_data::abi::hex::from_hex;
use perf_symbols::object::build_id::Id;
use perf_symbols::symbol::find::candidate_paths::{JIT_DUMP, PATHS, PERF_MAP, PROCESSES, split_dwarf_name};
use std::path::{Component, Path, PathBuf};

/// Name of a recording without a usable name of its own.
pub const RECORDING: &str = "perf.data";

/// Directory of the links from build IDs to the directories of objects, as in perf's build ID cache.
const LINKS: &str = ".build-id";

/// Name of the symbols of a kernel.
pub const KALLSYMS: &str = "kallsyms";

/// Names of the files of an object, except those of split DWARF.
const FILES: [&str; 6] = ["elf", "debug", KALLSYMS, "vdso", "elf.dwp", "debug.dwp"];

/// Name of the probe points of an object.
const PROBES: &str = "probes";

/// End of the name of an archive in an archive.
const OBJECTS: &str = ".tar.bz2";

/// Names of the files of a process.
const PROCESS_FILES: [&str; 2] = [JIT_DUMP, PERF_MAP];

/// An entry of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArchiveEntry {
    /// The recording, by name.
    Recording(String),
    /// A file of an object; the path is relative to the cache.
    File(PathBuf),
    /// A file without build ID, of a process or an object; the path is relative to the cache.
    Unidentified(PathBuf),
    /// The link to an object's directory; the path is relative to the cache.
    Link(PathBuf),
    /// An archive of the objects, as `perf archive --all` packs it beside the recording.
    Objects,
    /// A file of perf's cache that names nothing: the probe points that `perf probe` set in an object.
    Probes,
}

impl ArchiveEntry {
    /// Parses the path of an entry; `None` if it does not belong in an archive. Accepted paths never leave the directory.
    pub fn parse(path: &Path) -> Option<Self> {
        let parts = parts(path)?;
        match &parts[..] {
            [name] if name.ends_with(OBJECTS) => Some(Self::Objects),
            [name] => (recording_name(name) == *name).then(|| Self::Recording(name.to_string())),
            [LINKS, start, rest] => {
                let is_id = start.len() == 2 && is_id(&format!("{start}{rest}"));
                is_id.then(|| Self::Link(parts.iter().collect()))
            }
            [LINKS, ..] => None,
            [PROCESSES, pid, file] if PROCESS_FILES.contains(file) => {
                is_number(pid).then(|| Self::Unidentified(parts.iter().collect()))
            }
            [PATHS, .., _, file] => is_object_file(file).then(|| Self::Unidentified(parts.iter().collect())),
            [_, .., id, PROBES] => is_id(id).then_some(Self::Probes),
            [_, .., id, file] => (is_id(id) && is_object_file(file)).then(|| Self::File(parts.iter().collect())),
            _ => None,
        }
    }
}

/// The name of a recording in an archive: its own, unless that is hidden or contains separators or control characters.
pub fn recording_name(name: &str) -> &str {
    let is_plain = !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\']);
    if is_plain && !name.contains(char::is_control) { name } else { RECORDING }
}

/// Whether a file of an object may have this name.
fn is_object_file(name: &str) -> bool {
    let is_split = |id: &str| u64::from_str_radix(id, 16).is_ok_and(|number| name == split_dwarf_name(number));
    FILES.contains(&name) || name.strip_suffix(".dwo").is_some_and(is_split)
}

fn is_number(text: &str) -> bool {
    // Other spellings, such as 007 or +7, would be further paths of the same process.
    text.parse::<u32>().is_ok_and(|number| number.to_string() == text)
}

fn is_id(text: &str) -> bool {
    // Only lowercase digits, so that a build ID has one path.
    from_hex(text.as_bytes()).and_then(|id| Id::new(&id)).is_some_and(|id| id.to_string() == text)
}

/// The components of a relative path without `..`.
fn parts(path: &Path) -> Option<Vec<&str>> {
    let parts = path.components().filter(|part| *part != Component::CurDir).map(|part| match part {
        Component::Normal(part) => part.to_str(),
        _ => None,
    });
    parts.collect()
}

/// The directory of an object, relative to the cache; `None` if its name is not a valid path.
pub fn directory(name: &[u8], id: Id) -> Option<PathBuf> {
    let name = std::str::from_utf8(name).ok()?.trim_start_matches('/');
    let parts = parts(Path::new(name)).filter(|parts| !parts.is_empty() && parts[0] != LINKS)?;
    let mut directory: PathBuf = parts.iter().collect();
    directory.push(id.to_string());
    Some(directory)
}

/// The link to an object's directory, and its target relative to the link.
pub fn link(directory: &Path, id: Id) -> (PathBuf, PathBuf) {
    let id = id.to_string();
    let (start, rest) = id.split_at(2);
    ([LINKS, start, rest].iter().collect(), Path::new("../..").join(directory))
}

/// Whether a link points to the directory of an object with the link's build ID.
pub fn points_to_object(link: &Path, to: &Path) -> bool {
    let Ok(directory) = to.strip_prefix("../..") else { return false };
    let id: String = link.iter().skip(1).filter_map(|part| part.to_str()).collect();
    matches!(ArchiveEntry::parse(&directory.join(FILES[0])), Some(ArchiveEntry::File(_))) && directory.ends_with(&id)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "abcdef0123456789abcdef0123456789abcdef01";

    #[test]
    fn parses_the_entries_of_objects() {
        let id = Id::new(&from_hex(ID.as_bytes()).unwrap()).unwrap();
        let object = directory(b"/usr/bin/cat", id).unwrap();
        assert_eq!(object, Path::new("usr/bin/cat").join(ID));
        assert_eq!(ArchiveEntry::parse(&object.join("elf")), Some(ArchiveEntry::File(object.join("elf"))));
        let (from, to) = link(&object, id);
        assert_eq!(
            (from.to_str(), to.to_str()),
            (
                Some(".build-id/ab/cdef0123456789abcdef0123456789abcdef01"),
                Some("../../usr/bin/cat/abcdef0123456789abcdef0123456789abcdef01"),
            )
        );
        assert_eq!(ArchiveEntry::parse(&from), Some(ArchiveEntry::Link(from.clone())));
        assert!(points_to_object(&from, &to) && !points_to_object(&from, Path::new("../../usr/bin/cat/aabb")));
        assert_eq!(
            directory(b"[kernel.kallsyms]", id).map(|directory| directory.starts_with("[kernel.kallsyms]")),
            Some(true)
        );
        for file in ["elf.dwp", "0123456789abcdef.dwo"] {
            assert_eq!(ArchiveEntry::parse(&object.join(file)), Some(ArchiveEntry::File(object.join(file))));
        }
        for file in ["0123456789ABCDEF.dwo", "123.dwo", "x.dwo", ".dwo"] {
            assert_eq!(ArchiveEntry::parse(&object.join(file)), None, "{file}");
        }
        for path in ["processes/70/perf.map", "paths/usr/bin/x/elf", "paths/x/debug"].map(Path::new) {
            assert_eq!(ArchiveEntry::parse(path), Some(ArchiveEntry::Unidentified(path.to_owned())));
        }
        assert_eq!(ArchiveEntry::parse(Path::new("paths/usr/bin/x")), None);
        assert_eq!(ArchiveEntry::parse(&object.join("probes")), Some(ArchiveEntry::Probes));
        assert_eq!(ArchiveEntry::parse(Path::new("perf.symbols.tar.bz2")), Some(ArchiveEntry::Objects));
        for path in ["processes/070/perf.map", "processes/x/perf.map", "processes/7/x.map", "processes/perf.map"] {
            assert_eq!(ArchiveEntry::parse(Path::new(path)), None, "{path}");
        }
        assert_eq!(
            ArchiveEntry::parse(Path::new("./perf.data")),
            Some(ArchiveEntry::Recording("perf.data".to_owned()))
        );
        assert_eq!(
            ArchiveEntry::parse(Path::new("run 7.data")),
            Some(ArchiveEntry::Recording("run 7.data".to_owned()))
        );
    }

    #[test]
    fn rejects_paths_that_leave_the_directory() {
        let id = Id::new(&[7; 20]).unwrap();
        for path in [
            "/etc/passwd",
            "../perf.data",
            "a/../b/ID/elf",
            "",
            "/",
            ".x",
            "a\nb",
            "a/ID/elf/x",
            "ID/elf",
            "/a/ID/elf",
            "a/ID/sh",
        ] {
            assert_eq!(ArchiveEntry::parse(Path::new(&path.replace("ID", ID))), None, "{path}");
        }
        for path in [".build-id/ab/../x", ".build-id/abc/def", ".build-id/a/ID/elf", ".build-id/ab/zz", ".build-id"] {
            assert_eq!(ArchiveEntry::parse(Path::new(&path.replace("ID", ID))), None, "{path}");
        }
        for name in [&b"../x"[..], b"/a/../../x", b"", b"/", b"\xff", b".build-id/x"] {
            assert_eq!(directory(name, id), None, "{}", String::from_utf8_lossy(name));
        }
        let from = Path::new(".build-id/07").join("07".repeat(19));
        for to in ["/etc", "../../../etc", "../../x/../../etc", "../..", "x"] {
            assert!(!points_to_object(&from, Path::new(to)), "{to}");
        }
    }
}
