//! What is in an archive, by its path.

use crate::abi::hex::from_hex;
use crate::rewrite::build_ids::id::Id;
use std::path::{Component, Path, PathBuf};

/// What a recording is called that has no name of its own.
pub const RECORDING: &str = "perf.data";

/// The folder of links.
const LINKS: &str = ".build-id";

/// What the files of an object are called.
const FILES: [&str; 4] = ["elf", "debug", "kallsyms", "vdso"];

/// An entry of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// The recording, by its name.
    Recording(String),
    /// A file of an object, below the cache.
    File(PathBuf),
    /// The link to an object's folder, below the cache.
    Link(PathBuf),
}

impl Entry {
    /// What an entry is; `None` where it is none that belongs into an archive. What is given leads out of no folder.
    pub fn parse(path: &Path) -> Option<Self> {
        let parts = parts(path)?;
        match &parts[..] {
            [name] => (recording_name(name) == *name).then(|| Self::Recording(name.to_string())),
            [LINKS, start, rest] => {
                let is_id = start.len() == 2 && is_id(&format!("{start}{rest}"));
                is_id.then(|| Self::Link(parts.iter().collect()))
            }
            [LINKS, ..] => None,
            [_, .., id, file] => (is_id(id) && FILES.contains(file)).then(|| Self::File(parts.iter().collect())),
            _ => None,
        }
    }
}

/// What a recording of this name is called in an archive: the same, unless it would be hidden or could not be shown.
pub fn recording_name(name: &str) -> &str {
    let is_plain = !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\']);
    if is_plain && !name.contains(char::is_control) { name } else { RECORDING }
}

fn is_id(text: &str) -> bool {
    from_hex(text.as_bytes()).and_then(|id| Id::new(&id)).is_some_and(|id| id.to_string() == text)
}

/// The parts of a path that leads down and nowhere else.
fn parts(path: &Path) -> Option<Vec<&str>> {
    let parts = path.components().filter(|part| *part != Component::CurDir).map(|part| match part {
        Component::Normal(part) => part.to_str(),
        _ => None,
    });
    parts.collect()
}

/// The folder of an object, below the cache; `None` of a name that cannot be one.
pub fn folder(name: &[u8], id: Id) -> Option<PathBuf> {
    let name = std::str::from_utf8(name).ok()?.trim_start_matches('/');
    let parts = parts(Path::new(name)).filter(|parts| !parts.is_empty() && parts[0] != LINKS)?;
    let mut folder: PathBuf = parts.iter().collect();
    folder.push(id.to_string());
    Some(folder)
}

/// The link to an object's folder, and where it leads, as of its own folder.
pub fn link(folder: &Path, id: Id) -> (PathBuf, PathBuf) {
    let id = id.to_string();
    let (start, rest) = id.split_at(2);
    ([LINKS, start, rest].iter().collect(), Path::new("../..").join(folder))
}

/// Whether a link leads to a folder of an object, and that of the id that the link is of.
pub fn leads_to_object(link: &Path, to: &Path) -> bool {
    let Ok(folder) = to.strip_prefix("../..") else { return false };
    let id: String = link.iter().skip(1).filter_map(|part| part.to_str()).collect();
    matches!(Entry::parse(&folder.join(FILES[0])), Some(Entry::File(_))) && folder.ends_with(&id)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "abcdef0123456789abcdef0123456789abcdef01";

    #[test]
    fn files_are_in_the_folders_of_objects() {
        let id = Id::new(&from_hex(ID.as_bytes()).unwrap()).unwrap();
        let object = folder(b"/usr/bin/cat", id).unwrap();
        assert_eq!(object, Path::new("usr/bin/cat").join(ID));
        assert_eq!(Entry::parse(&object.join("elf")), Some(Entry::File(object.join("elf"))));
        let (from, to) = link(&object, id);
        assert_eq!(
            (from.to_str(), to.to_str()),
            (
                Some(".build-id/ab/cdef0123456789abcdef0123456789abcdef01"),
                Some("../../usr/bin/cat/abcdef0123456789abcdef0123456789abcdef01"),
            )
        );
        assert_eq!(Entry::parse(&from), Some(Entry::Link(from.clone())));
        assert!(leads_to_object(&from, &to) && !leads_to_object(&from, Path::new("../../usr/bin/cat/aabb")));
        assert_eq!(folder(b"[kernel.kallsyms]", id).map(|folder| folder.starts_with("[kernel.kallsyms]")), Some(true));
        assert_eq!(Entry::parse(Path::new("./perf.data")), Some(Entry::Recording("perf.data".to_owned())));
        assert_eq!(Entry::parse(Path::new("run 7.data")), Some(Entry::Recording("run 7.data".to_owned())));
    }

    #[test]
    fn what_leads_out_is_none() {
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
            assert_eq!(Entry::parse(Path::new(&path.replace("ID", ID))), None, "{path}");
        }
        for path in [".build-id/ab/../x", ".build-id/abc/def", ".build-id/a/ID/elf", ".build-id/ab/zz", ".build-id"] {
            assert_eq!(Entry::parse(Path::new(&path.replace("ID", ID))), None, "{path}");
        }
        for name in [&b"../x"[..], b"/a/../../x", b"", b"/", b"\xff", b".build-id/x"] {
            assert_eq!(folder(name, id), None, "{}", String::from_utf8_lossy(name));
        }
        let from = Path::new(".build-id/07").join("07".repeat(19));
        for to in ["/etc", "../../../etc", "../../x/../../etc", "../..", "x"] {
            assert!(!leads_to_object(&from, Path::new(to)), "{to}");
        }
    }
}
