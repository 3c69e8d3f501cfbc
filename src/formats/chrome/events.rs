//! Trace events: names of threads, the times in which they ran, waits and spans, and tracepoints.

use super::stack_frames::StackFrames;
use super::{ids, microseconds, thread_ids};
use crate::formats::framework::slices::{Slice, slice_name, slice_values, slices_by_thread};
use crate::formats::framework::tracks::{Track, own_values, thread_name};
use crate::profile::Profile;
use serde::ser::SerializeSeq;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

/// The trace events of a profile.
pub(super) struct TraceEvents<'a> {
    pub profile: &'a Profile,
    pub tracks: &'a [Track],
    /// The stacks of samples.
    pub stacks: &'a StackFrames,
}

impl TraceEvents<'_> {
    fn names(&self) -> impl Iterator<Item = Value> {
        let Self { profile, tracks, .. } = self;
        let tables = &*profile.tables;
        let track_names = tracks.iter().map(|track| {
            let (pid, tid) = ids(track, profile);
            let thread = track.thread.map(|thread| &tables.timeline.threads[thread]);
            let name = thread.map_or_else(|| track.name(tables), |thread| thread_name(tables, thread));
            metadata_event("thread_name", pid, tid, &name)
        });
        let main = tables.timeline.threads.iter().filter(|thread| thread.pid == thread.tid);
        let process_names = main.map(|main| {
            let pid = main.pid as i32;
            metadata_event("process_name", pid, pid, &thread_name(tables, main))
        });
        track_names.chain(process_names)
    }

    /// The times in which threads ran. Those without both ends are omitted.
    fn running(&self) -> impl Iterator<Item = Value> {
        let timeline = &self.profile.tables.timeline;
        timeline.running().into_iter().flat_map(|(thread, times)| {
            let thread = timeline.threads[thread];
            times.into_iter().filter_map(move |time| {
                let (from, to) = time.from.zip(time.to)?;
                Some(json!({
                    "ph": "X",
                    "cat": "sched",
                    "name": "Running",
                    "pid": thread.pid as i32,
                    "tid": thread.tid as i32,
                    "ts": microseconds(from),
                    "dur": microseconds(to.saturating_sub(from)),
                    "args": { "cpu": time.cpu, "preempted": time.is_preempted },
                }))
            })
        })
    }

    /// Waits and spans. Those that overlap others of their thread are asynchronous: others have to be nested.
    fn intervals(&self) -> impl Iterator<Item = Value> {
        let Self { profile, tracks, stacks } = self;
        let intervals = profile.tables.timeline.intervals.as_ref();
        let by_thread = slices_by_thread(profile, tracks).into_iter();
        let slices = by_thread.flat_map(|(thread, slices)| slices.into_iter().map(move |slice| (thread, slice)));
        intervals
            .into_iter()
            .zip([slices])
            .flat_map(move |(intervals, slices)| {
                slices.flat_map(move |(thread, slice)| {
                    let Slice { row, from, to, lane } = slice;
                    let (pid, tid) = thread_ids(thread, profile);
                    let values = slice_values(profile, intervals, slice);
                    let args = values.map(|(name, value)| (name.to_owned(), json!(value.to_string())));
                    let mut begin = json!({
                        "ph": "X",
                        "cat": if intervals.name.is_some() { "span" } else { "sched" },
                        "name": slice_name(profile, intervals, slice),
                        "pid": pid,
                        "tid": tid,
                        "ts": microseconds(from),
                        "dur": microseconds(to - from),
                        "sf": stacks.innermost_frame(profile.rows[row as usize].stack),
                        "args": Value::Object(args.collect()),
                    });
                    if lane == 0 {
                        return [Some(begin), None];
                    }
                    let mut end = json!({ "ph": "e", "ts": microseconds(to), "id": row });
                    ["cat", "name", "pid", "tid"].iter().for_each(|key| end[key] = begin[key].clone());
                    (begin["ph"], begin["id"]) = (json!("b"), json!(row));
                    begin.as_object_mut().map(|begin| begin.remove("dur"));
                    [Some(begin), Some(end)]
                })
            })
            .flatten()
    }

    fn tracepoints(&self) -> impl Iterator<Item = Value> {
        let Self { profile, tracks, stacks } = self;
        let tables = &*profile.tables;
        let tracepoint_tracks =
            tracks.iter().filter_map(|track| Some((track, tables.timeline.tracepoints.get(&track.event)?)));
        tracepoint_tracks.flat_map(move |(track, tracepoint)| {
            let (pid, tid) = ids(track, profile);
            track.rows.iter().map(move |&row| {
                let occurrence = profile.occurrences[row as usize];
                let payload = occurrence.payload.map_or(&[][..], |payload| tables.names.name(payload));
                let values = own_values(tracepoint, payload);
                let args = values.map(|(name, value)| (name.to_owned(), json!(value.to_string())));
                json!({
                    "ph": "i",
                    "s": "t",
                    "cat": tracepoint.system,
                    "name": tables.events[track.event as usize].name,
                    "pid": pid,
                    "tid": tid,
                    "ts": microseconds(occurrence.time),
                    "sf": stacks.innermost_frame(profile.rows[row as usize].stack),
                    "args": Value::Object(args.collect()),
                })
            })
        })
    }
}

fn metadata_event(kind: &str, pid: i32, tid: i32, name: &str) -> Value {
    json!({ "ph": "M", "name": kind, "pid": pid, "tid": tid, "args": { "name": name } })
}

impl Serialize for TraceEvents<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut events = serializer.serialize_seq(None)?;
        self.names().try_for_each(|event| events.serialize_element(&event))?;
        self.running().try_for_each(|event| events.serialize_element(&event))?;
        self.intervals().try_for_each(|event| events.serialize_element(&event))?;
        self.tracepoints().try_for_each(|event| events.serialize_element(&event))?;
        events.end()
    }
}
