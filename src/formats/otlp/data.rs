//! What a file contains: a profile for each sample type, and the dictionary.

use super::Otlp;
use super::attributes;
use super::dictionary::Dictionary;
use super::proto::{InstrumentationScope, Profile as Head, Resource};
use super::samples::{Clock, ColumnSamples, SampleColumn, SampleRows};
use crate::formats::pprof::{Columns, to_i64};
use crate::profile::Profile;
use perf_data::stream::events::EventIndex;

/// The contents of a file.
pub(crate) struct ProfilesData<'a> {
    /// The machine.
    pub resource: Resource,
    /// The program that wrote it.
    pub scope: InstrumentationScope,
    profiles: Vec<SampleTypeProfile>,
    rows: SampleRows<'a>,
    /// What samples refer to.
    pub dictionary: Dictionary<'a>,
}

/// The profile of a sample type.
struct SampleTypeProfile {
    /// It without samples.
    head: Head,
    event: EventIndex,
    column: SampleColumn,
}

impl<'a> ProfilesData<'a> {
    /// The contents for a profile.
    pub(crate) fn new(profile: &'a Profile, options: &Otlp) -> Self {
        let tables = &*profile.tables;
        let mut dictionary = Dictionary::new(tables);
        let header = tables.imported.as_ref().and_then(|imported| imported.header.as_ref());
        let start = match header {
            Some(header) => u64::try_from(header.time_nanos).unwrap_or(0),
            None => profile.wall_clock_start.unwrap_or(0),
        };
        // The end is exclusive.
        let duration = profile.times.map_or(0, |(first, last)| (last - first).saturating_add(1));
        let with_times = profile.times.filter(|_| options.timestamps);
        let clock = with_times.map(|times| Clock { times, start });
        let duration = match header {
            Some(header) if clock.is_none() => u64::try_from(header.duration_nanos).unwrap_or(0),
            _ => duration,
        };
        let rows = SampleRows::new(profile, clock, &mut dictionary);
        let columns = Columns::new(&tables.events, &profile.has_samples);
        let mut profiles = Vec::new();
        for (event, columns) in columns.by_event() {
            let types = &columns.types;
            let (period_type, period) = match header {
                Some(header) => (header.period_type.as_ref(), header.period),
                None => (Some(&types.value), to_i64(columns.period)),
            };
            let period_type = period_type.map(|kind| dictionary.value_type(kind));
            let counts = types.samples.as_ref().map(|kind| (kind, SampleColumn::Counts));
            for (kind, column) in counts.into_iter().chain([(&types.value, SampleColumn::Values)]) {
                let head = Head {
                    sample_type: Some(dictionary.value_type(kind)),
                    time_unix_nano: start,
                    duration_nano: duration,
                    period_type,
                    period,
                    ..Head::default()
                };
                profiles.push(SampleTypeProfile { head, event, column });
            }
        }
        let scope = InstrumentationScope { name: "perfconv".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() };
        let resource = attributes::resource(tables, options);
        Self { resource, scope, profiles, rows, dictionary }
    }

    /// The profiles: each without its samples, and these.
    pub(crate) fn profiles(&self) -> impl Iterator<Item = (&Head, ColumnSamples<'_>)> {
        let samples =
            |profile: &SampleTypeProfile| self.rows.event_samples(profile.event, profile.column, &self.dictionary);
        self.profiles.iter().map(move |profile| (&profile.head, samples(profile)))
    }
}
