//! Processes as perf_to_profile sees them: maps, names, and the main mapping.

use super::build_ids::BuildIds;
use crate::rewrite::framework::mmap::Mmap;
use hashbrown::HashMap;
use perf_data::abi::record::comm::Comm;
use perf_data::abi::record::ksymbol::{Ksymbol, KsymbolFlags, KsymbolType};
use perf_data::abi::record::task::Task;
use perf_data::session::map::MapId;
use perf_data::session::map::PAGE;
use perf_data::session::maps::Maps;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Prefix of the names of kernel maps.
pub(super) const KERNEL: &[u8] = b"[kernel.kallsyms]";

/// The pid of the kernel in records.
pub(super) const KERNEL_PID: u32 = u32::MAX;

/// Load addresses of position-dependent programs on x86-64 and i386.
const FIXED_STARTS: [u64; 2] = [FIXED_START, 0x804_8000];
const FIXED_START: u64 = 0x40_0000;

/// A map, preserved in the profile even if other mappings overlap it later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mapping {
    /// First address.
    pub start: u64,
    /// One past the last address.
    pub limit: u64,
    /// Offset in the file.
    pub pgoff: u64,
    /// Path or name.
    pub filename: Arc<[u8]>,
    /// Build ID, empty if unknown.
    pub build_id: Arc<[u8]>,
}

/// A process.
#[derive(Debug, Default)]
pub(super) struct Process {
    maps: Maps,
    comm: Option<Arc<[u8]>>,
    main: Option<MapId>,
    /// Whether it ever had maps, its own or inherited ones.
    has_maps: bool,
    /// Whether it had its own maps.
    has_mapped: bool,
    /// Changes whenever the process does, and is unique among processes.
    epoch: u64,
    /// Locations of this process in the profile, by address.
    pub locations: BTreeMap<u64, u32>,
    /// Mappings of this process in the profile.
    pub emitted: HashMap<MapId, u32>,
}

/// All processes, and all maps that ever existed.
#[derive(Debug, Default)]
pub(super) struct Processes {
    by_pid: HashMap<u32, Process>,
    mappings: Vec<Mapping>,
    /// The first map of the kernel itself.
    kernel: Option<MapId>,
    epoch: u64,
    kernel_epoch: u64,
}

impl Processes {
    /// Returns a process, creating an empty one if needed.
    pub(super) fn process(&mut self, pid: u32) -> &mut Process {
        let Self { by_pid, epoch, .. } = self;
        by_pid.entry(pid).or_insert_with(|| {
            *epoch += 1;
            Process { epoch: *epoch, ..Process::default() }
        })
    }

    /// Two numbers, one of which changes whenever the resolution of a process's samples may change.
    #[inline]
    pub(super) fn epochs(&mut self, pid: u32) -> [u64; 2] {
        [self.process(pid).epoch, self.kernel_epoch]
    }

    /// Returns a process that is about to change.
    fn changed(&mut self, pid: u32) -> &mut Process {
        self.epoch += 1;
        let epoch = self.epoch;
        if pid == KERNEL_PID {
            self.kernel_epoch = epoch;
        }
        let process = self.by_pid.entry(pid).or_default();
        process.epoch = epoch;
        process
    }

    /// Returns a map.
    pub(super) fn mapping(&self, id: MapId) -> &Mapping {
        &self.mappings[id.0 as usize]
    }

    /// Adds a map that belongs to no process.
    pub(super) fn add(&mut self, mapping: Mapping) -> MapId {
        self.mappings.push(mapping);
        MapId(self.mappings.len() as u32 - 1)
    }

    /// Finds the map at an address of a process, or of the kernel if that is allowed.
    pub(super) fn find(&self, pid: u32, address: u64, may_be_kernel: bool) -> Option<MapId> {
        let find = |pid| self.by_pid.get(&pid)?.maps.find(address);
        find(pid).or_else(|| if may_be_kernel { find(KERNEL_PID) } else { None })
    }

    /// Adds a map.
    pub(super) fn mmap(&mut self, mmap: &Mmap, build_ids: &BuildIds) {
        let mapping = Mapping {
            start: kernel_start(mmap),
            limit: mmap.start.saturating_add(mmap.len),
            pgoff: mmap.pgoff,
            filename: Arc::clone(&mmap.filename),
            build_id: build_ids.build_id(mmap),
        };
        self.insert(mmap.pid, mapping);
    }

    /// Adds a BPF program.
    pub(super) fn ksymbol(&mut self, symbol: &Ksymbol) {
        if symbol.kind == KsymbolType::BPF && symbol.flags == KsymbolFlags::empty() {
            let mapping = Mapping {
                start: symbol.addr,
                limit: symbol.addr.saturating_add(symbol.len.into()),
                pgoff: 0,
                filename: symbol.name.text().into(),
                build_id: Arc::default(),
            };
            self.insert(KERNEL_PID, mapping);
        }
    }

    fn insert(&mut self, pid: u32, mapping: Mapping) {
        let Mapping { start, limit, pgoff, .. } = mapping;
        if start >= limit {
            return;
        }
        let (name, may_be_main) = (Arc::clone(&mapping.filename), may_be_main(&mapping.filename));
        let id = self.add(mapping);
        if pid == KERNEL_PID && name.starts_with(KERNEL) {
            self.kernel.get_or_insert(id);
        }
        let process = self.changed(pid);
        (process.has_maps, process.has_mapped) = (true, true);
        process.maps.insert(start, limit, id);
        while let Some((&address, _)) = process.locations.range(start..limit).next() {
            process.locations.remove(&address);
        }
        if FIXED_STARTS.contains(&start) {
            process.main = Some(id);
            return;
        }
        match process.main {
            None if may_be_main => process.main = Some(id),
            None => {}
            Some(main) => {
                let main = &mut self.mappings[main.0 as usize];
                let is_same = start.checked_sub(pgoff) == Some(FIXED_START);
                if main.start == FIXED_START && main.filename.is_empty() && is_same {
                    main.filename = name;
                }
            }
        }
    }

    /// Sets the name of a process from that of its main thread. It starts a new program with `is_exec`, or if the
    /// process did not have its own maps.
    pub(super) fn comm(&mut self, comm: &Comm, is_exec: bool) {
        if comm.pid != comm.tid {
            return;
        }
        let process = self.process(comm.pid);
        process.comm = Some(comm.comm.text().into());
        if is_exec || !process.has_mapped {
            let process = self.changed(comm.pid);
            process.main = None;
            process.locations.clear();
            process.emitted.clear();
        }
    }

    /// Copies the parent's state to a child.
    pub(super) fn fork(&mut self, task: &Task) {
        if task.pid == task.ppid {
            return;
        }
        let Some(parent) = self.by_pid.get(&task.ppid) else { return };
        let maps = parent.has_maps.then(|| parent.maps.clone());
        let (comm, main) = (parent.comm.clone(), parent.main);
        let child = self.changed(task.pid);
        if let Some(maps) = maps {
            (child.maps, child.has_maps) = (maps, true);
        }
        child.comm = comm.or(child.comm.take());
        child.main = main.or(child.main);
    }

    /// The main mapping of a process. A process that was sampled in the kernel without one gets a mapping named after
    /// its comm.
    pub(super) fn main(&mut self, pid: u32, in_kernel: bool) -> Option<MapId> {
        let process = self.by_pid.get(&pid);
        let main = process.and_then(|process| process.main);
        if main.is_some() || !in_kernel {
            return main;
        }
        match process.and_then(|process| process.comm.clone()) {
            Some(filename) => {
                let build_id = self.kernel.map(|kernel| Arc::clone(&self.mapping(kernel).build_id)).unwrap_or_default();
                Some(self.add(Mapping { start: 0, limit: 1, pgoff: 0, filename, build_id }))
            }
            None => self.kernel.filter(|_| pid == 0),
        }
    }
}

/// Old kernels are recorded as mapped from about 0; they begin at their reference symbol.
fn kernel_start(mmap: &Mmap) -> u64 {
    const UPPER_HALF: u64 = 1 << 63;
    let reaches_up = mmap.start <= UPPER_HALF && mmap.start.saturating_add(mmap.len) > UPPER_HALF;
    if reaches_up && mmap.pgoff > UPPER_HALF { mmap.pgoff / PAGE * PAGE } else { mmap.start }
}

/// Whether a mapping of this name may be the main one: not a library, a module or something other than a file. Only
/// names in brackets at both ends are not files, so `[guest.kernel.kallsyms]_text` qualifies.
fn may_be_main(name: &[u8]) -> bool {
    const VIRTUAL: [&[u8]; 4] = [b"//", b"/memfd:", b"[anon:", KERNEL];
    const OTHER: [&[u8]; 4] = [b".ko", b".so", b".so (deleted)", b"/classes.jsa"];
    let is_bracketed = name.starts_with(b"[") && name.ends_with(b"]");
    let is_version = |rest: &[u8]| rest.iter().all(|b| b.is_ascii_digit() || *b == b'.');
    let file = name.strip_suffix(b" (deleted)").unwrap_or(name);
    let versioned = file.windows(4).rposition(|part| part == b".so.").is_some_and(|at| is_version(&file[at + 4..]));
    let is_virtual = is_bracketed || VIRTUAL.iter().any(|start| name.starts_with(start));
    !versioned && !is_virtual && !OTHER.iter().any(|end| name.ends_with(end))
}
