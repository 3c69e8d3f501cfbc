//! Samples at given times.

use super::{ScenarioLines, StackNames};
use crate::synth::Stamp;
use crate::synth::scenario::file::File;
use crate::synth::scenario::file::sample::SampleTable;
use crate::synth::scenario::plan::{BEGIN, PlannedThread, Process, RecordContent, ScenarioRecord};
use perf_data::error::Result;

impl ScenarioLines<'_> {
    /// The samples of a scenario, in the order of its tables.
    pub(super) fn samples(
        &self,
        file: &File,
        processes: &[Process],
        names: &StackNames<'_>,
    ) -> Result<Vec<ScenarioRecord>> {
        file.sample.iter().map(|table| self.given_sample(table, processes, names)).collect()
    }

    fn given_sample(
        &self,
        table: &SampleTable,
        processes: &[Process],
        names: &StackNames<'_>,
    ) -> Result<ScenarioRecord> {
        let pid = *table.pid.get_ref();
        // Its code is that of the kernel.
        let idle = Process { pid: 0, is_guest: false, cgroup: None, programs: Vec::new() };
        let process = processes.iter().find(|process| process.pid == pid).or((pid == 0).then_some(&idle));
        let process = process
            .ok_or_else(|| self.invalid(table.pid.span(), "sample.pid", format!("there is no process {pid}")))?;
        let event = self.number(table.event.as_ref(), "sample.event", names.metadata)?;
        let tid = table.tid.unwrap_or(pid);
        let thread = PlannedThread {
            task: (pid, tid),
            comm: String::new(),
            cpu: table.cpu,
            busy: 100,
            cgroup: process.cgroup.as_ref().map_or(0, |(id, _)| *id),
            stacks: vec![self.stack(&table.stack, process, names)?],
        };
        let time = BEGIN.saturating_add(table.time.unwrap_or(table.at).0);
        let stamp = Stamp { event, ..Stamp::at(BEGIN.saturating_add(table.at.0), pid, tid).on(table.cpu) };
        Ok(ScenarioRecord { stamp, content: RecordContent::Sample { time, thread: Box::new(thread) } })
    }
}
