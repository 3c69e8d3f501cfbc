//! Samples of threads that were called so then: `--comm`.

use super::not_found::{What, no_field, not_there};
use super::pass::{Filter, Sample};
use crate::error::Result;
use crate::rewrite::option::{Outputs, Parameter, PassOption};
use crate::rewrite::option_values::name;
use crate::rewrite::pass::PreScanOrder;
use crate::rewrite::request::PassFactory;
use crate::session::Session;
use crate::stream::meta::Meta;
use crate::stream::raw::Raw;
use hashbrown::HashMap;
use std::borrow::Cow;
use std::collections::BTreeSet;

/// `--comm`.
const COMM: Parameter<String> = Parameter::list("--comm", "NAMES", name);

/// The option of this filter.
pub const OPTIONS: &[PassOption] = &[PassOption::new(
    &COMM,
    Outputs::All,
    "Only samples of threads that were called so then, separated by commas",
    |values| {
        let wanted = values.of(&COMM);
        Ok(PassFactory::filter(move || CommFilter::new(wanted.clone())))
    },
)];

/// Keeps the samples of threads of certain names.
pub struct CommFilter {
    wanted: Vec<String>,
    session: Session,
    /// The names of samples' threads, and whether each is wanted.
    there: HashMap<Vec<u8>, bool>,
    untold: u64,
}

impl CommFilter {
    /// Those that are [called] so.
    pub fn new(wanted: Vec<String>) -> Self {
        Self { wanted, session: Session::default(), there: HashMap::new(), untold: 0 }
    }
}

/// What a thread is called: as perf calls them, threads that no record names are `:TID`, and idle CPUs `swapper`.
pub fn called(session: &Session, tid: u32) -> Cow<'_, [u8]> {
    match session.thread(tid).and_then(|thread| thread.comm) {
        _ if tid == 0 => Cow::Borrowed(b"swapper"),
        Some(comm) => Cow::Borrowed(session.names.name(comm)),
        // As a signed number, as perf has it.
        None => Cow::Owned(format!(":{}", tid as i32).into_bytes()),
    }
}

impl Filter for CommFilter {
    fn option(&self) -> &'static str {
        COMM.name()
    }

    fn order(&self) -> PreScanOrder {
        PreScanOrder::Time
    }

    fn is_by_process(&self) -> bool {
        true
    }

    fn begin(&mut self, _: &Meta) {
        (self.session, self.untold) = (Session::default(), 0);
        self.there.clear();
    }

    fn other(&mut self, meta: &Meta, raw: &Raw<'_>) {
        self.session.apply(meta, raw);
    }

    fn keeps(&mut self, sample: &Sample<'_>) -> bool {
        let Some((_, tid)) = sample.view.task else {
            self.untold += 1;
            return false;
        };
        let comm = called(&self.session, tid);
        match self.there.get(&*comm) {
            Some(&is_wanted) => is_wanted,
            None => {
                let is_wanted = self.wanted.iter().any(|wanted| *wanted.as_bytes() == *comm);
                self.there.insert(comm.into_owned(), is_wanted);
                is_wanted
            }
        }
    }

    fn check(&mut self, _: &Meta) -> Result<()> {
        if self.untold > 0 {
            return Err(no_field(self.option(), "their thread", self.untold));
        }
        let missing = self.wanted.iter().find(|wanted| !self.there.contains_key(wanted.as_bytes()));
        match missing {
            Some(missing) => {
                let there: BTreeSet<_> = self.there.keys().map(|comm| String::from_utf8_lossy(comm)).collect();
                let what = What { one: "name", several: "names" };
                Err(not_there(self.option(), what, missing, there.into_iter()))
            }
            None => Ok(()),
        }
    }
}
