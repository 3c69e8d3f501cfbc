//! Samples: one sequence of packets for each event, or group of events read together, with its counters on each CPU.

use super::clock::TraceClock;
use super::interned::{Sent, Stacks};
use super::packets::{Packets, SEQUENCE};
use super::proto::{FollowerEvent, PerfSample, PerfSampleDefaults, PerfTimebase, TracePacket, TracePacketDefaults};
use crate::profile::labels::{Label, LabelsId};
use crate::profile::timeline::Occurrence;
use crate::profile::{Profile, Row, Tables};
use hashbrown::HashMap;
use perf_data::error::Result;
use perf_data::session::names::NameId;
use perf_data::stream::events::EventIndex;
use std::borrow::Cow;

/// Flags of packets.
pub(super) mod flags {
    pub(in super::super) const BEGINS: u32 = 1;
    pub(in super::super) const NEEDS_INTERNED_DATA: u32 = 2;
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

/// The packets of an event, or of events that are counted in the same samples.
struct Sequence {
    id: u32,
    /// The first one gives the samples, the others follow it.
    events: Vec<EventIndex>,
    sent: Sent,
    /// The counters of each CPU.
    counts: HashMap<u32, Vec<u64>>,
}

impl Sequence {
    /// The sequence of an event. Events that are read together and have samples share one.
    fn of(event: EventIndex, profile: &Profile) -> Self {
        let group = profile.tables.event_groups.iter().find(|group| group.events.contains(&event));
        let events = match group.filter(|group| group.is_read_together) {
            Some(group) => profile.has_samples.range(group.events.clone()).copied().collect(),
            None => vec![event],
        };
        Self { id: SEQUENCE + 1 + event, events, sent: Sent::default(), counts: HashMap::new() }
    }

    /// The packet that begins it.
    fn begin(&self, profile: &Profile, clock: TraceClock) -> TracePacket {
        let event = |&index: &EventIndex| &profile.tables.events[index as usize];
        let timebase = self.events.first().map(event).map(|event| PerfTimebase {
            name: Some(event.name.clone()),
            period: event.period,
            timestamp_clock: Some(clock.perf_clock()),
        });
        let followers = self.events.iter().skip(1).map(event);
        let followers = followers.map(|event| FollowerEvent { name: Some(event.name.clone()) }).collect();
        TracePacket {
            trusted_packet_sequence_id: Some(self.id),
            sequence_flags: Some(flags::BEGINS),
            trace_packet_defaults: Some(TracePacketDefaults {
                timestamp_clock_id: Some(clock.id()),
                perf_sample_defaults: Some(PerfSampleDefaults { timebase, followers }),
            }),
            ..TracePacket::default()
        }
    }

    /// Adds the values of a sample to the counters of a CPU. Returns these.
    fn count(&mut self, cpu: u32, rows: &[Row]) -> &[u64] {
        let counts = self.counts.entry(cpu).or_insert_with(|| vec![0; self.events.len()]);
        for row in rows {
            if let Some(at) = self.events.iter().position(|&event| event == row.event) {
                counts[at] = counts[at].saturating_add(row.value);
            }
        }
        counts
    }
}

/// Writes the samples of a profile.
///
/// # Errors
/// Errors of the output.
pub(super) fn write(profile: &Profile, clock: TraceClock, packets: &mut Packets<'_>) -> Result<()> {
    let stacks = Stacks::new(&profile.tables);
    let mut by_labels: HashMap<LabelsId, PerfSample> = HashMap::new();
    let mut sequences: Vec<Sequence> = Vec::new();
    let mut by_event: HashMap<EventIndex, usize> = HashMap::new();
    let mut begin = 0;
    while let Some(row) = profile.rows.get(begin) {
        let at = *by_event.entry(row.event).or_insert_with(|| sequences.len());
        if at == sequences.len() {
            let sequence = Sequence::of(row.event, profile);
            packets.add(&sequence.begin(profile, clock))?;
            by_event.extend(sequence.events.iter().map(|&event| (event, at)));
            sequences.push(sequence);
        }
        let sequence = &mut sequences[at];
        let time = profile.occurrences[begin].time;
        let len = sample_len(&profile.rows[begin..], &profile.occurrences[begin..], &sequence.events);
        let sample = by_labels.entry(row.labels).or_insert_with(|| sample_with_labels(profile, row.labels)).clone();
        let (callstack_iid, interned_data) = stacks.send(row.stack, &mut sequence.sent);
        let id = sequence.id;
        let counts = sequence.count(sample.cpu.unwrap_or(0), &profile.rows[begin..begin + len]);
        packets.add(&TracePacket {
            timestamp: Some(time),
            trusted_packet_sequence_id: Some(id),
            sequence_flags: Some(flags::NEEDS_INTERNED_DATA),
            interned_data,
            perf_sample: Some(PerfSample {
                callstack_iid,
                timebase_count: counts.first().copied(),
                follower_counts: counts.get(1..).unwrap_or_default().to_vec(),
                ..sample
            }),
            ..TracePacket::default()
        })?;
        begin += len;
    }
    Ok(())
}

/// Number of the first rows that are of one sample: the counts of its events are in the order of the group.
fn sample_len(rows: &[Row], occurrences: &[Occurrence], events: &[EventIndex]) -> usize {
    let is_of_sample = |at: usize| {
        let (row, before) = (&rows[at], &rows[at - 1]);
        (row.stack, row.labels) == (before.stack, before.labels)
            && occurrences[at].time == occurrences[at - 1].time
            && row.event > before.event
            && events.contains(&row.event)
    };
    (1..rows.len()).find(|&at| !is_of_sample(at)).unwrap_or(rows.len())
}

/// The text that a label has in a set.
fn text(tables: &Tables, labels: LabelsId, wanted: Label) -> Option<Cow<'_, str>> {
    let name = tables.labels.value(labels, wanted);
    name.map(|name| String::from_utf8_lossy(tables.names.name(NameId(name as u32))))
}
