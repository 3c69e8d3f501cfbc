//! Samples with unresolved stacks, on their way to the thread that resolves them.

use crate::profile::intern::frames::SampledStack;
use crate::profile::intern::stack_cache::StackCacheKey;
use perf_data::abi::Endian;
use perf_data::abi::bytes::{ByteReader, Words};
use perf_data::abi::record::CpuMode;
use perf_data::session::ViewId;
use perf_data::session::address_space::AddressSpace;

/// Consecutive samples, with copies of their call chains.
#[derive(Debug, Default)]
pub(crate) struct SampleBatch {
    /// The batches of a recording are numbered in order.
    pub number: u32,
    /// What the processes of the samples see, each once for each version.
    spaces: Vec<(ViewId, AddressSpace)>,
    samples: Vec<Batched>,
    /// The words of all chains as recorded.
    chains: Vec<[u8; 8]>,
    endian: Option<Endian>,
}

/// A sample in a batch.
#[derive(Clone, Copy, Debug)]
struct Batched {
    ip: Option<u64>,
    mode: CpuMode,
    has_chain: bool,
    /// Index in [`SampleBatch::spaces`].
    space: u32,
    /// End of its chain.
    end: u32,
    use_of_stack: UseOfStack,
}

/// What the stack of a sample is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UseOfStack {
    /// To count the sample in a row.
    Row {
        /// Its [part and labels](super::parts::packed).
        row: u64,
        /// Its event.
        event: u64,
        /// Its value.
        value: u64,
    },
    /// To complete what was collected of the sample with this number.
    Sample(u32),
}

impl UseOfStack {
    /// The key of the cache for a sample: samples of one row with the same key have the same stack.
    #[inline]
    pub(crate) fn key(
        self,
        view: ViewId,
        (ip, mode): (Option<u64>, CpuMode),
        chain: &[[u8; 8]],
    ) -> StackCacheKey<'_, 3> {
        let [row, event] = match self {
            Self::Row { row, event, .. } => [row, event],
            Self::Sample(_) => [0; 2],
        };
        StackCacheKey { view: [view, row, event], ip, mode, chain }
    }
}

/// A sample whose stack is to be resolved.
pub(crate) struct UnresolvedSample<'a> {
    /// Key of the cache of stacks.
    pub key: StackCacheKey<'a, 3>,
    pub space: &'a AddressSpace,
    pub stack: SampledStack<'a>,
    pub use_of_stack: UseOfStack,
}

impl SampleBatch {
    /// Number of words of chains from which on a batch is full: as many as fit the caches of a CPU, and take far longer to resolve
    /// than to hand over.
    const FULL_WORDS: usize = 1 << 15;
    /// The same for samples without chains.
    const FULL_SAMPLES: usize = 1 << 12;

    /// Begins a batch.
    pub(crate) fn new(number: u32) -> Self {
        Self { number, ..Self::default() }
    }

    /// Whether the batch should be handed over before a sample with this chain is added.
    #[inline]
    pub(crate) fn is_full(&self, chain: Option<Words<'_>>) -> bool {
        self.chains.len() >= Self::FULL_WORDS
            || self.samples.len() >= Self::FULL_SAMPLES
            || chain.zip(self.endian).is_some_and(|(chain, endian)| chain.endian() != endian)
    }

    /// Adds a sample, of a version of an address space.
    #[inline]
    pub(crate) fn add(
        &mut self,
        (ip, mode, chain): (Option<u64>, CpuMode, Option<Words<'_>>),
        view: ViewId,
        space: impl FnOnce() -> AddressSpace,
        use_of_stack: UseOfStack,
    ) {
        // Few processes run at once: the latest are at the end.
        let space = self.spaces.iter().rposition(|(other, _)| *other == view).unwrap_or_else(|| {
            self.spaces.push((view, space()));
            self.spaces.len() - 1
        });
        if let Some(chain) = chain {
            self.endian = Some(chain.endian());
            self.chains.extend_from_slice(chain.as_chunks());
        }
        let (space, end) = (space as u32, self.chains.len() as u32);
        self.samples.push(Batched { ip, mode, has_chain: chain.is_some(), space, end, use_of_stack });
    }

    /// The samples, in order. The chain `repeats_leaf` if it follows the instruction pointer as recorded.
    pub(crate) fn samples(&self, repeats_leaf: bool) -> impl Iterator<Item = UnresolvedSample<'_>> {
        let mut start = 0;
        self.samples.iter().map(move |sample| {
            let Batched { ip, mode, has_chain, space, end, use_of_stack } = *sample;
            let chain = &self.chains[start..end as usize];
            start = end as usize;
            let (view, space) = &self.spaces[space as usize];
            let words = |endian| ByteReader::new(chain.as_flattened(), endian).words(chain.len() as u64);
            let callchain = self.endian.filter(|_| has_chain).and_then(words);
            UnresolvedSample {
                key: use_of_stack.key(*view, (ip, mode), chain),
                space,
                stack: SampledStack { ip, space: mode.into(), callchain, calls: None, repeats_leaf },
                use_of_stack,
            }
        })
    }
}
