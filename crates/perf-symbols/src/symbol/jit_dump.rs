//! Functions and lines of JIT code from jitdumps.
//!
//! Frames are looked up after their samples were aggregated, without their times. Of functions that were at the same address one
//! after the other, the last takes precedence, as in a perf map; `--jit` distinguishes them by time.

use super::code::{FunctionCode, MissingCode};
use super::find::attempt::{Attempt, Outcome, Role};
use super::find::candidate_paths::{JIT_DUMP, below, process_file};
use super::find::containers::ContainerProcess;
use super::find::{Policy, SearchOptions};
use super::lookup::{FunctionFrame, Lookup};
use super::perf_map::PerfMapSource;
use super::source::{ObjectKey, OpenedObject, Source};
use crate::object::function_ranges::FunctionRanges;
use crate::object::image::ImageFunction;
use crate::object::jit_dump::{Dump, EventKind};
use crate::object::jit_files::dump_pid;
use bytes::Bytes;
use hashbrown::{HashMap, HashSet};
use perf_data::session::map::Map;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A source that reads the jitdumps that processes mapped.
#[derive(Debug)]
pub struct JitDumpSource {
    options: Arc<SearchOptions>,
    /// For functions that are not in the jitdump, such as stubs.
    maps: PerfMapSource,
}

impl JitDumpSource {
    /// Creates a source for the jitdumps at recorded paths, and in some directories.
    pub fn new(options: Arc<SearchOptions>) -> Self {
        Self { maps: PerfMapSource::new(Arc::clone(&options)), options }
    }

    /// Candidates for the jitdump of a process with this ID in its own PID namespace.
    fn paths(&self, recorded: Option<&Path>, pid: u32, container: Option<&ContainerProcess>) -> Vec<PathBuf> {
        let SearchOptions { symfs, perf_map_dirs, build_id_dirs, host, .. } = &*self.options;
        let name = format!("jit-{pid}.dump");
        let recorded_there = container.zip(recorded).and_then(|(process, path)| below(&process.root, path));
        let mut paths: Vec<PathBuf> = recorded_there.into_iter().collect();
        match (symfs, recorded) {
            (Some(root), Some(path)) => paths.extend(below(root, path).into_iter().chain([root.join(&name)])),
            (Some(root), None) => paths.push(root.join(&name)),
            (None, Some(path)) if host.is_none() && path.is_absolute() => paths.push(path.to_owned()),
            (None, _) => {}
        }
        paths.extend(perf_map_dirs.iter().map(|directory| directory.join(&name)));
        // Process IDs of another machine may be those of other programs here.
        let is_of_machine = |cache: &&PathBuf| symfs.as_ref().map_or(host.is_none(), |root| cache.starts_with(root));
        for cache in build_id_dirs.iter().filter(is_of_machine) {
            let mut directories: Vec<PathBuf> =
                fs::read_dir(cache.join("jit")).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
            // The names end in the date.
            directories.sort_unstable_by(|a, b| b.cmp(a));
            paths.extend(directories.iter().map(|directory| directory.join(&name)).filter(|path| path.is_file()));
        }
        let mut seen = HashSet::new();
        paths.retain(|path| seen.insert(path.clone()));
        paths
    }
}

impl JitDumpSource {
    /// The jitdump of the process whose memory a key describes.
    pub fn dump(&self, key: &ObjectKey, attempts: &mut Vec<Attempt>) -> Option<Dump> {
        let is_memory = Map::may_be_jit_code(key.path.as_os_str().as_encoded_bytes());
        if self.options.policy == Policy::No || !is_memory {
            return None;
        }
        let recorded = key.jit_dump.as_deref();
        let own_pid = recorded.and_then(|path| dump_pid(path.as_os_str().as_encoded_bytes()));
        let SearchOptions { containers, recorded: end, .. } = &*self.options;
        let container = key.pid.and_then(|pid| containers.process(pid, key.namespaces, *end));
        let pid = own_pid.or(container.as_ref().and_then(|process| process.own_pid)).or(key.pid)?;
        // Elsewhere, nothing shows the ID of a process in its container.
        let archived = key.pid.into_iter().flat_map(|pid| {
            self.options.archive_dirs.iter().map(move |directory| (process_file(directory, pid, JIT_DUMP), None))
        });
        let paths = self.paths(recorded, pid, container.as_ref()).into_iter().map(|path| (path, Some(pid)));
        for (path, pid) in archived.chain(paths) {
            let bytes = self.options.read_code_map(&path, key.pid.or(pid).unwrap_or_default());
            let dump = read(bytes, pid);
            let outcome = dump.as_ref().map_or_else(Outcome::clone, |_| Outcome::Used);
            attempts.push(Attempt { role: Role::JitDump, path, outcome });
            if let Ok(dump) = dump {
                return Some(dump);
            }
        }
        None
    }
}

impl Source for JitDumpSource {
    fn open(&self, key: &ObjectKey, attempts: &mut Vec<Attempt>) -> Option<Box<dyn OpenedObject>> {
        let functions = JitFunctions::new(self.dump(key, attempts)?);
        Some(Box::new(JitCode { functions, map: self.maps.open(key, attempts) }))
    }
}

/// Reads a jitdump, which must be of a process if its ID is given.
fn read(bytes: io::Result<Bytes>, pid: Option<u32>) -> Result<Dump, Outcome> {
    let bytes = bytes.map_err(|e: io::Error| match e.kind() {
        ErrorKind::NotFound => Outcome::NotFound,
        _ => Outcome::Unreadable(e.to_string()),
    })?;
    let dump = Dump::read(&bytes, "").map_err(|_| Outcome::Unsuitable("is not a jitdump of a known version"))?;
    if pid.is_none_or(|pid| dump.header.pid == pid) {
        Ok(dump)
    } else {
        Err(Outcome::Unsuitable("is of another process"))
    }
}

/// The functions of a process.
struct JitCode {
    functions: JitFunctions,
    map: Option<Box<dyn OpenedObject>>,
}

impl OpenedObject for JitCode {
    fn address_of_offset(&self, _: u64) -> Option<u64> {
        None
    }

    fn code(&self, address: u64) -> Result<FunctionCode, MissingCode> {
        let found = self.functions.code(address).map(Ok);
        found.or_else(|| Some(self.map.as_ref()?.code(address))).unwrap_or(Err(MissingCode::NoFunction))
    }

    fn with_lookup(&self, lookups: &mut dyn FnMut(&dyn Lookup)) {
        match &self.map {
            Some(map) => map.with_lookup(&mut |map| lookups(&(&self.functions, map))),
            None => lookups(&self.functions),
        }
    }
}

/// The functions of a jitdump, by their last address.
#[derive(Debug, Default)]
pub struct JitFunctions {
    /// `e_machine` that the jitdump states.
    machine: Option<u16>,
    functions: Vec<ImageFunction>,
    /// The parts of functions that no later function replaced.
    parts: FunctionRanges<FunctionPart>,
}

/// A part of a function.
#[derive(Clone, Copy, Debug)]
struct FunctionPart {
    /// Start of the whole function.
    start: u64,
    function: usize,
}

impl JitFunctions {
    /// The functions that a jitdump ends with.
    pub fn new(dump: Dump) -> Self {
        let machine = u16::try_from(dump.header.elf_mach).ok().filter(|&machine| machine != 0);
        let (mut code, mut numbers) = (Self { machine, ..Self::default() }, HashMap::new());
        for event in dump.events {
            let function = match event.kind {
                EventKind::Load(mut function) => {
                    function.lines.sort_by_key(|line| line.offset);
                    numbers.insert(event.index, code.functions.len());
                    code.functions.push(function);
                    code.functions.len() - 1
                }
                EventKind::Move => match numbers.get(&event.index) {
                    Some(&number) => number,
                    None => continue,
                },
            };
            let end = event.address.saturating_add(code.functions[function].size);
            code.parts.insert(event.address, end, FunctionPart { start: event.address, function });
        }
        code
    }

    /// The functions, including replaced ones.
    pub fn list(&self) -> &[ImageFunction] {
        &self.functions
    }

    /// The code of the function at an address.
    fn code(&self, address: u64) -> Option<FunctionCode> {
        let (function, offset) = self.find(address)?;
        let start = address - offset;
        let bytes = self.functions[function].code.clone();
        let is_64 = start > u32::MAX.into();
        Some(FunctionCode { start, bytes, machine: self.machine, is_64, has_open_end: false, modified: None })
    }

    /// Index of the function at an address, and the offset in it.
    pub fn find(&self, address: u64) -> Option<(usize, u64)> {
        let (_, part) = self.parts.find(address)?;
        Some((part.function, address - part.start))
    }
}

impl Lookup for JitFunctions {
    fn look_up(&self, address: u64, on_frame: &mut dyn FnMut(&FunctionFrame<'_>)) {
        let Some((function, offset)) = self.find(address) else { return };
        let ImageFunction { name, lines, .. } = &self.functions[function];
        let line = lines.partition_point(|line| line.offset <= offset).checked_sub(1);
        let line = line.and_then(|line| lines.get(line));
        on_frame(&FunctionFrame {
            name,
            file: line.map_or(&[][..], |line| &line.file),
            line: line.map_or(0, |line| line.line),
            symbol_start: Some(address - offset),
            ..FunctionFrame::default()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: u32, body: &[u8]) -> Vec<u8> {
        [&kind.to_le_bytes()[..], &(16 + body.len() as u32).to_le_bytes(), &7u64.to_le_bytes(), body].concat()
    }

    fn words(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    fn load(name: &str, address: u64, size: u64, index: u64) -> Vec<u8> {
        let body = [&words(&[7 | 7 << 32, address, address, size, index])[..], name.as_bytes(), b"\0"].concat();
        record(0, &[body, vec![0x90; size as usize]].concat())
    }

    fn moved(from: u64, to: u64, size: u64, index: u64) -> Vec<u8> {
        record(1, &words(&[7 | 7 << 32, from, from, to, size, index]))
    }

    /// A line of `a.js`.
    fn line(address: u64, line: u32) -> Vec<u8> {
        [&words(&[address])[..], &line.to_le_bytes(), &[0; 4], b"a.js\0"].concat()
    }

    fn dump(pid: u32, records: &[Vec<u8>]) -> Vec<u8> {
        let header = [0x4a69_5444, 1, 40, 62, 0, pid].map(u32::to_le_bytes).concat();
        [header, vec![0; 16], records.concat()].concat()
    }

    fn shown(lookup: &dyn Lookup, address: u64) -> String {
        let mut text = String::new();
        lookup.look_up(address, &mut |frame| {
            let start = frame.symbol_start.unwrap_or_default();
            let [name, file] = [frame.name, frame.file].map(String::from_utf8_lossy);
            text = format!("{name}+{:#x} {file}:{}", address - start, frame.line);
        });
        text
    }

    #[test]
    fn the_last_function_at_an_address_has_its_lines() {
        let lines = [&words(&[0x1000, 2])[..], &line(0x1000, 3), &line(0x1008, 5)].concat();
        let records =
            [record(2, &lines), load("old", 0x1000, 0x20, 0), load("new", 0x1010, 8, 1), moved(0x1010, 0x3000, 8, 1)];
        let functions = JitFunctions::new(Dump::read(&dump(7, &records).into(), "x").unwrap());
        let names = [0x1004, 0x1009, 0x1010, 0x1018, 0x1020, 0x3007, 0x3008].map(|at| shown(&functions, at));
        assert_eq!(names, ["old+0x4 a.js:3", "old+0x9 a.js:5", "new+0x0 :0", "old+0x18 a.js:5", "", "new+0x7 :0", ""]);
    }

    #[test]
    fn jitdumps_are_searched_by_their_recorded_path_and_by_process() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, bytes: &[u8]| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        };
        write("home/x/jit-3.dump", &dump(3, &[load("recorded", 0x1000, 16, 0)]));
        write("tmp/jit-7.dump", &dump(7, &[load("by_process", 0x1000, 16, 0)]));
        write("tmp/perf-7.map", b"1000 10 from_map\n2000 10 stub\n");
        write(".debug/jit/java-jit-20260101.x/jit-8.dump", &dump(8, &[load("cached", 0x1000, 16, 0)]));
        write("tmp/jit-9.dump", &dump(1, &[]));
        let options = SearchOptions::default().with_symfs(root.path());
        let source = JitDumpSource::new(Arc::new(options));
        let names = |pid, recorded: Option<&str>| {
            let jit_dump = recorded.map(PathBuf::from);
            let key = ObjectKey { path: "//anon".into(), pid: Some(pid), jit_dump, ..ObjectKey::default() };
            let (mut attempts, mut functions) = (Vec::new(), Vec::new());
            if let Some(opened) = source.open(&key, &mut attempts) {
                opened.with_lookup(&mut |lookup| functions = [0x1000, 0x2000].map(|at| shown(lookup, at)).to_vec());
            }
            functions
        };
        assert_eq!(names(7, Some("/home/x/jit-3.dump")), ["recorded+0x0 :0", "stub+0x0 :0"]);
        assert_eq!(names(7, None), ["by_process+0x0 :0", "stub+0x0 :0"]);
        assert_eq!(names(8, None), ["cached+0x0 :0", ""]);
        assert!(names(9, None).is_empty() && names(10, None).is_empty());
    }
}
