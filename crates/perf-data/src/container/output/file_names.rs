//! File names derived from arbitrary text.

use crate::printable;
use hashbrown::{HashMap, HashSet};

/// Derives names that are unique and valid on every file system.
#[derive(Debug, Default)]
pub struct FileNames {
    /// Names used so far, in lower case, since some file systems ignore case.
    used: HashSet<String>,
    /// The last number appended to each name that was used before.
    last: HashMap<String, u64>,
}

impl FileNames {
    /// A file name for this text, without its extension.
    pub fn unique(&mut self, name: &str) -> String {
        let stem = file_stem(name);
        let mut candidate = stem.clone();
        while !self.used.insert(candidate.to_lowercase()) {
            let nth = self.last.entry(stem.to_lowercase()).or_insert(1);
            *nth += 1;
            candidate = format!("{stem}#{nth}");
        }
        candidate
    }
}

/// Maximum length of a name in bytes, with room for a number and an extension.
const MAX_LEN: usize = 200;

/// Turns text into a file name: no separators or other characters that some file system rejects, not hidden, no option, no
/// device, and not too long.
fn file_stem(name: &str) -> String {
    let mut stem = String::new();
    for char in name.chars() {
        if stem.len() >= MAX_LEN {
            break;
        }
        let is_unsafe = printable::is_unsafe(char) || r#"<>:"/\|?*"#.contains(char);
        stem.push(if is_unsafe { '_' } else { char });
    }
    if stem.ends_with(['.', ' ']) {
        stem.pop();
        stem.push('_');
    }
    if stem.is_empty() || stem.starts_with(['.', '-', ' ']) || is_device(&stem) {
        stem.insert(0, '_');
    }
    stem
}

/// Whether a name is that of a device on Windows.
fn is_device(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or(name).to_ascii_lowercase();
    let is_numbered =
        |device: &str| stem.strip_prefix(device).is_some_and(|number| matches!(number.as_bytes(), [b'0'..=b'9']));
    matches!(&*stem, "con" | "prn" | "aux" | "nul") || is_numbered("com") || is_numbered("lpt")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_stems_are_valid_on_every_file_system() {
        assert_eq!(file_stem("kworker/0:1"), "kworker_0_1");
        assert_eq!(file_stem(":-1"), "_-1");
        assert_eq!(file_stem("-rf"), "_-rf");
        assert_eq!(["aux", "NUL.x", "com1", "common"].map(file_stem), ["_aux", "_NUL.x", "_com1", "common"]);
        assert_eq!(file_stem("a. "), "a._");
        assert_eq!(file_stem("../x\n\u{202e}"), "_.._x__");
        assert_eq!(file_stem(""), "_");
        assert_eq!(file_stem(&"é".repeat(300)).chars().count(), 100);
        assert_eq!(file_stem(&"🦀".repeat(300)).len(), 200);
    }

    #[test]
    fn names_are_unique() {
        let mut names = FileNames::default();
        assert_eq!(["a/b", "a_b", "a_b", "c"].map(|name| names.unique(name)), ["a_b", "a_b#2", "a_b#3", "c"]);
        assert_eq!(["d#2", "d", "d"].map(|name| names.unique(name)), ["d#2", "d", "d#3"]);
        assert_eq!(["e", "E"].map(|name| names.unique(name)), ["e", "E#2"]);
        let many: HashSet<_> = (0..300_000).map(|_| names.unique("a")).collect();
        assert!(many.len() == 300_000 && many.contains("a#300000"));
    }
}
