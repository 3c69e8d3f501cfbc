//! Waits and spans: slices on the track of a thread, or on one below it if they overlap others.

use super::packets::Packets;
use super::proto::{DebugAnnotation, ThreadDescriptor, TracePacket, TrackDescriptor, TrackEvent};
use super::samples::flags;
use crate::formats::framework::slices::{Slice, slice_name, slice_values, slices_by_thread};
use crate::formats::framework::tracks::{ALL_THREADS, tracks};
use crate::profile::Profile;
use crate::profile::intervals::Intervals;
use perf_data::error::Result;
use perf_data::tracepoint::value::FieldValue;

/// Types of events.
mod kind {
    pub(super) const BEGIN: i32 = 1;
    pub(super) const END: i32 = 2;
}

/// Writes the slices of a profile whose samples are intervals.
///
/// # Errors
/// Errors of the output.
pub(super) fn write(profile: &Profile, packets: &mut Packets<'_>) -> Result<()> {
    let Some(intervals) = &profile.tables.timeline.intervals else { return Ok(()) };
    // Perfetto ignores such events before a packet with which a sequence begins.
    let mut sequence_flags = flags::BEGINS;
    let mut tracks_before = 0;
    for (thread, slices) in slices_by_thread(profile, &tracks(profile)) {
        let lanes = slices.iter().map(|slice| slice.lane).max().map_or(0, |lane| lane as u64 + 1);
        for lane in 0..lanes {
            let descriptor = TrackDescriptor {
                uuid: Some(1 + tracks_before + lane),
                ..descriptor(profile, intervals, thread, (lane, 1 + tracks_before))
            };
            let packet = TracePacket { track_descriptor: Some(descriptor), ..TracePacket::default() };
            packets.add_independent(None, TracePacket { sequence_flags: Some(sequence_flags), ..packet })?;
            sequence_flags = flags::NEEDS_INTERNED_DATA;
        }
        // The slices of a lane in order, so that one that ends when the next begins ends before.
        let mut sorted = slices;
        sorted.sort_by_key(|slice| slice.lane);
        for slice in sorted {
            let Slice { from, to, lane, .. } = slice;
            let track_uuid = Some(1 + tracks_before + lane as u64);
            let values = slice_values(profile, intervals, slice);
            let begin = TrackEvent {
                r#type: Some(kind::BEGIN),
                track_uuid,
                name: Some(slice_name(profile, intervals, slice).into_owned()),
                categories: vec![if intervals.name.is_some() { "span" } else { "sched" }.to_owned()],
                debug_annotations: values.map(|(name, value)| annotation(name, value)).collect(),
            };
            let end = TrackEvent { r#type: Some(kind::END), track_uuid, ..TrackEvent::default() };
            for (time, event) in [(from, begin), (to, end)] {
                let packet = TracePacket { track_event: Some(event), ..TracePacket::default() };
                packets.add_independent(Some(time), TracePacket { sequence_flags: Some(sequence_flags), ..packet })?;
            }
        }
        tracks_before += lanes;
    }
    Ok(())
}

/// The track of a thread, or below it the one of slices in another lane.
fn descriptor(
    profile: &Profile,
    intervals: &Intervals,
    thread: Option<usize>,
    (lane, first): (u64, u64),
) -> TrackDescriptor {
    if lane > 0 {
        return TrackDescriptor {
            name: intervals.name.clone(),
            parent_uuid: Some(first),
            ..TrackDescriptor::default()
        };
    }
    let thread = thread.map(|thread| profile.tables.timeline.threads[thread]);
    TrackDescriptor {
        name: thread.is_none().then(|| ALL_THREADS.to_owned()),
        thread: thread.map(|thread| ThreadDescriptor { pid: Some(thread.pid as i32), tid: Some(thread.tid as i32) }),
        ..TrackDescriptor::default()
    }
}

fn annotation(name: &str, value: FieldValue<'_>) -> DebugAnnotation {
    let annotation = DebugAnnotation { name: Some(name.to_owned()), ..DebugAnnotation::default() };
    match value {
        FieldValue::Signed(number) => DebugAnnotation { int_value: Some(number), ..annotation },
        FieldValue::Unsigned(number) => DebugAnnotation { uint_value: Some(number), ..annotation },
        FieldValue::Pointer(number) => DebugAnnotation { pointer_value: Some(number), ..annotation },
        other => DebugAnnotation { string_value: Some(other.to_string()), ..annotation },
    }
}
