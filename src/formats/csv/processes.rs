//! Writes `processes.csv`: processes with their lifetimes and samples.

use super::tables::failed;
use csv::Writer;
use hashbrown::HashMap;
use perf_data::abi;
use perf_data::abi::bytes::ByteReader;
use perf_data::abi::record::RecordType;
use perf_data::abi::record::comm::Comm;
use perf_data::abi::record::task::Task;
use perf_data::error::{Error, Result};
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use serde::{Serialize, Serializer};
use std::fs::File;
use std::sync::Arc;

/// A process.
#[derive(Default, Serialize)]
struct ProcessRow {
    pid: i32,
    #[serde(serialize_with = "text")]
    name: Arc<str>,
    maps: u64,
    fork_time: Option<u64>,
    exit_time: Option<u64>,
    samples: u64,
    period: u64,
}

/// Serializes a name, shared because many processes inherit one.
fn text<S: Serializer>(name: &Arc<str>, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    serializer.serialize_str(name)
}

/// Processes in order of their first record.
#[derive(Default)]
pub(super) struct Processes {
    rows: Vec<ProcessRow>,
    /// The latest row of each pid, since pids are reused.
    by_pid: HashMap<u32, usize>,
}

impl Processes {
    fn row(&mut self, pid: u32) -> &mut ProcessRow {
        let next = self.rows.len();
        let index = *self.by_pid.entry(pid).or_insert(next);
        if index == next {
            let name = if pid == 0 { "swapper" } else { "" };
            self.rows.push(ProcessRow { pid: pid as i32, name: name.into(), ..ProcessRow::default() });
        }
        &mut self.rows[index]
    }

    /// Counts a sample.
    pub(super) fn sample(&mut self, pid: u32, period: u64) {
        let row = self.row(pid);
        row.samples += 1;
        row.period = row.period.saturating_add(period);
    }

    /// Updates the processes by a record.
    pub(super) fn apply(&mut self, meta: &Meta, raw: &Raw<'_>) {
        let (body, _) = meta.events.split(raw);
        match raw.header().kind {
            RecordType::COMM => {
                let Ok((comm, _)) = abi::parse::<Comm>(body, raw.endian(), ()) else { return };
                let row = self.row(comm.pid);
                if comm.pid == comm.tid {
                    row.name = String::from_utf8_lossy(comm.comm.text()).into();
                }
            }
            RecordType::MMAP | RecordType::MMAP2 => {
                if let Some(pid) = ByteReader::new(body, raw.endian()).u32().filter(|&pid| pid != u32::MAX) {
                    self.row(pid).maps += 1;
                }
            }
            RecordType::FORK | RecordType::EXIT => {
                let Ok((task, _)) = abi::parse::<Task>(body, raw.endian(), ()) else { return };
                let time = meta.events.time(raw);
                if raw.header().kind == RecordType::EXIT {
                    if task.pid == task.tid {
                        self.row(task.pid).exit_time = time;
                    }
                } else if task.pid != task.ppid {
                    let name = self.by_pid.get(&task.ppid).map(|&parent| self.rows[parent].name.clone());
                    if self.by_pid.get(&task.pid).is_some_and(|&row| self.rows[row].exit_time.is_some()) {
                        self.by_pid.remove(&task.pid);
                    }
                    let row = self.row(task.pid);
                    row.fork_time = time;
                    row.name = name.unwrap_or_default();
                }
            }
            _ => {}
        }
    }

    /// Writes the table.
    pub(super) fn write(&self, mut out: Writer<File>) -> Result<()> {
        if self.rows.is_empty() {
            let columns = ["pid", "name", "maps", "fork_time", "exit_time", "samples", "period"];
            out.write_record(columns).map_err(failed)?;
        }
        self.rows.iter().try_for_each(|row| out.serialize(row)).map_err(failed)?;
        out.flush().map_err(Error::Output)
    }
}
