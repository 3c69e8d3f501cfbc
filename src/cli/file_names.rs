//! Names of files that are called by what is in them.

use hashbrown::{HashMap, HashSet};

/// Makes names that are unique and that every file system takes.
#[derive(Debug, Default)]
pub struct FileNames {
    /// In lower case, since some file systems do not distinguish it.
    taken: HashSet<String>,
    /// The last number of each name that was there before.
    last: HashMap<String, u64>,
}

impl FileNames {
    /// The name of a file for something of this name, without its ending.
    pub fn of(&mut self, name: &str) -> String {
        let stem = file_stem(name);
        let mut found = stem.clone();
        while !self.taken.insert(found.to_lowercase()) {
            let nth = self.last.entry(stem.to_lowercase()).or_insert(1);
            *nth += 1;
            found = format!("{stem}#{nth}");
        }
        found
    }
}

/// The most bytes of a name, with room for a number and an ending.
const LONGEST: usize = 200;

/// A name as a file's: without separators and other characters that some system does not take, not hidden, not taken for an option
/// or a device, and not too long.
fn file_stem(name: &str) -> String {
    let mut stem = String::new();
    for char in name.chars() {
        if stem.len() >= LONGEST {
            break;
        }
        let is_unsafe = char.is_control() || r#"<>:"/\|?*"#.contains(char);
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

/// Whether Windows takes a name for that of a device.
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
    fn names_are_made_to_be_those_of_files() {
        assert_eq!(file_stem("kworker/0:1"), "kworker_0_1");
        assert_eq!(file_stem(":-1"), "_-1");
        assert_eq!(file_stem("-rf"), "_-rf");
        assert_eq!(["aux", "NUL.x", "com1", "common"].map(file_stem), ["_aux", "_NUL.x", "_com1", "common"]);
        assert_eq!(file_stem("a. "), "a._");
        assert_eq!(file_stem("../x\n"), "_.._x_");
        assert_eq!(file_stem(""), "_");
        assert_eq!(file_stem(&"é".repeat(300)).chars().count(), 100);
        assert_eq!(file_stem(&"🦀".repeat(300)).len(), 200);
    }

    #[test]
    fn no_name_is_there_twice() {
        let mut names = FileNames::default();
        assert_eq!(["a/b", "a_b", "a_b", "c"].map(|name| names.of(name)), ["a_b", "a_b#2", "a_b#3", "c"]);
        assert_eq!(["d#2", "d", "d"].map(|name| names.of(name)), ["d#2", "d", "d#3"]);
        assert_eq!(["e", "E"].map(|name| names.of(name)), ["e", "E#2"]);
        let many: HashSet<_> = (0..300_000).map(|_| names.of("a")).collect();
        assert!(many.len() == 300_000 && many.contains("a#300000"));
    }
}
