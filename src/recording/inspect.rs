//! What is in a recording, and whether it is valid.

use super::Recording;
use crate::inspect::check::{Checked, Finding, check};
use crate::inspect::info::{Info, Parts, read_info};
use perf_data::error::Result;
use perf_data::stream::source::Source;

impl Recording {
    /// Checks the recording, and calls `use_finding` for each problem.
    ///
    /// ```
    /// # fn main() -> perfconv::Result<()> {
    /// let recording = perfconv::Recording::open("roundtrip/fixtures/callgraph.data")?;
    /// recording.check(|finding| println!("{}: {}", finding.place, finding.problem))?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If no record can be read.
    pub fn check(&self, mut use_finding: impl FnMut(Finding)) -> Result<Checked> {
        check(self.input.clone(), self.read.clone(), &mut use_finding)
    }

    /// Header, features, events, build IDs and statistics, as `perfconv info` shows them.
    ///
    /// # Errors
    /// If the header cannot be read. [`Info::failure`] has an error that was found after it.
    pub fn info(&self) -> Result<Info> {
        read_info(Source::open(self.input.clone(), self.read.clone())?, Parts::ALL)
    }
}
