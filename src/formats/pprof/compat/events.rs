//! Columns of perf_to_profile, two per event of the recording.

use hashbrown::HashMap;
use perf_data::abi::attr::Attr;
use perf_data::abi::attr_flags::AttrFlags;
use perf_data::abi::feature::{FeatureId, event_desc};
use perf_data::container::read::Container;
use perf_data::stream::meta::Meta;

/// The events in perf_to_profile's order.
#[derive(Debug, Default)]
pub(super) struct Events {
    /// Names; generated ones unless the recording names all events.
    pub names: Vec<String>,
    /// Value of a sample without a period: the event's sample_period, or its frequency.
    weights: Vec<u64>,
    by_id: HashMap<u64, u32>,
    /// Whether an event marks the COMM records of an exec.
    pub has_comm_exec: bool,
}

impl Events {
    /// Collects the events from EVENT_DESC, or else from header or records, with the names that very old perf
    /// versions store separately.
    pub(super) fn new(meta: &Meta) -> Self {
        let described = meta.features.get(&FeatureId::EVENT_DESC);
        let described = described.and_then(|section| event_desc::read(section, meta.endian)).unwrap_or_default();
        let mut names: Vec<String> = described.iter().map(|event| event.name.to_text()).collect();
        if names.is_empty() {
            let old = meta.event_types.list().iter();
            names = old.map(|event_type| String::from_utf8_lossy(event_type.name.text()).into_owned()).collect();
        }
        let mut events = Self::default();
        if described.is_empty() || meta.container == Container::Pipe {
            meta.events.list().iter().for_each(|event| events.add(&event.attr, &event.ids));
        } else {
            described.iter().for_each(|event| events.add(&event.attr, &event.ids));
        }
        let generated = || (0..events.weights.len()).map(|index| format!("event_{index}")).collect();
        events.names = if names.len() == events.weights.len() { names } else { generated() };
        events
    }

    fn add(&mut self, attr: &Attr, ids: &[u64]) {
        let index = self.weights.len() as u32;
        self.by_id.extend(ids.iter().map(|&id| (id, index)));
        self.weights.push(attr.sample_period.max(1));
        self.has_comm_exec |= attr.flags.contains(AttrFlags::COMM_EXEC);
    }

    /// The event with this ID. A single event matches any ID.
    #[inline]
    pub(super) fn find(&self, id: Option<u64>) -> Option<u32> {
        if self.weights.len() == 1 { Some(0) } else { self.by_id.get(&id?).copied() }
    }

    /// The value of a sample.
    #[inline]
    pub(super) fn weight(&self, event: u32, period: Option<u64>) -> u64 {
        period.filter(|&period| period > 0).unwrap_or_else(|| self.weights[event as usize])
    }
}
