//! The common pass of all sample filters.

use super::deferred::DeferredChains;
use super::file_positions::{FilePositions, Numbered, NumberedOrder, PositionSet};

use super::related_processes::RelatedProcesses;
use crate::rewrite::embedded_symbols::parts::retain_objects;
use crate::rewrite::framework::pass::{Pass, PreScan, PreScanOrder};
use crate::rewrite::header::Header;
use perf_data::abi::feature::FeatureId;
use perf_data::abi::feature::sample_time::SampleTime;
use perf_data::abi::record::{CpuMode, RecordType};
use perf_data::abi::sample::view::SampleView;
use perf_data::container::read::ReadOptions;
use perf_data::error::Result;
use perf_data::stream::Sink;
use perf_data::stream::events::{EventIndex, is_time};
use perf_data::stream::ledger::Ledger;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use perf_data::stream::stage::{Before, Stage};

/// A sample to be filtered.
#[derive(Clone, Copy)]
pub struct FilteredSample<'a> {
    /// The record.
    pub raw: &'a Raw<'a>,
    /// Its event.
    pub event: EventIndex,
    /// The CPU mode at its address.
    pub mode: CpuMode,
    /// Its fields.
    pub view: &'a SampleView<'a>,
}

/// Decides which samples are kept.
///
/// A filter sees all records in a first pass. If its order is [time order](PreScanOrder::Time), the decisions of the first pass
/// are final; otherwise it decides again when the records are passed on.
pub trait Filter: Send {
    /// The option that requests the filter.
    fn option(&self) -> &'static str;

    /// The order in which the filter must see records.
    fn order(&self) -> PreScanOrder {
        PreScanOrder::File
    }

    /// Whether the filter selects by process; if so, records about other processes are removed too.
    fn is_by_process(&self) -> bool {
        false
    }

    /// Starts a pass over the records.
    fn begin(&mut self, meta: &Meta) {
        let _ = meta;
    }

    /// Processes a record of the first pass other than a sample.
    fn other(&mut self, meta: &Meta, raw: &Raw<'_>) {
        let _ = (meta, raw);
    }

    /// Whether a sample is kept.
    fn keeps(&mut self, sample: &FilteredSample<'_>) -> bool;

    /// Ends the first pass.
    ///
    /// # Errors
    /// Fails if no sample has a wanted value, or samples lack the field.
    fn check(&mut self, meta: &Meta) -> Result<()>;

    /// Adds warnings to the ledger, at the end.
    fn report(&self, ledger: &mut Ledger) {
        let _ = ledger;
    }
}

/// The pass of a filter. Records other than samples are kept, except for those that belong to removed samples; SAMPLE_TIME and
/// BUILD_ID are adapted. Malformed samples are kept. If it only marks samples, all records are passed on, and those other than samples
/// are not selected either: a consumer sees by any of them that there is a filter.
pub struct FilterPass<F> {
    filter: F,
    options: ReadOptions,
    selection: Selection,
    marks_unselected: bool,
}

/// What is kept, as the first pass finds it.
#[derive(Default)]
struct Selection {
    /// Times of the first and the last sample.
    times: Option<(u64, u64)>,
    deferred: DeferredChains,
    related: Option<RelatedProcesses>,
    marked: PositionSet,
    unreadable: u64,
}

impl<F: Filter> FilterPass<F> {
    /// Creates the pass of a filter, which removes samples, or only marks them as [not selected](Raw::is_selected).
    pub fn new(filter: F, options: ReadOptions, marks_unselected: bool) -> Self {
        Self { filter, options, selection: Selection::default(), marks_unselected }
    }
}

impl<F: Filter> Pass for FilterPass<F> {
    fn name(&self) -> String {
        self.filter.option().to_owned()
    }

    fn pre_scan(&mut self) -> Option<PreScan<'_>> {
        let removes_processes = self.filter.is_by_process() && !self.marks_unselected;
        let related = removes_processes.then(RelatedProcesses::default);
        self.selection = Selection { related, ..Selection::default() };
        let scan = FilterScan {
            filter: &mut self.filter,
            selection: &mut self.selection,
            positions: FilePositions::default(),
        };
        Some(match scan.filter.order() {
            PreScanOrder::File => PreScan::in_file_order(scan),
            // Sorted after the positions are numbered, since these follow the file order.
            PreScanOrder::Time => PreScan::in_file_order(NumberedOrder::new(scan, self.options.clone())),
        })
    }

    fn edits(&self) -> bool {
        !self.marks_unselected
    }

    fn edit(&mut self, header: &mut Header) -> Result<()> {
        follow_in_sample_time(header, self.selection.times)?;
        if let Some(related) = &self.selection.related {
            header.build_ids.retain(|(_, build_id)| related.has_file(build_id.filename.text()));
            retain_objects(&mut header.features, |name| related.has_file(name), |pid| related.has_process(pid));
        }
        Ok(())
    }

    fn before<'a>(&'a mut self, sink: Box<dyn Sink + 'a>) -> Box<dyn Sink + 'a> {
        let Self { filter, selection, marks_unselected, .. } = self;
        let positions = FilePositions::default();
        let stage = FilterStage { filter, selection, positions, marks_unselected: *marks_unselected };
        Box::new(Before::new(stage, sink))
    }

    fn report(&self, ledger: &mut Ledger) {
        self.filter.report(ledger);
        if self.selection.unreadable > 0 {
            ledger.note(format!(
                "{}: {} samples that cannot be decoded are kept",
                self.name(),
                self.selection.unreadable
            ));
        }
    }
}

/// Sets SAMPLE_TIME, if present, to the times of the kept samples.
///
/// # Errors
/// Fails if the feature cannot be encoded.
pub fn follow_in_sample_time(header: &mut Header, times: Option<(u64, u64)>) -> Result<()> {
    if !header.features.contains_key(&FeatureId::SAMPLE_TIME) {
        return Ok(());
    }
    let (first_sample_time, last_sample_time) = times.unwrap_or_default();
    header.set(FeatureId::SAMPLE_TIME, &SampleTime { first_sample_time, last_sample_time })
}

/// Extends a time range, unless the time is unset.
pub fn extend(times: &mut Option<(u64, u64)>, time: Option<u64>) {
    if let Some(time) = time.filter(|&time| is_time(time)) {
        let (first, last) = times.get_or_insert((time, time));
        (*first, *last) = ((*first).min(time), (*last).max(time));
    }
}

/// Decodes a sample and calls the function with it; `None` if it is malformed.
fn with_sample<T>(meta: &Meta, raw: &Raw<'_>, function: impl FnOnce(&FilteredSample<'_>) -> T) -> Option<T> {
    let (event, descriptor) = meta.events.find(raw)?;
    let mut view = SampleView::default();
    descriptor.fill_sample(&mut view, raw).ok()?;
    Some(function(&FilteredSample { raw, event, mode: descriptor.cpu_mode(&view, raw), view: &view }))
}

/// The first pass: asks the filter, and records what is kept.
struct FilterScan<'a, F> {
    filter: &'a mut F,
    selection: &'a mut Selection,
    positions: FilePositions,
}

impl<F: Filter> Sink for FilterScan<'_, F> {
    fn begin(&mut self, meta: &Meta) -> Result<()> {
        self.filter.begin(meta);
        Ok(())
    }

    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        let Self { filter, selection, positions } = self;
        if raw.header().kind != RecordType::SAMPLE {
            if let Some(related) = &mut selection.related {
                related.note(meta, raw);
            }
            filter.other(meta, raw);
            positions.forget(raw);
            return Ok(());
        }
        let is_kept = with_sample(meta, raw, |sample| {
            let is_kept = filter.keeps(sample);
            if is_kept {
                extend(&mut selection.times, sample.view.time);
                selection.deferred.wanted_by(sample.view);
                if let (Some(related), Some((pid, _))) = (&mut selection.related, sample.view.task) {
                    related.add(pid);
                }
            }
            is_kept
        });
        selection.unreadable += u64::from(is_kept.is_none());
        if is_kept != Some(false) && filter.order() == PreScanOrder::Time {
            selection.marked.mark(positions.position(raw));
        }
        positions.forget(raw);
        Ok(())
    }

    fn end(&mut self, meta: &Meta) -> Result<()> {
        if let Some(related) = &mut self.selection.related {
            related.with_ancestors();
        }
        self.filter.check(meta)
    }
}

impl<F: Filter> Numbered for FilterScan<'_, F> {
    fn positions(&mut self) -> &mut FilePositions {
        &mut self.positions
    }
}

/// Passes on what is kept.
struct FilterStage<'a, F> {
    filter: &'a mut F,
    selection: &'a Selection,
    positions: FilePositions,
    marks_unselected: bool,
}

impl<F: Filter> FilterStage<'_, F> {
    fn is_kept(&mut self, meta: &Meta, raw: &Raw<'_>) -> bool {
        let is_sample = raw.header().kind == RecordType::SAMPLE;
        if self.filter.order() == PreScanOrder::Time {
            let position = self.positions.position(raw);
            self.positions.forget(raw);
            if is_sample {
                return self.selection.marked.has(position);
            }
        }
        match raw.header().kind {
            RecordType::SAMPLE => with_sample(meta, raw, |sample| self.filter.keeps(sample)).unwrap_or(true),
            RecordType::CALLCHAIN_DEFERRED => self.selection.deferred.has(meta, raw),
            _ => self.selection.related.as_ref().is_none_or(|related| related.keeps(meta, raw)),
        }
    }
}

impl<F: Filter, S: Sink + ?Sized> Stage<S> for FilterStage<'_, F> {
    fn begin(&mut self, meta: &Meta, sink: &mut S) -> Result<()> {
        self.filter.begin(meta);
        sink.begin(meta)
    }

    fn record(&mut self, meta: &Meta, raw: &Raw<'_>, sink: &mut S) -> Result<()> {
        match self.is_kept(meta, raw) {
            is_kept if self.marks_unselected => {
                let is_selected = is_kept && raw.is_selected() && raw.header().kind == RecordType::SAMPLE;
                sink.record(meta, &raw.clone().with_selection(is_selected))
            }
            true => sink.record(meta, raw),
            false => Ok(()),
        }
    }
}
