//! Lines of a function with their counts and, where the file exists, their text.

use super::location::Locations;
use super::{Counts, Usage};
use crate::profile::{Profile, Row};
use perf_symbols::object::recorded_file;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

/// Lines of a function in one source file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SourceLines {
    /// Path of the file.
    pub file: String,
    /// Counts of lines, by number.
    pub counts: BTreeMap<i64, Usage>,
    /// Samples in all of them.
    pub total: Counts,
}

/// Size up to which source files are read. A path of debug information can name any large file. Lines behind it
/// are shown as missing.
const MAX_SOURCE: u64 = 64 << 20;

impl SourceLines {
    /// The lines of the selected functions in these rows of a profile, one list for each file.
    pub(crate) fn new<'a>(
        profile: &Profile,
        locations: &Locations,
        rows: impl Iterator<Item = &'a Row>,
        is_selected: &[bool],
    ) -> Vec<Self> {
        let mut files: BTreeMap<_, (Self, usize)> = BTreeMap::new();
        let mut latest: BTreeMap<_, usize> = BTreeMap::new();
        for (number, row) in rows.enumerate() {
            let stack = locations.stack_locations(profile.tables.stacks.stack(row.stack)).enumerate();
            for (depth, id) in stack.filter(|(_, id)| is_selected[*id as usize]) {
                let location = locations.get(id);
                let (file, counted) = files.entry(location.file).or_insert_with(|| {
                    (Self { file: locations.text(location.file).into_owned(), ..Self::default() }, usize::MAX)
                });
                let usage = file.counts.entry(location.line).or_default();
                if depth == 0 {
                    usage.own += row.into();
                }
                // A recursive function occurs several times in a stack, but its lines are counted once for each row.
                if latest.insert((location.file, location.line), number) != Some(number) {
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
    pub(crate) fn text(&self, context: i64) -> Option<Vec<(i64, String)>> {
        let path = Path::new(&self.file);
        let mut bytes = Vec::new();
        recorded_file::open(path).ok()?.take(MAX_SOURCE).read_to_end(&mut bytes).ok()?;
        let mut counted_lines = self.counts.keys().copied().filter(|&line| line > 0);
        let first = counted_lines.next()?;
        let last = counted_lines.next_back().unwrap_or(first);
        let text = String::from_utf8_lossy(&bytes);
        let lines = (1..).zip(text.lines()).skip_while(|(number, _)| *number < first - context);
        Some(lines.take_while(|(number, _)| *number <= last + context).map(|(n, line)| (n, line.to_owned())).collect())
    }
}
