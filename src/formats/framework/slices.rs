//! Waits and spans as slices of threads: what formats with time have in common.

use super::tracks::{Track, own_values};
use crate::profile::Profile;
use crate::profile::intervals::Intervals;
use crate::profile::labels::Label;
use perf_data::session::names::NameId;
use perf_data::tracepoint::value::FieldValue;
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// A wait or a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slice {
    /// Index of its sample.
    pub row: u32,
    /// Nanoseconds of the recording's clock.
    pub from: u64,
    pub to: u64,
    /// Slices of a thread with the same number do not overlap. Only spans by a field have others than 0.
    pub lane: usize,
}

/// The slices of each thread, by its index in the [timeline](crate::profile::timeline::Timeline::threads), in order of their begins;
/// empty unless samples are intervals.
pub(crate) fn slices_by_thread(profile: &Profile, tracks: &[Track]) -> BTreeMap<Option<usize>, Vec<Slice>> {
    let mut by_thread: BTreeMap<Option<usize>, Vec<Slice>> = BTreeMap::new();
    if profile.tables.timeline.intervals.is_none() {
        return by_thread;
    }
    for track in tracks {
        by_thread.entry(track.thread).or_default().extend(track.rows.iter().map(|&row| {
            let to = profile.occurrences[row as usize].time;
            Slice { row, from: to.saturating_sub(profile.rows[row as usize].value), to, lane: 0 }
        }));
    }
    by_thread.values_mut().for_each(|slices| set_lanes(slices));
    by_thread
}

/// Sorts slices by their begins, and numbers them so that those with the same number do not overlap.
fn set_lanes(slices: &mut [Slice]) {
    slices.sort_by_key(|slice| (slice.from, slice.to));
    let mut lanes: BinaryHeap<Reverse<(u64, usize)>> = BinaryHeap::new();
    for slice in slices {
        let free = lanes.peek().is_some_and(|Reverse((end, _))| *end <= slice.from);
        slice.lane = free.then(|| lanes.pop()).flatten().map_or(lanes.len(), |Reverse((_, lane))| lane);
        lanes.push(Reverse((slice.to, slice.lane)));
    }
}

/// The name of a slice: that of the span, or why the thread waited.
pub(crate) fn slice_name<'a>(profile: &'a Profile, intervals: &'a Intervals, slice: Slice) -> Cow<'a, str> {
    let tables = &*profile.tables;
    let state = || tables.labels.value(profile.rows[slice.row as usize].labels, Label::State);
    match &intervals.name {
        Some(name) => Cow::Borrowed(name),
        None => state()
            .map_or(Cow::Borrowed("off-cpu"), |state| String::from_utf8_lossy(tables.names.name(NameId(state as u32)))),
    }
}

/// The fields of the tracepoint with which a span begins.
pub(crate) fn slice_values<'a>(
    profile: &'a Profile,
    intervals: &'a Intervals,
    slice: Slice,
) -> impl Iterator<Item = (&'a str, FieldValue<'a>)> {
    let payload = profile.occurrences[slice.row as usize].payload;
    let payload = payload.map(|payload| profile.tables.names.name(payload));
    let begin = intervals.tracepoint.as_ref().zip(payload).into_iter();
    begin.flat_map(|(tracepoint, payload)| own_values(tracepoint, payload))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_slices_are_in_different_lanes() {
        let times = [(5, 9), (0, 10), (1, 4), (4, 5), (10, 12), (2, 3)];
        let mut slices = times.map(|(from, to)| Slice { row: 0, from, to, lane: 0 });
        set_lanes(&mut slices);
        let lanes: Vec<_> = slices.iter().map(|slice| (slice.from, slice.to, slice.lane)).collect();
        assert_eq!(lanes, [(0, 10, 0), (1, 4, 1), (2, 3, 2), (4, 5, 2), (5, 9, 1), (10, 12, 2)]);
    }
}
