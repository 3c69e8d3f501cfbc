//! Which events are wanted.

use crate::error::{Error, Result};
use crate::stream::event_name::{event_name, is_called};
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
            let name = event_name(&events.list()[index]);
            wanted.iter().any(|wanted| is_called(&name, wanted))
        })
    }

    /// Checks that each wanted event is there.
    ///
    /// # Errors
    /// Where one is not: with those that are.
    pub fn check(&self, meta: &Meta) -> Result<()> {
        let names: Vec<_> = meta.events.list().iter().map(event_name).collect();
        match self.wanted.iter().find(|wanted| !names.iter().any(|name| is_called(name, wanted))) {
            None => Ok(()),
            Some(wanted) => {
                let what = format!("it has no event {wanted}; its events are {}", names.join(", "));
                Err(Error::input(&meta.files[0], None, what))
            }
        }
    }
}
