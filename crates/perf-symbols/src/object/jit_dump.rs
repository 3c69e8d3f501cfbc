//! Reads jitdumps: which functions were at which addresses, and when.

use super::image::ImageFunction;
use super::lines::Line;
use bytes::Bytes;
use perf_data::abi::jitdump::header::JitDumpHeader;
use perf_data::abi::jitdump::record::{
    CodeLoad, CodeMove, DebugEntry, DebugInfo, RecordHeader, RecordKind, Terminated, UnwindingInfo,
};
use perf_data::abi::{self, Endian};
use perf_data::container::walk::{Damage, DamageKind};
use perf_data::error::{Error, Result};

/// The contents of a jitdump.
#[derive(Clone, Debug)]
pub struct Dump {
    /// File header.
    pub header: JitDumpHeader,
    /// Byte order.
    pub endian: Endian,
    /// The events, in the order of the file.
    pub events: Vec<JitDumpEvent>,
    /// Malformed parts.
    pub damage: Vec<Damage>,
}

/// An event of a function.
#[derive(Clone, Debug)]
pub struct JitDumpEvent {
    /// Time in the jitdump's clock.
    pub time: u64,
    /// Process ID in the program's own PID namespace.
    pub pid: u32,
    /// Thread ID.
    pub tid: u32,
    /// Number of the function.
    pub index: u64,
    /// Address of the function from this time on.
    pub address: u64,
    /// Kind of event.
    pub kind: EventKind,
}

/// A kind of event.
#[derive(Clone, Debug)]
pub enum EventKind {
    /// The function was compiled.
    Load(ImageFunction),
    /// The function was moved from another address.
    Move,
}

/// Offset by which V8's line addresses are too large: V8 adds the size of the ELF header of images made by old versions of perf.
const V8_SHIFT: u64 = 0x40;

impl Dump {
    /// Reads the valid records of a jitdump.
    ///
    /// # Errors
    /// Fails if the file is not a jitdump or of an unknown version.
    pub fn read(bytes: &Bytes, file: &str) -> Result<Self> {
        let fail = |problem: String| Err(Error::input(file, None, problem));
        let Some(endian) = JitDumpHeader::endian(bytes) else {
            return fail("not a jitdump: does not start with JiTD".to_owned());
        };
        let Ok((header, _)) = abi::parse::<JitDumpHeader>(bytes, endian, ()) else {
            return fail(format!("jitdump header is truncated: {} of {} bytes", bytes.len(), JitDumpHeader::SIZE));
        };
        if header.version != JitDumpHeader::VERSION {
            return fail(format!(
                "unsupported jitdump version {}; expected {}",
                header.version,
                JitDumpHeader::VERSION
            ));
        }
        if header.flags & !JitDumpHeader::ARCH_TIMESTAMP != 0 {
            return fail(format!("unknown jitdump flags {:#x}", header.flags));
        }
        let mut reader = JitDumpReader {
            file,
            endian,
            events: Vec::new(),
            damage: Vec::new(),
            lines: Vec::new(),
            eh_frame: Bytes::new(),
        };
        reader.records(bytes, (header.total_size as usize).max(JitDumpHeader::SIZE));
        let JitDumpReader { mut events, damage, .. } = reader;
        unshift(&mut events);
        Ok(Self { header, endian, events, damage })
    }
}

/// Corrects the line addresses if all of them have V8's offset.
fn unshift(events: &mut [JitDumpEvent]) {
    let lines = || events.iter().filter_map(|event| function(&event.kind)).flat_map(|function| &function.lines);
    if lines().map(|line| line.offset).min() == Some(V8_SHIFT) {
        for event in events {
            if let EventKind::Load(function) = &mut event.kind {
                function.lines.iter_mut().for_each(|line| line.offset -= V8_SHIFT);
            }
        }
    }
}

fn function(kind: &EventKind) -> Option<&ImageFunction> {
    match kind {
        EventKind::Load(function) => Some(function),
        EventKind::Move => None,
    }
}

struct JitDumpReader<'a> {
    file: &'a str,
    endian: Endian,
    events: Vec<JitDumpEvent>,
    damage: Vec<Damage>,
    /// Lines of the next function, with addresses for offsets.
    lines: Vec<Line>,
    /// Unwinding information of the next function.
    eh_frame: Bytes,
}

impl JitDumpReader<'_> {
    fn records(&mut self, bytes: &Bytes, mut at: usize) {
        while at < bytes.len() {
            let left = bytes.len() - at;
            let Ok((header, _)) = abi::parse::<RecordHeader>(&bytes[at..], self.endian, ()) else {
                return self.report(at, format!("record header is truncated: {left} bytes left"));
            };
            let size = header.total_size as usize;
            if size < RecordHeader::SIZE || size > left {
                let problem = format!("record of {size} bytes is truncated: {left} bytes left; the rest is skipped");
                return self.report(at, problem);
            }
            let body = bytes.slice(at + RecordHeader::SIZE..at + size);
            if let Err(problem) = self.record(&header, &body) {
                self.report(at, format!("{} record skipped: {problem}", header.kind));
            }
            at += size;
        }
    }

    fn report(&mut self, at: usize, problem: String) {
        self.damage.push(Damage::new(DamageKind::CorruptRecord, self.file, at as u64, problem));
    }

    fn record(&mut self, header: &RecordHeader, body: &Bytes) -> std::result::Result<(), String> {
        let short = |_| "too short for its fields".to_owned();
        match header.kind {
            RecordKind::CODE_LOAD => {
                // They belong to this function, even if it is malformed.
                let (lines, eh_frame) = (std::mem::take(&mut self.lines), std::mem::take(&mut self.eh_frame));
                let (load, used) = abi::parse::<CodeLoad>(body, self.endian, ()).map_err(short)?;
                let code = body.slice(used..);
                let Some(size) = usize::try_from(load.code_size).ok().filter(|&size| size <= code.len()) else {
                    let (name, len) = (String::from_utf8_lossy(load.name.text()).into_owned(), code.len());
                    return Err(format!("{name} has {} bytes of code, but the record contains {len}", load.code_size));
                };
                reaches(load.code_addr, load.code_size)?;
                let end = used - 1;
                let mut function = ImageFunction {
                    name: body.slice(end - load.name.text().len()..end),
                    size: load.code_size,
                    code: code.slice(..size),
                    lines,
                    eh_frame,
                };
                // Lines still hold addresses: convert them to offsets.
                function.lines.retain(|line| line.offset >= load.code_addr);
                function.lines.iter_mut().for_each(|line| line.offset -= load.code_addr);
                let CodeLoad { pid, tid, code_index, code_addr, .. } = load;
                let kind = EventKind::Load(function);
                self.events.push(JitDumpEvent {
                    time: header.timestamp,
                    pid,
                    tid,
                    index: code_index,
                    address: code_addr,
                    kind,
                });
            }
            RecordKind::CODE_MOVE => {
                let (moved, _) = abi::parse::<CodeMove>(body, self.endian, ()).map_err(short)?;
                reaches(moved.new_code_addr, moved.code_size)?;
                let CodeMove { pid, tid, code_index: index, new_code_addr: address, .. } = moved;
                self.events.push(JitDumpEvent {
                    time: header.timestamp,
                    pid,
                    tid,
                    index,
                    address,
                    kind: EventKind::Move,
                });
            }
            RecordKind::CODE_DEBUG_INFO => {
                self.lines.clear();
                let (info, _) = abi::parse::<DebugInfo>(body, self.endian, ()).map_err(short)?;
                self.lines = lines(info.entries);
            }
            RecordKind::CODE_UNWINDING_INFO => {
                self.eh_frame.clear();
                let (info, used) = abi::parse::<UnwindingInfo>(body, self.endian, ()).map_err(short)?;
                let len =
                    info.unwinding_size.checked_sub(info.eh_frame_hdr_size).and_then(|len| usize::try_from(len).ok());
                let data = body.slice(used..);
                let Some(len) = len.filter(|&len| len <= data.len()) else {
                    return Err(format!(
                        "{} bytes of unwinding data, but the record contains {}",
                        info.unwinding_size,
                        data.len()
                    ));
                };
                self.eh_frame = data.slice(..len);
            }
            RecordKind::CODE_CLOSE => {}
            _ => return Err("unknown type".to_owned()),
        }
        Ok(())
    }
}

fn reaches(address: u64, size: u64) -> std::result::Result<(), String> {
    let fits = address.checked_add(size).is_some();
    if fits { Ok(()) } else { Err(format!("{size} bytes at {address:#x} exceed the address space")) }
}

/// Converts debug entries to lines, with addresses for offsets. Lines of the same file share its name.
fn lines(entries: Vec<DebugEntry>) -> Vec<Line> {
    let mut file = Bytes::new();
    let line = |entry: DebugEntry| {
        if entry.name.text() != DebugEntry::SAME {
            file = name(&entry.name);
        }
        Line { offset: entry.code_addr, line: entry.line, file: file.clone() }
    };
    entries.into_iter().map(line).collect()
}

fn name(name: &Terminated) -> Bytes {
    Bytes::copy_from_slice(name.text())
}
