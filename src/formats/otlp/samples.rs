//! Samples by event, stack and attributes.

use super::attributes;
use super::dictionary::Dictionary;
use super::messages::Messages;
use super::proto::Sample;
use crate::formats::pprof::to_i64;
use crate::profile::labels::LabelsId;
use crate::profile::{Profile, Row};
use hashbrown::HashMap;
use perf_data::stream::events::EventIndex;

/// The rows of a profile in the order of the output.
pub(super) struct SampleRows<'a> {
    profile: &'a Profile,
    rows: Vec<SampleRow>,
    /// The clock, if samples are written with their times.
    clock: Option<Clock>,
}

/// A row, sorted by these fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct SampleRow {
    event: EventIndex,
    stack: i32,
    /// List of attributes.
    attributes: u32,
    /// Index in the profile: rows with times are sorted by them.
    row: u32,
}

/// Converts the recording's clock to the wall clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    /// Times of the first and the last sample.
    pub times: (u64, u64),
    /// Wall clock at the first sample.
    pub start: u64,
}

impl Clock {
    fn unix_time(self, time: u64) -> u64 {
        let (first, last) = self.times;
        self.start.saturating_add(time.clamp(first, last) - first)
    }
}

/// The meaning of a sample's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SampleColumn {
    /// Numbers of samples.
    Counts,
    /// Sums of their values.
    Values,
}

/// The samples of a sample type.
pub(crate) struct ColumnSamples<'a> {
    all: &'a SampleRows<'a>,
    rows: &'a [SampleRow],
    column: SampleColumn,
    dictionary: &'a Dictionary<'a>,
}

impl<'a> SampleRows<'a> {
    /// The rows of a profile.
    pub(super) fn new(profile: &'a Profile, clock: Option<Clock>, dictionary: &mut Dictionary<'_>) -> Self {
        let tables = &*profile.tables;
        let mut rows = Self { profile, rows: Vec::with_capacity(profile.rows.len()), clock };
        let mut lists: HashMap<LabelsId, u32> = HashMap::new();
        for (index, row) in (0..).zip(&profile.rows) {
            let attribute_list = || attributes::from_labels(tables.labels.labels(row.labels), tables, dictionary);
            let attributes = *lists.entry(row.labels).or_insert_with(attribute_list);
            let stack = dictionary.stack(row.stack);
            rows.rows.push(SampleRow { event: row.event, stack, attributes, row: index });
        }
        // Rows with equal stacks and attributes become neighbors, and are written as one sample.
        rows.rows.sort_unstable();
        rows
    }

    /// The samples of an event.
    pub(super) fn event_samples(
        &'a self,
        event: EventIndex,
        column: SampleColumn,
        dictionary: &'a Dictionary<'a>,
    ) -> ColumnSamples<'a> {
        let start = self.rows.partition_point(|row| row.event < event);
        let len = self.rows[start..].partition_point(|row| row.event == event);
        ColumnSamples { all: self, rows: &self.rows[start..start + len], column, dictionary }
    }
}

impl Messages for ColumnSamples<'_> {
    type Message = Sample;

    fn for_each<E>(&self, each: &mut dyn FnMut(&Sample) -> Result<(), E>) -> Result<(), E> {
        let Self { all: SampleRows { profile, clock, .. }, rows, column, dictionary } = self;
        let value = |row: &Row| if *column == SampleColumn::Counts { row.samples } else { row.value };
        let mut sample = Sample::default();
        for rows in rows.chunk_by(|a, b| (a.stack, a.attributes) == (b.stack, b.attributes)) {
            sample.stack_index = rows[0].stack;
            sample.attribute_indices.clear();
            sample.attribute_indices.extend_from_slice(dictionary.attribute_list(rows[0].attributes));
            sample.values.clear();
            sample.timestamps_unix_nano.clear();
            let indexes = rows.iter().map(|row| row.row as usize);
            match clock {
                Some(clock) => {
                    let time = |index: usize| clock.unix_time(profile.occurrences[index].time);
                    sample.values.extend(indexes.clone().map(|index| to_i64(value(&profile.rows[index]))));
                    sample.timestamps_unix_nano.extend(indexes.map(time));
                }
                None => {
                    let sum = indexes.map(|index| value(&profile.rows[index])).fold(0, u64::saturating_add);
                    sample.values.push(to_i64(sum));
                }
            }
            each(&sample)?;
        }
        Ok(())
    }
}
