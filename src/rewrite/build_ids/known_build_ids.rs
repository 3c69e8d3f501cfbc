//! Build IDs given by the user: `--known-build-ids`.

use hashbrown::HashMap;
use perf_data::abi::hex::from_hex;
use perf_symbols::object::build_id::Id;
use std::fs;

/// Build IDs by file name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownBuildIds {
    by_name: HashMap<Box<[u8]>, Id>,
}

impl KnownBuildIds {
    /// Parses perf inject's syntax: `BUILDID FILE,BUILDID FILE`, or `file://PATH` of a file with one pair per line, as
    /// `perf buildid-list` writes it. A value that is not a pair is also treated as a path.
    ///
    /// # Errors
    /// Fails on malformed pairs, and if the file cannot be read.
    pub fn parse(text: &str) -> Result<Self, String> {
        let read = |path: &str| fs::read(path).map_err(|e| format!("{path}: cannot read: {e}"));
        match text.strip_prefix("file://") {
            Some(path) => Self::lines(&read(path)?),
            None if text.trim_start().contains(' ') => Self::list(text.as_bytes()),
            None => Self::lines(&read(text)?),
        }
    }

    /// Parses comma-separated pairs.
    fn list(list: &[u8]) -> Result<Self, String> {
        let mut build_ids = Self::default();
        for pair in list.split(|&byte| byte == b',') {
            let is_pair = build_ids.add(pair.trim_ascii())?;
            is_pair.then_some(()).ok_or_else(|| format!("{} is not BUILDID FILE", shown(pair)))?;
        }
        Ok(build_ids)
    }

    /// Parses one pair per line. perf buildid-list writes only the name of files without a build ID.
    fn lines(lines: &[u8]) -> Result<Self, String> {
        let mut build_ids = Self::default();
        for line in lines.split(|&byte| byte == b'\n').filter(|line| !line.trim_ascii().is_empty()) {
            let has_id = !line.starts_with(b" ");
            if has_id && !build_ids.add(line.trim_ascii())? {
                return Err(format!("line {} is not BUILDID FILE", shown(line)));
            }
        }
        Ok(build_ids)
    }

    /// Adds a pair; returns false if it is not one.
    fn add(&mut self, pair: &[u8]) -> Result<bool, String> {
        let Some(blank) = pair.iter().position(|&byte| byte == b' ') else { return Ok(false) };
        let (digits, name) = (&pair[..blank], pair[blank..].trim_ascii());
        let id = from_hex(digits).filter(|id| id.len() <= 20).and_then(|id| Id::new(&id));
        let id = id.ok_or_else(|| format!("{} is not a build ID of up to 40 hexadecimal digits", shown(digits)))?;
        self.by_name.insert(name.into(), id);
        Ok(!name.is_empty())
    }

    /// The build ID of a file.
    pub fn get(&self, name: &[u8]) -> Option<Id> {
        self.by_name.get(name).copied()
    }

    /// The number of files.
    pub fn len(&self) -> usize {
        self.by_name.len()
    }

    /// Whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }
}

fn shown(bytes: &[u8]) -> String {
    format!("'{}'", String::from_utf8_lossy(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_a_list() {
        let build_ids = KnownBuildIds::parse("aabb /bin/cat, CCDD /bin/with blank").unwrap();
        assert_eq!(build_ids.get(b"/bin/cat"), Id::new(&[0xaa, 0xbb]));
        assert_eq!((build_ids.get(b"/bin/with blank"), build_ids.get(b"/bin")), (Id::new(&[0xcc, 0xdd]), None));
        for error in ["aabb /bin/cat,x", "aab /bin/cat", "xy /bin/cat", "/no/such/file", "file:///no/such/file"] {
            assert!(KnownBuildIds::parse(error).is_err(), "{error}");
        }
    }

    #[test]
    fn parses_the_output_of_perf_buildid_list() {
        let text = b"aabb /bin/cat\n\n                                         [kernel.kallsyms]\nccdd [vdso]\n";
        let build_ids = KnownBuildIds::lines(text).unwrap();
        assert_eq!((build_ids.len(), build_ids.get(b"[vdso]")), (2, Id::new(&[0xcc, 0xdd])));
        assert!(KnownBuildIds::lines(b"aabb\n").is_err());
    }
}
