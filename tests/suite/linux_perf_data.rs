//! Decoded fields compared with another reader, linux-perf-data. Known errors of that reader are listed.

use crate::common::files::{Recording, corpus, fixtures, has_corpus};
use crate::common::program::for_each;
use linux_perf_data::linux_perf_event_reader::{EventRecord, Mmap2FileId, Mmap2InodeAndVersion, RawDataU64};
use linux_perf_data::{PerfFileReader, PerfFileRecord};
use perf_data::abi::record::mmap2::MappedFile;
use perf_data::abi::record::{Body, Record, RecordType};
use perf_data::abi::sample_type::{BranchSampleType, SampleType};
use perf_data::container::read::input::Input;
use perf_data::container::read::{Container, ReadOptions};
use perf_data::stream::Sink;
use perf_data::stream::event_name::event_name;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use perf_data::stream::source::Source;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, Write};
use std::panic::catch_unwind;
use std::path::Path;

/// One in `SHARE` recordings of the corpus is compared, unless `PERFCONV_TEST_ALL` is set.
const SHARE: usize = 4;

/// The fields of a record that both readers decode.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Decoded {
    Sample {
        ip: Option<u64>,
        task: Option<(u32, u32)>,
        time: Option<u64>,
        cpu: Option<u32>,
        period: Option<u64>,
        /// Address, physical address, page sizes of data and code.
        addresses: [Option<u64>; 4],
        /// ID and stream ID.
        ids: [Option<u64>; 2],
        raw: Option<Vec<u8>>,
        callchain: Option<Vec<u64>>,
        intr_regs: Option<Vec<u64>>,
        user_regs: Option<Vec<u64>>,
        stack: Option<(Vec<u8>, u64)>,
    },
    Comm(u32, u32, Vec<u8>),
    Task(bool, [u32; 4], u64),
    Mmap([u32; 2], [u64; 3], Vec<u8>),
    Mmap2([u32; 2], [u64; 3], FileId, [u32; 2], Vec<u8>),
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum FileId {
    Inode(u32, u32, u64, u64),
    BuildId(Vec<u8>),
}

/// Records as perfconv decodes them.
#[derive(Default)]
struct Ours {
    decoded: Vec<Decoded>,
    /// Properties of the recording that the other reader is known to misread.
    known: BTreeMap<&'static str, u64>,
    /// Whether the recording has compressed records.
    has_frames: bool,
}

impl Sink for Ours {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> perfconv::Result<()> {
        self.has_frames |= matches!(raw.header().kind, RecordType::COMPRESSED | RecordType::COMPRESSED2);
        let Some(record) = Record::read(raw.bytes(), &meta.context(raw)) else { return Ok(()) };
        let decoded = match record.body {
            Body::Sample(sample) => {
                if let Some((_, event)) = meta.events.find(raw) {
                    let attr = &event.attr;
                    let mut note = |is_present, what| {
                        if is_present {
                            *self.known.entry(what).or_default() += 1;
                        }
                    };
                    note(attr.sample_type.contains(SampleType::READ), "READ: groups and single values are swapped");
                    note(attr.sample_type.contains(SampleType::WEIGHT_STRUCT), "WEIGHT_STRUCT is unknown");
                    note(attr.branch_sample_type.contains(BranchSampleType::COUNTERS), "branch counters are unknown");
                }
                Decoded::Sample {
                    ip: sample.ip,
                    task: sample.task,
                    time: sample.time,
                    cpu: sample.cpu.map(|(cpu, _)| cpu),
                    period: sample.period,
                    addresses: [sample.addr, sample.phys_addr, sample.data_page_size, sample.code_page_size],
                    ids: [sample.identifier.or(sample.id), sample.stream_id],
                    raw: sample.raw.map(|raw| raw.data),
                    intr_regs: sample.regs_intr.map(|regs| regs.regs).filter(|regs| !regs.is_empty()),
                    callchain: sample.callchain.map(|chain| chain.ips),
                    user_regs: sample.regs_user.map(|regs| regs.regs).filter(|regs| !regs.is_empty()),
                    stack: sample.stack_user.map(|stack| (stack.data, stack.dyn_size)),
                }
            }
            Body::Comm(comm) => Decoded::Comm(comm.pid, comm.tid, comm.comm.text().to_vec()),
            Body::Fork(task) => Decoded::Task(true, [task.pid, task.ppid, task.tid, task.ptid], task.time),
            Body::Exit(task) => Decoded::Task(false, [task.pid, task.ppid, task.tid, task.ptid], task.time),
            Body::Mmap(map) => {
                Decoded::Mmap([map.pid, map.tid], [map.addr, map.len, map.pgoff], map.filename.text().to_vec())
            }
            Body::Mmap2(map) => {
                if !map.filename.as_bytes().contains(&0) {
                    *self.known.entry("a name without NUL extends into the trailer").or_default() += 1;
                }
                let file = match map.file {
                    MappedFile::Inode { maj, min, ino, ino_generation } => FileId::Inode(maj, min, ino, ino_generation),
                    ref file => FileId::BuildId(file.build_id().unwrap_or_default().to_vec()),
                };
                let range = [map.addr, map.len, map.pgoff];
                Decoded::Mmap2([map.pid, map.tid], range, file, [map.prot, map.flags], map.filename.text().to_vec())
            }
            _ => return Ok(()),
        };
        self.decoded.push(decoded);
        Ok(())
    }
}

fn words(words: &RawDataU64<'_>) -> Vec<u64> {
    (0..words.len()).map(|index| words.get(index).expect("an index below the length")).collect()
}

/// Decodes a recording with the other reader.
fn theirs(path: &Path) -> Result<Vec<Decoded>, String> {
    let read = || -> Result<Vec<Decoded>, Box<dyn std::error::Error>> {
        let PerfFileReader { mut perf_file, mut record_iter } =
            PerfFileReader::parse_file(BufReader::new(File::open(path)?))?;
        let mut decoded = Vec::new();
        while let Some(record) = record_iter.next_record(&mut perf_file)? {
            let PerfFileRecord::EventRecord { record, .. } = record else { continue };
            decoded.extend(match record.parse()? {
                EventRecord::Sample(sample) => Some(Decoded::Sample {
                    ip: sample.ip,
                    task: sample.pid.zip(sample.tid).map(|(pid, tid)| (pid as u32, tid as u32)),
                    time: sample.timestamp,
                    cpu: sample.cpu,
                    period: sample.period,
                    addresses: [sample.addr, sample.phys_addr, sample.data_page_size, sample.code_page_size],
                    ids: [sample.id, sample.stream_id],
                    raw: sample.raw.map(|raw| raw.as_slice().into_owned()),
                    intr_regs: sample.intr_regs.map(|regs| (0..64).filter_map(|bit| regs.get(bit)).collect()),
                    callchain: sample.callchain.as_ref().map(words),
                    user_regs: sample.user_regs.map(|regs| (0..64).filter_map(|bit| regs.get(bit)).collect()),
                    stack: sample.user_stack.map(|(stack, size)| (stack.as_slice().into_owned(), size)),
                }),
                EventRecord::Comm(comm) => {
                    Some(Decoded::Comm(comm.pid as u32, comm.tid as u32, comm.name.as_slice().into_owned()))
                }
                EventRecord::Fork(task) => Some(Decoded::Task(
                    true,
                    [task.pid, task.ppid, task.tid, task.ptid].map(|n| n as u32),
                    task.timestamp,
                )),
                EventRecord::Exit(task) => Some(Decoded::Task(
                    false,
                    [task.pid, task.ppid, task.tid, task.ptid].map(|n| n as u32),
                    task.timestamp,
                )),
                EventRecord::Mmap(map) => Some(Decoded::Mmap(
                    [map.pid as u32, map.tid as u32],
                    [map.address, map.length, map.page_offset],
                    map.path.as_slice().into_owned(),
                )),
                EventRecord::Mmap2(map) => {
                    let file = match map.file_id {
                        Mmap2FileId::InodeAndVersion(Mmap2InodeAndVersion {
                            major,
                            minor,
                            inode,
                            inode_generation,
                        }) => FileId::Inode(major, minor, inode, inode_generation),
                        Mmap2FileId::BuildId(id) => FileId::BuildId(id),
                    };
                    Some(Decoded::Mmap2(
                        [map.pid as u32, map.tid as u32],
                        [map.address, map.length, map.page_offset],
                        file,
                        [map.protection, map.flags],
                        map.path.as_slice().into_owned(),
                    ))
                }
                _ => None,
            });
        }
        Ok(decoded)
    };
    match catch_unwind(|| read().map_err(|error| error.to_string())) {
        Ok(read) => read,
        Err(_) => Err("panicked".to_owned()),
    }
}

/// The result of a comparison.
enum Outcome {
    /// The number of equal records, and of samples among them.
    Same(usize, usize),
    /// Different, for known reasons.
    Known(Vec<&'static str>),
    /// Not readable by both.
    Skipped(String),
    Different(String),
}

fn compare(recording: &Recording) -> Outcome {
    let name = &recording.name;
    let mut ours = Ours::default();
    let source = match Source::open(Input::Path(recording.path.clone()), ReadOptions::default()) {
        Ok(source) => source,
        Err(_) => return Outcome::Skipped("rejected by perfconv".to_owned()),
    };
    if source.meta().container != Container::File {
        return Outcome::Skipped("a pipe or a directory".to_owned());
    }
    let Ok((meta, ledger)) = source.run(&mut ours) else {
        return Outcome::Skipped("rejected by perfconv".to_owned());
    };
    if ours.has_frames {
        return Outcome::Skipped("compressed records, whose decompression is not compiled in".to_owned());
    }
    if !ledger.messages().is_empty() {
        return Outcome::Skipped("corrupt".to_owned());
    }
    let mut theirs = match theirs(&recording.path) {
        Ok(theirs) => theirs,
        Err(why) => {
            return Outcome::Skipped(format!(
                "rejected by linux-perf-data: {}",
                why.chars().take(60).collect::<String>()
            ));
        }
    };
    // The other reader returns records in time order.
    ours.decoded.sort();
    theirs.sort();
    if ours.decoded == theirs {
        let samples = theirs.iter().filter(|decoded| matches!(decoded, Decoded::Sample { .. })).count();
        return Outcome::Same(theirs.len(), samples);
    }
    let known: Vec<_> = ours.known.keys().copied().collect();
    if !known.is_empty() {
        return Outcome::Known(known);
    }
    let first = ours.decoded.iter().zip(&theirs).find(|(ours, theirs)| ours != theirs);
    let events: Vec<_> = meta.events.list().iter().map(event_name).collect();
    Outcome::Different(format!("{name} ({events:?}): {} and {} records; {first:?}", ours.decoded.len(), theirs.len()))
}

#[test]
fn decoded_records_match_linux_perf_data() {
    let share = if std::env::var_os("PERFCONV_TEST_ALL").is_some() { 1 } else { SHARE };
    let recordings: Vec<_> = fixtures().into_iter().chain(corpus().into_iter().step_by(share)).collect();
    let outcomes = for_each(&recordings, compare);
    let (mut same, mut records, mut samples, mut failures) = (0, 0, 0, Vec::new());
    let mut others: BTreeMap<String, usize> = BTreeMap::new();
    for outcome in outcomes {
        match outcome {
            Outcome::Same(all, of_them) => (same, records, samples) = (same + 1, records + all, samples + of_them),
            Outcome::Known(why) => {
                *others.entry(format!("linux-perf-data misreads: {}", why.join("; "))).or_default() += 1
            }
            Outcome::Skipped(why) => *others.entry(format!("skipped: {why}")).or_default() += 1,
            Outcome::Different(what) => failures.push(what),
        }
    }
    // Not with the print macros, whose output the test harness captures.
    let mut out = io::stderr().lock();
    let all = recordings.len();
    writeln!(
        out,
        "linux-perf-data decodes {same} of {all} recordings equally: {records} records, {samples} of them samples"
    )
    .unwrap();
    for (why, count) in others {
        writeln!(out, "{count} {why}").unwrap();
    }
    assert!(failures.is_empty(), "{} differ:\n{}", failures.len(), failures.join("\n"));
    let enough = if has_corpus("linux-perf-data") { (60, 10_000) } else { (5, 1000) };
    assert!(same >= enough.0 && samples >= enough.1, "only {same} recordings and {samples} samples are equal");
}
