//! Encodes the record that a message describes.

use super::proto::perf_data_proto as proto;
use super::sample;
use perf_data::abi::attr_flags::AttrFlags;
use perf_data::abi::hex::from_hex;
use perf_data::abi::record::aux_area::{Aux, AuxFlags, ItraceStart};
use perf_data::abi::record::auxtrace::Auxtrace;
use perf_data::abi::record::auxtrace_error::{AuxtraceError, AuxtraceErrorType};
use perf_data::abi::record::auxtrace_info::{AuxtraceInfo, AuxtraceType};
use perf_data::abi::record::bpf_metadata::{BpfMetadata, BpfMetadataEntry};
use perf_data::abi::record::cgroup::Cgroup;
use perf_data::abi::record::comm::Comm;
use perf_data::abi::record::finished::FinishedRound;
use perf_data::abi::record::id_index::{IdIndex, IdIndexEntry};
use perf_data::abi::record::ksymbol::{Ksymbol, KsymbolFlags, KsymbolType};
use perf_data::abi::record::lost::{Lost, LostSamples};
use perf_data::abi::record::mmap::Mmap;
use perf_data::abi::record::mmap2::{MappedFile, Mmap2};
use perf_data::abi::record::namespaces::{Namespace, Namespaces};
use perf_data::abi::record::stat::{Stat, StatConfig, StatConfigTag, StatConfigTerm, StatRound, StatRoundType};
use perf_data::abi::record::switch::{Switch, SwitchCpuWide};
use perf_data::abi::record::task::Task;
use perf_data::abi::record::thread_map::{ThreadMap, ThreadMapEntry};
use perf_data::abi::record::throttle::Throttle;
use perf_data::abi::record::time_conv::{TimeConv, TimeConvShort};
use perf_data::abi::record::{Body, Misc, RecordHeader, RecordType};
use perf_data::abi::sample::id::SampleId;
use perf_data::abi::sample_type::SampleType;
use perf_data::abi::text::{FixedStr, PaddedStr};
use perf_data::abi::{self, Endian};
use perf_data::stream::events::{Event, Events};
use proto::{MMapEvent, PerfEvent, SampleInfo};
use std::io::Cursor;

/// Maximum zero padding after a string: enough for the longest path (`PATH_MAX`).
const PADDING: usize = 4096;

/// Encodes the body of the record that a message describes, without header, payload and splice. `None` if the
/// message lacks the fields of its type.
/// The result depends only on the message and the events, so that the splice computed while writing still applies
/// while reading.
pub(super) fn body(event: &PerfEvent, events: &Events, endian: Endian, out: &mut Vec<u8>) -> Option<()> {
    out.clear();
    let header = event.header.as_ref()?;
    let kind = RecordType(header.r#type());
    let misc = Misc::from_bits_retain(header.misc() as u16);
    if kind == RecordType::SAMPLE {
        let fields = event.sample_event.as_ref()?;
        let layout = find_event(events, fields.id).map(|event| sample::modelled(&event.layout)).unwrap_or_default();
        sample::encode(fields, &layout, endian, out);
        return Some(());
    }
    let info = info(event);
    let owner = find_event(events, info.and_then(|info| info.id));
    let trailer = trailer(kind, info, owner, endian);
    // Strings are padded to the size in the header.
    let size = (header.size() as usize).saturating_sub(RecordHeader::SIZE + trailer.len());
    let (body, text) = fields(kind, misc, event)?;
    let mut cursor = Cursor::new(std::mem::take(out));
    body.write(&mut cursor, endian).ok()?;
    *out = cursor.into_inner();
    if text {
        let len = out.len();
        out.resize(if (len..=len + PADDING).contains(&size) { size } else { len.next_multiple_of(8) }, 0);
    }
    out.extend(trailer);
    Some(())
}

/// The event of a record, by the ID in its message. Without an ID, it is the first event.
pub(super) fn find_event(events: &Events, id: Option<u64>) -> Option<&Event> {
    let list = events.list();
    let index = id.filter(|&id| id != 0 && list.len() > 1).and_then(|id| events.by_id(id)).unwrap_or(0);
    list.get(index as usize)
}

/// Encodes the sample_id trailer of a record.
fn trailer(kind: RecordType, info: Option<&SampleInfo>, event: Option<&Event>, endian: Endian) -> Vec<u8> {
    let has_one = kind.has_sample_id() || kind == RecordType::BPF_METADATA;
    let Some(attr) = event.map(|event| &event.attr).filter(|attr| attr.flags.contains(AttrFlags::SAMPLE_ID_ALL)) else {
        return Vec::new();
    };
    let Some(info) = info.filter(|_| has_one) else { return Vec::new() };
    let has = |field| attr.sample_type.contains(field);
    let id = SampleId {
        task: has(SampleType::TID).then(|| (info.pid(), info.tid())),
        time: has(SampleType::TIME).then(|| info.sample_time_ns()),
        id: has(SampleType::ID).then(|| info.id()),
        stream_id: has(SampleType::STREAM_ID).then(|| info.stream_id()),
        cpu: has(SampleType::CPU).then(|| (info.cpu(), 0)),
        identifier: has(SampleType::IDENTIFIER).then(|| info.id()),
    };
    abi::to_bytes(&id, endian).unwrap_or_default()
}

fn info(event: &PerfEvent) -> Option<&SampleInfo> {
    macro_rules! first {
        ($($field:ident)*) => { None$(.or(event.$field.as_ref().and_then(|fields| fields.sample_info.as_ref())))* };
    }
    first! {
        mmap_event comm_event fork_event exit_event lost_event throttle_event aux_event itrace_start_event
        lost_samples_event context_switch_event namespaces_event ksymbol_event cgroup_event bpf_metadata_event
    }
}

/// Builds the body by record type; true if it ends with a string.
fn fields(kind: RecordType, misc: Misc, event: &PerfEvent) -> Option<(Body, bool)> {
    let fixed = |body| Some((body, false));
    let text = |body| Some((body, true));
    match kind {
        RecordType::MMAP => {
            let map = event.mmap_event.as_ref()?;
            text(Body::Mmap(Mmap {
                pid: map.pid(),
                tid: map.tid(),
                addr: map.start(),
                len: map.len(),
                pgoff: map.pgoff(),
                filename: terminated(map.filename()),
            }))
        }
        RecordType::MMAP2 => {
            let map = event.mmap_event.as_ref()?;
            text(Body::Mmap2(Mmap2 {
                pid: map.pid(),
                tid: map.tid(),
                addr: map.start(),
                len: map.len(),
                pgoff: map.pgoff(),
                file: mapped_file(map, misc)?,
                prot: map.prot(),
                flags: map.flags(),
                filename: terminated(map.filename()),
            }))
        }
        RecordType::COMM => {
            let comm = event.comm_event.as_ref()?;
            text(Body::Comm(Comm { pid: comm.pid(), tid: comm.tid(), comm: terminated(comm.comm()) }))
        }
        RecordType::FORK => fixed(Body::Fork(task(event.fork_event.as_ref()?))),
        RecordType::EXIT => fixed(Body::Exit(task(event.exit_event.as_ref()?))),
        RecordType::LOST => {
            let lost = event.lost_event.as_ref()?;
            fixed(Body::Lost(Lost { id: lost.id(), lost: lost.lost() }))
        }
        RecordType::THROTTLE | RecordType::UNTHROTTLE => {
            let throttle = event.throttle_event.as_ref()?;
            fixed(Body::Throttle(Throttle {
                time: throttle.time_ns(),
                id: throttle.id(),
                stream_id: throttle.stream_id(),
            }))
        }
        RecordType::AUX => {
            let aux = event.aux_event.as_ref()?;
            let flags = [
                (aux.is_truncated(), AuxFlags::TRUNCATED),
                (aux.is_overwrite(), AuxFlags::OVERWRITE),
                (aux.is_partial(), AuxFlags::PARTIAL),
            ];
            let flags = flags.into_iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| flag.bits());
            fixed(Body::Aux(Aux {
                aux_offset: aux.aux_offset(),
                aux_size: aux.aux_size(),
                flags: AuxFlags::from_bits_retain(flags.sum()),
            }))
        }
        RecordType::ITRACE_START => {
            let start = event.itrace_start_event.as_ref()?;
            fixed(Body::ItraceStart(ItraceStart { pid: start.pid(), tid: start.tid() }))
        }
        RecordType::LOST_SAMPLES => {
            fixed(Body::LostSamples(LostSamples { lost: event.lost_samples_event.as_ref()?.num_lost() }))
        }
        RecordType::SWITCH => event.context_switch_event.as_ref().and_then(|_| fixed(Body::Switch(Switch))),
        RecordType::SWITCH_CPU_WIDE => {
            let switch = event.context_switch_event.as_ref()?;
            fixed(Body::SwitchCpuWide(SwitchCpuWide {
                next_prev_pid: switch.next_prev_pid(),
                next_prev_tid: switch.next_prev_tid(),
            }))
        }
        RecordType::NAMESPACES => {
            let namespaces = event.namespaces_event.as_ref()?;
            let links = namespaces.link_info.iter().map(|link| Namespace { dev: link.dev(), ino: link.ino() });
            fixed(Body::Namespaces(Namespaces {
                pid: namespaces.pid(),
                tid: namespaces.tid(),
                link_info: links.collect(),
            }))
        }
        RecordType::KSYMBOL => {
            let symbol = event.ksymbol_event.as_ref()?;
            text(Body::Ksymbol(Ksymbol {
                addr: symbol.addr(),
                len: symbol.len(),
                kind: KsymbolType(symbol.ksym_type() as u16),
                flags: KsymbolFlags::from_bits_retain(symbol.flags() as u16),
                name: terminated(symbol.name()),
            }))
        }
        RecordType::CGROUP => {
            let cgroup = event.cgroup_event.as_ref()?;
            text(Body::Cgroup(Cgroup { id: cgroup.id(), path: terminated(cgroup.path()) }))
        }
        _ => perf_fields(kind, event),
    }
}

/// Builds the body of a record that perf itself writes.
fn perf_fields(kind: RecordType, event: &PerfEvent) -> Option<(Body, bool)> {
    let fixed = |body| Some((body, false));
    match kind {
        RecordType::FINISHED_ROUND => fixed(Body::FinishedRound(FinishedRound)),
        RecordType::BPF_METADATA => {
            let metadata = event.bpf_metadata_event.as_ref()?;
            let entries = metadata
                .metadata
                .iter()
                .map(|entry| BpfMetadataEntry { key: FixedStr::new(entry.key()), value: FixedStr::new(entry.value()) });
            fixed(Body::BpfMetadata(Box::new(BpfMetadata {
                prog_name: FixedStr::new(metadata.prog_name()),
                entries: entries.collect(),
            })))
        }
        RecordType::ID_INDEX => {
            let entries = event.id_index_event.as_ref()?.entries.iter().map(|entry| IdIndexEntry {
                id: entry.id(),
                idx: entry.idx(),
                cpu: entry.cpu() as i64,
                tid: entry.tid() as i64,
            });
            fixed(Body::IdIndex(IdIndex { entries: entries.collect(), guests: Vec::new() }))
        }
        RecordType::AUXTRACE_INFO => {
            let info = event.auxtrace_info_event.as_ref()?;
            fixed(Body::AuxtraceInfo(AuxtraceInfo {
                kind: AuxtraceType(info.r#type()),
                reserved: 0,
                private: info.unparsed_binary_blob_priv_data.clone(),
            }))
        }
        RecordType::AUXTRACE => {
            let aux = event.auxtrace_event.as_ref()?;
            fixed(Body::Auxtrace(Auxtrace {
                size: aux.trace_data().len() as u64,
                offset: aux.offset(),
                reference: aux.reference(),
                idx: aux.idx(),
                tid: aux.tid() as i32,
                cpu: aux.cpu() as i32,
                reserved: 0,
            }))
        }
        RecordType::AUXTRACE_ERROR => {
            let error = event.auxtrace_error_event.as_ref()?;
            let error = AuxtraceError {
                kind: AuxtraceErrorType(error.r#type()),
                code: error.code(),
                cpu: error.cpu() as i32,
                pid: error.pid() as i32,
                tid: error.tid() as i32,
                fmt: 0,
                ip: error.ip(),
                time: None,
                msg: terminated(error.msg()),
                guest: None,
            };
            Some((Body::AuxtraceError(error), true))
        }
        RecordType::THREAD_MAP => {
            let entries = event.thread_map_event.as_ref()?.entries.iter();
            let entries =
                entries.map(|entry| ThreadMapEntry { pid: entry.pid() as i64, comm: FixedStr::new(entry.comm()) });
            fixed(Body::ThreadMap(ThreadMap { entries: entries.collect() }))
        }
        RecordType::STAT_CONFIG => {
            let data = event.stat_config_event.as_ref()?.data.iter();
            let data = data.map(|term| StatConfigTerm { tag: StatConfigTag(term.tag()), val: term.val() });
            fixed(Body::StatConfig(StatConfig { data: data.collect() }))
        }
        RecordType::STAT => {
            let stat = event.stat_event.as_ref()?;
            fixed(Body::Stat(Stat {
                id: stat.id(),
                cpu: stat.cpu(),
                thread: stat.thread(),
                val: stat.value(),
                ena: stat.enabled(),
                run: stat.running(),
            }))
        }
        RecordType::STAT_ROUND => {
            let round = event.stat_round_event.as_ref()?;
            fixed(Body::StatRound(StatRound { kind: StatRoundType(round.r#type()), time: round.time() }))
        }
        RecordType::TIME_CONV => {
            let conv = event.time_conv_event.as_ref()?;
            let short = conv.time_cycles.is_some().then(|| TimeConvShort {
                time_cycles: conv.time_cycles(),
                time_mask: conv.time_mask(),
                cap_user_time_zero: conv.cap_user_time_zero().into(),
                cap_user_time_short: conv.cap_user_time_short().into(),
                reserved: [0; 6],
            });
            fixed(Body::TimeConv(TimeConv {
                time_shift: conv.time_shift(),
                time_mult: conv.time_mult(),
                time_zero: conv.time_zero(),
                short,
            }))
        }
        _ => None,
    }
}

fn task(task: &proto::ForkEvent) -> Task {
    Task { pid: task.pid(), ppid: task.ppid(), tid: task.tid(), ptid: task.ptid(), time: task.fork_time_ns() }
}

fn mapped_file(map: &MMapEvent, misc: Misc) -> Option<MappedFile> {
    if !misc.contains(Misc::MMAP_BUILD_ID) {
        let (maj, min) = (map.maj(), map.min());
        return Some(MappedFile::Inode { maj, min, ino: map.ino(), ino_generation: map.ino_generation() });
    }
    let bytes = from_hex(map.build_id())?;
    let mut build_id = [0; 20];
    build_id.get_mut(..bytes.len())?.copy_from_slice(&bytes);
    Some(MappedFile::BuildId { size: bytes.len() as u8, reserved_1: 0, reserved_2: 0, build_id })
}

/// A string with a terminating NUL.
fn terminated(text: &[u8]) -> PaddedStr {
    PaddedStr::new(text, 1)
}
