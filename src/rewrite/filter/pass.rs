//! The pass that all filters of samples have in common.

use super::deferred::DeferredChains;
use super::places::{Marked, Places};
use super::related_processes::Related;
use crate::abi::feature::FeatureId;
use crate::abi::feature::sample_time::SampleTime;
use crate::abi::record::RecordType;
use crate::abi::sample_view::SampleView;
use crate::container::read::ReadOptions;
use crate::error::Result;
use crate::rewrite::header::Header;
use crate::rewrite::pass::{Pass, PreScan, PreScanOrder};
use crate::stream::Sink;
use crate::stream::events::{EventIndex, is_time};
use crate::stream::ledger::Ledger;
use crate::stream::meta::Meta;
use crate::stream::order::Order;
use crate::stream::raw::Raw;
use crate::stream::stage::{Before, Stage};

/// A sample that a filter is asked about.
#[derive(Clone, Copy)]
pub struct Sample<'a> {
    /// The record.
    pub raw: &'a Raw<'a>,
    /// Its event.
    pub event: EventIndex,
    /// Its fields.
    pub view: &'a SampleView<'a>,
}

/// Which samples stay. It is asked about each in a first look at the recording; where it asks for the
/// [order of time](PreScanOrder::Time), what it said then holds, else it is asked again when the records are passed on.
pub trait Filter {
    /// The option that asks for it.
    fn option(&self) -> &'static str;

    /// The order in which it must see records.
    fn order(&self) -> PreScanOrder {
        PreScanOrder::File
    }

    /// Whether it chooses by process: then what records tell of other processes goes too.
    fn is_by_process(&self) -> bool {
        false
    }

    /// The records begin, again.
    fn begin(&mut self, meta: &Meta) {
        let _ = meta;
    }

    /// A record of the first look that is no sample.
    fn other(&mut self, meta: &Meta, raw: &Raw<'_>) {
        let _ = (meta, raw);
    }

    /// Whether a sample stays.
    fn keeps(&mut self, sample: &Sample<'_>) -> bool;

    /// The first look is done.
    ///
    /// # Errors
    /// Where something is asked for that is not there, or of which nothing is told.
    fn check(&mut self, meta: &Meta) -> Result<()>;
}

/// The pass of a filter. All records other than samples stay, but for those that belong to samples that go; SAMPLE_TIME and
/// BUILD_ID follow. A sample that cannot be read stays.
pub struct FilterPass<F> {
    filter: F,
    options: ReadOptions,
    stay: Stay,
}

/// What stays, as the first look finds it.
#[derive(Default)]
struct Stay {
    /// Times of the first and the last sample.
    times: Option<(u64, u64)>,
    deferred: DeferredChains,
    related: Option<Related>,
    marked: Marked,
    unreadable: u64,
}

impl<F: Filter> FilterPass<F> {
    /// By that filter.
    pub fn new(filter: F, options: ReadOptions) -> Self {
        Self { filter, options, stay: Stay::default() }
    }
}

impl<F: Filter> Pass for FilterPass<F> {
    fn name(&self) -> String {
        self.filter.option().to_owned()
    }

    fn pre_scan(&mut self) -> Option<PreScan<'_>> {
        let related = self.filter.is_by_process().then(Related::default);
        self.stay = Stay { related, ..Stay::default() };
        let choose = Choose { filter: &mut self.filter, stay: &mut self.stay, places: Places::default() };
        Some(match choose.filter.order() {
            PreScanOrder::File => PreScan::in_file_order(choose),
            PreScanOrder::Time => PreScan::in_file_order(ChooseInOrder(Order::new(choose, self.options.clone()))),
        })
    }

    fn edits(&self) -> bool {
        true
    }

    fn edit(&mut self, header: &mut Header) -> Result<()> {
        follow_in_sample_time(header, self.stay.times)?;
        if let Some(related) = &self.stay.related {
            header.build_ids.retain(|(_, build_id)| related.has_file(build_id.filename.text()));
        }
        Ok(())
    }

    fn before<'a>(&'a mut self, sink: Box<dyn Sink + 'a>) -> Box<dyn Sink + 'a> {
        let stage = PassOn { filter: &mut self.filter, stay: &self.stay, places: Places::default() };
        Box::new(Before::new(stage, sink))
    }

    fn report(&self, ledger: &mut Ledger) {
        if self.stay.unreadable > 0 {
            ledger.note(format!("{}: {} samples that cannot be read stay", self.name(), self.stay.unreadable));
        }
    }
}

/// Where SAMPLE_TIME is told, it is that of the samples that stay.
///
/// # Errors
/// None that is known.
pub fn follow_in_sample_time(header: &mut Header, times: Option<(u64, u64)>) -> Result<()> {
    if !header.features.contains_key(&FeatureId::SAMPLE_TIME) {
        return Ok(());
    }
    let (first_sample_time, last_sample_time) = times.unwrap_or_default();
    header.set(FeatureId::SAMPLE_TIME, &SampleTime { first_sample_time, last_sample_time })
}

/// The earlier first and the later last of times that were seen.
pub fn extend(times: &mut Option<(u64, u64)>, time: Option<u64>) {
    if let Some(time) = time.filter(|&time| is_time(time)) {
        let (first, last) = times.get_or_insert((time, time));
        (*first, *last) = ((*first).min(time), (*last).max(time));
    }
}

/// Reads a sample, and calls the function with it; `None` where it cannot be read.
fn with_sample<T>(meta: &Meta, raw: &Raw<'_>, function: impl FnOnce(&Sample<'_>) -> T) -> Option<T> {
    let (event, told) = meta.events.of(raw)?;
    let mut view = SampleView::default();
    view.fill(raw.body(), &told.layout, raw.endian()).ok()?;
    Some(function(&Sample { raw, event, view: &view }))
}

/// The first look: asks the filter, and takes note of what stays.
struct Choose<'a, F> {
    filter: &'a mut F,
    stay: &'a mut Stay,
    places: Places,
}

impl<F: Filter> Sink for Choose<'_, F> {
    fn begin(&mut self, meta: &Meta) -> Result<()> {
        self.filter.begin(meta);
        Ok(())
    }

    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        let Self { filter, stay, places } = self;
        if raw.header().kind != RecordType::SAMPLE {
            if let Some(related) = &mut stay.related {
                related.note(meta, raw);
            }
            filter.other(meta, raw);
            places.forget(raw);
            return Ok(());
        }
        let stays = with_sample(meta, raw, |sample| {
            let stays = filter.keeps(sample);
            if stays {
                extend(&mut stay.times, sample.view.time);
                stay.deferred.wanted_by(sample.view);
                if let (Some(related), Some((pid, _))) = (&mut stay.related, sample.view.task) {
                    related.stays(pid);
                }
            }
            stays
        });
        stay.unreadable += u64::from(stays.is_none());
        if stays != Some(false) && filter.order() == PreScanOrder::Time {
            stay.marked.mark(places.of(raw));
        }
        places.forget(raw);
        Ok(())
    }

    fn end(&mut self, meta: &Meta) -> Result<()> {
        if let Some(related) = &mut self.stay.related {
            related.with_ancestors();
        }
        self.filter.check(meta)
    }
}

/// The same in the order of time, knowing where in the order of the file each sample is.
struct ChooseInOrder<'a, F>(Order<Choose<'a, F>>);

impl<F: Filter> Sink for ChooseInOrder<'_, F> {
    fn begin(&mut self, meta: &Meta) -> Result<()> {
        self.0.begin(meta)
    }

    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        self.0.sink_mut().places.of(raw);
        self.0.record(meta, raw)
    }

    fn end(&mut self, meta: &Meta) -> Result<()> {
        self.0.end(meta)
    }
}

/// Passes on what stays.
struct PassOn<'a, F> {
    filter: &'a mut F,
    stay: &'a Stay,
    places: Places,
}

impl<F: Filter> PassOn<'_, F> {
    fn stays(&mut self, meta: &Meta, raw: &Raw<'_>) -> bool {
        let is_sample = raw.header().kind == RecordType::SAMPLE;
        if self.filter.order() == PreScanOrder::Time {
            let place = self.places.of(raw);
            self.places.forget(raw);
            if is_sample {
                return self.stay.marked.has(place);
            }
        }
        match raw.header().kind {
            RecordType::SAMPLE => with_sample(meta, raw, |sample| self.filter.keeps(sample)).unwrap_or(true),
            RecordType::CALLCHAIN_DEFERRED => self.stay.deferred.has(meta, raw),
            _ => self.stay.related.as_ref().is_none_or(|related| related.keeps(meta, raw)),
        }
    }
}

impl<F: Filter, S: Sink + ?Sized> Stage<S> for PassOn<'_, F> {
    fn begin(&mut self, meta: &Meta, sink: &mut S) -> Result<()> {
        self.filter.begin(meta);
        sink.begin(meta)
    }

    fn record(&mut self, meta: &Meta, raw: &Raw<'_>, sink: &mut S) -> Result<()> {
        if self.stays(meta, raw) { sink.record(meta, raw) } else { Ok(()) }
    }
}
