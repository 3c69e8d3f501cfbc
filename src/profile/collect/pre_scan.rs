//! Pre-scan of a recording: finds the events with samples.

use super::selection::Selection;
use super::weights::Weights;
use crate::profile::options::ProfileOptions;
use perf_data::abi::record::RecordType;
use perf_data::abi::sample::view::SampleView;
use perf_data::error::Result;
use perf_data::stream::Sink;
use perf_data::stream::events::EventIndex;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use std::collections::BTreeSet;

/// Finds the events with samples; records may be in any order.
#[derive(Default)]
pub(crate) struct SampleScan {
    has_samples: BTreeSet<EventIndex>,
    has_lost: bool,
    weights: Weights,
    sample_weights: Vec<(EventIndex, u64)>,
}

impl SampleScan {
    /// The indexes of the selected events with samples.
    pub(crate) fn has_samples(self, options: &ProfileOptions, meta: &Meta) -> BTreeSet<EventIndex> {
        let mut selection = Selection::new(options.events.clone());
        // Lost samples may be of any event.
        let all = self.has_lost && options.lost_as_samples;
        let wanted =
            |event: &EventIndex| (all || self.has_samples.contains(event)) && selection.has(*event, &meta.events);
        (0..meta.events.list().len() as EventIndex).filter(wanted).collect()
    }
}

impl Sink for SampleScan {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        match raw.header().kind {
            RecordType::SAMPLE => {}
            RecordType::LOST | RecordType::LOST_SAMPLES => {
                self.has_lost = true;
                return Ok(());
            }
            _ => return Ok(()),
        }
        let Some((index, event)) = meta.events.find(raw) else { return Ok(()) };
        let mut view = SampleView::default();
        if event.fill_sample(&mut view, raw).is_err() {
            return Ok(());
        }
        self.sample_weights.clear();
        self.weights.append(&view, index, &meta.events, &mut self.sample_weights);
        self.has_samples.extend(self.sample_weights.iter().map(|(event, _)| event));
        Ok(())
    }
}
