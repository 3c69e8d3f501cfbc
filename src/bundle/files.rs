//! Collects the files that a symbolization of a recording needs, as a conversion on this machine finds them.

use super::entry::{KALLSYMS, directory};
use crate::rewrite::build_ids::objects::KERNEL;
use bytes::Bytes;
use perf_data::abi::record::build_id::unpadded;
use perf_data::session::RecordedNamespaces;
use perf_data::session::kernel_names::module_name;
use perf_data::session::map::Map;
use perf_symbols::object::build_id::Id;
use perf_symbols::object::host::Inode;
use perf_symbols::object::recorded_file;
use perf_symbols::symbol::ObjectKey;
use perf_symbols::symbol::elf::ElfSource;
use perf_symbols::symbol::find::SearchOptions;
use perf_symbols::symbol::find::attempt::{Attempt, Role};
use perf_symbols::symbol::find::candidate_paths::{
    DWZ, JIT_DUMP, PERF_MAP, process_file, split_dwarf_name, without_build_id,
};
use perf_symbols::symbol::jit_dump::JitDumpSource;
use perf_symbols::symbol::kernel::KernelSource;
use perf_symbols::symbol::object::Object;
use perf_symbols::symbol::perf_map::PerfMapSource;
use perf_symbols::symbol::source::{OpenedObject, Source};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The symbols of the running kernel.
const LIVE_KALLSYMS: &str = "/proc/kallsyms";

/// A file to pack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackedFile {
    /// Path in the archive.
    pub entry: PathBuf,
    /// Path on this machine.
    pub path: PathBuf,
    /// The process whose JIT code it describes; `None` for files of objects. Such a file has no build ID, so its owner is checked
    /// when it is read.
    pub pid: Option<u32>,
}

/// An object with files to pack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackedObject {
    /// Build ID, if known.
    pub id: Option<Id>,
    /// Its directory in the archive.
    pub directory: PathBuf,
    /// Its files.
    pub files: Vec<PackedFile>,
}

impl PackedObject {
    fn add(&mut self, name: &str, path: PathBuf) {
        self.files.push(PackedFile { entry: self.directory.join(name), path, pid: None });
    }

    /// The object with the files that were found for it, and that of dwz; empty if none were found.
    fn with_files(mut self, attempts: Vec<Attempt>, opened: Option<&dyn OpenedObject>) -> Vec<Self> {
        let mut dwz = None;
        for Attempt { role, path, .. } in attempts.into_iter().filter(Attempt::is_used) {
            match role {
                Role::Object if self.directory.starts_with("[vdso]") => self.add("vdso", path),
                Role::Object => self.add("elf", path),
                Role::DebugFile => self.add("debug", path),
                Role::Kallsyms => self.add(KALLSYMS, path),
                Role::Package => {
                    // It is searched beside the object, or beside the debug file if there is no other.
                    let has_elf = self.files.iter().any(|file| file.entry.ends_with("elf"));
                    self.add(if has_elf { "elf.dwp" } else { "debug.dwp" }, path);
                }
                Role::Alternate => {
                    let id = Object::open(&path).ok().flatten().and_then(|file| file.build_id());
                    dwz = id.and_then(|id| {
                        let mut dwz =
                            Self { id: Some(id), directory: directory(DWZ.as_bytes(), id)?, files: Vec::new() };
                        dwz.add("debug", path);
                        Some(dwz)
                    });
                }
                // The vdso has no file, split DWARF is added below, and code maps belong to processes.
                Role::RunningVdso | Role::Split | Role::JitDump | Role::PerfMap | Role::Source => {}
            }
        }
        for (id, path) in opened.map(OpenedObject::split_files).unwrap_or_default() {
            self.add(&split_dwarf_name(id), path);
        }
        if self.files.is_empty() { Vec::new() } else { [self].into_iter().chain(dwz).collect() }
    }
}

/// A recorded name as a path; `None` if it is not UTF-8.
fn as_path(name: &[u8]) -> Option<&Path> {
    str::from_utf8(name).ok().map(Path::new)
}

/// The search for files to pack.
#[derive(Debug)]
pub struct FileSearch {
    kernel: KernelSource,
    elf: ElfSource,
    jit: JitDumpSource,
    maps: PerfMapSource,
    options: Arc<SearchOptions>,
}

impl FileSearch {
    /// Creates a search with these options.
    pub fn new(options: SearchOptions) -> Self {
        let options = Arc::new(options);
        Self {
            kernel: KernelSource::new(Arc::clone(&options)),
            elf: ElfSource::new(Arc::clone(&options)),
            jit: JitDumpSource::new(Arc::clone(&options)),
            maps: PerfMapSource::new(Arc::clone(&options)),
            options,
        }
    }

    /// Reads a file to pack.
    ///
    /// # Errors
    /// Fails if it cannot be read.
    pub fn read(&self, file: &PackedFile) -> io::Result<Bytes> {
        match file.pid {
            Some(pid) => self.options.read_code_map(&file.path, pid),
            // A file of procfs reports a size of 0, so it cannot be mapped.
            None if file.path == Path::new(LIVE_KALLSYMS) => fs::read(&file.path).map(Bytes::from),
            None => recorded_file::read_stored(&file.path),
        }
    }

    /// The files of an object with this name and build ID, and of the dwz file that it refers to. Empty if there are none.
    pub fn object(&self, name: &[u8], id: Id, is_kernel_code: bool) -> Vec<PackedObject> {
        // Frames are looked up by IDs without padding.
        let id = Id::new(unpadded(id.bytes())).unwrap_or(id);
        let Some((path, directory)) = as_path(name).zip(directory(name, id)) else { return Vec::new() };
        // An address only marks the object as a module for the search; it is not used to resolve anything here.
        let load_address = module_name(path).filter(|_| is_kernel_code).map(|_| 0);
        let key = ObjectKey { path: path.to_owned(), build_id: Some(id), load_address, ..ObjectKey::default() };
        let object = PackedObject { id: Some(id), directory, files: Vec::new() };
        let mut attempts = Vec::new();
        if name == KERNEL {
            self.kernel.kallsyms(&key, &mut attempts);
            let image = self.kernel.image(&key, &mut attempts);
            return object.with_files(attempts, image.as_deref());
        }
        let opened = self.elf.open(&key, &mut attempts);
        object.with_files(attempts, opened.as_deref())
    }

    /// The files of an object without build ID, if it has a file that is the recorded one.
    pub fn without_build_id(&self, name: &[u8], inode: Option<Inode>) -> Vec<PackedObject> {
        // JIT code has no file of its own; its functions are in the files of the process.
        let Some(path) = as_path(name).filter(|_| !Map::may_be_jit_code(name)) else { return Vec::new() };
        let Some(directory) = without_build_id(Path::new(""), path) else { return Vec::new() };
        let key = ObjectKey { path: path.to_owned(), inode, ..ObjectKey::default() };
        let mut attempts = Vec::new();
        let opened = self.elf.open(&key, &mut attempts);
        PackedObject { id: None, directory, files: Vec::new() }.with_files(attempts, opened.as_deref())
    }

    /// The files with the functions of a process's JIT code: its jitdump, if it recorded one, and its map file.
    pub fn process(
        &self,
        pid: u32,
        jit_dump: Option<PathBuf>,
        namespaces: Option<RecordedNamespaces>,
    ) -> Vec<PackedFile> {
        let key = ObjectKey { path: "//anon".into(), pid: Some(pid), jit_dump, namespaces, ..ObjectKey::default() };
        let mut attempts = Vec::new();
        // A jitdump includes the map file.
        if self.jit.open(&key, &mut attempts).is_none() {
            self.maps.open(&key, &mut attempts);
        }
        let file = |attempt: Attempt| {
            let name = if attempt.role == Role::JitDump { JIT_DUMP } else { PERF_MAP };
            PackedFile { entry: process_file(Path::new(""), pid, name), path: attempt.path, pid: Some(pid) }
        };
        attempts.into_iter().filter(Attempt::is_used).map(file).collect()
    }
}
