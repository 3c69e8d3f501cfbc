//! What takes the place of what a recording tells: one function for each thing, which counts.

use super::addresses::Addresses;
use super::category::{Kept, What};
use super::key::Key;
use super::names::Names;
use super::permutation::Permutation;
use crate::session::space::Space;
use crate::stream::events::is_time;
use hashbrown::{HashMap, HashSet};
use std::collections::BTreeMap;

/// Ranges of numbers of processes, each up to below the next one's first: those that the kernel gives, larger ones, as merged
/// recordings have, and those that are negative for readers. A number stays in its range.
const PID_RANGES: [u32; 4] = [1, 1 << 22, 1 << 31, u32::MAX];

/// How many ids of events it is remembered of what they have become.
const REMEMBERED: usize = 1 << 16;

/// When a recording begins whose times are replaced: a second after the clock began.
pub(super) const START: u64 = 1_000_000_000;

/// Replaces, and counts what it does.
#[derive(Debug)]
pub struct Replace {
    /// What stays.
    pub kept: Kept,
    pub(super) key: Key,
    pub(super) names: Names,
    /// Where addresses come to be; known behind the look.
    pub addresses: Option<Addresses>,
    /// Orders of the numbers of [`PID_RANGES`].
    pids: [Permutation; 3],
    /// What ids of events have become.
    ids: HashMap<u64, u64>,
    /// The first time of the recording.
    pub first_time: u64,
    /// Tracepoints that are probes of one's own, by their `config`.
    pub probes: HashSet<u64>,
    /// Their names.
    pub probe_names: HashSet<Vec<u8>>,
    /// Types of events that are probes.
    pub probe_types: HashSet<u32>,
    /// Types of events of which it is known that they are none.
    pub pmu_types: HashSet<u32>,
    /// Whether it is known how the samples of an event are laid out, by its number, once that was asked.
    pub(super) layouts: Vec<Option<bool>>,
    /// What was done.
    pub told: Summary,
}

/// What was done with a recording.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// How often each [`What`] was replaced, or left out of records.
    pub replaced: [u64; What::NAMED.len()],
    /// How many records, and which other things, could not be judged, or are nothing but what is to be left out.
    pub left_out: BTreeMap<String, u64>,
}

impl Replace {
    /// By a key; all but what is kept.
    pub fn new(key: Key, kept: Kept) -> Self {
        Self {
            kept,
            names: Names::new(&key),
            addresses: None,
            pids: [0, 1, 2].map(|range| {
                let count = PID_RANGES[range + 1] - PID_RANGES[range];
                Permutation::new(&key, "pids", range as u64, count.into())
            }),
            ids: HashMap::new(),
            key,
            first_time: 0,
            probes: HashSet::new(),
            probe_names: HashSet::new(),
            probe_types: HashSet::new(),
            pmu_types: HashSet::new(),
            layouts: Vec::new(),
            told: Summary::default(),
        }
    }

    /// Whether something is replaced or goes; if so, it is counted.
    #[inline]
    pub fn replaces(&mut self, what: What) -> bool {
        if self.kept.has(what) {
            return false;
        }
        self.told.replaced[what as usize] += 1;
        true
    }

    /// Counts what is left out.
    pub fn leave_out(&mut self, what: impl Into<String>) {
        *self.told.left_out.entry(what.into()).or_default() += 1;
    }

    /// The name of a map.
    pub fn map(&mut self, name: &[u8]) -> Vec<u8> {
        if !self.replaces(What::Paths) {
            return name.to_vec();
        }
        let to = self.names.map(name).to_vec();
        match guest_pid(&to) {
            Some((before, pid, behind)) if !self.kept.has(What::Pids) => {
                [before, self.pid(pid).to_string().as_bytes(), behind].concat()
            }
            _ => to,
        }
    }

    /// The name of a thread of this number. `:123` is what perf calls thread 123 if it does not know its name.
    pub fn comm(&mut self, comm: &[u8], tid: u32) -> Vec<u8> {
        if comm == format!(":{tid}").as_bytes() {
            return format!(":{}", self.pid(tid)).into_bytes();
        }
        if self.replaces(What::Comms) { self.names.comm(comm).to_vec() } else { comm.to_vec() }
    }

    /// The path of a cgroup.
    pub fn cgroup_path(&mut self, path: &[u8]) -> Vec<u8> {
        if self.replaces(What::Cgroups) { self.names.path(path) } else { path.to_vec() }
    }

    /// The id of a cgroup, which is the inode of its folder.
    pub fn cgroup_id(&mut self, id: u64) -> u64 {
        if id != 0 && self.replaces(What::Cgroups) { self.key.number("cgroup", &[id]) >> 16 } else { id }
    }

    /// The name of a kernel symbol.
    pub fn symbol(&mut self, name: &[u8]) -> Vec<u8> {
        if self.replaces(What::Symbols) { self.names.symbol(name) } else { name.to_vec() }
    }

    /// The id of an event, or of one of its streams; 0 is none. They go whatever is kept: the ids of a damaged recording may
    /// be any of its bytes.
    #[inline]
    pub fn id(&mut self, id: u64) -> u64 {
        if id == 0 {
            return id;
        }
        if let Some(&to) = self.ids.get(&id) {
            return to;
        }
        // Below 2^53, so that JSON has numbers for them.
        let to = (self.key.number("id", &[id]) >> 11).max(1);
        if self.ids.len() >= REMEMBERED {
            self.ids.clear();
        }
        self.ids.insert(id, to);
        to
    }

    /// The ids of an event.
    pub fn ids(&mut self, ids: &mut [u64]) {
        ids.iter_mut().for_each(|id| *id = self.id(*id));
    }

    /// The tag of a BPF program.
    pub fn tag(&mut self, tag: [u8; 8]) -> [u8; 8] {
        if self.replaces(What::Symbols) { self.names.tag(tag) } else { tag }
    }

    /// An address.
    #[inline]
    pub fn address(&mut self, space: Space, address: u64) -> u64 {
        if !self.replaces(What::Addresses) {
            return address;
        }
        self.addresses.as_mut().map_or(0, |addresses| addresses.of(space, address))
    }

    /// The number of a process or thread; that of the idle task and that of none stay.
    #[inline]
    pub fn pid(&mut self, pid: u32) -> u32 {
        if matches!(pid, 0 | u32::MAX) || !self.replaces(What::Pids) {
            return pid;
        }
        let range = PID_RANGES[1..3].iter().filter(|&&first| pid >= first).count();
        let first = PID_RANGES[range];
        self.pids[range].of((pid - first).into()) as u32 + first
    }

    /// A time, if it is one.
    #[inline]
    pub fn time(&mut self, time: u64) -> u64 {
        if !is_time(time) || !self.replaces(What::Times) {
            return time;
        }
        time.saturating_sub(self.first_time).saturating_add(START)
    }

    /// A build id, of the same length.
    pub fn build_id(&mut self, id: &mut [u8]) {
        if id.iter().any(|&byte| byte != 0) && self.replaces(What::BuildIds) {
            let digest = self.key.digest("build id", &[id]);
            id.iter_mut().zip(digest).for_each(|(to, byte)| *to = byte);
        }
    }

    /// What takes the place of the inode that is identified by these numbers; `None` where they are kept.
    pub fn inode(&mut self, parts: [u64; 4]) -> Option<u64> {
        let is_replaced = parts != [0; 4] && self.replaces(What::Inodes);
        is_replaced.then(|| self.key.number("inode", &parts) >> 16)
    }

    /// A namespace, by what kind it is of.
    pub fn namespace(&mut self, dev: u64, ino: u64) -> (u64, u64) {
        if [dev, ino] == [0; 2] || !self.replaces(What::Inodes) {
            return (dev, ino);
        }
        (0, self.key.number("namespace", &[dev, ino]) >> 32)
    }
}

/// The number of a guest's process in the name of its kernel, and what is around it.
fn guest_pid(name: &[u8]) -> Option<(&[u8], u32, &[u8])> {
    let start = b"[guest.kernel.kallsyms.".len();
    let (before, rest) = name.split_at_checked(start).filter(|(before, _)| *before == b"[guest.kernel.kallsyms.")?;
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (pid, behind) = rest.split_at(digits);
    Some((before, std::str::from_utf8(pid).ok()?.parse().ok()?, behind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_processes_are_others_in_the_same_range() {
        let mut replace = Replace::new(Key::new(&[4; 16]).unwrap(), Kept::new(&[], &[What::Pids]));
        for (pid, range) in [
            (1, 1..1 << 22),
            ((1 << 22) - 1, 1..1 << 22),
            (1 << 22, 1 << 22..1 << 31),
            (10_004_711, 1 << 22..1 << 31),
            (u32::MAX - 1, 1 << 31..u32::MAX),
        ] {
            let to = replace.pid(pid);
            assert!(to != pid && range.contains(&to), "{pid}: {to}");
        }
        assert_eq!([0, u32::MAX].map(|pid| replace.pid(pid)), [0, u32::MAX]);
    }

    #[test]
    fn only_a_thread_without_a_name_is_called_by_its_number() {
        let mut replace = Replace::new(Key::new(&[4; 16]).unwrap(), Kept::default());
        assert_eq!(replace.comm(b":4711", 4711), b":4711");
        for own in [&b":87654321"[..], b":04711", b":+4711"] {
            let to = replace.comm(own, 4711);
            assert!(to != own && !to.starts_with(b":"), "{to:?}");
        }
    }
}
