//! Mappings of one file that were told in pieces become one, and pieces that were moved to huge pages get their file's name
//! back.
//!
//! A mapping is told when it is found that a later one continues it, so that the recording is looked at twice.

use crate::abi::record::mmap2::MappedFile;
use crate::abi::record::{Body, Misc, Record, RecordHeader, RecordType};
use crate::abi::text::PaddedStr;
use crate::container::block::{Block, Origin};
use crate::container::write::encoded;
use crate::error::Result;
use crate::stream::Sink;
use crate::stream::meta::Meta;
use crate::stream::raw::{Gap, Raw};
use hashbrown::HashMap;
use std::mem;

// Of `mmap`.
const PROT_READ: u32 = 1;
const PROT_READ_WRITE: u32 = 3;
const PROT_EXEC: u32 = 4;
const MAP_TYPE: u32 = 0xf;

/// A mapping that a record tells.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Map {
    pid: u32,
    start: u64,
    len: u64,
    pgoff: u64,
    filename: Vec<u8>,
    /// Inode or build id; not there in MMAP records.
    file: Option<MappedFile>,
    prot: u32,
    flags: u32,
    is_by_build_id: bool,
    /// Whether it was there before the recording.
    is_synthesized: bool,
}

impl Map {
    fn of(meta: &Meta, raw: &Raw<'_>) -> Option<Self> {
        let record = Record::read(raw.bytes(), &meta.context(raw))?;
        let is_by_build_id = record.header.misc.contains(Misc::MMAP_BUILD_ID);
        let is_synthesized = meta.events.time(raw).is_none();
        Some(match record.body {
            Body::Mmap(map) => Self {
                pid: map.pid,
                start: map.addr,
                len: map.len,
                pgoff: map.pgoff,
                filename: map.filename.text().to_vec(),
                file: None,
                prot: 0,
                flags: 0,
                is_by_build_id,
                is_synthesized,
            },
            Body::Mmap2(map) => Self {
                pid: map.pid,
                start: map.addr,
                len: map.len,
                pgoff: map.pgoff,
                filename: map.filename.text().to_vec(),
                file: Some(map.file),
                prot: map.prot,
                flags: map.flags,
                is_by_build_id,
                is_synthesized,
            },
            _ => return None,
        })
    }

    fn end(&self) -> u64 {
        self.start.saturating_add(self.len)
    }

    /// Whether it is one of those that code is copied to, to lie in huge pages.
    fn is_huge(&self) -> bool {
        let name = &self.filename[..];
        matches!(name, b"//anon" | b"/anon_hugepage" | b"/anon_hugepage (deleted)")
            || name.rsplit(|&byte| byte == b'/').next().is_some_and(|name| name.starts_with(b"x.buildid_"))
    }

    fn is_executable(&self) -> bool {
        self.prot & PROT_EXEC != 0
    }

    /// Whether another one goes on where this one ends, in memory and in the file.
    fn continues(&self, next: &Self) -> bool {
        let is_named_alike = self.filename == next.filename || self.is_huge() || next.is_huge();
        let is_protected_alike = self.prot == next.prot
            || matches!((self.prot, next.prot), (PROT_READ, PROT_READ_WRITE) | (PROT_READ_WRITE, PROT_READ));
        let is_shared_alike = self.flags & MAP_TYPE == next.flags & MAP_TYPE || self.is_executable();
        // What a program's zeros take behind the file's end is no file's.
        let is_zeros = !self.is_executable() && !self.is_huge() && next.filename == b"//anon";
        is_named_alike
            && is_protected_alike
            && is_shared_alike
            && !self.filename.starts_with(b"/dev/")
            && self.end() == next.start
            && (is_zeros || self.pgoff.saturating_add(self.len) == next.pgoff)
    }
}

/// Looks at all mappings first.
#[derive(Default)]
pub struct Look {
    maps: Vec<Map>,
}

impl Sink for Look {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        if is_map(raw) {
            self.maps.extend(Map::of(meta, raw));
        }
        Ok(())
    }
}

fn is_map(raw: &Raw<'_>) -> bool {
    matches!(raw.header.kind, RecordType::MMAP | RecordType::MMAP2)
}

/// What becomes of a mapping; of most nothing.
enum Change {
    /// Another one tells it.
    Gone,
    /// It is told otherwise.
    To(Box<Map>),
}

/// What becomes of mappings, by their number in the recording.
#[derive(Default)]
pub struct Plan {
    changes: HashMap<u64, Change>,
}

impl Look {
    /// What is to become of them.
    pub fn plan(mut self) -> Plan {
        let mut by_process: HashMap<u32, Vec<usize>> = HashMap::new();
        for (index, map) in self.maps.iter().enumerate() {
            by_process.entry(map.pid).or_default().push(index);
        }
        let before = self.maps.clone();
        let mut gone = vec![false; self.maps.len()];
        for process in by_process.values() {
            let synthesized: Vec<_> =
                process.iter().copied().filter(|&index| self.maps[index].is_synthesized).collect();
            self.name_huge(&synthesized);
            self.combine(process, &mut gone);
        }
        let mut changes = HashMap::new();
        for (index, (map, was)) in self.maps.into_iter().zip(before).enumerate() {
            if gone[index] {
                changes.insert(index as u64, Change::Gone);
            } else if map != was {
                changes.insert(index as u64, Change::To(Box::new(map)));
            }
        }
        Plan { changes }
    }

    /// Gives huge pages the name of the file that goes on behind them.
    fn name_huge(&mut self, process: &[usize]) {
        for at in 1..process.len() {
            let next = self.maps[process[at]].clone();
            if next.is_huge() || next.pgoff == 0 {
                continue;
            }
            let mut first = at;
            while first > 0 {
                let map = &self.maps[process[first - 1]];
                if !map.is_huge() || map.end() != self.maps[process[first]].start {
                    break;
                }
                first -= 1;
            }
            let Some(len) = next.start.checked_sub(self.maps[process[first]].start).filter(|&len| len > 0) else {
                continue;
            };
            let before = first.checked_sub(1).map(|before| &self.maps[process[before]]);
            let before = before.filter(|map| map.filename == next.filename && map.end() == next.start - len);
            let mut pgoff = before.map_or(0, |map| map.pgoff.saturating_add(map.len));
            if pgoff.checked_add(len) != Some(next.pgoff) {
                continue;
            }
            for &index in &process[first..at] {
                let map = &mut self.maps[index];
                map.filename.clone_from(&next.filename);
                (map.file, map.is_by_build_id) = (next.file, next.is_by_build_id);
                map.pgoff = pgoff;
                pgoff += map.len;
            }
        }
    }

    /// Puts mappings together that continue each other.
    fn combine(&mut self, process: &[usize], gone: &mut [bool]) {
        let Some((&first, rest)) = process.split_first() else { return };
        let mut last = first;
        for &index in rest {
            if self.maps[last].continues(&self.maps[index]) {
                self.maps[last].len += self.maps[index].len;
                gone[index] = true;
            } else {
                last = index;
            }
        }
    }
}

/// Passes records on with their mappings changed by a plan.
pub struct Combine<S> {
    sink: S,
    plan: Plan,
    /// How many mappings there were.
    at: u64,
}

impl<S: Sink> Combine<S> {
    /// Puts a plan before a sink.
    pub fn new(sink: S, plan: Plan) -> Self {
        Self { sink, plan, at: 0 }
    }

    /// The record that tells a mapping otherwise.
    fn changed(meta: &Meta, raw: &Raw<'_>, map: &mut Map) -> Result<Option<Vec<u8>>> {
        let Some(mut record) = Record::read(raw.bytes(), &meta.context(raw)) else { return Ok(None) };
        let filename = |filename: &mut PaddedStr, name: Vec<u8>| {
            if filename.text() != name {
                *filename = PaddedStr::new(&name, 8);
            }
        };
        match &mut record.body {
            Body::Mmap(body) => {
                (body.len, body.pgoff) = (map.len, map.pgoff);
                filename(&mut body.filename, mem::take(&mut map.filename));
            }
            Body::Mmap2(body) => {
                (body.len, body.pgoff) = (map.len, map.pgoff);
                body.file = map.file.unwrap_or(body.file);
                filename(&mut body.filename, mem::take(&mut map.filename));
                record.header.misc.set(Misc::MMAP_BUILD_ID, map.is_by_build_id);
            }
            _ => return Ok(None),
        }
        encoded(record.to_bytes(raw.endian)).map(Some)
    }
}

impl<S: Sink> Sink for Combine<S> {
    fn begin(&mut self, meta: &Meta) -> Result<()> {
        self.sink.begin(meta)
    }

    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        if !is_map(raw) || Map::of(meta, raw).is_none() {
            return self.sink.record(meta, raw);
        }
        self.at += 1;
        match self.plan.changes.get_mut(&(self.at - 1)) {
            None => self.sink.record(meta, raw),
            Some(Change::Gone) => Ok(()),
            Some(Change::To(map)) => {
                let Some(bytes) = Self::changed(meta, raw, map)? else { return self.sink.record(meta, raw) };
                // It is told to be where the record is of which it was made.
                let (base, origin) = (raw.offset(), Origin::Frame);
                let block = Block { bytes: bytes.into(), base, origin, in_memory: true, ..raw.block.clone() };
                let Some(header) = RecordHeader::peek(&block.bytes, raw.endian) else { return Ok(()) };
                self.sink.record(meta, &Raw { header, block: &block, at: 0, ..*raw })
            }
        }
    }

    fn gap(&mut self, meta: &Meta, gap: &Gap<'_>) -> Result<()> {
        self.sink.gap(meta, gap)
    }

    fn end(&mut self, meta: &Meta) -> Result<()> {
        self.sink.end(meta)
    }
}
