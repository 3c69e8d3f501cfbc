//! Writes `results.csv`: samples by address.

use super::tables::failed;
use crate::profile::event::ProfileEvent;
use crate::profile::intern::mappings::Mappings;
use crate::profile::intern::stacks::Stacks;
use crate::profile::symbolize::symbols::Symbols;
use crate::profile::symbolize::unsymbolized::{FrameCounts, LookedUpFrames, Unsymbolized};
use crate::profile::symbolize::{SymbolSources, Symbolization};
use csv::Writer;
use hashbrown::HashMap;
use perf_data::error::{Error, Result};
use perf_data::session::Session;
use perf_data::session::map::{Map, MapId};
use perf_data::stream::events::EventIndex;
use perf_data::stream::meta::Meta;
use std::collections::BTreeMap;
use std::fs::File;

/// Sample counts and periods by event, map and address.
#[derive(Default)]
pub(super) struct Results(HashMap<(EventIndex, Option<MapId>, u64), Sum>);

/// Event, file, address in it, symbol.
type ResultKey<'a> = (EventIndex, &'a [u8], u64, Named);

/// Symbol of an address, by its fields in the table.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Named {
    /// The function, without inlined ones.
    symbol: String,
    /// The innermost inlined function, if any.
    inlined: String,
    source_file: String,
    line: Option<i64>,
}

impl Named {
    fn new(symbols: &Symbols, frame: u32) -> Self {
        let lines = symbols.lines(frame);
        let Some(innermost) = lines.first() else { return Self::default() };
        let text = |name| String::from_utf8_lossy(symbols.name(name)).into_owned();
        let function = symbols.function(innermost.function);
        let inlined = function.filter(|_| lines.len() > 1);
        Self {
            symbol: symbols.frame_function(frame).map(|function| text(function.name)).unwrap_or_default(),
            inlined: inlined.map(|function| text(function.name)).unwrap_or_default(),
            source_file: function.map(|function| text(function.file)).unwrap_or_default(),
            line: (innermost.line > 0).then_some(innermost.line),
        }
    }
}

/// Sample count and sum of periods.
#[derive(Clone, Copy, Default)]
struct Sum {
    samples: u64,
    period: u64,
}

impl Sum {
    fn add(&mut self, other: Self) {
        self.samples += other.samples;
        self.period = self.period.saturating_add(other.period);
    }
}

impl Results {
    /// Counts a sample.
    pub(super) fn add(&mut self, event: EventIndex, map: Option<MapId>, ip: u64, period: u64) {
        self.0.entry((event, map, ip)).or_default().add(Sum { samples: 1, period });
    }

    /// Writes the table, sorted by event and descending sample count. Returns the addresses without functions.
    pub(super) fn write(
        &self,
        mut out: Writer<File>,
        meta: &Meta,
        session: &Session,
        sources: &SymbolSources,
    ) -> Result<Option<Unsymbolized>> {
        let (mut mappings, mut frames) = (Mappings::new(sources.has_objects()), Stacks::default());
        let mut frame = |id, ip| frames.frame_id(mappings.frame(id, || session.map(id), ip, false));
        // The order of the map differs from run to run.
        let mut results: Vec<_> = self.0.iter().map(|(&key, &sum)| (key, sum)).collect();
        results.sort_by_key(|(key, _)| *key);
        let results: Vec<_> =
            results.into_iter().map(|(key, sum)| (key, key.1.map(|map| frame(map, key.2)), sum)).collect();
        let mut symbolization = Symbolization::new(sources, meta);
        symbolization.look_up(frames.frames(), mappings.list(), session.process_files());
        let symbols = symbolization.symbols();
        let unnamed = sources.is_any().then(|| {
            let mut counts = vec![FrameCounts::default(); frames.frames().len()];
            let mut unnamed = Unsymbolized::default();
            for ((.., ip), frame, sum) in &results {
                let count = FrameCounts { innermost: sum.samples, all: sum.samples };
                match frame {
                    Some(frame) => counts[*frame as usize] += count,
                    None if *ip == 0 => {}
                    // The address space is not among what is collected; the upper half is the kernel's.
                    None => unnamed.add_outside(*ip >> 63 == 1, count),
                }
            }
            let (mappings, objects) = (mappings.list(), &symbolization.reports());
            unnamed.add_frames(LookedUpFrames { frames: frames.frames(), mappings, symbols, objects }, &counts);
            unnamed
        });
        // Processes may map the same file at different addresses.
        let mut sums: BTreeMap<ResultKey, Sum> = BTreeMap::new();
        for ((event, map, ip), frame, sum) in results {
            let map = map.map(|id| session.map(id));
            let (file, address) = map.map_or((&[][..], ip), |map| locate(map, ip));
            let named = frame.map(|frame| Named::new(symbols, frame)).unwrap_or_default();
            sums.entry((event, file, address, named)).or_default().add(sum);
        }
        let mut rows: Vec<_> = sums.into_iter().collect();
        rows.sort_by_key(|((event, ..), sum)| (*event, std::cmp::Reverse(sum.samples)));
        let names: Vec<String> = meta.events.list().iter().map(|event| ProfileEvent::from(event).name).collect();
        let columns = ["event", "dso", "address", "file", "samples", "period"];
        let symbol_columns = ["symbol", "inlined", "source_file", "line"];
        let has_symbols = sources.is_any();
        out.write_record(columns.iter().chain(symbol_columns.iter().filter(|_| has_symbols))).map_err(failed)?;
        for ((event, file, address, named), sum) in rows {
            let short = file.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
            let dso = if file.is_empty() { "[unknown]".into() } else { String::from_utf8_lossy(short) };
            let (file, address) = (String::from_utf8_lossy(file), format!("{address:#x}"));
            let Named { symbol, inlined, source_file, line } = named;
            let row = (&names[event as usize], dso, address, file, sum.samples, sum.period);
            if has_symbols {
                out.serialize((row, (symbol, inlined, source_file, line))).map_err(failed)?;
            } else {
                out.serialize(row).map_err(failed)?;
            }
        }
        out.flush().map_err(Error::Output)?;
        Ok(unnamed)
    }
}

/// The file of a map, and an address as an offset in it.
fn locate(map: &Map, ip: u64) -> (&[u8], u64) {
    if map.is_kernel() {
        return (b"[kernel.kallsyms]", ip);
    }
    let is_file = map.filename.starts_with(b"/");
    (&map.filename, if is_file { ip.wrapping_sub(map.start).wrapping_add(map.pgoff) } else { ip })
}
