//! Processes related to kept samples: those of the samples, and their ancestors.

use super::own_ids::OwnIds;
use crate::rewrite::framework::mmap::{Mmap, Names};
use hashbrown::{HashMap, HashSet};
use perf_data::abi::bytes::ByteReader;
use perf_data::abi::record::descriptor::RecordFlags;
use perf_data::abi::record::{CpuMode, RecordType};
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use std::sync::Arc;

/// The process IDs of idle CPUs and of the kernel.
const KERNEL: [u32; 2] = [0, u32::MAX];

/// Forks and mappings of all processes.
#[derive(Debug, Default)]
pub(crate) struct ProcessTree {
    /// The parents of each process ID; reused IDs have several.
    parents: HashMap<u32, Vec<u32>>,
    names: Names,
    /// The processes in which each file was mapped.
    files: HashMap<Arc<[u8]>, HashSet<u32>>,
}

impl ProcessTree {
    /// Processes a record; uses FORK, MMAP and MMAP2.
    pub(crate) fn note(&mut self, meta: &Meta, raw: &Raw<'_>) {
        if raw.header().kind == RecordType::FORK {
            let mut body = ByteReader::new(raw.body(), raw.endian());
            // The FORK of a thread has its process as the parent.
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
            // A guest has its own process IDs: its files count as the kernel's, which are always kept.
            let pid = if is_about_host(raw) { mmap.pid } else { KERNEL[0] };
            self.files.entry(mmap.filename).or_default().insert(pid);
        }
    }

    /// Adds the ancestors of the processes, and the kernel.
    pub(crate) fn add_ancestors(&self, processes: &mut HashSet<u32>) {
        let mut next: Vec<_> = processes.iter().copied().collect();
        while let Some(pid) = next.pop() {
            let parents = self.parents.get(&pid).into_iter().flatten();
            next.extend(parents.filter(|&&parent| processes.insert(parent)));
        }
        processes.extend(KERNEL);
    }

    /// Whether a file was mapped in one of the processes, or never.
    pub(crate) fn has_file(&self, name: &[u8], processes: &HashSet<u32>) -> bool {
        self.files.get(name).is_none_or(|pids| pids.iter().any(|pid| processes.contains(pid)))
    }
}

/// The host process that a record other than a sample describes; `None` if it describes no particular one.
pub(crate) fn described_process(meta: &Meta, raw: &Raw<'_>) -> Option<u32> {
    let pid = match raw.header().kind.has(RecordFlags::TRAILER_PROCESS) {
        true => meta.events.split(raw).1.and_then(|trailer| trailer.task).map(|(pid, _)| pid),
        false => OwnIds::read(meta, raw).process,
    };
    pid.filter(|_| is_about_host(raw))
}

/// The processes related to kept samples.
#[derive(Debug, Default)]
pub(crate) struct RelatedProcesses {
    processes: HashSet<u32>,
    /// The latest process added.
    latest: Option<u32>,
    process_tree: ProcessTree,
}

impl RelatedProcesses {
    /// Adds the process of a kept sample.
    #[inline]
    pub(crate) fn add(&mut self, pid: u32) {
        // Consecutive samples are often of the same process.
        if self.latest != Some(pid) {
            self.processes.insert(pid);
            self.latest = Some(pid);
        }
    }

    /// Processes a record; uses FORK, MMAP and MMAP2.
    pub(crate) fn note(&mut self, meta: &Meta, raw: &Raw<'_>) {
        self.process_tree.note(meta, raw);
    }

    /// Adds the ancestors of the processes.
    pub(crate) fn with_ancestors(&mut self) {
        self.process_tree.add_ancestors(&mut self.processes);
    }

    /// Whether a file was mapped in one of the processes, or never.
    pub(crate) fn has_file(&self, name: &[u8]) -> bool {
        self.process_tree.has_file(name, &self.processes)
    }

    /// Whether this is one of the processes.
    pub(crate) fn has_process(&self, pid: u32) -> bool {
        self.processes.contains(&pid)
    }

    /// Whether a record is kept: it describes one of the processes, or no particular one.
    pub(crate) fn keeps(&self, meta: &Meta, raw: &Raw<'_>) -> bool {
        described_process(meta, raw).is_none_or(|pid| self.processes.contains(&pid))
    }
}

/// Whether a record describes the host: a guest has its own process IDs.
fn is_about_host(raw: &Raw<'_>) -> bool {
    !matches!(raw.header().misc.cpu_mode(), CpuMode::GUEST_KERNEL | CpuMode::GUEST_USER)
}
