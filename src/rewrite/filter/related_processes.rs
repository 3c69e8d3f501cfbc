//! Processes that have to do with what stays: those of samples that stay, and those from which they were forked.

use crate::abi::bytes::Reader;
use crate::abi::record::{CpuMode, RecordType};
use crate::rewrite::mmap::{Mmap, Names};
use crate::stream::meta::Meta;
use crate::stream::raw::Raw;
use hashbrown::{HashMap, HashSet};
use std::sync::Arc;

/// The process of idle CPUs, and that which stands for the kernel.
const KERNEL: [u32; 2] = [0, u32::MAX];

/// What records tell of processes: from which each was forked, and what was mapped in it.
#[derive(Debug, Default)]
pub struct Kin {
    /// From which each was forked. A number may be that of several, one after the other.
    parents: HashMap<u32, Vec<u32>>,
    names: Names,
    /// In which processes each file was mapped.
    files: HashMap<Arc<[u8]>, HashSet<u32>>,
}

impl Kin {
    /// Takes note of forks and maps.
    pub fn note(&mut self, meta: &Meta, raw: &Raw<'_>) {
        if raw.header().kind == RecordType::FORK {
            let mut body = Reader::new(raw.body(), raw.endian());
            if let (Some(pid), Some(ppid)) = (body.u32(), body.u32())
                && pid != ppid
            {
                let parents = self.parents.entry(pid).or_default();
                if !parents.contains(&ppid) {
                    parents.push(ppid);
                }
            }
        } else if Mmap::is_mmap(raw.header().kind)
            && let Some(mmap) = Mmap::read(meta, raw, &mut self.names)
        {
            let pid = if is_of_host(raw) { mmap.pid } else { KERNEL[0] };
            self.files.entry(mmap.filename).or_default().insert(pid);
        }
    }

    /// Adds those from which processes were forked, and the kernel.
    pub fn add_ancestors(&self, processes: &mut HashSet<u32>) {
        let mut next: Vec<_> = processes.iter().copied().collect();
        while let Some(pid) = next.pop() {
            let parents = self.parents.get(&pid).into_iter().flatten();
            next.extend(parents.filter(|&&parent| processes.insert(parent)));
        }
        processes.extend(KERNEL);
    }

    /// Whether a file was mapped in one of these, or in none that is told.
    pub fn has_file(&self, name: &[u8], processes: &HashSet<u32>) -> bool {
        self.files.get(name).is_none_or(|pids| pids.iter().any(|pid| processes.contains(pid)))
    }
}

/// Of which process of the host a record tells; `None` where it is none in particular.
pub fn process_of(meta: &Meta, raw: &Raw<'_>) -> Option<u32> {
    let pid = match raw.header().kind {
        RecordType::MMAP
        | RecordType::MMAP2
        | RecordType::COMM
        | RecordType::FORK
        | RecordType::EXIT
        | RecordType::READ
        | RecordType::ITRACE_START
        | RecordType::NAMESPACES => Reader::new(raw.body(), raw.endian()).u32(),
        RecordType::SWITCH | RecordType::SWITCH_CPU_WIDE => {
            meta.events.split(raw).1.and_then(|trailer| trailer.task).map(|(pid, _)| pid)
        }
        _ => None,
    };
    pid.filter(|_| is_of_host(raw))
}

/// Processes that have to do with what stays.
#[derive(Debug, Default)]
pub struct Related {
    processes: HashSet<u32>,
    /// The latest that was added.
    latest: Option<u32>,
    kin: Kin,
}

impl Related {
    /// A sample of the process stays.
    #[inline]
    pub fn stays(&mut self, pid: u32) {
        if self.latest != Some(pid) {
            self.processes.insert(pid);
            self.latest = Some(pid);
        }
    }

    /// Takes note of forks and maps.
    pub fn note(&mut self, meta: &Meta, raw: &Raw<'_>) {
        self.kin.note(meta, raw);
    }

    /// Adds those from which they were forked.
    pub fn with_ancestors(&mut self) {
        self.kin.add_ancestors(&mut self.processes);
    }

    /// Whether a file was mapped in one of these, or in none that is told.
    pub fn has_file(&self, name: &[u8]) -> bool {
        self.kin.has_file(name, &self.processes)
    }

    /// Whether a record stays: it tells of one of these, or of no certain process.
    pub fn keeps(&self, meta: &Meta, raw: &Raw<'_>) -> bool {
        process_of(meta, raw).is_none_or(|pid| self.processes.contains(&pid))
    }
}

/// Whether a record tells of the host: a guest's processes have numbers of their own.
fn is_of_host(raw: &Raw<'_>) -> bool {
    !matches!(raw.header().misc.cpu_mode(), CpuMode::GUEST_KERNEL | CpuMode::GUEST_USER)
}
