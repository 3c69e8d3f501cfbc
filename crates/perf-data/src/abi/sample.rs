//! `PERF_RECORD_SAMPLE`: the owned definition, for decoding and encoding.
//!
//! For hot paths, [`SampleView`](super::sample_view::SampleView) decodes the same bytes without owning them.

use super::Endian;
use super::branch::BranchStack;
use super::counted;
use super::data_src::DataSrc;
use super::fields::{FieldVisitor, TaskField, VisitFields};
use super::read_format::ReadValues;
use super::record::RecordType;
use super::record::descriptor::RecordDescriptor;
use super::regs::Regs;
use super::sample_layout::SampleLayout;
use super::sample_type::SampleType;
use super::transaction::Transaction;
use super::weight::Weight;
use crate::abi::readable;
use binrw::binrw;
use serde::{Deserialize, Serialize};

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

    fn has(&self, field: SampleType) -> bool {
        self.layout.sample_type().contains(field)
    }
}

/// The body of a SAMPLE. Fields are present if their bits of `sample_type` are set, in the kernel's order, which is not that of
/// the bits. Samples with [unknown bits](super::unknown_layout) are not decoded.
///
/// Since Linux 2.6.31.
#[binrw]
#[br(import_raw(args: SampleArgs), pre_assert(!args.layout.is_partial()))]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// [`SampleType::IDENTIFIER`]: event ID.
    #[br(if(args.has(SampleType::IDENTIFIER)))]
    pub identifier: Option<u64>,
    /// [`SampleType::IP`]: instruction pointer.
    #[br(if(args.has(SampleType::IP)))]
    #[serde(serialize_with = "readable::hex")]
    pub ip: Option<u64>,
    /// [`SampleType::TID`]: process and thread ID.
    #[br(if(args.has(SampleType::TID)))]
    #[serde(with = "readable::task", default)]
    pub task: Option<(u32, u32)>,
    /// [`SampleType::TIME`]: time in nanoseconds on the clock of the recording.
    #[br(if(args.has(SampleType::TIME)))]
    pub time: Option<u64>,
    /// [`SampleType::ADDR`]: data address or other event-specific address.
    #[br(if(args.has(SampleType::ADDR)))]
    #[serde(serialize_with = "readable::hex")]
    pub addr: Option<u64>,
    /// [`SampleType::ID`]: event ID, that of the parent if inherited.
    #[br(if(args.has(SampleType::ID)))]
    pub id: Option<u64>,
    /// [`SampleType::STREAM_ID`]: ID of the event itself.
    #[br(if(args.has(SampleType::STREAM_ID)))]
    pub stream_id: Option<u64>,
    /// [`SampleType::CPU`]: CPU number, and the unused half of its word.
    #[br(if(args.has(SampleType::CPU)))]
    #[serde(with = "readable::cpu", default)]
    pub cpu: Option<(u32, u32)>,
    /// [`SampleType::PERIOD`]: number of events that the sample represents.
    #[br(if(args.has(SampleType::PERIOD)))]
    pub period: Option<u64>,
    /// [`SampleType::READ`]: counter values.
    #[br(if(args.has(SampleType::READ)), args_raw = args.layout.read_format())]
    pub read: Option<ReadValues>,
    /// [`SampleType::CALLCHAIN`].
    #[br(if(args.has(SampleType::CALLCHAIN)))]
    pub callchain: Option<Callchain>,
    /// [`SampleType::RAW`].
    #[br(if(args.has(SampleType::RAW)))]
    pub raw: Option<Raw>,
    /// [`SampleType::BRANCH_STACK`].
    #[br(if(args.has(SampleType::BRANCH_STACK)), args(args.layout.branch_sample_type(), args.hw_idx_if_empty))]
    pub branch_stack: Option<BranchStack>,
    /// [`SampleType::REGS_USER`].
    #[br(if(args.has(SampleType::REGS_USER)), args_raw = args.layout.regs_user())]
    pub regs_user: Option<Regs>,
    /// [`SampleType::STACK_USER`].
    #[br(if(args.has(SampleType::STACK_USER)))]
    pub stack_user: Option<StackUser>,
    /// [`SampleType::WEIGHT`] or [`SampleType::WEIGHT_STRUCT`], one word either way.
    #[br(if(args.layout.sample_type().intersects(SampleType::WEIGHT | SampleType::WEIGHT_STRUCT)))]
    pub weight: Option<Weight>,
    /// [`SampleType::DATA_SRC`].
    #[br(if(args.has(SampleType::DATA_SRC)))]
    pub data_src: Option<DataSrc>,
    /// [`SampleType::TRANSACTION`].
    #[br(if(args.has(SampleType::TRANSACTION)))]
    pub transaction: Option<Transaction>,
    /// [`SampleType::REGS_INTR`].
    #[br(if(args.has(SampleType::REGS_INTR)), args_raw = args.layout.regs_intr())]
    pub regs_intr: Option<Regs>,
    /// [`SampleType::PHYS_ADDR`]: physical address of the data.
    #[br(if(args.has(SampleType::PHYS_ADDR)))]
    #[serde(serialize_with = "readable::hex")]
    pub phys_addr: Option<u64>,
    /// [`SampleType::CGROUP`]: cgroup ID.
    #[br(if(args.has(SampleType::CGROUP)))]
    pub cgroup: Option<u64>,
    /// [`SampleType::DATA_PAGE_SIZE`]: size of the data page in bytes.
    #[br(if(args.has(SampleType::DATA_PAGE_SIZE)))]
    pub data_page_size: Option<u64>,
    /// [`SampleType::CODE_PAGE_SIZE`]: size of the code page in bytes.
    #[br(if(args.has(SampleType::CODE_PAGE_SIZE)))]
    pub code_page_size: Option<u64>,
    /// [`SampleType::AUX`].
    #[br(if(args.has(SampleType::AUX)))]
    pub aux: Option<AuxSample>,
}

impl Sample {
    /// The present fields, with [`SampleType::WEIGHT`] for either kind of weight.
    pub fn fields(&self) -> SampleType {
        let fields = [
            (SampleType::IDENTIFIER, self.identifier.is_some()),
            (SampleType::IP, self.ip.is_some()),
            (SampleType::TID, self.task.is_some()),
            (SampleType::TIME, self.time.is_some()),
            (SampleType::ADDR, self.addr.is_some()),
            (SampleType::ID, self.id.is_some()),
            (SampleType::STREAM_ID, self.stream_id.is_some()),
            (SampleType::CPU, self.cpu.is_some()),
            (SampleType::PERIOD, self.period.is_some()),
            (SampleType::READ, self.read.is_some()),
            (SampleType::CALLCHAIN, self.callchain.is_some()),
            (SampleType::RAW, self.raw.is_some()),
            (SampleType::BRANCH_STACK, self.branch_stack.is_some()),
            (SampleType::REGS_USER, self.regs_user.is_some()),
            (SampleType::STACK_USER, self.stack_user.is_some()),
            (SampleType::WEIGHT, self.weight.is_some()),
            (SampleType::DATA_SRC, self.data_src.is_some()),
            (SampleType::TRANSACTION, self.transaction.is_some()),
            (SampleType::REGS_INTR, self.regs_intr.is_some()),
            (SampleType::PHYS_ADDR, self.phys_addr.is_some()),
            (SampleType::CGROUP, self.cgroup.is_some()),
            (SampleType::DATA_PAGE_SIZE, self.data_page_size.is_some()),
            (SampleType::CODE_PAGE_SIZE, self.code_page_size.is_some()),
            (SampleType::AUX, self.aux.is_some()),
        ];
        fields.into_iter().filter(|&(_, is_there)| is_there).map(|(field, _)| field).collect()
    }
}

/// A call chain: `u64 nr; u64 ips[nr]`.
#[binrw]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Callchain {
    #[br(temp)]
    #[bw(calc = ips.len() as u64)]
    nr: u64,
    /// Addresses and context markers ([`Context`](super::callchain::Context)), leaf first.
    #[br(parse_with = counted::u64s, args(nr))]
    #[serde(serialize_with = "readable::hex")]
    pub ips: Vec<u64>,
}

/// Event-specific bytes: `u32 size; u8 data[size]`, in the byte order of the recording machine.
#[binrw]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Raw {
    #[br(temp)]
    #[bw(calc = data.len() as u32)]
    size: u32,
    /// The bytes with the kernel's padding to a multiple of 8, which includes the size.
    #[br(parse_with = counted::bytes, args(size.into()))]
    #[serde(with = "crate::abi::byte_string")]
    pub data: Vec<u8>,
}

/// User stack dump: `u64 size; u8 data[size]; u64 dyn_size`, the last two only if `size` is not 0.
#[binrw]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StackUser {
    #[br(temp)]
    #[bw(calc = data.len() as u64)]
    size: u64,
    /// Dumped bytes, followed by stale bytes of the ring buffer. In the byte order of the recording machine.
    #[br(parse_with = counted::bytes, args(size))]
    #[serde(with = "crate::abi::byte_string")]
    pub data: Vec<u8>,
    /// Number of valid bytes of `data`.
    #[brw(if(!data.is_empty()))]
    pub dyn_size: u64,
}

/// Part of the AUX area: `u64 size; u8 data[size]`, in the byte order of the recording machine.
#[binrw]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuxSample {
    #[br(temp)]
    #[bw(calc = data.len() as u64)]
    size: u64,
    /// The bytes.
    #[br(parse_with = counted::bytes, args(size))]
    #[serde(with = "crate::abi::byte_string")]
    pub data: Vec<u8>,
}

/// Descriptor of SAMPLE.
pub const SAMPLE: RecordDescriptor = RecordDescriptor::event(RecordType::SAMPLE, (2, 6), 8);

impl VisitFields for Sample {
    fn visit_fields(&mut self, visitor: &mut dyn FieldVisitor) {
        let ids = [&mut self.identifier, &mut self.id, &mut self.stream_id];
        ids.into_iter().flatten().for_each(|id| visitor.own_event_id(id));
        if let Some((pid, tid)) = &mut self.task {
            visitor.own_process(TaskField::U32(pid));
            visitor.task(TaskField::U32(tid));
        }
        self.time.iter_mut().for_each(|time| visitor.time(time));
        self.read.iter_mut().flat_map(|values| values.ids_mut()).for_each(|id| visitor.event_id(id));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi;
    use crate::abi::branch::{BranchEntry, BranchFlags};
    use crate::abi::bytes::Writer;
    use crate::abi::read_format::{ReadFormat, ReadValue, ReadView};
    use crate::abi::regs::RegsAbi;
    use crate::abi::sample_type::BranchSampleType;
    use crate::abi::sample_view::{RegsView, SampleView};
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
             0800000000000000 07 *8",
            "0000000000000011 0000000000000012 00000013 00000014 0000000000000015 0000000000000016 0000000000000017 \
             0000000000000018 00000019 0000001a 000000000000001b \
             0000000000000001 000000000000001c 0000000000000001 000000000000001d 00000004 01020304 \
             0000000000000001 000000000000001e 0000000000000001 0000000000000002 8000000000000000 \
             0000000000000001 000000000000001f 0000000000000020 \
             0000000000000008 05 *8 0000000000000006 0003000200000001 0000000000000021 0000000000000010 \
             0000000000000000 0000000000000023 0000000000000024 0000000000000025 0000000000000026 \
             0000000000000008 07 *8",
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

    /// Converts a view to the owned sample.
    fn owned(view: &SampleView<'_>, layout: &SampleLayout, endian: Endian) -> Sample {
        let regs = |view: &RegsView<'_>| Regs { abi: RegsAbi(view.abi), regs: view.regs.iter().collect() };
        let read = |view: &ReadView<'_>| {
            let values: Vec<_> = view.values().collect();
            let (time_enabled, time_running) = (view.time_enabled, view.time_running);
            if layout.read_format().contains(ReadFormat::GROUP) {
                return ReadValues::Group { time_enabled, time_running, values };
            }
            let ReadValue { value, id, lost } = values[0];
            ReadValues::Single { value, time_enabled, time_running, id, lost }
        };
        Sample {
            identifier: view.identifier,
            ip: view.ip,
            task: view.task,
            time: view.time,
            addr: view.addr,
            id: view.id,
            stream_id: view.stream_id,
            cpu: view.cpu,
            period: view.period,
            read: view.read.as_ref().map(read),
            callchain: view.callchain.map(|ips| Callchain { ips: ips.iter().collect() }),
            raw: view.raw.map(|data| Raw { data: data.to_vec() }),
            branch_stack: view.branch_stack.map(|stack| BranchStack {
                hw_idx: stack.hw_idx,
                entries: (stack.entries.iter().collect::<Vec<_>>().as_chunks().0.iter())
                    .map(|&[from, to, flags]| BranchEntry { from, to, flags: BranchFlags::from_word(flags, endian) })
                    .collect(),
                counters: stack.counters.map(|counters| counters.iter().collect()).unwrap_or_default(),
            }),
            regs_user: view.regs_user.as_ref().map(regs),
            stack_user: view.stack_user.map(|stack| StackUser { data: stack.data.to_vec(), dyn_size: stack.dyn_size }),
            weight: view.weight.map(Weight),
            data_src: view.data_src.map(DataSrc),
            transaction: view.transaction.map(Transaction::from_bits_retain),
            regs_intr: view.regs_intr.as_ref().map(regs),
            phys_addr: view.phys_addr,
            cgroup: view.cgroup,
            data_page_size: view.data_page_size,
            code_page_size: view.code_page_size,
            aux: view.aux.map(|data| AuxSample { data: data.to_vec() }),
        }
    }

    fn layout() -> impl Strategy<Value = SampleLayout> {
        let some = 0..1_u64 << 25;
        ((some.clone(), some), 0..32_u64, 0..1_u64 << 20, 0..16_u64, 0..16_u64).prop_map(
            |(sample_type, read_format, branch_sample_type, regs_user, regs_intr)| {
                SampleLayout::new(SampleType::from_bits_retain(sample_type.0 & sample_type.1))
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
                prop_assert_eq!(owned(&view, &layout, endian), sample.clone());
                prop_assert_eq!(view.tail, &body[used..]);
                let mut encoded = Vec::new();
                view.encode(&layout, &mut Writer::new(&mut encoded, endian));
                prop_assert_eq!(&encoded, &body);
                prop_assert_eq!(to_bytes(&sample, endian), &body[..used]);
                let whole = SampleView::read(&body[..used], &layout, endian).map(|view| owned(&view, &layout, endian));
                prop_assert_eq!(whole, Ok(sample), "without a tail");
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
                    // A sample with this field only.
                    let mut alone = SampleLayout::new(layout.sample_type() & field.bits())
                        .with_read_format(layout.read_format())
                        .with_branch_sample_type(layout.branch_sample_type())
                        .with_regs(layout.regs_user(), layout.regs_intr());
                    if view.branch_stack.is_some_and(|stack| stack.hw_idx.is_none()) {
                        alone = alone.with_branch_sample_type(
                            layout.branch_sample_type() - BranchSampleType::HW_INDEX,
                        );
                    }
                    let field_view = SampleView::read(&body[bytes.clone()], &alone, endian).unwrap();
                    prop_assert!(field_view.tail.is_empty());
                    let json = |sample: &Sample| serde_json::to_value(sample).unwrap();
                    let found = json(&owned(&field_view, &alone, endian));
                    let there: Vec<_> = found.as_object().unwrap().iter().filter(|(_, value)| !value.is_null()).collect();
                    let expected = &json(&owned(&view, &layout, endian))[field.name()];
                    prop_assert_eq!(there, [(&field.name().to_owned(), expected)]);
                    if let Some(word) = layout.word_at(field) {
                        prop_assert_eq!(8 * word, bytes.start);
                    }
                }
            }
        }
    }
}
