//! Limits of how much functions, or the sums of events, may have grown since an earlier recording.

use super::Settings;
#[cfg(feature = "cli")]
use crate::option_values::{growth, percent};
use crate::profile::Profile;
use crate::report::comparison::{ComparedEntry, Comparison};
use perf_data::error::Result;
use perf_data::printable;
use std::borrow::Cow;

/// Number of functions that messages name; the report has all.
const MAX_GROWN: usize = 20;

/// How much may have grown before the exit status says so.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[non_exhaustive]
pub struct GrowthLimits {
    /// Exit with status 4 if the share of a function grew by more than this many percentage points, and by more than can be chance.
    #[cfg_attr(feature = "cli", arg(long, value_name = "PERCENT", value_parser = percent, requires = "diff"))]
    pub fail_above: Option<f64>,

    /// Exit with status 4 if the sum of an event grew by more than this percentage, in recordings of the same work.
    #[cfg_attr(feature = "cli", arg(long, value_name = "PERCENT", value_parser = growth, requires = "diff"))]
    pub fail_above_total: Option<f64>,
}

impl GrowthLimits {
    /// Messages on what grew by more than a limit.
    pub(super) fn exceeded(self, profile: &Profile, settings: &Settings) -> Result<Vec<String>> {
        let Some(base) = profile.base.as_deref().filter(|_| self != Self::default()) else { return Ok(Vec::new()) };
        let comparisons = settings.comparisons(base, profile, profile.tables.function_names)?;
        let messages = comparisons.iter().flat_map(|comparison| {
            let total = self.fail_above_total.and_then(|percent| grown_total(profile, comparison, percent));
            let functions = self.fail_above.map(|points| grown_functions(profile, comparison, points));
            total.into_iter().chain(functions.into_iter().flatten())
        });
        Ok(messages.collect())
    }
}

fn event_name<'a>(profile: &'a Profile, comparison: &Comparison) -> Cow<'a, str> {
    printable::name(&profile.tables.events[comparison.events[1] as usize].name)
}

/// A message if the sum of an event grew by more than a percentage.
fn grown_total(profile: &Profile, comparison: &Comparison, percent: f64) -> Option<String> {
    let [before, after] = comparison.totals.map(|total| total.value);
    let growth = (after as f64 / before as f64 - 1.0) * 100.0;
    let event = event_name(profile, comparison);
    (growth > percent).then(|| format!("{event}: the sum grew from {before} to {after}: {growth:+.2}%"))
}

/// Messages on the entries that grew by more than a number of percentage points, and by more than can be chance.
fn grown_functions(profile: &Profile, comparison: &Comparison, points: f64) -> Vec<String> {
    let event = event_name(profile, comparison);
    let grown: Vec<_> =
        comparison.entries.iter().filter(|entry| entry.change() > points && !entry.is_noise()).collect();
    let message = |entry: &&ComparedEntry| {
        let name = printable::list(entry.cells.iter(), entry.cells.len(), "keys");
        let ([before, after], change, noise) = (entry.shares, entry.change(), entry.noise);
        format!(
            "{event}: {name} grew from {before:.2}% to {after:.2}%: {change:+.2} points, of which {noise:.2} can be noise"
        )
    };
    let mut messages: Vec<_> = grown.iter().take(MAX_GROWN).map(message).collect();
    if grown.len() > MAX_GROWN {
        messages.push(format!("{event}: {} more grew by more than {points} points", grown.len() - MAX_GROWN));
    }
    messages
}
