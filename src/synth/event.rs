//! An event of a recording that is made up.

use super::event_names;
use super::tracepoint::Tracepoint;
use crate::abi::Endian;
use crate::abi::attr::Attr;
use crate::abi::attr_flags::AttrFlags;
use crate::abi::read_format::ReadFormat;
use crate::abi::sample_type::{BranchSampleType, SampleType};
use crate::error::{Error, Result};

/// An event: its name, how it was opened, the ids of its instances.
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
    /// Its name, as EVENT_DESC tells it.
    pub name: String,
    /// How it was opened.
    pub attr: Attr,
    /// Its ids, one for each CPU; where there are none, they are made up.
    pub ids: Vec<u64>,
    /// Its format, if it is a tracepoint.
    pub tracepoint: Option<Tracepoint>,
}

impl Event {
    /// How large attrs are: as since Linux 5.13.
    const ATTR_SIZE: usize = 128;

    /// Fields of samples, unless others are asked for: enough for `perf script` and `perf report` to show them.
    pub const FIELDS: SampleType = SampleType::IDENTIFIER
        .union(SampleType::IP)
        .union(SampleType::TID)
        .union(SampleType::TIME)
        .union(SampleType::CPU)
        .union(SampleType::PERIOD);

    /// Period, unless another is asked for.
    const PERIOD: u64 = 100_000;

    /// An event by its name, as `perf record -e` takes it: see [`event_names`]. A tracepoint has RAW bytes, and a period of 1.
    ///
    /// # Errors
    /// Where there is no such event.
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

    /// An event of a PMU that is not known here: what it counts is to be told by its attr.
    ///
    /// # Errors
    /// None in practice: an attr of zeros is one.
    pub fn unknown(name: impl Into<String>) -> Result<Self> {
        Ok(Self::of(name, Self::plain_attr()?))
    }

    /// An event that was opened in any way. Nothing of the attr is changed.
    pub fn of(name: impl Into<String>, attr: Attr) -> Self {
        Self { name: name.into(), attr, ids: Vec::new(), tracepoint: None }
    }

    /// The tracepoint, with fields of its own.
    #[must_use]
    pub fn formatted(mut self, tracepoint: Tracepoint) -> Self {
        self.tracepoint = Some(tracepoint);
        self
    }

    /// A sample each so many occurrences.
    #[must_use]
    pub fn period(mut self, period: u64) -> Self {
        self.attr.sample_period = period;
        self.attr.flags.remove(AttrFlags::FREQ);
        self
    }

    /// So many samples a second.
    #[must_use]
    pub fn frequency(mut self, hertz: u64) -> Self {
        self.attr.sample_period = hertz;
        self.attr.flags.insert(AttrFlags::FREQ);
        self
    }

    /// Samples have these fields too.
    #[must_use]
    pub fn with(mut self, fields: SampleType) -> Self {
        self.attr.sample_type |= fields;
        self
    }

    /// Samples do not have these fields.
    #[must_use]
    pub fn without(mut self, fields: SampleType) -> Self {
        self.attr.sample_type.remove(fields);
        self
    }

    /// Samples have the last branches, of these kinds.
    #[must_use]
    pub fn branches(mut self, kinds: BranchSampleType) -> Self {
        self.attr.branch_sample_type = kinds;
        self.with(SampleType::BRANCH_STACK)
    }

    /// Samples have user registers and so many bytes of the user stack.
    #[must_use]
    pub fn user_stack(mut self, regs: u64, bytes: u32) -> Self {
        (self.attr.sample_regs_user, self.attr.sample_stack_user) = (regs, bytes);
        self.with(SampleType::REGS_USER | SampleType::STACK_USER)
    }

    /// Whether samples have all of these fields.
    pub fn has(&self, fields: SampleType) -> bool {
        self.attr.sample_type.contains(fields)
    }

    /// An attr as perf record makes it for an event without options.
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
