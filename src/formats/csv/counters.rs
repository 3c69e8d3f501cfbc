//! Writes `counters.csv`: the counts of `perf stat record`.

use super::tables::failed;
use crate::inspect::info::counters::Targets;
use crate::profile::event::ProfileEvent;
use csv::Writer;
use perf_data::abi;
use perf_data::abi::record::RecordType;
use perf_data::abi::record::stat::{Stat, StatRound};
use perf_data::error::{Error, Result};
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use std::fs::File;

/// Writes a row per count, once the end of its round gives the time.
#[derive(Default)]
pub(super) struct Counters {
    targets: Targets,
    /// Counts of the current round.
    round: Vec<Stat>,
    out: Option<Writer<File>>,
}

impl Counters {
    /// Adds a record; the first count creates the table.
    pub(super) fn add(
        &mut self,
        meta: &Meta,
        raw: &Raw<'_>,
        create: impl FnOnce() -> Result<Writer<File>>,
    ) -> Result<()> {
        match raw.header().kind {
            RecordType::STAT => {
                if self.out.is_none() {
                    let mut out = create()?;
                    let columns = ["time", "event", "cpu", "thread", "value", "enabled", "running"];
                    out.write_record(columns).map_err(failed)?;
                    self.out = Some(out);
                }
                self.round.extend(abi::parse::<Stat>(raw.body(), raw.endian(), ()).ok().map(|(stat, _)| stat));
            }
            RecordType::STAT_ROUND => {
                let round = abi::parse::<StatRound>(raw.body(), raw.endian(), ()).ok();
                self.end_round(meta, round.map(|(round, _)| round.time))?;
            }
            _ => self.targets.apply(raw),
        }
        Ok(())
    }

    fn end_round(&mut self, meta: &Meta, time: Option<u64>) -> Result<()> {
        let Some(out) = &mut self.out else { return Ok(()) };
        for stat in self.round.drain(..) {
            let event = meta.events.by_id(stat.id).map(|index| &meta.events.list()[index as usize]);
            let name = event.map(|event| ProfileEvent::from(event).name);
            let target = self.targets.target(&stat);
            let row = (time, name, target.cpu, target.thread, stat.val, stat.ena, stat.run);
            out.serialize(row).map_err(failed)?;
        }
        Ok(())
    }

    /// Ends the table. Counts after the last round have no time: the final ones of `perf stat record -I`.
    pub(super) fn finish(&mut self, meta: &Meta) -> Result<()> {
        self.end_round(meta, None)?;
        self.out.as_mut().map_or(Ok(()), |out| out.flush().map_err(Error::Output))
    }
}
