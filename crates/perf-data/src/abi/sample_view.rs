//! `PERF_RECORD_SAMPLE`, borrowed, for hot paths.

use super::Endian;
use super::branch::BranchStackView;
use super::bytes::{Reader, Words};
use super::read_format::ReadView;
use super::regs::RegsAbi;
use super::sample_field::SampleField;
use super::sample_layout::SampleLayout;
use super::sample_type::SampleType;
use std::fmt;

/// A field of a sample that reaches beyond the end of its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TruncatedField(&'static str);

impl TruncatedField {
    /// Name of the field, without `PERF_SAMPLE_`.
    pub fn name(self) -> &'static str {
        self.0
    }
}

impl From<&'static str> for TruncatedField {
    fn from(name: &'static str) -> Self {
        Self(name)
    }
}

impl fmt::Display for TruncatedField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "field {} exceeds its size", self.0)
    }
}

impl std::error::Error for TruncatedField {}

/// The fields up to the call chain, which precede all others. Most samples have no others.
const TO_CALLCHAIN: SampleType = SampleField::Callchain.up_to();

/// Sampled registers: `u64 abi; u64 regs[popcount(mask)]`, without registers if `abi` is 0.
#[derive(Clone, Copy, Debug)]
pub struct RegsView<'a> {
    /// ABI: 0 none, 1 32-bit, 2 64-bit.
    pub abi: u64,
    /// Values of the registers in the mask, lowest bit first.
    pub regs: Words<'a>,
}

/// User stack dump: `u64 size; u8 data[size]; u64 dyn_size`, the last two only if `size` is not 0.
#[derive(Clone, Copy, Debug)]
pub struct StackView<'a> {
    /// Dumped bytes, followed by stale bytes of the ring buffer.
    pub data: &'a [u8],
    /// Number of valid bytes of `data`.
    pub dyn_size: u64,
}

/// The body of a SAMPLE. Fields are present if their bits of `sample_type` are set.
#[derive(Clone, Copy, Debug, Default)]
pub struct SampleView<'a> {
    /// [`SampleType::IDENTIFIER`].
    pub identifier: Option<u64>,
    /// [`SampleType::IP`].
    pub ip: Option<u64>,
    /// [`SampleType::TID`]: process and thread ID.
    pub task: Option<(u32, u32)>,
    /// [`SampleType::TIME`].
    pub time: Option<u64>,
    /// [`SampleType::ADDR`].
    pub addr: Option<u64>,
    /// [`SampleType::ID`].
    pub id: Option<u64>,
    /// [`SampleType::STREAM_ID`].
    pub stream_id: Option<u64>,
    /// [`SampleType::CPU`]: CPU number, and the unused half of its word.
    pub cpu: Option<(u32, u32)>,
    /// [`SampleType::PERIOD`].
    pub period: Option<u64>,
    /// [`SampleType::READ`].
    pub read: Option<ReadView<'a>>,
    /// [`SampleType::CALLCHAIN`]: addresses and context markers ([`Context`](super::callchain::Context)), leaf first.
    pub callchain: Option<Words<'a>>,
    /// [`SampleType::RAW`].
    pub raw: Option<&'a [u8]>,
    /// [`SampleType::BRANCH_STACK`].
    pub branch_stack: Option<BranchStackView<'a>>,
    /// [`SampleType::REGS_USER`].
    pub regs_user: Option<RegsView<'a>>,
    /// [`SampleType::STACK_USER`].
    pub stack_user: Option<StackView<'a>>,
    /// [`SampleType::WEIGHT`] or [`SampleType::WEIGHT_STRUCT`], one word either way.
    pub weight: Option<u64>,
    /// [`SampleType::DATA_SRC`].
    pub data_src: Option<u64>,
    /// [`SampleType::TRANSACTION`].
    pub transaction: Option<u64>,
    /// [`SampleType::REGS_INTR`].
    pub regs_intr: Option<RegsView<'a>>,
    /// [`SampleType::PHYS_ADDR`].
    pub phys_addr: Option<u64>,
    /// [`SampleType::CGROUP`].
    pub cgroup: Option<u64>,
    /// [`SampleType::DATA_PAGE_SIZE`].
    pub data_page_size: Option<u64>,
    /// [`SampleType::CODE_PAGE_SIZE`].
    pub code_page_size: Option<u64>,
    /// [`SampleType::AUX`].
    pub aux: Option<&'a [u8]>,
    /// Bytes after the decoded fields.
    pub tail: &'a [u8],
    /// Whether there are [unknown bits](super::unknown_layout), so that the tail has fields that are not decoded.
    pub is_partial: bool,
}

impl<'a> SampleView<'a> {
    /// Decodes the body of a SAMPLE.
    ///
    /// # Errors
    /// The name of the first field that exceeds the body.
    pub fn read(body: &'a [u8], layout: &SampleLayout, endian: Endian) -> Result<Self, TruncatedField> {
        let mut view = Self::default();
        view.fill(body, layout, endian)?;
        Ok(view)
    }

    /// Decodes into an empty view. A view is large, so this avoids moving it.
    ///
    /// # Errors
    /// The name of the first field that exceeds the body.
    #[inline]
    pub fn fill(&mut self, body: &'a [u8], layout: &SampleLayout, endian: Endian) -> Result<(), TruncatedField> {
        // Whether it is there follows from the end of the fields, which is unknown in a part of them.
        if layout.may_lack_hw_idx() && !layout.is_partial() {
            self.fill_with_or_without_hw_idx(body, layout, endian)
        } else {
            self.fill_as(body, layout, endian, true)
        }
    }

    /// Decodes an empty branch stack with or without `hw_idx`, whichever consumes the whole body.
    #[inline(never)]
    fn fill_with_or_without_hw_idx(
        &mut self,
        body: &'a [u8],
        layout: &SampleLayout,
        endian: Endian,
    ) -> Result<(), TruncatedField> {
        let with = self.fill_as(body, layout, endian, true);
        if with.is_ok() && self.tail.is_empty() {
            return with;
        }
        let mut without = Self::default();
        if without.fill_as(body, layout, endian, false).is_ok() && without.tail.is_empty() {
            *self = without;
            return Ok(());
        }
        with
    }

    /// Hand-written, since this is the hot path. The order is that of [`SampleField`]; tests compare both.
    #[inline(always)]
    fn fill_as(
        &mut self,
        body: &'a [u8],
        layout: &SampleLayout,
        endian: Endian,
        hw_idx_if_empty: bool,
    ) -> Result<(), TruncatedField> {
        let mut reader = Reader::new(body, endian);
        self.is_partial = layout.is_partial();
        let has = |field| layout.decoded().contains(field);
        if has(SampleType::IDENTIFIER) {
            self.identifier = Some(reader.u64().ok_or("IDENTIFIER")?);
        }
        if has(SampleType::IP) {
            self.ip = Some(reader.u64().ok_or("IP")?);
        }
        if has(SampleType::TID) {
            self.task = Some((reader.u32().ok_or("TID")?, reader.u32().ok_or("TID")?));
        }
        if has(SampleType::TIME) {
            self.time = Some(reader.u64().ok_or("TIME")?);
        }
        if has(SampleType::ADDR) {
            self.addr = Some(reader.u64().ok_or("ADDR")?);
        }
        if has(SampleType::ID) {
            self.id = Some(reader.u64().ok_or("ID")?);
        }
        if has(SampleType::STREAM_ID) {
            self.stream_id = Some(reader.u64().ok_or("STREAM_ID")?);
        }
        if has(SampleType::CPU) {
            self.cpu = Some((reader.u32().ok_or("CPU")?, reader.u32().ok_or("CPU")?));
        }
        if has(SampleType::PERIOD) {
            self.period = Some(reader.u64().ok_or("PERIOD")?);
        }
        if has(SampleType::READ) {
            let mut after = reader;
            self.read = Some(ReadView::take(&mut after, layout.read_format()).ok_or("READ")?);
            reader = after;
        }
        if has(SampleType::CALLCHAIN) {
            let nr = reader.u64().ok_or("CALLCHAIN")?;
            self.callchain = Some(reader.words(nr).ok_or("CALLCHAIN")?);
        }
        if TO_CALLCHAIN.contains(layout.decoded()) {
            self.tail = reader.rest();
            return Ok(());
        }
        self.fill_rest(reader, layout, hw_idx_if_empty)
    }

    /// Decodes the fields after the call chain.
    #[inline(never)]
    fn fill_rest(
        &mut self,
        mut reader: Reader<'a>,
        layout: &SampleLayout,
        hw_idx_if_empty: bool,
    ) -> Result<(), TruncatedField> {
        let has = |field| layout.decoded().contains(field);
        if has(SampleType::RAW) {
            let size = reader.u32().ok_or("RAW")?;
            self.raw = Some(reader.take(size as usize).ok_or("RAW")?);
        }
        if has(SampleType::BRANCH_STACK) {
            let stack = BranchStackView::take(&mut reader, layout.branch_sample_type(), hw_idx_if_empty);
            self.branch_stack = Some(stack.ok_or("BRANCH_STACK")?);
        }
        if has(SampleType::REGS_USER) {
            match regs(&mut reader, layout.regs_user()).ok_or("REGS_USER")? {
                Some(regs) => self.regs_user = Some(regs),
                None => return self.end_before(reader),
            }
        }
        if has(SampleType::STACK_USER) {
            self.stack_user = Some(stack(&mut reader).ok_or("STACK_USER")?);
        }
        if layout.decoded().intersects(SampleType::WEIGHT | SampleType::WEIGHT_STRUCT) {
            self.weight = Some(reader.u64().ok_or("WEIGHT")?);
        }
        if has(SampleType::DATA_SRC) {
            self.data_src = Some(reader.u64().ok_or("DATA_SRC")?);
        }
        if has(SampleType::TRANSACTION) {
            self.transaction = Some(reader.u64().ok_or("TRANSACTION")?);
        }
        if has(SampleType::REGS_INTR) {
            match regs(&mut reader, layout.regs_intr()).ok_or("REGS_INTR")? {
                Some(regs) => self.regs_intr = Some(regs),
                None => return self.end_before(reader),
            }
        }
        if has(SampleType::PHYS_ADDR) {
            self.phys_addr = Some(reader.u64().ok_or("PHYS_ADDR")?);
        }
        if has(SampleType::CGROUP) {
            self.cgroup = Some(reader.u64().ok_or("CGROUP")?);
        }
        if has(SampleType::DATA_PAGE_SIZE) {
            self.data_page_size = Some(reader.u64().ok_or("DATA_PAGE_SIZE")?);
        }
        if has(SampleType::CODE_PAGE_SIZE) {
            self.code_page_size = Some(reader.u64().ok_or("CODE_PAGE_SIZE")?);
        }
        if has(SampleType::AUX) {
            let size = reader.u64().ok_or("AUX")?;
            let size = usize::try_from(size).map_err(|_| "AUX")?;
            self.aux = Some(reader.take(size).ok_or("AUX")?);
        }
        self.tail = reader.rest();
        Ok(())
    }

    /// Leaves a field of unknown layout, and all behind it, in the tail.
    #[cold]
    fn end_before(&mut self, field: Reader<'a>) -> Result<(), TruncatedField> {
        (self.tail, self.is_partial) = (field.rest(), true);
        Ok(())
    }
}

/// The registers at the front of `reader`. `Some(None)` if their ABI is unknown: nothing is consumed.
fn regs<'a>(reader: &mut Reader<'a>, mask: u64) -> Option<Option<RegsView<'a>>> {
    let mut behind = *reader;
    let abi = RegsAbi(behind.u64()?);
    if !abi.is_known() {
        return Some(None);
    }
    let regs = behind.words(abi.count(mask))?;
    *reader = behind;
    Some(Some(RegsView { abi: abi.0, regs }))
}

fn stack<'a>(reader: &mut Reader<'a>) -> Option<StackView<'a>> {
    let size = reader.u64()?;
    if size == 0 {
        return Some(StackView { data: &[], dyn_size: 0 });
    }
    Some(StackView { data: reader.take(usize::try_from(size).ok()?)?, dyn_size: reader.u64()? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::sample_type::BranchSampleType;

    fn words(values: &[u64]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    fn layout(sample_type: SampleType) -> SampleLayout {
        SampleLayout::new(sample_type)
    }

    #[test]
    fn late_fields_are_in_kernel_order() {
        let sample_type = SampleType::AUX
            | SampleType::PHYS_ADDR
            | SampleType::CGROUP
            | SampleType::DATA_PAGE_SIZE
            | SampleType::CODE_PAGE_SIZE
            | SampleType::WEIGHT_STRUCT
            | SampleType::DATA_SRC;
        let body = words(&[50, 60, 1, 2, 3, 4, 8, 0x1122]);
        let view = SampleView::read(&body, &layout(sample_type), Endian::Little).unwrap();
        assert_eq!((view.weight, view.data_src), (Some(50), Some(60)));
        assert_eq!((view.phys_addr, view.cgroup), (Some(1), Some(2)));
        assert_eq!((view.data_page_size, view.code_page_size), (Some(3), Some(4)));
        assert_eq!(view.aux, Some(&words(&[0x1122])[..]));
    }

    #[test]
    fn an_empty_branch_stack_may_lack_its_hw_idx() {
        let layout = layout(SampleType::BRANCH_STACK | SampleType::DATA_SRC);
        let layout = layout.with_branch_sample_type(BranchSampleType::HW_INDEX);
        let without = words(&[0, 77]);
        let view = SampleView::read(&without, &layout, Endian::Little).unwrap();
        assert_eq!((view.branch_stack.unwrap().hw_idx, view.data_src), (None, Some(77)));
        let with = words(&[0, u64::MAX, 77]);
        let view = SampleView::read(&with, &layout, Endian::Little).unwrap();
        assert_eq!((view.branch_stack.unwrap().hw_idx, view.data_src), (Some(u64::MAX), Some(77)));
    }

    #[test]
    fn hostile_counts_name_their_field() {
        let read = |values: &[u64], field| {
            SampleView::read(&words(values), &layout(field), Endian::Little).map(|_| ()).unwrap_err()
        };
        assert_eq!(read(&[u64::MAX, 1], SampleType::CALLCHAIN).name(), "CALLCHAIN");
        assert_eq!(read(&[u64::MAX / 3, 1], SampleType::BRANCH_STACK).name(), "BRANCH_STACK");
        assert_eq!(read(&[u64::MAX, 1], SampleType::STACK_USER).name(), "STACK_USER");
        assert_eq!(read(&[u64::MAX, 1], SampleType::AUX).name(), "AUX");
        assert_eq!(read(&[u64::from(u32::MAX)], SampleType::RAW).name(), "RAW");
        assert_eq!(read(&[], SampleType::IP).name(), "IP");
    }

    #[test]
    fn fields_of_unknown_bits_are_left_in_the_tail() {
        let body = words(&[9, 1, 2]);
        let view =
            SampleView::read(&body, &layout(SampleType::IP | SampleType::from_bits_retain(1 << 30)), Endian::Little)
                .unwrap();
        assert_eq!((view.ip, view.tail.len(), view.is_partial), (Some(9), 16, true));
    }

    #[test]
    fn fields_from_unknown_ones_on_are_left_in_the_tail() {
        use crate::abi::read_format::ReadFormat;
        let all =
            SampleType::IP | SampleType::READ | SampleType::BRANCH_STACK | SampleType::REGS_USER | SampleType::WEIGHT;
        let layout = |sample_type| layout(sample_type).with_regs(1, 0);
        let body = |abi| words(&[9, 5, 0, abi, 6, 7]);
        let tail = |layout: SampleLayout, abi| {
            let body = body(abi);
            let view = SampleView::read(&body, &layout, Endian::Little).unwrap();
            assert_eq!(view.is_partial, layout.unknown_bits_of(&body, Endian::Little).is_some());
            (view.tail.len() / 8, view.is_partial)
        };
        assert_eq!(tail(layout(all), 2), (0, false));
        assert_eq!(tail(layout(all), 6), (3, true), "the ABI");
        assert_eq!(tail(layout(all | SampleType::from_bits_retain(1 << 25)), 2), (1, true));
        let bit = BranchSampleType::from_bits_retain(1 << 20);
        assert_eq!(tail(layout(all).with_branch_sample_type(bit), 2), (4, true));
        assert_eq!(tail(layout(all).with_read_format(ReadFormat::from_bits_retain(1 << 5)), 2), (5, true));
        let without = all - SampleType::READ - SampleType::BRANCH_STACK;
        let unused =
            layout(without).with_branch_sample_type(bit).with_read_format(ReadFormat::from_bits_retain(1 << 5));
        let view = SampleView::read(&words(&[9, 2, 6, 7]), &unused, Endian::Little).map(|view| view.weight);
        assert_eq!(view, Ok(Some(7)), "the bits decide nothing without the fields");
    }
}
