//! Sample types (columns) of a profile.

use crate::profile::event::{ProfileEvent, Unit};
use crate::profile::imported::{SampleType, SampleTypes};
use hashbrown::HashMap;
use perf_data::stream::events::EventIndex;
use std::collections::BTreeSet;

/// The columns of an event: sample count and value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EventColumns {
    /// Sample types of the columns. An event of an imported profile may lack a sample count.
    pub types: SampleTypes,
    pub period: u64,
    /// Index of its first column in the profile.
    first: usize,
}

impl EventColumns {
    /// Indexes of the column with the sample count, if there is one, and of the column with the value.
    pub(crate) fn indexes(&self) -> (Option<usize>, usize) {
        match self.types.samples {
            Some(_) => (Some(self.first), self.first + 1),
            None => (None, self.first),
        }
    }
}

/// The columns of a profile, by event.
pub(crate) struct Columns {
    /// One per event that has samples or was a column of an imported profile; those of the first event if there are
    /// none.
    pub events: Vec<EventColumns>,
    /// Indexes in `events` by event index.
    by_event: Vec<Option<usize>>,
    /// Number of columns that would have each name.
    names: HashMap<String, usize>,
    len: usize,
}

impl Columns {
    /// Creates the columns for a profile in which these events have samples.
    pub(crate) fn new(events: &[ProfileEvent], has_samples: &BTreeSet<EventIndex>) -> Self {
        let first = BTreeSet::from([0]);
        let has_samples = if has_samples.is_empty() { &first } else { has_samples };
        let is_alone = has_samples.len() == 1;
        let mut columns = Self { events: Vec::new(), by_event: Vec::new(), names: HashMap::new(), len: 0 };
        for (index, event) in (0..).zip(events) {
            columns.by_event.push(None);
            let types = match &event.sample_types {
                Some(types) => types.clone(),
                None if has_samples.contains(&index) => columns.sample_types(event, is_alone),
                None => continue,
            };
            let event_columns = EventColumns { types, period: event.period.unwrap_or(0), first: columns.len };
            columns.len = event_columns.indexes().1 + 1;
            columns.by_event[index as usize] = Some(columns.events.len());
            columns.events.push(event_columns);
        }
        columns
    }

    /// Number of columns.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The columns of each event that has some.
    pub(crate) fn by_event(&self) -> impl Iterator<Item = (EventIndex, &EventColumns)> {
        let indexes = (0..).zip(&self.by_event);
        indexes.filter_map(|(event, index)| Some((event, &self.events[(*index)?])))
    }

    /// The columns of an event.
    pub(crate) fn event_columns(&self, event: EventIndex) -> Option<&EventColumns> {
        self.events.get((*self.by_event.get(event as usize)?)?)
    }

    /// Sample types for an event, with unique names.
    fn sample_types(&mut self, event: &ProfileEvent, is_alone: bool) -> SampleTypes {
        const SAMPLES: &str = "samples";
        let unit = match event.unit {
            Unit::Nanoseconds => "nanoseconds",
            Unit::Bytes => "bytes",
            Unit::Count => "count",
        };
        let (samples, value) = match is_alone {
            true if event.is_cpu_time => (SAMPLES.to_owned(), "cpu".to_owned()),
            true if event.name != SAMPLES => (SAMPLES.to_owned(), event.name.clone()),
            _ => {
                let value = self.unused(&event.name);
                (self.unused(&format!("{value}_samples")), value)
            }
        };
        let sample_type = |kind, unit: &str| SampleType { kind, unit: unit.to_owned() };
        SampleTypes { samples: Some(sample_type(samples, "count")), value: sample_type(value, unit) }
    }

    /// Returns the name, with a number appended if it is taken.
    fn unused(&mut self, name: &str) -> String {
        let mut unused = name.to_owned();
        while self.names.contains_key(&unused) {
            let count = self.names.entry_ref(name).or_default();
            *count += 1;
            unused = format!("{name}#{count}");
        }
        self.names.insert(unused.clone(), 1);
        unused
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(events: &[(&str, Unit, bool)]) -> Columns {
        let event = |&(name, unit, _): &(&str, _, _)| ProfileEvent {
            name: name.into(),
            unit,
            is_cpu_time: unit == Unit::Nanoseconds,
            is_tracepoint: false,
            period: None,
            sample_types: None,
        };
        let has_samples = (0..).zip(events).filter(|(_, (_, _, has))| *has).map(|(index, _)| index).collect();
        Columns::new(&events.iter().map(event).collect::<Vec<_>>(), &has_samples)
    }

    fn names(columns: &Columns) -> Vec<(&str, &str, &str)> {
        fn samples(types: &SampleTypes) -> &str {
            types.samples.as_ref().map_or("", |samples| &samples.kind)
        }
        columns
            .events
            .iter()
            .map(|EventColumns { types, .. }| (samples(types), &*types.value.kind, &*types.value.unit))
            .collect()
    }

    fn indexes(columns: &Columns, event: EventIndex) -> Option<(Option<usize>, usize)> {
        columns.event_columns(event).map(EventColumns::indexes)
    }

    #[test]
    fn single_clock_event_has_standard_column_names() {
        let columns = columns(&[("dummy:HG", Unit::Count, false), ("cpu-clock:u", Unit::Nanoseconds, true)]);
        assert_eq!(names(&columns), [("samples", "cpu", "nanoseconds")]);
        assert_eq!((indexes(&columns, 0), indexes(&columns, 1)), (None, Some((Some(0), 1))));
    }

    #[test]
    fn multiple_events_have_columns_by_name() {
        let count = |name| (name, Unit::Count, true);
        let columns = columns(&[count("cycles"), count("cycles"), count("faults")]);
        let expected = [
            ("cycles_samples", "cycles", "count"),
            ("cycles#2_samples", "cycles#2", "count"),
            ("faults_samples", "faults", "count"),
        ];
        assert_eq!(names(&columns), expected);
        assert_eq!((indexes(&columns, 2), columns.len()), (Some((Some(4), 5)), 6));
    }

    #[test]
    fn column_names_are_unique() {
        let count = |name| (name, Unit::Count, true);
        assert_eq!(names(&columns(&[count("samples")])), [("samples_samples", "samples", "count")]);
        let both = columns(&[count("x"), count("x_samples")]);
        let expected = [("x_samples", "x", "count"), ("x_samples#2_samples", "x_samples#2", "count")];
        assert_eq!(names(&both), expected);
    }

    #[test]
    fn events_of_an_imported_profile_keep_their_columns() {
        let kind = |kind: &str| SampleType { kind: kind.into(), unit: "count".into() };
        let event = |samples: Option<&str>, value| ProfileEvent {
            name: "x".into(),
            unit: Unit::Count,
            is_cpu_time: false,
            is_tracepoint: false,
            period: None,
            sample_types: Some(SampleTypes { samples: samples.map(kind), value: kind(value) }),
        };
        let columns = Columns::new(&[event(None, "a"), event(Some("b"), "c")], &BTreeSet::from([1]));
        assert_eq!(names(&columns), [("", "a", "count"), ("b", "c", "count")]);
        assert_eq!((indexes(&columns, 0), indexes(&columns, 1)), (Some((None, 0)), Some((Some(1), 2))));
    }

    #[test]
    fn without_samples_the_first_event_has_columns() {
        let columns = columns(&[("cycles", Unit::Count, false), ("faults", Unit::Count, false)]);
        assert_eq!(names(&columns), [("samples", "cycles", "count")]);
    }
}
