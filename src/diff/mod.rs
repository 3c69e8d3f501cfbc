//! Differences between two recordings: form, events, features and records.
//!
//! Recordings are compared as JSON Lines, which contain everything in a recording, as bytes where there is no definition. Offsets
//! in the file are not part of it and are not compared.

mod align;
mod difference;
mod fields;
mod ignore;
pub mod item;
mod lines;

pub use difference::{Count, Difference, Side, Subject, Summary};
pub use fields::FieldChange;
pub use ignore::Ignore;

use align::Aligned;
use difference::Differences;
use lines::DiffLines;
use perf_data::error::Result;
use perf_data::stream::ledger::Ledger;
use perf_data::stream::source::Source;
use std::io::Write;

/// Options of a comparison.
#[derive(Clone, Debug, Default)]
pub struct DiffOptions {
    /// Differences to ignore.
    pub ignore: Ignore,
    /// Whether to compare records in time order instead of file order.
    pub by_time: bool,
}

/// Writes a recording as JSON Lines, in time order or in file order.
pub type ToJsonLines = fn(Source, bool, &mut dyn Write) -> Result<Ledger>;

/// Compares two recordings, and calls `on_difference` for each difference: first for those of records in order, then for all
/// others.
///
/// Records are read as needed; where many are inserted, up to 65536 of each recording are in memory.
///
/// # Errors
/// If a recording cannot be read, or `on_difference` returns an error.
pub fn diff(
    sources: [Source; 2],
    options: &DiffOptions,
    to_json_lines: ToJsonLines,
    on_difference: &mut dyn FnMut(&Difference) -> Result<()>,
) -> Result<(Summary, [Ledger; 2])> {
    std::thread::scope(|scope| {
        let [a, b] = sources;
        let lines = |source| DiffLines::read(scope, source, options, to_json_lines);
        let (a, b) = (lines(a)?, lines(b)?);
        let mut differences = Differences::new(&options.ignore, on_difference);
        let mut aligned = Aligned::new([a, b]);
        while let Some([a, b]) = aligned.next()? {
            differences.records(a, b)?;
        }
        let [a, b] = aligned.into_sides();
        let ((a, ledger_a), (b, ledger_b)) = (a.finish()?, b.finish()?);
        differences.others(a, b)?;
        Ok((differences.summary(), [ledger_a, ledger_b]))
    })
}
