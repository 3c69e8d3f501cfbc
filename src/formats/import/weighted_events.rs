//! Events of formats whose samples have weights with a unit, and maybe no event.

use super::source::{SourceEvent, SourceProfile};
use crate::profile::event::Unit;
use hashbrown::HashMap;

/// Events by name and unit.
#[derive(Debug, Default)]
pub(crate) struct WeightedEvents {
    ids: HashMap<(String, &'static str), u32>,
}

impl WeightedEvents {
    /// The number of an event. One without a name is named after its unit.
    pub(crate) fn id(&mut self, profile: &mut SourceProfile, name: Option<&str>, unit: Unit) -> u32 {
        let (default, unit) = match unit {
            Unit::Nanoseconds => ("cpu", "nanoseconds"),
            Unit::Bytes => ("space", "bytes"),
            Unit::Count => ("samples", "count"),
        };
        let key = (name.unwrap_or(default).to_owned(), unit);
        *self.ids.entry(key).or_insert_with_key(|(name, unit)| {
            profile.events.push(SourceEvent { name: name.clone(), unit: (*unit).to_owned(), ..<_>::default() });
            profile.events.len() as u32 - 1
        })
    }
}
