//! Lines of functions with their counts and, where the file exists, their text.

use super::location::Locations;
use super::{Counts, Usage};
use crate::profile::{Profile, Row};
use hashbrown::HashMap;
use perf_symbols::object::recorded_file;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

/// Lines of a function, or of several, in one source file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SourceLines {
    /// Number of the group that the functions are in.
    pub group: u32,
    /// Path of the file.
    pub file: String,
    /// Counts of lines, by number.
    pub counts: BTreeMap<i64, Usage>,
    /// Samples in all of them.
    pub total: Counts,
}

/// Number of bytes that are read of all source files of a report. A path of debug information can name any large file. Lines behind
/// them are shown as missing.
const MAX_SOURCE: u64 = 64 << 20;

/// The texts of source files.
#[derive(Debug)]
pub(crate) struct SourceFiles<'a> {
    /// Copy of the recorded machine's root directory, where they are looked up before their recorded paths.
    root: Option<&'a Path>,
    texts: HashMap<String, Option<Arc<str>>>,
    /// Number of bytes that may still be read.
    left: u64,
}

impl<'a> SourceFiles<'a> {
    /// Files below a copy of the recorded machine's root directory, or else at their recorded paths.
    pub(crate) fn new(root: Option<&'a Path>) -> Self {
        Self { root, texts: HashMap::new(), left: MAX_SOURCE }
    }

    /// No files: lines have no text.
    pub(crate) fn none() -> Self {
        Self { root: None, texts: HashMap::new(), left: 0 }
    }

    /// The text of a file; `None` if it cannot be read.
    fn text(&mut self, file: &str) -> Option<Arc<str>> {
        if let Some(text) = self.texts.get(file) {
            return text.clone();
        }
        if self.left == 0 {
            return None;
        }
        let recorded = Path::new(file);
        let below = recorded.strip_prefix("/").unwrap_or(recorded);
        let copy = self.root.map(|root| root.join(below));
        let opened = copy.into_iter().chain([recorded.to_owned()]).find_map(|path| recorded_file::open(&path).ok());
        let text = opened.and_then(|file| {
            let mut bytes = Vec::new();
            self.left -= file.take(self.left).read_to_end(&mut bytes).ok()? as u64;
            Some(Arc::from(String::from_utf8_lossy(&bytes)))
        });
        self.texts.insert(file.to_owned(), text.clone());
        text
    }
}

impl SourceLines {
    /// The lines in these rows of a profile of functions that are in a group, by the group of each location: one list for each group
    /// and file, those with the most samples first.
    pub(crate) fn new<'a>(
        profile: &Profile,
        locations: &Locations,
        rows: impl Iterator<Item = &'a Row>,
        groups: &[Option<u32>],
    ) -> Vec<Self> {
        let mut files: BTreeMap<_, (Self, usize)> = BTreeMap::new();
        let mut latest: BTreeMap<_, usize> = BTreeMap::new();
        for (number, row) in rows.enumerate() {
            let stack = locations.stack_locations(profile.tables.stacks.stack(row.stack)).enumerate();
            for (depth, id, group) in stack.filter_map(|(depth, id)| Some((depth, id, groups[id as usize]?))) {
                let location = locations.get(id);
                let (file, counted) = files.entry((group, location.file)).or_insert_with(|| {
                    (Self { group, file: locations.text(location.file).into_owned(), ..Self::default() }, usize::MAX)
                });
                let usage = file.counts.entry(location.line).or_default();
                if depth == 0 {
                    usage.own += row.into();
                }
                // A recursive function occurs several times in a stack, but its lines are counted once for each row.
                if latest.insert((group, location.file, location.line), number) != Some(number) {
                    usage.total += row.into();
                }
                if *counted != number {
                    *counted = number;
                    file.total += row.into();
                }
            }
        }
        let mut files: Vec<_> = files.into_values().map(|(lines, _)| lines).collect();
        files.sort_by_key(|lines| std::cmp::Reverse(lines.total));
        files
    }

    /// The text of the lines from a few before the first to a few after the last with samples, with their numbers; `None` if the
    /// file cannot be read.
    pub(crate) fn text(&self, context: i64, files: &mut SourceFiles<'_>) -> Option<Vec<(i64, String)>> {
        let text = files.text(&self.file)?;
        let mut counted_lines = self.counts.keys().copied().filter(|&line| line > 0);
        let first = counted_lines.next()?;
        let last = counted_lines.next_back().unwrap_or(first);
        let lines = (1..).zip(text.lines()).skip_while(|(number, _)| *number < first - context);
        Some(lines.take_while(|(number, _)| *number <= last + context).map(|(n, line)| (n, line.to_owned())).collect())
    }
}
