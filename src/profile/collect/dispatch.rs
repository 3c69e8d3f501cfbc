//! Dispatches records: state changes to the session, samples to a consumer.

use crate::profile::unwind::deferred::UserFrames;
use perf_data::abi::record::CpuMode;
use perf_data::abi::record::RecordType;
use perf_data::abi::sample::view::SampleView;
use perf_data::abi::sample_type::BranchSampleType;
use perf_data::error::Result;
use perf_data::session::{Applied, Session};
use perf_data::stream::events::{Event, EventIndex};
use perf_data::stream::is_used_by_stream;
use perf_data::stream::ledger::{Ledger, Reason};
use perf_data::stream::losses::ReportedLosses;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;

/// A sample with its event and decoded fields.
#[derive(Clone, Copy)]
pub(crate) struct DecodedSample<'a> {
    /// Metadata of the recording.
    pub meta: &'a Meta,
    /// The record.
    pub raw: &'a Raw<'a>,
    /// Index of the event.
    pub index: EventIndex,
    pub event: &'a Event,
    /// The fields.
    pub view: &'a SampleView<'a>,
}

impl DecodedSample<'_> {
    /// The CPU mode at its address.
    pub(crate) fn cpu_mode(&self) -> CpuMode {
        self.event.cpu_mode(self.view, self.raw)
    }
}

/// Receives samples in time order, with the state of the machine at each.
pub(crate) trait SampleConsumer {
    /// The session and the ledger.
    fn state(&mut self) -> (&mut Session, &mut Ledger);

    /// Processes a sample, and accounts for it in the ledger.
    ///
    /// # Errors
    /// Fails if processing cannot continue.
    fn sample(&mut self, sample: DecodedSample<'_>) -> Result<()>;

    /// Completes the samples that waited for these user frames.
    ///
    /// # Errors
    /// Fails if processing cannot continue.
    fn user_frames(&mut self, meta: &Meta, frames: UserFrames<'_>) -> Result<()>;

    /// Processes any other record; by default only the session does.
    ///
    /// # Errors
    /// Fails if processing cannot continue.
    fn other(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<Applied> {
        Ok(self.state().0.apply(meta, raw))
    }
}

/// Dispatches a record. Records used by the stream itself are accounted for there.
#[inline]
pub(crate) fn dispatch(consumer: &mut impl SampleConsumer, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
    let kind = raw.header().kind;
    let applied = match kind {
        RecordType::SAMPLE => return sample(consumer, meta, raw),
        RecordType::CALLCHAIN_DEFERRED => match UserFrames::read(meta, raw) {
            Some(frames) => {
                consumer.user_frames(meta, frames)?;
                Applied::Consumed
            }
            None => Applied::Damaged,
        },
        kind if is_used_by_stream(kind) => return Ok(()),
        _ => consumer.other(meta, raw)?,
    };
    let (_, ledger) = consumer.state();
    ledger.traces.record(meta, raw);
    match applied {
        Applied::Consumed => ledger.consumed(kind, 1),
        Applied::NotApplicable => ledger.not_applicable(kind, 1),
        Applied::Damaged => drop_record(ledger, meta, raw, "fields exceed its size"),
    }
    Ok(())
}

#[inline]
fn sample(consumer: &mut impl SampleConsumer, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
    let Some((index, event)) = meta.events.find(raw) else {
        consumer.state().1.dropped(RecordType::SAMPLE, Reason::UnknownEvent);
        return Ok(());
    };
    let mut view = SampleView::default();
    if let Err(error) = view.fill(raw.body(), &event.layout, raw.endian()) {
        drop_record(consumer.state().1, meta, raw, &error.to_string());
        return Ok(());
    }
    if event.replace_by_wait(&mut view, raw.endian()).is_err() {
        let problem = "raw data of an off-CPU sample is malformed; the sample is used as recorded";
        consumer.state().1.damage(meta.damage(raw.block(), raw.at(), problem.to_owned()));
    }
    if let Some(trace) = view.aux {
        consumer.state().1.traces.add(trace.len() as u64);
    }
    if view.is_partial {
        consumer.state().1.used_in_part(1);
    }
    if let Some(chain) = raw.call_chain() {
        view.callchain = Some(chain);
        if event.layout.branch_sample_type().contains(BranchSampleType::CALL_STACK) {
            // The dump has all frames, the branch stack only the last calls.
            view.branch_stack = None;
        }
    }
    consumer.sample(DecodedSample { meta, raw, index, event, view: &view })
}

/// Counts the losses that a LOST or LOST_SAMPLES record reports.
pub(crate) fn count_lost(ledger: &mut Ledger, meta: &Meta, raw: &Raw<'_>) -> Applied {
    let Some(losses) = ReportedLosses::decode(meta, raw) else { return Applied::Damaged };
    ledger.lost(losses);
    Applied::Consumed
}

/// Counts a malformed record as dropped.
fn drop_record(ledger: &mut Ledger, meta: &Meta, raw: &Raw<'_>, why: &str) {
    let kind = raw.header().kind;
    ledger.damage(meta.damage(raw.block(), raw.at(), format!("{kind} record is dropped: {why}")));
    ledger.dropped(kind, Reason::Damaged);
}
