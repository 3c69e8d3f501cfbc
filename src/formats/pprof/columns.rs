//! The columns of a profile.

use crate::profile::event::{ProfileEvent, Unit};
use crate::stream::events::EventIndex;
use hashbrown::HashMap;
use std::collections::BTreeSet;

/// The two columns of an event: samples, and what they stand for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventColumns {
    /// Type of the column that counts samples; its unit is `count`.
    pub samples: String,
    /// Type of the column that sums periods.
    pub value: String,
    /// Its unit.
    pub unit: &'static str,
    /// What lies between two samples.
    pub period: u64,
}

/// The columns of a profile, and to which of them each event belongs.
pub struct Columns {
    /// One for each event that has samples; for the first event where none has.
    pub events: Vec<EventColumns>,
    /// By the events' places in the profile.
    by_event: HashMap<EventIndex, usize>,
    /// How many events have each name.
    names: HashMap<String, usize>,
}

impl Columns {
    /// The columns of a profile in which these events have samples.
    pub fn new(events: &[ProfileEvent], has_samples: &BTreeSet<EventIndex>) -> Self {
        let first = BTreeSet::from([0]);
        let has_samples = if has_samples.is_empty() { &first } else { has_samples };
        let is_alone = has_samples.len() == 1;
        let mut columns = Self { events: Vec::new(), by_event: HashMap::new(), names: HashMap::new() };
        for (index, event) in has_samples.iter().filter_map(|&index| Some((index, events.get(index as usize)?))) {
            let unit = match event.unit {
                Unit::Nanoseconds => "nanoseconds",
                Unit::Bytes => "bytes",
                Unit::Count => "count",
            };
            let (samples, value) = match (is_alone, event.unit) {
                (true, Unit::Nanoseconds) => ("samples".to_owned(), "cpu".to_owned()),
                (true, _) => ("samples".to_owned(), event.name.clone()),
                (false, _) => {
                    let name = columns.unused(&event.name);
                    (format!("{name}_samples"), name)
                }
            };
            columns.by_event.insert(index, columns.events.len());
            columns.events.push(EventColumns { samples, value, unit, period: event.period.unwrap_or(0) });
        }
        columns
    }

    /// The place of an event's columns among all: that of samples, which that of values follows.
    pub fn of(&self, event: EventIndex) -> Option<usize> {
        Some(2 * self.by_event.get(&event)?)
    }

    /// The name, or one with a number behind it where another event has the same.
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
        let event = |&(name, unit, _): &(&str, _, _)| ProfileEvent { name: name.into(), unit, period: None };
        let has_samples = (0..).zip(events).filter(|(_, (_, _, has))| *has).map(|(index, _)| index).collect();
        Columns::new(&events.iter().map(event).collect::<Vec<_>>(), &has_samples)
    }

    fn names(columns: &Columns) -> Vec<(&str, &str, &str)> {
        columns.events.iter().map(|c| (&*c.samples, &*c.value, c.unit)).collect()
    }

    #[test]
    fn a_lone_clock_has_the_names_that_everyone_knows() {
        let columns = columns(&[("dummy:HG", Unit::Count, false), ("cpu-clock:u", Unit::Nanoseconds, true)]);
        assert_eq!(names(&columns), [("samples", "cpu", "nanoseconds")]);
        assert_eq!((columns.of(0), columns.of(1)), (None, Some(0)));
    }

    #[test]
    fn several_events_are_told_apart_by_name() {
        let count = |name| (name, Unit::Count, true);
        let columns = columns(&[count("cycles"), count("cycles"), count("faults")]);
        let expected = [
            ("cycles_samples", "cycles", "count"),
            ("cycles#2_samples", "cycles#2", "count"),
            ("faults_samples", "faults", "count"),
        ];
        assert_eq!(names(&columns), expected);
        assert_eq!(columns.of(2), Some(4));
    }

    #[test]
    fn without_samples_the_first_event_has_its_columns() {
        let columns = columns(&[("cycles", Unit::Count, false), ("faults", Unit::Count, false)]);
        assert_eq!(names(&columns), [("samples", "cycles", "count")]);
    }
}
