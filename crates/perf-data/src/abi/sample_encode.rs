//! Encodes the fields of a [`SampleView`]: the counterpart of its decoder, for passes and formats that replace some of them.

use super::bytes::Writer;
use super::read_format::{ReadFormat, ReadValue};
use super::regs::RegsAbi;
use super::sample_field::SampleField;
use super::sample_layout::SampleLayout;
use super::sample_view::{RegsView, SampleView, StackView};

impl SampleView<'_> {
    /// Appends all fields of a layout and the tail: the body that [`read`](Self::read) decodes to this view.
    pub fn encode(&self, layout: &SampleLayout, out: &mut Writer<'_>) {
        layout.fields().for_each(|field| self.encode_field(field, layout, out));
        out.out.extend_from_slice(self.tail);
    }

    /// Appends a field. A missing number is 0; missing counted fields have no elements.
    #[inline]
    pub fn encode_field(&self, field: SampleField, layout: &SampleLayout, out: &mut Writer<'_>) {
        match field {
            SampleField::Identifier => out.put(self.identifier.unwrap_or(0)),
            SampleField::Ip => out.put(self.ip.unwrap_or(0)),
            SampleField::Task => out.pair(self.task.unwrap_or_default()),
            SampleField::Time => out.put(self.time.unwrap_or(0)),
            SampleField::Addr => out.put(self.addr.unwrap_or(0)),
            SampleField::Id => out.put(self.id.unwrap_or(0)),
            SampleField::StreamId => out.put(self.stream_id.unwrap_or(0)),
            SampleField::Cpu => out.pair(self.cpu.unwrap_or_default()),
            SampleField::Period => out.put(self.period.unwrap_or(0)),
            SampleField::Read => {
                let times = self.read.map_or([None; 2], |read| [read.time_enabled, read.time_running]);
                let values = self.read.iter().flat_map(|read| read.values());
                encode_read(layout.read_format(), times, values, out);
            }
            SampleField::Callchain => {
                out.put(self.callchain.map_or(0, |chain| chain.len() as u64));
                out.out.extend_from_slice(self.callchain.map_or(&[], |chain| chain.as_bytes()));
            }
            SampleField::Raw => out.bytes_after_u32(self.raw.unwrap_or_default()),
            SampleField::BranchStack => match self.branch_stack {
                Some(stack) => {
                    out.put(stack.len() as u64);
                    out.put_some(stack.hw_idx);
                    out.out.extend_from_slice(stack.entries.as_bytes());
                    out.out.extend_from_slice(stack.counters.map_or(&[], |counters| counters.as_bytes()));
                }
                None => out.put(0_u64),
            },
            SampleField::RegsUser => encode_regs(self.regs_user, out),
            SampleField::StackUser => encode_stack(self.stack_user, out),
            SampleField::Weight => out.put(self.weight.unwrap_or(0)),
            SampleField::DataSrc => out.put(self.data_src.unwrap_or(0)),
            SampleField::Transaction => out.put(self.transaction.unwrap_or(0)),
            SampleField::RegsIntr => encode_regs(self.regs_intr, out),
            SampleField::PhysAddr => out.put(self.phys_addr.unwrap_or(0)),
            SampleField::Cgroup => out.put(self.cgroup.unwrap_or(0)),
            SampleField::DataPageSize => out.put(self.data_page_size.unwrap_or(0)),
            SampleField::CodePageSize => out.put(self.code_page_size.unwrap_or(0)),
            SampleField::Aux => {
                let bytes = self.aux.unwrap_or_default();
                out.put(bytes.len() as u64);
                out.out.extend_from_slice(bytes);
            }
        }
    }
}

fn encode_regs(regs: Option<RegsView<'_>>, out: &mut Writer<'_>) {
    out.put(regs.map_or(RegsAbi::NONE.0, |regs| regs.abi));
    out.out.extend_from_slice(regs.map_or(&[], |regs| regs.regs.as_bytes()));
}

fn encode_stack(stack: Option<StackView<'_>>, out: &mut Writer<'_>) {
    let data = stack.map_or(&[][..], |stack| stack.data);
    out.put(data.len() as u64);
    out.out.extend_from_slice(data);
    out.put_some(stack.map(|stack| stack.dyn_size).filter(|_| !data.is_empty()));
}

/// Appends counter values: `times` are those enabled and running. Without a group, only the first value counts. Missing numbers of
/// the format are 0.
pub fn encode_read(
    format: ReadFormat,
    times: [Option<u64>; 2],
    values: impl IntoIterator<Item = ReadValue>,
    out: &mut Writer<'_>,
) {
    let if_in_format = |bit, number: Option<u64>| format.contains(bit).then(|| number.unwrap_or(0));
    let [enabled, running] = times;
    let times =
        [if_in_format(ReadFormat::TOTAL_TIME_ENABLED, enabled), if_in_format(ReadFormat::TOTAL_TIME_RUNNING, running)];
    let ids = |value: &ReadValue| [if_in_format(ReadFormat::ID, value.id), if_in_format(ReadFormat::LOST, value.lost)];
    let put_all = |out: &mut Writer<'_>, numbers: [Option<u64>; 2]| numbers.map(|number| out.put_some(number));
    if format.contains(ReadFormat::GROUP) {
        let start = out.out.len();
        out.put(0_u64);
        put_all(out, times);
        let mut count = 0_u64;
        for value in values {
            out.put(value.value);
            put_all(out, ids(&value));
            count += 1;
        }
        out.put_at(start, count);
    } else {
        let value = values.into_iter().next().unwrap_or_default();
        out.put(value.value);
        put_all(out, times);
        put_all(out, ids(&value));
    }
}
