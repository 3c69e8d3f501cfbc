//! Which events are wanted.

use super::event::ProfileEvent;
use crate::error::{Error, Result};
use crate::stream::events::{EventIndex, Events};
use crate::stream::meta::Meta;

/// The events that the user named; all, where none were.
#[derive(Debug, Default)]
pub struct Selection {
    wanted: Vec<String>,
    /// Of the events that have been asked about.
    known: Vec<Option<bool>>,
}

impl Selection {
    /// Those of these names.
    pub fn new(wanted: Vec<String>) -> Self {
        Self { wanted, known: Vec::new() }
    }

    /// Whether every event is wanted.
    #[inline]
    pub fn is_all(&self) -> bool {
        self.wanted.is_empty()
    }

    /// Whether an event is wanted.
    #[inline]
    pub fn has(&mut self, index: EventIndex, events: &Events) -> bool {
        self.is_all() || self.is_named(index as usize, events)
    }

    fn is_named(&mut self, index: usize, events: &Events) -> bool {
        if self.known.len() <= index {
            self.known.resize(index + 1, None);
        }
        let wanted = &self.wanted;
        *self.known[index].get_or_insert_with(|| {
            let name = ProfileEvent::from(&events.list()[index]).name;
            wanted.iter().any(|wanted| is_of(&name, wanted))
        })
    }

    /// Checks that each wanted event is there.
    ///
    /// # Errors
    /// Where one is not: with those that are.
    pub fn check(&self, meta: &Meta) -> Result<()> {
        let names: Vec<_> = meta.events.list().iter().map(|event| ProfileEvent::from(event).name).collect();
        match self.wanted.iter().find(|wanted| !names.iter().any(|name| is_of(name, wanted))) {
            None => Ok(()),
            Some(wanted) => {
                let what = format!("it has no event {wanted}; its events are {}", names.join(", "));
                Err(Error::input(&meta.files[0], None, what))
            }
        }
    }
}

/// Whether an event's name is the wanted one, or that with modifiers or parameters behind it.
fn is_of(name: &str, wanted: &str) -> bool {
    name.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with([':', '/']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stands_for_itself_with_any_modifiers() {
        for (name, wanted, is) in [
            ("cycles:u", "cycles", true),
            ("cycles", "cycles", true),
            ("cpu-clock/freq=2000/", "cpu-clock", true),
            ("sched:sched_switch", "sched:sched_switch", true),
            ("cycles", "cycles:u", false),
            ("cycles-ct", "cycles", false),
        ] {
            assert_eq!(is_of(name, wanted), is, "{name} {wanted}");
        }
    }
}
