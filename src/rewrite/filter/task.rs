//! Keeps samples of certain processes or threads: `--pid`, `--tid`.

use super::not_found::{Noun, missing_field, value_not_found};
use super::pass::{Filter, Sample};
use crate::rewrite::option::{Outputs, Parameter, PassOption};
use crate::rewrite::request::PassFactory;
use perf_data::error::Result;
use perf_data::stream::meta::Meta;
use std::collections::BTreeSet;

const PID: Parameter<u32> = Parameter::list("--pid", "PIDS", number);
const TID: Parameter<u32> = Parameter::list("--tid", "TIDS", number);

/// The options of this filter.
pub const OPTIONS: &[PassOption] = &[
    PassOption::new(&PID, Outputs::All, "Keep only samples of these processes, separated by commas", |values| {
        let wanted = values.of(&PID);
        Ok(PassFactory::filter(move || TaskFilter::new(TaskNumber::Pid, wanted.iter().copied())))
    }),
    PassOption::new(&TID, Outputs::All, "Keep only samples of these threads, separated by commas", |values| {
        let wanted = values.of(&TID);
        Ok(PassFactory::filter(move || TaskFilter::new(TaskNumber::Tid, wanted.iter().copied())))
    }),
];

fn number(text: &str) -> std::result::Result<u32, String> {
    text.trim().parse().map_err(|_| format!("'{text}' is not a process or thread ID"))
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
            TaskNumber::Pid => PID.name(),
            TaskNumber::Tid => TID.name(),
        }
    }

    fn is_by_process(&self) -> bool {
        true
    }

    fn begin(&mut self, _: &Meta) {
        (self.latest, self.without_field) = (None, 0);
        self.seen.clear();
    }

    fn keeps(&mut self, sample: &Sample<'_>) -> bool {
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
