//! Which samples are printed, with the criteria of perf script.
//!
//! The filters are those of a rewrite, but only samples are omitted: as in perf, records that `--show-mmap-events` and others
//! print are kept, and a value that no sample has is no error.

use crate::formats::framework::sample_writer::WrittenSample;
use crate::rewrite::filter::comm::CommFilter;
use crate::rewrite::filter::cpu::{CpuFilter, CpuRange};
use crate::rewrite::filter::dso::DsoFilter;
use crate::rewrite::filter::pass::{self, Filter};
use crate::rewrite::filter::task::{TaskFilter, TaskNumber};
use crate::rewrite::filter::time::{TimeFilter, Times};
use perf_data::abi::feature::FeatureId;
use perf_data::abi::sample_type::SampleType;
use perf_data::error::{Error, Result};
use perf_data::stream::event_name::event_name;
use perf_data::stream::events::Event;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;

/// Criteria of samples, all of which a printed sample meets. An empty list selects all samples.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct SampleSelection {
    /// Process IDs.
    pub pids: Vec<u32>,
    /// Thread IDs.
    pub tids: Vec<u32>,
    /// Thread names.
    pub comms: Vec<String>,
    /// CPUs, which also select other records.
    pub cpus: Vec<CpuRange>,
    /// Files of the instruction pointer, by path or name.
    pub dsos: Vec<String>,
    /// Times.
    pub times: Option<Times>,
}

/// Applies the criteria to samples in time order.
#[derive(Default)]
pub(super) struct SampleSelector {
    filters: Vec<Box<dyn Filter>>,
    has_begun: bool,
    cpus: Vec<CpuRange>,
    has_shares: bool,
}

impl SampleSelector {
    pub(super) fn new(selection: &SampleSelection) -> Self {
        let SampleSelection { pids, tids, comms, cpus, dsos, times } = selection.clone();
        let mut filters: Vec<Box<dyn Filter>> = Vec::new();
        for (number, ids) in [(TaskNumber::Pid, pids), (TaskNumber::Tid, tids)] {
            if !ids.is_empty() {
                filters.push(Box::new(TaskFilter::new(number, ids)));
            }
        }
        if !comms.is_empty() {
            filters.push(Box::new(CommFilter::new(comms)));
        }
        if !cpus.is_empty() {
            filters.push(Box::new(CpuFilter::new(cpus.clone())));
        }
        if !dsos.is_empty() {
            filters.push(Box::new(DsoFilter::new(dsos)));
        }
        let has_shares = matches!(times, Some(Times::Shares(_)));
        if let Some(times) = times {
            filters.push(Box::new(TimeFilter::new(times)));
        }
        Self { filters, has_begun: false, cpus, has_shares }
    }

    /// Processes a record other than a sample.
    ///
    /// # Errors
    /// If a criterion needs what the recording lacks.
    pub(super) fn other(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        self.begin(meta)?;
        self.filters.iter_mut().for_each(|filter| filter.other(meta, raw));
        Ok(())
    }

    /// Whether a sample is printed.
    ///
    /// # Errors
    /// As [`other`](Self::other).
    pub(super) fn keeps(&mut self, sample: &WrittenSample<'_>) -> Result<bool> {
        if self.filters.is_empty() {
            return Ok(true);
        }
        let decoded = &sample.decoded;
        self.begin(decoded.meta)?;
        let mode = decoded.cpu_mode();
        let sample = pass::FilteredSample { raw: decoded.raw, event: decoded.index, mode, view: decoded.view };
        Ok(self.filters.iter_mut().all(|filter| filter.keeps(&sample)))
    }

    /// Whether records of a CPU are printed.
    pub(super) fn has_cpu(&self, cpu: u32) -> bool {
        self.cpus.is_empty() || self.cpus.iter().any(|range| range.contains(cpu))
    }

    fn begin(&mut self, meta: &Meta) -> Result<()> {
        if self.has_begun {
            return Ok(());
        }
        self.has_begun = true;
        self.check(meta)?;
        self.filters.iter_mut().for_each(|filter| filter.begin(meta));
        Ok(())
    }

    /// Rejects criteria that the recording does not support, as perf does.
    fn check(&self, meta: &Meta) -> Result<()> {
        if self.has_shares && !meta.features.contains_key(&FeatureId::SAMPLE_TIME) {
            let problem = "--time: the recording does not say when its first and last sample were; use START,STOP";
            return Err(Error::invalid(problem));
        }
        let lacks_cpu = |event: &&Event| !event.attr.sample_type.contains(SampleType::CPU);
        match meta.events.list().iter().find(lacks_cpu).filter(|_| !self.cpus.is_empty()) {
            Some(event) => {
                let event = event_name(event);
                Err(Error::invalid(format!("--cpu: samples of event '{event}' have no CPU; omit the option")))
            }
            None => Ok(()),
        }
    }
}
