//! Lines of functions with their counts and, where the file exists, their text.

use super::location::Locations;
use super::source_files::SourceFiles;
use super::{Counts, Usage};
use crate::profile::{Profile, Row};
use std::collections::BTreeMap;

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
        let lines = text.lines(first - context, last.saturating_add(context));
        Some(lines.map(|(number, line)| (number, line.to_owned())).collect())
    }
}
