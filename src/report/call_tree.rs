//! All stacks of a profile as a tree of calls, with the samples that end in each node by event, thread, CPU and time.

use super::Counts;
use super::location::{LocationId, Locations};
use crate::profile::Profile;
use crate::profile::labels::{Label, LabelKey, LabelValue};
use hashbrown::HashMap;
use perf_data::session::interned::Interned;
use perf_data::session::names::{NameId, Names};
use perf_data::stream::events::EventIndex;
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TreeFunction {
    /// Its full name, or that of the file in brackets if it is unknown.
    pub name: NameId,
    /// Name of the file or memory with the code.
    pub dso: NameId,
    /// Whether it is of a kernel.
    pub is_kernel: bool,
}

/// A frame of a stack, without its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TreeFrame {
    /// Index of the function.
    pub function: u32,
    /// Path of the source file; empty if unknown.
    pub file: NameId,
    /// Line in it; 0 if unknown.
    pub line: i64,
    /// Whether the function is inlined into its caller.
    pub is_inlined: bool,
}

/// A thread with samples, on a CPU if samples have one. Unknown fields are `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TreeThread {
    /// Its name.
    pub comm: Option<NameId>,
    /// Its ID.
    pub tid: Option<u32>,
    /// Name of its process.
    pub program: Option<NameId>,
    /// ID of its process.
    pub pid: Option<u32>,
    /// Number of the CPU.
    pub cpu: Option<u32>,
}

/// Samples that end in a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct TreeKey {
    /// The node; 0 for samples without a stack.
    pub node: u32,
    /// Index of the event in [`CallTree::events`].
    pub event: u32,
    /// Index of the thread.
    pub thread: u32,
    /// Number of the interval of time.
    pub slot: u32,
    /// Whether the samples are those of the profile that is compared with.
    pub is_base: bool,
}

/// Waits of a thread for a reason that begin and end in the same intervals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct TreeWait {
    /// Index of the thread.
    pub thread: u32,
    /// Numbers of the intervals of time.
    pub from: u32,
    pub to: u32,
    /// Index of the reason in [`CallTree::states`].
    pub state: u32,
}

/// Intervals of time in which samples are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Slots {
    /// Start of the first, in nanoseconds of the recording's clock.
    pub start: u64,
    /// Length of each in nanoseconds.
    pub len: u64,
    /// Number of intervals that form a column of a heat map.
    pub in_column: u64,
}

impl Slots {
    /// Intervals that divide a span into columns: of a second, or so that there is a useful number of them.
    fn new(times: Option<(u64, u64)>) -> Self {
        const SECOND: u64 = 1_000_000_000;
        const IN_COLUMN: u64 = 25;
        const COLUMNS: std::ops::RangeInclusive<u64> = 40..=240;
        let Some((start, last)) = times else { return Self { start: 0, len: 1, in_column: IN_COLUMN } };
        let span = last - start + 1;
        let column = if span < COLUMNS.start() * SECOND { span.div_ceil(*COLUMNS.start()) } else { SECOND };
        let column = column.max(span.div_ceil(*COLUMNS.end()));
        Self { start, len: column.div_ceil(IN_COLUMN).max(1), in_column: IN_COLUMN }
    }

    fn slot_at(self, time: u64) -> u32 {
        u32::try_from(time.saturating_sub(self.start) / self.len).unwrap_or(u32::MAX)
    }
}

/// A tree of calls. Nodes are in depth-first order; the first is the root, which has no function.
#[derive(Debug, Default)]
pub(crate) struct CallTree {
    /// Names that the rest refers to.
    pub names: Names,
    pub functions: Vec<TreeFunction>,
    /// Short names of functions, by the full ones from which they differ.
    pub short_names: HashMap<NameId, NameId>,
    pub frames: Vec<TreeFrame>,
    /// Depth and frame of each node, without the root.
    pub nodes: Vec<(u32, u32)>,
    /// Names of the events, that with the most samples first.
    pub events: Vec<String>,
    pub threads: Vec<TreeThread>,
    /// Intervals of time.
    pub slots: Slots,
    /// Samples, sorted.
    pub rows: Vec<(TreeKey, Counts)>,
    /// Why threads waited.
    pub states: Vec<NameId>,
    /// Nanoseconds of waits, sorted.
    pub waits: BTreeMap<TreeWait, u64>,
}

/// A tree under construction, with nodes in order of their first occurrence.
struct Builder {
    names: Names,
    functions: Interned<TreeFunction>,
    /// The functions of the profile for one that is compared with it: the file of a program may have another name there.
    functions_by_name: HashMap<(NameId, bool), u32>,
    short_names: HashMap<NameId, NameId>,
    frames: Interned<TreeFrame>,
    /// Parent and frame of each node but the root, whose index is 0: the node of index `i` is at `i - 1`.
    nodes: Interned<(u32, u32)>,
    events: Vec<String>,
    threads: Interned<TreeThread>,
    rows: Rows,
    states: Interned<NameId>,
    waits: BTreeMap<TreeWait, u64>,
}

/// Samples by key. Most samples of a long recording have a key of their own, so that a sorted list is smaller than a map.
#[derive(Default)]
struct Rows(Vec<(TreeKey, Counts)>);

impl Rows {
    /// Adds a row, the first of `left` remaining ones.
    fn add(&mut self, row: (TreeKey, Counts), left: usize) {
        if self.0.len() == self.0.capacity() {
            self.merge();
            let len = self.0.len();
            // If little was merged, further rows need space.
            if len > self.0.capacity() / 2 {
                self.0.reserve_exact(left.min(len));
            }
        }
        self.0.push(row);
    }

    /// Sorts the rows, and merges those with equal keys.
    fn merge(&mut self) {
        self.0.sort_unstable_by_key(|(key, _)| *key);
        self.0.dedup_by(|(key, counts), (kept, sum)| {
            let is_same = key == kept;
            if is_same {
                *sum += *counts;
            }
            is_same
        });
    }
}

impl CallTree {
    /// The calls of a profile, and of the one that it is compared with.
    pub(crate) fn new(profile: &Profile, base: Option<&Profile>) -> Self {
        let mut builder = Builder {
            names: Names::default(),
            functions: Interned::default(),
            functions_by_name: HashMap::new(),
            short_names: HashMap::new(),
            frames: Interned::default(),
            nodes: Interned::default(),
            events: Vec::new(),
            threads: Interned::default(),
            rows: Rows::default(),
            states: Interned::default(),
            waits: BTreeMap::new(),
        };
        let slots = Slots::new(profile.times);
        builder.add(profile, slots, false);
        if let Some(base) = base {
            for (id, function) in (0..).zip(builder.functions.list()) {
                builder.functions_by_name.entry((function.name, function.is_kernel)).or_insert(id);
            }
            // Times of another recording cannot be compared.
            builder.add(base, Slots { len: u64::MAX, ..slots }, true);
        }
        builder.finish(slots)
    }
}

impl Builder {
    fn add(&mut self, profile: &Profile, slots: Slots, is_base: bool) {
        let tables = &*profile.tables;
        let locations = Locations::with_names(tables, tables.function_names);
        let frames: Vec<u32> = (0..locations.list().len() as LocationId).map(|id| self.frame(id, &locations)).collect();
        // By number: hashing would take longer than all else, because most samples of a long recording are rows of their own.
        let mut by_stack: Vec<Option<u32>> = vec![None; tables.stacks.count()];
        let thread = |labels: &[LabelValue]| {
            let value =
                |wanted| labels.iter().find(|label| label.key == LabelKey::Known(wanted)).map(|label| label.value);
            let number = |wanted| value(wanted).map(|value| value as u32);
            let mut name = |wanted| {
                let name = tables.names.name(NameId(value(wanted)? as u32));
                Some(self.names.id(String::from_utf8_lossy(name).as_bytes()))
            };
            let (comm, program) = (name(Label::ThreadComm), name(Label::Comm));
            let (tid, pid, cpu) = (number(Label::Tid), number(Label::Pid), number(Label::Cpu));
            self.threads.id(TreeThread { comm, tid, program, pid, cpu })
        };
        let threads: Vec<u32> = tables.labels.iter().map(thread).collect();
        let has_waits =
            tables.timeline.intervals.as_ref().is_some_and(|intervals| intervals.name.is_none()) && !is_base;
        let events: HashMap<EventIndex, u32> = profile
            .events_by_samples()
            .into_iter()
            .map(|event| (event, self.event(&tables.events[event as usize].name)))
            .collect();
        for (index, row) in profile.rows.iter().enumerate() {
            let node = *by_stack[row.stack as usize].get_or_insert_with(|| {
                let stack = locations.stack_locations(tables.stacks.stack(row.stack)).rev();
                stack.fold(0, |parent, location| self.nodes.id((parent, frames[location as usize])) + 1)
            });
            let thread = threads[row.labels as usize];
            let slot = profile.occurrences.get(index).map_or(0, |occurrence| slots.slot_at(occurrence.time));
            let state = has_waits.then(|| tables.labels.value(row.labels, Label::State)).flatten();
            if let Some((state, occurrence)) = state.zip(profile.occurrences.get(index)) {
                let state = self.names.id(String::from_utf8_lossy(tables.names.name(NameId(state as u32))).as_bytes());
                let from = slots.slot_at(occurrence.time.saturating_sub(row.value));
                let wait = TreeWait { thread, from, to: slot, state: self.states.id(state) };
                let sum = self.waits.entry(wait).or_default();
                *sum = sum.saturating_add(row.value);
            }
            let Some(&event) = events.get(&row.event) else { continue };
            self.rows.add((TreeKey { node, event, thread, slot, is_base }, row.into()), profile.rows.len() - index);
        }
    }

    fn frame(&mut self, id: LocationId, locations: &Locations) -> u32 {
        let location = locations.get(id);
        let mut name = |id: NameId| self.names.id(locations.text(id).as_bytes());
        let (full, dso, file) = (name(location.function), name(location.dso), name(location.file));
        let short = self.names.id(locations.function_name(location.function).as_bytes());
        if short != full {
            // The profile that is compared with may have other functions of this short name, and thus another one for this.
            self.short_names.entry(full).or_insert(short);
        }
        let function = TreeFunction { name: full, dso, is_kernel: location.is_kernel };
        let same_name = self.functions_by_name.get(&(full, location.is_kernel)).copied();
        let function = match self.functions.find(function).or(same_name) {
            Some(id) => id,
            None => self.functions.id(function),
        };
        self.frames.id(TreeFrame { function, file, line: location.line, is_inlined: location.is_inlined })
    }

    fn event(&mut self, name: &str) -> u32 {
        let existing = self.events.iter().position(|event| event == name);
        existing.unwrap_or_else(|| {
            self.events.push(name.to_owned());
            self.events.len() - 1
        }) as u32
    }

    /// The tree with its nodes in depth-first order, children in order of their first occurrence.
    fn finish(self, slots: Slots) -> CallTree {
        let nodes = self.nodes.into_list();
        // The first child and the next sibling of each node; 0 if there is none.
        let mut links = vec![(0_u32, 0_u32); nodes.len() + 1];
        // Each node is linked before its earlier siblings, so that children stay in order of their first occurrence.
        for (index, &(parent, _)) in nodes.iter().enumerate().rev() {
            links[index + 1].1 = links[parent as usize].0;
            links[parent as usize].0 = index as u32 + 1;
        }
        let mut order = vec![0_u32; nodes.len() + 1];
        let mut list = Vec::with_capacity(nodes.len());
        let mut pending = vec![(links[0].0, 1)];
        while let Some((node, depth)) = pending.pop() {
            if node == 0 {
                continue;
            }
            let (_, frame) = nodes[node as usize - 1];
            list.push((depth, frame));
            order[node as usize] = list.len() as u32;
            let (child, sibling) = links[node as usize];
            // The child is taken first, so that a subtree comes before its next sibling.
            pending.extend([(sibling, depth), (child, depth + 1)]);
        }
        let mut rows = self.rows;
        rows.0.iter_mut().for_each(|(key, _)| key.node = order[key.node as usize]);
        rows.merge();
        CallTree {
            names: self.names,
            functions: self.functions.into_list(),
            short_names: self.short_names,
            frames: self.frames.into_list(),
            nodes: list,
            events: self.events,
            threads: self.threads.into_list(),
            slots,
            rows: rows.0,
            states: self.states.into_list(),
            waits: self.waits,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_sorted_and_merged_in_little_space() {
        let key = |node| TreeKey { node, event: 0, thread: 0, slot: 0, is_base: false };
        let mut rows = Rows::default();
        let count = 100_000;
        (0..count).for_each(|i| rows.add((key(i as u32 * 7 % 10), Counts { value: 3, samples: 1 }), count - i));
        assert!(rows.0.capacity() < 100, "{}", rows.0.capacity());
        rows.merge();
        let expected = (0..10).map(|node| (key(node), Counts { value: 30_000, samples: 10_000 }));
        assert_eq!(rows.0, expected.collect::<Vec<_>>());

        let mut rows = Rows::default();
        (0..count).for_each(|i| rows.add((key(i as u32), Counts { value: 3, samples: 1 }), count - i));
        assert_eq!((rows.0.len(), rows.0.capacity()), (count, count));
    }
}
