//! Samples in time order, with the processes and mappings at their time.

use crate::abi::record::RecordType;
use crate::abi::sample::callchain::Context;
use crate::abi::sample::view::SampleView;
use crate::container::read::ReadOptions;
use crate::container::read::input::Input;
use crate::error::Result;
use crate::session::map::Map;
use crate::session::space::Space;
use crate::session::{Applied, Session};
use crate::stream::event_name::event_name;
use crate::stream::events::{Event, EventIndex};
use crate::stream::ledger::{Ledger, Reason};
use crate::stream::losses::ReportedLosses;
use crate::stream::meta::Meta;
use crate::stream::order::Order;
use crate::stream::raw::Raw;
use crate::stream::source::Source;
use crate::stream::{Sink, is_used_by_stream};
use std::borrow::Cow;

/// A sample of a recording.
#[derive(Clone, Copy)]
pub struct Sample<'a> {
    event: &'a Event,
    event_index: EventIndex,
    raw: &'a Raw<'a>,
    view: &'a SampleView<'a>,
    session: &'a Session,
}

impl<'a> Sample<'a> {
    /// Name of the event, as `perf evlist` shows it.
    pub fn event_name(&self) -> String {
        event_name(self.event)
    }

    /// The event.
    pub fn event(&self) -> &'a Event {
        self.event
    }

    /// The index of the event in the recording.
    pub fn event_index(&self) -> EventIndex {
        self.event_index
    }

    /// All fields as recorded; those that the event does not have are `None`.
    pub fn fields(&self) -> &'a SampleView<'a> {
        self.view
    }

    /// Name of the thread at that time, if known.
    pub fn comm(&self) -> Option<Cow<'a, str>> {
        let (_, tid) = self.view.task?;
        let name = self.session.thread(tid)?.comm?;
        Some(String::from_utf8_lossy(self.session.names.name(name)))
    }

    /// The addresses of the call chain, innermost first, each with its address space; without one, that of the instruction. User
    /// frames that a later record has (`perf record --call-graph fp,defer`) are not among them.
    pub fn frames(&self) -> impl Iterator<Item = (Space, u64)> + use<'a> {
        let mut space = Space::from(self.event.cpu_mode(self.view, self.raw));
        let own = self.view.ip.filter(|_| self.view.callchain.is_none()).map(|ip| (space, ip));
        let mut is_cookie = false;
        let chain = self.view.callchain.into_iter().flat_map(|words| words.iter());
        let callers = chain.filter_map(move |word| {
            if std::mem::take(&mut is_cookie) {
                return None;
            }
            let Some(context) = Context::of(word) else { return Some((space, word)) };
            is_cookie = context == Context::USER_DEFERRED;
            space = context.into();
            None
        });
        own.into_iter().chain(callers)
    }

    /// The mapping of an address of the sample's process, or of the kernel.
    pub fn mapping(&self, space: Space, address: u64) -> Option<&'a Map> {
        let pid = self.view.task.map_or(u32::MAX, |(pid, _)| pid);
        self.session.map_at(pid, space, address).map(|map| self.session.map(map))
    }
}

/// Passes samples on.
struct SampleFunction<F> {
    session: Session,
    ledger: Ledger,
    use_sample: F,
}

/// See [`Recording::for_each_sample`](super::Recording::for_each_sample).
pub(super) fn for_each(
    input: Input,
    read: ReadOptions,
    use_sample: impl FnMut(&Sample<'_>) -> Result<()>,
) -> Result<Ledger> {
    let samples = SampleFunction { session: Session::default(), ledger: Ledger::default(), use_sample };
    let mut ordered = Order::new(samples, read.clone());
    let (_, mut ledger) = Source::open(input, read)?.run(&mut ordered)?;
    ledger.account_for_stream();
    ledger.merge(ordered.into_inner().ledger);
    Ok(ledger)
}

impl<F: FnMut(&Sample<'_>) -> Result<()>> Sink for SampleFunction<F> {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        let kind = raw.header().kind;
        match kind {
            RecordType::SAMPLE => return self.sample(meta, raw),
            RecordType::LOST | RecordType::LOST_SAMPLES => match ReportedLosses::decode(meta, raw) {
                Some(losses) => {
                    self.ledger.lost(losses);
                    self.ledger.consumed(kind, 1);
                }
                None => self.ledger.dropped(kind, Reason::Damaged),
            },
            kind if is_used_by_stream(kind) => {}
            _ => match self.session.apply(meta, raw) {
                Applied::Consumed => self.ledger.consumed(kind, 1),
                Applied::NotApplicable => self.ledger.not_applicable(kind, 1),
                Applied::Damaged => self.ledger.dropped(kind, Reason::Damaged),
            },
        }
        Ok(())
    }
}

impl<F: FnMut(&Sample<'_>) -> Result<()>> SampleFunction<F> {
    fn sample(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        let Some((event_index, event)) = meta.events.find(raw) else {
            self.ledger.dropped(RecordType::SAMPLE, Reason::UnknownEvent);
            return Ok(());
        };
        let Ok(mut view) = SampleView::read(raw.body(), &event.layout, raw.endian()) else {
            self.ledger.dropped(RecordType::SAMPLE, Reason::Damaged);
            return Ok(());
        };
        // The user part of a call chain that was recorded later.
        if let Some(chain) = raw.call_chain() {
            view.callchain = Some(chain);
        }
        (self.use_sample)(&Sample { event, event_index, raw, view: &view, session: &self.session })?;
        self.ledger.emitted(RecordType::SAMPLE, 1);
        Ok(())
    }
}
