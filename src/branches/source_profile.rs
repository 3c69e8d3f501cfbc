//! Counts by position in source code: what compilers match to the functions that they compile.

use hashbrown::HashMap;
use md5::{Digest, Md5};
use std::collections::{BTreeMap, BTreeSet};

/// A position in a function: lines from its declaration on, or the number of a probe; and a discriminator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourcePosition {
    /// Line, less that of the declaration, in 16 bits; or the number of a probe.
    pub line: u32,
    /// Distinguishes blocks of code with the same line.
    pub discriminator: u32,
}

/// Number of a name in [`SourceProfile::names`].
pub type NameNumber = u32;

/// The count of a position.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PositionCount {
    /// How often it was executed.
    pub count: u64,
    /// How often each function was called from it.
    pub targets: BTreeMap<NameNumber, u64>,
}

/// Attribute of a function that was inlined in the recorded program.
pub const WAS_INLINED: u32 = 1;

/// Attribute of a function that compilers are to inline, since it has counts of its own where it is called from.
pub const IS_TO_BE_INLINED: u32 = 2;

impl PositionCount {
    /// Adds the count of the same position.
    pub(crate) fn add(&mut self, other: Self) {
        self.count = self.count.saturating_add(other.count);
        for (name, calls) in other.targets {
            let sum = self.targets.entry(name).or_default();
            *sum = sum.saturating_add(calls);
        }
    }
}

/// The counts of a function, or of one that was inlined into another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionCounts {
    /// Sum over all instructions, those of inlined functions included.
    pub total: u64,
    /// How often the function was called; 0 if it was inlined.
    pub head: u64,
    /// Checksum of its control flow, if it has probes.
    pub checksum: Option<u64>,
    /// What is known of its context: a sum of [`WAS_INLINED`] and [`IS_TO_BE_INLINED`].
    pub attributes: u32,
    /// Counts of its positions.
    pub body: BTreeMap<SourcePosition, PositionCount>,
    /// Functions that were inlined at its positions.
    pub inlined: BTreeMap<SourcePosition, BTreeMap<NameNumber, FunctionCounts>>,
}

/// Counts of functions by position in their source.
#[derive(Debug, Default)]
pub struct SourceProfile {
    names: Vec<Box<[u8]>>,
    numbers: HashMap<Box<[u8]>, NameNumber>,
    /// The functions.
    pub functions: BTreeMap<NameNumber, FunctionCounts>,
    /// Whether discriminators are flow-sensitive: used as they are.
    pub is_flow_sensitive: bool,
    /// Whether functions are nested where they are to be inlined, not where they were.
    pub is_preinlined: bool,
}

/// The number by which LLVM knows a name.
pub(crate) fn guid(name: &[u8]) -> u64 {
    let digest = Md5::digest(name);
    u64::from_le_bytes(std::array::from_fn(|index| digest[index]))
}

impl SourceProfile {
    /// The number of a name.
    pub fn number(&mut self, name: &[u8]) -> NameNumber {
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        let number = self.names.len() as NameNumber;
        self.names.push(name.into());
        self.numbers.insert(name.into(), number);
        number
    }

    /// A name by its number.
    pub fn name(&self, number: NameNumber) -> &[u8] {
        self.names.get(number as usize).map_or(&[], |name| name)
    }

    /// All names.
    pub fn names(&self) -> &[Box<[u8]>] {
        &self.names
    }

    /// The functions with most samples first, then by name.
    pub fn by_total(&self) -> Vec<(NameNumber, &FunctionCounts)> {
        let mut list: Vec<_> = self.functions.iter().map(|(&name, counts)| (name, counts)).collect();
        list.sort_by(|a, b| b.1.total.cmp(&a.1.total).then_with(|| self.name(a.0).cmp(self.name(b.0))));
        list
    }

    /// The profile with other names. Functions that get the same name are added up.
    #[must_use]
    pub fn renamed(&self, rename: impl Fn(&[u8]) -> Vec<u8>) -> Self {
        let mut renamed = self.without_functions();
        let numbers: HashMap<_, _> =
            self.names.iter().zip(0..).map(|(name, number)| (number, renamed.number(&rename(name)))).collect();
        for (name, counts) in &self.functions {
            renamed.functions.entry(numbers[name]).or_default().add(counts.clone().renamed(&numbers));
        }
        renamed.with_sorted_names()
    }

    fn without_functions(&self) -> Self {
        let Self { is_flow_sensitive, is_preinlined, .. } = *self;
        Self { is_flow_sensitive, is_preinlined, ..Self::default() }
    }

    /// Numbers the names that are used in their order, so that functions and targets are in the order of their names.
    #[must_use]
    pub fn with_sorted_names(self) -> Self {
        let mut used = BTreeSet::new();
        self.functions.iter().for_each(|(&name, counts)| {
            used.insert(name);
            counts.each_name(&mut |name| _ = used.insert(name));
        });
        let mut order: Vec<NameNumber> = used.into_iter().collect();
        order.sort_by(|&a, &b| self.name(a).cmp(self.name(b)));
        let numbers: HashMap<NameNumber, NameNumber> = order.iter().copied().zip(0..).collect();
        let mut sorted = self.without_functions();
        order.iter().for_each(|&name| _ = sorted.number(self.name(name)));
        sorted.functions =
            self.functions.into_iter().map(|(name, counts)| (numbers[&name], counts.renamed(&numbers))).collect();
        sorted
    }
}

impl FunctionCounts {
    /// Calls `on_name` with the names of targets and inlined functions.
    fn each_name(&self, on_name: &mut dyn FnMut(NameNumber)) {
        self.body.values().flat_map(|count| count.targets.keys()).for_each(|&name| on_name(name));
        for (&name, counts) in self.inlined.values().flatten() {
            on_name(name);
            counts.each_name(on_name);
        }
    }

    fn renamed(mut self, numbers: &HashMap<NameNumber, NameNumber>) -> Self {
        for count in self.body.values_mut() {
            for (name, calls) in std::mem::take(&mut count.targets) {
                *count.targets.entry(numbers[&name]).or_default() += calls;
            }
        }
        for functions in self.inlined.values_mut() {
            for (name, counts) in std::mem::take(functions) {
                functions.entry(numbers[&name]).or_default().add(counts.renamed(numbers));
            }
        }
        self
    }

    /// How often the function was called, judging by its body if that was not counted.
    pub(super) fn estimated_calls(&self) -> u64 {
        let first = self.body.first_key_value().map_or(0, |(_, position)| position.count);
        [self.head, first, u64::from(self.total > 0)].into_iter().find(|&calls| calls > 0).unwrap_or(0)
    }

    /// Removes the calls of a function from a position, which do not count as executions of it any more. Returns their number.
    pub(super) fn remove_calls(&mut self, position: SourcePosition, callee: NameNumber) -> u64 {
        let Some(PositionCount { count, targets }) = self.body.get_mut(&position) else { return 0 };
        let removed = targets.remove(&callee).unwrap_or(0).min(*count);
        *count -= removed;
        if *count == 0 {
            self.body.remove(&position);
        }
        removed
    }

    /// Adds the counts of the same function.
    pub(crate) fn add(&mut self, other: Self) {
        self.attributes |= other.attributes;
        self.total = self.total.saturating_add(other.total);
        self.head = self.head.saturating_add(other.head);
        self.checksum = self.checksum.or(other.checksum);
        for (position, count) in other.body {
            self.body.entry(position).or_default().add(count);
        }
        for (position, functions) in other.inlined {
            let sums = self.inlined.entry(position).or_default();
            functions.into_iter().for_each(|(name, counts)| sums.entry(name).or_default().add(counts));
        }
    }

    /// The targets of a position, those that were called most first, then by name.
    pub fn sorted_targets(count: &PositionCount) -> Vec<(NameNumber, u64)> {
        let mut targets: Vec<_> = count.targets.iter().map(|(&name, &count)| (name, count)).collect();
        targets.sort_by_key(|&(name, count)| (std::cmp::Reverse(count), name));
        targets
    }

    /// The functions that are inlined, in the order of their positions and names.
    pub fn each_inlined(&self) -> impl Iterator<Item = (SourcePosition, NameNumber, &Self)> {
        self.inlined
            .iter()
            .flat_map(|(&position, functions)| functions.iter().map(move |(&name, counts)| (position, name, counts)))
    }
}
