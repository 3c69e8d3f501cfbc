//! `PERF_RECORD_SAMPLE`, borrowed, for hot paths.

pub use super::table::SampleView;

use super::layout::SampleLayout;
use crate::abi::Endian;
use crate::abi::bytes::{ByteReader, ByteWriter};
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

    /// Appends all fields of a layout and the tail: the body that [`read`](Self::read) decodes to this view.
    pub fn encode(&self, layout: &SampleLayout, out: &mut ByteWriter<'_>) {
        layout.fields().for_each(|field| self.encode_field(field, layout, out));
        out.out.extend_from_slice(self.tail);
    }

    /// Leaves a field of unknown layout, and all behind it, in the tail.
    #[cold]
    pub(super) fn end_before(&mut self, field: ByteReader<'a>) -> Result<(), TruncatedField> {
        (self.tail, self.is_partial) = (field.rest(), true);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::sample_type::{BranchSampleType, SampleType};

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
