//! Files of speedscope: a sampled profile for each thread and event.
//!
//! A sample's width is its weight, not the time to the next sample: time in which a thread did not run takes no space.

mod document;
mod frames;
mod import;

pub use import::{import, recognizes};

use super::{Format, FormatReader, ShowsFunctions};
use crate::formats::framework::json_text;
use crate::formats::framework::json_text::Each;
use crate::formats::framework::output::{FormatWriter, OutputFormat, OutputType, ProfileFormat};
use crate::formats::framework::tracks;
use crate::formats::framework::tracks::{Track, tracks};
use crate::profile::event::Unit;
use crate::profile::labels::Label;
use crate::profile::{Profile, Row};
use frames::SpeedscopeFrames;
use perf_data::error::Result;
use serde::Serialize;
use std::io::Write;

/// Files of speedscope.
pub const FORMAT: Format = Format {
    extensions: &[("speedscope.json", None)],
    output: Some(OutputType::of::<Speedscope>()),
    functions: ShowsFunctions::Always,
    has_short_names: true,
    reader: FormatReader::Import(import),
    recognizes,
    is_distinctive: true,
    ..Format::new("speedscope", "profile of each thread and event, for speedscope")
};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct File<F, P> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    exporter: &'static str,
    name: String,
    active_profile_index: u32,
    shared: Shared<F>,
    profiles: P,
}

#[derive(Serialize)]
struct Shared<F> {
    frames: F,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SampledProfile<'a, S, W> {
    #[serde(rename = "type")]
    kind: &'static str,
    name: String,
    /// Not in the schema, which allows other fields: the event, for an import.
    event: &'a str,
    unit: &'static str,
    start_value: u64,
    end_value: u64,
    samples: S,
    weights: W,
}

/// Files of speedscope with these options.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[non_exhaustive]
pub struct Speedscope {
    /// What a frame is.
    #[cfg_attr(feature = "cli", arg(long, value_enum, value_name = "WHAT", default_value_t))]
    pub frames: FrameUnit,
}

/// What a frame is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum FrameUnit {
    /// A function.
    #[default]
    Functions,
    /// A source line of a function.
    Lines,
}

impl OutputFormat for Speedscope {
    fn format(&self) -> &'static Format {
        &FORMAT
    }

    fn writer(&self) -> FormatWriter<'_> {
        FormatWriter::Profile(self)
    }
}

impl ProfileFormat for Speedscope {
    fn labels(&self) -> Option<&'static [Label]> {
        Some(tracks::LABELS)
    }

    fn has_times(&self) -> bool {
        true
    }

    fn write(&self, profile: &Profile, out: &mut dyn Write) -> Result<()> {
        let frames = SpeedscopeFrames::new(&profile.tables, self.frames == FrameUnit::Lines);
        let tracks = tracks(profile);
        let file = File {
            schema: "https://www.speedscope.app/file-format-schema.json",
            exporter: concat!("perfconv@", env!("CARGO_PKG_VERSION")),
            name: profile.name.clone().or_else(|| profile.tables.command.clone()).unwrap_or_default(),
            active_profile_index: tracks::heaviest(&tracks, profile).unwrap_or(0),
            shared: Shared { frames: Each(|| frames.list().map(|location| frames.frame(location))) },
            profiles: Each(|| tracks.iter().map(|track| track_profile(track, profile, &frames))),
        };
        json_text::write(&file, out)
    }
}

fn track_profile<'a>(track: &'a Track, profile: &'a Profile, frames: &'a SpeedscopeFrames) -> impl Serialize + 'a {
    let event = &profile.tables.events[track.event as usize];
    let weight = |row: &Row| row.value;
    let rows = || track.rows.iter().map(|&row| &profile.rows[row as usize]);
    let name = track.name(&profile.tables);
    SampledProfile {
        kind: "sampled",
        name: if profile.has_samples.len() > 1 { format!("{name} {}", event.name) } else { name },
        event: &event.name,
        unit: match event.unit {
            Unit::Nanoseconds => "nanoseconds",
            Unit::Bytes => "bytes",
            Unit::Count => "none",
        },
        start_value: 0,
        end_value: rows().map(weight).fold(0, u64::saturating_add),
        samples: Each(move || {
            rows().map(move |row| {
                let stack = profile.tables.stacks.stack(row.stack);
                Each(move || frames.stack_frames(stack))
            })
        }),
        weights: Each(move || rows().map(weight)),
    }
}
