//! Direct off-CPU samples: `perf record --off-cpu` since perf 6.16.
//!
//! The BPF program of perf writes them as raw data of the event `offcpu-time`, from whatever thread runs next. The kernel's own
//! fields of such a sample describe that moment; the raw data describes the wait:
//!
//! ```c
//! struct {
//!     u32 pid, tid;
//!     u64 period;     /* nanoseconds off CPU */
//!     u64 nr;
//!     u64 ips[nr];    /* a context marker, then addresses, leaf first */
//!     u64 cgroup;
//! };
//! ```
//!
//! Samples that perf 6.0 to 6.15 writes at the end of a recording have no raw data: their own fields describe the wait.

use super::events::Event;
use super::raw::Raw;
use crate::abi::Endian;
use crate::abi::attr::SoftwareEvent;
use crate::abi::bytes::{ByteReader, Words};
use crate::abi::record::CpuMode;
use crate::abi::sample::callchain::Context;
use crate::abi::sample::view::{SampleView, TruncatedField};

/// Name that perf gives the event.
const NAME: &str = "offcpu-time";

/// A wait, from the raw data of a sample.
#[derive(Clone, Copy, Debug)]
pub struct Wait<'a> {
    /// Process and thread that waited.
    pub task: (u32, u32),
    /// Nanoseconds off CPU.
    pub period: u64,
    /// Call chain at the start of the wait.
    pub callchain: Words<'a>,
    /// ID of the cgroup.
    pub cgroup: u64,
}

impl<'a> Wait<'a> {
    /// Decodes raw data; `None` if it is malformed.
    pub fn read(raw: &'a [u8], endian: Endian) -> Option<Self> {
        let mut reader = ByteReader::new(raw, endian);
        let task = (reader.u32()?, reader.u32()?);
        let period = reader.u64()?;
        let len = reader.u64()?;
        let callchain = reader.words(len)?;
        Some(Self { task, period, callchain, cgroup: reader.u64()? })
    }

    /// Replaces the fields that the raw data describes. As the others, the cgroup is present only if the event has it.
    fn replace(self, view: &mut SampleView<'a>) {
        let Self { task, period, callchain, cgroup } = self;
        let leaf = callchain.iter().find(|&ip| Context::of(ip).is_none());
        (view.task, view.period, view.callchain) = (Some(task), Some(period), Some(callchain));
        view.ip = leaf.or(view.ip);
        view.cgroup = view.cgroup.and(Some(cgroup));
    }
}

/// The raw data of a sample does not describe a wait.
#[derive(Debug)]
pub struct MalformedWait;

impl Event {
    /// Whether it is the event of `perf record --off-cpu`, whose periods are nanoseconds.
    pub fn is_off_cpu(&self) -> bool {
        // perf may have added modifiers.
        let is_rest = |rest: &str| rest.is_empty() || rest.starts_with(':');
        self.attr.is_software(SoftwareEvent::BPF_OUTPUT)
            && self.name.as_deref().and_then(|name| name.strip_prefix(NAME)).is_some_and(is_rest)
    }

    /// Decodes a sample into an empty view, with the wait in its raw data if it is a direct off-CPU sample. Malformed raw data
    /// leaves the recorded fields.
    ///
    /// # Errors
    /// The name of the first field that exceeds the sample.
    #[inline]
    pub fn fill_sample<'a>(&self, view: &mut SampleView<'a>, raw: &Raw<'a>) -> Result<(), TruncatedField> {
        view.fill(raw.body(), &self.layout, raw.endian())?;
        // Reported where samples are converted.
        let _ = self.replace_by_wait(view, raw.endian());
        Ok(())
    }

    /// Decodes a sample as [`fill_sample`](Self::fill_sample).
    ///
    /// # Errors
    /// The name of the first field that exceeds the sample.
    pub fn sample<'a>(&self, raw: &Raw<'a>) -> Result<SampleView<'a>, TruncatedField> {
        let mut view = SampleView::default();
        self.fill_sample(&mut view, raw)?;
        Ok(view)
    }

    /// Replaces the recorded fields of a direct off-CPU sample; leaves other samples as they are.
    #[inline]
    pub fn replace_by_wait<'a>(&self, view: &mut SampleView<'a>, endian: Endian) -> Result<(), MalformedWait> {
        match view.raw {
            Some(raw) if self.is_off_cpu() => {
                Wait::read(raw, endian).ok_or(MalformedWait)?.replace(view);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// The CPU mode at the address of a sample: that of the record, except for direct off-CPU samples.
    pub fn cpu_mode(&self, view: &SampleView<'_>, raw: &Raw<'_>) -> CpuMode {
        let recorded = raw.header().misc.cpu_mode();
        if view.raw.is_none() || !self.is_off_cpu() {
            return recorded;
        }
        let marker = view.callchain.and_then(|chain| Context::of(chain.iter().next()?));
        marker.and_then(Context::cpu_mode).unwrap_or(recorded)
    }
}
