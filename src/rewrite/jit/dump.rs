//! What a jitdump tells: which functions were where, from when on.

use crate::abi::jitdump::header::Header;
use crate::abi::jitdump::record::{
    CodeLoad, CodeMove, DebugEntry, DebugInfo, RecordHeader, RecordKind, Terminated, UnwindingInfo,
};
use crate::abi::{self, Endian};
use crate::container::walk::Damage;
use crate::error::{Error, Result};
use crate::object::image::Function;
use crate::object::lines::Line;
use bytes::Bytes;

/// What a jitdump tells.
#[derive(Clone, Debug)]
pub struct Dump {
    /// Its header.
    pub header: Header,
    /// Its byte order.
    pub endian: Endian,
    /// What happened, in the order in which it is told.
    pub events: Vec<Event>,
    /// What could not be read.
    pub damage: Vec<Damage>,
}

/// Something happened.
#[derive(Clone, Debug)]
pub struct Event {
    /// When, by the clock of the jitdump.
    pub time: u64,
    /// Process, as it calls itself.
    pub pid: u32,
    /// Thread.
    pub tid: u32,
    /// Number of the function.
    pub index: u64,
    /// Where the function is from now on.
    pub address: u64,
    /// What happened.
    pub what: What,
}

/// What happened to a function.
#[derive(Clone, Debug)]
pub enum What {
    /// It was made.
    Load(Function),
    /// It was elsewhere before.
    Move,
}

/// By how much V8 tells lines too late: it takes code for what follows a header of ELF in an image, as in those of early perfs.
const V8_SHIFT: u64 = 0x40;

impl Dump {
    /// Reads a jitdump: all that is whole.
    ///
    /// # Errors
    /// Where it is none, or of a version that is not known.
    pub fn read(bytes: &Bytes, file: &str) -> Result<Self> {
        let fail = |what: String| Err(Error::input(file, None, what));
        let Some(endian) = Header::endian(bytes) else {
            return fail("is no jitdump: it does not begin with JiTD".to_owned());
        };
        let Ok((header, _)) = abi::parse::<Header>(bytes, endian, ()) else {
            return fail(format!("is cut in its header, of which {} of {} bytes are there", bytes.len(), Header::SIZE));
        };
        if header.version != Header::VERSION {
            return fail(format!("is a jitdump of version {}, and {} is known", header.version, Header::VERSION));
        }
        if header.flags & !Header::ARCH_TIMESTAMP != 0 {
            return fail(format!("is a jitdump with flags {:#x}, of which only the lowest is known", header.flags));
        }
        let mut reader =
            Reader { file, endian, events: Vec::new(), damage: Vec::new(), lines: Vec::new(), eh_frame: Bytes::new() };
        reader.records(bytes, (header.total_size as usize).max(Header::SIZE));
        let Reader { mut events, damage, .. } = reader;
        unshift(&mut events);
        Ok(Self { header, endian, events, damage })
    }
}

/// Puts lines right where all of them are told as V8 tells them.
fn unshift(events: &mut [Event]) {
    let lines = || events.iter().filter_map(|event| function(&event.what)).flat_map(|function| &function.lines);
    if lines().map(|line| line.offset).min() == Some(V8_SHIFT) {
        for event in events {
            if let What::Load(function) = &mut event.what {
                function.lines.iter_mut().for_each(|line| line.offset -= V8_SHIFT);
            }
        }
    }
}

fn function(what: &What) -> Option<&Function> {
    match what {
        What::Load(function) => Some(function),
        What::Move => None,
    }
}

struct Reader<'a> {
    file: &'a str,
    endian: Endian,
    events: Vec<Event>,
    damage: Vec<Damage>,
    /// What is told of the function that is loaded next: its lines, by address.
    lines: Vec<Line>,
    /// How its frames are unwound.
    eh_frame: Bytes,
}

impl Reader<'_> {
    fn records(&mut self, bytes: &Bytes, mut at: usize) {
        while at < bytes.len() {
            let left = bytes.len() - at;
            let Ok((header, _)) = abi::parse::<RecordHeader>(&bytes[at..], self.endian, ()) else {
                return self.wrong(at, format!("the last {left} bytes are missing a record's header: it is cut there"));
            };
            let size = header.total_size as usize;
            if size < RecordHeader::SIZE || size > left {
                let what = format!("a record says that it has {size} bytes, of {left}: from there on nothing is read");
                return self.wrong(at, what);
            }
            let body = bytes.slice(at + RecordHeader::SIZE..at + size);
            if let Err(what) = self.record(&header, &body) {
                self.wrong(at, format!("{} is left out: {what}", header.kind));
            }
            at += size;
        }
    }

    fn wrong(&mut self, at: usize, what: String) {
        self.damage.push(Damage::new(self.file, at as u64, what));
    }

    fn record(&mut self, header: &RecordHeader, body: &Bytes) -> std::result::Result<(), String> {
        let short = |_| "its fields do not fit its size".to_owned();
        match header.kind {
            RecordKind::CODE_LOAD => {
                // They are of this function, whatever becomes of it.
                let (lines, eh_frame) = (std::mem::take(&mut self.lines), std::mem::take(&mut self.eh_frame));
                let (load, used) = abi::parse::<CodeLoad>(body, self.endian, ()).map_err(short)?;
                let code = body.slice(used..);
                let Some(size) = usize::try_from(load.code_size).ok().filter(|&size| size <= code.len()) else {
                    let (name, there) = (String::from_utf8_lossy(load.name.text()).into_owned(), code.len());
                    return Err(format!("{name} says that it has {} bytes of code, of {there}", load.code_size));
                };
                reaches(load.code_addr, load.code_size)?;
                let end = used - 1;
                let mut function = Function {
                    name: body.slice(end - load.name.text().len()..end),
                    size: load.code_size,
                    code: code.slice(..size),
                    lines,
                    eh_frame,
                };
                // Addresses up to now.
                function.lines.retain(|line| line.offset >= load.code_addr);
                function.lines.iter_mut().for_each(|line| line.offset -= load.code_addr);
                let CodeLoad { pid, tid, code_index, code_addr, .. } = load;
                let what = What::Load(function);
                self.events.push(Event {
                    time: header.timestamp,
                    pid,
                    tid,
                    index: code_index,
                    address: code_addr,
                    what,
                });
            }
            RecordKind::CODE_MOVE => {
                let (moved, _) = abi::parse::<CodeMove>(body, self.endian, ()).map_err(short)?;
                reaches(moved.new_code_addr, moved.code_size)?;
                let CodeMove { pid, tid, code_index: index, new_code_addr: address, .. } = moved;
                self.events.push(Event { time: header.timestamp, pid, tid, index, address, what: What::Move });
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
                    return Err(format!("it says that it has {} bytes, of {}", info.unwinding_size, data.len()));
                };
                self.eh_frame = data.slice(..len);
            }
            RecordKind::CODE_CLOSE => {}
            _ => return Err("its type is not known".to_owned()),
        }
        Ok(())
    }
}

fn reaches(address: u64, size: u64) -> std::result::Result<(), String> {
    let is_there = address.checked_add(size).is_some();
    if is_there { Ok(()) } else { Err(format!("{size} bytes at {address:#x} are beyond the last address")) }
}

/// The lines, with addresses for offsets. Lines of one file share its name.
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
