//! Selects the events of a profile by name (`--event`).

use crate::suggest::unknown;
use perf_data::error::{Error, Result};
use perf_data::stream::event_name::{event_name, is_called};
use perf_data::stream::events::{EventIndex, Events};
use perf_data::stream::meta::Meta;

/// The selected events; all if none are named.
#[derive(Debug, Default)]
pub(crate) struct Selection {
    wanted: Vec<String>,
    /// Results by event: names are formatted and compared once per event, not for each sample.
    cached: Vec<Option<bool>>,
}

impl Selection {
    /// Creates a selection by name.
    pub(crate) fn new(wanted: Vec<String>) -> Self {
        Self { wanted, cached: Vec::new() }
    }

    /// Whether all events are selected.
    #[inline]
    pub(crate) fn is_all(&self) -> bool {
        self.wanted.is_empty()
    }

    /// Whether an event is selected.
    #[inline]
    pub(crate) fn has(&mut self, index: EventIndex, events: &Events) -> bool {
        self.is_all() || self.is_named(index as usize, events)
    }

    fn is_named(&mut self, index: usize, events: &Events) -> bool {
        if self.cached.len() <= index {
            self.cached.resize(index + 1, None);
        }
        let wanted = &self.wanted;
        *self.cached[index].get_or_insert_with(|| {
            let name = event_name(&events.list()[index]);
            wanted.iter().any(|wanted| is_called(&name, wanted))
        })
    }

    /// Checks that each selected event exists.
    ///
    /// # Errors
    /// Fails if one does not; the message lists the events of the recording.
    pub(crate) fn check(&self, meta: &Meta) -> Result<()> {
        let names: Vec<_> = meta.events.list().iter().map(event_name).collect();
        match self.wanted.iter().find(|wanted| !names.iter().any(|name| is_called(name, wanted))) {
            None => Ok(()),
            Some(wanted) => {
                let names: Vec<_> = names.iter().map(String::as_str).collect();
                Err(Error::input(&meta.files[0], None, unknown("event", wanted, &names)))
            }
        }
    }
}
