//! Writes `accesses.csv`: samples of memory accesses, and of other operations whose address, source of data or latency is recorded.

use super::tables::failed;
use crate::profile::data_source;
use crate::profile::event::ProfileEvent;
use crate::profile::operation::SampledOperation;
use csv::Writer;
use perf_data::abi::sample::view::SampleView;
use perf_data::abi::sample_type::SampleType;
use perf_data::error::{Error, Result};
use perf_data::stream::events::EventIndex;
use perf_data::stream::meta::Meta;
use serde::{Serialize, Serializer};
use std::fs::File;

/// Writes a row per sample.
#[derive(Default)]
pub(super) struct Accesses {
    out: Option<Writer<File>>,
    /// Names of the events.
    names: Vec<String>,
}

/// The sample fields of which one is sufficient.
const FIELDS: SampleType = SampleType::ADDR
    .union(SampleType::DATA_SRC)
    .union(SampleType::PHYS_ADDR)
    .union(SampleType::WEIGHT)
    .union(SampleType::WEIGHT_STRUCT);

/// A row. Fields after the address of the instruction are called as in tables and labels of other formats.
#[derive(Serialize)]
struct Row<'a> {
    event: &'a str,
    time: Option<u64>,
    pid: Option<i32>,
    tid: Option<i32>,
    cpu: Option<u32>,
    ip: Option<Hex>,
    addr: Option<Hex>,
    phys_addr: Option<Hex>,
    weight: Option<u64>,
    operation: Option<&'static str>,
    mem_level: Option<&'static str>,
    mem_snoop: Option<&'static str>,
    tlb: Option<&'static str>,
    remote: Option<&'static str>,
    branch_outcome: Option<&'static str>,
    cache_latency: Option<u64>,
    total_latency: Option<u64>,
    issue_latency: Option<u64>,
    translation_latency: Option<u64>,
}

/// A number that is written in hexadecimal.
struct Hex(u64);

impl Serialize for Hex {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{:#x}", self.0))
    }
}

impl Accesses {
    /// Adds a sample; the first one with such fields creates the table.
    pub(super) fn add(
        &mut self,
        meta: &Meta,
        index: EventIndex,
        view: &SampleView<'_>,
        create: impl FnOnce() -> Result<Writer<File>>,
    ) -> Result<()> {
        // In a pipe, events are added while records are read.
        let new = meta.events.list()[self.names.len().min(meta.events.list().len())..].iter();
        self.names.extend(new.map(|event| ProfileEvent::from(event).name));
        let event = &meta.events.list()[index as usize];
        if !event.layout.sample_type().intersects(FIELDS) {
            return Ok(());
        }
        if self.out.is_none() {
            self.out = Some(create()?);
        }
        let Some(out) = &mut self.out else { return Ok(()) };
        let operation = SampledOperation::new(view, &event.layout);
        let row = Row {
            event: &self.names[index as usize],
            time: view.time,
            pid: view.task.map(|(pid, _)| pid as i32),
            tid: view.task.map(|(_, tid)| tid as i32),
            cpu: view.cpu.map(|(cpu, _)| cpu),
            ip: view.ip.map(Hex),
            addr: view.addr.map(Hex),
            phys_addr: view.phys_addr.map(Hex),
            weight: view.weight,
            operation: operation.kind(),
            mem_level: view.data_src.map(data_source::level),
            mem_snoop: view.data_src.and_then(data_source::snoop),
            tlb: operation.tlb(),
            remote: operation.remote(),
            branch_outcome: operation.branch_outcome(),
            cache_latency: operation.cache_latency(),
            total_latency: operation.total_latency(),
            issue_latency: operation.issue_latency(),
            translation_latency: operation.translation_latency(),
        };
        out.serialize(row).map_err(failed)
    }

    pub(super) fn finish(&mut self) -> Result<()> {
        self.out.as_mut().map_or(Ok(()), |out| out.flush().map_err(Error::Output))
    }
}
