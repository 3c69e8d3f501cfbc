//! `PERF_RECORD_SAMPLE`, owned: the definition, for reading and writing.
//!
//! Where samples come by the million, [`SampleView`] reads the same bytes without owning them.

use super::Endian;
use super::branch::BranchStack;
use super::counted;
use super::data_src::DataSrc;
use super::read_format::ReadValues;
use super::regs::Regs;
use super::sample_type::SampleType;
use super::sample_view::{SampleLayout, SampleView};
use super::transaction::Transaction;
use super::weight::Weight;
use binrw::binrw;

/// What a SAMPLE's bytes are read by.
#[derive(Clone, Copy, Debug)]
pub struct SampleArgs {
    /// Layout of the event's samples.
    layout: SampleLayout,
    /// Whether an empty branch stack has its `hw_idx`.
    hw_idx_if_empty: bool,
}

impl SampleArgs {
    /// For the body of a SAMPLE of an event.
    pub fn new(body: &[u8], layout: &SampleLayout, endian: Endian) -> Self {
        let view = SampleView::read(body, layout, endian);
        let stack = view.ok().and_then(|view| view.branch_stack);
        Self { layout: *layout, hw_idx_if_empty: stack.is_none_or(|stack| stack.hw_idx.is_some()) }
    }

    fn has(&self, field: SampleType) -> bool {
        self.layout.sample_type.contains(field)
    }
}

/// The body of a SAMPLE record. A field is there if its bit of `sample_type` is set; the order is the kernel's, which is not
/// that of the bits. A sample of an event with bits beyond [`SampleType::KNOWN`] is not read.
///
/// Since Linux 2.6.31.
#[binrw]
#[br(import_raw(args: SampleArgs), pre_assert(SampleType::KNOWN.contains(args.layout.sample_type)))]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// [`SampleType::IDENTIFIER`]: id of the event.
    #[br(if(args.has(SampleType::IDENTIFIER)))]
    pub identifier: Option<u64>,
    /// [`SampleType::IP`]: instruction pointer.
    #[br(if(args.has(SampleType::IP)))]
    pub ip: Option<u64>,
    /// [`SampleType::TID`]: process, thread.
    #[br(if(args.has(SampleType::TID)))]
    pub task: Option<(u32, u32)>,
    /// [`SampleType::TIME`]: nanoseconds of the recording's clock.
    #[br(if(args.has(SampleType::TIME)))]
    pub time: Option<u64>,
    /// [`SampleType::ADDR`]: address that the event is about.
    #[br(if(args.has(SampleType::ADDR)))]
    pub addr: Option<u64>,
    /// [`SampleType::ID`]: id of the event, of the parent where inherited.
    #[br(if(args.has(SampleType::ID)))]
    pub id: Option<u64>,
    /// [`SampleType::STREAM_ID`]: id of the event itself.
    #[br(if(args.has(SampleType::STREAM_ID)))]
    pub stream_id: Option<u64>,
    /// [`SampleType::CPU`]: the CPU, and the unused word beside it.
    #[br(if(args.has(SampleType::CPU)))]
    pub cpu: Option<(u32, u32)>,
    /// [`SampleType::PERIOD`]: how much of the event this sample stands for.
    #[br(if(args.has(SampleType::PERIOD)))]
    pub period: Option<u64>,
    /// [`SampleType::READ`]: counter values.
    #[br(if(args.has(SampleType::READ)), args_raw = args.layout.read_format)]
    pub read: Option<ReadValues>,
    /// [`SampleType::CALLCHAIN`].
    #[br(if(args.has(SampleType::CALLCHAIN)))]
    pub callchain: Option<Callchain>,
    /// [`SampleType::RAW`].
    #[br(if(args.has(SampleType::RAW)))]
    pub raw: Option<Raw>,
    /// [`SampleType::BRANCH_STACK`].
    #[br(if(args.has(SampleType::BRANCH_STACK)), args(args.layout.branch_sample_type, args.hw_idx_if_empty))]
    pub branch_stack: Option<BranchStack>,
    /// [`SampleType::REGS_USER`].
    #[br(if(args.has(SampleType::REGS_USER)), args_raw = args.layout.regs_user)]
    pub regs_user: Option<Regs>,
    /// [`SampleType::STACK_USER`].
    #[br(if(args.has(SampleType::STACK_USER)))]
    pub stack_user: Option<StackUser>,
    /// [`SampleType::WEIGHT`] or [`SampleType::WEIGHT_STRUCT`], one word either way.
    #[br(if(args.layout.sample_type.intersects(SampleType::WEIGHT | SampleType::WEIGHT_STRUCT)))]
    pub weight: Option<Weight>,
    /// [`SampleType::DATA_SRC`].
    #[br(if(args.has(SampleType::DATA_SRC)))]
    pub data_src: Option<DataSrc>,
    /// [`SampleType::TRANSACTION`].
    #[br(if(args.has(SampleType::TRANSACTION)))]
    pub transaction: Option<Transaction>,
    /// [`SampleType::REGS_INTR`].
    #[br(if(args.has(SampleType::REGS_INTR)), args_raw = args.layout.regs_intr)]
    pub regs_intr: Option<Regs>,
    /// [`SampleType::PHYS_ADDR`]: physical address of the data.
    #[br(if(args.has(SampleType::PHYS_ADDR)))]
    pub phys_addr: Option<u64>,
    /// [`SampleType::CGROUP`]: id of the cgroup.
    #[br(if(args.has(SampleType::CGROUP)))]
    pub cgroup: Option<u64>,
    /// [`SampleType::DATA_PAGE_SIZE`]: bytes of the page that the data is in.
    #[br(if(args.has(SampleType::DATA_PAGE_SIZE)))]
    pub data_page_size: Option<u64>,
    /// [`SampleType::CODE_PAGE_SIZE`]: bytes of the page that the code is in.
    #[br(if(args.has(SampleType::CODE_PAGE_SIZE)))]
    pub code_page_size: Option<u64>,
    /// [`SampleType::AUX`].
    #[br(if(args.has(SampleType::AUX)))]
    pub aux: Option<AuxSample>,
}

/// A call chain: `u64 nr; u64 ips[nr]`.
#[binrw]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Callchain {
    #[br(temp)]
    #[bw(calc = ips.len() as u64)]
    nr: u64,
    /// Addresses and marks ([`Context`](super::callchain::Context)), leaf first.
    #[br(parse_with = counted::u64s, args(nr))]
    pub ips: Vec<u64>,
}

/// Bytes of the event's own: `u32 size; u8 data[size]`. They are in the recorder's byte order.
#[binrw]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Raw {
    #[br(temp)]
    #[bw(calc = data.len() as u32)]
    size: u32,
    /// The bytes, with the kernel's padding: together with their size they take a multiple of 8.
    #[br(parse_with = counted::bytes, args(size.into()))]
    pub data: Vec<u8>,
}

/// Copy of the user stack: `u64 size; u8 data[size]; u64 dyn_size`, the last two only where `size` is not 0.
#[binrw]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StackUser {
    #[br(temp)]
    #[bw(calc = data.len() as u64)]
    size: u64,
    /// What was copied, and behind it stale bytes of the ring buffer. In the recorder's byte order.
    #[br(parse_with = counted::bytes, args(size))]
    pub data: Vec<u8>,
    /// How many bytes of `data` are the stack.
    #[brw(if(!data.is_empty()))]
    pub dyn_size: u64,
}

/// A piece of the AUX area: `u64 size; u8 data[size]`. It is in the recorder's byte order.
#[binrw]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuxSample {
    #[br(temp)]
    #[bw(calc = data.len() as u64)]
    size: u64,
    /// The bytes.
    #[br(parse_with = counted::bytes, args(size))]
    pub data: Vec<u8>,
}
