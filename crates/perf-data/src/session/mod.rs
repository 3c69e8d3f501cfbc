//! State of the machine over time: processes, threads and their mappings.

pub mod address_space;
pub mod id_table;
pub mod interned;
pub mod kernel_names;
pub mod map;
pub mod maps;
pub mod names;
pub mod process;
pub mod range_map;
pub mod slices;
pub mod space;
pub mod thread_name;

use crate::abi;
use crate::abi::record::cgroup::Cgroup;
use crate::abi::record::comm::Comm;
use crate::abi::record::ksymbol::{Ksymbol, KsymbolFlags};
use crate::abi::record::mmap::Mmap;
use crate::abi::record::mmap2::{MappedFile, Mmap2};
use crate::abi::record::namespaces::{Namespace, Namespaces};
use crate::abi::record::task::Task;
use crate::abi::record::{CpuMode, Misc, RecordType};
use crate::stream::meta::Meta;
use crate::stream::raw::Raw;
use address_space::{AddressSpace, SharedMaps, map_at};
use hashbrown::HashMap;
use map::{Map, MapId};
use maps::Maps;
use names::{NameId, Names};
use process::{Process, SessionThread};
use space::Space;
use std::collections::VecDeque;
use std::sync::Arc;
use thread_name::IDLE;

/// Effect of a record on a [`Session`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applied {
    /// It changed the state.
    Consumed,
    /// It is not about processes and mappings.
    NotApplicable,
    /// Its fields do not fit its size.
    Damaged,
}

/// State of the machine at the time of the last record.
#[derive(Default)]
pub struct Session {
    processes: HashMap<u32, Process>,
    threads: HashMap<u32, SessionThread>,
    kernel: Maps,
    guest_kernel: Maps,
    /// All different mappings so far.
    maps: Vec<Arc<Map>>,
    /// The same for other threads.
    shared_maps: SharedMaps,
    map_ids: HashMap<Arc<Map>, MapId>,
    /// Names of threads and cgroups, interned.
    pub names: Names,
    cgroups: HashMap<u64, NameId>,
    /// What is known about the files of processes.
    process_files: Arc<ProcessFiles>,
    /// Exited threads, oldest first.
    ended: VecDeque<ExitedThread>,
    /// Identifiers of views, by the generations of their mappings.
    views: HashMap<Generations, ViewId>,
    next_view: ViewId,
    /// Number of records that changed the state.
    state: u64,
}

/// Generations of all mappings that a lookup depends on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Generations {
    maps: u64,
    before_exec: u64,
    kernel: u64,
    guest: u64,
}

/// What is known about the files of processes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessFiles {
    /// Paths of the jitdumps that processes mapped last. A program maps its jitdump so that recordings refer to it.
    pub jit_dumps: HashMap<u32, Box<[u8]>>,
    /// Namespaces of processes, if recorded.
    pub namespaces: HashMap<u32, RecordedNamespaces>,
}

/// The namespaces that paths and process IDs depend on: inodes of their files in `/proc/PID/ns`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RecordedNamespaces {
    /// Mount namespace.
    pub mount: u64,
    /// PID namespace.
    pub pid: u64,
}

/// Identifier of a view: equal views resolve each address to the same mapping.
pub type ViewId = u64;

/// State of a process at a sample.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProcessState {
    /// View of its mappings and those of the kernel.
    pub view: ViewId,
    /// Its name.
    pub comm: Option<NameId>,
    /// The mapping of its main program.
    pub main_map: Option<MapId>,
}

/// Maximum number of remembered views: each change of a mapping makes one, so that a long recording of a JIT compiler has millions.
const MAX_VIEWS: usize = 1 << 16;

/// A thread that has exited.
struct ExitedThread {
    pid: u32,
    tid: u32,
}

/// Number of exited threads that are remembered. A sample can follow the exit of its thread, but not many later exits.
const MAX_EXITED: usize = 4096;

/// The pid of kernel mappings in MMAP records.
const KERNEL_PID: u32 = u32::MAX;

impl Session {
    /// Applies a record about processes, threads or mappings. Records must arrive in time order.
    pub fn apply(&mut self, meta: &Meta, raw: &Raw<'_>) -> Applied {
        let (body, _) = meta.events.split(raw);
        let misc = raw.header().misc;
        let applied = match raw.header().kind {
            RecordType::MMAP => abi::parse(body, raw.endian(), ()).map(|(mmap, _)| self.mmap(mmap, misc)),
            RecordType::MMAP2 => abi::parse(body, raw.endian(), (misc,)).map(|(mmap, _)| self.mmap2(mmap, misc)),
            RecordType::COMM => abi::parse(body, raw.endian(), ()).map(|(comm, _)| self.comm(comm, misc)),
            RecordType::FORK => abi::parse(body, raw.endian(), ()).map(|(task, _)| self.fork(task, misc)),
            RecordType::EXIT => abi::parse(body, raw.endian(), ()).map(|(task, _)| self.exit(task)),
            RecordType::CGROUP => abi::parse(body, raw.endian(), ()).map(|(cgroup, _)| self.cgroup(cgroup)),
            RecordType::NAMESPACES => {
                abi::parse(body, raw.endian(), ()).map(|(namespaces, _)| self.namespaces(&namespaces))
            }
            RecordType::KSYMBOL => abi::parse(body, raw.endian(), ()).map(|(symbol, _)| self.ksymbol(symbol)),
            _ => return Applied::NotApplicable,
        };
        self.state += 1;
        if applied.is_ok() { Applied::Consumed } else { Applied::Damaged }
    }

    /// Whether [`apply`](Self::apply) processes records of this type.
    pub fn depends_on(kind: RecordType) -> bool {
        matches!(
            kind,
            RecordType::MMAP
                | RecordType::MMAP2
                | RecordType::COMM
                | RecordType::FORK
                | RecordType::EXIT
                | RecordType::CGROUP
                | RecordType::NAMESPACES
                | RecordType::KSYMBOL
        )
    }

    /// Changes with the state.
    #[inline]
    pub fn state(&self) -> u64 {
        self.state
    }

    fn namespaces(&mut self, record: &Namespaces) {
        let inode = |index: usize| record.link_info.get(index).map(|namespace| namespace.ino);
        if let (Some(mount), Some(pid)) = (inode(Namespace::MNT), inode(Namespace::PID)) {
            let namespaces = RecordedNamespaces { mount, pid };
            // The threads of a process usually share them.
            if self.process_files.namespaces.get(&record.pid) != Some(&namespaces) {
                Arc::make_mut(&mut self.process_files).namespaces.insert(record.pid, namespaces);
            }
        }
    }

    fn mmap(&mut self, mmap: Mmap, misc: Misc) {
        let map = Map::new(mmap.addr, mmap.len, mmap.pgoff, mmap.filename.text(), None);
        self.insert(map, mmap.pid, misc);
    }

    fn mmap2(&mut self, mmap: Mmap2, misc: Misc) {
        let map = Map::new(mmap.addr, mmap.len, mmap.pgoff, mmap.filename.text(), mmap.file.build_id());
        let inode = match mmap.file {
            MappedFile::Inode { maj, min, ino, .. } if ino != 0 => Some((maj, min, ino)),
            _ => None,
        };
        self.insert(Map { inode, ..map }, mmap.pid, misc);
    }

    fn insert(&mut self, mut map: Map, pid: u32, misc: Misc) {
        if map.start >= map.limit {
            return;
        }
        map.is_data = misc.contains(Misc::MMAP_DATA);
        if map.filename.starts_with(b"[vdso") {
            // Kernels before 4.3 record its address.
            map.pgoff = 0;
        }
        let mode = misc.cpu_mode();
        let is_kernel = mode == CpuMode::KERNEL || (pid == KERNEL_PID && mode != CpuMode::GUEST_KERNEL);
        if is_kernel {
            map.raise_start_to_kernel();
        } else if Map::may_be_jit_code(&map.filename) {
            map.pid = Some(pid);
        } else if is_jit_dump(&map.filename) {
            Arc::make_mut(&mut self.process_files).jit_dumps.insert(pid, map.filename.clone());
        }
        let (start, limit, may_be_main) = (map.start, map.limit, map.may_be_main());
        let id = self.map_id(map);
        match mode {
            _ if is_kernel => self.kernel.insert(start, limit, id),
            CpuMode::GUEST_KERNEL => self.guest_kernel.insert(start, limit, id),
            // Processes of guests and hypervisors are known only by pids, which collide with those of the host.
            CpuMode::GUEST_USER | CpuMode::HYPERVISOR => {}
            _ => {
                let process = self.processes.entry(pid).or_default();
                if process.main_map.is_none() && may_be_main {
                    process.main_map = Some(id);
                }
                process.maps_mut().insert(start, limit, id);
            }
        }
    }

    fn map_id(&mut self, map: Map) -> MapId {
        let Self { maps, shared_maps, map_ids, .. } = self;
        if let Some(&id) = map_ids.get(&map) {
            return id;
        }
        let (map, id) = (Arc::new(map), MapId(maps.len() as u32));
        maps.push(Arc::clone(&map));
        shared_maps.push(Arc::clone(&map));
        map_ids.insert(map, id);
        id
    }

    fn comm(&mut self, comm: Comm, misc: Misc) {
        let name = self.names.id(comm.comm.text());
        if comm.pid == comm.tid {
            let process = self.processes.entry(comm.pid).or_default();
            if misc.contains(Misc::COMM_EXEC) {
                process.exec();
            }
            process.comm = Some(name);
        }
        self.threads.insert(comm.tid, SessionThread { pid: comm.pid, comm: Some(name) });
    }

    fn fork(&mut self, task: Task, misc: Misc) {
        if task.pid != task.ppid {
            let parent = self.processes.get(&task.ppid);
            // For processes older than the recording, perf synthesizes mappings, and a FORK with this flag.
            let child = match parent {
                Some(parent) if misc.contains(Misc::FORK_EXEC) => Process::named(parent.comm),
                Some(parent) => parent.fork(),
                None => Process::default(),
            };
            self.processes.insert(task.pid, child);
        }
        let comm = match self.threads.get(&task.ptid) {
            Some(parent) => parent.comm,
            // As in perf, the first threads have the name of the idle threads until they are named.
            None => (task.ptid == 0).then(|| self.names.id(IDLE.as_bytes())),
        };
        self.threads.insert(task.tid, SessionThread { pid: task.pid, comm });
    }

    /// Samples can follow the exit of a thread, so it is removed only after many later exits.
    fn exit(&mut self, task: Task) {
        if task.pid == task.tid
            && let Some(process) = self.processes.get_mut(&task.pid)
        {
            process.has_exited = true;
        }
        self.ended.push_back(ExitedThread { pid: task.pid, tid: task.tid });
        if self.ended.len() > MAX_EXITED
            && let Some(ExitedThread { pid, tid }) = self.ended.pop_front()
        {
            if pid != tid {
                self.threads.remove(&tid);
            } else if self.processes.get(&pid).is_some_and(|process| process.has_exited) {
                self.processes.remove(&pid);
                self.threads.remove(&tid);
            }
        }
    }

    fn cgroup(&mut self, cgroup: Cgroup) {
        let path = self.names.id(cgroup.path.text());
        self.cgroups.insert(cgroup.id, path);
    }

    fn ksymbol(&mut self, symbol: Ksymbol) {
        let limit = symbol.addr.saturating_add(symbol.len.into());
        let map = Map::new(symbol.addr, symbol.len.into(), 0, symbol.name.text(), None);
        if !symbol.flags.contains(KsymbolFlags::UNREGISTER) {
            if symbol.addr < limit {
                let id = self.map_id(map);
                self.kernel.insert(symbol.addr, limit, id);
            }
        } else if self.map_ids.get(&map).copied() == self.kernel.find(symbol.addr) {
            self.kernel.remove(symbol.addr, limit);
        }
    }

    /// A mapping by index.
    pub fn map(&self, id: MapId) -> &Map {
        &self.maps[id.0 as usize]
    }

    /// A process by pid.
    pub fn process(&self, pid: u32) -> Option<&Process> {
        self.processes.get(&pid)
    }

    /// What is known about the files of processes.
    pub fn process_files(&self) -> &Arc<ProcessFiles> {
        &self.process_files
    }

    /// A thread by tid.
    pub fn thread(&self, tid: u32) -> Option<&SessionThread> {
        self.threads.get(&tid)
    }

    /// The path of a cgroup by ID.
    pub fn cgroup_path(&self, id: u64) -> Option<NameId> {
        self.cgroups.get(&id).copied()
    }

    /// The mapping at an address of a space, as seen by a process.
    pub fn map_at(&self, pid: u32, space: Space, address: u64) -> Option<MapId> {
        let process = match space {
            Space::User | Space::Unknown => self.processes.get(&pid).map(Process::maps),
            _ => None,
        };
        map_at(process, [&self.kernel, &self.guest_kernel], space, address)
    }

    /// All mappings, as seen by a process.
    pub fn address_space(&self, pid: u32) -> AddressSpace {
        AddressSpace {
            process: self.processes.get(&pid).map(|process| process.maps().clone()),
            kernel: self.kernel.clone(),
            guest_kernel: self.guest_kernel.clone(),
            maps: self.shared_maps.clone(),
        }
    }

    /// Changes with the kernel mappings, which all processes share.
    pub fn kernel_generation(&self) -> u64 {
        self.kernel.generation()
    }

    /// State that a sample needs of its process, in one lookup. Marks the process as running.
    #[inline]
    pub fn mark_running(&mut self, pid: u32) -> ProcessState {
        let [kernel, guest] = [self.kernel.generation(), self.guest_kernel.generation()];
        let no_process = Generations { kernel, guest, ..Generations::default() };
        let Some(process) = self.processes.get_mut(&pid) else {
            return ProcessState {
                view: Self::view(&mut self.views, &mut self.next_view, no_process),
                ..ProcessState::default()
            };
        };
        process.has_exited = false;
        let [maps, before_exec] = process.generation();
        let generations = Generations { maps, before_exec, ..no_process };
        if process.latest_view.0 != generations {
            let view = Self::view(&mut self.views, &mut self.next_view, generations);
            process.latest_view = (generations, view);
        }
        ProcessState { view: process.latest_view.1, comm: process.comm, main_map: process.main_map }
    }

    /// The view of a running process, if [`mark_running`](Self::mark_running) would change nothing.
    pub fn running(&self, pid: u32) -> Option<ViewId> {
        let [kernel, guest] = [self.kernel.generation(), self.guest_kernel.generation()];
        let Some(process) = self.processes.get(&pid) else {
            return self.views.get(&Generations { kernel, guest, ..Generations::default() }).copied();
        };
        let [maps, before_exec] = process.generation();
        let (generations, view) = process.latest_view;
        let is_latest = generations == Generations { maps, before_exec, kernel, guest };
        (is_latest && !process.has_exited).then_some(view)
    }

    /// Identifier of a view. A forgotten view gets a new one; none is reused.
    fn view(views: &mut HashMap<Generations, ViewId>, next: &mut ViewId, generations: Generations) -> ViewId {
        if views.len() >= MAX_VIEWS {
            views.clear();
        }
        *views.entry(generations).or_insert_with(|| {
            *next += 1;
            *next
        })
    }
}
/// Whether this is the path of a jitdump: `jit-PID.dump`.
fn is_jit_dump(path: &[u8]) -> bool {
    let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    name.starts_with(b"jit-") && name.ends_with(b".dump")
}
