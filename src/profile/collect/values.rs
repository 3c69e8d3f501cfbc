//! Values of samples other than their periods.

use super::dispatch::DecodedSample;
use crate::profile::labels::{Label, LabelKey, LabelValue};
use crate::profile::weight::field::FieldReader;
use crate::profile::weight::parallelism::RunningThreads;
use crate::profile::weight::sample_weight::{SampleWeight, derived};
use crate::profile::weight::scheduler::{SchedulerEvent, SchedulerEvents};
use hashbrown::HashMap;
use perf_data::abi::record::RecordType;
use perf_data::error::{Error, Result};
use perf_data::session::{Applied, Session};
use perf_data::stream::events::EventIndex;
use perf_data::stream::ledger::Ledger;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;

/// Determines the values of samples, given their periods.
#[derive(Default)]
pub(crate) enum Values {
    #[default]
    Periods,
    Latency {
        latency: Box<Latency>,
        /// Whether periods are values too.
        keeps_periods: bool,
        /// Whether samples have the label `parallelism`.
        is_label: bool,
    },
    Field(Box<FieldReader>),
}

/// Divides periods by the number of running threads.
#[derive(Default)]
pub(crate) struct Latency {
    events: SchedulerEvents,
    threads: RunningThreads,
    /// Number of threads that ran during the latest sample.
    count: u64,
    /// Number of samples by the number of threads that ran.
    samples: Vec<u64>,
    /// By event, the fractions of values so far: periods of 1, as of tracepoints, would otherwise be 0.
    fractions: HashMap<EventIndex, u128>,
}

impl Values {
    pub(crate) fn new(value: &SampleWeight, keeps_periods: bool, is_label: bool) -> Self {
        match value {
            SampleWeight::Latency => Self::Latency { latency: Box::default(), keeps_periods, is_label },
            SampleWeight::Field(name) => Self::Field(Box::new(FieldReader::new(name.clone()))),
            SampleWeight::Period | SampleWeight::Samples | SampleWeight::OffCpu | SampleWeight::Span(_) => {
                Self::Periods
            }
        }
    }

    /// Replaces the values of a sample.
    #[inline]
    pub(crate) fn replace(
        &mut self,
        sample: DecodedSample<'_>,
        session: &Session,
        weights: &mut Vec<(EventIndex, u64)>,
    ) {
        match self {
            Self::Periods => {}
            Self::Latency { latency, keeps_periods, .. } => {
                let count = latency.parallelism(sample, session);
                let periods = weights.len();
                weights.extend_from_within(..);
                weights[periods..].iter_mut().for_each(|(event, value)| {
                    (*event, *value) = (derived(*event), latency.share(*event, *value, count));
                });
                weights.drain(..if *keeps_periods { 0 } else { periods });
            }
            Self::Field(field) => {
                let own = weights.iter().any(|&(event, _)| event == sample.index);
                weights.clear();
                let value = own.then(|| field.value(sample.meta, sample.index, sample.view)).flatten();
                weights.extend(value.map(|value| (derived(sample.index), value)));
            }
        }
    }

    /// The label with the number of threads that ran during the latest sample, if samples have it.
    #[inline]
    pub(super) fn label(&self) -> Option<LabelValue> {
        match self {
            Self::Latency { latency, is_label: true, .. } => {
                Some(LabelValue { key: LabelKey::Known(Label::Parallelism), value: latency.count })
            }
            _ => None,
        }
    }

    /// The number of threads that ran during the latest sample, if that is determined.
    #[cfg(feature = "parquet")]
    pub(crate) fn parallelism(&self) -> Option<u64> {
        match self {
            Self::Latency { latency, .. } => Some(latency.count),
            _ => None,
        }
    }

    /// Uses a sample whose values are not wanted.
    pub(super) fn unselected(&mut self, sample: DecodedSample<'_>, session: &Session) {
        if let Self::Latency { latency, .. } = self {
            latency.observe(sample, session);
        }
    }

    /// Uses a record about threads.
    pub(crate) fn record(&mut self, meta: &Meta, raw: &Raw<'_>, tid: Option<u32>) -> Applied {
        let Self::Latency { latency, .. } = self else { return Applied::NotApplicable };
        match (raw.header().kind, tid) {
            (RecordType::SWITCH | RecordType::SWITCH_CPU_WIDE, _) => {
                let Some((switch, (pid, _))) = latency.events.record(meta, raw) else { return Applied::NotApplicable };
                latency.threads.switch(switch, |_| pid);
                Applied::Consumed
            }
            (RecordType::EXIT, Some(tid)) => {
                latency.threads.exit(tid);
                Applied::Consumed
            }
            _ => Applied::NotApplicable,
        }
    }

    /// Checks that the recording has what the values need, and adds messages to the ledger.
    ///
    /// # Errors
    /// If it does not.
    pub(super) fn finish(self, meta: &Meta, ledger: &mut Ledger) -> Result<()> {
        match self {
            Self::Periods => Ok(()),
            Self::Field(field) => {
                field.finish(meta)?.into_iter().for_each(|message| ledger.change(message));
                Ok(())
            }
            Self::Latency { latency, .. } => {
                if !latency.events.has_records && !latency.events.has_tracepoint && !meta.events.list().is_empty() {
                    let problem = "latency needs the times at which threads ran, which the recording lacks; record with \
                                   'perf record --switch-events' or 'perf record --latency'";
                    return Err(Error::input(&meta.files[0], None, problem.to_owned()));
                }
                ledger.change(latency.message());
                latency.events.sampling().into_iter().for_each(|warning| ledger.note(warning));
                Ok(())
            }
        }
    }
}

impl Latency {
    /// The number of threads that run while a sample is taken.
    fn parallelism(&mut self, sample: DecodedSample<'_>, session: &Session) -> u64 {
        let task = self.observe(sample, session);
        // Of a recording of whole CPUs, other processes do not make this one faster.
        let process = task.map(|(pid, _)| pid).filter(|_| self.events.is_cpu_wide || !self.events.has_records);
        let count = self.threads.count(process);
        let index = usize::try_from(count).unwrap_or(usize::MAX).min(MAX_COUNTED);
        if self.samples.len() <= index {
            self.samples.resize(index + 1, 0);
        }
        self.samples[index] += 1;
        self.count = count;
        count
    }

    /// A value of an event divided by the number of threads, rounded so that the sum is exact.
    fn share(&mut self, event: EventIndex, value: u64, count: u64) -> u64 {
        const BITS: u32 = 32;
        let fraction = self.fractions.entry(event).or_default();
        let share = (u128::from(value) << BITS) / u128::from(count) + *fraction;
        *fraction = share & ((1 << BITS) - 1);
        (share >> BITS) as u64
    }

    /// Uses a sample as evidence of what runs.
    fn observe(&mut self, sample: DecodedSample<'_>, session: &Session) -> Option<(u32, u32)> {
        let DecodedSample { meta, index, view, .. } = sample;
        let task = view.task;
        if let Some((pid, tid)) = task {
            self.threads.sampled(pid, tid);
        }
        // With records of switches, these also say when a thread of a recording of single threads begins to run.
        if !self.events.has_records
            && let Some(SchedulerEvent::Switch(switch)) = self.events.sample(meta, index, view)
        {
            let process = |tid| session.thread(tid).map_or(tid, |thread| thread.pid);
            self.threads.switch(switch, process);
        }
        task
    }

    /// The share of samples by the number of threads that ran.
    fn message(&self) -> String {
        let all: u64 = self.samples.iter().sum();
        let shares = self.samples.iter().enumerate().filter(|(_, samples)| **samples > 0);
        let shares =
            shares.map(|(threads, &samples)| format!("{threads}: {:.1} %", 100.0 * samples as f64 / all as f64));
        format!("samples by number of running threads: {}", shares.collect::<Vec<_>>().join(", "))
    }
}

/// Number of running threads from which on samples are counted as one.
const MAX_COUNTED: usize = 1 << 16;
