//! Recordings of few programs and addresses, so that rewrite passes find what they look for.

use super::metadata::{self, Metadata};
use super::values::{attr, record};
use arbitrary::{Result, Unstructured};
use perf_data::abi::attr_flags::AttrFlags;
use perf_data::abi::feature::FeatureId;
use perf_data::abi::record::mmap2::MappedFile;
use perf_data::abi::record::{Body, Misc, RecordContext, RecordHeader, RecordType};
use perf_data::abi::sample::id::SampleId;
use perf_data::abi::sample_type::SampleType;
use perf_data::abi::text::PaddedStr;
use perf_data::abi::{self, Endian};
use perf_data::container::read::file::FileAttr;
use perf_data::container::write::file::FileWriter;
use perf_data::container::write::frames::{FrameKind, FrameOptions, FrameWriter};
use perf_data::container::write::pipe;
use std::collections::BTreeMap;
use std::io::{Cursor, Write};

/// Names of threads and files.
pub const NAMES: [&str; 8] =
    ["/bin/cat", "/lib/libc.so.6", "[kernel.kallsyms]_text", "//anon", "[vdso]", "worker", "/tmp/jit-1.dump", "x"];

/// Fields of every event's samples, so that samples relate to other records.
const ALWAYS: SampleType =
    SampleType::IDENTIFIER.union(SampleType::IP).union(SampleType::TID).union(SampleType::TIME).union(SampleType::CPU);

/// Generates an intact recording: a file or a pipe, of either byte order, compressed or not.
pub fn recording(from: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let endian = *from.choose(&[Endian::Little, Endian::Little, Endian::Big])?;
    let mut attr = attr(from)?;
    attr.sample_type |= ALWAYS;
    attr.flags |= AttrFlags::SAMPLE_ID_ALL;
    let count = from.int_in_range(1..=3)?;
    let has_features = from.ratio(1, 3)?;
    if has_features {
        attr.sample_type |= SampleType::RAW;
    }
    let event = |number| FileAttr { attr: attr.clone(), ids: vec![10 * number, 10 * number + 1] };
    let mut events: Vec<FileAttr> = (1..=count).map(event).collect();
    let features = if has_features { metadata::features(&mut events, endian) } else { BTreeMap::new() };
    let mut builder = Builder { context: RecordContext::new(&attr, endian), events: count, time: 1_000_000_000 };
    let mut records = Vec::new();
    for _ in 0..from.int_in_range(1..=40)? {
        if let Some(record) = builder.record(from)? {
            records.push(record);
        }
    }
    let records = if from.ratio(1, 4)? { frames(&records, endian) } else { records.concat() };
    Ok(if from.arbitrary()? {
        pipe_of(&events, &features, &records, endian)
    } else {
        file(&events, &features, &records, endian)
    })
}

fn file(events: &[FileAttr], features: &Metadata, records: &[u8], endian: Endian) -> Vec<u8> {
    let mut file =
        FileWriter::begin(Cursor::new(Vec::new()), endian, events, &[]).expect("writing to memory should succeed");
    file.write_all(records).expect("writing to memory should succeed");
    file.finish(events, &[], features).expect("writing to memory should succeed").into_inner()
}

fn pipe_of(events: &[FileAttr], features: &Metadata, records: &[u8], endian: Endian) -> Vec<u8> {
    let mut bytes = pipe::header(endian).expect("writing to memory should succeed");
    for event in events {
        bytes.extend(
            pipe::event(event, endian).expect("writing to memory should succeed").expect("an event with few ids"),
        );
    }
    for (&id, section) in features {
        if id == FeatureId::TRACING_DATA {
            bytes.extend(pipe::tracing_data(section, endian).expect("writing to memory should succeed"));
        } else {
            bytes.extend(
                pipe::feature(id, section, endian).expect("writing to memory should succeed").expect("a short feature"),
            );
        }
    }
    bytes.extend(records);
    bytes
}

fn frames(records: &[Vec<u8>], endian: Endian) -> Vec<u8> {
    let mut out = Vec::new();
    let mut frames = FrameWriter::new(FrameOptions { kind: FrameKind::Compressed2, level: 1 }, endian)
        .expect("a level that zstd has");
    for record in records {
        frames.record(record, &mut out).expect("writing to memory should succeed");
    }
    frames.flush(&mut out).expect("writing to memory should succeed");
    out
}

/// Builds records in time order.
struct Builder {
    context: RecordContext,
    events: u64,
    time: u64,
}

impl Builder {
    /// Builds the next record; `None` if it would be too large.
    fn record(&mut self, from: &mut Unstructured<'_>) -> Result<Option<Vec<u8>>> {
        self.time += from.int_in_range(0..=200)? * 1_000_000;
        if from.ratio(1, 16)? {
            let header = RecordHeader { kind: RecordType::FINISHED_ROUND, misc: Misc::empty(), size: 8 };
            return Ok(Some(abi::to_bytes(&header, self.context.endian).expect("the header should encode")));
        }
        let mut record = record(from, &self.context)?;
        let (task, cpu) = ((from.int_in_range(0..=3)?, from.int_in_range(0..=3)?), (from.int_in_range(0..=3)?, 0));
        let id = 10 * from.int_in_range(1..=self.events)? + from.int_in_range(0..=1)?;
        let name = PaddedStr::new(from.choose(&NAMES)?.as_bytes(), 8);
        let address = from.int_in_range(0..=31)? << 12;
        match &mut record.body {
            Body::Mmap(mmap) => {
                (mmap.pid, mmap.tid) = task;
                (mmap.addr, mmap.len, mmap.pgoff, mmap.filename) = (address, 0x3000, 0, name);
            }
            Body::Mmap2(mmap) => {
                (mmap.pid, mmap.tid) = task;
                (mmap.addr, mmap.len, mmap.pgoff, mmap.filename) = (address, 0x3000, 0x1000, name);
                if let MappedFile::Inode { ino, .. } = &mut mmap.file {
                    *ino = 1;
                }
            }
            Body::Comm(comm) => (comm.pid, comm.tid, comm.comm) = (task.0, task.1, name),
            Body::Fork(fork) | Body::Exit(fork) => {
                (fork.pid, fork.tid) = task;
                (fork.ppid, fork.ptid, fork.time) = (1, 1, self.time);
            }
            Body::Sample(sample) => {
                (sample.identifier, sample.task, sample.time) = (Some(id), Some(task), Some(self.time));
                (sample.ip, sample.cpu) = (Some(address + 0x10), Some(cpu));
                sample.id = sample.id.map(|_| id);
                for ip in sample.callchain.iter_mut().flat_map(|chain| &mut chain.ips) {
                    *ip = if *ip % 4 == 0 { *ip } else { *ip & 0x1f_ffff };
                }
            }
            _ => {}
        }
        if let Some(trailer) = &mut record.id {
            let SampleId { task: trailer_task, time, id: trailer_id, cpu: trailer_cpu, identifier, .. } = trailer;
            (*trailer_task, *time, *trailer_cpu) = (Some(task), Some(self.time), Some(cpu));
            *trailer_id = trailer_id.map(|_| id);
            *identifier = Some(id);
        }
        Ok(record.to_bytes(self.context.endian).ok())
    }
}
