//! Writes `results.csv`: samples by address.

use super::tables::failed;
use crate::error::{Error, Result};
use crate::profile::event::ProfileEvent;
use crate::profile::symbols::SymbolSource;
use crate::session::Session;
use crate::session::map::{Map, MapId};
use crate::stream::events::EventIndex;
use crate::stream::meta::Meta;
use csv::Writer;
use hashbrown::HashMap;
use std::collections::BTreeMap;
use std::fs::File;

/// Sample counts and periods by event, map and address.
#[derive(Default)]
pub struct Results(HashMap<(EventIndex, Option<MapId>, u64), Sum>);

/// Event, file, address in it, function name.
type Place<'a> = (EventIndex, &'a [u8], u64, &'a [u8]);

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
    pub fn add(&mut self, event: EventIndex, map: Option<MapId>, ip: u64, period: u64) {
        self.0.entry((event, map, ip)).or_default().add(Sum { samples: 1, period });
    }

    /// Writes the table, sorted by event and descending sample count.
    pub fn write(
        &self,
        mut out: Writer<File>,
        meta: &Meta,
        session: &Session,
        symbols: Option<&dyn SymbolSource>,
    ) -> Result<()> {
        let name = |map: &Map, ip| {
            let symbols = symbols?;
            let line = symbols.find(map, ip)?.line?;
            symbols.functions().get(line.function as usize).map(|function| symbols.names().name(function.name))
        };
        // Processes may map the same file at different addresses.
        let mut places: BTreeMap<Place, Sum> = BTreeMap::new();
        for (&(event, map, ip), &sum) in &self.0 {
            let map = map.map(|id| session.map(id));
            let (file, address) = map.map_or((&[][..], ip), |map| place(map, ip));
            let symbol = map.and_then(|map| name(map, ip)).unwrap_or_default();
            places.entry((event, file, address, symbol)).or_default().add(sum);
        }
        let mut places: Vec<_> = places.into_iter().collect();
        places.sort_by_key(|((event, ..), sum)| (*event, std::cmp::Reverse(sum.samples)));
        let names: Vec<String> = meta.events.list().iter().map(|event| ProfileEvent::from(event).name).collect();
        let columns = ["event", "dso", "address", "file", "samples", "period"].into_iter();
        out.write_record(columns.chain(symbols.map(|_| "symbol"))).map_err(failed)?;
        for ((event, file, address, symbol), sum) in places {
            let short = file.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
            let dso = if file.is_empty() { "[unknown]".into() } else { String::from_utf8_lossy(short) };
            let (file, address) = (String::from_utf8_lossy(file), format!("{address:#x}"));
            let symbol = symbols.map(|_| String::from_utf8_lossy(symbol));
            let row = (&names[event as usize], dso, address, file, sum.samples, sum.period, symbol.as_slice());
            out.serialize(row).map_err(failed)?;
        }
        out.flush().map_err(Error::Output)
    }
}

/// The file of a map, and an address as an offset in it.
fn place(map: &Map, ip: u64) -> (&[u8], u64) {
    if map.is_kernel() {
        return (b"[kernel.kallsyms]", ip);
    }
    let is_file = map.filename.starts_with(b"/");
    (&map.filename, if is_file { ip.wrapping_sub(map.start).wrapping_add(map.pgoff) } else { ip })
}
