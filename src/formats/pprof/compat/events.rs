//! The columns of perf_to_profile, two for each event of the recording.

use crate::abi::attr::Attr;
use crate::abi::attr_flags::AttrFlags;
use crate::abi::feature::{FeatureId, event_desc};
use crate::container::read::Container;
use crate::stream::meta::Meta;
use hashbrown::HashMap;

/// The events in perf_to_profile's order.
#[derive(Debug, Default)]
pub struct Events {
    /// Their names; without any where the recording does not name all.
    pub names: Vec<String>,
    /// What a sample without a period counts: of an event that was asked for by frequency, the frequency.
    weights: Vec<u64>,
    by_id: HashMap<u64, u32>,
    /// Whether any event tells by COMM records that a thread runs a new program.
    pub tell_exec: bool,
}

impl Events {
    /// The events that EVENT_DESC tells, else those that header or records tell, which very old perfs named apart.
    pub fn new(meta: &Meta) -> Self {
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
        let unnamed = || (0..events.weights.len()).map(|index| format!("event_{index}")).collect();
        events.names = if names.len() == events.weights.len() { names } else { unnamed() };
        events
    }

    fn add(&mut self, attr: &Attr, ids: &[u64]) {
        let index = self.weights.len() as u32;
        self.by_id.extend(ids.iter().map(|&id| (id, index)));
        self.weights.push(attr.sample_period.max(1));
        self.tell_exec |= attr.flags.contains(AttrFlags::COMM_EXEC);
    }

    /// The event that has this id. A lone event has all.
    #[inline]
    pub fn find(&self, id: Option<u64>) -> Option<u32> {
        if self.weights.len() == 1 { Some(0) } else { self.by_id.get(&id?).copied() }
    }

    /// How much of an event a sample stands for.
    #[inline]
    pub fn weight(&self, event: u32, period: Option<u64>) -> u64 {
        period.filter(|&period| period > 0).unwrap_or_else(|| self.weights[event as usize])
    }
}
