//! Counters: the course of the events other than the one whose samples are shown first, by process.
//!
//! The viewer draws the rate of a counter, as a track of its process. Each event also has threads with its samples, of which one is
//! shown at a time.

use super::Clock;
use crate::formats::framework::json_text::Each;
use crate::formats::framework::tracks::Track;
use crate::profile::Profile;
use crate::profile::event::Unit;
use hashbrown::HashMap;
use perf_data::stream::events::EventIndex;
use serde::{Serialize, Serializer};

/// All counters.
pub(super) struct Counters<'a> {
    profile: &'a Profile,
    clock: Clock,
    list: Vec<Counter>,
}

struct Counter {
    pid: u32,
    event: EventIndex,
    /// Index of the thread that represents the process.
    main_thread: usize,
    /// Indexes of the rows, in time order.
    rows: Vec<u32>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FirefoxCounter<'a, S> {
    name: String,
    /// Not in the format: the event, for an import, which takes its samples from threads.
    event: &'a str,
    category: &'static str,
    description: &'static str,
    pid: String,
    main_thread_index: usize,
    display: Display,
    samples: S,
}

/// How a counter is drawn.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Display {
    graph_type: &'static str,
    unit: &'static str,
    color: &'static str,
    marker_schema_location: (),
    /// Smaller ones are drawn first.
    sort_weight: u32,
    label: String,
    tooltip_rows: [TooltipRow; 4],
}

/// A value that is shown beside the mouse, and for the range that is shown.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TooltipRow {
    r#type: &'static str,
    source: &'static str,
    format: TooltipFormat,
    label: &'static str,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    requires_preview_selection: bool,
}

#[derive(Clone, Copy, Serialize)]
struct TooltipFormat {
    unit: &'static str,
}

impl Display {
    fn new(label: String, unit: Unit) -> Self {
        let (unit, number, rate) = match unit {
            Unit::Bytes => ("bytes", "bytes", "bytes-per-second"),
            // The viewer has no format of times.
            Unit::Nanoseconds | Unit::Count => ("", "number", "number"),
        };
        let row = |source, unit, label| TooltipRow {
            r#type: "value",
            source,
            format: TooltipFormat { unit },
            label,
            requires_preview_selection: source == "selection-total",
        };
        Self {
            graph_type: "line-rate",
            unit,
            color: "grey",
            marker_schema_location: (),
            sort_weight: 50,
            label,
            tooltip_rows: [
                row("count", number, "since the preceding sample"),
                row("rate", rate, "per second"),
                row("selection-total", number, "in the selection"),
                row("committed-range-total", number, "in the shown range"),
            ],
        }
    }
}

#[derive(Serialize)]
struct SampleColumns<T, C> {
    length: usize,
    time: T,
    count: C,
}

impl<'a> Counters<'a> {
    /// The counters of a profile, whose first threads are those of the tracks.
    pub(super) fn new(profile: &'a Profile, tracks: &[Track], clock: Clock) -> Self {
        let tables = &*profile.tables;
        let shown = profile.events_by_samples().first().copied();
        let thread = |track: &Track| track.thread.map(|thread| &tables.timeline.threads[thread]);
        let pid = |track: &Track| thread(track).map_or(0, |thread| thread.pid);
        let is_main = |track: &Track| thread(track).is_none_or(|thread| thread.pid == thread.tid);
        let mut main_threads: HashMap<u32, usize> = HashMap::new();
        for (index, track) in tracks.iter().enumerate() {
            let main = main_threads.entry(pid(track)).or_insert(index);
            if is_main(track) && !is_main(&tracks[*main]) {
                *main = index;
            }
        }
        let mut indexes: HashMap<(u32, EventIndex), usize> = HashMap::new();
        let mut list: Vec<Counter> = Vec::new();
        for track in tracks.iter().filter(|track| Some(track.event) != shown) {
            let (pid, event) = (pid(track), track.event);
            let index = *indexes.entry((pid, event)).or_insert_with(|| {
                list.push(Counter { pid, event, main_thread: main_threads[&pid], rows: Vec::new() });
                list.len() - 1
            });
            list[index].rows.extend_from_slice(&track.rows);
        }
        // Rows of a profile with times are in time order.
        list.iter_mut().for_each(|counter| counter.rows.sort_unstable());
        Self { profile, clock, list }
    }

    fn counter(&'a self, counter: &'a Counter) -> impl Serialize + 'a {
        let Self { profile, clock, .. } = self;
        let event = &profile.tables.events[counter.event as usize];
        let rows = || counter.rows.iter().map(|&row| row as usize);
        let weight = move |row: usize| profile.rows[row].value as f64;
        let is_time = event.unit == Unit::Nanoseconds;
        // The viewer shows no unit of times.
        let name = if is_time { format!("{} (ms)", event.name) } else { event.name.clone() };
        FirefoxCounter {
            name: name.clone(),
            event: &event.name,
            category: "Events",
            description: "Event of Linux perf",
            pid: (counter.pid as i32).to_string(),
            main_thread_index: counter.main_thread,
            display: Display::new(name, event.unit),
            samples: SampleColumns {
                length: counter.rows.len(),
                time: Each(move || rows().map(|row| clock.milliseconds(profile.occurrences[row].time))),
                count: Each(move || rows().map(move |row| weight(row) / if is_time { 1e6 } else { 1.0 })),
            },
        }
    }
}

impl Serialize for Counters<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.list.iter().map(|counter| self.counter(counter)))
    }
}
