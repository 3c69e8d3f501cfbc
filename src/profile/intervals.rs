//! Samples that are intervals: waits of threads, and spans between two events.

use super::timeline::Timeline;
use super::weight::Span;
use perf_data::stream::event_name::{event_name, is_called};
use perf_data::stream::meta::Meta;
use perf_data::tracepoint::tracepoints::Tracepoint;

/// What the samples of a profile are, each of which is an interval that ends at its time and is as long as its value.
#[derive(Clone, Debug, Default)]
pub struct Intervals {
    /// Name of spans; `None` for waits, whose label `state` says why the thread waited.
    pub name: Option<String>,
    /// Format of the payloads of their begins, if these are tracepoints.
    pub tracepoint: Option<Tracepoint>,
}

impl Intervals {
    /// Spans, of which payloads are those of the begin.
    pub(crate) fn spans(span: &Span, timeline: &Timeline, meta: &Meta) -> Self {
        let begins = (0..).zip(meta.events.list()).filter(|(_, event)| is_called(&event_name(event), &span.begin));
        let tracepoint = begins.into_iter().find_map(|(index, _)| timeline.tracepoints.get(&index)).cloned();
        let Span { begin, end, .. } = span;
        Self { name: Some(format!("{begin}..{end}")), tracepoint }
    }
}
