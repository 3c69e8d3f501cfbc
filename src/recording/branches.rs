//! Counts of the branches of a recording.

use super::Recording;
use crate::branches::{BranchCounter, BranchCounts};
use crate::conversion::decode_trace;
use crate::rewrite::framework::passes::Passes;
use crate::rewrite::itrace::TraceEvents;
use perf_data::error::Result;
use perf_data::stream::ledger::Ledger;
use perf_data::stream::order::Order;

impl Recording {
    /// Counts the taken branches in the branch stacks of samples, by object; returns the ledger of the records, too. Formats such as
    /// [`Bolt`](crate::formats::bolt::Bolt) write them for compilers and binary optimizers.
    ///
    /// ```
    /// let recording = perfconv::Recording::open("roundtrip/branches/sieve.data")?;
    /// let (counts, _) = recording.branches()?;
    /// let (program, branches) = counts.by_weight()[0];
    /// assert_eq!((counts.object(program).unwrap().name(), branches), ("/srv/bin/sieve".to_owned(), 5280));
    /// # Ok::<(), perfconv::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the recording cannot be read.
    pub fn branches(&self) -> Result<(BranchCounts, Ledger)> {
        let mut order = Order::new(BranchCounter::default(), self.read.clone());
        let mut passes = Passes::default();
        let input = decode_trace(self.input.clone(), &self.read, &mut passes, &TraceEvents::default())?;
        let (_, mut ledger) = passes.run(input, &self.read, &mut order)?;
        let (counts, counted) = order.into_inner().finish()?;
        ledger.account_for_stream();
        ledger.merge(counted);
        self.damage.iter().for_each(|damage| ledger.damage(damage.clone()));
        Ok((counts, ledger))
    }
}
