//! Explicit records, and those derived from `[aux]` and `lost`.

use super::ScenarioLines;
use crate::synth::scenario::file::File;
use crate::synth::scenario::file::record::{AuxTable, RecordTable};
use crate::synth::scenario::plan::{BEGIN, RecordContent, ScenarioRecord};
use crate::synth::{Metadata, Stamp};
use perf_data::abi::record::aux_area::{Aux, AuxFlags};
use perf_data::abi::record::auxtrace::Auxtrace;
use perf_data::abi::record::auxtrace_info::AuxtraceInfo;
use perf_data::abi::record::lost::Lost;
use perf_data::abi::record::{Body, Misc, RecordType};
use perf_data::error::Result;
use std::collections::BTreeMap;
use toml::Spanned;

/// Maximum size of all pieces of a trace.
const MAX_TRACE: usize = 1 << 24;

impl ScenarioLines<'_> {
    pub(super) fn records(&self, file: &File, metadata: &Metadata) -> Result<Vec<ScenarioRecord>> {
        let mut records = Vec::new();
        for (number, (table, event)) in
            file.event.iter().zip(metadata.events()).enumerate().filter(|(_, (e, _))| e.lost > 0)
        {
            let body = Body::Lost(Lost { id: event.ids.first().copied().unwrap_or_default(), lost: table.lost });
            let time = BEGIN.saturating_add(file.duration.get_ref().0 / 2);
            records.push(ScenarioRecord::new(Stamp { event: number, ..Stamp::at(time, 0, 0) }, body));
        }
        for table in &file.record {
            records.push(self.record(table, metadata)?);
        }
        // After the explicit records, which the decoder may depend on, such as TIME_CONV.
        if let Some(aux) = &file.aux {
            self.aux(aux, metadata, &mut records)?;
        }
        records.sort_by_key(|given| given.stamp.time);
        Ok(records)
    }

    fn record(&self, table: &RecordTable, metadata: &Metadata) -> Result<ScenarioRecord> {
        let time = table.at.map_or(0, |at| BEGIN.saturating_add(at.0));
        let event = self.number(table.event.as_ref(), "record.event", metadata)?;
        let stamp = Stamp { event, ..Stamp::at(time, table.pid, table.tid.unwrap_or(table.pid)).on(table.cpu) };
        let content = match (&table.kind, &table.body, &table.bytes) {
            (Some(kind), Some(given), None) => {
                let record_types = (1..RecordType::USER_START.0 * 2).map(RecordType);
                let record_type = record_types.into_iter().find(|candidate| candidate.name() == Some(kind.get_ref()));
                let problem = || format!("unknown record type '{}'", kind.get_ref());
                let kind = record_type.ok_or_else(|| self.invalid(kind.span(), "record.type", problem()))?;
                let body = Body::deserialize(kind, Self::fields(given.get_ref()));
                let body = body.map_err(|e| self.invalid(given.span(), "record.body", e))?;
                self.check_known(given, "record.body", &body)?;
                let payload = table.payload.as_ref().map(|text| self.hex(text, "record.payload")).transpose()?;
                let misc = table.misc | Misc::from(table.cpumode);
                RecordContent::Record { misc, body: Box::new(body), payload: payload.unwrap_or_default() }
            }
            (None, None, Some(bytes)) if table.payload.is_none() => {
                RecordContent::Bytes(self.hex(bytes, "record.bytes")?)
            }
            (kind, body, bytes) => {
                let span = kind.as_ref().map(Spanned::span).or(body.as_ref().map(Spanned::span));
                let span = span.or(bytes.as_ref().map(Spanned::span)).unwrap_or(0..0);
                return Err(self.invalid(span, "record", "expected type and body, or only bytes"));
            }
        };
        Ok(ScenarioRecord { stamp, content })
    }

    fn aux(&self, table: &AuxTable, metadata: &Metadata, records: &mut Vec<ScenarioRecord>) -> Result<()> {
        let event = self.number(table.event.as_ref(), "aux.event", metadata)?;
        let info = AuxtraceInfo { kind: table.kind, reserved: 0, private: table.private.clone() };
        records.push(ScenarioRecord::new(Stamp::default(), Body::AuxtraceInfo(info)));
        let mut offsets = BTreeMap::<u32, u64>::new();
        let mut room = MAX_TRACE;
        for (number, buffer) in table.buffer.iter().enumerate() {
            let bytes = self.hex(&buffer.bytes, "aux.buffer.bytes")?;
            let times = *buffer.times.get_ref() as usize;
            let len = bytes.len().checked_mul(times).filter(|&len| len <= room && len % 8 == 0);
            let problem =
                || format!("the size of a piece must be a multiple of 8, and that of all pieces at most {MAX_TRACE}");
            let len = len.ok_or_else(|| self.invalid(buffer.bytes.span(), "aux.buffer.bytes", problem()))?;
            room -= len;
            let len = len as u64;
            let tid = buffer.tid.unwrap_or(buffer.pid);
            let stamp = Stamp { event, ..Stamp::at(BEGIN.saturating_add(buffer.at.0), buffer.pid, tid).on(buffer.cpu) };
            let offset = offsets.entry(buffer.cpu).or_default();
            let aux = Aux { aux_offset: *offset, aux_size: len, flags: AuxFlags::empty() };
            let (idx, cpu) = (buffer.cpu, buffer.cpu as i32);
            let reference = number as u64 + 1;
            let trace = Auxtrace { size: len, offset: *offset, reference, idx, tid: tid as i32, cpu, reserved: 0 };
            *offset += len;
            records.push(ScenarioRecord::new(stamp, Body::Aux(aux)));
            let content = RecordContent::Record {
                misc: Misc::empty(),
                body: Box::new(Body::Auxtrace(trace)),
                payload: bytes.repeat(times),
            };
            records.push(ScenarioRecord { stamp, content });
        }
        Ok(())
    }

    /// Index of an event by name; the first by default.
    pub(super) fn number(&self, name: Option<&Spanned<String>>, key: &str, metadata: &Metadata) -> Result<usize> {
        let Some(name) = name else { return Ok(0) };
        let number = metadata.events().iter().position(|event| event.name == *name.get_ref());
        number.ok_or_else(|| self.invalid(name.span(), key, format!("unknown event '{}'", name.get_ref())))
    }
}

impl ScenarioRecord {
    fn new(stamp: Stamp, body: Body) -> Self {
        Self {
            stamp,
            content: RecordContent::Record { misc: Misc::empty(), body: Box::new(body), payload: Vec::new() },
        }
    }
}
