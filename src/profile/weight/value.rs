//! Which value samples have.

use crate::profile::event::{ProfileEvent, Unit};
use perf_data::stream::events::EventIndex;

/// The value of a sample.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SampleValue {
    /// Its period, or what its counters have counted.
    #[default]
    Period,
    /// 1, or the number of samples that an imported profile has for it.
    Samples,
    /// The time that its thread spent off the CPU after it, in nanoseconds.
    OffCpu,
    /// Its period, divided by the number of threads that ran: what the whole takes longer because of it.
    Latency,
    /// A numeric field of the sample or of its tracepoint.
    Field(String),
}

/// What samples are worth.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[non_exhaustive]
pub struct ValueOptions {
    /// Show where threads waited instead of where they ran: the time between their context switches, by the stack with which they
    /// stopped running.
    #[cfg_attr(feature = "cli", arg(long, conflicts_with = "weight"))]
    pub off_cpu: bool,

    /// What a sample is worth: period, the default; samples, 1 each; latency, the period divided by the number of threads that ran at
    /// that time; or a numeric field, such as data_page_size or, of a tracepoint, bytes_alloc.
    #[cfg_attr(feature = "cli", arg(long, value_name = "WHAT"))]
    pub weight: Option<String>,
}

impl ValueOptions {
    /// The value.
    pub fn sample_value(&self) -> SampleValue {
        match self.weight.as_deref() {
            _ if self.off_cpu => SampleValue::OffCpu,
            None | Some("period") => SampleValue::Period,
            Some("samples") => SampleValue::Samples,
            Some("latency") => SampleValue::Latency,
            Some(field) => SampleValue::Field(field.to_owned()),
        }
    }
}

impl SampleValue {
    /// The event of a profile that has this value of the samples of a recorded event, the only one with samples or one of several.
    pub(crate) fn event(&self, recorded: &ProfileEvent, is_alone: bool) -> ProfileEvent {
        let (name, unit) = match self {
            Self::Period | Self::Samples => return recorded.clone(),
            Self::OffCpu => ("off-cpu", Unit::Nanoseconds),
            Self::Latency => ("latency", recorded.unit),
            Self::Field(field) => (&**field, super::field::unit(field)),
        };
        let name = if is_alone { name.to_owned() } else { format!("{}/{name}", recorded.name) };
        ProfileEvent { name, unit, is_cpu_time: false, is_tracepoint: false, period: None, sample_types: None }
    }
}

/// Distinguishes the events with values other than periods from the recorded ones, until the number of the latter is certain: a
/// pipe can describe further events between samples.
const DERIVED: EventIndex = 1 << 31;

/// The index of the event with another value of a recorded event's samples.
#[inline]
pub(crate) fn derived(event: EventIndex) -> EventIndex {
    event | DERIVED
}

/// The recorded event of a [derived](derived) one.
#[inline]
pub(crate) fn recorded(event: EventIndex) -> Option<EventIndex> {
    (event & DERIVED != 0).then_some(event & !DERIVED)
}
