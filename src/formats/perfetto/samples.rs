//! Samples: one sequence of packets for each event, with its counter on each CPU.

use super::clock::TraceClock;
use super::interned::{Sent, Stacks};
use super::packets::{Packets, SEQUENCE};
use super::proto::{PerfSample, PerfSampleDefaults, PerfTimebase, TracePacket, TracePacketDefaults};
use crate::profile::labels::{Label, LabelsId};
use crate::profile::{Profile, Tables};
use hashbrown::HashMap;
use perf_data::error::Result;
use perf_data::session::names::NameId;
use perf_data::stream::events::EventIndex;
use std::borrow::Cow;

/// Flags of packets.
mod flags {
    pub(super) const BEGINS: u32 = 1;
    pub(super) const NEEDS_INTERNED_DATA: u32 = 2;
}

/// Labels by default: what a sample of a trace has.
pub(super) const LABELS: &[Label] = &[Label::Pid, Label::Tid, Label::Cpu, Label::ExecutionMode];

/// The part of samples that labels determine.
fn sample_with_labels(profile: &Profile, labels: LabelsId) -> PerfSample {
    let number = |label| profile.tables.labels.value(labels, label).map(|number| number as u32);
    let mode = match text(&profile.tables, labels, Label::ExecutionMode).as_deref() {
        Some("Host Kernel") => Some(1),
        Some("Host User") => Some(2),
        Some("Hypervisor") => Some(3),
        Some("Guest Kernel") => Some(4),
        Some("Guest User") => Some(5),
        _ => None,
    };
    PerfSample {
        cpu: number(Label::Cpu),
        pid: Some(number(Label::Pid).unwrap_or(0)),
        tid: Some(number(Label::Tid).unwrap_or(0)),
        cpu_mode: mode,
        ..PerfSample::default()
    }
}

/// The packets of an event.
struct Sequence {
    sent: Sent,
    /// The counter of each CPU.
    counts: HashMap<u32, u64>,
}

/// Writes the samples of a profile.
///
/// # Errors
/// Errors of the output.
pub(super) fn write(profile: &Profile, clock: TraceClock, packets: &mut Packets<'_>) -> Result<()> {
    let tables = &*profile.tables;
    let stacks = Stacks::new(tables);
    let mut by_labels: HashMap<LabelsId, PerfSample> = HashMap::new();
    let mut sequences: HashMap<EventIndex, Sequence> = HashMap::new();
    for (row, occurrence) in profile.rows.iter().zip(&profile.occurrences) {
        let event = &tables.events[row.event as usize];
        let id = SEQUENCE + 1 + row.event;
        if !sequences.contains_key(&row.event) {
            let timebase = PerfTimebase {
                name: Some(event.name.clone()),
                period: event.period,
                timestamp_clock: Some(clock.perf_clock()),
            };
            packets.add(&TracePacket {
                trusted_packet_sequence_id: Some(id),
                sequence_flags: Some(flags::BEGINS),
                trace_packet_defaults: Some(TracePacketDefaults {
                    timestamp_clock_id: Some(clock.id()),
                    perf_sample_defaults: Some(PerfSampleDefaults { timebase: Some(timebase) }),
                }),
                ..TracePacket::default()
            })?;
            sequences.insert(row.event, Sequence { sent: Sent::default(), counts: HashMap::new() });
        }
        let Some(Sequence { sent, counts }) = sequences.get_mut(&row.event) else { continue };
        let sample = *by_labels.entry(row.labels).or_insert_with(|| sample_with_labels(profile, row.labels));
        let count = counts.entry(sample.cpu.unwrap_or(0)).or_default();
        *count = count.saturating_add(row.value);
        let (callstack_iid, interned_data) = stacks.send(row.stack, sent);
        packets.add(&TracePacket {
            timestamp: Some(occurrence.time),
            trusted_packet_sequence_id: Some(id),
            sequence_flags: Some(flags::NEEDS_INTERNED_DATA),
            interned_data,
            perf_sample: Some(PerfSample { callstack_iid, timebase_count: Some(*count), ..sample }),
            ..TracePacket::default()
        })?;
    }
    Ok(())
}

/// The text that a label has in a set.
fn text(tables: &Tables, labels: LabelsId, wanted: Label) -> Option<Cow<'_, str>> {
    let name = tables.labels.value(labels, wanted);
    name.map(|name| String::from_utf8_lossy(tables.names.name(NameId(name as u32))))
}
