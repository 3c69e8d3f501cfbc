//! Keeps samples of certain processes or threads: `--pid`, `--tid`.

use super::not_found::{Noun, missing_field, value_not_found};
use super::pass::{Filter, FilteredSample};
use crate::rewrite::framework::pass::Pass;
use crate::rewrite::framework::pass_options::{PassContext, PassOptions};
use perf_data::error::Result;
use perf_data::stream::meta::Meta;
use std::collections::BTreeSet;

/// Keeps samples of certain processes.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[non_exhaustive]
pub struct Pid {
    /// Keep only samples of these processes, separated by commas.
    #[cfg_attr(feature = "cli", arg(long = "pid", id = "pid", value_name = "PIDS", value_delimiter = ',', value_parser = number))]
    pub ids: Vec<u32>,
}

impl Pid {
    /// The filter of these.
    pub fn new(ids: impl IntoIterator<Item = u32>) -> Self {
        Self { ids: ids.into_iter().collect() }
    }
}

impl PassOptions for Pid {
    fn pass(&self, context: &PassContext) -> Box<dyn Pass> {
        context.filter(TaskFilter::new(TaskNumber::Pid, self.ids.iter().copied()))
    }
}

/// Keeps samples of certain threads.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[non_exhaustive]
pub struct Tid {
    /// Keep only samples of these threads, separated by commas.
    #[cfg_attr(feature = "cli", arg(long = "tid", id = "tid", value_name = "TIDS", value_delimiter = ',', value_parser = number))]
    pub ids: Vec<u32>,
}

impl Tid {
    /// The filter of these.
    pub fn new(ids: impl IntoIterator<Item = u32>) -> Self {
        Self { ids: ids.into_iter().collect() }
    }
}

impl PassOptions for Tid {
    fn pass(&self, context: &PassContext) -> Box<dyn Pass> {
        context.filter(TaskFilter::new(TaskNumber::Tid, self.ids.iter().copied()))
    }
}

#[cfg(feature = "cli")]
fn number(text: &str) -> std::result::Result<u32, String> {
    text.trim().parse().map_err(|_| format!("'{text}' is not a process or thread ID, a number up to {}", u32::MAX))
}

/// Which ID of a task to filter by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskNumber {
    /// Process ID.
    Pid,
    /// Thread ID.
    Tid,
}

/// Keeps samples of certain processes or threads.
#[derive(Clone, Debug)]
pub struct TaskFilter {
    number: TaskNumber,
    wanted: BTreeSet<u32>,
    seen: BTreeSet<u32>,
    /// The latest ID, and whether it is wanted: most often the next one is the same.
    latest: Option<(u32, bool)>,
    without_field: u64,
}

impl TaskFilter {
    /// Creates a filter of these IDs.
    pub fn new(number: TaskNumber, wanted: impl IntoIterator<Item = u32>) -> Self {
        Self { number, wanted: wanted.into_iter().collect(), seen: BTreeSet::new(), latest: None, without_field: 0 }
    }
}

impl Filter for TaskFilter {
    fn option(&self) -> &'static str {
        match self.number {
            TaskNumber::Pid => "--pid",
            TaskNumber::Tid => "--tid",
        }
    }

    fn is_by_process(&self) -> bool {
        true
    }

    fn begin(&mut self, _: &Meta) {
        (self.latest, self.without_field) = (None, 0);
        self.seen.clear();
    }

    fn keeps(&mut self, sample: &FilteredSample<'_>) -> bool {
        let Some((pid, tid)) = sample.view.task else {
            self.without_field += 1;
            return false;
        };
        let number = match self.number {
            TaskNumber::Pid => pid,
            TaskNumber::Tid => tid,
        };
        match self.latest {
            Some((latest, is_wanted)) if latest == number => is_wanted,
            _ => {
                self.seen.insert(number);
                let is_wanted = self.wanted.contains(&number);
                self.latest = Some((number, is_wanted));
                is_wanted
            }
        }
    }

    fn check(&mut self, meta: &Meta) -> Result<()> {
        let noun = match self.number {
            TaskNumber::Pid => Noun { singular: "process", plural: "processes", is_text: false },
            TaskNumber::Tid => Noun { singular: "thread", plural: "threads", is_text: false },
        };
        if self.without_field > 0 {
            return Err(missing_field(meta, self.option(), "a process and thread", self.without_field));
        }
        match self.wanted.difference(&self.seen).next() {
            Some(missing) => Err(value_not_found(meta, self.option(), noun, missing, self.seen.iter())),
            None => Ok(()),
        }
    }
}
