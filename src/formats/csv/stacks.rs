//! Writes `stacks.csv`: samples by event, process and stack.

use super::tables::failed;
use crate::formats::folded::{Folded, FrameNames};
use crate::formats::framework::converter::ConvertOptions;
use crate::profile::collect::collector::Collector;
use crate::profile::labels::Label;
use crate::profile::options::{FunctionNames, ProfileOptions};
use csv::Writer;
use hashbrown::HashMap;
use perf_data::error::{Error, Result};
use perf_data::printable;
use perf_data::session::names::NameId;
use perf_data::session::slices::Slices;
use perf_data::stream::Sink;
use perf_data::stream::events::EventIndex;
use perf_data::stream::ledger::Ledger;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use std::cmp::Reverse;
use std::fs::File;

/// Collects stacks.
pub(super) struct StackTable(Collector<'static>);

/// Event, process, stack of names.
type RowKey = (EventIndex, Option<u32>, u32);

impl StackTable {
    /// Begins without stacks.
    pub(super) fn new(options: &ConvertOptions) -> Self {
        let ConvertOptions { symbols, unmapped, .. } = options;
        let mut profile = ProfileOptions { symbols: symbols.clone(), ..ProfileOptions::default() };
        profile.default_labels = Some(&[Label::Pid]);
        profile.cuts.unmapped = *unmapped;
        Self(Collector::new(&profile))
    }

    /// Adds a record.
    ///
    /// # Errors
    /// Those of the collector.
    pub(super) fn add(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        self.0.record(meta, raw)
    }

    /// Writes the table, sorted by event and descending sample count. Adds to `ledger` which stacks are incomplete.
    ///
    /// # Errors
    /// If the table cannot be written.
    pub(super) fn write(self, mut out: Writer<File>, meta: &Meta, ledger: &mut Ledger) -> Result<()> {
        let (profiles, notes) = self.0.finish(meta)?;
        notes.missing_notes().iter().for_each(|note| ledger.missing(note.clone()));
        out.write_record(["event", "pid", "stack", "samples", "period"]).map_err(failed)?;
        for profile in &profiles {
            let tables = &*profile.tables;
            let mut frames = FrameNames::new(tables, &Folded::default(), printable::escape, FunctionNames::Full);
            let (mut stacks, mut stack): (Slices<NameId>, _) = (Slices::default(), Vec::new());
            let mut sums: HashMap<RowKey, (u64, u64)> = HashMap::new();
            for row in &profile.rows {
                stack.clear();
                frames.append(row.stack, &mut stack);
                let pid = tables.labels.value(row.labels, Label::Pid).map(|pid| pid as u32);
                let (samples, period) = sums.entry((row.event, pid, stacks.id(&stack))).or_default();
                *samples += row.samples;
                *period = period.saturating_add(row.value);
            }
            let (names, _) = frames.into_names();
            let text = |stack| stacks.get(stack).iter().map(|&id| names.name(id)).collect::<Vec<_>>().join(&b';');
            let row = |((event, pid, stack), (samples, period))| (event, Reverse(samples), pid, text(stack), period);
            let mut rows: Vec<_> = sums.into_iter().map(row).collect();
            rows.sort_unstable();
            for (event, Reverse(samples), pid, stack, period) in rows {
                // The IDs of the kernel, and of no process, are negative.
                let pid = pid.map(|pid| pid as i32);
                let name = &tables.events[event as usize].name;
                out.serialize((name, pid, String::from_utf8_lossy(&stack), samples, period)).map_err(failed)?;
            }
        }
        out.flush().map_err(Error::Output)
    }
}
