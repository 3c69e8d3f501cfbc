//! How two recordings differ: in what holds them, in their events, features and records.
//!
//! They are compared as JSON Lines, which hold all that a recording does: as bytes where there is no definition. Offsets in the
//! file are not part of JSON and make no difference.

mod align;
mod difference;
mod fields;
mod ignore;
mod item;
mod lines;

pub use difference::{Count, Difference, Side, Subject, Summary};
pub use fields::Change;
pub use ignore::Ignore;

use crate::error::Result;
use crate::stream::ledger::Ledger;
use crate::stream::source::Source;
use align::Aligned;
use difference::Told;
use lines::Lines;
use std::io::Write;

/// What is compared, and how.
#[derive(Clone, Debug, Default)]
pub struct DiffOptions {
    /// What does not count.
    pub ignore: Ignore,
    /// Whether records are compared in the order of time instead of that of the file.
    pub by_time: bool,
}

/// Writes a recording as JSON Lines, in the order of time or else as it is stored.
pub type ToJsonLines = fn(Source, bool, &mut dyn Write) -> Result<Ledger>;

/// Compares two recordings, and calls `found` for each difference: first those of records, in their order, then all others.
/// Records are read as they are needed; where much is inserted, as many as 65536 of each recording are in memory.
///
/// # Errors
/// Where a recording cannot be read, or `found` cannot go on.
pub fn diff(
    sources: [Source; 2],
    options: &DiffOptions,
    to_json_lines: ToJsonLines,
    found: &mut dyn FnMut(&Difference) -> Result<()>,
) -> Result<(Summary, [Ledger; 2])> {
    std::thread::scope(|scope| {
        let [a, b] = sources.map(|source| Lines::read(scope, source, options, to_json_lines));
        let mut told = Told::new(&options.ignore, found);
        let mut aligned = Aligned::new([a, b]);
        while let Some([a, b]) = aligned.next()? {
            told.records(a, b)?;
        }
        let [a, b] = aligned.into_sides();
        let ((a, of_a), (b, of_b)) = (a.finish()?, b.finish()?);
        told.others(a, b)?;
        Ok((told.summary(), [of_a, of_b]))
    })
}
