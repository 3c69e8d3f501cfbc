//! Resolves the stacks of batches of samples, and counts the samples of each.

use super::parts::{Rows, unpacked};
use super::sample_batch::{SampleBatch, UnresolvedSample, UseOfStack};
use crate::profile::Row;
use crate::profile::intern::frames::SampledStack;
use crate::profile::intern::mappings::Mappings;
use crate::profile::intern::resolver::Resolver;
use crate::profile::intern::stack_cache::{Cached, Counted, StackCache, StackCacheKey};
use crate::profile::intern::stacks::StackId;
use crate::profile::stack_cuts::Unmapped;
use perf_data::session::address_space::AddressSpace;
use perf_data::stream::events::EventIndex;
use std::borrow::Borrow;

/// Resolves and counts the samples of some of the batches of a recording. Its frames and stacks have numbers of its own.
pub(crate) struct StackCounter {
    pub resolver: Resolver,
    /// Keyed by the version of the address space, the row's [part and labels](super::parts::packed), and its event.
    cache: StackCache<3>,
    repeats_leaf: bool,
    /// Number of samples whose stacks were not in the cache.
    pub misses: usize,
    /// By part.
    pub rows: Vec<Rows>,
    /// Samples whose stacks were requested, with their places in the cache until these are known.
    waiting: Vec<(u32, Cached)>,
    /// Stacks of such samples.
    pub sample_stacks: Vec<(u32, StackId)>,
    /// For each batch, its number, and the number of stacks after it.
    pub ends: Vec<(u32, usize)>,
}

/// How stacks are resolved.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StackOptions {
    /// See [`ProfileOptions::as_recorded`](crate::profile::options::ProfileOptions::as_recorded).
    pub as_recorded: bool,
    /// Whether memory that may be JIT code is distinguished by process.
    pub distinguishes_processes: bool,
    /// How addresses are shown that no mapping holds.
    pub unmapped: Unmapped,
}

impl StackOptions {
    pub(crate) fn resolver(self) -> Resolver {
        match self.as_recorded {
            true => Resolver::new(Mappings::as_recorded(), Unmapped::Keep),
            false => Resolver::new(Mappings::new(self.distinguishes_processes), self.unmapped),
        }
    }
}

impl Default for StackCounter {
    fn default() -> Self {
        Self::new(StackOptions::default())
    }
}

impl StackCounter {
    pub(crate) fn new(options: StackOptions) -> Self {
        Self {
            resolver: options.resolver(),
            cache: StackCache::default(),
            repeats_leaf: options.as_recorded,
            misses: 0,
            rows: Vec::new(),
            waiting: Vec::new(),
            sample_stacks: Vec::new(),
            ends: Vec::new(),
        }
    }

    /// Adds a batch; each has a higher number than those before.
    pub(crate) fn add(&mut self, batch: SampleBatch) {
        for UnresolvedSample { key, space, stack, use_of_stack } in batch.samples(self.repeats_leaf) {
            self.sample(&key, || space, &stack, use_of_stack);
        }
        self.intern_batch();
        self.ends.push((batch.number, self.resolver.stacks.count()));
    }

    /// Adds a sample.
    #[inline]
    pub(crate) fn sample<S: Borrow<AddressSpace>>(
        &mut self,
        key: &StackCacheKey<'_, 3>,
        space: impl FnOnce() -> S,
        sampled: &SampledStack<'_>,
        use_of_stack: UseOfStack,
    ) {
        let cached = self.cached(key, space, sampled);
        match use_of_stack {
            UseOfStack::Row { value, .. } => self.cache.count(cached, value),
            UseOfStack::Sample(number) => self.waiting.push((number, cached)),
        }
        if self.resolver.is_batch_full() {
            self.intern_batch();
        }
    }

    /// The stack of a sample, at once.
    pub(crate) fn stack(
        &mut self,
        key: &StackCacheKey<'_, 3>,
        space: impl FnOnce() -> AddressSpace,
        sampled: &SampledStack<'_>,
    ) -> StackId {
        let cached = self.cached(key, space, sampled);
        self.intern_batch();
        self.cache.stack(cached)
    }

    /// Looks up a stack in the cache. If it is not there, adds it to the batch of those that are interned next.
    #[inline]
    fn cached<S: Borrow<AddressSpace>>(
        &mut self,
        key: &StackCacheKey<'_, 3>,
        space: impl FnOnce() -> S,
        sampled: &SampledStack<'_>,
    ) -> Cached {
        self.cache.find(key).unwrap_or_else(|| {
            // A full cache is cleared; its counts are added to the rows first.
            if !self.cache.has_room(key) {
                self.add_counted();
            }
            self.misses += 1;
            let cached = self.cache.insert(key);
            self.resolver.add_to_batch(space().borrow(), key.view[0], sampled, cached);
            cached
        })
    }

    /// Ends counting: adds what the cache has counted to the rows, and releases it.
    pub(crate) fn finish(&mut self) {
        self.add_counted();
        self.cache = StackCache::default();
    }

    /// Interns the stacks that were added to the cache since the last call.
    fn intern_batch(&mut self) {
        let Self { resolver, cache, waiting, sample_stacks, .. } = self;
        resolver.intern_batch(|cached, stack| cache.set_stack(cached, stack));
        sample_stacks.extend(waiting.drain(..).map(|(number, cached)| (number, cache.stack(cached))));
    }

    /// Adds the counts of the cached stacks to the rows, and clears the cache.
    fn add_counted(&mut self) {
        self.intern_batch();
        let Self { cache, rows, .. } = self;
        cache.take_counted(|Counted { stack, view: [_, row, event], samples, value }| {
            let (part, labels) = unpacked(row);
            if rows.len() <= part {
                rows.resize_with(part + 1, Rows::default);
            }
            rows[part].add(Row { stack, labels, event: event as EventIndex, samples, value });
        });
    }
}
