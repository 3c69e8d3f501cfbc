//! Lists of messages that are not in memory as such.

use perf_data::session::slices::Slices;
use prost::Message;
use serde::Serialize;
use std::hash::Hash;

/// A list of messages.
pub(crate) trait Messages {
    type Message: Message + Serialize;

    /// Calls a function with each message.
    ///
    /// # Errors
    /// The first error of the function.
    fn for_each<E>(&self, each: &mut dyn FnMut(&Self::Message) -> Result<(), E>) -> Result<(), E>;
}

/// Sets all fields of the message of an entry.
type Fill<'a, K, M> = Box<dyn Fn(&[K], &mut M) + 'a>;

/// A table of a dictionary.
pub(super) struct OtlpTable<'a, K, M> {
    /// Its entries, interned.
    entries: &'a Slices<K>,
    fill: Fill<'a, K, M>,
}

impl<'a, K: Copy + Eq + Hash, M> OtlpTable<'a, K, M> {
    /// A table of lists. The function sets all fields of the message of an entry; the message is reused.
    pub(super) fn new(entries: &'a Slices<K>, fill: impl Fn(&[K], &mut M) + 'a) -> Self {
        Self { entries, fill: Box::new(fill) }
    }

    /// A table of single values.
    pub(super) fn with_values(entries: &'a Slices<K>, fill: impl Fn(K, &mut M) + 'a) -> Self {
        Self::new(entries, move |entry, message| entry.iter().for_each(|&value| fill(value, message)))
    }
}

impl<K: Copy + Eq + Hash, M: Message + Serialize + Default> Messages for OtlpTable<'_, K, M> {
    type Message = M;

    fn for_each<E>(&self, each: &mut dyn FnMut(&M) -> Result<(), E>) -> Result<(), E> {
        let mut message = M::default();
        self.entries.iter().try_for_each(|entry| {
            (self.fill)(entry, &mut message);
            each(&message)
        })
    }
}

impl<M: Message + Serialize, const N: usize> Messages for [M; N] {
    type Message = M;

    fn for_each<E>(&self, each: &mut dyn FnMut(&M) -> Result<(), E>) -> Result<(), E> {
        self.iter().try_for_each(each)
    }
}
