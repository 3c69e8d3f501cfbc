//! Processes and threads of a profile, with synthetic IDs where it has none.

use super::source::{SourceProfile, SourceSample};
use hashbrown::{HashMap, HashSet};

/// IDs of processes and threads.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    /// Synthetic pids of processes with a name only.
    by_comm: HashMap<Option<u32>, u32>,
    /// Synthetic tids of threads with process and name only.
    by_name: HashMap<(u32, u32), u32>,
    /// Name for all processes, if the profile names none.
    program: Option<Vec<u8>>,
    named: HashSet<u32>,
}

impl Tasks {
    /// The kernel's limit for pids.
    const MAX_PID: u32 = 1 << 22;

    /// Assigns IDs to the tasks of a profile.
    pub(super) fn new(profile: &SourceProfile, program: &str) -> Self {
        let used = profile.samples.iter().flat_map(|sample| [sample.pid, sample.tid]).flatten();
        let used: HashSet<u32> = used.collect();
        let mut free = (1..Self::MAX_PID).filter(|number| !used.contains(number));
        let mut next = || free.next().unwrap_or(Self::MAX_PID);
        let mut tasks = Self::default();
        for sample in profile.samples.iter() {
            let pid = sample.pid.or(sample.tid);
            let pid = pid.unwrap_or_else(|| *tasks.by_comm.entry(sample.comm).or_insert_with(&mut next));
            if let (None, Some(name)) = (sample.tid, sample.thread_comm.filter(|_| sample.thread_comm != sample.comm)) {
                tasks.by_name.entry((pid, name)).or_insert_with(&mut next);
            }
        }
        // Names that a recording lacks are not invented.
        let is_from_recording = profile.as_recorded || profile.perf_version.is_some();
        let is_anonymous = |s: &SourceSample| [s.pid, s.tid, s.comm, s.thread_comm].iter().all(Option::is_none);
        if !is_from_recording && profile.samples.iter().all(|sample| is_anonymous(&sample)) {
            let main = profile.mappings.first().map(|map| &map.path[..]).filter(|path| !path.is_empty());
            let main = main.unwrap_or(program.as_bytes());
            tasks.program = Some(main.rsplit(|&byte| byte == b'/').next().unwrap_or(main).to_vec());
        }
        tasks
    }

    /// Process and thread of a sample.
    pub(super) fn task(&self, sample: &SourceSample) -> (u32, u32) {
        let pid = sample.pid.or(sample.tid).or_else(|| self.by_comm.get(&sample.comm).copied()).unwrap_or_default();
        let by_name = || self.by_name.get(&(pid, sample.thread_comm?)).copied();
        (pid, sample.tid.or_else(by_name).unwrap_or(pid))
    }

    /// Returns the name for a process that has none, once for each.
    pub(super) fn unnamed(&mut self, pid: u32) -> Option<Vec<u8>> {
        let program = self.program.as_ref()?;
        self.named.insert(pid).then(|| program.clone())
    }
}
