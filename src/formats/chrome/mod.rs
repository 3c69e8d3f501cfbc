//! Traces in Chrome's JSON: samples with stacks, the times in which threads ran, and tracepoints.

mod events;
mod stack_frames;

use super::{Format, ShowsFunctions};
use crate::formats::framework::json_text;
use crate::formats::framework::json_text::Each;
use crate::formats::framework::output::{FormatWriter, OutputFormat, OutputType, ProfileFormat};
use crate::formats::framework::tracks;
use crate::formats::framework::tracks::{Track, tracks};
use crate::profile::Profile;
use crate::profile::labels::Label;
use events::TraceEvents;
use perf_data::error::Result;
use serde::Serialize;
use serde_json::{Value, json};
use stack_frames::StackFrames;
use std::io::Write;

/// Traces in Chrome's JSON.
pub const FORMAT: Format = Format {
    extensions: &[("trace.json", None)],
    output: Some(OutputType::of::<Chrome>()),
    functions: ShowsFunctions::Always,
    ..Format::new("chrome", "Chrome's trace JSON, with samples and stacks")
};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Trace<E, F, S> {
    display_time_unit: &'static str,
    other_data: Value,
    trace_events: E,
    stack_frames: F,
    samples: S,
}

#[derive(Serialize)]
struct ChromeSample<'a> {
    name: &'a str,
    pid: i32,
    tid: i32,
    ts: f64,
    weight: u64,
    /// The innermost stack frame.
    #[serde(skip_serializing_if = "Option::is_none")]
    sf: Option<u32>,
}

/// Traces in Chrome's JSON with these options.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[non_exhaustive]
pub struct Chrome {}

impl OutputFormat for Chrome {
    fn format(&self) -> &'static Format {
        &FORMAT
    }

    fn writer(&self) -> FormatWriter<'_> {
        FormatWriter::Profile(self)
    }
}

impl ProfileFormat for Chrome {
    fn labels(&self) -> Option<&'static [Label]> {
        Some(tracks::LABELS)
    }

    fn has_times(&self) -> bool {
        true
    }

    fn write(&self, profile: &Profile, out: &mut dyn Write) -> Result<()> {
        let tables = &*profile.tables;
        let tracks = tracks(profile);
        let stacks = StackFrames::new(profile);
        // Samples are written in time order, in which speedscope expects those of a thread.
        let mut row_tracks = vec![0; profile.rows.len()];
        for (index, track) in tracks.iter().enumerate() {
            track.rows.iter().for_each(|&row| row_tracks[row as usize] = index);
        }
        let samples = || {
            row_tracks.iter().enumerate().map(|(row, &index)| {
                let track = &tracks[index];
                let (pid, tid) = ids(track, profile);
                (row, &tables.events[track.event as usize], pid, tid)
            })
        };
        let facts = tables.facts.iter().map(|(name, value)| ((*name).to_owned(), json!(value)));
        let trace = Trace {
            display_time_unit: "ns",
            other_data: Value::Object(facts.collect()),
            trace_events: TraceEvents { profile, tracks: &tracks, stacks: &stacks },
            stack_frames: &stacks,
            samples: Each(|| {
                samples().map(|(row, event, pid, tid)| ChromeSample {
                    name: &event.name,
                    pid,
                    tid,
                    ts: microseconds(profile.occurrences[row].time),
                    weight: profile.rows[row].value,
                    sf: stacks.innermost_frame(profile.rows[row].stack),
                })
            }),
        };
        json_text::write(&trace, out)
    }
}

/// Process and thread of a track; 0 if unknown.
fn ids(track: &Track, profile: &Profile) -> (i32, i32) {
    thread_ids(track.thread, profile)
}

/// Process and thread of a thread of the timeline; 0 if unknown.
fn thread_ids(thread: Option<usize>, profile: &Profile) -> (i32, i32) {
    let thread = thread.map(|thread| &profile.tables.timeline.threads[thread]);
    thread.map_or((0, 0), |thread| (thread.pid as i32, thread.tid as i32))
}

fn microseconds(time: u64) -> f64 {
    time as f64 / 1e3
}
