//! Remaps records and features to the event IDs, fields, times and processes of a merge.
//!
//! Event IDs are in samples (IDENTIFIER, ID, STREAM_ID and counter values), in trailers, and in LOST, THROTTLE, UNTHROTTLE, READ,
//! ID_INDEX and EVENT_UPDATE records; HEADER_ATTR and EVENT_DESC are generated. Recordings with other IDs, of `perf stat` or with
//! unknown record types, are [rejected](super::compatibility); records that do not match their definition are dropped.

use super::events::{EventPlan, Plan};
use super::options::PID_STEP;
use super::patch::{change_u32, change_u64, u64_at};
use perf_data::abi::Endian;
use perf_data::abi::bytes::Integer;
use perf_data::abi::feature::FeatureSection;
use perf_data::abi::fields::{FieldVisitor, TaskField, ignore_roles};
use perf_data::abi::read_format::ReadFormat;
use perf_data::abi::record::{Body, RecordHeader, RecordType};
use perf_data::abi::sample::field::SampleField;
use perf_data::abi::sample::id::SampleId;
use perf_data::abi::sample_type::SampleType;
use perf_data::container::write::encoded;
use perf_data::error::{Error, Result};
use perf_data::stream::events::is_time;
use perf_data::stream::ledger::Reason;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use std::fmt;
use std::io::Cursor;

/// Remaps the records of one recording.
#[derive(Clone, Debug)]
pub(crate) struct RecordRemapper {
    plan: Plan,
    /// Wrapping offset of times.
    shift: u64,
    /// Offset of process and thread IDs, if any.
    pids: Option<u32>,
}

impl RecordRemapper {
    pub(crate) fn new(plan: Plan, shift: u64, pids: Option<u32>) -> Self {
        Self { plan, shift, pids }
    }

    /// Whether records are unchanged.
    pub(crate) fn is_same(&self) -> bool {
        self.plan.is_same && self.shift == 0 && self.pids.is_none()
    }

    /// Remaps a time.
    #[inline]
    pub(crate) fn time(&self, time: u64) -> u64 {
        if is_time(time) { time.wrapping_add(self.shift) } else { time }
    }

    /// Remaps a process or thread ID.
    ///
    /// # Errors
    /// If it is too large.
    pub(crate) fn task(&self, task: u32) -> std::result::Result<u32, TooLarge> {
        let Some(pids) = self.pids else { return Ok(task) };
        // The idle task and the kernel are common to all machines.
        if task == 0 || task > i32::MAX as u32 {
            return Ok(task);
        }
        if task < PID_STEP { Ok(task + pids) } else { Err(TooLarge(task)) }
    }

    /// Remaps the fields of a feature section. The bytes beyond its definition are unchanged.
    ///
    /// # Errors
    /// Fails if a process ID is too large.
    pub(crate) fn feature(&self, section: &mut FeatureSection) -> std::result::Result<(), TooLarge> {
        self.visit(None, |visitor| section.feature.visit_fields(visitor))
    }

    fn visit(
        &self,
        own: Option<&EventPlan>,
        visit: impl FnOnce(&mut dyn FieldVisitor),
    ) -> std::result::Result<(), TooLarge> {
        let mut fields = RemapFields { remapper: self, own, failure: None };
        visit(&mut fields);
        fields.failure.map_or(Ok(()), Err)
    }

    /// Appends the remapped record without its payload; or appends nothing and returns why the record is dropped.
    ///
    /// # Errors
    /// Fails if the record would become too long, or a process ID is too large.
    pub(crate) fn append(&self, meta: &Meta, raw: &Raw<'_>, out: &mut Vec<u8>) -> Result<Option<Reason>> {
        let start = out.len();
        // An unknown ID may be in use by another recording.
        if raw.header().kind < RecordType::USER_START && meta.events.find(raw).is_none() {
            return Ok(Some(Reason::UnknownEvent));
        }
        let is_remapped = if self.is_same() {
            out.extend_from_slice(raw.bytes());
            true
        } else if raw.header().kind == RecordType::SAMPLE {
            self.sample(meta, raw, out)?
        } else if raw.header().kind < RecordType::USER_START {
            self.with_trailer(meta, raw, out)?
        } else {
            out.extend_from_slice(raw.bytes());
            let body = start + RecordHeader::SIZE..start + raw.header().len();
            self.remap_fields(meta, raw, None, &mut out[body])?
        };
        if !is_remapped {
            out.truncate(start);
            return Ok(Some(Reason::Damaged));
        }
        let len = out.len() - start;
        if len != raw.header().len() {
            let Some(header) = raw.header().with_len(len) else { return Err(too_long(meta, raw)) };
            out[start..start + RecordHeader::SIZE].copy_from_slice(&header.to_bytes(raw.endian()));
        }
        Ok(None)
    }

    /// Appends a remapped sample; returns false if its fields do not fit its size.
    fn sample(&self, meta: &Meta, raw: &Raw<'_>, out: &mut Vec<u8>) -> Result<bool> {
        let Some((index, event)) = meta.events.find(raw) else { return Ok(false) };
        let (from, endian) = (&event.layout, raw.endian());
        let plan = &self.plan.events[index as usize];
        let body = raw.body();
        out.extend_from_slice(&raw.bytes()[..RecordHeader::SIZE]);
        if plan.layout.sample_type.contains(SampleType::IDENTIFIER) && !from.has(SampleField::Identifier) {
            let id = from.id_at().and_then(|at| u64_at(body, 8 * at, endian));
            out.extend_from_slice(&id.map_or(plan.id, |id| self.plan.id(id, plan)).to_bytes(endian));
        }
        let start = out.len();
        out.extend_from_slice(body);
        for (field, at) in from.head() {
            let at = start + at;
            if at + 8 > out.len() {
                return Ok(false);
            }
            match field {
                SampleField::Identifier | SampleField::Id | SampleField::StreamId => {
                    change_u64(out, at, endian, |id| self.plan.id(id, plan));
                }
                SampleField::Task => self.tasks(meta, raw, out, at, 2)?,
                SampleField::Time => change_u64(out, at, endian, |time| self.time(time)),
                _ => {}
            }
        }
        Ok(match from.word_at(SampleField::Read) {
            Some(word) => self.values(out, start + 8 * word, endian, from.read_format()),
            None => true,
        })
    }

    /// Remaps the IDs of counter values; returns false if the bytes are too short.
    fn values(&self, out: &mut [u8], mut at: usize, endian: Endian, format: ReadFormat) -> bool {
        if !format.contains(ReadFormat::ID) {
            return true;
        }
        let has = |bit| usize::from(format.contains(bit));
        let times = has(ReadFormat::TOTAL_TIME_ENABLED) + has(ReadFormat::TOTAL_TIME_RUNNING);
        let each = 8 * (2 + has(ReadFormat::LOST));
        let (count, first) = match format.contains(ReadFormat::GROUP) {
            true => match u64_at(out, at, endian) {
                Some(count) => (count, 8 * (1 + times) + 8),
                None => return false,
            },
            false => (1, 8 * (1 + times)),
        };
        at += first;
        for _ in 0..count {
            if at + 8 > out.len() {
                return false;
            }
            change_u64(out, at, endian, |id| self.plan.merged_id(id));
            at += each;
        }
        true
    }

    /// Remaps consecutive process and thread IDs.
    fn tasks(&self, meta: &Meta, raw: &Raw<'_>, out: &mut [u8], at: usize, count: usize) -> Result<()> {
        if self.pids.is_none() {
            return Ok(());
        }
        for at in (0..count).map(|nth| at + 4 * nth) {
            let Some(task) = super::patch::u32_at(out, at, raw.endian()) else { return Ok(()) };
            let task = self.task(task).map_err(|task| task.at(meta, raw))?;
            change_u32(out, at, raw.endian(), |_| task);
        }
        Ok(())
    }

    /// Appends a remapped kernel record other than a sample; returns false if its fields do not fit its size.
    fn with_trailer(&self, meta: &Meta, raw: &Raw<'_>, out: &mut Vec<u8>) -> Result<bool> {
        let Some((index, _)) = meta.events.find(raw) else { return Ok(false) };
        let plan = &self.plan.events[index as usize];
        let (body, trailer) = meta.events.split(raw);
        let endian = raw.endian();
        let start = out.len();
        out.extend_from_slice(&raw.bytes()[..RecordHeader::SIZE + body.len()]);
        let at = start + RecordHeader::SIZE;
        if !self.remap_fields(meta, raw, Some(plan), &mut out[at..])? {
            return Ok(false);
        }
        let id = trailer.and_then(|trailer| trailer.identifier.or(trailer.id));
        // Records that perf synthesizes have an ID of 0, and the trailer layout of the first event.
        let is_synthesized = trailer.is_none() || id == Some(0);
        let layout = if is_synthesized { self.plan.first } else { plan.layout };
        let recorded = trailer.unwrap_or_default();
        let id = match id {
            _ if is_synthesized => 0,
            Some(id) => self.plan.id(id, plan),
            None => plan.id,
        };
        let (pid, tid) = recorded.task.unwrap_or_default();
        let task = |task| self.task(task).map_err(|task| task.at(meta, raw));
        let task = (task(pid)?, task(tid)?);
        let stream_id = recorded.stream_id.map_or(id, |id| if id == 0 { 0 } else { self.plan.id(id, plan) });
        let trailer = SampleId {
            task: Some(task),
            time: recorded.time.or_else(|| meta.events.time(raw)).map(|time| self.time(time)),
            id: Some(id),
            stream_id: Some(stream_id),
            cpu: Some(recorded.cpu.unwrap_or_default()),
            identifier: Some(id),
        };
        trailer.append(layout.trailer(), endian, out);
        Ok(true)
    }

    /// Remaps the fields of a record other than a sample in place; returns false if it does not match its definition. `own` is the
    /// record's event, if any.
    fn remap_fields(&self, meta: &Meta, raw: &Raw<'_>, own: Option<&EventPlan>, body: &mut [u8]) -> Result<bool> {
        let len = body.len();
        let RecordHeader { kind, misc, .. } = raw.header();
        let (mut fields, tail) = Body::read(kind, misc, body, &meta.context(raw));
        if matches!(fields, Body::Opaque(_)) {
            return Ok(false);
        }
        let covered = len - tail.len();
        self.visit(own, |visitor| fields.visit_fields(visitor)).map_err(|task| task.at(meta, raw))?;
        let mut bytes = Cursor::new(Vec::with_capacity(len));
        let written = fields.write(&mut bytes, raw.endian());
        let bytes = encoded(written.map(|()| bytes.into_inner()))?;
        // A definition writes as many bytes as it reads, unless the record contradicts it.
        let is_covered = bytes.len() == covered;
        if is_covered {
            body[..covered].copy_from_slice(&bytes);
        }
        Ok(is_covered)
    }
}

/// A process or thread ID that is too large to be offset.
#[derive(Debug)]
pub(crate) struct TooLarge(u32);

impl TooLarge {
    fn at(self, meta: &Meta, raw: &Raw<'_>) -> Error {
        Error::input(&meta.files[raw.block().source as usize], raw.offset(), self.to_string())
    }
}

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "--offset-pids: process or thread ID {} is too large to be offset", self.0)
    }
}

/// Remaps references to events, times and processes.
struct RemapFields<'a> {
    remapper: &'a RecordRemapper,
    own: Option<&'a EventPlan>,
    failure: Option<TooLarge>,
}

impl perf_data::abi::fields::InWorkspace for RemapFields<'_> {}

impl FieldVisitor for RemapFields<'_> {
    fn task(&mut self, mut task: TaskField<'_>) {
        let Some(number) = task.get() else { return };
        match self.remapper.task(number) {
            Ok(number) => task.set(number),
            Err(failure) => self.failure = self.failure.take().or(Some(failure)),
        }
    }

    fn own_process(&mut self, process: TaskField<'_>) {
        self.task(process);
    }

    fn guest(&mut self, task: TaskField<'_>) {
        self.task(task);
    }

    fn time(&mut self, time: &mut u64) {
        *time = self.remapper.time(*time);
    }

    fn own_event_id(&mut self, id: &mut u64) {
        *id = self.own.map_or_else(|| self.remapper.plan.merged_id(*id), |own| self.remapper.plan.id(*id, own));
    }

    fn event_id(&mut self, id: &mut u64) {
        *id = self.remapper.plan.merged_id(*id);
    }

    // Attrs, features and tracepoint formats are merged on their own; a clock's origin is merged by `--align wall`.
    ignore_roles! {
        elapsed, clock_origin, attr, text, command_line, mapping, address, code, callchain, inode, namespace, build_id, file_build_id, cgroup_id, bpf_tag, feature, tracing_data, opaque, unknown
    }
}

fn too_long(meta: &Meta, raw: &Raw<'_>) -> Error {
    let file = &meta.files[raw.block().source as usize];
    let problem = format!("the {} record with an added event ID would be longer than 65535 bytes", raw.header().kind);
    Error::input(file, raw.offset(), problem)
}
