//! Adapts records to a version of perf.

use super::deferred::Deferred;
use crate::rewrite::framework::replacement::{RecordBuffer, reencode_with};
use perf_data::abi::read_format::{ReadFormat, ReadValues};
use perf_data::abi::record::cpu_map::{CpuMapData, CpuMapType, CpuSet};
use perf_data::abi::record::event_update::EventUpdateValue;
use perf_data::abi::record::mmap2::MappedFile;
use perf_data::abi::record::{Body, Misc, Record, RecordHeader, RecordType};
use perf_data::abi::sample::Sample;
use perf_data::abi::sample::callchain::deferred_cookie;
use perf_data::abi::sample::view::SampleView;
use perf_data::abi::sample::weight::Weight;
use perf_data::abi::sample_type::{BranchSampleType, SampleType};
use perf_data::abi::version::PerfVersion;
use perf_data::container::write::{encoded, pipe};
use perf_data::error::{Error, Result};
use perf_data::stream::Sink;
use perf_data::stream::events::Event;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use perf_data::stream::stage::Stage;
use std::collections::BTreeMap;
use std::fmt;

/// Changes to records, and how often each was made.
pub(crate) type Changes = BTreeMap<Change, u64>;

/// A change to records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Change {
    /// A record type that the version does not know was removed.
    Record(RecordType),
    /// A deferred user call chain was inserted into its sample.
    UserFrames,
    /// A deferred user call chain is missing, or too long for a record.
    NoUserFrames,
    /// The build ID of a mapping was removed.
    MmapBuildId,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Record(kind) => write!(f, "{kind} records"),
            Self::UserFrames => f.write_str("deferred user call chains"),
            Self::NoUserFrames => f.write_str("deferred user call chains that are missing or too long"),
            Self::MmapBuildId => f.write_str("build IDs of mappings"),
        }
    }
}

/// Adapts records to a version of perf.
pub(crate) struct ForVersion<'a> {
    version: PerfVersion,
    deferred: &'a Deferred,
    changes: &'a mut Changes,
    changed: RecordBuffer,
}

impl<'a> ForVersion<'a> {
    /// Creates the stage for a version.
    pub(crate) fn new(version: PerfVersion, deferred: &'a Deferred, changes: &'a mut Changes) -> Self {
        Self { version, deferred, changes, changed: RecordBuffer::default() }
    }

    fn count(&mut self, change: Change) {
        *self.changes.entry(change).or_default() += 1;
    }

    /// The adapted record; `None` if it is unchanged.
    fn changed(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<Option<Vec<u8>>> {
        match raw.header().kind {
            RecordType::SAMPLE => self.sample(meta, raw),
            RecordType::READ => {
                let lost = ReadFormat::LOST;
                let has_unknown = |(_, event): (_, &Event)| event.attr.read_format.contains(lost);
                if self.version.read_format().contains(lost) || !meta.events.find(raw).is_some_and(has_unknown) {
                    return Ok(None);
                }
                reencode_with(meta, raw, |record| {
                    if let Body::Read(read) = &mut record.body {
                        without_lost(&mut read.values);
                    }
                })
            }
            RecordType::CPU_MAP | RecordType::EVENT_UPDATE if self.version < PerfVersion::CPU_RANGES => cpus(meta, raw),
            RecordType::MMAP2
                if self.version < PerfVersion::MMAP_BUILD_IDS && raw.header().misc.contains(Misc::MMAP_BUILD_ID) =>
            {
                self.count(Change::MmapBuildId);
                reencode_with(meta, raw, |record| {
                    record.header.misc.remove(Misc::MMAP_BUILD_ID);
                    if let Body::Mmap2(mmap) = &mut record.body {
                        mmap.file = MappedFile::Inode { maj: 0, min: 0, ino: 0, ino_generation: 0 };
                    }
                })
            }
            RecordType::HEADER_FEATURE if raw.body().len() <= size_of::<u64>() => {
                pipe::mark(self.version.feature_end(), raw.endian()).map(Some)
            }
            RecordType::HEADER_BUILD_ID if self.version >= PerfVersion::ALIGNED_RECORDS => Ok(aligned(raw)),
            _ => Ok(None),
        }
    }

    fn sample(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<Option<Vec<u8>>> {
        let Some((_, event)) = meta.events.find(raw) else { return Ok(None) };
        let (layout, version) = (&event.layout, self.version);
        let sample_type = version.sample_type();
        let (branches, reads) = (version.branch_sample_type(), version.read_format());
        let is_known = sample_type.contains(layout.sample_type())
            && branches.contains(layout.branch_sample_type())
            && reads.contains(layout.read_format());
        if !is_known && !layout.is_partial() {
            // The attr has lost bits that an undecodable sample keeps.
            if let Some(unknown) = layout.unknown_bits_of(raw.body(), raw.endian()) {
                let file = &meta.files[raw.block().source as usize];
                let problem = format!("fields cannot be removed from a sample of unknown layout ({unknown})");
                return Err(Error::input(file, raw.offset(), problem));
            }
        }
        let waits = if version < PerfVersion::DEFERRED_CALLCHAINS {
            let view = SampleView::read(raw.body(), layout, raw.endian()).ok();
            view.and_then(|view| Some((view.task.map_or(0, |(_, tid)| tid), deferred_cookie(view.callchain?)?)))
        } else {
            None
        };
        if is_known && waits.is_none() {
            return Ok(None);
        }
        let chain = waits.map(|key| self.deferred.get(&key).map(Vec::from_iter).unwrap_or_default());
        let adapt = |record: &mut Record, chain: Option<&[u64]>| {
            if let Body::Sample(sample) = &mut record.body {
                without_unknown(sample, version);
                if let (Some(chain), Some(own)) = (chain, &mut sample.callchain) {
                    // The USER_DEFERRED context and the cookie.
                    own.ips.truncate(own.ips.len().saturating_sub(2));
                    own.ips.extend_from_slice(chain);
                }
            }
        };
        if let Some(chain) = chain {
            let fits = raw.bytes().len() + size_of_val(&*chain) <= usize::from(u16::MAX);
            let is_inserted = fits && !chain.is_empty();
            let adapted = reencode_with(meta, raw, |record| adapt(record, Some(if fits { &chain } else { &[] })));
            self.count(if is_inserted { Change::UserFrames } else { Change::NoUserFrames });
            return adapted;
        }
        reencode_with(meta, raw, |record| adapt(record, None))
    }
}

impl<S: Sink + ?Sized> Stage<S> for ForVersion<'_> {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>, sink: &mut S) -> Result<()> {
        let kind = raw.header().kind;
        if !self.version.knows_record(kind) {
            if kind != RecordType::CALLCHAIN_DEFERRED {
                self.count(Change::Record(kind));
            }
            return Ok(());
        }
        match self.changed(meta, raw)? {
            None => sink.record(meta, raw),
            Some(record) => {
                self.changed.record = record;
                self.changed.pass(sink, meta, raw)
            }
        }
    }
}

/// Removes the fields of a sample that a version does not know.
fn without_unknown(sample: &mut Sample, version: PerfVersion) {
    let known_fields = version.sample_type();
    sample.retain(known_fields);
    if !known_fields.contains(SampleType::WEIGHT_STRUCT)
        && let Some(weight) = &mut sample.weight
    {
        // Read as a single number, the 8 bytes must hold the weight alone.
        *weight = weight.with(Weight::VAR2_W, 0).with(Weight::VAR3_W, 0);
    }
    if let (Some(values), false) = (&mut sample.read, version.read_format().contains(ReadFormat::LOST)) {
        without_lost(values);
    }
    if let Some(stack) = &mut sample.branch_stack {
        let known_branches = version.branch_sample_type();
        if !known_branches.contains(BranchSampleType::HW_INDEX) {
            stack.hw_idx = None;
        }
        if !known_branches.contains(BranchSampleType::COUNTERS) {
            stack.counters.clear();
        }
    }
}

fn without_lost(values: &mut ReadValues) {
    match values {
        ReadValues::Single { lost, .. } => *lost = None,
        ReadValues::Group { values, .. } => values.iter_mut().for_each(|value| value.lost = None),
    }
}

/// Converts a range of CPUs to a list.
fn cpus(meta: &Meta, raw: &Raw<'_>) -> Result<Option<Vec<u8>>> {
    let Some(mut record) = Record::read(raw.bytes(), &meta.context(raw)) else { return Ok(None) };
    let data = match &mut record.body {
        Body::CpuMap(map) => &mut map.data,
        Body::EventUpdate(update) => match &mut update.value {
            Some(EventUpdateValue::Cpus(data)) => data,
            _ => return Ok(None),
        },
        _ => return Ok(None),
    };
    let CpuMapData { kind, cpus: Some(CpuSet::Range { any_cpu, start_cpu, end_cpu, .. }) } = data else {
        return Ok(None);
    };
    *kind = CpuMapType::CPUS;
    let any = (*any_cpu != 0).then_some(u16::MAX);
    data.cpus = Some(CpuSet::Cpus { cpu: any.into_iter().chain(*start_cpu..=*end_cpu).collect() });
    record.tail.clear();
    let len = encoded(record.to_bytes(raw.endian()))?.len();
    record.tail.resize(len.next_multiple_of(8) - len, 0);
    encoded(record.to_bytes(raw.endian())).map(Some)
}

/// Pads a record to a multiple of 8 bytes; `None` if its size already is one.
fn aligned(raw: &Raw<'_>) -> Option<Vec<u8>> {
    let len = raw.bytes().len();
    let padded = len.next_multiple_of(8);
    let header = RecordHeader::peek(raw.bytes(), raw.endian())?.with_len(padded).filter(|_| padded > len)?;
    let mut record = header.to_bytes(raw.endian()).to_vec();
    record.extend_from_slice(raw.body());
    record.resize(padded, 0);
    Some(record)
}
