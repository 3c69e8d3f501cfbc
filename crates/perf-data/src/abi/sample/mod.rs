//! `PERF_RECORD_SAMPLE`. Each field has a row in `table.rs`, and a file if it is more than a number.
//!
//! [`Sample`] owns its fields. For hot paths, [`SampleView`](crate::abi::sample::view::SampleView) decodes the same bytes without
//! owning them.

mod aux_sample;
pub mod branch;
pub mod callchain;
pub mod data_src;
pub mod field;
pub mod id;
pub mod layout;
mod raw;
pub mod read;
pub mod regs;
pub mod stack_user;
mod table;
#[cfg(any(test, feature = "testing"))]
pub mod test_field;
pub mod transaction;
pub mod unknown_layout;
mod value;
pub mod view;
pub mod weight;
pub mod words;

pub use aux_sample::AuxSample;
pub use callchain::Callchain;
pub use raw::Raw;
pub use stack_user::StackUser;
pub use table::Sample;

use crate::abi::Endian;
use crate::abi::record::RecordType;
use crate::abi::record::descriptor::RecordDescriptor;
use layout::SampleLayout;
use value::FieldContext;

/// Arguments for decoding a SAMPLE.
#[derive(Clone, Copy, Debug)]
pub struct SampleArgs {
    /// Layout of the event's samples.
    layout: SampleLayout,
    /// Whether an empty branch stack has `hw_idx`.
    hw_idx_if_empty: bool,
}

impl SampleArgs {
    /// Arguments for the body of a SAMPLE of an event.
    pub fn new(body: &[u8], layout: &SampleLayout, endian: Endian) -> Self {
        Self { layout: *layout, hw_idx_if_empty: layout.has_hw_idx_if_empty(body, endian) }
    }

    fn context(&self) -> FieldContext<'_> {
        FieldContext { layout: &self.layout, hw_idx_if_empty: self.hw_idx_if_empty }
    }
}

/// Descriptor of SAMPLE.
pub const SAMPLE: RecordDescriptor = RecordDescriptor::event(RecordType::SAMPLE, (2, 6), 8);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi;
    use crate::abi::bytes::ByteWriter;
    use crate::abi::read_format::{ReadFormat, ReadValue, ReadValues};
    use crate::abi::sample::branch::{BranchEntry, BranchFlags, BranchStack};
    use crate::abi::sample::data_src::DataSrc;
    use crate::abi::sample::regs::{Regs, RegsAbi};
    use crate::abi::sample::test_field::ExampleField;
    use crate::abi::sample::transaction::Transaction;
    use crate::abi::sample::view::SampleView;
    use crate::abi::sample::weight::Weight;
    use crate::abi::sample_type::{BranchSampleType, SampleType};
    use crate::abi::testing::{both_orders, hex, to_bytes};
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn layout_of(sample_type: SampleType) -> SampleLayout {
        SampleLayout::new(sample_type)
            .with_read_format(ReadFormat::GROUP)
            .with_branch_sample_type(BranchSampleType::HW_INDEX)
            .with_regs(0b1001, 0b0010)
    }

    #[test]
    fn bytes_of_every_field_in_kernel_order() {
        let entry = BranchEntry { from: 1, to: 2, flags: BranchFlags(1) };
        let sample = Sample {
            identifier: Some(0x11),
            ip: Some(0x12),
            task: Some((0x13, 0x14)),
            time: Some(0x15),
            addr: Some(0x16),
            id: Some(0x17),
            stream_id: Some(0x18),
            cpu: Some((0x19, 0x1a)),
            period: Some(0x1b),
            read: Some(ReadValues::Group {
                time_enabled: None,
                time_running: None,
                values: vec![ReadValue { value: 0x1c, id: None, lost: None }],
            }),
            callchain: Some(Callchain { ips: vec![0x1d] }),
            raw: Some(Raw { data: vec![1, 2, 3, 4] }),
            branch_stack: Some(BranchStack { hw_idx: Some(0x1e), entries: vec![entry], counters: Vec::new() }),
            regs_user: Some(Regs { abi: RegsAbi::ABI_32, regs: vec![0x1f, 0x20] }),
            stack_user: Some(StackUser { data: vec![5; 8], dyn_size: 6 }),
            weight: Some(Weight(0x0003_0002_0000_0001)),
            data_src: Some(DataSrc(0x21)),
            transaction: Some(Transaction::RETRY),
            regs_intr: Some(Regs { abi: RegsAbi::NONE, regs: Vec::new() }),
            phys_addr: Some(0x23),
            cgroup: Some(0x24),
            data_page_size: Some(0x25),
            code_page_size: Some(0x26),
            aux: Some(AuxSample { data: vec![7; 8] }),
            example: Some(ExampleField { pid: 0x27, ips: vec![0x28] }),
        };
        both_orders(
            &sample,
            SampleArgs { layout: layout_of(SampleType::KNOWN), hw_idx_if_empty: true },
            "1100000000000000 1200000000000000 13000000 14000000 1500000000000000 1600000000000000 1700000000000000 \
             1800000000000000 19000000 1a000000 1b00000000000000 \
             0100000000000000 1c00000000000000 0100000000000000 1d00000000000000 04000000 01020304 \
             0100000000000000 1e00000000000000 0100000000000000 0200000000000000 0100000000000000 \
             0100000000000000 1f00000000000000 2000000000000000 \
             0800000000000000 05 *8 0600000000000000 0100000002000300 2100000000000000 1000000000000000 \
             0000000000000000 2300000000000000 2400000000000000 2500000000000000 2600000000000000 \
             0800000000000000 07 *8 27000000 01000000 2800000000000000",
            "0000000000000011 0000000000000012 00000013 00000014 0000000000000015 0000000000000016 0000000000000017 \
             0000000000000018 00000019 0000001a 000000000000001b \
             0000000000000001 000000000000001c 0000000000000001 000000000000001d 00000004 01020304 \
             0000000000000001 000000000000001e 0000000000000001 0000000000000002 8000000000000000 \
             0000000000000001 000000000000001f 0000000000000020 \
             0000000000000008 05 *8 0000000000000006 0003000200000001 0000000000000021 0000000000000010 \
             0000000000000000 0000000000000023 0000000000000024 0000000000000025 0000000000000026 \
             0000000000000008 07 *8 00000027 00000001 0000000000000028",
        );
        assert_eq!(sample.weight.unwrap().get(Weight::VAR2_W), 2);
    }

    #[test]
    fn an_empty_branch_stack_may_lack_its_hw_idx() {
        let layout = layout_of(SampleType::BRANCH_STACK | SampleType::DATA_SRC);
        for (bytes, hw_idx) in [("00 *8 4d 00 *7", None), ("00 *8 ff *8 4d 00 *7", Some(u64::MAX))] {
            let bytes = hex(bytes);
            let args = SampleArgs::new(&bytes, &layout, Endian::Little);
            let (sample, used): (Sample, usize) = abi::parse(&bytes, Endian::Little, args).unwrap();
            assert_eq!((sample.data_src, used), (Some(DataSrc(0x4d)), bytes.len()));
            assert_eq!(sample.branch_stack.as_ref().unwrap().hw_idx, hw_idx);
            assert_eq!(to_bytes(&sample, Endian::Little), bytes);
        }
    }

    #[test]
    fn a_sample_with_unknown_bits_is_not_read() {
        let layout = layout_of(SampleType::IP | SampleType::from_bits_retain(1 << 25));
        let args = SampleArgs::new(&[0; 16], &layout, Endian::Little);
        assert!(abi::parse::<Sample>(&[0; 16], Endian::Little, args).is_err());
    }

    fn layout() -> impl Strategy<Value = SampleLayout> {
        ((any::<u64>(), any::<u64>()), 0..32_u64, 0..1_u64 << 20, 0..16_u64, 0..16_u64).prop_map(
            |(sample_type, read_format, branch_sample_type, regs_user, regs_intr)| {
                SampleLayout::new(SampleType::from_bits_retain(sample_type.0 & sample_type.1) & SampleType::KNOWN)
                    .with_read_format(ReadFormat::from_bits_retain(read_format))
                    .with_branch_sample_type(BranchSampleType::from_bits_retain(branch_sample_type))
                    .with_regs(regs_user, regs_intr)
            },
        )
    }

    /// Words, many of them small enough to be valid counts.
    fn body() -> impl Strategy<Value = Vec<u8>> {
        let word = prop_oneof![8 => 0..3_u64, 1 => (0..3_u64).prop_map(|n| n << 32), 1 => Just(8), 2 => any::<u64>()];
        (any::<bool>(), vec(word, 0..120), 0..8_usize).prop_map(|(big, words, cut)| {
            let bytes = |word: u64| if big { word.to_be_bytes() } else { word.to_le_bytes() };
            let mut bytes: Vec<u8> = words.into_iter().flat_map(bytes).collect();
            bytes.truncate(bytes.len().saturating_sub(cut));
            bytes
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4096))]

        #[test]
        fn the_owned_sample_and_the_view_agree(body in body(), layout in layout(), big: bool) {
            let endian = if big { Endian::Big } else { Endian::Little };
            let view = SampleView::read(&body, &layout, endian);
            let sample = abi::parse::<Sample>(&body, endian, SampleArgs::new(&body, &layout, endian));
            prop_assert_eq!(view.as_ref().is_ok_and(|view| !view.is_partial), sample.is_ok());
            if let (Ok(view), Ok((sample, used))) = (view, sample) {
                prop_assert_eq!(view.tail, &body[used..]);
                let mut encoded = Vec::new();
                view.encode(&layout, &mut ByteWriter::new(&mut encoded, endian));
                prop_assert_eq!(&encoded, &body);
                prop_assert_eq!(to_bytes(&sample, endian), &body[..used]);
                let whole = SampleView::read(&body[..used], &layout, endian).map(|view| view.tail.len());
                prop_assert_eq!(whole, Ok(0), "without a tail");
            }
        }

        #[test]
        fn the_view_matches_the_field_table(body in body(), layout in layout(), big: bool) {
            let endian = if big { Endian::Big } else { Endian::Little };
            let mut fields = Vec::new();
            let end = layout.visit(&body, endian, |field, bytes| fields.push((field, bytes)));
            let view = SampleView::read(&body, &layout, endian);
            prop_assert_eq!(end.is_some(), view.is_ok());
            if let (Some(end), Ok(view)) = (end, view) {
                let visited = fields.iter().map(|(field, _)| *field);
                let decoded = layout.fields().take(if view.is_partial { fields.len() } else { usize::MAX });
                prop_assert!(visited.eq(decoded));
                prop_assert_eq!(view.is_partial, layout.unknown_bits_of(&body, endian).is_some());
                prop_assert_eq!(&body[end..], view.tail);
                for (field, bytes) in fields {
                    let mut encoded = Vec::new();
                    view.encode_field(field, &layout, &mut ByteWriter::new(&mut encoded, endian));
                    prop_assert_eq!(&encoded, &body[bytes.clone()]);
                    if let Some(word) = layout.word_at(field) {
                        prop_assert_eq!(8 * word, bytes.start);
                    }
                }
            }
        }
    }
}
