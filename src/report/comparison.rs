//! How the shares of functions, or of other groups, differ between two profiles, and which differences can be chance.
//!
//! A share of samples is an estimate. If a function has the share p of n samples, the standard error of p is about sqrt(p (1 - p) / n).
//! For shares near 0, and for functions that only one of the profiles has, this is too small: one more sample of each kind (Agresti and
//! Caffo, "Simple and effective confidence intervals for proportions and differences of proportions result from adding two successes
//! and two failures", 2000) is counted in both profiles. Samples of unequal values count as the smaller number of samples of equal
//! values that estimate as well (Kish's effective sample size).

use super::key::ReportKey;
use super::location::Locations;
use super::top::{ReportEntry, Top};
use super::{Counts, Usage};
use crate::profile::options::FunctionNames;
use crate::profile::{Profile, Row};
use hashbrown::HashMap;
use perf_data::error::{Error, Result};
use perf_data::printable;
use perf_data::stream::events::EventIndex;
use std::sync::Arc;

/// Number of standard errors up to which a difference is taken for chance.
const ERRORS: f64 = 2.0;

/// Number of events that a message lists, in about two lines of a terminal.
const MAX_LISTED: usize = 10;

/// An event of two profiles.
#[derive(Debug)]
pub(crate) struct Comparison {
    /// The event in each profile.
    pub events: [EventIndex; 2],
    /// All samples of the event.
    pub totals: [Counts; 2],
    /// The groups, those that differ most first.
    pub entries: Vec<ComparedEntry>,
}

/// A group of samples in two profiles.
#[derive(Clone, Debug)]
pub(crate) struct ComparedEntry {
    /// The values of the keys, as text.
    pub cells: Vec<Arc<str>>,
    /// Counts in each profile.
    pub usage: [Usage; 2],
    /// Shares of the event in percent, by which the groups are compared.
    pub shares: [f64; 2],
    /// Change of the share up to which it can be chance, in percentage points.
    pub noise: f64,
}

impl ComparedEntry {
    /// Change of the share in percentage points.
    pub(crate) fn change(&self) -> f64 {
        self.shares[1] - self.shares[0]
    }

    /// Whether the change can be chance.
    pub(crate) fn is_noise(&self) -> bool {
        self.change().abs() <= self.noise
    }
}

impl Comparison {
    /// Compares the events of two profiles, the earlier one first, by keys: either the samples with a group anywhere in the stack or
    /// those in it itself. Functions are compared by their full names, since what is needed to distinguish short ones depends on the
    /// other functions of a profile.
    ///
    /// # Errors
    /// If the profiles have no event in common.
    pub(crate) fn list(
        profiles: [&Profile; 2],
        keys: &[ReportKey],
        by_total: bool,
        names: FunctionNames,
    ) -> Result<Vec<Self>> {
        let locations = profiles.map(|profile| Locations::new(&profile.tables));
        let compare = |events: [EventIndex; 2]| {
            let [before, after] =
                [0, 1].map(|side| Side::new(profiles[side], &locations[side], events[side], keys, by_total));
            Self::new([before, after], by_total)
        };
        let mut comparisons: Vec<_> = common_events(profiles)?.into_iter().map(compare).collect();
        if names == FunctionNames::Short {
            comparisons.iter_mut().for_each(|comparison| comparison.shorten_names(profiles, keys));
        }
        Ok(comparisons)
    }

    fn shorten_names(&mut self, profiles: [&Profile; 2], keys: &[ReportKey]) {
        let [before, after] = profiles.map(|profile| Locations::with_names(&profile.tables, FunctionNames::Short));
        Locations::show_names(&[&before, &after], keys, self.entries.iter_mut().map(|entry| &mut entry.cells));
    }

    fn new(sides: [Side; 2], by_total: bool) -> Self {
        let (events, totals) = (sides.each_ref().map(|side| side.event), sides.each_ref().map(|side| side.total));
        let sizes = sides.each_ref().map(|side| side.effective_samples);
        let mut by_cells: HashMap<Vec<Arc<str>>, [Usage; 2]> = HashMap::new();
        for (side, Side { entries, .. }) in sides.into_iter().enumerate() {
            entries.into_iter().for_each(|entry| by_cells.entry(entry.cells).or_default()[side] = entry.usage);
        }
        let entry = |(cells, usage): (Vec<Arc<str>>, [Usage; 2])| {
            let shares = [0, 1].map(|side| {
                let Usage { own, total } = usage[side];
                if by_total { total } else { own }.percent_of(totals[side])
            });
            ComparedEntry { cells, usage, shares, noise: noise(shares, sizes) }
        };
        let mut entries: Vec<_> = by_cells.into_iter().map(entry).collect();
        // Rounded, so that of two functions between which samples moved the one that grew is first.
        let size = |entry: &ComparedEntry| (entry.change().abs() * 1e6).round();
        entries.sort_by(|a, b| {
            let by_change = size(b).total_cmp(&size(a)).then(b.change().total_cmp(&a.change()));
            by_change.then_with(|| a.cells.cmp(&b.cells))
        });
        Self { events, totals, entries }
    }
}

/// An event of one of the profiles.
struct Side {
    event: EventIndex,
    total: Counts,
    effective_samples: f64,
    entries: Vec<ReportEntry>,
}

impl Side {
    fn new(profile: &Profile, locations: &Locations, event: EventIndex, keys: &[ReportKey], by_total: bool) -> Self {
        let top = Top::new(profile, locations, Some(event), keys, by_total);
        let total = top.totals.get(&event).copied().unwrap_or_default();
        let effective_samples = effective_samples(profile.rows.iter().filter(|row| row.event == event));
        Self { event, total, effective_samples, entries: top.entries }
    }
}

/// The events that both profiles have, by name. If each has only one, these are compared, such as cycles and cpu-clock.
fn common_events(profiles: [&Profile; 2]) -> Result<Vec<[EventIndex; 2]>> {
    let name = |side: usize, event: EventIndex| &*profiles[side].tables.events[event as usize].name;
    let events = profiles.map(|profile| profile.has_samples.iter().copied().collect::<Vec<_>>());
    let [before, after] = &events;
    if let ([before], [after]) = (&before[..], &after[..]) {
        return Ok(vec![[*before, *after]]);
    }
    let same = |event: EventIndex| before.iter().copied().find(|&other| name(0, other) == name(1, event));
    let pairs: Vec<_> = after.iter().filter_map(|&event| Some([same(event)?, event])).collect();
    if pairs.is_empty() {
        let [before, after] = [0, 1].map(|side| {
            let names = events[side].iter().map(|&event| name(side, event));
            if names.len() == 0 { "no samples".to_owned() } else { printable::list(names, MAX_LISTED, "events") }
        });
        let message = format!("the recordings have no event in common: {before} before, {after} after");
        return Err(Error::invalid(message));
    }
    Ok(pairs)
}

/// Number of samples of equal values that estimate shares as well as these: (Σ value)² / Σ value². The values of the samples of a row
/// are known as their sum only, and taken to be equal.
fn effective_samples<'a>(rows: impl Iterator<Item = &'a Row>) -> f64 {
    let (mut samples, mut sum, mut squares) = (0.0, 0.0, 0.0);
    for row in rows.filter(|row| row.samples > 0) {
        let (row_samples, value) = (row.samples as f64, row.value as f64);
        samples += row_samples;
        sum += value;
        squares += value * value / row_samples;
    }
    // Without values, samples are compared.
    if squares == 0.0 { samples } else { sum * sum / squares }
}

/// Difference of two shares in percentage points up to which it can be chance, by the number of samples of each event.
fn noise(shares: [f64; 2], samples: [f64; 2]) -> f64 {
    let variance = |side: usize| {
        let (size, part) = (samples[side] + 2.0, shares[side] / 100.0 * samples[side] + 1.0);
        let share = part / size;
        share * (1.0 - share) / size
    };
    ERRORS * (variance(0) + variance(1)).max(0.0).sqrt() * 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_is_two_standard_errors() {
        // sqrt(0.25 / 10 000) is half a percent, of each.
        assert!((noise([50.0, 50.0], [1e4, 1e4]) - 2.0 * 0.5 * 2.0_f64.sqrt()).abs() < 1e-3);
        // With nearly all samples in one profile, the other one decides.
        assert!((noise([10.0, 10.0], [1e9, 100.0]) - 6.1).abs() < 0.1);
        // Five samples where there were none can be chance, six hardly; by Fisher's exact test p is 0.06 and 0.03.
        let is_noise = |samples: f64| samples / 10.0 <= noise([0.0, samples / 10.0], [1000.0, 1000.0]);
        assert!(is_noise(5.0) && !is_noise(6.0));
        // One of 100 samples is no evidence against none of many.
        assert!(noise([0.0, 1.0], [1e6, 100.0]) > 1.0);
        assert!(noise([0.0, 0.0], [0.0, 0.0]).is_finite());
    }

    /// Two recordings of the same program differ by more than the noise in about one of twenty functions.
    #[test]
    fn differences_by_chance_are_mostly_noise() {
        let mut state = 1_u64;
        let mut random = || {
            // Xorshift.
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        for (share, sizes) in [(0.001, [1000, 1000]), (0.02, [1000, 300]), (0.02, [100, 2000]), (0.3, [500, 500])] {
            const PAIRS: u32 = 2000;
            let is_different = |_: &u32| {
                let shares = sizes.map(|size| {
                    let samples = (0..size).filter(|_| random() < share).count();
                    samples as f64 * 100.0 / f64::from(size)
                });
                (shares[1] - shares[0]).abs() > noise(shares, sizes.map(f64::from))
            };
            let different = (0..PAIRS).filter(is_different).count();
            assert!(different < PAIRS as usize * 6 / 100, "{different} of {PAIRS} pairs with a share of {share}");
        }
    }

    #[test]
    fn unequal_values_count_as_fewer_samples() {
        let row = |value, samples| Row { stack: 0, labels: 0, event: 0, samples, value };
        assert_eq!(effective_samples([row(50, 5), row(20, 2)].iter()), 7.0);
        assert_eq!(effective_samples([row(0, 5), row(0, 2)].iter()), 7.0);
        assert!(effective_samples([row(1_000_000, 1), row(5, 5)].iter()) < 1.1);
    }
}
