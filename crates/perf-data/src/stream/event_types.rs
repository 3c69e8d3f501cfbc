//! Names of tracepoints in recordings of very old perf versions.

use crate::abi::attr::AttrType;
use crate::abi::header::EventType;
use crate::stream::events::Event;
use hashbrown::HashMap;

/// All entries, in the order of the recording.
#[derive(Clone, Debug, Default)]
pub struct EventTypes {
    list: Vec<EventType>,
    /// Index of the first entry of each `config`.
    by_config: HashMap<u64, usize>,
}

impl EventTypes {
    /// Adds an entry unless an equal one is the first of its `config`. Returns the name if it is the first of its `config`.
    pub fn add(&mut self, event_type: EventType) -> Option<String> {
        let next = self.list.len();
        let first = *self.by_config.entry(event_type.event_id).or_insert(next);
        if self.list.get(first) != Some(&event_type) {
            self.list.push(event_type);
        }
        if first == next { self.name(event_type.event_id) } else { None }
    }

    /// The name of an event, if it is a tracepoint without one.
    pub fn missing_name(&self, event: &Event) -> Option<String> {
        let is_nameless = event.attr.kind == AttrType::TRACEPOINT && event.name.is_none();
        if is_nameless { self.name(event.attr.config) } else { None }
    }

    fn name(&self, config: u64) -> Option<String> {
        let event_type = self.list.get(*self.by_config.get(&config)?)?;
        Some(String::from_utf8_lossy(event_type.name.text()).into_owned())
    }

    /// All entries.
    pub fn list(&self) -> &[EventType] {
        &self.list
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::text::FixedStr;

    #[test]
    fn the_first_name_of_a_tracepoint_is_used_and_others_are_preserved() {
        let of = |event_id, name: &[u8]| EventType { event_id, name: FixedStr::new(name) };
        let mut types = EventTypes::default();
        assert_eq!(types.add(of(7, b"sched:sched_switch")).as_deref(), Some("sched:sched_switch"));
        assert_eq!([types.add(of(7, b"sched:sched_switch")), types.add(of(7, b"a:b"))], [None, None]);
        assert_eq!(
            (types.list().len(), types.name(7).as_deref(), types.name(8)),
            (2, Some("sched:sched_switch"), None)
        );
    }
}
