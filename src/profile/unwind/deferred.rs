//! Samples with deferred user frames (CALLCHAIN_DEFERRED records).

use crate::profile::collect::observation::Observation;
use crate::profile::intern::stacks::FrameId;
use hashbrown::HashMap;
use perf_data::abi::bytes::{ByteReader, Words};
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;

/// Maximum number of frames that a CALLCHAIN_DEFERRED record adds to stacks in total. A long chain is copied into each waiting
/// sample's stack, so many small samples could otherwise use far more memory than the recording.
pub(crate) const MAX_FRAMES: usize = 1 << 20;

/// A CALLCHAIN_DEFERRED record.
pub(crate) struct UserFrames<'a> {
    /// Identifies the waiting samples.
    pub cookie: u64,
    /// Process ID.
    pub pid: u32,
    /// Thread ID.
    pub tid: u32,
    /// Context markers and addresses, leaf first.
    pub chain: Words<'a>,
}

impl<'a> UserFrames<'a> {
    /// Decodes a CALLCHAIN_DEFERRED record; `None` if it is malformed or has no thread.
    pub(crate) fn read(meta: &Meta, raw: &Raw<'a>) -> Option<Self> {
        let (body, trailer) = meta.events.split(raw);
        let mut reader = ByteReader::new(body, raw.endian());
        let (cookie, nr) = (reader.u64()?, reader.u64()?);
        let chain = reader.words(nr)?;
        let (pid, tid) = trailer?.task?;
        Some(Self { cookie, pid, tid, chain })
    }
}

/// A sample waiting for its user frames.
#[derive(Debug)]
pub(crate) struct WaitingSample {
    /// The frames of the sample itself.
    pub frames: Vec<FrameId>,
    /// What it adds besides.
    pub observation: Observation,
}

/// Samples waiting for their user frames, by thread and cookie.
#[derive(Debug)]
pub(crate) struct Waiting<T = WaitingSample>(HashMap<(u32, u64), Vec<T>>);

impl<T> Default for Waiting<T> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<T> Waiting<T> {
    /// Adds a sample.
    pub(crate) fn add(&mut self, tid: u32, cookie: u64, sample: T) {
        self.0.entry((tid, cookie)).or_default().push(sample);
    }

    /// Removes and returns the samples of a thread and cookie.
    pub(crate) fn take(&mut self, tid: u32, cookie: u64) -> Vec<T> {
        self.0.remove(&(tid, cookie)).unwrap_or_default()
    }

    /// Removes and returns the remaining samples, sorted by thread and cookie.
    pub(crate) fn take_all(&mut self) -> Vec<T> {
        let mut left: Vec<_> = self.0.drain().collect();
        left.sort_unstable_by_key(|(key, _)| *key);
        left.into_iter().flat_map(|(_, samples)| samples).collect()
    }
}
