//! Times between two events, as samples of a profile with the stack of the first.

use super::collector::Collector;
use super::dispatch::DecodedSample;
use super::off_cpu_samples::HeldSample;
use crate::profile::labels::{Label, LabelledSample};
use crate::profile::weight::SampleWeight;
use crate::profile::weight::spans::{EndedSpan, Spans};
use perf_data::abi::record::RecordType;
use perf_data::error::Result;

/// A begin: its sample, and its thread.
pub(super) type SpanBegin = (HeldSample, u32);

impl Collector<'_> {
    /// Uses a sample as begin or end of a span.
    pub(super) fn observe_span(&mut self, sample: DecodedSample<'_>) -> Result<()> {
        let DecodedSample { meta, raw, index, event, view } = sample;
        let Some(mut spans) = self.spans.take() else { return Ok(()) };
        let mode = event.cpu_mode(view, raw);
        let has_argument = self.has_argument;
        let begin = |argument: Option<&str>| {
            let sample = LabelledSample { view, layout: &event.layout, mode, comm: None, event: Some((meta, index)) };
            let mut held = self.held_sample(sample, raw.is_selected());
            held.payload = self.timed_payload(view.raw);
            if let Some(argument) = argument.filter(|_| has_argument) {
                held.add_label(Label::Argument, self.session.names.id(argument.as_bytes()));
            }
            (held, view.task.map_or(0, |(_, tid)| tid))
        };
        let (ended, is_used) = spans.sample(meta, index, view, begin);
        self.spans = Some(spans);
        match is_used {
            true => self.ledger.consumed(RecordType::SAMPLE, 1),
            false => self.ledger.not_applicable(RecordType::SAMPLE, 1),
        }
        let Some(EndedSpan { nanoseconds, end, begin: (held, tid) }) = ended else { return Ok(()) };
        self.add_interval((tid, nanoseconds, end), &held, None)
    }

    /// A collector of these spans.
    pub(super) fn spans(value: &SampleWeight) -> Option<Box<Spans<SpanBegin>>> {
        match value {
            SampleWeight::Span(span) => Some(Box::new(Spans::new(span.clone()))),
            _ => None,
        }
    }
}
