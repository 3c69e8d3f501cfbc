//! Batches of samples as columns.

use perf_data::abi::hex::to_hex;
use perf_data::recording::Sample;
use perf_data::session::map::Map;
use perf_data::stream::events::EventIndex;
use serde::Serialize;
use std::collections::HashMap;
use std::io::{self, Write};

/// Maximum number of samples, and of addresses, in a batch.
const MAX_SAMPLES: usize = 1 << 16;
const MAX_ADDRESSES: usize = 1 << 20;

/// A column has this for a value that is missing.
const MISSING: u32 = u32::MAX;

/// The tables that samples of all batches refer to: the index of each value, and the values that no batch had so far.
#[derive(Default)]
pub(crate) struct Tables {
    events: HashMap<EventIndex, u32>,
    new_events: Vec<String>,
    comms: HashMap<String, u32>,
    new_comms: Vec<String>,
    /// By the range, and the address of the name, which belongs to one mapping.
    mappings: HashMap<(u64, u64, *const u8), u32>,
    new_mappings: Vec<Mapping>,
}

impl Tables {
    fn event(&mut self, sample: &Sample<'_>) -> u32 {
        let next = self.events.len() as u32;
        *self.events.entry(sample.event_index()).or_insert_with(|| {
            self.new_events.push(sample.event_name());
            next
        })
    }

    fn comm(&mut self, comm: &str) -> u32 {
        if let Some(&index) = self.comms.get(comm) {
            return index;
        }
        let index = self.comms.len() as u32;
        self.comms.insert(comm.to_owned(), index);
        self.new_comms.push(comm.to_owned());
        index
    }

    fn mapping(&mut self, map: &Map) -> u32 {
        let next = self.mappings.len() as u32;
        *self.mappings.entry((map.start, map.limit, map.filename.as_ptr())).or_insert_with(|| {
            self.new_mappings.push(Mapping::new(map));
            next
        })
    }
}

/// A mapped file, or the kernel.
#[derive(Serialize)]
struct Mapping {
    path: String,
    /// Hexadecimal, as JavaScript's numbers have 53 bits.
    start: String,
    end: String,
    /// Offset of `start` in the file; for the kernel, the address of its reference symbol.
    offset: String,
    #[serde(rename = "buildId", skip_serializing_if = "Option::is_none")]
    build_id: Option<String>,
}

impl Mapping {
    fn new(map: &Map) -> Self {
        let hexadecimal = |number: u64| format!("{number:#x}");
        Self {
            path: String::from_utf8_lossy(&map.filename).into_owned(),
            start: hexadecimal(map.start),
            end: hexadecimal(map.limit),
            offset: hexadecimal(map.pgoff),
            build_id: map.build_id.as_deref().map(to_hex),
        }
    }
}

/// The line before the columns of a batch.
#[derive(Serialize)]
struct Head<'a> {
    samples: usize,
    addresses: usize,
    /// Values that no batch before this had.
    events: &'a [String],
    comms: &'a [String],
    mappings: &'a [Mapping],
}

/// Columns of samples.
#[derive(Default)]
pub(crate) struct Batch {
    times: Vec<u64>,
    periods: Vec<u64>,
    /// Call chains, innermost first, one after the other.
    addresses: Vec<u64>,
    events: Vec<u32>,
    pids: Vec<u32>,
    tids: Vec<u32>,
    cpus: Vec<u32>,
    comms: Vec<u32>,
    /// Where each call chain ends in the addresses.
    stack_ends: Vec<u32>,
    /// The mapping of each address.
    mappings: Vec<u32>,
}

impl Batch {
    /// Adds a sample.
    pub(crate) fn add(&mut self, sample: &Sample<'_>, tables: &mut Tables) {
        let fields = sample.fields();
        let (pid, tid) = fields.task.unwrap_or((MISSING, MISSING));
        self.times.push(fields.time.unwrap_or(u64::MAX));
        self.periods.push(fields.period.unwrap_or_else(|| sample.event().fixed_period().unwrap_or(1)));
        self.events.push(tables.event(sample));
        self.pids.push(pid);
        self.tids.push(tid);
        self.cpus.push(fields.cpu.map_or(MISSING, |(cpu, _)| cpu));
        self.comms.push(sample.comm().map_or(MISSING, |comm| tables.comm(&comm)));
        for (space, address) in sample.frames() {
            let mapping = sample.mapping(space, address);
            self.mappings.push(mapping.map_or(MISSING, |map| tables.mapping(map)));
            self.addresses.push(address);
        }
        self.stack_ends.push(self.addresses.len() as u32);
    }

    /// Whether the batch is to be written.
    pub(crate) fn is_full(&self) -> bool {
        self.times.len() >= MAX_SAMPLES || self.addresses.len() >= MAX_ADDRESSES
    }

    /// Writes the batch, unless it is empty, and empties it.
    pub(crate) fn write(&mut self, tables: &mut Tables, out: &mut impl Write) -> io::Result<()> {
        if self.times.is_empty() {
            return Ok(());
        }
        let head = Head {
            samples: self.times.len(),
            addresses: self.addresses.len(),
            events: &tables.new_events,
            comms: &tables.new_comms,
            mappings: &tables.new_mappings,
        };
        serde_json::to_writer(&mut *out, &head)?;
        out.write_all(b"\n")?;
        for column in [&mut self.times, &mut self.periods, &mut self.addresses] {
            column.drain(..).try_for_each(|value| out.write_all(&value.to_le_bytes()))?;
        }
        let numbers = [&mut self.events, &mut self.pids, &mut self.tids, &mut self.cpus, &mut self.comms];
        for column in numbers.into_iter().chain([&mut self.stack_ends, &mut self.mappings]) {
            column.drain(..).try_for_each(|value| out.write_all(&value.to_le_bytes()))?;
        }
        tables.new_events.clear();
        tables.new_comms.clear();
        tables.new_mappings.clear();
        Ok(())
    }
}
