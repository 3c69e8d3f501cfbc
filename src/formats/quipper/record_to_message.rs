//! Converts records other than SAMPLE to messages.

use super::proto::perf_data_proto as proto;
use super::text::{md5_prefix, root_path};
use bpf_metadata_event::MetadataEntry;
use perf_data::abi::hex::to_hex;
use perf_data::abi::record::aux_area::AuxFlags;
use perf_data::abi::record::mmap2::MappedFile;
use perf_data::abi::record::{Body, CpuMode, Misc, Record, RecordContext, RecordType};
use perf_data::abi::sample::id::SampleId;
use proto::{PerfEvent, SampleInfo, bpf_metadata_event};

/// Describes a record as a message without its header; `None` if the schema has no message for its type, or the
/// record does not match the definition of its type.
pub(super) fn describe(record: &Record, payload: &[u8], context: &RecordContext) -> Option<PerfEvent> {
    let mut event = PerfEvent::default();
    let info = || Some(record.id.as_ref().map(sample_info).unwrap_or_default());
    match &record.body {
        Body::Mmap(map) => {
            let mapped = proto::MMapEvent {
                pid: Some(map.pid),
                tid: Some(map.tid),
                start: Some(map.addr),
                len: Some(map.len),
                pgoff: Some(map.pgoff),
                sample_info: info(),
                ..Default::default()
            };
            event.mmap_event = Some(Box::new(named(mapped, map.filename.text(), record.header.misc)?));
        }
        Body::Mmap2(map) => {
            let mut mapped = proto::MMapEvent {
                pid: Some(map.pid),
                tid: Some(map.tid),
                start: Some(map.addr),
                len: Some(map.len),
                pgoff: Some(map.pgoff),
                prot: Some(map.prot),
                flags: Some(map.flags),
                sample_info: info(),
                ..Default::default()
            };
            match map.file {
                MappedFile::Inode { maj, min, ino, ino_generation } => {
                    (mapped.maj, mapped.min) = (Some(maj), Some(min));
                    (mapped.ino, mapped.ino_generation) = (Some(ino), Some(ino_generation));
                }
                MappedFile::BuildId { .. } => mapped.build_id = map.file.build_id().map(|id| to_hex(id).into_bytes()),
            }
            event.mmap_event = Some(Box::new(named(mapped, map.filename.text(), record.header.misc)?));
        }
        Body::Comm(comm) => {
            event.comm_event = Some(Box::new(proto::CommEvent {
                pid: Some(comm.pid),
                tid: Some(comm.tid),
                comm: Some(comm.comm.text().to_vec()),
                comm_md5_prefix: Some(md5_prefix(comm.comm.text())),
                sample_time: None,
                sample_info: info(),
            }));
        }
        Body::Fork(task) | Body::Exit(task) => {
            let task = Some(Box::new(proto::ForkEvent {
                pid: Some(task.pid),
                ppid: Some(task.ppid),
                tid: Some(task.tid),
                ptid: Some(task.ptid),
                fork_time_ns: Some(task.time),
                sample_info: info(),
            }));
            let is_fork = record.header.kind == RecordType::FORK;
            *if is_fork { &mut event.fork_event } else { &mut event.exit_event } = task;
        }
        Body::Lost(lost) => {
            event.lost_event =
                Some(Box::new(proto::LostEvent { id: Some(lost.id), lost: Some(lost.lost), sample_info: info() }));
        }
        Body::Throttle(throttle) | Body::Unthrottle(throttle) => {
            event.throttle_event = Some(Box::new(proto::ThrottleEvent {
                time_ns: Some(throttle.time),
                id: Some(throttle.id),
                stream_id: Some(throttle.stream_id),
                sample_info: info(),
            }));
        }
        Body::Aux(aux) => {
            event.aux_event = Some(Box::new(proto::AuxEvent {
                aux_offset: Some(aux.aux_offset),
                aux_size: Some(aux.aux_size),
                is_truncated: Some(aux.flags.contains(AuxFlags::TRUNCATED)),
                is_overwrite: Some(aux.flags.contains(AuxFlags::OVERWRITE)),
                is_partial: Some(aux.flags.contains(AuxFlags::PARTIAL)),
                sample_info: info(),
            }));
        }
        Body::ItraceStart(start) => {
            event.itrace_start_event = Some(Box::new(proto::ItraceStartEvent {
                pid: Some(start.pid),
                tid: Some(start.tid),
                sample_info: info(),
            }));
        }
        Body::LostSamples(lost) => {
            event.lost_samples_event =
                Some(Box::new(proto::LostSamplesEvent { num_lost: Some(lost.lost), sample_info: info() }));
        }
        Body::Switch(_) => {
            event.context_switch_event = Some(Box::new(proto::ContextSwitchEvent {
                is_out: Some(record.header.misc.contains(Misc::SWITCH_OUT)),
                sample_info: info(),
                ..Default::default()
            }));
        }
        Body::SwitchCpuWide(switch) => {
            event.context_switch_event = Some(Box::new(proto::ContextSwitchEvent {
                is_out: Some(record.header.misc.contains(Misc::SWITCH_OUT)),
                next_prev_pid: Some(switch.next_prev_pid),
                next_prev_tid: Some(switch.next_prev_tid),
                sample_info: info(),
            }));
        }
        Body::Namespaces(namespaces) => {
            let links = namespaces.link_info.iter();
            let links = links.map(|link| proto::PerfNamespacesLinkInfo { dev: Some(link.dev), ino: Some(link.ino) });
            event.namespaces_event = Some(Box::new(proto::NamespacesEvent {
                pid: Some(namespaces.pid),
                tid: Some(namespaces.tid),
                link_info: links.collect(),
                sample_info: info(),
            }));
        }
        Body::Ksymbol(symbol) => {
            event.ksymbol_event = Some(Box::new(proto::KsymbolEvent {
                addr: Some(symbol.addr),
                len: Some(symbol.len),
                ksym_type: Some(symbol.kind.0.into()),
                flags: Some(symbol.flags.bits().into()),
                name: Some(symbol.name.text().to_vec()),
                sample_info: info(),
            }));
        }
        Body::Cgroup(cgroup) => {
            event.cgroup_event = Some(Box::new(proto::CgroupEvent {
                id: Some(cgroup.id),
                path: Some(cgroup.path.text().to_vec()),
                sample_info: info(),
            }));
        }
        Body::BpfMetadata(metadata) => {
            let entries = metadata.entries.iter().map(|entry| MetadataEntry {
                key: Some(entry.key.text().to_vec()),
                value: Some(entry.value.text().to_vec()),
            });
            // perf appends a trailer to these, as if the kernel had written them.
            let trailer = context.sample_id_all.then(|| {
                SampleId::read(&record.tail, context.layout.sample_type(), context.endian).as_ref().map(sample_info)
            });
            event.bpf_metadata_event = Some(Box::new(proto::BpfMetadataEvent {
                prog_name: Some(metadata.prog_name.text().to_vec()),
                metadata: entries.collect(),
                sample_info: Some(trailer.flatten().unwrap_or_default()),
            }));
        }
        Body::FinishedRound(_) => {}
        Body::IdIndex(index) => {
            let entries = index.entries.iter().map(|entry| proto::IdIndexEventEntry {
                id: Some(entry.id),
                idx: Some(entry.idx),
                cpu: Some(entry.cpu as u64),
                tid: Some(entry.tid as u64),
            });
            event.id_index_event = Some(Box::new(proto::IdIndexEvent { entries: entries.collect() }));
        }
        Body::AuxtraceInfo(info) => {
            event.auxtrace_info_event = Some(Box::new(proto::AuxtraceInfoEvent {
                r#type: Some(info.kind.0),
                unparsed_binary_blob_priv_data: info.private.clone(),
            }));
        }
        Body::Auxtrace(aux) => {
            event.auxtrace_event = Some(Box::new(proto::AuxtraceEvent {
                size: Some(aux.size),
                offset: Some(aux.offset),
                reference: Some(aux.reference),
                idx: Some(aux.idx),
                tid: Some(aux.tid as u32),
                cpu: Some(aux.cpu as u32),
                trace_data: Some(payload.to_vec()),
            }));
        }
        Body::AuxtraceError(error) => {
            event.auxtrace_error_event = Some(Box::new(proto::AuxtraceErrorEvent {
                r#type: Some(error.kind.0),
                code: Some(error.code),
                cpu: Some(error.cpu as u32),
                pid: Some(error.pid as u32),
                tid: Some(error.tid as u32),
                ip: Some(error.ip),
                msg: Some(error.msg.text().to_vec()),
                msg_md5_prefix: Some(md5_prefix(error.msg.text())),
            }));
        }
        Body::ThreadMap(map) => {
            let entries = map.entries.iter().map(|entry| proto::ThreadMapEventEntry {
                pid: Some(entry.pid as u64),
                comm: Some(entry.comm.text().to_vec()),
                comm_md5_prefix: Some(md5_prefix(entry.comm.text())),
            });
            event.thread_map_event = Some(Box::new(proto::ThreadMapEvent { entries: entries.collect() }));
        }
        Body::StatConfig(config) => {
            let terms = config.data.iter();
            let terms = terms.map(|term| proto::StatConfigEventEntry { tag: Some(term.tag.0), val: Some(term.val) });
            event.stat_config_event = Some(Box::new(proto::StatConfigEvent { data: terms.collect() }));
        }
        Body::Stat(stat) => {
            event.stat_event = Some(Box::new(proto::StatEvent {
                id: Some(stat.id),
                cpu: Some(stat.cpu),
                thread: Some(stat.thread),
                value: Some(stat.val),
                enabled: Some(stat.ena),
                running: Some(stat.run),
            }));
        }
        Body::StatRound(round) => {
            event.stat_round_event =
                Some(Box::new(proto::StatRoundEvent { r#type: Some(round.kind.0), time: Some(round.time) }));
        }
        Body::TimeConv(conv) => {
            event.time_conv_event = Some(Box::new(proto::TimeConvEvent {
                time_shift: Some(conv.time_shift),
                time_mult: Some(conv.time_mult),
                time_zero: Some(conv.time_zero),
                time_cycles: conv.short.map(|short| short.time_cycles),
                time_mask: conv.short.map(|short| short.time_mask),
                cap_user_time_zero: conv.short.map(|short| short.cap_user_time_zero != 0),
                cap_user_time_short: conv.short.map(|short| short.cap_user_time_short != 0),
            }));
        }
        _ => return None,
    }
    event.timestamp = Some(record.id.and_then(|id| id.time).unwrap_or(0));
    Some(event)
}

/// Sets the file of a mapping. `None` for mappings that quipper's reader skips: those of a process whose maps perf
/// could not read in time, and the empty kernel mapping of a recording without the kernel.
fn named(mut map: proto::MMapEvent, filename: &[u8], misc: Misc) -> Option<proto::MMapEvent> {
    let is_empty_kernel = map.len == Some(0) && misc.cpu_mode() == CpuMode::KERNEL;
    if misc.contains(Misc::PROC_MAP_PARSE_TIMEOUT) || is_empty_kernel {
        return None;
    }
    let root = root_path(filename);
    map.filename = Some(filename.to_vec());
    map.filename_md5_prefix = Some(md5_prefix(filename));
    map.root_path = (!root.is_empty()).then(|| root.to_vec());
    map.root_path_md5_prefix = Some(md5_prefix(root));
    Some(map)
}

fn sample_info(id: &SampleId) -> SampleInfo {
    let (pid, tid) = id.task.unzip();
    SampleInfo {
        pid,
        tid,
        sample_time_ns: id.time,
        id: id.identifier.or(id.id),
        cpu: id.cpu.map(|(cpu, _)| cpu),
        stream_id: id.stream_id,
    }
}
