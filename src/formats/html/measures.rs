//! What a page shows of ratios, waits and parallelism.

use crate::profile::Profile;
use crate::profile::labels::Label;
use crate::report::call_tree::CallTree;
use crate::report::ratio::EventRatio;
use perf_data::printable;
use perf_data::stream::events::EventIndex;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The ratios by which frames can be colored, that of the user first: title, indexes of the events of the page, and factor.
pub(super) fn ratios(profile: &Profile, tree: &CallTree, selected: Option<&EventRatio>) -> Vec<Value> {
    let others = EventRatio::present(profile).into_iter();
    let others = others.filter(|ratio| selected.is_none_or(|selected| selected.events != ratio.events));
    let ratio = |ratio: EventRatio| {
        let [numerator, denominator] = ratio.events.map(|event| event_index(profile, tree, event));
        Some(json!([printable::name(&ratio.title), numerator?, denominator?, ratio.factor]))
    };
    selected.cloned().into_iter().chain(others).filter_map(ratio).collect()
}

/// Index of an event of the profile among those of the page.
pub(super) fn event_index(profile: &Profile, tree: &CallTree, event: EventIndex) -> Option<usize> {
    let name = &profile.tables.events[event as usize].name;
    tree.events.iter().position(|listed| listed == name)
}

/// Index of the event of waits, if there are samples of other events, too.
pub(super) fn off_cpu_event(profile: &Profile, tree: &CallTree) -> Option<usize> {
    let intervals = profile.tables.timeline.intervals.as_ref()?;
    let is_of_waits = intervals.name.is_none() && tree.events.len() > 1;
    tree.events.iter().position(|event| is_of_waits && event == "off-cpu")
}

/// Samples and values by the number of threads that ran; empty unless that is measured.
pub(super) fn parallelism(profile: &Profile) -> Vec<[u64; 3]> {
    let mut counts: BTreeMap<u64, [u64; 2]> = BTreeMap::new();
    for row in &profile.rows {
        let Some(threads) = profile.tables.labels.value(row.labels, Label::Parallelism) else { continue };
        let [samples, value] = counts.entry(threads).or_default();
        (*samples, *value) = (samples.saturating_add(row.samples), value.saturating_add(row.value));
    }
    counts.into_iter().map(|(threads, [samples, value])| [threads, samples, value]).collect()
}
