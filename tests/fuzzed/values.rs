//! Encodes arbitrary values as a recording, a file and a pipe, and decodes the same values.

use arbitrary::{Arbitrary, Result, Unstructured};
use perf_data::abi::Endian;
use perf_data::abi::attr::Attr;
use perf_data::abi::attr_flags::AttrFlags;
use perf_data::abi::read_format::{ReadFormat, ReadValue, ReadValues};
use perf_data::abi::record::aux_area::{Aux, AuxFlags};
use perf_data::abi::record::cgroup::Cgroup;
use perf_data::abi::record::comm::Comm;
use perf_data::abi::record::ksymbol::{Ksymbol, KsymbolFlags, KsymbolType};
use perf_data::abi::record::lost::Lost;
use perf_data::abi::record::mmap::Mmap;
use perf_data::abi::record::mmap2::{MappedFile, Mmap2};
use perf_data::abi::record::namespaces::{Namespace, Namespaces};
use perf_data::abi::record::stat::Stat;
use perf_data::abi::record::task::Task;
use perf_data::abi::record::text_poke::TextPoke;
use perf_data::abi::record::{Body, Misc, Record, RecordContext, RecordHeader, RecordType};
use perf_data::abi::sample::branch::{BranchEntry, BranchFlags, BranchStack};
use perf_data::abi::sample::data_src::DataSrc;
use perf_data::abi::sample::id::SampleId;
use perf_data::abi::sample::regs::{Regs, RegsAbi};
use perf_data::abi::sample::transaction::Transaction;
use perf_data::abi::sample::weight::Weight;
use perf_data::abi::sample::{AuxSample, Callchain, Raw as RawData, Sample, StackUser};
use perf_data::abi::sample_type::{BranchSampleType, SampleType};
use perf_data::abi::text::PaddedStr;
use perf_data::container::read::file::FileAttr;
use perf_data::container::read::{ReadOptions, input::Input};
use perf_data::container::write::file::FileWriter;
use perf_data::container::write::pipe;
use perf_data::stream::Sink;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use perf_data::stream::source::Source;
use std::collections::BTreeMap;
use std::io::{Cursor, Write};

/// Generates values, encodes them and compares them with the decoded ones.
pub fn encode_decode(bytes: &[u8]) {
    let Ok(recording) = recording(&mut Unstructured::new(bytes)) else { return };
    // A record of more than 64 KiB cannot be encoded, and a recording needs at least one record.
    let encoded = |record: &Record| record.to_bytes(recording.endian).ok();
    let Some(encoded) = recording.records.iter().map(encoded).collect::<Option<Vec<_>>>() else { return };
    let records = encoded.concat();
    if records.is_empty() {
        return;
    }
    recording.assert_decodes_from(file(&recording, &records));
    recording.assert_decodes_from(pipe_of(&recording, &records));
}

/// A recording of one event, as values.
struct Recording {
    endian: Endian,
    event: FileAttr,
    records: Vec<Record>,
}

impl Recording {
    fn context(&self) -> RecordContext {
        RecordContext::new(&self.event.attr, self.endian)
    }

    fn assert_decodes_from(&self, bytes: Vec<u8>) {
        let input = Input::Bytes { name: "encoded".to_owned(), bytes: bytes.into() };
        let mut read = Collect { context: self.context(), records: Vec::new() };
        let source = Source::open(input, ReadOptions::default()).expect("the output should be a recording");
        let (meta, ledger) = source.run(&mut read).expect("the output should be readable");
        assert_eq!(ledger.messages(), [], "the recording should be intact");
        let events: Vec<_> = meta.events.list().iter().map(|event| (&event.attr, &event.ids)).collect();
        assert_eq!(events, [(&self.event.attr, &self.event.ids)]);
        assert_eq!(read.records.len(), self.records.len());
        for (read, original) in read.records.iter().zip(&self.records) {
            // The size was unknown before encoding.
            let header = RecordHeader { size: read.header.size, ..original.header };
            let original = Record { header, ..original.clone() };
            if matches!((&read.body, &original.body), (Body::Opaque(_), Body::Sample(_))) {
                // With bits of a layout that is unknown, a sample is kept as bytes.
                assert_eq!(read.to_bytes(self.endian).ok(), original.to_bytes(self.endian).ok());
                continue;
            }
            assert_eq!(*read, original);
        }
    }
}

/// Collects all records but the pipe's attrs.
struct Collect {
    context: RecordContext,
    records: Vec<Record>,
}

impl Sink for Collect {
    fn record(&mut self, _: &Meta, raw: &Raw<'_>) -> perfconv::Result<()> {
        if raw.header().kind != RecordType::HEADER_ATTR {
            self.records.extend(Record::read(raw.bytes(), &self.context));
        }
        Ok(())
    }
}

fn file(recording: &Recording, records: &[u8]) -> Vec<u8> {
    let events = std::slice::from_ref(&recording.event);
    let mut file = FileWriter::begin(Cursor::new(Vec::new()), recording.endian, events, &[])
        .expect("writing to memory should succeed");
    file.write_all(records).expect("writing to memory should succeed");
    file.finish(events, &[], &BTreeMap::new()).expect("writing to memory should succeed").into_inner()
}

fn pipe_of(recording: &Recording, records: &[u8]) -> Vec<u8> {
    let header = pipe::header(recording.endian).expect("writing to memory should succeed");
    let event = pipe::event(&recording.event, recording.endian).expect("writing to memory should succeed");
    [&header, &event.expect("an event with few ids"), records].concat()
}

fn recording(from: &mut Unstructured<'_>) -> Result<Recording> {
    let endian = if bool::arbitrary(from)? { Endian::Big } else { Endian::Little };
    let event = FileAttr { attr: attr(from)?, ids: few(from, u64::arbitrary)? };
    let context = RecordContext::new(&event.attr, endian);
    let records = few(from, |from| record(from, &context))?;
    Ok(Recording { endian, event, records })
}

/// Generates up to 8 values.
pub fn few<'a, T>(from: &mut Unstructured<'a>, one: impl Fn(&mut Unstructured<'a>) -> Result<T>) -> Result<Vec<T>> {
    (0..from.int_in_range(0..=8)?).map(|_| one(from)).collect()
}

/// Generates an attr of any version of the format.
pub fn attr(from: &mut Unstructured<'_>) -> Result<Attr> {
    let size = *from.choose(&[64, 72, 80, 96, 104, 112, 120, 128, 136, 144])?;
    let mut attr = Attr::read(&[0; 144][..size], Endian::Little).expect("every size should belong to a version");
    attr.size = size as u32;
    attr.config = from.arbitrary()?;
    attr.sample_type = SampleType::from_bits_retain(u64::arbitrary(from)?) & SampleType::KNOWN;
    attr.read_format = ReadFormat::from_bits_retain(from.int_in_range(0..=31)?);
    attr.flags = AttrFlags::from_bits_retain(from.arbitrary()?);
    attr.bp_addr = from.arbitrary()?;
    // Set only fields that exist in the version.
    if size >= 80 {
        attr.branch_sample_type = BranchSampleType::from_bits_retain(from.int_in_range(0..=(1 << 20) - 1)?);
    }
    if size >= 96 {
        attr.sample_regs_user = from.int_in_range(0..=255)?;
        attr.clockid = from.arbitrary()?;
    }
    if size >= 104 {
        attr.sample_regs_intr = from.int_in_range(0..=255)?;
    }
    Ok(attr)
}

/// Generates a record of an event, whose size is set when it is encoded.
pub fn record(from: &mut Unstructured<'_>, context: &RecordContext) -> Result<Record> {
    let mut misc = Misc::from_bits_retain(from.arbitrary()?);
    let (kind, body) = match from.int_in_range(0..=13)? {
        0 => (RecordType::MMAP, Body::Mmap(mmap(from)?)),
        1 => {
            let mmap2 = mmap2(from)?;
            misc.set(Misc::MMAP_BUILD_ID, matches!(mmap2.file, MappedFile::BuildId { .. }));
            (RecordType::MMAP2, Body::Mmap2(mmap2))
        }
        2 => {
            let comm = Comm { pid: from.arbitrary()?, tid: from.arbitrary()?, comm: text(from)? };
            (RecordType::COMM, Body::Comm(comm))
        }
        3 => (RecordType::FORK, Body::Fork(task(from)?)),
        4 => (RecordType::EXIT, Body::Exit(task(from)?)),
        5 => (RecordType::LOST, Body::Lost(Lost { id: from.arbitrary()?, lost: from.arbitrary()? })),
        6 => {
            let (aux_offset, aux_size) = from.arbitrary()?;
            let flags = AuxFlags::from_bits_retain(from.arbitrary()?);
            (RecordType::AUX, Body::Aux(Aux { aux_offset, aux_size, flags }))
        }
        7 => {
            let (pid, tid) = from.arbitrary()?;
            let one = |from: &mut Unstructured<'_>| Ok(Namespace { dev: from.arbitrary()?, ino: from.arbitrary()? });
            (RecordType::NAMESPACES, Body::Namespaces(Namespaces { pid, tid, link_info: few(from, one)? }))
        }
        8 => {
            let (kind, flags) = (KsymbolType(from.arbitrary()?), KsymbolFlags::from_bits_retain(from.arbitrary()?));
            let (addr, len) = from.arbitrary()?;
            (RecordType::KSYMBOL, Body::Ksymbol(Ksymbol { addr, len, kind, flags, name: text(from)? }))
        }
        9 => (RecordType::CGROUP, Body::Cgroup(Cgroup { id: from.arbitrary()?, path: text(from)? })),
        10 => {
            let (addr, old, new) = from.arbitrary()?;
            (RecordType::TEXT_POKE, Body::TextPoke(TextPoke { addr, old, new }))
        }
        11 => {
            let (id, cpu, thread, val, ena, run) = from.arbitrary()?;
            (RecordType::STAT, Body::Stat(Stat { id, cpu, thread, val, ena, run }))
        }
        _ => (RecordType::SAMPLE, Body::Sample(Box::new(sample(from, context)?))),
    };
    let id = if context.sample_id_all && kind.has_sample_id() {
        let bytes = from.arbitrary::<[u8; 48]>()?;
        SampleId::read(&bytes, context.layout.sample_type(), context.endian)
    } else {
        None
    };
    Ok(Record { header: RecordHeader { kind, misc, size: 0 }, body, tail: Vec::new(), id })
}

fn text(from: &mut Unstructured<'_>) -> Result<PaddedStr> {
    Ok(PaddedStr::new(&Vec::arbitrary(from)?, 8))
}

fn mmap(from: &mut Unstructured<'_>) -> Result<Mmap> {
    let (pid, tid, addr, len, pgoff) = from.arbitrary()?;
    Ok(Mmap { pid, tid, addr, len, pgoff, filename: text(from)? })
}

fn mmap2(from: &mut Unstructured<'_>) -> Result<Mmap2> {
    let (pid, tid, addr, len, pgoff, prot, flags) = from.arbitrary()?;
    let file = if from.arbitrary()? {
        let (size, reserved_1, reserved_2, build_id) = from.arbitrary()?;
        MappedFile::BuildId { size, reserved_1, reserved_2, build_id }
    } else {
        let (maj, min, ino, ino_generation) = from.arbitrary()?;
        MappedFile::Inode { maj, min, ino, ino_generation }
    };
    Ok(Mmap2 { pid, tid, addr, len, pgoff, file, prot, flags, filename: text(from)? })
}

fn task(from: &mut Unstructured<'_>) -> Result<Task> {
    let (pid, ppid, tid, ptid, time) = from.arbitrary()?;
    Ok(Task { pid, ppid, tid, ptid, time })
}

fn sample(from: &mut Unstructured<'_>, context: &RecordContext) -> Result<Sample> {
    let layout = &context.layout;
    let mut sample = Sample::default();
    sample.set_fields(layout.sample_type());
    fill(&mut sample.identifier, from, u64::arbitrary)?;
    fill(&mut sample.ip, from, u64::arbitrary)?;
    fill(&mut sample.task, from, Arbitrary::arbitrary)?;
    fill(&mut sample.time, from, u64::arbitrary)?;
    fill(&mut sample.addr, from, u64::arbitrary)?;
    fill(&mut sample.id, from, u64::arbitrary)?;
    fill(&mut sample.stream_id, from, u64::arbitrary)?;
    fill(&mut sample.cpu, from, Arbitrary::arbitrary)?;
    fill(&mut sample.period, from, u64::arbitrary)?;
    fill(&mut sample.read, from, |from| read_values(from, layout.read_format()))?;
    fill(&mut sample.callchain, from, |from| Ok(Callchain { ips: few(from, u64::arbitrary)? }))?;
    fill(&mut sample.raw, from, |from| Ok(RawData { data: from.arbitrary()? }))?;
    fill(&mut sample.branch_stack, from, |from| branches(from, layout.branch_sample_type()))?;
    fill(&mut sample.regs_user, from, |from| regs(from, layout.regs_user()))?;
    fill(&mut sample.stack_user, from, |from| {
        let data = Vec::arbitrary(from)?;
        let dyn_size = if data.is_empty() { 0 } else { from.arbitrary()? };
        Ok(StackUser { data, dyn_size })
    })?;
    fill(&mut sample.weight, from, |from| from.arbitrary().map(Weight))?;
    fill(&mut sample.data_src, from, |from| from.arbitrary().map(DataSrc))?;
    fill(&mut sample.transaction, from, |from| from.arbitrary().map(Transaction::from_bits_retain))?;
    fill(&mut sample.regs_intr, from, |from| regs(from, layout.regs_intr()))?;
    fill(&mut sample.phys_addr, from, u64::arbitrary)?;
    fill(&mut sample.cgroup, from, u64::arbitrary)?;
    fill(&mut sample.data_page_size, from, u64::arbitrary)?;
    fill(&mut sample.code_page_size, from, u64::arbitrary)?;
    fill(&mut sample.aux, from, |from| Ok(AuxSample { data: from.arbitrary()? }))?;
    Ok(sample)
}

/// Replaces the value of a field, if it is present.
fn fill<'a, T>(
    field: &mut Option<T>,
    from: &mut Unstructured<'a>,
    make: impl FnOnce(&mut Unstructured<'a>) -> Result<T>,
) -> Result<()> {
    if let Some(value) = field {
        *value = make(from)?;
    }
    Ok(())
}

fn when<'a, T>(
    is_present: bool,
    from: &mut Unstructured<'a>,
    make: impl FnOnce(&mut Unstructured<'a>) -> Result<T>,
) -> Result<Option<T>> {
    is_present.then(|| make(from)).transpose()
}

fn read_values(from: &mut Unstructured<'_>, format: ReadFormat) -> Result<ReadValues> {
    let has = |field| format.contains(field);
    let time_enabled = when(has(ReadFormat::TOTAL_TIME_ENABLED), from, u64::arbitrary)?;
    let time_running = when(has(ReadFormat::TOTAL_TIME_RUNNING), from, u64::arbitrary)?;
    let value = |from: &mut Unstructured<'_>| {
        Ok(ReadValue {
            value: from.arbitrary()?,
            id: when(has(ReadFormat::ID), from, u64::arbitrary)?,
            lost: when(has(ReadFormat::LOST), from, u64::arbitrary)?,
        })
    };
    if has(ReadFormat::GROUP) {
        return Ok(ReadValues::Group { time_enabled, time_running, values: few(from, value)? });
    }
    let ReadValue { value, id, lost } = value(from)?;
    Ok(ReadValues::Single { value, time_enabled, time_running, id, lost })
}

fn branches(from: &mut Unstructured<'_>, what: BranchSampleType) -> Result<BranchStack> {
    let hw_idx = when(what.contains(BranchSampleType::HW_INDEX), from, u64::arbitrary)?;
    let one = |from: &mut Unstructured<'_>| {
        let (from, to, flags) = from.arbitrary()?;
        Ok(BranchEntry { from, to, flags: BranchFlags(flags) })
    };
    let entries = few(from, one)?;
    let counted = if what.contains(BranchSampleType::COUNTERS) { entries.len() } else { 0 };
    let counters = (0..counted).map(|_| from.arbitrary()).collect::<Result<_>>()?;
    Ok(BranchStack { hw_idx, entries, counters })
}

fn regs(from: &mut Unstructured<'_>, mask: u64) -> Result<Regs> {
    let abi = RegsAbi(from.arbitrary()?);
    let regs = (0..abi.count(mask)).map(|_| from.arbitrary()).collect::<Result<_>>()?;
    Ok(Regs { abi, regs })
}
