//! Comparisons of two recordings as text.

use super::style::{event_line, line};
use super::text::{Page, join_events};
use crate::profile::Profile;
use crate::report::comparison::{ComparedEntry, Comparison};

impl Page<'_> {
    /// The functions, or other groups, whose shares differ most from those of an earlier profile.
    pub(super) fn comparisons(&self, base: &Profile, comparisons: &[Comparison]) -> String {
        join_events(comparisons.iter().map(|comparison| self.comparison(base, comparison)), "\n")
    }

    fn comparison(&self, base: &Profile, comparison: &Comparison) -> String {
        let [before, after] = comparison.events;
        let [total_before, total_after] = comparison.totals;
        let mut text = self.heading(after, total_after);
        line!(text, "before: {}", event_line(&base.tables, before, total_before));
        let entries: Vec<_> = self.settings.compared(comparison).collect();
        let (keys, names) = self.columns(entries.iter().map(|entry| &*entry.cells));
        line!(text, " before    after   change    noise           value  {keys}");
        for (entry, names) in entries.iter().zip(names) {
            let [before, after] = entry.shares.map(|share| self.style.percent(share));
            let change = self.style.change(entry.change(), entry.is_noise());
            let value = added_value(entry, self.settings.by_total);
            line!(text, "{before}  {after} {change} {:>7.2}  {value:>+14}  {names}", entry.noise);
        }
        self.omitted(comparison.entries.len(), entries.len(), &mut text);
        if entries.iter().any(|entry| entry.is_noise()) {
            line!(text, "~ at most the noise: two standard errors of the samples");
        }
        text
    }
}

/// How much the value of an entry grew.
fn added_value(entry: &ComparedEntry, by_total: bool) -> i128 {
    let [before, after] = entry.usage.map(|usage| if by_total { usage.total } else { usage.own });
    i128::from(after.value) - i128::from(before.value)
}
