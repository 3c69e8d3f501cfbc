//! What a sample is worth.

use crate::profile::event::{ProfileEvent, Unit};
use perf_data::stream::events::EventIndex;
use std::str::FromStr;

/// What a sample is worth.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SampleWeight {
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
    /// Of the first of two events, the time until the second, in nanoseconds.
    Span(Span),
}

/// Two events, between which the time is measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// Name of the first event.
    pub begin: String,
    /// Name of the second event.
    pub end: String,
    /// The field of both tracepoints by which they belong together; by default, the thread.
    pub by: Option<String>,
    /// A field of the first event, whose value samples have as a label.
    pub argument: Option<String>,
}

impl FromStr for Span {
    type Err = String;

    /// Parses `BEGIN..END`, possibly followed by `,by=tid` or `,by=FIELD`, and by `,arg=FIELD`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (text, argument) = text.rsplit_once(",arg=").map_or((text, None), |(text, field)| (text, Some(field)));
        let (events, by) = text.rsplit_once(",by=").map_or((text, None), |(events, by)| (events, Some(by)));
        let events = events.split_once("..").filter(|(begin, end)| !begin.is_empty() && !end.is_empty());
        let (begin, end) = events.ok_or("expected BEGIN..END, BEGIN..END,by=FIELD or BEGIN..END,arg=FIELD")?;
        let by = by.filter(|by| *by != "tid").map(str::to_owned);
        Ok(Self { begin: begin.to_owned(), end: end.to_owned(), by, argument: argument.map(str::to_owned) })
    }
}

/// What samples are worth.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[non_exhaustive]
pub struct WeightOptions {
    /// Show where threads waited instead of where they ran: the time between their context switches, by the stack with which they
    /// stopped running.
    #[cfg_attr(feature = "cli", arg(long, conflicts_with = "weight"))]
    pub off_cpu: bool,

    /// What a sample is worth: period, the default; samples, 1 each; latency, the period divided by the number of threads that ran at
    /// that time; or a numeric field, such as data_page_size or, of a tracepoint, bytes_alloc.
    #[cfg_attr(feature = "cli", arg(long, value_name = "WHAT"))]
    pub weight: Option<String>,

    /// Show the times between two events of a thread, such as syscalls:sys_enter_read..syscalls:sys_exit_read, by the stack of the
    /// first; or of the same value of a field, such as block:block_rq_issue..block:block_rq_complete,by=sector. A field of the first
    /// event becomes the label and sort key argument with arg=FIELD.
    #[cfg_attr(feature = "cli", arg(long, value_name = "BEGIN..END[,by=FIELD][,arg=FIELD]", conflicts_with_all = ["weight", "off_cpu"]))]
    pub span: Option<Span>,
}

impl WeightOptions {
    /// The weight that they select.
    pub fn sample_weight(&self) -> SampleWeight {
        match (&self.span, self.weight.as_deref()) {
            _ if self.off_cpu => SampleWeight::OffCpu,
            (Some(span), _) => SampleWeight::Span(span.clone()),
            (None, None | Some("period")) => SampleWeight::Period,
            (None, Some("samples")) => SampleWeight::Samples,
            (None, Some("latency")) => SampleWeight::Latency,
            (None, Some(field)) => SampleWeight::Field(field.to_owned()),
        }
    }
}

impl SampleWeight {
    /// Whether each sample has it by itself, whatever threads did around it.
    pub fn is_per_sample(&self) -> bool {
        matches!(self, Self::Period | Self::Samples)
    }

    /// Whether samples of other threads are part of it.
    pub(crate) fn needs_other_samples(&self) -> bool {
        matches!(self, Self::OffCpu | Self::Latency | Self::Span(_))
    }

    /// The event of a profile that has this value of the samples of a recorded event, the only one with samples or one of several.
    pub(crate) fn event(&self, recorded: &ProfileEvent, is_alone: bool) -> ProfileEvent {
        let (name, unit) = match self {
            Self::Period | Self::Samples => return recorded.clone(),
            Self::OffCpu => ("off-cpu", Unit::Nanoseconds),
            Self::Span(_) => ("span", Unit::Nanoseconds),
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
