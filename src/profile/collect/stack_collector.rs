//! Hands the stacks of samples to the threads that resolve them, and joins what these return.

use super::parts::Rows;
use super::sample_batch::{SampleBatch, UseOfStack};
use super::stack_counter::{StackCounter, StackOptions};
use crate::profile::intern::frames::SampledStack;
use crate::profile::intern::mappings::Mappings;
use crate::profile::intern::resolver::{Resolver, Viewer};
use crate::profile::intern::stacks::{FrameId, StackId, Stacks};
use crate::profile::{MappingId, Place, Row};
use perf_data::abi::record::CpuMode;
use perf_data::session::Session;
use perf_data::threads::{Lanes, workers};

/// Resolves the stacks of samples on several threads. The result does not depend on their number: stacks are numbered by the batch of
/// their first sample, and batches do not depend on it either.
#[derive(Default)]
pub(crate) struct StackCollector {
    /// Resolves the few stacks that are needed at once.
    pub direct: StackCounter,
    options: StackOptions,
    /// Created with the first full batch.
    lanes: Option<Lanes<SampleBatch, StackCounter>>,
    batch: SampleBatch,
    /// Number of samples whose stacks are returned.
    samples: u32,
    /// Whether stacks are handed over. Those that recur are found in the cache in less time than it takes to copy them, so that
    /// this begins once half of the samples have new ones.
    has_threads: bool,
    /// Number of samples that were counted since it was last decided.
    counted: usize,
}

/// Number of samples after which it is decided whether stacks are handed over.
const DECIDED_AFTER: usize = 1 << 13;

/// All stacks, and what was counted.
pub(crate) struct CollectedStacks {
    pub stacks: Stacks,
    pub mappings: Mappings,
    /// Counted rows by part.
    rows: Vec<Rows>,
    /// Stacks of samples, by the number that [`StackCollector::add_sample`] returned.
    pub sample_stacks: Vec<StackId>,
    /// The stacks that [`StackCollector::direct`] returned; empty if they have kept their numbers.
    direct: Vec<StackId>,
}

impl StackCollector {
    pub(crate) fn new(options: StackOptions) -> Self {
        let direct = StackCounter::new(options);
        Self { direct, options, ..Self::default() }
    }

    /// The number of the next sample whose stack is to be returned.
    pub(crate) fn next_sample(&mut self) -> u32 {
        self.samples += 1;
        self.samples - 1
    }

    /// Sets the stack of a sample that was resolved directly.
    pub(crate) fn set_stack(&mut self, sample: u32, stack: StackId) {
        self.direct.sample_stacks.push((sample, stack));
    }

    /// Adds a sample, whose stack is resolved later.
    #[inline]
    pub(crate) fn add(
        &mut self,
        (sampled, mode): (&SampledStack<'_>, CpuMode),
        viewer: Viewer,
        session: &Session,
        use_of_stack: UseOfStack,
    ) {
        if !self.has_threads {
            let chain = sampled.callchain.map(|chain| chain.as_chunks()).unwrap_or_default();
            let key = use_of_stack.key(viewer.view, (sampled.ip, mode), chain);
            self.direct.sample(&key, || session.address_space(viewer.pid), sampled, use_of_stack);
            self.counted += 1;
            if self.counted == DECIDED_AFTER {
                self.has_threads = self.direct.misses > DECIDED_AFTER / 2;
                (self.counted, self.direct.misses) = (0, 0);
            }
            return;
        }
        if self.batch.is_full(sampled.callchain) {
            self.hand_over();
        }
        let space = || session.address_space(viewer.pid);
        self.batch.add((sampled.ip, mode, sampled.callchain), viewer.view, space, use_of_stack);
    }

    #[inline(never)]
    fn hand_over(&mut self) {
        let Self { direct, options, lanes, batch, .. } = self;
        let (number, options) = (batch.number, *options);
        let lanes = lanes
            .get_or_insert_with(|| Lanes::new("stacks", workers(), || StackCounter::new(options), StackCounter::add));
        lanes.give(std::mem::replace(batch, SampleBatch::new(number + 1)));
        direct.ends.push((number, direct.resolver.stacks.count()));
    }

    /// Waits for all stacks, and joins them.
    pub(crate) fn finish(mut self) -> CollectedStacks {
        let batch = std::mem::take(&mut self.batch);
        let mut counters = match self.lanes.take() {
            Some(mut lanes) => {
                lanes.give(batch);
                lanes.finish()
            }
            // Less than a batch is not worth a thread.
            None => {
                self.direct.add(batch);
                Vec::new()
            }
        };
        // Its stacks come before those of the threads with the same number.
        counters.insert(0, self.direct);
        counters.iter_mut().for_each(StackCounter::finish);
        let direct = &mut counters[0];
        direct.ends.push((u32::MAX, direct.resolver.stacks.count()));
        Joined::new(self.options.resolver(), self.samples as usize).join(counters)
    }
}

impl CollectedStacks {
    /// Takes the counted rows by part, then empty ones for all further parts.
    pub(crate) fn take_rows(&mut self) -> impl Iterator<Item = Rows> + use<> {
        std::mem::take(&mut self.rows).into_iter().chain(std::iter::repeat_with(Rows::default))
    }

    /// The number of a stack that [`StackCollector::direct`] returned.
    pub(crate) fn direct(&self, stack: StackId) -> StackId {
        self.direct.get(stack as usize).copied().unwrap_or(stack)
    }
}

/// Stacks that several counters have in common.
struct Joined {
    resolver: Resolver,
    rows: Vec<Rows>,
    sample_stacks: Vec<StackId>,
}

/// The numbers that the frames, mappings and stacks of a counter have among all.
#[derive(Default)]
struct Numbers {
    frames: Vec<Option<FrameId>>,
    mappings: Vec<Option<MappingId>>,
    stacks: Vec<StackId>,
}

impl Joined {
    fn new(resolver: Resolver, samples: usize) -> Self {
        Self { resolver, rows: Vec::new(), sample_stacks: vec![0; samples] }
    }

    fn join(mut self, mut counters: Vec<StackCounter>) -> CollectedStacks {
        let mut with_stacks = counters.iter().enumerate().filter(|(_, counter)| counter.resolver.stacks.count() > 0);
        let numbers: Vec<_> = match (with_stacks.next(), with_stacks.next()) {
            (Some((only, _)), None) => {
                self.resolver = std::mem::take(&mut counters[only].resolver);
                counters.iter().map(|_| Vec::new()).collect()
            }
            _ => self.renumber(&mut counters),
        };
        for (counter, numbers) in counters.into_iter().zip(&numbers) {
            let number = |stack: StackId| numbers.get(stack as usize).copied().unwrap_or(stack);
            for (sample, stack) in counter.sample_stacks {
                self.sample_stacks[sample as usize] = number(stack);
            }
            for (part, mut rows) in counter.rows.into_iter().enumerate() {
                if self.rows.len() <= part {
                    self.rows.resize_with(part + 1, Rows::default);
                }
                if numbers.is_empty() && self.rows[part].is_empty() {
                    self.rows[part] = rows;
                    continue;
                }
                let renumbered = rows.take().into_iter().map(|row| Row { stack: number(row.stack), ..row });
                renumbered.for_each(|row| self.rows[part].add(row));
            }
        }
        let Resolver { stacks, mappings, .. } = self.resolver;
        let direct = numbers.into_iter().next().unwrap_or_default();
        CollectedStacks { stacks, mappings, rows: self.rows, sample_stacks: self.sample_stacks, direct }
    }

    /// Interns the stacks of all counters in the order of their batches. Returns their numbers by counter.
    fn renumber(&mut self, counters: &mut [StackCounter]) -> Vec<Vec<StackId>> {
        let mut ends: Vec<_> = Vec::new();
        for (index, counter) in counters.iter().enumerate() {
            ends.extend(counter.ends.iter().map(|&(batch, end)| (batch, index, end)));
        }
        ends.sort_unstable();
        let mut numbers: Vec<_> = counters.iter().map(|_| Numbers::default()).collect();
        for (_, index, end) in ends {
            self.intern(&counters[index].resolver, &mut numbers[index], end);
        }
        counters.iter_mut().for_each(|counter| counter.resolver = Resolver::default());
        numbers.into_iter().map(|numbers| numbers.stacks).collect()
    }

    /// Interns the stacks of a counter up to the end of a batch.
    fn intern(&mut self, counted: &Resolver, numbers: &mut Numbers, end: usize) {
        /// As many frames as [`NewStacks`](crate::profile::intern::new_stacks::NewStacks) has at once.
        const FRAMES: usize = 512;
        let Resolver { stacks, mappings, .. } = &mut self.resolver;
        let (mut frames, mut ends) = (Vec::with_capacity(2 * FRAMES), Vec::new());
        let Numbers { frames: frame_numbers, mappings: mapping_numbers, stacks: stack_numbers } = numbers;
        frame_numbers.resize(counted.stacks.frames().len(), None);
        mapping_numbers.resize(counted.mappings.list().len(), None);
        for stack in stack_numbers.len()..end {
            for &frame in counted.stacks.stack(stack as StackId) {
                frames.push(*frame_numbers[frame as usize].get_or_insert_with(|| {
                    let mut frame = counted.stacks.frames()[frame as usize];
                    if let Place::In(mapping) = &mut frame.place {
                        let map = &counted.mappings.list()[*mapping as usize];
                        *mapping = *mapping_numbers[*mapping as usize].get_or_insert_with(|| mappings.number(map));
                        // Of the addresses at which processes have a file, the table has the first.
                        let start = mappings.list()[*mapping as usize].start;
                        frame.address = frame.address.wrapping_sub(map.start).wrapping_add(start);
                    }
                    stacks.frame_id(frame)
                }));
            }
            ends.push(frames.len());
            if frames.len() >= FRAMES || stack + 1 == end {
                stacks.stack_ids(&frames, ends.iter().copied(), |number| stack_numbers.push(number));
                frames.clear();
                ends.clear();
            }
        }
    }
}
