//! Collects the mapped files, and those that contain samples.

use crate::rewrite::framework::mmap::{Mmap, Names};
use crate::rewrite::framework::pass::PreScan;
use crate::rewrite::quipper::remap::branches;
use hashbrown::{HashMap, HashSet};
use perf_data::abi::bytes::{ByteReader, Words};
use perf_data::abi::record::mmap2::MappedFile;
use perf_data::abi::record::{CpuMode, Misc, RecordType};
use perf_data::abi::sample::callchain::Context;
use perf_data::error::Result;
use perf_data::session::Session;
use perf_data::session::space::Space;
use perf_data::stream::Sink;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use perf_symbols::object::build_id::Id;
use perf_symbols::object::host::Inode;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Which objects get a build ID.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// Those that contain samples, callers or branches.
    #[default]
    Hit,
    /// All mapped objects.
    All,
}

/// The kernel's name in build ID tables; in mappings it is followed by the reference symbol.
pub const KERNEL: &[u8] = b"[kernel.kallsyms]";

/// The process ID of kernel mappings.
const KERNEL_PID: u32 = u32::MAX;

/// `PROT_EXEC` of mmap(2).
pub const PROT_EXEC: u32 = 4;

/// Everything mapped under one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MappedObject {
    /// Name as in the build ID table.
    pub name: Arc<[u8]>,
    /// Kernel or user space.
    pub mode: CpuMode,
    /// Whether any of its mappings is executable.
    pub is_code: bool,
    /// Whether it contains a sample.
    pub is_hit: bool,
    /// The files that had the name, and the end of the mapped part of each.
    pub files: BTreeMap<FileKey, u64>,
}

/// Identifies a file by what its mappings record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileKey {
    /// Device and inode.
    pub inode: Option<Inode>,
    /// Recorded build ID.
    pub build_id: Option<Id>,
}

impl FileKey {
    /// The identity of a mapping's file.
    pub fn new(mmap: &Mmap) -> Self {
        let file = mmap.file.as_ref();
        Self { inode: file.and_then(Inode::from_map), build_id: file.and_then(MappedFile::build_id).and_then(Id::new) }
    }
}

/// Whether a mapping is of the host's kernel or user space; `None` for guests.
fn mode(mmap: &Mmap, misc: Misc) -> Option<CpuMode> {
    match misc.cpu_mode() {
        CpuMode::GUEST_KERNEL | CpuMode::GUEST_USER | CpuMode::HYPERVISOR => None,
        CpuMode::KERNEL => Some(CpuMode::KERNEL),
        _ if mmap.pid == KERNEL_PID => Some(CpuMode::KERNEL),
        _ => Some(CpuMode::USER),
    }
}

/// The object name, file and mode of a mapping; `None` for guests.
pub fn mapped(mmap: &Mmap, misc: Misc) -> Option<(&[u8], FileKey, CpuMode)> {
    let mode = mode(mmap, misc)?;
    Some((object_name(&mmap.filename), FileKey::new(mmap), mode))
}

fn object_name(filename: &[u8]) -> &[u8] {
    if filename.starts_with(KERNEL) { KERNEL } else { filename }
}

/// The pre-scan that collects all objects; in time order if it must find those that contain samples.
pub struct ObjectScan {
    scope: Scope,
    /// Whether it finds objects that contain samples.
    looks_up: bool,
    names: Names,
    /// The objects, in the order of their first mapping.
    pub objects: Vec<MappedObject>,
    by_name: HashMap<Arc<[u8]>, usize>,
    session: Session,
    /// Addresses already looked up, with the version of the address space.
    looked_up: HashSet<(u64, Space, u64)>,
    /// Processes with samples in memory that may be JIT code.
    pub jit_processes: BTreeSet<u32>,
    /// The metadata at the end of the recording.
    pub meta: Option<Meta>,
}

/// Maximum number of remembered addresses. Then all are forgotten: to look one up again changes nothing.
const MAX_LOOKED_UP: usize = 1 << 20;

impl ObjectScan {
    /// Creates the pre-scan.
    pub fn new(scope: Scope) -> Self {
        Self {
            scope,
            looks_up: scope == Scope::Hit,
            names: Names::default(),
            objects: Vec::new(),
            by_name: HashMap::new(),
            session: Session::default(),
            looked_up: HashSet::new(),
            jit_processes: BTreeSet::new(),
            meta: None,
        }
    }

    /// Also finds the processes with samples in JIT code if all objects are wanted. The records must arrive in time order.
    pub fn with_processes(self) -> Self {
        Self { looks_up: true, ..self }
    }

    /// The scan as the pre-scan of a pass that does not need the processes.
    pub(super) fn pre_scan(&mut self) -> PreScan<'_> {
        match self.scope {
            // The file of a sample is the one that was mapped at its time.
            Scope::Hit => PreScan::in_time_order(self),
            Scope::All => PreScan::in_file_order(self),
        }
    }

    /// The mappings and processes at the end of the recording, if samples are looked up.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Marks the objects of a user call chain of a process, unwound from the stack dump of the sample that was last recorded.
    pub fn unwound(&mut self, pid: u32, chain: &Words<'_>) {
        let view_id = self.session.mark_running(pid).view;
        self.chain(view_id, pid, Space::User, chain);
    }

    /// The objects that get a build ID.
    pub fn wanted(&self) -> impl Iterator<Item = &MappedObject> {
        self.objects.iter().filter(|object| object.is_hit || self.scope == Scope::All)
    }

    fn map(&mut self, meta: &Meta, raw: &Raw<'_>) {
        let misc = raw.header().misc;
        let Some(mmap) = Mmap::read(meta, raw, &mut self.names) else { return };
        let Some((name, key, mode)) = mapped(&mmap, misc) else { return };
        let is_code = !misc.contains(Misc::MMAP_DATA) || mmap.prot & PROT_EXEC != 0;
        let index = match self.by_name.get(name) {
            Some(&index) => index,
            None => {
                let (name, files): (Arc<[u8]>, _) = (name.into(), BTreeMap::new());
                self.by_name.insert(Arc::clone(&name), self.objects.len());
                self.objects.push(MappedObject { name, mode, is_code: false, is_hit: false, files });
                self.objects.len() - 1
            }
        };
        let object = &mut self.objects[index];
        object.is_code |= is_code;
        let end = object.files.entry(key).or_default();
        *end = (*end).max(mmap.pgoff.saturating_add(mmap.len));
    }

    fn sample(&mut self, meta: &Meta, raw: &Raw<'_>) -> Option<()> {
        let (_, event) = meta.events.find(raw)?;
        let view = event.sample(raw).ok()?;
        let pid = view.task.map_or(0, |(pid, _)| pid);
        let space = Space::from(event.cpu_mode(&view, raw));
        let view_id = self.session.mark_running(pid).view;
        if let Some(ip) = view.ip {
            self.hit(view_id, pid, space, ip);
        }
        if let Some(chain) = view.callchain {
            self.chain(view_id, pid, space, &chain);
        }
        for address in view.branch_stack.iter().flat_map(branches).flatten() {
            self.hit(view_id, pid, Space::Unknown, address);
        }
        Some(())
    }

    /// Processes a CALLCHAIN_DEFERRED record.
    fn deferred(&mut self, meta: &Meta, raw: &Raw<'_>) -> Option<()> {
        let (body, trailer) = meta.events.split(raw);
        let mut reader = ByteReader::new(body, raw.endian());
        let (_cookie, nr) = (reader.u64()?, reader.u64()?);
        let chain = reader.words(nr)?;
        let (pid, _) = trailer?.task?;
        let view_id = self.session.mark_running(pid).view;
        self.chain(view_id, pid, Space::User, &chain);
        Some(())
    }

    fn chain(&mut self, view_id: u64, pid: u32, mut space: Space, chain: &Words<'_>) {
        let mut words = chain.iter();
        while let Some(word) = words.next() {
            match Context::of(word) {
                Some(context) => {
                    if context == Context::USER_DEFERRED {
                        // Skip the cookie.
                        words.next();
                    }
                    space = context.into();
                }
                None => self.hit(view_id, pid, space, word),
            }
        }
    }

    fn hit(&mut self, view_id: u64, pid: u32, space: Space, address: u64) {
        if self.looked_up.len() >= MAX_LOOKED_UP {
            self.looked_up.clear();
        }
        if !self.looked_up.insert((view_id, space, address)) {
            return;
        }
        let Some(map) = self.session.map_at(pid, space, address) else { return };
        let map = self.session.map(map);
        self.jit_processes.extend(map.pid);
        let name = object_name(&map.filename);
        if let Some(&index) = self.by_name.get(name) {
            self.objects[index].is_hit = true;
        }
    }
}

impl Sink for ObjectScan {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        let kind = raw.header().kind;
        if Mmap::is_mmap(kind) {
            self.map(meta, raw);
        }
        if self.looks_up {
            match kind {
                RecordType::SAMPLE => drop(self.sample(meta, raw)),
                RecordType::CALLCHAIN_DEFERRED => drop(self.deferred(meta, raw)),
                _ => drop(self.session.apply(meta, raw)),
            }
        }
        Ok(())
    }

    fn end(&mut self, meta: &Meta) -> Result<()> {
        self.meta = Some(meta.clone());
        Ok(())
    }
}
