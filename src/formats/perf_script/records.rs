//! Prints records other than samples, as `perf script --show-*-events` does.

use perf_data::abi;
use perf_data::abi::bytes::ByteReader;
use perf_data::abi::record::RecordType;
use perf_data::abi::record::bpf_event::BpfEvent;
use perf_data::abi::record::cgroup::Cgroup;
use perf_data::abi::record::comm::Comm;
use perf_data::abi::record::header::Misc;
use perf_data::abi::record::ksymbol::Ksymbol;
use perf_data::abi::record::lost::Lost;
use perf_data::abi::record::mmap::Mmap;
use perf_data::abi::record::mmap2::{MappedFile, Mmap2};
use perf_data::abi::record::namespaces::Namespaces;
use perf_data::abi::record::switch::SwitchCpuWide;
use perf_data::abi::record::task::Task;
use perf_data::stream::raw::Raw;
use std::borrow::Cow;
use std::fmt::Write;

/// Names of namespaces by their index in a record.
const NAMESPACES: [&str; 7] = ["net", "uts", "ipc", "pid", "user", "mnt", "cgroup"];

/// Text of a record, and the thread under whose name perf prints it, if the record names one.
pub(super) struct RecordText {
    /// The text without line end.
    pub text: String,
    /// Process and thread.
    pub task: Option<(u32, u32)>,
    /// Time, if the record has one itself.
    pub time: u64,
    /// Letters for the field `misc`.
    pub flags: &'static str,
}

/// Text of a record's body, without its trailer; `None` if it is malformed.
pub(super) fn describe(raw: &Raw<'_>, body: &[u8]) -> Option<RecordText> {
    let (endian, misc) = (raw.endian(), raw.header().misc);
    let mut time = 0;
    let flag = |bit, letter| if misc.contains(bit) { letter } else { "" };
    let (rest, task, flags) = match raw.header().kind {
        RecordType::COMM => {
            let (Comm { pid, tid, comm }, _) = abi::parse(body, endian, ()).ok()?;
            let exec = flag(Misc::COMM_EXEC, " exec");
            let text = format!("COMM{exec}: {}:{}/{}", text(comm.text()), pid as i32, tid as i32);
            (text, Some((pid, tid)), flag(Misc::COMM_EXEC, "E"))
        }
        kind @ (RecordType::FORK | RecordType::EXIT) => {
            let (task, _) = abi::parse::<Task>(body, endian, ()).ok()?;
            let Task { pid, ppid, tid, ptid, .. } = task;
            time = task.time;
            let text = format!("{kind}({}:{}):({}:{})", pid as i32, tid as i32, ppid as i32, ptid as i32);
            (text, Some((pid, tid)), if kind == RecordType::FORK { flag(Misc::FORK_EXEC, "F") } else { "" })
        }
        RecordType::MMAP => {
            let (Mmap { pid, tid, addr, len, pgoff, filename }, _) = abi::parse(body, endian, ()).ok()?;
            let access = if misc.contains(Misc::MMAP_DATA) { 'r' } else { 'x' };
            let (shown, file) = (pid as i32, text(filename.text()));
            let [addr, len, offset] = [addr, len, pgoff].map(alternate);
            let text = format!("MMAP {shown}/{}: [{addr}({len}) @ {offset}]: {access} {file}", tid as i32);
            (text, Some((pid, tid)), flag(Misc::MMAP_DATA, "M"))
        }
        RecordType::MMAP2 => {
            let (map, _) = abi::parse::<Mmap2>(body, endian, (misc,)).ok()?;
            (mmap2(&map), Some((map.pid, map.tid)), flag(Misc::MMAP_DATA, "M"))
        }
        kind @ (RecordType::SWITCH | RecordType::SWITCH_CPU_WIDE) => {
            let (is_out, is_preempted) = (misc.contains(Misc::SWITCH_OUT), misc.contains(Misc::SWITCH_OUT_PREEMPT));
            let direction = match (is_out, is_preempted) {
                (false, _) => "IN         ",
                (true, false) => "OUT        ",
                (true, true) => "OUT preempt",
            };
            let mut text = format!("{kind} {direction}");
            if kind == RecordType::SWITCH_CPU_WIDE {
                let (switch, _) = abi::parse::<SwitchCpuWide>(body, endian, ()).ok()?;
                let (pid, tid) = (switch.next_prev_pid as i32, switch.next_prev_tid as i32);
                let other = if is_out { "next" } else { "prev" };
                let _ = write!(text, "  {other} pid/tid: {pid:5}/{tid:<5}");
            }
            (
                text,
                None,
                if !is_out {
                    ""
                } else if is_preempted {
                    "Sp"
                } else {
                    "S"
                },
            )
        }
        RecordType::LOST => {
            let (Lost { lost, .. }, _) = abi::parse(body, endian, ()).ok()?;
            (format!("LOST lost {lost}"), None, "")
        }
        RecordType::NAMESPACES => {
            let (record, _) = abi::parse::<Namespaces>(body, endian, ()).ok()?;
            (namespaces(&record), Some((record.pid, record.tid)), "")
        }
        RecordType::CGROUP => {
            let (Cgroup { id, path }, _) = abi::parse(body, endian, ()).ok()?;
            (format!("CGROUP cgroup: {id} {}", text(path.text())), None, "")
        }
        RecordType::KSYMBOL => {
            let (Ksymbol { addr, len, kind, flags, name }, _) = abi::parse(body, endian, ()).ok()?;
            let (kind, flags, name) = (kind.0, flags.bits(), text(name.text()));
            (format!("KSYMBOL addr {addr:x} len {len} type {kind} flags {flags:#x} name {name}"), None, "")
        }
        RecordType::BPF_EVENT => {
            let (BpfEvent { kind, flags, id, .. }, _) = abi::parse(body, endian, ()).ok()?;
            (format!("BPF_EVENT type {}, flags {flags}, id {id}", kind.0), None, "")
        }
        RecordType::TEXT_POKE => {
            let mut reader = ByteReader::new(body, endian);
            let (addr, old, new) = (reader.u64()?, reader.u16()?, reader.u16()?);
            let mut text = format!("TEXT_POKE {addr:x}  old len {old} new len {new}");
            for (label, len) in [("Old", old), ("New", new)] {
                code(&mut text, label, reader.take(len.into())?);
            }
            (text, None, "")
        }
        _ => return None,
    };
    Some(RecordText { text: format!("PERF_RECORD_{rest}"), task, time, flags })
}

fn text(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

/// `%#x` of printf(3), which prints 0 without a prefix.
fn alternate(number: u64) -> String {
    if number == 0 { "0".to_owned() } else { format!("{number:#x}") }
}

fn mmap2(map: &Mmap2) -> String {
    let (pid, tid) = (map.pid as i32, map.tid as i32);
    let [addr, len, offset] = [map.addr, map.len, map.pgoff].map(alternate);
    let mut text = format!("MMAP2 {pid}/{tid}: [{addr}({len}) @ {offset}");
    // Writing to a string cannot fail.
    let _ = match &map.file {
        MappedFile::Inode { maj, min, ino, ino_generation } => {
            write!(text, " {maj:02x}:{min:02x} {ino} {ino_generation}")
        }
        MappedFile::BuildId { size, build_id, .. } => {
            let mut id = build_id.iter().take((*size).into());
            let _ = text.write_str(" <");
            let _ = id.try_for_each(|byte| write!(text, "{byte:02x}"));
            text.write_str(">")
        }
    };
    let bit = |bit: u32, letter| if map.prot & bit != 0 { letter } else { '-' };
    let sharing = if map.flags & 1 == 1 { 's' } else { 'p' };
    let (read, write, exec) = (bit(1, 'r'), bit(2, 'w'), bit(4, 'x'));
    let _ = write!(text, "]: {read}{write}{exec}{sharing} {}", self::text(map.filename.text()));
    text
}

/// Appends lines with bytes of code.
fn code(text: &mut String, label: &str, bytes: &[u8]) {
    for (index, line) in bytes.chunks(16).enumerate() {
        let heading = if index == 0 { format!("{label} bytes:") } else { String::new() };
        // Writing to a string cannot fail.
        let _ = write!(text, "\n{heading:>22}");
        let _ = line.iter().try_for_each(|byte| write!(text, " {byte:02x}"));
    }
}

fn namespaces(record: &Namespaces) -> String {
    let count = record.link_info.len();
    let mut text = format!("NAMESPACES {}/{} - nr_namespaces: {count}\n\t\t[", record.pid as i32, record.tid as i32);
    for (index, namespace) in record.link_info.iter().enumerate() {
        if index > 0 && index % 4 == 0 {
            text.push_str("\n\t\t ");
        }
        let name = NAMESPACES.get(index).copied().unwrap_or("unknown");
        let end = if index + 1 == count { "]" } else { ", " };
        let _ = write!(text, "{index}/{name}: {}/{}{end}", namespace.dev, alternate(namespace.ino));
    }
    text
}
