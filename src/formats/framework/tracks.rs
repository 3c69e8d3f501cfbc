//! Samples of a profile by thread and event, in time order: what formats with time have in common.

use crate::profile::labels::{Label, LabelKey, LabelsId};
use crate::profile::timeline::ThreadLife;
use crate::profile::{Profile, Tables};
use hashbrown::HashMap;
use perf_data::session::names::NameId;
use perf_data::session::thread_name::unnamed_thread;
use perf_data::stream::events::EventIndex;
use perf_data::tracepoint::tracepoints::Tracepoint;
use perf_data::tracepoint::value::FieldValue;
use std::fmt::Write;

/// Labels by default: those that identify threads.
pub(crate) const LABELS: &[Label] = &[Label::Pid, Label::Tid];

/// The samples of a thread, or of samples with other labels in common, with an event.
#[derive(Clone, Debug)]
pub(crate) struct Track {
    /// Index of the thread in the [timeline](crate::profile::timeline::Timeline::threads); `None` if it is unknown, or not a label.
    pub thread: Option<usize>,
    /// Labels of the samples.
    pub labels: LabelsId,
    pub event: EventIndex,
    /// Indexes of the rows, in time order.
    pub rows: Vec<u32>,
}

/// The tracks of a profile with times, in the order of their first samples.
pub(crate) fn tracks(profile: &Profile) -> Vec<Track> {
    let tables = &*profile.tables;
    let by_id = tables.timeline.by_id();
    let mut ids: HashMap<LabelsId, Option<(u32, u32)>> = HashMap::new();
    let mut track_indexes: HashMap<(Option<usize>, LabelsId, EventIndex), usize> = HashMap::new();
    let mut tracks: Vec<Track> = Vec::new();
    for (index, (row, occurrence)) in (0..).zip(profile.rows.iter().zip(&profile.occurrences)) {
        let id = *ids.entry(row.labels).or_insert_with(|| {
            let value = |label| tables.labels.value(row.labels, label).map(|number| number as u32);
            value(Label::Pid).zip(value(Label::Tid))
        });
        let thread = id.and_then(|(pid, tid)| by_id.at(pid, tid, occurrence.time));
        let track = *track_indexes.entry((thread, row.labels, row.event)).or_insert_with(|| {
            tracks.push(Track { thread, labels: row.labels, event: row.event, rows: Vec::new() });
            tracks.len() - 1
        });
        tracks[track].rows.push(index);
    }
    tracks
}

/// Merges the tracks of waits of a thread for different reasons, in formats that show these otherwise.
pub(crate) fn merge_states(tracks: Vec<Track>, profile: &Profile) -> Vec<Track> {
    if profile.tables.timeline.intervals.is_none() {
        return tracks;
    }
    let mut indexes: HashMap<(usize, EventIndex), usize> = HashMap::new();
    let mut merged: Vec<Track> = Vec::new();
    for track in tracks {
        let index = track.thread.map(|thread| *indexes.entry((thread, track.event)).or_insert(merged.len()));
        match index.and_then(|index| merged.get_mut(index)) {
            Some(first) => first.rows.extend(track.rows),
            None => merged.push(track),
        }
    }
    merged.iter_mut().for_each(|track| track.rows.sort_unstable());
    merged
}

/// Index of the track to show by default: that with the most samples of the event with the most.
pub(crate) fn heaviest(tracks: &[Track], profile: &Profile) -> Option<u32> {
    let main = profile.events_by_samples().first().copied();
    let weight = |(_, track): &(u32, &Track)| (Some(track.event) == main, track.rows.len());
    (0..).zip(tracks).max_by_key(weight).map(|(index, _)| index)
}

/// When the first thread began, was sampled, or ran, or the first wait or span began.
pub(crate) fn start(profile: &Profile) -> u64 {
    let timeline = &profile.tables.timeline;
    let threads = timeline.threads.iter();
    let starts = threads.flat_map(|thread| thread.start).chain(profile.times.map(|(first, _)| first));
    let switches = timeline.switches.first().map(|switch| switch.time);
    let rows = profile.rows.iter().zip(&profile.occurrences);
    let intervals = timeline.intervals.as_ref().map(|_| rows);
    let begins = intervals.into_iter().flatten().map(|(row, occurrence)| occurrence.time.saturating_sub(row.value));
    starts.chain(switches).chain(begins).min().unwrap_or(0)
}

/// The wall-clock time of the [start](start), if known.
pub(crate) fn wall_clock_start(profile: &Profile) -> Option<u64> {
    let before_samples = profile.times.map_or(0, |(first, _)| first.saturating_sub(start(profile)));
    profile.wall_clock_start.map(|time| time.saturating_sub(before_samples))
}

/// The fields of a tracepoint in a payload that are not common to all tracepoints.
pub(crate) fn own_values<'a>(
    tracepoint: &'a Tracepoint,
    payload: &'a [u8],
) -> impl Iterator<Item = (&'a str, FieldValue<'a>)> {
    let values = tracepoint.values(payload).map(|(field, value)| (&*field.name, value));
    values.filter(|(name, _)| !name.starts_with("common_"))
}

/// The name of a thread, as text.
pub(crate) fn thread_name(tables: &Tables, thread: &ThreadLife) -> String {
    let recorded = thread.comm.map(|comm| String::from_utf8_lossy(tables.names.name(comm)));
    recorded.unwrap_or_else(|| unnamed_thread(thread.tid)).into_owned()
}

impl Track {
    /// Its thread, with IDs, and other labels: `words 20648/20648 cpu 3`.
    pub(crate) fn name(&self, tables: &Tables) -> String {
        let mut name = String::new();
        let thread = self.thread.map(|thread| &tables.timeline.threads[thread]);
        if let Some(thread) = thread {
            let _ = write!(name, "{} {}/{}", thread_name(tables, thread), thread.pid as i32, thread.tid as i32);
        }
        for label in tables.labels.labels(self.labels) {
            let LabelKey::Known(kind) = label.key else { continue };
            let identifies_thread = matches!(kind, Label::Pid | Label::Tid | Label::Comm | Label::ThreadComm);
            if thread.is_some() && identifies_thread {
                continue;
            }
            let separator = if name.is_empty() { "" } else { " " };
            let _ = match kind.unit() {
                Some(_) => write!(name, "{separator}{} {}", kind.key(), label.value as i64),
                None => {
                    let text = String::from_utf8_lossy(tables.names.name(NameId(label.value as u32)));
                    write!(name, "{separator}{text}")
                }
            };
        }
        if name.is_empty() { ALL_THREADS.to_owned() } else { name }
    }
}

/// The name of a track without a thread and other labels.
pub(crate) const ALL_THREADS: &str = "all threads";

/// A thread as in the [name](Track::name) of a track.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NamedThread<'a> {
    /// Name; `None` if the thread has none.
    pub comm: Option<&'a str>,
    /// Process and thread.
    pub id: (u32, u32),
    /// The rest of the name: other labels and the event.
    pub rest: &'a str,
}

impl<'a> NamedThread<'a> {
    /// Parses the name of a track; `None` if it has no thread.
    pub(crate) fn parse(name: &'a str) -> Option<Self> {
        let number = |text: &str| text.parse::<i32>().ok().map(|number| number as u32);
        // The name of a thread may contain such words, too, and labels after it do not.
        let words = name.rmatch_indices(' ').map(|(space, _)| (&name[..space], &name[space + 1..]));
        words.into_iter().find_map(|(comm, from)| {
            let (word, rest) = from.split_once(' ').unwrap_or((from, ""));
            let (pid, tid) = word.split_once('/')?;
            let id = (number(pid)?, number(tid)?);
            Some(Self { comm: recorded_comm(comm, id.1), id, rest })
        })
    }
}

/// The name of a thread from its [printed name](thread_name); `None` if it has none.
pub(crate) fn recorded_comm(printed: &str, tid: u32) -> Option<&str> {
    let is_unnamed = printed.strip_prefix(':').is_some_and(|number| number == (tid as i32).to_string());
    Some(printed).filter(|_| !is_unnamed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_tracks_are_parsed() {
        let parsed = |name| NamedThread::parse(name).map(|NamedThread { comm, id, rest }| (comm, id, rest));
        assert_eq!(parsed("Web Content 7/8"), Some((Some("Web Content"), (7, 8), "")));
        assert_eq!(parsed("a 1/2 7/-1 cpu 3 cycles:u"), Some((Some("a 1/2"), (7, u32::MAX), "cpu 3 cycles:u")));
        assert_eq!(parsed(":8 7/8"), Some((None, (7, 8), "")));
        assert_eq!(parsed(" 7/8"), Some((Some(""), (7, 8), "")));
        assert_eq!([parsed("cpu 3"), parsed(ALL_THREADS), parsed("7/8"), parsed("a 7/x")], [None; 4]);
    }
}
