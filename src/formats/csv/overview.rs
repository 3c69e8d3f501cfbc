//! Writes `overview.csv`: all records.

use super::tables::failed;
use crate::profile::event::ProfileEvent;
use csv::Writer;
use perf_data::abi;
use perf_data::abi::bytes::ByteReader;
use perf_data::abi::record::comm::Comm;
use perf_data::abi::record::lost::{Lost, LostSamples};
use perf_data::abi::record::mmap::Mmap;
use perf_data::abi::record::mmap2::Mmap2;
use perf_data::abi::record::task::Task;
use perf_data::abi::record::{Misc, RecordType};
use perf_data::abi::sample::field::SampleField;
use perf_data::error::{Error, Result};
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use std::fmt::Write as _;
use std::fs::File;

/// Writes a row per record.
pub(super) struct Overview {
    out: Writer<File>,
    nr: u64,
    /// Names of the events.
    names: Vec<String>,
    /// Scratch buffer.
    info: String,
}

/// Process and thread of a record.
type Whose = (Option<u32>, Option<u32>);

impl Overview {
    pub(super) fn new(mut out: Writer<File>) -> Result<Self> {
        out.write_record(["nr", "type", "pid", "tid", "time", "info"]).map_err(failed)?;
        Ok(Self { out, nr: 0, names: Vec::new(), info: String::new() })
    }

    pub(super) fn add(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        self.info.clear();
        let (pid, tid) = match raw.header().kind {
            RecordType::SAMPLE => self.sample(meta, raw),
            _ => self.other(meta, raw),
        };
        let time = meta.events.time(raw);
        // The IDs of the kernel, and of no process, are negative.
        let [pid, tid] = [pid, tid].map(|id| id.map(|id| id as i32));
        let row = (self.nr, raw.header().kind.to_string(), pid, tid, time, &self.info);
        self.nr += 1;
        self.out.serialize(row).map_err(failed)
    }

    /// Describes event and address.
    fn sample(&mut self, meta: &Meta, raw: &Raw<'_>) -> Whose {
        let Some((index, event)) = meta.events.find(raw) else { return (None, None) };
        // In a pipe, events are added while records are read.
        let new = meta.events.list()[self.names.len().min(meta.events.list().len())..].iter();
        self.names.extend(new.map(|event| ProfileEvent::from(event).name));
        self.info.push_str(&self.names[index as usize]);
        let Ok(view) = event.sample(raw) else { return (None, None) };
        if let Some(ip) = view.ip {
            let _ = write!(self.info, " at {ip:#x}");
        }
        for &field in SampleField::SHOWN_AS_TEXT {
            if let Some(text) = view.text(field) {
                let _ = write!(self.info, " {}={text}", field.name());
            }
        }
        view.task.map_or((None, None), |(pid, tid)| (Some(pid), Some(tid)))
    }

    fn other(&mut self, meta: &Meta, raw: &Raw<'_>) -> Whose {
        let (body, trailer) = meta.events.split(raw);
        let trailer_task =
            trailer.and_then(|trailer| trailer.task).map_or((None, None), |(pid, tid)| (Some(pid), Some(tid)));
        self.describe(raw, body).unwrap_or(trailer_task)
    }

    /// Describes a record by its body. `None` if its process is in the trailer.
    fn describe(&mut self, raw: &Raw<'_>, body: &[u8]) -> Option<Whose> {
        let (endian, misc, info) = (raw.endian(), raw.header().misc, &mut self.info);
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        let task = |pid, tid| Some((Some(pid), Some(tid)));
        match raw.header().kind {
            RecordType::COMM => {
                let (comm, _) = abi::parse::<Comm>(body, endian, ()).ok()?;
                info.push_str(&text(comm.comm.text()));
                task(comm.pid, comm.tid)
            }
            RecordType::MMAP => {
                let (map, _) = abi::parse::<Mmap>(body, endian, ()).ok()?;
                let _ = write!(info, "{:#x}+{:#x} {}", map.addr, map.len, text(map.filename.text()));
                task(map.pid, map.tid)
            }
            RecordType::MMAP2 => {
                let (map, _) = abi::parse::<Mmap2>(body, endian, (misc,)).ok()?;
                let _ = write!(info, "{:#x}+{:#x} {}", map.addr, map.len, text(map.filename.text()));
                task(map.pid, map.tid)
            }
            RecordType::FORK | RecordType::EXIT => {
                let (record, _) = abi::parse::<Task>(body, endian, ()).ok()?;
                let _ = write!(info, "parent {}/{}", record.ppid as i32, record.ptid as i32);
                task(record.pid, record.tid)
            }
            RecordType::LOST => {
                let (lost, _) = abi::parse::<Lost>(body, endian, ()).ok()?;
                let _ = write!(info, "{} records", lost.lost);
                None
            }
            RecordType::LOST_SAMPLES => {
                let (lost, _) = abi::parse::<LostSamples>(body, endian, ()).ok()?;
                let _ = write!(info, "{} samples", lost.lost);
                None
            }
            RecordType::SWITCH | RecordType::SWITCH_CPU_WIDE => {
                info.push_str(if misc.contains(Misc::SWITCH_OUT) { "out" } else { "in" });
                None
            }
            RecordType::AUX => {
                let mut reader = ByteReader::new(body, endian);
                let (offset, size) = (reader.u64()?, reader.u64()?);
                let _ = write!(info, "{size} bytes at {offset:#x}");
                None
            }
            _ => None,
        }
    }

    pub(super) fn finish(&mut self) -> Result<()> {
        self.out.flush().map_err(Error::Output)
    }
}
