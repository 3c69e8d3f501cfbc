//! Recordings of few programs and few addresses, so that what passes look for is found.

use super::about::{self, About};
use super::structured::{attr, record};
use arbitrary::{Result, Unstructured};
use perfconv::abi::attr_flags::AttrFlags;
use perfconv::abi::feature::FeatureId;
use perfconv::abi::record::mmap2::MappedFile;
use perfconv::abi::record::{Body, Misc, RecordContext, RecordHeader, RecordType};
use perfconv::abi::sample_id::SampleId;
use perfconv::abi::sample_type::SampleType;
use perfconv::abi::text::PaddedStr;
use perfconv::abi::{self, Endian};
use perfconv::container::read::file::FileAttr;
use perfconv::container::write::file::FileWriter;
use perfconv::container::write::frames::{FrameKind, FrameOptions, FrameWriter};
use perfconv::container::write::pipe;
use std::collections::BTreeMap;
use std::io::{Cursor, Write};

/// Names of threads and files.
pub const NAMES: [&str; 8] =
    ["/bin/cat", "/lib/libc.so.6", "[kernel.kallsyms]_text", "//anon", "[vdso]", "worker", "/tmp/jit-1.dump", "x"];

/// What every event tells of its samples, so that they have a place among the others.
const ALWAYS: SampleType =
    SampleType::IDENTIFIER.union(SampleType::IP).union(SampleType::TID).union(SampleType::TIME).union(SampleType::CPU);

/// The bytes of a recording: a file or a pipe, of either byte order, compressed or not, without any damage.
pub fn recording(from: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let endian = *from.choose(&[Endian::Little, Endian::Little, Endian::Big])?;
    let mut attr = attr(from)?;
    attr.sample_type |= ALWAYS;
    attr.flags |= AttrFlags::SAMPLE_ID_ALL;
    let count = from.int_in_range(1..=3)?;
    let is_told = from.ratio(1, 3)?;
    if is_told {
        attr.sample_type |= SampleType::RAW;
    }
    let event = |number| FileAttr { attr: attr.clone(), ids: vec![10 * number, 10 * number + 1] };
    let mut events: Vec<FileAttr> = (1..=count).map(event).collect();
    let about = if is_told { about::features(&mut events, endian) } else { BTreeMap::new() };
    let mut maker = Maker { context: RecordContext::new(&attr, endian), events: count, time: 1_000_000_000 };
    let mut records = Vec::new();
    for _ in 0..from.int_in_range(1..=40)? {
        if let Some(record) = maker.record(from)? {
            records.push(record);
        }
    }
    let records = if from.ratio(1, 4)? { frames(&records, endian) } else { records.concat() };
    Ok(if from.arbitrary()? {
        pipe_of(&events, &about, &records, endian)
    } else {
        file(&events, &about, &records, endian)
    })
}

fn file(events: &[FileAttr], about: &About, records: &[u8], endian: Endian) -> Vec<u8> {
    let mut file = FileWriter::begin(Cursor::new(Vec::new()), endian, events, &[]).expect("it goes to memory");
    file.write_all(records).expect("it goes to memory");
    file.finish(events, &[], about).expect("it goes to memory").into_inner()
}

fn pipe_of(events: &[FileAttr], about: &About, records: &[u8], endian: Endian) -> Vec<u8> {
    let mut bytes = pipe::header(endian).expect("it goes to memory");
    for event in events {
        bytes.extend(pipe::event(event, endian).expect("it goes to memory").expect("it has few ids"));
    }
    for (&id, section) in about {
        if id == FeatureId::TRACING_DATA {
            bytes.extend(pipe::tracing_data(section, endian).expect("it goes to memory"));
        } else {
            bytes.extend(pipe::feature(id, section, endian).expect("it goes to memory").expect("it is short"));
        }
    }
    bytes.extend(records);
    bytes
}

fn frames(records: &[Vec<u8>], endian: Endian) -> Vec<u8> {
    let mut out = Vec::new();
    let mut frames = FrameWriter::new(FrameOptions { kind: FrameKind::Compressed2, level: 1 }, endian)
        .expect("zstd has such a level");
    for record in records {
        frames.record(record, &mut out).expect("it goes to memory");
    }
    frames.flush(&mut out).expect("it goes to memory");
    out
}

/// Makes records one after the other.
struct Maker {
    context: RecordContext,
    events: u64,
    time: u64,
}

impl Maker {
    /// The bytes of the next record; `None` where it would be too large.
    fn record(&mut self, from: &mut Unstructured<'_>) -> Result<Option<Vec<u8>>> {
        self.time += from.int_in_range(0..=200)? * 1_000_000;
        if from.ratio(1, 16)? {
            let header = RecordHeader { kind: RecordType::FINISHED_ROUND, misc: Misc::empty(), size: 8 };
            return Ok(Some(abi::to_bytes(&header, self.context.endian).expect("a header can be written")));
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
            let SampleId { task: its_task, time, id: its_id, cpu: its_cpu, identifier, .. } = trailer;
            (*its_task, *time, *its_cpu) = (Some(task), Some(self.time), Some(cpu));
            *its_id = its_id.map(|_| id);
            *identifier = Some(id);
        }
        Ok(record.to_bytes(self.context.endian).ok())
    }
}
