//! Anonymizes samples field by field. Bytes after the known fields are removed.

use super::category::Category;
use super::events::removed_fields;
use super::replace::Replacer;
use perf_data::abi::Endian;
use perf_data::abi::attr::AttrType;
use perf_data::abi::branch::BranchStackView;
use perf_data::abi::bytes::Words;
use perf_data::abi::callchain::Context;
use perf_data::abi::feature::tracepoint_format::TracepointFormat;
use perf_data::abi::read_format::{ReadFormat, ReadView};
use perf_data::abi::record::RecordHeader;
use perf_data::abi::sample_field::SampleField;
use perf_data::abi::sample_type::SampleType;
use perf_data::abi::sample_view::{RegsView, StackView};
use perf_data::session::space::Space;
use perf_data::stream::events::{Event, EventIndex};
use perf_data::stream::raw::Raw;

/// A record being encoded.
struct Out<'a> {
    record: &'a mut Vec<u8>,
    endian: Endian,
}

impl Out<'_> {
    #[inline]
    fn u64(&mut self, number: u64) {
        self.record.extend_from_slice(&match self.endian {
            Endian::Little => number.to_le_bytes(),
            Endian::Big => number.to_be_bytes(),
        });
    }

    #[inline]
    fn u32(&mut self, number: u32) {
        self.record.extend_from_slice(&match self.endian {
            Endian::Little => number.to_le_bytes(),
            Endian::Big => number.to_be_bytes(),
        });
    }

    #[inline]
    fn word(&mut self, number: Option<u64>) {
        number.into_iter().for_each(|number| self.u64(number));
    }

    fn words(&mut self, words: &Words<'_>) {
        self.record.extend_from_slice(words.as_bytes());
    }

    fn regs(&mut self, regs: Option<RegsView<'_>>) {
        if let Some(regs) = regs {
            self.u64(regs.abi);
            self.words(&regs.regs);
        }
    }

    /// Writes a user stack. The stale bytes after the copied ones are cleared.
    fn stack(&mut self, stack: StackView<'_>) {
        let len = stack.data.len();
        let copied = usize::try_from(stack.dyn_size).map_or(len, |size| size.min(len));
        self.u64(len as u64);
        self.record.extend_from_slice(&stack.data[..copied]);
        self.record.resize(self.record.len() + len - copied, 0);
        self.word((len > 0).then_some(stack.dyn_size));
    }

    fn read(&mut self, read: &ReadView<'_>, format: ReadFormat, mut id: impl FnMut(u64) -> u64) {
        let is_group = format.contains(ReadFormat::GROUP);
        if is_group {
            self.u64(read.values().count() as u64);
            self.word(read.time_enabled);
            self.word(read.time_running);
        }
        for value in read.values() {
            self.u64(value.value);
            if !is_group {
                self.word(read.time_enabled);
                self.word(read.time_running);
            }
            self.word(value.id.map(&mut id));
            self.word(value.lost);
        }
    }

    /// Pads the record to a multiple of 8 and sets its size; `None` if it exceeds the maximum size of a record.
    fn finish(self, header: RecordHeader) -> Option<()> {
        self.record.resize(self.record.len().next_multiple_of(8), 0);
        let size = u16::try_from(self.record.len()).ok()?;
        let (kind, misc) = (header.kind.0, header.misc.bits());
        let front = match self.endian {
            Endian::Little => u64::from(size) << 48 | u64::from(misc) << 32 | u64::from(kind),
            Endian::Big => u64::from(kind) << 32 | u64::from(misc) << 16 | u64::from(size),
        };
        let front = if self.endian == Endian::Little { front.to_le_bytes() } else { front.to_be_bytes() };
        self.record[..RecordHeader::SIZE].copy_from_slice(&front);
        Some(())
    }
}

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
        let view = event.sample(raw).ok()?;
        if view.is_partial {
            return None;
        }
        let removed = removed_fields(self.kept, event.attr.kind);
        let is_removed = |field| removed.contains(field);
        let space = Space::from(event.cpu_mode(&view, raw));
        record.clear();
        record.resize(RecordHeader::SIZE, 0);
        let mut out = Out { record, endian: raw.endian() };
        for field in event.layout.fields() {
            match field {
                SampleField::Identifier => out.word(view.identifier.map(|id| self.id(id))),
                SampleField::Ip => out.word(view.ip.map(|ip| self.address(space, ip))),
                SampleField::Task => {
                    let (pid, tid) = view.task?;
                    out.u32(self.pid(pid));
                    out.u32(self.pid(tid));
                }
                SampleField::Time => out.word(view.time.map(|time| self.time(time))),
                SampleField::Addr => out.word(view.addr.map(|address| self.address(Space::Unknown, address))),
                SampleField::Id => out.word(view.id.map(|id| self.id(id))),
                SampleField::StreamId => out.word(view.stream_id.map(|id| self.id(id))),
                SampleField::Cpu => {
                    out.u32(view.cpu?.0);
                    out.u32(0);
                }
                SampleField::Period => out.word(view.period),
                SampleField::Read => out.read(&view.read?, event.layout.read_format(), |id| self.id(id)),
                SampleField::Callchain => {
                    let chain = view.callchain?;
                    self.chain(chain.iter(), chain.len(), space, &mut out);
                }
                SampleField::Raw => self.raw(view.raw?, event, (view.task, raw.endian()), &mut out),
                SampleField::BranchStack => self.branches(&view.branch_stack?, &mut out),
                SampleField::RegsUser => {
                    out.regs(
                        view.regs_user
                            .filter(|_| !(is_removed(SampleType::REGS_USER) && self.replaces(Category::Registers))),
                    );
                }
                SampleField::StackUser => {
                    if !(is_removed(SampleType::STACK_USER) && self.replaces(Category::Stacks)) {
                        out.stack(view.stack_user?);
                    }
                }
                SampleField::Weight => out.word(view.weight),
                SampleField::DataSrc => out.word(view.data_src),
                SampleField::Transaction => out.word(view.transaction),
                SampleField::RegsIntr => {
                    out.regs(
                        view.regs_intr
                            .filter(|_| !(is_removed(SampleType::REGS_INTR) && self.replaces(Category::Registers))),
                    );
                }
                SampleField::PhysAddr => {
                    let is_kept =
                        |_: &u64| !(is_removed(SampleType::PHYS_ADDR) && self.replaces(Category::PhysAddresses));
                    out.word(view.phys_addr.filter(is_kept));
                }
                SampleField::Cgroup => out.word(view.cgroup.map(|id| self.cgroup_id(id))),
                SampleField::DataPageSize => out.word(view.data_page_size),
                SampleField::CodePageSize => out.word(view.code_page_size),
                // The field is removed from events.
                SampleField::Aux => {}
            }
        }
        out.finish(raw.header())
    }

    /// Writes raw data: for tracepoints only the common fields, for other events nothing, unless raw data is kept.
    fn raw(&mut self, payload: &[u8], event: &Event, (task, endian): (Option<(u32, u32)>, Endian), out: &mut Out<'_>) {
        let common;
        let payload = match (self.replaces(Category::Raw), event.attr.kind) {
            (false, _) => payload,
            (true, AttrType::TRACEPOINT) => {
                let pid = task.map_or(0, |(_, tid)| self.pid(tid));
                let endian = TracepointFormat::payload_endian(payload, event.attr.config).unwrap_or(endian);
                common = TracepointFormat::common_payload(event.attr.config, pid, endian);
                &common[..]
            }
            (true, _) => return,
        };
        out.u32(payload.len() as u32);
        out.record.extend_from_slice(payload);
    }

    /// Writes a call chain. Context markers set the space of the addresses after them; USER_DEFERRED is followed by a cookie.
    fn chain(&mut self, ips: impl Iterator<Item = u64>, len: usize, mut space: Space, out: &mut Out<'_>) {
        out.u64(len as u64);
        let mut is_cookie = false;
        for ip in ips {
            match Context::of(ip) {
                Some(mark) => {
                    out.u64(ip);
                    space = Space::from(mark);
                    is_cookie = mark == Context::USER_DEFERRED;
                }
                None if std::mem::take(&mut is_cookie) => out.u64(ip),
                None => out.u64(self.address(space, ip)),
            }
        }
    }

    fn branches(&mut self, stack: &BranchStackView<'_>, out: &mut Out<'_>) {
        out.u64(stack.len() as u64);
        out.word(stack.hw_idx);
        for (index, word) in stack.entries.iter().enumerate() {
            // Entries are from, to, flags.
            out.u64(if index % 3 < 2 { self.address(Space::Unknown, word) } else { word });
        }
        if let Some(counters) = &stack.counters {
            out.words(counters);
        }
    }
}
