//! Anonymizes samples field by field. Bytes after the known fields are removed.

use super::category::Category;
use super::events::{REMOVABLE, removed_fields};
use super::replace::Replacer;
use perf_data::abi;
use perf_data::abi::attr::AttrType;
use perf_data::abi::bytes::{ByteWriter, Words};
use perf_data::abi::feature::tracepoint_format::TracepointFormat;
use perf_data::abi::read_format::ReadValue;
use perf_data::abi::record::RecordHeader;
use perf_data::abi::sample::branch::BranchStackView;
use perf_data::abi::sample::callchain::Context;
use perf_data::abi::sample::field::SampleField;
use perf_data::abi::sample::layout::SampleLayout;
use perf_data::abi::sample::read::encode_read;
use perf_data::abi::sample::view::SampleView;
use perf_data::abi::sample::{Sample, SampleArgs};
use perf_data::abi::sample_type::SampleType;
use perf_data::abi::version::PerfVersion;
use perf_data::session::space::Space;
use perf_data::stream::events::{Event, EventIndex};
use perf_data::stream::raw::Raw;

/// Fields that [`Replacer::sample`] replaces itself, if they need it; others are replaced by their roles.
const REPLACED_HERE: SampleType = SampleField::known_to_linux(PerfVersion(5, 12));

impl Replacer {
    /// Encodes the replacement of a sample; `None` if it is malformed.
    pub(crate) fn sample(
        &mut self,
        raw: &Raw<'_>,
        (index, event): (EventIndex, &Event),
        record: &mut Vec<u8>,
    ) -> Option<()> {
        if !self.knows_layout(index, &event.attr) {
            return None;
        }
        // The raw data of direct off-CPU samples is removed; the wait that it describes becomes the sample's own fields.
        let mut view = event.sample(raw).ok()?;
        if view.is_partial {
            return None;
        }
        // `replaces` counts, so it is asked about fields of this event only.
        let removed = removed_fields(self.kept, event.attr.kind).intersection(event.layout.sample_type());
        let space = Space::from(event.cpu_mode(&view, raw));
        // AUX data is always removed from events.
        let mut omitted = SampleType::AUX;
        for (field, category) in REMOVABLE {
            if removed.contains(field) && self.replaces(category) {
                omitted |= field;
            }
        }
        view.identifier = view.identifier.map(|id| self.id(id));
        view.ip = view.ip.map(|ip| self.address(space, ip));
        view.task = view.task.map(|(pid, tid)| (self.pid(pid), self.pid(tid)));
        view.time = view.time.map(|time| self.time(time));
        view.addr = view.addr.map(|address| self.address(Space::Unknown, address));
        view.id = view.id.map(|id| self.id(id));
        view.stream_id = view.stream_id.map(|id| self.id(id));
        view.cpu = view.cpu.map(|(cpu, _)| (cpu, 0));
        view.cgroup = view.cgroup.map(|id| self.cgroup_id(id));
        record.clear();
        record.resize(RecordHeader::SIZE, 0);
        let mut out = ByteWriter::new(record, raw.endian());
        for field in event.layout.fields().filter(|field| !omitted.intersects(field.bits())) {
            match field {
                SampleField::Read => {
                    let read = view.read?;
                    let values = read.values().map(|value| ReadValue { id: value.id.map(|id| self.id(id)), ..value });
                    let times = [read.time_enabled, read.time_running];
                    encode_read(event.layout.read_format(), times, values, &mut out);
                }
                SampleField::Callchain => self.chain(view.callchain?, space, &mut out),
                SampleField::Raw => self.raw(view.raw?, event, view.task, &mut out),
                SampleField::BranchStack => self.branches(&view.branch_stack?, &mut out),
                SampleField::StackUser => {
                    let start = out.out.len();
                    view.encode_field(field, &event.layout, &mut out);
                    // The stale bytes after the copied ones belong to other records.
                    let stack = view.stack_user?;
                    let copied =
                        usize::try_from(stack.dyn_size).map_or(stack.data.len(), |size| size.min(stack.data.len()));
                    out.out[start + 8..][copied..stack.data.len()].fill(0);
                }
                field if REPLACED_HERE.contains(field.bits()) => view.encode_field(field, &event.layout, &mut out),
                field => self.field_by_role(field, &view, &event.layout, &mut out)?,
            }
        }
        raw.header().finish(record, 0, raw.endian())
    }

    /// Writes a field whose values are replaced by their roles.
    fn field_by_role(
        &mut self,
        field: SampleField,
        view: &SampleView<'_>,
        layout: &SampleLayout,
        out: &mut ByteWriter<'_>,
    ) -> Option<()> {
        let mut encoded = Vec::new();
        view.encode_field(field, layout, &mut ByteWriter::new(&mut encoded, out.endian()));
        let args = SampleArgs::new(&encoded, &layout.keeping(field.bits()), out.endian());
        let (mut sample, _) = abi::parse::<Sample>(&encoded, out.endian(), args).ok()?;
        self.sample_fields(&mut sample);
        out.out.extend(abi::to_bytes(&sample, out.endian()).ok()?);
        Some(())
    }

    /// Writes raw data: for tracepoints only the common fields, for other events nothing, unless raw data is kept.
    fn raw(&mut self, payload: &[u8], event: &Event, task: Option<(u32, u32)>, out: &mut ByteWriter<'_>) {
        let common;
        let payload = match (self.replaces(Category::Raw), event.attr.kind) {
            (false, _) => payload,
            (true, AttrType::TRACEPOINT) => {
                let pid = task.map_or(0, |(_, tid)| tid);
                let endian = TracepointFormat::payload_endian(payload, event.attr.config).unwrap_or(out.endian());
                common = TracepointFormat::common_payload(event.attr.config, pid, endian);
                &common[..]
            }
            (true, _) => return,
        };
        out.bytes_after_u32(payload);
    }

    /// Writes a call chain. Context markers set the space of the addresses after them; USER_DEFERRED is followed by a cookie.
    fn chain(&mut self, chain: Words<'_>, mut space: Space, out: &mut ByteWriter<'_>) {
        out.put(chain.len() as u64);
        let mut is_cookie = false;
        for ip in chain.iter() {
            match Context::of(ip) {
                Some(mark) => {
                    out.put(ip);
                    space = Space::from(mark);
                    is_cookie = mark == Context::USER_DEFERRED;
                }
                None if std::mem::take(&mut is_cookie) => out.put(ip),
                None => out.put(self.address(space, ip)),
            }
        }
    }

    fn branches(&mut self, stack: &BranchStackView<'_>, out: &mut ByteWriter<'_>) {
        out.put(stack.len() as u64);
        out.put_some(stack.hw_idx);
        for (index, word) in stack.entries.iter().enumerate() {
            // Entries are from, to, flags.
            out.put(if index % 3 < 2 { self.address(Space::Unknown, word) } else { word });
        }
        if let Some(counters) = &stack.counters {
            out.out.extend_from_slice(counters.as_bytes());
        }
    }
}
