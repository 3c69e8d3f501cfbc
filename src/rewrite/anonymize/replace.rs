//! Replaces values by category, and counts the replacements.

use super::addresses::Addresses;
use super::category::{Category, KeptCategories};
use super::key::Key;
use super::names::Names;
use super::permutation::Permutation;
use hashbrown::{HashMap, HashSet};
use perf_data::session::space::Space;
use perf_data::stream::events::is_time;
use std::collections::BTreeMap;

/// Starts of the ranges of process IDs, within which IDs are permuted: those of the kernel, larger ones (as in merged
/// recordings), and those that readers treat as negative.
const PID_RANGES: [u32; 4] = [1, 1 << 22, 1 << 31, u32::MAX];

/// Maximum number of cached event IDs. A replacement depends on the ID and the key alone, so that any can be computed again.
const CACHED_IDS: usize = 1 << 16;

/// The first time of a recording whose times are replaced: one second.
pub(super) const START: u64 = 1_000_000_000;

/// Replaces values and counts the replacements.
#[derive(Debug)]
pub(crate) struct Replacer {
    /// The categories that are kept.
    pub kept: KeptCategories,
    pub(super) key: Key,
    pub(super) names: Names,
    /// Replaces addresses; available after the pre-scan.
    pub addresses: Option<Addresses>,
    /// Permutations of the [`PID_RANGES`].
    pids: [Permutation; 3],
    /// Cache of replaced event IDs.
    ids: HashMap<u64, u64>,
    /// The earliest time of the recording.
    pub first_time: u64,
    /// `config` of the tracepoints that are user-defined probes.
    pub probes: HashSet<u64>,
    /// Names of these tracepoints.
    pub probe_names: HashSet<Vec<u8>>,
    /// Event types of probes.
    pub probe_types: HashSet<u32>,
    /// Event types of known PMUs.
    pub pmu_types: HashSet<u32>,
    /// By event number: whether the layout of its samples is known.
    pub(super) layouts: Vec<Option<bool>>,
    /// What was done.
    pub summary: Summary,
}

/// What was done with a recording.
#[derive(Clone, Debug, Default)]
pub(crate) struct Summary {
    /// Replacements in each [`Category`], or removals from records.
    pub replaced: [u64; Category::NAMED.len()],
    /// Numbers of records and other things that were removed as a whole.
    pub removed: BTreeMap<String, u64>,
}

impl Replacer {
    pub(crate) fn new(key: Key, kept: KeptCategories) -> Self {
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
            summary: Summary::default(),
        }
    }

    /// Whether a category is replaced or removed; if so, counts it.
    #[inline]
    pub(crate) fn replaces(&mut self, category: Category) -> bool {
        if self.kept.has(category) {
            return false;
        }
        self.summary.replaced[category as usize] += 1;
        true
    }

    /// Counts something that is removed.
    pub(crate) fn note_removal(&mut self, description: impl Into<String>) {
        *self.summary.removed.entry(description.into()).or_default() += 1;
    }

    /// Replaces the name of a mapping.
    pub(crate) fn map(&mut self, name: &[u8]) -> Vec<u8> {
        if !self.replaces(Category::Paths) {
            return name.to_vec();
        }
        let to = self.names.map(name).to_vec();
        match guest_pid(&to) {
            Some((before, pid, after)) if !self.kept.has(Category::Pids) => {
                [before, self.pid(pid).to_string().as_bytes(), after].concat()
            }
            _ => to,
        }
    }

    /// Replaces a thread name. `:123` is perf's name for thread 123 if it has no other.
    pub(crate) fn comm(&mut self, comm: &[u8], tid: u32) -> Vec<u8> {
        if comm == format!(":{tid}").as_bytes() {
            return format!(":{}", self.pid(tid)).into_bytes();
        }
        if self.replaces(Category::Comms) { self.names.comm(comm).to_vec() } else { comm.to_vec() }
    }

    /// Replaces the path of a cgroup.
    pub(crate) fn cgroup_path(&mut self, path: &[u8]) -> Vec<u8> {
        if self.replaces(Category::Cgroups) { self.names.path(path) } else { path.to_vec() }
    }

    /// Replaces the ID of a cgroup, which is the inode of its directory.
    pub(crate) fn cgroup_id(&mut self, id: u64) -> u64 {
        if id != 0 && self.replaces(Category::Cgroups) { self.key.number("cgroup", &[id]) >> 16 } else { id }
    }

    /// Replaces the name of a kernel symbol.
    pub(crate) fn symbol(&mut self, name: &[u8]) -> Vec<u8> {
        if self.replaces(Category::Symbols) { self.names.symbol(name) } else { name.to_vec() }
    }

    /// Replaces the ID of an event or stream; 0 means none. IDs are always replaced: those of a corrupt recording may be any of
    /// its bytes.
    #[inline]
    pub(crate) fn id(&mut self, id: u64) -> u64 {
        if id == 0 {
            return id;
        }
        if let Some(&to) = self.ids.get(&id) {
            return to;
        }
        // Below 2^53, which JSON numbers represent exactly.
        let to = (self.key.number("id", &[id]) >> 11).max(1);
        // A corrupt recording may have any number of IDs: memory must not grow with them.
        if self.ids.len() >= CACHED_IDS {
            self.ids.clear();
        }
        self.ids.insert(id, to);
        to
    }

    /// Replaces the IDs of an event.
    pub(crate) fn ids(&mut self, ids: &mut [u64]) {
        ids.iter_mut().for_each(|id| *id = self.id(*id));
    }

    /// Replaces the tag of a BPF program.
    pub(crate) fn tag(&mut self, tag: [u8; 8]) -> [u8; 8] {
        if self.replaces(Category::Symbols) { self.names.tag(tag) } else { tag }
    }

    /// Replaces an address.
    #[inline]
    pub(crate) fn address(&mut self, space: Space, address: u64) -> u64 {
        if !self.replaces(Category::Addresses) {
            return address;
        }
        self.addresses.as_mut().map_or(0, |addresses| addresses.replace(space, address))
    }

    /// Replaces a process or thread ID; the idle task and "none" are kept.
    #[inline]
    pub(crate) fn pid(&mut self, pid: u32) -> u32 {
        if matches!(pid, 0 | u32::MAX) || !self.replaces(Category::Pids) {
            return pid;
        }
        let range = PID_RANGES[1..3].iter().filter(|&&first| pid >= first).count();
        let first = PID_RANGES[range];
        self.pids[range].permute((pid - first).into()) as u32 + first
    }

    /// Replaces a time, unless it is unset.
    #[inline]
    pub(crate) fn time(&mut self, time: u64) -> u64 {
        if !is_time(time) || !self.replaces(Category::Times) {
            return time;
        }
        time.saturating_sub(self.first_time).saturating_add(START)
    }

    /// Replaces a build ID by one of the same length.
    pub(crate) fn build_id(&mut self, id: &mut [u8]) {
        if id.iter().any(|&byte| byte != 0) && self.replaces(Category::BuildIds) {
            let digest = self.key.digest("build id", &[id]);
            id.iter_mut().zip(digest).for_each(|(to, byte)| *to = byte);
        }
    }

    /// The replacement of the inode identified by these numbers; `None` if inodes are kept.
    pub(crate) fn inode(&mut self, parts: [u64; 4]) -> Option<u64> {
        let is_replaced = parts != [0; 4] && self.replaces(Category::Inodes);
        is_replaced.then(|| self.key.number("inode", &parts) >> 16)
    }

    /// Replaces a namespace identified by device and inode.
    pub(crate) fn namespace(&mut self, dev: u64, ino: u64) -> (u64, u64) {
        if [dev, ino] == [0; 2] || !self.replaces(Category::Inodes) {
            return (dev, ino);
        }
        (0, self.key.number("namespace", &[dev, ino]) >> 32)
    }
}

/// Splits the name of a guest kernel at the process ID of its hypervisor.
fn guest_pid(name: &[u8]) -> Option<(&[u8], u32, &[u8])> {
    let start = b"[guest.kernel.kallsyms.".len();
    let (before, rest) = name.split_at_checked(start).filter(|(before, _)| *before == b"[guest.kernel.kallsyms.")?;
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (pid, after) = rest.split_at(digits);
    Some((before, std::str::from_utf8(pid).ok()?.parse().ok()?, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn process_ids_stay_in_their_range() {
        let mut replace = Replacer::new(Key::new(&[4; 16]).unwrap(), KeptCategories::new(&[], &[Category::Pids]));
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
    fn only_an_unnamed_thread_is_named_by_its_id() {
        let mut replace = Replacer::new(Key::new(&[4; 16]).unwrap(), KeptCategories::default());
        assert_eq!(replace.comm(b":4711", 4711), b":4711");
        for own in [&b":87654321"[..], b":04711", b":+4711"] {
            let to = replace.comm(own, 4711);
            assert!(to != own && !to.starts_with(b":"), "{to:?}");
        }
    }
}
