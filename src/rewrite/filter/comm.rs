//! Keeps samples of threads with certain names at the time of the sample: `--comm`.

use super::not_found::{Noun, missing_field, value_not_found};
use super::pass::{Filter, FilteredSample};
use crate::rewrite::framework::pass::Pass;
use crate::rewrite::framework::pass::PreScanOrder;
use crate::rewrite::framework::pass_options::{PassContext, PassOptions};
use hashbrown::HashMap;
use perf_data::error::Result;
use perf_data::session::Session;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use std::collections::BTreeSet;

/// Keeps samples of threads with certain names.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[non_exhaustive]
pub struct Comm {
    /// Keep only samples of threads with these names, separated by commas.
    #[cfg_attr(feature = "cli", arg(long = "comm", id = "comm", value_name = "NAMES", value_delimiter = ',', value_parser = crate::option_values::name))]
    pub names: Vec<String>,
}

impl Comm {
    /// The filter of these.
    pub fn new(names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { names: names.into_iter().map(Into::into).collect() }
    }
}

impl PassOptions for Comm {
    fn pass(&self, context: &PassContext) -> Box<dyn Pass> {
        context.filter(CommFilter::new(self.names.clone()))
    }
}

/// Keeps samples of threads with certain names.
pub struct CommFilter {
    wanted: Vec<String>,
    session: Session,
    /// The names of all samples' threads, and whether each is wanted.
    seen: HashMap<Vec<u8>, bool>,
    without_field: u64,
}

impl CommFilter {
    /// Creates a filter of these [thread names](Session::thread_name).
    pub fn new(wanted: Vec<String>) -> Self {
        Self { wanted, session: Session::default(), seen: HashMap::new(), without_field: 0 }
    }
}

impl Filter for CommFilter {
    fn option(&self) -> &'static str {
        "--comm"
    }

    fn order(&self) -> PreScanOrder {
        PreScanOrder::Time
    }

    fn is_by_process(&self) -> bool {
        true
    }

    fn begin(&mut self, _: &Meta) {
        (self.session, self.without_field) = (Session::default(), 0);
        self.seen.clear();
    }

    fn other(&mut self, meta: &Meta, raw: &Raw<'_>) {
        self.session.apply(meta, raw);
    }

    fn keeps(&mut self, sample: &FilteredSample<'_>) -> bool {
        let Some((_, tid)) = sample.view.task else {
            self.without_field += 1;
            return false;
        };
        let comm = self.session.thread_name(tid);
        match self.seen.get(&*comm) {
            Some(&is_wanted) => is_wanted,
            None => {
                let is_wanted = self.wanted.iter().any(|wanted| *wanted.as_bytes() == *comm);
                self.seen.insert(comm.into_owned(), is_wanted);
                is_wanted
            }
        }
    }

    fn check(&mut self, meta: &Meta) -> Result<()> {
        if self.without_field > 0 {
            return Err(missing_field(meta, self.option(), "a thread", self.without_field));
        }
        let missing = self.wanted.iter().find(|wanted| !self.seen.contains_key(wanted.as_bytes()));
        match missing {
            Some(missing) => {
                let seen: BTreeSet<_> = self.seen.keys().map(|comm| String::from_utf8_lossy(comm)).collect();
                let noun = Noun { singular: "thread name", plural: "thread names", is_text: true };
                Err(value_not_found(meta, self.option(), noun, missing, seen.into_iter()))
            }
            None => Ok(()),
        }
    }
}
