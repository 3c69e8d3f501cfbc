//! Statistics: records by type, samples by event, lost events, processes and threads.

use super::counters::{self, Counters};
use super::header::micros;
use super::trace_buffers;
use super::trace_buffers::{TraceBuffers, TraceCounter};
use crate::profile::collect::weights::Weights;
use crate::profile::event::ProfileEvent;
use hashbrown::HashSet;
use perf_data::abi::bytes::{ByteReader, pair_at};
use perf_data::abi::record::RecordType;
use perf_data::abi::sample::field::SampleField;
use perf_data::abi::sample::view::SampleView;
use perf_data::error::Result;
use perf_data::stream::Sink;
use perf_data::stream::events::{EventIndex, is_time};
use perf_data::stream::losses::ReportedLosses;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use perf_data::trace::DECODED;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

/// Count of records of one type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Count {
    /// Number of records.
    pub records: u64,
    /// Their size in bytes, with the payload that follows them.
    pub bytes: u64,
}

/// Count of samples of one event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EventSamples {
    /// Name of the event.
    pub event: String,
    /// Number of samples.
    pub samples: u64,
}

/// Statistics of a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Stats {
    /// Records by type; both the compressed frames and the records in them.
    #[serde(serialize_with = "by_name")]
    pub records: BTreeMap<RecordType, Count>,
    /// Samples by event, in the order of the events. A sample with counter values counts for each event whose counter increased,
    /// since `perf script` prints a line for each.
    pub samples: Vec<EventSamples>,
    /// Samples of unknown events.
    pub samples_of_unknown_event: u64,
    /// Records that the kernel lost (LOST).
    pub lost_records: u64,
    /// Samples that the kernel or the hardware lost (LOST_SAMPLES).
    pub lost_samples: u64,
    /// Processes that occur in records.
    pub processes: usize,
    /// Threads that occur in records.
    pub threads: usize,
    /// Processes with samples.
    pub sampled_processes: usize,
    /// Threads with samples.
    pub sampled_threads: usize,
    /// Times of the first and last sample, in nanoseconds of the recording's clock.
    pub sample_times: Option<(u64, u64)>,
    /// Buffers of hardware traces by source and CPU.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub traces: Vec<TraceBuffers>,
    /// Counters of `perf stat record`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counters: Option<Counters>,
}

/// Serializes record types as text, also those without a name: keys of JSON objects are strings.
fn by_name<S: Serializer>(
    records: &BTreeMap<RecordType, Count>,
    serializer: S,
) -> std::result::Result<S::Ok, S::Error> {
    serializer.collect_map(records.iter().map(|(kind, count)| (kind.to_string(), count)))
}

impl Stats {
    /// Whether there are samples, of known events or not.
    pub fn has_samples(&self) -> bool {
        self.samples_of_unknown_event > 0 || self.samples.iter().any(|count| count.samples > 0)
    }

    /// Whether there is a trace that outputs of samples decode.
    pub fn has_decodable_trace(&self) -> bool {
        self.traces.iter().any(|trace| DECODED.iter().any(|source| trace.source == source.title()))
    }

    /// Whether outputs have samples: recorded ones, or those of a trace that they decode.
    pub fn has_decoded_samples(&self) -> bool {
        self.has_samples() || self.has_decodable_trace()
    }

    /// The statistics, line by line.
    pub fn lines(&self) -> Vec<String> {
        let row = |name: &str, records: u64, bytes: u64| format!("{name:<20} {records:>12} {bytes:>14}");
        let mut lines = vec![format!("{:<20} {:>12} {:>14}", "record", "count", "bytes")];
        lines.extend(self.records.iter().map(|(kind, count)| row(&kind.to_string(), count.records, count.bytes)));
        let all = self.records.values().fold((0, 0), |sum, count| (sum.0 + count.records, sum.1 + count.bytes));
        lines.push(row("total", all.0, all.1));
        lines.push(String::new());
        lines.push(format!("{:<20} {:>12}", "event", "samples"));
        lines.extend(self.samples.iter().map(|count| format!("{:<20} {:>12}", count.event, count.samples)));
        if self.samples_of_unknown_event > 0 {
            lines.push(format!("{:<20} {:>12}", "(unknown)", self.samples_of_unknown_event));
        }
        lines.push(String::new());
        lines.push(format!("lost        {} records, {} samples", self.lost_records, self.lost_samples));
        lines.push(format!("processes   {}, {} with samples", self.processes, self.sampled_processes));
        lines.push(format!("threads     {}, {} with samples", self.threads, self.sampled_threads));
        if let Some((first, last)) = self.sample_times {
            let [first, last, between] = [first, last, last - first].map(micros);
            lines.push(format!("sample time {first} s to {last} s ({between} s)"));
        }
        lines.extend(trace_buffers::lines(&self.traces));
        if let Some(counters) = &self.counters {
            lines.push(String::new());
            lines.extend(counters.lines());
        }
        lines
    }
}

/// Collects statistics from records.
pub struct Counter {
    // Nearly all types are small numbers, so that most records need no search in the map.
    low: [Count; 256],
    high: BTreeMap<RecordType, Count>,
    samples: Vec<u64>,
    unknown: u64,
    lost: (u64, u64),
    sampled: Tasks,
    others: Tasks,
    times: Option<(u64, u64)>,
    weights: Weights,
    traces: TraceCounter,
    counters: counters::Collector,
    /// Events that the current sample counts for; the buffer is reused.
    sample_weights: Vec<(EventIndex, u64)>,
}

impl Default for Counter {
    fn default() -> Self {
        Self {
            low: [Count::default(); 256],
            high: BTreeMap::new(),
            samples: Vec::new(),
            unknown: 0,
            lost: (0, 0),
            sampled: Tasks::default(),
            others: Tasks::default(),
            times: None,
            weights: Weights::default(),
            traces: TraceCounter::default(),
            counters: counters::Collector::default(),
            sample_weights: Vec::new(),
        }
    }
}

/// Unique processes and threads.
#[derive(Default)]
struct Tasks {
    seen: HashSet<(u32, u32)>,
    /// The task of the previous record: most records have the same.
    latest: Option<(u32, u32)>,
}

impl Tasks {
    #[inline]
    fn add(&mut self, task: (u32, u32)) {
        if self.latest != Some(task) {
            self.latest = Some(task);
            // PID -1 means the kernel, and tasks that have exited.
            if task.0 != u32::MAX {
                self.seen.insert(task);
            }
        }
    }

    fn processes(&self) -> usize {
        self.seen.iter().map(|(pid, _)| pid).collect::<HashSet<_>>().len()
    }

    fn threads(&self) -> usize {
        self.seen.iter().map(|(_, tid)| tid).collect::<HashSet<_>>().len()
    }
}

impl Counter {
    /// The statistics.
    pub fn stats(mut self, meta: &Meta) -> Stats {
        let low = self.low.iter().enumerate().filter(|(_, count)| count.records > 0);
        let low = low.map(|(kind, &count)| (RecordType(kind as u32), count));
        let events = meta.events.list().iter().zip(self.samples.iter().copied().chain(std::iter::repeat(0)));
        let event_samples = |(event, samples)| EventSamples { event: ProfileEvent::from(event).name, samples };
        let (sampled_processes, sampled_threads) = (self.sampled.processes(), self.sampled.threads());
        let mut all = self.others;
        all.seen.extend(self.sampled.seen);
        Stats {
            records: low.chain(std::mem::take(&mut self.high)).collect(),
            samples: events.map(event_samples).collect(),
            samples_of_unknown_event: self.unknown,
            lost_records: self.lost.0,
            lost_samples: self.lost.1,
            processes: all.processes(),
            threads: all.threads(),
            sampled_processes,
            sampled_threads,
            sample_times: self.times,
            traces: self.traces.finish(),
            counters: self.counters.finish(meta),
        }
    }

    #[inline]
    fn sample(&mut self, meta: &Meta, raw: &Raw<'_>) {
        let Some((index, event)) = meta.events.find(raw) else {
            self.unknown += 1;
            return;
        };
        let index = index as usize;
        if self.samples.len() <= index {
            self.samples.resize(index + 1, 0);
        }
        let (layout, body) = (&event.layout, raw.body());
        if layout.has(SampleField::Read) {
            // A sample with counter values counts for several events.
            self.values(meta, raw, index);
        } else {
            self.samples[index] += 1;
        }
        let recorded = || layout.task_at().and_then(|word| pair_at(body, 8 * word, raw.endian()));
        let task = if event.is_off_cpu() { event.sample(raw).ok().and_then(|view| view.task) } else { recorded() };
        if let Some(task) = task {
            self.sampled.add(task);
        }
        let time = layout.time_at().and_then(|word| ByteReader::new(body.get(8 * word..)?, raw.endian()).u64());
        if let Some(time) = time.filter(|&time| is_time(time)) {
            let (first, last) = self.times.unwrap_or((time, time));
            self.times = Some((first.min(time), last.max(time)));
        }
    }

    /// Counts a sample with counter values for each event whose counter increased, as perf does.
    #[inline(never)]
    fn values(&mut self, meta: &Meta, raw: &Raw<'_>, index: usize) {
        let Ok(view) = SampleView::read(raw.body(), &meta.events.list()[index].layout, raw.endian()) else { return };
        self.sample_weights.clear();
        self.weights.append(&view, index as u32, &meta.events, &mut self.sample_weights);
        self.samples.resize(self.samples.len().max(meta.events.list().len()), 0);
        for &(event, _) in &self.sample_weights {
            self.samples[event as usize] += 1;
        }
    }

    fn lost(&mut self, meta: &Meta, raw: &Raw<'_>) {
        let ReportedLosses { records, samples } = ReportedLosses::decode(meta, raw).unwrap_or_default();
        self.lost = (self.lost.0.saturating_add(records), self.lost.1.saturating_add(samples));
    }
}

impl Sink for Counter {
    #[inline]
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        let kind = raw.header().kind;
        let count = match self.low.get_mut(kind.0 as usize) {
            Some(count) => count,
            None => self.high.entry(kind).or_default(),
        };
        count.records += 1;
        count.bytes += (raw.header().len() + raw.payload_len()) as u64;
        match kind {
            RecordType::SAMPLE => self.sample(meta, raw),
            RecordType::COMM | RecordType::MMAP | RecordType::MMAP2 => {
                pair_at(raw.body(), 0, raw.endian()).into_iter().for_each(|task| self.others.add(task));
            }
            RecordType::FORK | RecordType::EXIT => {
                // Fields: pid, ppid, tid, ptid.
                let both = pair_at(raw.body(), 0, raw.endian()).zip(pair_at(raw.body(), 8, raw.endian()));
                both.into_iter().for_each(|((pid, _), (tid, _))| self.others.add((pid, tid)));
            }
            RecordType::LOST | RecordType::LOST_SAMPLES => self.lost(meta, raw),
            RecordType::AUXTRACE_INFO | RecordType::AUXTRACE => self.traces.record(raw),
            kind if kind >= RecordType::USER_START => self.counters.apply(raw),
            _ => {}
        }
        Ok(())
    }
}
