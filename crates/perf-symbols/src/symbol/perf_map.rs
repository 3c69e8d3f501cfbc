//! Functions of JIT code from `perf-PID.map` files. If entries overlap, the last one takes precedence.

use super::code::{FunctionCode, MissingCode};
use super::find::attempt::{Attempt, Outcome, Role};
use super::find::candidate_paths::{PERF_MAP, process_file};
use super::find::{Policy, SearchOptions};
use super::lookup::{FunctionFrame, Lookup};
use super::source::{ObjectKey, OpenedObject, Source};
use crate::object::perf_map::MapFile;
use perf_data::session::RecordedNamespaces;
use perf_data::session::map::Map;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;

/// A source that reads the map files of some directories.
#[derive(Debug)]
pub struct PerfMapSource {
    options: Arc<SearchOptions>,
}

impl PerfMapSource {
    /// Creates a source for the map files of these directories.
    pub fn new(options: Arc<SearchOptions>) -> Self {
        Self { options }
    }

    /// Candidates for the map file of a process. In a container, the process writes it with its own ID there.
    fn places(&self, pid: u32, namespaces: Option<RecordedNamespaces>) -> Vec<PathBuf> {
        let SearchOptions { containers, perf_map_dirs, archive_dirs, recorded, .. } = &*self.options;
        let archived = archive_dirs.iter().map(|directory| process_file(directory, pid, PERF_MAP));
        let of_container = containers.process(pid, namespaces, *recorded);
        let in_container =
            of_container.and_then(|process| Some(process.root.join(format!("tmp/perf-{}.map", process.own_pid?))));
        let here = perf_map_dirs.iter().map(|directory| directory.join(format!("perf-{pid}.map")));
        archived.chain(in_container).chain(here).collect()
    }
}

impl Source for PerfMapSource {
    fn open(&self, key: &ObjectKey, attempts: &mut Vec<Attempt>) -> Option<Box<dyn OpenedObject>> {
        let pid = key.pid?;
        let is_memory = Map::may_be_jit_code(key.path.as_os_str().as_encoded_bytes());
        if self.options.policy == Policy::No || !is_memory {
            return None;
        }
        for path in self.places(pid, key.namespaces) {
            let bytes = self.options.read_code_map(&path, pid);
            let outcome = match &bytes {
                Ok(_) => Outcome::Used,
                Err(e) if e.kind() == ErrorKind::NotFound => Outcome::NotFound,
                Err(e) => Outcome::Unreadable(e.to_string()),
            };
            attempts.push(Attempt { role: Role::PerfMap, path, outcome });
            if let Ok(bytes) = bytes {
                return Some(Box::new(PerfMap { file: MapFile::read(&bytes) }));
            }
        }
        None
    }
}

/// The functions of a map file, at addresses in the process.
struct PerfMap {
    file: MapFile,
}

impl OpenedObject for PerfMap {
    fn address_of_offset(&self, _: u64) -> Option<u64> {
        None
    }

    fn code(&self, _: u64) -> Result<FunctionCode, MissingCode> {
        Err(MissingCode::JitNamesOnly)
    }

    fn with_lookup(&self, lookups: &mut dyn FnMut(&dyn Lookup)) {
        lookups(&self.file);
    }
}

impl Lookup for MapFile {
    fn look_up(&self, address: u64, on_frame: &mut dyn FnMut(&FunctionFrame<'_>)) {
        if let Some((start, name)) = self.functions.find(address) {
            on_frame(&FunctionFrame { name, symbol_start: Some(start), ..FunctionFrame::default() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::lookup::names;
    use super::*;

    #[test]
    fn functions_of_a_process() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("perf-7.map"), "10 10 old\n20 8 stays\n18 8 new\n").unwrap();
        let options = SearchOptions { perf_map_dirs: vec![directory.path().into()], ..SearchOptions::default() };
        let source = PerfMapSource::new(Arc::new(options));
        let key = |path: &str, pid| ObjectKey { path: path.into(), pid: Some(pid), ..ObjectKey::default() };
        let mut attempts = Vec::new();
        assert!(source.open(&key("/bin/ls", 7), &mut attempts).is_none() && attempts.is_empty());
        assert!(source.open(&key("//anon", 8), &mut attempts).is_none());
        assert_eq!(attempts.remove(0).outcome, Outcome::NotFound);
        let map = source.open(&key("//anon", 7), &mut attempts).unwrap();
        let mut functions = Vec::new();
        map.with_lookup(&mut |lookup| {
            functions = [0x10, 0x19, 0x20, 0x28].map(|at| names(lookup, at).join(";")).to_vec()
        });
        assert_eq!(functions, ["old", "new", "stays", ""]);
    }
}
