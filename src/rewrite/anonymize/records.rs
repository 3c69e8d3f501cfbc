//! Records other than samples, by their parts: what no definition covers does not go along.

use super::replace::Replace;
use crate::abi::record::build_id::BuildId;
use crate::abi::record::{Body, CpuMode, Misc, Record, RecordType};
use crate::abi::sample_id::SampleId;
use crate::abi::text::PaddedStr;
use crate::container::write::encoded;
use crate::error::Result;
use crate::stream::meta::Meta;
use crate::stream::raw::Raw;

/// The size of a record is a multiple of this.
const ALIGN: usize = 8;

impl Replace {
    /// The record in another one's place; `None` where none is. What follows it and is not counted in its size is not there
    /// yet.
    ///
    /// # Errors
    /// Where what it is then is more than a record can hold.
    pub fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<Option<Vec<u8>>> {
        let kind = raw.header().kind;
        let is_kernels = kind < RecordType::USER_START;
        if is_kernels && !meta.events.list().is_empty() && meta.events.of(raw).is_none() {
            self.leave_out("records of unknown events");
            return Ok(None);
        }
        let Some(mut record) = Record::read(raw.bytes(), &meta.context(raw)) else { return Ok(None) };
        record.tail.clear();
        if let Some(id) = &mut record.id {
            self.trailer(id);
        }
        // Samples are replaced by [`Replace::sample`]; what is not decoded cannot be judged.
        let is_known = kind.descriptor().is_some_and(|descriptor| !descriptor.is_confidential);
        if !is_known || matches!(record.body, Body::Sample(_) | Body::Opaque(_)) {
            self.drops(kind);
            return Ok(None);
        }
        if !self.record_fields(&mut record, meta)? {
            return Ok(None);
        }
        let mut bytes = encoded(record.to_bytes(raw.endian()))?;
        // Features have the size that they have.
        let missing = bytes.len().next_multiple_of(ALIGN) - bytes.len();
        if missing > 0 && kind != RecordType::HEADER_FEATURE {
            record.tail = vec![0; missing];
            bytes = encoded(record.to_bytes(raw.endian()))?;
        }
        Ok(Some(bytes))
    }

    fn trailer(&mut self, id: &mut SampleId) {
        id.task = id.task.map(|(pid, tid)| (self.pid(pid), self.pid(tid)));
        id.time = id.time.map(|time| self.time(time));
        for id in [&mut id.id, &mut id.stream_id, &mut id.identifier].into_iter().flatten() {
            *id = self.id(*id);
        }
        id.cpu = id.cpu.map(|(cpu, _)| (cpu, 0));
    }

    /// Counts a record that is dropped.
    pub(super) fn drops(&mut self, kind: RecordType) -> bool {
        self.leave_out(format!("{kind} records"));
        false
    }

    /// A build id, and the file that it is of, of which the name is padded to a multiple of so many bytes.
    pub fn build_id_entry(&mut self, misc: Misc, build_id: &BuildId, align: usize) -> BuildId {
        let len = build_id.id(misc).len();
        let mut id = build_id.build_id;
        self.build_id(&mut id[..len]);
        id[len..].fill(0);
        let name = build_id.filename.text();
        let is_kernel = matches!(misc.cpu_mode(), CpuMode::KERNEL | CpuMode::GUEST_KERNEL);
        let filename = if is_kernel || !name.is_empty() { self.map(name) } else { Vec::new() };
        BuildId {
            pid: u32::try_from(build_id.pid).map_or(-1, |pid| self.pid(pid) as i32),
            build_id: id,
            size: if misc.contains(Misc::BUILD_ID_SIZE) { len as u8 } else { 0 },
            reserved_1: 0,
            reserved_2: 0,
            filename: PaddedStr::new(&filename, align),
        }
    }
}
