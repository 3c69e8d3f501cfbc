//! Cache lines that several CPUs access, with what makes them expensive: a CPU must fetch what another has modified.

use super::data_text::{ANONYMOUS, named_data};
use super::location::{LocationId, Locations};
use crate::profile::accesses::AccessField;
use crate::profile::intern::stacks::FrameId;
use crate::profile::labels::Label;
use crate::profile::{Profile, Row};
use hashbrown::HashMap;
use perf_data::abi::sample::data_src::{DataSrc, mem};
use perf_data::session::names::NameId;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::ops::AddAssign;

/// Bytes in a cache line.
const LINE: u64 = 64;

/// Numbers of accesses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct AccessCounts {
    /// Loads.
    pub loads: u64,
    /// Stores.
    pub stores: u64,
    /// Loads of a line that another CPU of the same socket had modified (HITM).
    pub local_hitm: u64,
    /// Those of another socket.
    pub remote_hitm: u64,
    /// Loads from the cache of another CPU, which did not say whether it was modified.
    pub peer: u64,
    /// Sum of the latencies of loads in cycles.
    pub load_cycles: u64,
}

impl AccessCounts {
    /// Accesses with a data source, in the terms of perf c2c.
    fn new(source: DataSrc, samples: u64, cycles: u64) -> Self {
        let has = |field, bits: u64| source.get(field) & bits != 0;
        let mut counts = Self::default();
        if has(DataSrc::MEM_OP, mem::OP_STORE) {
            counts.stores = samples;
        }
        if !has(DataSrc::MEM_OP, mem::OP_LOAD) {
            return counts;
        }
        (counts.loads, counts.load_cycles) = (samples, cycles);
        let level = |bits| has(DataSrc::MEM_LVL, bits);
        let is_peer = has(DataSrc::MEM_SNOOPX, mem::SNOOPX_PEER);
        if level(mem::LVL_HIT) && level(mem::LVL_L3) && has(DataSrc::MEM_SNOOP, mem::SNOOP_HITM) {
            counts.local_hitm = samples;
        }
        if level(mem::LVL_HIT) && level(mem::LVL_L2 | mem::LVL_L3) && is_peer {
            counts.peer = samples;
        }
        if level(mem::LVL_REM_CCE1 | mem::LVL_REM_CCE2) || source.get(DataSrc::MEM_REMOTE) == 1 {
            match source.get(DataSrc::MEM_SNOOP) {
                snoop if snoop & mem::SNOOP_HIT != 0 => {}
                snoop if snoop & mem::SNOOP_HITM != 0 => counts.remote_hitm = samples,
                _ if is_peer => counts.peer = samples,
                _ => {}
            }
        }
        counts
    }

    /// Loads of what another CPU had modified.
    pub fn hitm(&self) -> u64 {
        self.local_hitm + self.remote_hitm
    }
}

impl AddAssign for AccessCounts {
    fn add_assign(&mut self, other: Self) {
        self.loads += other.loads;
        self.stores += other.stores;
        self.local_hitm += other.local_hitm;
        self.remote_hitm += other.remote_hitm;
        self.peer += other.peer;
        self.load_cycles = self.load_cycles.saturating_add(other.load_cycles);
    }
}

/// Accesses of a thread in a function to an offset of a cache line.
#[derive(Clone, Debug)]
pub struct SharedAccess {
    /// Offset in the line.
    pub offset: u64,
    /// The function.
    pub location: Option<LocationId>,
    /// Process and thread ID, and the name of the thread.
    pub thread: (u32, u32, Option<NameId>),
    /// The CPUs.
    pub cpus: BTreeSet<u32>,
    /// The accesses.
    pub counts: AccessCounts,
    /// Name of the data with the offset in it, if known.
    pub data: Option<String>,
}

/// A cache line.
#[derive(Clone, Debug)]
pub struct CacheLine {
    /// Its address.
    pub address: u64,
    /// All accesses.
    pub counts: AccessCounts,
    /// The CPUs that accessed it.
    pub cpus: BTreeSet<u32>,
    /// The accesses by offset, function and thread, the most expensive first.
    pub accesses: Vec<SharedAccess>,
}

/// The cache lines of a profile of [accesses](crate::profile::options::ProfileOptions::accesses).
#[derive(Clone, Debug, Default)]
pub struct CacheLines {
    /// Those that several CPUs accessed, at least one of which stored or had modified them; the most expensive first.
    pub shared: Vec<CacheLine>,
    /// Number of all lines.
    pub count: usize,
    /// All accesses.
    pub counts: AccessCounts,
}

/// Whose memory a line is in: lines of memory without a file at the same address belong to different processes.
type Owner = Option<u32>;

impl CacheLines {
    /// The labels that samples need.
    pub const LABELS: &[Label] = &[Label::Pid, Label::Tid, Label::ThreadName, Label::Cpu];

    /// The fields of accesses that they need.
    pub const FIELDS: &[AccessField] = &[AccessField::Source, AccessField::Address, AccessField::Frame];

    /// Groups the accesses of all events.
    pub fn new(profile: &Profile, locations: &Locations) -> Self {
        let mut lines: HashMap<(u64, Owner), Vec<&Row>> = HashMap::new();
        let mut all = Self::default();
        for row in &profile.rows {
            let access = |field| profile.tables.labels.access(row.labels, field).unwrap_or(0);
            let (source, address) = (DataSrc(access(AccessField::Source)), access(AccessField::Address));
            let counts = AccessCounts::new(source, row.samples, row.value);
            all.counts += counts;
            if address != 0 && counts.loads + counts.stores > 0 {
                lines.entry((address & !(LINE - 1), owner(profile, locations, row, address))).or_default().push(row);
            }
        }
        all.count = lines.len();
        let lines = lines.into_iter().map(|((address, _), rows)| line(profile, locations, address, &rows));
        let is_shared = |line: &CacheLine| {
            let AccessCounts { stores, peer, .. } = line.counts;
            line.counts.hitm() + peer > 0 || line.cpus.len() > 1 && stores > 0
        };
        all.shared = lines.filter(is_shared).collect();
        all.shared.sort_by_key(|line| (Reverse(cost(&line.counts)), line.address));
        all
    }
}

/// What the most expensive ones have most of.
fn cost(counts: &AccessCounts) -> (u64, u64, u64) {
    (counts.hitm(), counts.peer, counts.loads + counts.stores)
}

fn owner(profile: &Profile, locations: &Locations, row: &Row, address: u64) -> Owner {
    if address >> 63 == 1 {
        return None;
    }
    let frame = profile.tables.labels.access(row.labels, AccessField::Frame);
    let location = frame.and_then(|frame| locations.frame_locations(frame as FrameId).last().copied());
    let file = location.map(|location| locations.text(locations.get(location).dso));
    let is_file = file.is_some_and(|file| !file.starts_with('[') && !file.as_bytes().starts_with(ANONYMOUS));
    if is_file { None } else { profile.tables.labels.value(row.labels, Label::Pid).map(|pid| pid as u32) }
}

fn line(profile: &Profile, locations: &Locations, address: u64, rows: &[&Row]) -> CacheLine {
    let tables = &profile.tables;
    let mut accesses: HashMap<(u64, Option<LocationId>, u32), SharedAccess> = HashMap::new();
    let (mut cpus, mut counts) = (BTreeSet::new(), AccessCounts::default());
    for row in rows {
        let access = |field| tables.labels.access(row.labels, field).unwrap_or(0);
        let label = |label| tables.labels.value(row.labels, label);
        let id = |wanted| label(wanted).unwrap_or(0) as u32;
        let innermost = tables.stacks.stack(row.stack).first();
        let location = innermost.and_then(|&frame| locations.frame_locations(frame).first().copied());
        let offset = access(AccessField::Address) - address;
        let own = AccessCounts::new(DataSrc(access(AccessField::Source)), row.samples, row.value);
        let entry = accesses.entry((offset, location, id(Label::Tid))).or_insert_with(|| SharedAccess {
            offset,
            location,
            thread: (id(Label::Pid), id(Label::Tid), label(Label::ThreadName).map(|name| NameId(name as u32))),
            cpus: BTreeSet::new(),
            counts: AccessCounts::default(),
            data: named_data(access(AccessField::Frame) as FrameId, tables),
        });
        let cpu = label(Label::Cpu).map(|cpu| cpu as u32);
        entry.cpus.extend(cpu);
        entry.counts += own;
        cpus.extend(cpu);
        counts += own;
    }
    let mut accesses: Vec<_> = accesses.into_values().collect();
    accesses.sort_by_key(|access| (Reverse(cost(&access.counts)), access.offset, access.thread.1, access.location));
    CacheLine { address, counts, cpus, accesses }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(op: u64, level: u64, snoop: u64, extended: u64, remote: u64) -> AccessCounts {
        let source = DataSrc(0)
            .with(DataSrc::MEM_OP, op)
            .with(DataSrc::MEM_LVL, level)
            .with(DataSrc::MEM_SNOOP, snoop)
            .with(DataSrc::MEM_SNOOPX, extended)
            .with(DataSrc::MEM_REMOTE, remote);
        AccessCounts::new(source, 3, 30)
    }

    #[test]
    fn only_loads_find_modified_lines() {
        let load = AccessCounts { loads: 3, load_cycles: 30, ..AccessCounts::default() };
        assert_eq!(counts(2, 0x0a, 2, 0, 0), load);
        assert_eq!(counts(2, 0x42, 0x10, 0, 0), AccessCounts { local_hitm: 3, ..load });
        assert_eq!(counts(2, 0x402, 0x10, 0, 0), AccessCounts { remote_hitm: 3, ..load });
        assert_eq!(counts(2, 0x22, 0, 2, 0), AccessCounts { peer: 3, ..load });
        assert_eq!(counts(2, 1, 1, 2, 1), AccessCounts { peer: 3, ..load });
        assert_eq!(counts(4, 0x0a, 0x10, 0, 0), AccessCounts { stores: 3, ..AccessCounts::default() });
        assert_eq!(counts(0, 0, 0, 0, 0), AccessCounts::default());
    }
}
