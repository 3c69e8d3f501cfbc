//! Anonymizes records other than samples. Bytes that no definition covers are removed.

use super::replace::Replacer;
use perf_data::abi::record::build_id::BuildId;
use perf_data::abi::record::descriptor::RecordFlags;
use perf_data::abi::record::{Body, CpuMode, Misc, Record, RecordType};
use perf_data::abi::sample::id::SampleId;
use perf_data::abi::text::PaddedStr;
use perf_data::container::write::encoded;
use perf_data::error::Result;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;

/// Alignment of record sizes.
const ALIGN: usize = 8;

impl Replacer {
    /// Anonymizes a record; `None` if it is removed. A payload after the record is not included.
    ///
    /// # Errors
    /// Fails if the replacement exceeds the maximum size of a record.
    pub(crate) fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<Option<Vec<u8>>> {
        let kind = raw.header().kind;
        let is_kernels = kind < RecordType::USER_START;
        if is_kernels && !meta.events.list().is_empty() && meta.events.find(raw).is_none() {
            self.note_removal("records of unknown events");
            return Ok(None);
        }
        if meta.events.find(raw).is_some_and(|(_, event)| event.lacks_trailer(raw)) {
            self.drop_record(kind);
            return Ok(None);
        }
        let Some(mut record) = Record::read(raw.bytes(), &meta.context(raw)) else { return Ok(None) };
        record.tail.clear();
        if let Some(id) = &mut record.id {
            self.trailer(id);
        }
        // Samples are anonymized by [`Replacer::sample`]; opaque records cannot be classified.
        if kind.name().is_none()
            || kind.has(RecordFlags::CONFIDENTIAL)
            || matches!(record.body, Body::Sample(_) | Body::Opaque(_))
        {
            self.drop_record(kind);
            return Ok(None);
        }
        if !self.record_fields(&mut record, meta)? {
            return Ok(None);
        }
        let mut bytes = encoded(record.to_bytes(raw.endian()))?;
        let missing = bytes.len().next_multiple_of(ALIGN) - bytes.len();
        if missing > 0 && !kind.has(RecordFlags::UNALIGNED) {
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

    /// Counts a record that is removed; returns false.
    pub(super) fn drop_record(&mut self, kind: RecordType) -> bool {
        self.note_removal(format!("{kind} records"));
        false
    }

    /// Anonymizes a build ID and its file name, padded to a multiple of `align` bytes.
    pub(crate) fn build_id_entry(&mut self, misc: Misc, build_id: &BuildId, align: usize) -> BuildId {
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
