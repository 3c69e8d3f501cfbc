//! Ratios of two events by function or other groups, such as instructions per cycle.

use super::key::ReportKey;
use super::location::Locations;
use super::top::Top;
use super::{Counts, Usage};
use crate::profile::Profile;
use hashbrown::HashMap;
use perf_data::error::{Error, Result};
use perf_data::stream::event_name::is_called;
use perf_data::stream::events::EventIndex;
use std::sync::Arc;

/// Number of samples of each event below which a ratio is mostly chance: that of 10 samples has a standard error of a third.
pub const MIN_SAMPLES: u64 = 10;

/// A ratio with a name for which the events are known.
struct Preset {
    name: &'static str,
    title: &'static str,
    events: [&'static str; 2],
    factor: f64,
}

const PRESETS: [Preset; 4] = [
    Preset { name: "ipc", title: "IPC", events: ["instructions", "cycles"], factor: 1.0 },
    Preset { name: "mpki", title: "MPKI", events: ["cache-misses", "instructions"], factor: 1000.0 },
    Preset {
        name: "branch-miss-rate",
        title: "branch misses in %",
        events: ["branch-misses", "branches"],
        factor: 100.0,
    },
    Preset {
        name: "cache-miss-rate",
        title: "cache misses in %",
        events: ["cache-misses", "cache-references"],
        factor: 100.0,
    },
];

/// A ratio of two events of a profile.
#[derive(Clone, Debug, PartialEq)]
pub struct EventRatio {
    /// Heading of its column.
    pub title: String,
    /// Numerator and denominator.
    pub events: [EventIndex; 2],
    /// By which the quotient is multiplied.
    pub factor: f64,
}

/// A group of samples with its counts of both events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RatioEntry {
    /// The values of the keys.
    pub cells: Vec<Arc<str>>,
    /// Counts of the numerator and the denominator.
    pub usage: [Usage; 2],
}

impl EventRatio {
    /// Names of ratios whose events are known.
    pub fn presets() -> impl Iterator<Item = &'static str> {
        PRESETS.iter().map(|preset| preset.name)
    }

    /// Those of the ratios with names whose events the profile has.
    pub fn present(profile: &Profile) -> Vec<Self> {
        let preset = |preset: &Preset| {
            let Preset { events: [numerator, denominator], factor, title, .. } = *preset;
            let events = [find(numerator, profile)?, find(denominator, profile)?];
            Some(Self { title: title.to_owned(), events, factor })
        };
        PRESETS.iter().filter_map(preset).collect()
    }

    /// Finds the events of a ratio: the name of a preset, or `A/B`, possibly followed by `*` and a factor.
    ///
    /// # Errors
    /// If the profile has no samples of an event; the message lists those that it has.
    pub fn new(text: &str, title: Option<&str>, profile: &Profile) -> Result<Self> {
        if let Some(preset) = PRESETS.iter().find(|preset| preset.name == text) {
            let Preset { events: [numerator, denominator], factor, .. } = *preset;
            let events = find(numerator, profile).zip(find(denominator, profile));
            let (numerator, denominator) = events.ok_or_else(|| {
                let events = format!("{numerator},{denominator}");
                unknown(format!("--ratio {text}: needs samples of perf record -e '{{{events}}}'"), profile)
            })?;
            let title = title.unwrap_or(preset.title).to_owned();
            return Ok(Self { title, events: [numerator, denominator], factor });
        }
        let (quotient, factor) = match text.rsplit_once('*').map(|(quotient, factor)| (quotient, factor.parse::<f64>()))
        {
            Some((quotient, Ok(factor))) if (0.0..=1e15).contains(&factor) => (quotient, factor),
            Some((_, Ok(_))) => {
                return Err(Error::invalid(format!("--ratio {text}: a factor is between 0 and 1e15")));
            }
            _ => (text, 1.0),
        };
        // Names of events can contain slashes: cpu/cycles/.
        let splits = quotient.match_indices('/').map(|(at, _)| (&quotient[..at], &quotient[at + 1..]));
        let events = splits
            .filter_map(|(numerator, denominator)| Some([find(numerator, profile)?, find(denominator, profile)?]));
        let events = events.min_by_key(|[numerator, denominator]| numerator == denominator);
        let events = events.ok_or_else(|| {
            let presets = Self::presets().collect::<Vec<_>>().join(", ");
            let problem = match quotient.split_once('/') {
                Some((a, b)) if !a.is_empty() && !b.is_empty() => format!("--ratio {text}: no samples of both events"),
                _ => format!("--ratio {text}: expected EVENT/EVENT, EVENT/EVENT*NUMBER or one of {presets}"),
            };
            unknown(problem, profile)
        })?;
        Ok(Self { title: title.unwrap_or(text).to_owned(), events, factor })
    }

    /// The ratio of counts; `None` if one of them has too few samples, or the denominator is zero.
    pub fn value(&self, [numerator, denominator]: [Counts; 2]) -> Option<f64> {
        let is_certain = numerator.samples.min(denominator.samples) >= MIN_SAMPLES && denominator.value > 0;
        is_certain.then(|| numerator.value as f64 / denominator.value as f64 * self.factor)
    }

    /// How a ratio differs from that of all samples, by magnitude: -1 for at most a quarter, 1 for at least four times as much. `None`
    /// if one of them is [unknown](Self::value).
    pub(crate) fn shade(&self, counts: [Counts; 2], whole: [Counts; 2]) -> Option<f64> {
        let (value, whole) = self.value(counts).zip(self.value(whole))?;
        Some(if whole > 0.0 { ((value / whole).log2() / 2.0).clamp(-1.0, 1.0) } else { 0.0 })
    }

    /// The event whose values are widths in graphs that are colored by the ratio: a time if there is one, or else cycles, or else the
    /// denominator.
    pub(crate) fn width_event(&self, profile: &Profile) -> EventIndex {
        let is_time = |event: &EventIndex| profile.tables.events[*event as usize].is_cpu_time;
        let time = profile.has_samples.iter().copied().find(is_time);
        time.or_else(|| find("cycles", profile)).unwrap_or(self.events[1])
    }

    /// Counts of all samples of both events.
    pub fn totals(&self, profile: &Profile) -> [Counts; 2] {
        self.events.map(|event| profile.rows.iter().filter(|row| row.event == event).map(Counts::from).sum())
    }

    /// The groups, in the order of their denominators, or of their ratios, the highest first.
    pub fn entries(
        &self,
        profile: &Profile,
        locations: &Locations,
        keys: &[ReportKey],
        by_total: bool,
        by_ratio: bool,
    ) -> Vec<RatioEntry> {
        let mut entries: Vec<RatioEntry> = Vec::new();
        let mut by_cells: HashMap<Vec<Arc<str>>, usize> = HashMap::new();
        // The denominator first, in whose order those with equal ratios are.
        for side in [1, 0] {
            let top = Top::new(profile, locations, Some(self.events[side]), keys, by_total);
            for entry in top.entries {
                let index = *by_cells.entry(entry.cells).or_insert_with_key(|cells| {
                    entries.push(RatioEntry { cells: cells.clone(), usage: [Usage::default(); 2] });
                    entries.len() - 1
                });
                entries[index].usage[side] = entry.usage;
            }
        }
        if by_ratio {
            let value = |entry: &RatioEntry| self.value(entry.counts(by_total)).unwrap_or(f64::NEG_INFINITY);
            entries.sort_by(|a, b| value(b).total_cmp(&value(a)));
        }
        entries
    }
}

impl RatioEntry {
    /// Counts of both events, in total or of the group itself.
    pub fn counts(&self, by_total: bool) -> [Counts; 2] {
        self.usage.map(|usage| if by_total { usage.total } else { usage.own })
    }
}

/// The event with samples that is called so.
fn find(name: &str, profile: &Profile) -> Option<EventIndex> {
    let is_wanted = |event: &EventIndex| is_called(&profile.tables.events[*event as usize].name, name);
    (!name.is_empty()).then(|| profile.has_samples.iter().copied().find(is_wanted)).flatten()
}

fn unknown(problem: String, profile: &Profile) -> Error {
    let names: Vec<_> = profile.has_samples.iter().map(|&event| &*profile.tables.events[event as usize].name).collect();
    Error::not_found(format!("{problem}; the recording has samples of: {}", names.join(", ")))
}
