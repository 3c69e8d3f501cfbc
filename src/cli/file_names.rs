//! Names of files that are called by what is in them.

use hashbrown::{HashMap, HashSet};

/// Makes names, of which none is there twice.
#[derive(Debug, Default)]
pub struct FileNames {
    taken: HashSet<String>,
    /// The last number of each name that was there before.
    last: HashMap<String, u64>,
}

impl FileNames {
    /// The name of a file that is called so, without its ending.
    pub fn of(&mut self, name: &str) -> String {
        let stem = file_stem(name);
        let mut found = stem.clone();
        while !self.taken.insert(found.clone()) {
            let nth = self.last.entry_ref(&*stem).or_insert(1);
            *nth += 1;
            found = format!("{stem}#{nth}");
        }
        found
    }
}

/// A name as a file's: without what leads elsewhere or is not seen, and not too long.
fn file_stem(name: &str) -> String {
    let mut stem: String =
        name.chars().map(|c| if c == '/' || c == '\\' || c.is_control() { '_' } else { c }).take(100).collect();
    if stem.is_empty() || stem.starts_with('.') {
        stem.insert(0, '_');
    }
    stem
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_made_to_be_those_of_files() {
        assert_eq!(file_stem("kworker/0:1"), "kworker_0:1");
        assert_eq!(file_stem("../x\n"), "_.._x_");
        assert_eq!(file_stem(""), "_");
        assert_eq!(file_stem(&"é".repeat(300)).chars().count(), 100);
    }

    #[test]
    fn no_name_is_there_twice() {
        let mut names = FileNames::default();
        assert_eq!(["a/b", "a_b", "a_b", "c"].map(|name| names.of(name)), ["a_b", "a_b#2", "a_b#3", "c"]);
        assert_eq!(["d#2", "d", "d"].map(|name| names.of(name)), ["d#2", "d", "d#3"]);
        let many: HashSet<_> = (0..300_000).map(|_| names.of("a")).collect();
        assert!(many.len() == 300_000 && many.contains("a#300000"));
    }
}
