//! Processes and threads: those that are told, and made-up ones for what is not.

use super::source::{SourceProfile, SourceSample};
use hashbrown::{HashMap, HashSet};

/// Numbers of processes and threads.
#[derive(Debug, Default)]
pub struct Tasks {
    /// Processes of which the names are known alone.
    by_comm: HashMap<Option<u32>, u32>,
    /// Threads of which process and name are known alone.
    by_name: HashMap<(u32, u32), u32>,
    /// What processes are called where none has a name, until they are.
    program: Option<Vec<u8>>,
    named: HashSet<u32>,
}

impl Tasks {
    /// The most that the kernel counts to.
    const MOST: u32 = 1 << 22;

    /// The tasks of a profile.
    pub fn new(told: &SourceProfile, program: &str) -> Self {
        let known = told.samples.iter().flat_map(|sample| [sample.pid, sample.tid]).flatten();
        let known: HashSet<u32> = known.collect();
        let mut free = (1..Self::MOST).filter(|number| !known.contains(number));
        let mut next = || free.next().unwrap_or(Self::MOST);
        let mut tasks = Self::default();
        for sample in &told.samples {
            let pid = sample.pid.or(sample.tid);
            let pid = pid.unwrap_or_else(|| *tasks.by_comm.entry(sample.comm).or_insert_with(&mut next));
            if let (None, Some(name)) = (sample.tid, sample.thread_comm.filter(|_| sample.thread_comm != sample.comm)) {
                tasks.by_name.entry((pid, name)).or_insert_with(&mut next);
            }
        }
        // A recording tells the names that it has.
        let is_of_recording = told.as_recorded || told.perf_version.is_some();
        let tells_none = |s: &SourceSample| [s.pid, s.tid, s.comm, s.thread_comm].iter().all(Option::is_none);
        if !is_of_recording && told.samples.iter().all(tells_none) {
            let main = told.mappings.first().map(|map| &map.path[..]).filter(|path| !path.is_empty());
            let main = main.unwrap_or(program.as_bytes());
            tasks.program = Some(main.rsplit(|&byte| byte == b'/').next().unwrap_or(main).to_vec());
        }
        tasks
    }

    /// Process and thread of a sample.
    pub fn of(&self, sample: &SourceSample) -> (u32, u32) {
        let pid = sample.pid.or(sample.tid).or_else(|| self.by_comm.get(&sample.comm).copied()).unwrap_or_default();
        let by_name = || self.by_name.get(&(pid, sample.thread_comm?)).copied();
        (pid, sample.tid.or_else(by_name).unwrap_or(pid))
    }

    /// What a process is called that has no name yet, where none has; once.
    pub fn unnamed(&mut self, pid: u32) -> Option<Vec<u8>> {
        let program = self.program.as_ref()?;
        self.named.insert(pid).then(|| program.clone())
    }
}
