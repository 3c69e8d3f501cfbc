//! Determines the main program of a profile from its samples.

use crate::profile::target::RecordTarget;
use hashbrown::HashMap;
use perf_data::session::Session;
use perf_data::session::map::{Map, MapId};
use std::cmp::Reverse;

/// Counts the samples of each program, identified by the mapping of its executable.
#[derive(Debug, Default)]
pub(crate) struct Programs {
    samples: HashMap<Option<MapId>, u64>,
    /// The program of the latest samples, and how many of them are not yet in the table.
    latest: (Option<MapId>, u64),
}

/// A program with its samples.
#[derive(Clone, Copy, Debug)]
struct Program<'a> {
    file: &'a [u8],
    /// A mapping of the file.
    map: MapId,
    samples: u64,
}

/// The program that perf started is considered a launcher if it has less than one in this many samples.
const LAUNCHER: u64 = 10;

impl Programs {
    /// Counts samples of a process by its program.
    #[inline]
    pub(crate) fn count(&mut self, main_map: Option<MapId>, samples: u64) {
        if self.latest.0 != main_map {
            self.store_latest();
            self.latest.0 = main_map;
        }
        self.latest.1 += samples;
    }

    fn store_latest(&mut self) {
        let (main_map, samples) = std::mem::take(&mut self.latest);
        if samples > 0 {
            *self.samples.entry(main_map).or_default() += samples;
        }
    }

    /// The recorded program: the one that perf started, unless it has few samples; otherwise the one with most samples. A
    /// system-wide recording has none, unless all samples are of one program.
    pub(crate) fn recorded(&mut self, target: &RecordTarget, session: &Session) -> Option<MapId> {
        self.store_latest();
        let total: u64 = self.samples.values().sum();
        let programs = self.by_file(session);
        let most = programs.iter().max_by_key(|program| (program.samples, Reverse(program.map)))?;
        let recorded = match target {
            RecordTarget::System => Some(most).filter(|program| program.samples == total),
            RecordTarget::Tasks => Some(most),
            RecordTarget::Workload(name) => {
                let is_workload = |program: &&Program| is_named(program.file, name.as_bytes());
                let workloads = programs.iter().filter(is_workload);
                let workload = workloads.max_by_key(|program| (program.samples, Reverse(program.map)));
                workload.filter(|program| program.samples >= total / LAUNCHER).or(Some(most))
            }
        };
        recorded.map(|program| program.map)
    }

    fn by_file<'a>(&self, session: &'a Session) -> Vec<Program<'a>> {
        let mut programs: HashMap<&[u8], Program> = HashMap::new();
        for (&map, &samples) in &self.samples {
            let Some(map) = map else { continue };
            let file = &*session.map(map).filename;
            let program = programs.entry(file).or_insert(Program { file, map, samples: 0 });
            program.map = program.map.min(map);
            program.samples += samples;
        }
        programs.into_values().collect()
    }
}

/// Whether a word of a command line names a file, possibly without its version: `python3` names `python3.11`.
fn is_named(file: &[u8], word: &[u8]) -> bool {
    let base = |path: &[u8]| path.rsplit(|&byte| byte == b'/').next().unwrap_or_default().to_vec();
    let (file, word) = (base(Map::path_without_deleted(file)), base(word));
    let version = file.strip_prefix(&word[..]).filter(|_| !word.is_empty());
    version.is_some_and(|version| !version.iter().any(u8::is_ascii_alphabetic))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignores_versions_in_file_names() {
        for (file, word) in [("/bin/app", "app"), ("/bin/app", "./x/app"), ("/usr/bin/python3.11", "python3")] {
            assert!(is_named(file.as_bytes(), word.as_bytes()), "{file} {word}");
        }
        assert!(is_named(b"/bin/app (deleted)", b"app"));
        for (file, word) in [("/bin/app-server", "app"), ("/bin/app", "app2"), ("/bin/app", ""), ("/bin/app", "x/")] {
            assert!(!is_named(file.as_bytes(), word.as_bytes()), "{file} {word}");
        }
    }
}
