//! The texts of source files, which are searched by their recorded paths.

#[cfg(feature = "cli")]
use crate::option_values::existing_directory;
use hashbrown::HashMap;
use perf_symbols::object::recorded_file;
use std::convert::Infallible;
use std::io::Read;
use std::path::{Component, Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// Number of bytes that are read of all source files of a report. A path of debug information can name any large file. Lines behind
/// them are shown as missing.
const MAX_SOURCE: u64 = 64 << 20;

/// By how much copies of a source file and of its program may differ in time: copies are often as old as the copying.
const TOLERANCE: Duration = Duration::from_secs(60);

/// A directory in which source files are searched, `DIR` or `FROM=DIR`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceDirectory {
    /// Start of the recorded paths that the directory stands for; `None` for any directory of them.
    pub from: Option<String>,
    /// The directory.
    pub directory: PathBuf,
}

impl FromStr for SourceDirectory {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(match text.split_once('=') {
            Some((from, directory)) => Self { from: Some(from.to_owned()), directory: directory.into() },
            None => Self { from: None, directory: text.into() },
        })
    }
}

impl SourceDirectory {
    /// Parses a directory, which exists.
    ///
    /// # Errors
    /// If it does not exist.
    #[cfg(feature = "cli")]
    pub(crate) fn existing(text: &str) -> Result<Self, String> {
        let Ok(parsed) = text.parse::<Self>();
        Ok(Self { directory: existing_directory(parsed.directory)?, ..parsed })
    }

    /// Where a file would be in the directory: below the rest of its path, from the longest rest to its name.
    fn candidates(&self, recorded: &str) -> Vec<PathBuf> {
        let rest = match &self.from {
            Some(from) => match recorded.strip_prefix(from.trim_end_matches('/')) {
                Some(rest) if rest.starts_with('/') => rest,
                _ => return Vec::new(),
            },
            None => recorded,
        };
        let is_name = |part: &Component<'_>| matches!(part, Component::Normal(_));
        let parts: Vec<_> = Path::new(rest).components().collect();
        // A path with `..` could lead out of the directory.
        if parts.iter().any(|part| matches!(part, Component::ParentDir)) {
            return Vec::new();
        }
        let names: Vec<_> = parts.iter().filter(|part| is_name(part)).collect();
        let count = if self.from.is_some() { names.len().min(1) } else { names.len() };
        (0..count).map(|first| self.directory.join(names[first..].iter().collect::<PathBuf>())).collect()
    }
}

/// The text of a source file.
#[derive(Clone, Debug)]
pub(crate) struct SourceText {
    text: Arc<str>,
    /// Offset of each line.
    lines: Arc<[usize]>,
    /// When the file was modified.
    pub modified: Option<SystemTime>,
}

impl SourceText {
    fn new(text: Arc<str>, modified: Option<SystemTime>) -> Self {
        let after = |at: usize| text.get(at..).is_some_and(|rest| !rest.is_empty()).then_some(at);
        let starts = memchr::memchr_iter(b'\n', text.as_bytes()).filter_map(|at| after(at + 1));
        let lines = after(0).into_iter().chain(starts).collect();
        Self { text, lines, modified }
    }

    /// A line by its number, from 1.
    pub(crate) fn line(&self, number: i64) -> Option<&str> {
        let index = usize::try_from(number.checked_sub(1)?).ok()?;
        self.text.get(*self.lines.get(index)?..)?.lines().next()
    }

    /// The lines with these numbers, as far as they exist.
    pub(crate) fn lines(&self, first: i64, last: i64) -> impl Iterator<Item = (i64, &str)> {
        (first.max(1)..=last).map_while(|number| Some((number, self.line(number)?)))
    }
}

/// The texts of source files.
#[derive(Debug)]
pub(crate) struct SourceFiles<'a> {
    /// Copy of the recorded machine's root directory, where they are looked up before their recorded paths.
    root: Option<&'a Path>,
    /// Where they are looked up first.
    directories: &'a [SourceDirectory],
    texts: HashMap<String, Option<SourceText>>,
    /// Number of bytes that may still be read.
    left: u64,
}

impl<'a> SourceFiles<'a> {
    /// Files in directories, below a copy of the recorded machine's root directory, or else at their recorded paths.
    pub(crate) fn new(root: Option<&'a Path>, directories: &'a [SourceDirectory]) -> Self {
        Self { root, directories, texts: HashMap::new(), left: MAX_SOURCE }
    }

    /// No files: lines have no text.
    pub(crate) fn none() -> Self {
        Self { root: None, directories: &[], texts: HashMap::new(), left: 0 }
    }

    /// The text of a file; `None` if it cannot be read.
    pub(crate) fn text(&mut self, file: &str) -> Option<SourceText> {
        if let Some(text) = self.texts.get(file) {
            return text.clone();
        }
        if self.left == 0 || file.is_empty() {
            return None;
        }
        let recorded = Path::new(file);
        let below = recorded.strip_prefix("/").unwrap_or(recorded);
        let mapped = self.directories.iter().flat_map(|directory| directory.candidates(file));
        let copy = self.root.map(|root| root.join(below));
        let mut paths = mapped.chain(copy).chain([recorded.to_owned()]);
        let opened = paths.find_map(|path| recorded_file::open(&path).ok());
        let text = opened.and_then(|file| {
            let modified = file.metadata().and_then(|metadata| metadata.modified()).ok();
            let mut bytes = Vec::new();
            self.left -= file.take(self.left).read_to_end(&mut bytes).ok()? as u64;
            Some(SourceText::new(Arc::from(String::from_utf8_lossy(&bytes)), modified))
        });
        self.texts.insert(file.to_owned(), text.clone());
        text
    }

    /// Whether a file is newer than an object that was built from it, so that its lines may be others.
    pub(crate) fn is_newer(&mut self, file: &str, object: Option<SystemTime>) -> bool {
        let source = self.text(file).and_then(|source| source.modified);
        source.zip(object).is_some_and(|(source, object)| source > object + TOLERANCE)
    }

    /// Adds the text of a file that is not found.
    pub(crate) fn add(&mut self, file: &str, text: &[u8]) {
        let text = SourceText::new(Arc::from(String::from_utf8_lossy(text)), None);
        self.texts.insert(file.to_owned(), Some(text));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_stand_for_prefixes_or_for_any_directory() {
        let candidates = |directory: &str, path: &str| -> Vec<_> {
            let directory: SourceDirectory = directory.parse().unwrap();
            directory.candidates(path).iter().map(|path| path.to_string_lossy().into_owned()).collect()
        };
        assert_eq!(candidates("src", "/build/app/main.c"), ["src/build/app/main.c", "src/app/main.c", "src/main.c"]);
        assert_eq!(candidates("/build=src", "/build/app/main.c"), ["src/app/main.c"]);
        assert_eq!(candidates("/build/=src", "/build/main.c"), ["src/main.c"]);
        assert!(candidates("/build=src", "/builder/main.c").is_empty());
        assert!(candidates("src", "/build/../../etc/passwd").is_empty() && candidates("src", "").is_empty());
    }

    #[test]
    fn lines_are_numbered_from_1() {
        let text = SourceText::new("a\r\n\nc".into(), None);
        assert_eq!(
            [0, 1, 2, 3, 4, i64::MIN].map(|line| text.line(line)),
            [None, Some("a"), Some(""), Some("c"), None, None]
        );
        assert_eq!(text.lines(-3, 2).collect::<Vec<_>>(), [(1, "a"), (2, "")]);
        assert_eq!(SourceText::new("a\n".into(), None).line(2), None);
    }
}
