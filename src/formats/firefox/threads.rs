//! Threads with their samples.

use super::Clock;
use super::markers::Markers;
use super::tables::SharedTables;
use crate::formats::framework::json_text::Each;
use crate::formats::framework::slices::slices_by_thread;
use crate::formats::framework::tracks::{Track, thread_name};
use crate::profile::Profile;
use crate::profile::event::Unit;
use crate::profile::timeline::ThreadLife;
use hashbrown::HashMap;
use serde::{Serialize, Serializer};
use std::borrow::Cow;

/// All threads: one for each track, and one for each thread that only has context switches.
pub(super) struct Threads<'a> {
    profile: &'a Profile,
    tracks: Vec<Cow<'a, Track>>,
    clock: Clock,
    /// By row: its stack.
    stacks: Vec<Option<u32>>,
    /// By track: its markers.
    markers: Vec<Markers>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FirefoxThread<'a, S, M> {
    name: String,
    /// Not in the format: the event, for an import.
    event: &'a str,
    process_name: String,
    process_type: &'static str,
    is_main_thread: bool,
    pid: String,
    tid: i64,
    process_startup_time: f64,
    process_shutdown_time: Option<f64>,
    register_time: f64,
    unregister_time: Option<f64>,
    paused_ranges: [(); 0],
    show_markers_in_timeline: bool,
    samples: S,
    markers: M,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SampleColumns<S, T, W, D> {
    length: usize,
    weight_type: &'static str,
    stack: S,
    time: T,
    weight: W,
    #[serde(rename = "threadCPUDelta", skip_serializing_if = "Option::is_none")]
    thread_cpu_delta: Option<D>,
}

/// A weight: milliseconds, or a number.
#[derive(Serialize)]
#[serde(untagged)]
enum Weight {
    Milliseconds(f64),
    Number(u64),
}

impl<'a> Threads<'a> {
    /// The threads of a profile, whose stacks and names are added to the tables.
    pub(super) fn new(profile: &'a Profile, list: &'a [Track], clock: Clock, shared: &mut SharedTables<'_>) -> Self {
        let timeline = &profile.tables.timeline;
        let mut stacks = vec![None; profile.rows.len()];
        let mut tracks: Vec<Cow<'a, Track>> = list.iter().map(Cow::Borrowed).collect();
        for track in &tracks {
            // The idle threads of all CPUs have the ID 0.
            let is_idle = track.thread.is_some_and(|thread| timeline.threads[thread].tid == 0);
            track
                .rows
                .iter()
                .for_each(|&row| stacks[row as usize] = shared.stack(profile.rows[row as usize].stack, is_idle));
        }
        let mut first_tracks: HashMap<usize, usize> = HashMap::new();
        for (index, track) in tracks.iter().enumerate() {
            if let Some(thread) = track.thread {
                first_tracks.entry(thread).or_insert(index);
            }
        }
        let slices = slices_by_thread(profile, list);
        let event = profile.events_by_samples().first().copied().unwrap_or(0);
        let running = timeline.running();
        for &thread in running.keys() {
            first_tracks.entry(thread).or_insert_with(|| {
                tracks.push(Cow::Owned(Track { thread: Some(thread), labels: 0, event, rows: Vec::new() }));
                tracks.len() - 1
            });
        }
        let mut markers: Vec<Markers> =
            tracks.iter().map(|track| Markers::from_track(profile, track, &stacks, clock, shared)).collect();
        for (thread, slices) in &slices {
            let track = tracks.iter().position(|track| track.thread == *thread).unwrap_or(0);
            markers[track].add_slices(profile, slices, &stacks, clock, shared);
        }
        for (thread, periods) in &running {
            markers[first_tracks[thread]].add_running(periods, clock, shared);
        }
        Self { profile, tracks, clock, stacks, markers }
    }

    fn thread(&'a self, index: usize) -> impl Serialize + 'a {
        let Self { profile, tracks, clock, .. } = self;
        let (track, tables) = (&*tracks[index], &*profile.tables);
        let thread = track.thread.map(|thread| &tables.timeline.threads[thread]);
        let is_main = |thread: &ThreadLife| thread.pid == thread.tid;
        let main = thread.map(|thread| {
            let mut main_threads =
                tables.timeline.threads.iter().filter(|other| other.pid == thread.pid && is_main(other));
            // A process ID can be used again: the process is the latest that began before the thread.
            main_threads.rfind(|main| main.start <= thread.start).unwrap_or(thread)
        });
        let name = thread.map_or_else(|| track.name(tables), |thread| thread_name(tables, thread));
        let event = &tables.events[track.event as usize].name;
        let start = |thread: Option<&ThreadLife>| {
            thread.and_then(|thread| thread.start).map_or(0.0, |start| clock.milliseconds(start))
        };
        let end = |thread: Option<&ThreadLife>| thread.and_then(|thread| thread.end).map(|end| clock.milliseconds(end));
        FirefoxThread {
            // With several events, a thread has a track for each.
            name: if profile.has_samples.len() > 1 { format!("{name} {event}") } else { name },
            event,
            process_name: main.map_or_else(String::new, |main| thread_name(tables, main)),
            process_type: "default",
            is_main_thread: thread.is_none_or(is_main),
            pid: thread.map_or(0, |thread| thread.pid as i32).to_string(),
            tid: thread.map_or(0, |thread| (thread.tid as i32).into()),
            process_startup_time: start(main),
            process_shutdown_time: end(main),
            register_time: start(thread),
            unregister_time: end(thread),
            paused_ranges: [],
            show_markers_in_timeline: true,
            samples: self.samples(track),
            markers: &self.markers[index],
        }
    }

    fn samples(&'a self, track: &'a Track) -> impl Serialize + 'a {
        let Self { profile, clock, stacks, .. } = self;
        let rows = || track.rows.iter().map(|&row| row as usize);
        let event = &profile.tables.events[track.event as usize];
        let weighted = move |row: usize| match (event.unit, profile.rows[row].value) {
            (Unit::Nanoseconds, weight) => Weight::Milliseconds(weight as f64 / 1e6),
            (_, weight) => Weight::Number(weight),
        };
        SampleColumns {
            length: track.rows.len(),
            weight_type: match event.unit {
                Unit::Nanoseconds => "tracing-ms",
                Unit::Bytes => "bytes",
                Unit::Count => "samples",
            },
            stack: Each(move || rows().map(|row| stacks[row])),
            time: Each(move || rows().map(|row| clock.milliseconds(profile.occurrences[row].time))),
            weight: Each(move || rows().map(weighted)),
            // Clocks count the time on a CPU. profiler-cli does not end on an empty column.
            thread_cpu_delta: (event.is_cpu_time && !track.rows.is_empty())
                .then_some(Each(move || rows().map(|row| profile.rows[row].value as f64 / 1e3))),
        }
    }
}

impl Serialize for Threads<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq((0..self.tracks.len()).map(|index| self.thread(index)))
    }
}
