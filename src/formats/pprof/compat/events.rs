//! The columns of perf_to_profile, two for each event of the recording.

use crate::abi::attr::Attr;
use crate::abi::attr_flags::AttrFlags;
use crate::abi::feature::{FeatureId, event_desc};
use crate::abi::header::FileHeader;
use crate::abi::text::until_nul;
use crate::container::read::Container;
use crate::stream::meta::Meta;
use hashbrown::HashMap;

/// The name in a `struct perf_trace_event_type { u64 event_id; char name[64]; }`, which perf before 3.11 wrote.
pub fn event_type_name(bytes: &[u8]) -> Option<String> {
    bytes.get(8..).map(|name| String::from_utf8_lossy(until_nul(name)).into_owned())
}

/// The names in the section that the header calls `event_types`.
fn in_section(meta: &Meta) -> Option<Vec<String>> {
    const SIZE: usize = 72;
    let before = &meta.image.before;
    let section = FileHeader::read_from(before, meta.endian).ok()?.event_types;
    let section = before.get(section.offset.try_into().ok()?..section.end().try_into().ok()?)?;
    section.chunks_exact(SIZE).map(event_type_name).collect()
}

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
    /// The events that EVENT_DESC tells, else those that header or records tell. Those of old perfs are named by a list of
    /// its own: in pipes by records, `told`, in files by a section.
    pub fn new(meta: &Meta, told: &[String]) -> Self {
        let described = meta.features.get(&FeatureId::EVENT_DESC);
        let described = described.and_then(|section| event_desc::read(section, meta.endian)).unwrap_or_default();
        let mut names: Vec<String> = described.iter().map(|event| event.name.to_text()).collect();
        if names.is_empty() {
            names =
                if meta.container == Container::File { in_section(meta).unwrap_or_default() } else { told.to_vec() };
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
