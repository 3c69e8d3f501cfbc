//! Spans: times between two events.

use super::event_roles::EventRoles;
use super::lengths::Lengths;
use super::number::NumberField;
use super::sample_weight::Span;
use hashbrown::HashMap;
use perf_data::abi::sample::view::SampleView;
use perf_data::error::{Error, Result};
use perf_data::stream::event_name::{event_name, is_called};
use perf_data::stream::events::{Event, EventIndex};
use perf_data::stream::ledger::{Ledger, counted};
use perf_data::stream::meta::Meta;
use perf_data::tracepoint::tracepoints::Tracepoint;
use std::fmt::Write;

/// Number of spans that can be open at once. Begins without an end, of which a recording can have any number, would otherwise use
/// memory in proportion to its size.
const MAX_OPEN: usize = 1 << 20;

/// Pairs begins and ends of spans.
#[derive(Debug)]
pub(crate) struct Spans<S> {
    span: Span,
    roles: EventRoles<Role>,
    /// By thread, or by the value of the field.
    open: HashMap<u64, (u64, S)>,
    lengths: Lengths,
    counts: UnpairedCounts,
    /// Scratch buffer.
    text: String,
}

/// What an event is to a span.
#[derive(Debug)]
struct Role {
    begins: bool,
    ends: bool,
    /// The field that identifies the span; by default the thread does.
    field: Option<NumberField>,
    /// Of a begin, the format with the argument.
    argument: Option<Tracepoint>,
}

/// Begins and ends that are in no span.
#[derive(Debug, Default)]
struct UnpairedCounts {
    begins: u64,
    ends: u64,
    without_key: u64,
    reversed: u64,
}

/// A span that has ended.
#[derive(Debug)]
pub(crate) struct EndedSpan<S> {
    pub nanoseconds: u64,
    pub end: u64,
    /// What was stored at its begin.
    pub begin: S,
}

impl<S> Spans<S> {
    pub(crate) fn new(span: Span) -> Self {
        Self {
            span,
            roles: EventRoles::default(),
            open: HashMap::new(),
            lengths: Lengths::default(),
            counts: UnpairedCounts::default(),
            text: String::new(),
        }
    }

    /// Processes a sample: returns the span that it ends, and stores `begin`, given its argument, if it begins one. Returns whether it
    /// does either.
    pub(crate) fn sample(
        &mut self,
        meta: &Meta,
        index: EventIndex,
        view: &SampleView<'_>,
        begin: impl FnOnce(Option<&str>) -> S,
    ) -> (Option<EndedSpan<S>>, bool) {
        self.update(meta);
        let Some(Role { begins, ends, field, argument }) = self.roles.get(index) else { return (None, false) };
        let key = match field {
            Some(field) => view.raw.and_then(|payload| field.read(payload)).map(|key| key as u64),
            None => view.task.map(|(_, tid)| tid.into()),
        };
        let (Some(key), Some(time)) = (key, view.time) else {
            self.counts.without_key += 1;
            return (None, true);
        };
        let has_argument = argument.as_ref().zip(view.raw).is_some_and(|(tracepoint, payload)| {
            let mut values = tracepoint.values(payload);
            let value = values.find(|(field, _)| self.span.argument.as_ref().is_some_and(|name| *field.name == **name));
            self.text.clear();
            value.is_some_and(|(_, value)| write!(self.text, "{value}").is_ok())
        });
        let (begins, ends) = (*begins, *ends);
        let ended = if ends { self.end(key, time, begins) } else { None };
        if begins {
            let has_room = self.open.len() < MAX_OPEN || self.open.contains_key(&key);
            let argument = has_argument.then_some(&*self.text);
            let previous = if has_room { self.open.insert(key, (time, begin(argument))) } else { None };
            // Another begin before the end: only the latest is certain to belong to it.
            self.counts.begins += u64::from(previous.is_some() || !has_room);
        }
        (ended, true)
    }

    /// `is_begin` if the event also begins spans, as of those from one occurrence to the next.
    fn end(&mut self, key: u64, time: u64, is_begin: bool) -> Option<EndedSpan<S>> {
        let Some((since, begin)) = self.open.remove(&key) else {
            self.counts.ends += u64::from(!is_begin);
            return None;
        };
        let Some(nanoseconds) = time.checked_sub(since) else {
            self.counts.reversed += 1;
            return None;
        };
        self.lengths.add(nanoseconds);
        Some(EndedSpan { nanoseconds, end: time, begin })
    }

    fn update(&mut self, meta: &Meta) {
        let Self { span, roles, .. } = self;
        roles.update(meta, |event, tracepoint| span_role(span, event, tracepoint));
    }

    /// Adds messages to the ledger: the lengths of the spans, and how many begins and ends are in none.
    ///
    /// # Errors
    /// If the recording lacks one of the events, or its field.
    pub(crate) fn finish(mut self, meta: &Meta, ledger: &mut Ledger) -> Result<()> {
        self.update(meta);
        let Self { span, lengths, counts, .. } = &self;
        let roles = || self.roles.iter();
        let missing = [(&span.begin, roles().any(|role| role.begins)), (&span.end, roles().any(|role| role.ends))];
        if let Some((event, _)) = missing.iter().find(|(_, is_present)| !is_present && !meta.events.list().is_empty()) {
            let by = span.by.as_ref().map(|field| format!(" with a numeric field '{field}'"));
            let argument = span.argument.as_ref().filter(|_| *event == &span.begin);
            let argument = argument.map(|field| format!(" with a field '{field}'"));
            let field = [by, argument].into_iter().flatten().collect::<Vec<_>>().join(" and");
            let names: Vec<_> = meta.events.list().iter().map(event_name).collect();
            let problem = format!("the recording has no event '{event}'{field}; its events are: {}", names.join(", "));
            return Err(Error::input(&meta.files[0], None, problem));
        }
        let unpaired = [
            (counts.begins + self.open.len() as u64, "begins without an end"),
            (counts.ends, "ends without a begin"),
            (counts.without_key, "events without a thread, a time or the field"),
            (counts.reversed, "ends before their begin"),
        ];
        let unpaired = unpaired.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}"));
        let unpaired = unpaired.collect::<Vec<_>>().join(", ");
        ledger.change(message(lengths));
        if !unpaired.is_empty() {
            ledger.change(format!("in no span: {unpaired}"));
        }
        self.roles.sampling().into_iter().for_each(|warning| ledger.note(warning));
        Ok(())
    }
}

/// What an event is to a span.
fn span_role(span: &Span, event: &Event, tracepoint: Option<&Tracepoint>) -> Option<Role> {
    let name = event_name(event);
    let (begins, ends) = (is_called(&name, &span.begin), is_called(&name, &span.end));
    (begins || ends).then_some(())?;
    let field = match &span.by {
        // Without its field, an event belongs to no span.
        Some(field) => Some(NumberField::new(tracepoint?, field)?),
        None => None,
    };
    let argument = match span.argument.as_ref().filter(|_| begins) {
        Some(name) => {
            Some(tracepoint.filter(|tracepoint| tracepoint.fields.iter().any(|f| *f.name == **name))?.clone())
        }
        None => None,
    };
    Some(Role { begins, ends, field, argument })
}

/// The lengths of the spans.
fn message(lengths: &Lengths) -> String {
    let Some(summary) = lengths.summary() else { return "no spans: no end followed a begin".to_owned() };
    let microseconds = |nanoseconds: u64| format!("{}.{:03}", nanoseconds / 1000, nanoseconds % 1000);
    let [min, median, high, max] = summary.map(microseconds);
    format!("{}: min {min}, median {median}, 99 % {high}, max {max} us", counted(lengths.count(), "span"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_quantiles() {
        let mut lengths = Lengths::default();
        assert_eq!(message(&lengths), "no spans: no end followed a begin");
        (1..=1000).for_each(|length| lengths.add(1000 * length));
        assert_eq!(message(&lengths), "1000 spans: min 1.000, median 499.712, 99 % 983.040, max 1000.000 us");
    }
}
