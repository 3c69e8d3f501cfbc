//! Samples of certain processes or threads: `--pid`, `--tid`.

use super::not_found::{What, no_field, not_there};
use super::pass::{Filter, Sample};
use crate::error::Result;
use crate::rewrite::option::{Outputs, Parameter, PassOption};
use crate::rewrite::request::PassFactory;
use crate::stream::meta::Meta;
use std::collections::BTreeSet;

const PID: Parameter<u32> = Parameter::list("--pid", "PIDS", number);
const TID: Parameter<u32> = Parameter::list("--tid", "TIDS", number);

/// The options of this filter.
pub const OPTIONS: &[PassOption] = &[
    PassOption::new(&PID, Outputs::All, "Only samples of these processes, separated by commas", |values| {
        let wanted = values.of(&PID);
        Ok(PassFactory::filter(move || TaskFilter::new(TaskNumber::Pid, wanted.iter().copied())))
    }),
    PassOption::new(&TID, Outputs::All, "Only samples of these threads, separated by commas", |values| {
        let wanted = values.of(&TID);
        Ok(PassFactory::filter(move || TaskFilter::new(TaskNumber::Tid, wanted.iter().copied())))
    }),
];

fn number(text: &str) -> std::result::Result<u32, String> {
    text.trim().parse().map_err(|_| format!("{text} is no process or thread"))
}

/// Which of the two numbers of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskNumber {
    /// Of its process.
    Pid,
    /// Of its thread.
    Tid,
}

/// Keeps the samples of certain processes or threads.
#[derive(Clone, Debug)]
pub struct TaskFilter {
    number: TaskNumber,
    wanted: BTreeSet<u32>,
    there: BTreeSet<u32>,
    /// The latest number, and whether it is wanted: most often the next one is the same.
    latest: Option<(u32, bool)>,
    untold: u64,
}

impl TaskFilter {
    /// Those of these numbers.
    pub fn new(number: TaskNumber, wanted: impl IntoIterator<Item = u32>) -> Self {
        Self { number, wanted: wanted.into_iter().collect(), there: BTreeSet::new(), latest: None, untold: 0 }
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
        (self.latest, self.untold) = (None, 0);
        self.there.clear();
    }

    fn keeps(&mut self, sample: &Sample<'_>) -> bool {
        let Some((pid, tid)) = sample.view.task else {
            self.untold += 1;
            return false;
        };
        let number = match self.number {
            TaskNumber::Pid => pid,
            TaskNumber::Tid => tid,
        };
        match self.latest {
            Some((latest, is_wanted)) if latest == number => is_wanted,
            _ => {
                self.there.insert(number);
                let is_wanted = self.wanted.contains(&number);
                self.latest = Some((number, is_wanted));
                is_wanted
            }
        }
    }

    fn check(&mut self, _: &Meta) -> Result<()> {
        let what = match self.number {
            TaskNumber::Pid => What { one: "process", several: "processes" },
            TaskNumber::Tid => What { one: "thread", several: "threads" },
        };
        if self.untold > 0 {
            return Err(no_field(self.option(), "their process and thread", self.untold));
        }
        match self.wanted.difference(&self.there).next() {
            Some(missing) => Err(not_there(self.option(), what, missing, self.there.iter())),
            None => Ok(()),
        }
    }
}
