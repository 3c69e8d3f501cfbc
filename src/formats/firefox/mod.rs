//! Processed profiles of the Firefox Profiler: a thread for each thread and event, with samples and markers.
//!
//! The version of the format is 63, the first in which a counter says how it is drawn; the profiler upgrades it. Later versions have
//! other columns for the same contents. The library fxprof-processed-profile is not used: its weights are 32-bit integers, too small for periods, and its frames have no inlined
//! functions and lines.

mod counters;
mod document;
mod import;
mod import_frames;
mod import_tables;
mod libs;
mod markers;
mod tables;
mod threads;

pub use import::{import, recognizes};

use super::{Format, FormatReader, ShowsFunctions};
use crate::formats::framework::json_text;
use crate::formats::framework::output::{FormatWriter, OutputFormat, OutputType, ProfileFormat};
use crate::formats::framework::tracks;
use crate::formats::framework::tracks::{Track, merge_states, tracks};
use crate::profile::Profile;
use crate::profile::labels::Label;
use counters::Counters;
use perf_data::error::Result;
use serde::Serialize;
use serde_json::json;
use std::io::Write;
use tables::SharedTables;
use threads::Threads;

/// Profiles of the Firefox Profiler.
pub const FORMAT: Format = Format {
    extensions: &[("fx.json", None)],
    output: Some(OutputType::of::<Firefox>()),
    functions: ShowsFunctions::Always,
    has_short_names: true,
    reader: FormatReader::Import(import),
    recognizes,
    is_distinctive: true,
    ..Format::new("firefox", "for the Firefox Profiler: samples and markers")
};

/// Version of the format.
const VERSION: u32 = 63;

#[derive(Serialize)]
struct ProcessedProfile<T, C, S> {
    meta: serde_json::Value,
    libs: Vec<libs::Lib>,
    threads: T,
    pages: [(); 0],
    counters: C,
    shared: S,
}

/// Times of a profile in milliseconds since its start.
#[derive(Clone, Copy)]
struct Clock {
    start: u64,
}

impl Clock {
    fn new(profile: &Profile) -> Self {
        Self { start: tracks::start(profile) }
    }

    fn milliseconds(self, time: u64) -> f64 {
        time.saturating_sub(self.start) as f64 / 1e6
    }
}

/// Profiles of the Firefox Profiler with these options.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[non_exhaustive]
pub struct Firefox {}

impl OutputFormat for Firefox {
    fn format(&self) -> &'static Format {
        &FORMAT
    }

    fn writer(&self) -> FormatWriter<'_> {
        FormatWriter::Profile(self)
    }
}

impl ProfileFormat for Firefox {
    fn labels(&self) -> Option<&'static [Label]> {
        Some(tracks::LABELS)
    }

    fn has_times(&self) -> bool {
        true
    }

    fn write(&self, profile: &Profile, out: &mut dyn Write) -> Result<()> {
        let clock = Clock::new(profile);
        let mut shared = SharedTables::new(&profile.tables);
        let tracks = merge_states(tracks(profile), profile);
        let threads = Threads::new(profile, &tracks, clock, &mut shared);
        let document = ProcessedProfile {
            meta: meta(profile, &tracks),
            libs: libs::libs(&profile.tables),
            threads,
            pages: [],
            counters: Counters::new(profile, &tracks, clock),
            shared,
        };
        json_text::write(&document, out)
    }
}

fn meta(profile: &Profile, tracks: &[Track]) -> serde_json::Value {
    let tables = &*profile.tables;
    let start = tracks::wall_clock_start(profile);
    let periods = profile.has_samples.iter().filter_map(|&event| tables.events[event as usize].nanoseconds());
    let mut meta = json!({
        "version": 24,
        "preprocessedProfileVersion": VERSION,
        "product": profile.name.as_ref().or(tables.command.as_ref()).map_or("perf", |name| name),
        "importedFrom": "Linux perf",
        "startTime": start.unwrap_or(0) as f64 / 1e6,
        "interval": periods.min().map_or(1.0, |period| period as f64 / 1e6),
        "processType": 0,
        "stackwalk": 0,
        "debug": false,
        "symbolicated": true,
        "sourceCodeIsNotOnSearchfox": true,
        "usesOnlyOneStackType": true,
        "oscpu": tables.fact("kernel").map(|kernel| format!("Linux {kernel}")),
        "CPUName": tables.fact("cpu"),
        "extensions": { "length": 0, "baseURL": [], "id": [], "name": [] },
        "categories": tables::CATEGORIES.map(|(name, color)| json!({ "name": name, "color": color, "subcategories": ["Other"] })),
        "sampleUnits": { "time": "ms", "eventDelay": "ms", "threadCPUDelta": "µs" },
        "markerSchema": markers::schemas(),
    });
    // By default, the viewer selects the first thread, whatever its event.
    if profile.has_samples.len() > 1 {
        meta["initialSelectedThreads"] = tracks::heaviest(tracks, profile).into_iter().collect();
    }
    meta
}
