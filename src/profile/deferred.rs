//! Samples whose user frames come in a record of their own: CALLCHAIN_DEFERRED.

use super::labels::LabelValue;
use super::stacks::FrameId;
use crate::abi::bytes::{Reader, Words};
use crate::stream::events::EventIndex;
use crate::stream::meta::Meta;
use crate::stream::raw::Raw;
use hashbrown::HashMap;

/// How many frames a record of user frames may add to the stacks of the samples that waited for it. Its frames are told again
/// for each: a long one and many small samples would be far more than the recording.
pub const MOST_FRAMES: usize = 1 << 20;

/// User frames that samples wait for, as their record tells them.
pub struct UserFrames<'a> {
    /// Which samples they belong to.
    pub cookie: u64,
    /// Process of these.
    pub pid: u32,
    /// Thread of these.
    pub tid: u32,
    /// Marks and addresses, leaf first.
    pub chain: Words<'a>,
}

impl<'a> UserFrames<'a> {
    /// Reads a CALLCHAIN_DEFERRED. `None` where its fields do not fit its size, or it does not tell whose it is.
    pub fn read(meta: &Meta, raw: &Raw<'a>) -> Option<Self> {
        let (body, trailer) = meta.events.split(raw);
        let mut reader = Reader::new(body, raw.endian());
        let (cookie, nr) = (reader.u64()?, reader.u64()?);
        let chain = reader.words(nr)?;
        let (pid, tid) = trailer?.task?;
        Some(Self { cookie, pid, tid, chain })
    }
}

/// A sample without its user frames.
#[derive(Debug)]
pub struct Incomplete {
    /// The frames that it has.
    pub frames: Vec<FrameId>,
    /// Its labels.
    pub labels: Vec<LabelValue>,
    /// The events that it stands for, and how much of each.
    pub weights: Vec<(EventIndex, u64)>,
    /// Which part of a split it belongs to.
    pub part: usize,
}

/// Samples that wait for their user frames, by thread and cookie.
#[derive(Debug)]
pub struct Waiting<T = Incomplete>(HashMap<(u32, u64), Vec<T>>);

impl<T> Default for Waiting<T> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<T> Waiting<T> {
    /// Keeps a sample.
    pub fn add(&mut self, tid: u32, cookie: u64, sample: T) {
        self.0.entry((tid, cookie)).or_default().push(sample);
    }

    /// The samples that waited for this.
    pub fn take(&mut self, tid: u32, cookie: u64) -> Vec<T> {
        self.0.remove(&(tid, cookie)).unwrap_or_default()
    }

    /// The samples that still wait, in the order of threads and cookies.
    pub fn take_all(&mut self) -> Vec<T> {
        let mut left: Vec<_> = self.0.drain().collect();
        left.sort_unstable_by_key(|(key, _)| *key);
        left.into_iter().flat_map(|(_, samples)| samples).collect()
    }
}
