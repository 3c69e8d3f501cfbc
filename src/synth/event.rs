//! An event of a synthetic recording.

use super::event_names;
use super::tracepoint::Tracepoint;
use perf_data::abi::Endian;
use perf_data::abi::attr::Attr;
use perf_data::abi::attr_flags::AttrFlags;
use perf_data::abi::read_format::ReadFormat;
use perf_data::abi::sample_type::{BranchSampleType, SampleType};
use perf_data::error::{Error, Result};

/// An event: name, attr and instance IDs.
///
/// ```
/// use perfconv::abi::attr::AttrType;
/// use perfconv::abi::sample_type::SampleType;
/// use perfconv::synth::Event;
///
/// let misses = Event::named("L1-dcache-load-misses:u")?.period(1000).with(SampleType::ADDR | SampleType::DATA_SRC);
/// assert_eq!((misses.attr.kind, misses.attr.config), (AttrType::HW_CACHE, 0x10000));
/// # Ok::<(), perfconv::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Event {
    /// Name, as in EVENT_DESC.
    pub name: String,
    /// The attr.
    pub attr: Attr,
    /// IDs, one for each CPU; generated if empty.
    pub ids: Vec<u64>,
    /// Format, if it is a tracepoint.
    pub tracepoint: Option<Tracepoint>,
}

impl Event {
    /// Size of the attr, as since Linux 5.13.
    const ATTR_SIZE: usize = 128;

    /// Default sample fields, sufficient for `perf script` and `perf report`.
    pub const FIELDS: SampleType = SampleType::IDENTIFIER
        .union(SampleType::IP)
        .union(SampleType::TID)
        .union(SampleType::TIME)
        .union(SampleType::CPU)
        .union(SampleType::PERIOD);

    /// Default period.
    const PERIOD: u64 = 100_000;

    /// An event in the syntax of `perf record -e`, such as `cycles:u`. A tracepoint has RAW bytes and a period of 1.
    ///
    /// # Errors
    /// If the name is unknown.
    pub fn named(name: &str) -> Result<Self> {
        let mut attr = Self::plain_attr()?;
        let tracepoint = event_names::apply(name, &mut attr)?;
        let mut event = Self { name: name.to_owned(), attr, ids: Vec::new(), tracepoint: None };
        if let Some((system, point)) = tracepoint {
            event = event.period(1).with(SampleType::RAW);
            event.tracepoint = Some(Tracepoint::new(system, point));
        }
        Ok(event)
    }

    /// An event of an unknown PMU, to be described by its attr.
    ///
    /// # Errors
    /// None in practice: an attr of zeros can be decoded.
    pub fn unknown(name: impl Into<String>) -> Result<Self> {
        Ok(Self::new(name, Self::plain_attr()?))
    }

    /// An event with this attr, unchanged.
    pub fn new(name: impl Into<String>, attr: Attr) -> Self {
        Self { name: name.into(), attr, ids: Vec::new(), tracepoint: None }
    }

    /// Sets the format of the tracepoint, with its fields.
    #[must_use]
    pub fn formatted(mut self, tracepoint: Tracepoint) -> Self {
        self.tracepoint = Some(tracepoint);
        self
    }

    /// Samples once per `period` occurrences.
    #[must_use]
    pub fn period(mut self, period: u64) -> Self {
        self.attr.sample_period = period;
        self.attr.flags.remove(AttrFlags::FREQ);
        self
    }

    /// Samples `hertz` times a second.
    #[must_use]
    pub fn frequency(mut self, hertz: u64) -> Self {
        self.attr.sample_period = hertz;
        self.attr.flags.insert(AttrFlags::FREQ);
        self
    }

    /// Adds sample fields.
    #[must_use]
    pub fn with(mut self, fields: SampleType) -> Self {
        self.attr.sample_type |= fields;
        self
    }

    /// Removes sample fields.
    #[must_use]
    pub fn without(mut self, fields: SampleType) -> Self {
        self.attr.sample_type.remove(fields);
        self
    }

    /// Samples branch stacks with branches of these kinds.
    #[must_use]
    pub fn branches(mut self, kinds: BranchSampleType) -> Self {
        self.attr.branch_sample_type = kinds;
        self.with(SampleType::BRANCH_STACK)
    }

    /// Samples user registers and `bytes` bytes of the user stack.
    #[must_use]
    pub fn user_stack(mut self, regs: u64, bytes: u32) -> Self {
        (self.attr.sample_regs_user, self.attr.sample_stack_user) = (regs, bytes);
        self.with(SampleType::REGS_USER | SampleType::STACK_USER)
    }

    /// Whether samples have all of these fields.
    pub fn has(&self, fields: SampleType) -> bool {
        self.attr.sample_type.contains(fields)
    }

    /// The attr that perf record uses without options.
    fn plain_attr() -> Result<Attr> {
        let read = Attr::read(&[0; Self::ATTR_SIZE], Endian::Little);
        let mut attr = read.map_err(|e| Error::invalid(e.to_string()))?;
        attr.size = Self::ATTR_SIZE as u32;
        attr.sample_period = Self::PERIOD;
        attr.sample_type = Self::FIELDS;
        attr.read_format = ReadFormat::ID;
        attr.flags = AttrFlags::DISABLED | AttrFlags::INHERIT | AttrFlags::SAMPLE_ID_ALL;
        Ok(attr)
    }
}
