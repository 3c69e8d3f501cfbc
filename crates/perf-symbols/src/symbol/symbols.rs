//! Interned results: functions, files and frames, each kept once.

use super::demangle::Demangle;
use super::lookup::{FramesKey, FunctionFrame, Lookup};
use hashbrown::HashMap;
use perf_data::session::names::{MAX_NAME, NameId, Names, truncated};

/// Bytes that all names together may have, besides those per address: names of an object can be parts of one another, so that they
/// have many times the size of its file. Names beyond it are truncated.
const NAMES: usize = 8 << 20;

/// Bytes of names per address: ten times the mean length of names in large C++ programs.
const NAMES_PER_ADDRESS: usize = 512;

/// Length of names that are truncated because all together are too long.
const SHORT_NAME: usize = 64;

/// ID of a function in [`Symbols`].
pub type FunctionId = u32;

/// A function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Function {
    /// Demangled name.
    pub name: NameId,
    /// Linker symbol name.
    pub system_name: NameId,
    /// Line of its declaration; 0 if unknown.
    pub start_line: u32,
}

/// A function that contains an address, and the position in its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResolvedFrame {
    /// The function; `None` if only the line is known.
    pub function: Option<FunctionId>,
    /// Path of the source file; empty if unknown.
    pub file: NameId,
    /// Line; 0 if unknown.
    pub line: u32,
    /// Column; 0 if unknown.
    pub column: u32,
    /// Whether the function is inlined into that of the next frame.
    pub is_inlined: bool,
}

/// The result for an address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct ResolvedAddress {
    first: u32,
    len: u32,
    /// Offset from the start of the symbol.
    symbol_offset: Option<i64>,
}

/// An address to look up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LookupAddress {
    /// The address.
    pub address: u64,
    /// Whether the return address of a caller is at the next byte.
    pub is_caller: bool,
}

/// Number of functions in which an address is that are compared before names are interned: chains of inlined calls are rarely longer.
const RECENT: usize = 8;

/// Instructions of a source line are at most so many bytes from each other.
const NEAR: u64 = 16;

/// Frames of addresses, in lookup order.
#[derive(Debug, Default)]
pub(super) struct FrameTable {
    demangle: Demangle,
    names: Names,
    functions: Vec<Function>,
    by_name: HashMap<(NameId, u32), FunctionId>,
    /// The demangled name of each symbol name, so that it is demangled once and not for each address.
    demangled: HashMap<NameId, NameId>,
    /// The latest functions, in no order.
    recent_functions: [Option<(FunctionId, Function)>; RECENT],
    /// Index of the one that is replaced next.
    next_recent: usize,
    /// The address that was looked up before, and what its frames depend on, as far as known.
    last_address: Option<(u64, Option<FramesKey>)>,
    last_file: Option<NameId>,
    frames: Vec<ResolvedFrame>,
    addresses: Vec<ResolvedAddress>,
    /// Whether names are missing because of a [limit](Lookup::exceeds_limit).
    pub exceeds_limit: bool,
}

impl FrameTable {
    pub(super) fn new(demangle: Demangle) -> Self {
        Self { demangle, ..Self::default() }
    }

    /// Looks up an address and appends the result.
    pub(super) fn look_up(&mut self, lookup: &dyn Lookup, LookupAddress { address, is_caller }: LookupAddress) {
        let before = self.last_address.take().filter(|(before, _)| address.wrapping_sub(*before) <= NEAR && !is_caller);
        let key = before.and_then(|_| lookup.frames_key(address));
        self.last_address = (!is_caller).then_some((address, key));
        if let (Some(key), Some((before, before_key)), Some(last)) = (key, before, self.addresses.last())
            && before_key.or_else(|| lookup.frames_key(before)) == Some(key)
        {
            let symbol_offset = last.symbol_offset.and_then(|offset| offset.checked_add((address - before) as i64));
            self.addresses.push(ResolvedAddress { symbol_offset, ..*last });
            return;
        }
        let first = self.frames.len();
        let mut symbol_offset = self.add_frames(lookup, address);
        if is_caller && !self.has_function(first) {
            // No call precedes the return address: the kernel makes signal handlers return to the start of a function. As in perf,
            // the return address is in that function.
            let second = self.frames.len();
            let of_return = address.checked_add(1).and_then(|address| self.add_frames(lookup, address));
            if self.has_function(second) {
                self.frames.drain(first..second);
                symbol_offset = of_return.map(|offset| offset - 1);
            } else {
                self.frames.truncate(second);
            }
        }
        self.add_address(first, symbol_offset);
    }

    /// Appends the frames of an address; returns its offset from the start of its symbol.
    fn add_frames(&mut self, lookup: &dyn Lookup, address: u64) -> Option<i64> {
        let mut symbol_start = None;
        lookup.look_up(address, &mut |frame| {
            symbol_start = frame.symbol_start;
            let frame = self.intern(frame);
            self.frames.push(frame);
        });
        symbol_start.and_then(|start| address.checked_sub(start)?.try_into().ok())
    }

    /// Whether a function is known of the frames from an index on.
    fn has_function(&self, first: usize) -> bool {
        self.frames[first..].iter().any(|frame| frame.function.is_some())
    }

    /// Appends an address without a result.
    pub(super) fn add_unknown(&mut self) {
        self.add_address(self.frames.len(), None);
    }

    fn add_address(&mut self, first: usize, symbol_offset: Option<i64>) {
        let len = (self.frames.len() - first) as u32;
        self.addresses.push(ResolvedAddress { first: first as u32, len, symbol_offset });
    }

    fn intern(&mut self, frame: &FunctionFrame<'_>) -> ResolvedFrame {
        let function = (!frame.name.is_empty()).then(|| {
            // Addresses are looked up in ascending order, so that most are in the functions of the preceding one.
            let is_same = |(_, recent): &&(FunctionId, Function)| {
                recent.start_line == frame.start_line && self.names.name(recent.system_name) == frame.name
            };
            if let Some((id, _)) = self.recent_functions.iter().flatten().find(is_same) {
                return *id;
            }
            let raw = truncated(frame.name, MAX_NAME);
            let system_name = self.name_id(&raw);
            let name = self.demangled.get(&system_name).copied().unwrap_or_else(|| {
                let name = self.demangle.demangle(&raw);
                let name = name.map_or(system_name, |name| self.name_id(name.as_bytes()));
                self.demangled.insert(system_name, name);
                name
            });
            let function = Function { name, system_name, start_line: frame.start_line };
            let id = self.function(function);
            self.recent_functions[self.next_recent] = Some((id, function));
            self.next_recent = (self.next_recent + 1) % RECENT;
            id
        });
        let file = match self.last_file {
            Some(last) if self.names.name(last) == frame.file => last,
            _ => self.name_id(frame.file),
        };
        self.last_file = Some(file);
        let FunctionFrame { line, column, is_inlined, .. } = *frame;
        ResolvedFrame { function, file, line, column, is_inlined }
    }

    /// Interns a name. This is where names of all sources of symbols enter.
    fn name_id(&mut self, name: &[u8]) -> NameId {
        let name = truncated(name, MAX_NAME);
        let room = NAMES + NAMES_PER_ADDRESS * self.addresses.len();
        let is_full = name.len() > SHORT_NAME && self.names.total_len() + name.len() > room;
        self.names.id(&if is_full { truncated(&name, SHORT_NAME) } else { name })
    }

    fn function(&mut self, function: Function) -> FunctionId {
        let number = self.functions.len() as FunctionId;
        let interned = *self.by_name.entry((function.system_name, function.start_line)).or_insert(number);
        if interned == number {
            self.functions.push(function);
        }
        interned
    }

    /// Appends the addresses of another table. The result does not depend on how the addresses were split into tables.
    pub(super) fn append(&mut self, other: &Self) {
        let mut names: HashMap<NameId, NameId> = HashMap::new();
        let shift = self.frames.len() as u32;
        let moved = |address: &ResolvedAddress| ResolvedAddress { first: address.first + shift, ..*address };
        self.addresses.extend(other.addresses.iter().map(moved));
        let mut functions: Vec<Option<FunctionId>> = vec![None; other.functions.len()];
        let mut last_file = None;
        for frame in &other.frames {
            let file = match last_file {
                Some((last, file)) if last == frame.file => file,
                _ => *names.entry(frame.file).or_insert_with(|| self.name_id(other.names.name(frame.file))),
            };
            last_file = Some((frame.file, file));
            let function = frame.function.map(|id| match functions[id as usize] {
                Some(interned) => interned,
                None => {
                    let function = other.functions[id as usize];
                    let mut name = |id| *names.entry(id).or_insert_with(|| self.name_id(other.names.name(id)));
                    let (system_name, name) = (name(function.system_name), name(function.name));
                    let interned = self.function(Function { name, system_name, ..function });
                    functions[id as usize] = Some(interned);
                    interned
                }
            });
            self.frames.push(ResolvedFrame { function, file, ..*frame });
        }
    }

    /// Number of addresses.
    pub(super) fn len(&self) -> usize {
        self.addresses.len()
    }
}

/// Functions, inlined functions and lines of addresses.
#[derive(Debug, Default)]
pub struct Symbols {
    table: FrameTable,
    /// For each request, the indexes of its addresses in the table.
    requests: Vec<Vec<u32>>,
}

impl Symbols {
    pub(super) fn new(table: FrameTable, requests: Vec<Vec<u32>>) -> Self {
        Self { table, requests }
    }

    fn address(&self, request: usize, address: usize) -> ResolvedAddress {
        let number = self.requests.get(request).and_then(|numbers| numbers.get(address));
        number.and_then(|&number| self.table.addresses.get(number as usize)).copied().unwrap_or_default()
    }

    /// The frames of an address, innermost first, by the index of its request and its index in that request. Empty if nothing is
    /// known.
    pub fn frames(&self, request: usize, address: usize) -> &[ResolvedFrame] {
        let ResolvedAddress { first, len, .. } = self.address(request, address);
        self.table.frames.get(first as usize..(first + len) as usize).unwrap_or_default()
    }

    /// Offset of an address from the start of its symbol: -1 for a caller whose return address is the start.
    pub fn symbol_offset(&self, request: usize, address: usize) -> Option<i64> {
        self.address(request, address).symbol_offset
    }

    /// All functions, indexed by ID.
    pub fn functions(&self) -> &[Function] {
        &self.table.functions
    }

    /// A function by ID.
    pub fn function(&self, id: FunctionId) -> Option<&Function> {
        self.table.functions.get(id as usize)
    }

    /// A name or a path by ID.
    pub fn name(&self, id: NameId) -> &[u8] {
        self.table.names.name(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two frames of each even address.
    struct Even;

    impl Lookup for Even {
        fn look_up(&self, address: u64, on_frame: &mut dyn FnMut(&FunctionFrame<'_>)) {
            if address.is_multiple_of(2) {
                let name = format!("_Z1fILi{}EEvv", address / 10);
                on_frame(&FunctionFrame {
                    name: b"inner",
                    file: b"a.c",
                    line: 3,
                    is_inlined: true,
                    ..FunctionFrame::default()
                });
                on_frame(&FunctionFrame {
                    name: name.as_bytes(),
                    start_line: 7,
                    symbol_start: Some(address - 1),
                    ..FunctionFrame::default()
                });
            }
        }
    }

    fn table(addresses: std::ops::Range<u64>) -> FrameTable {
        let mut table = FrameTable::new(Demangle::Full);
        addresses.for_each(|address| table.look_up(&Even, LookupAddress { address, is_caller: false }));
        table
    }

    /// A name of 10 KB at each address, a part of that of the address before, and one of 1 MB at each tenth.
    struct LongNames(Vec<u8>);

    impl Lookup for LongNames {
        fn look_up(&self, address: u64, on_frame: &mut dyn FnMut(&FunctionFrame<'_>)) {
            let len = if address.is_multiple_of(10) { 1 << 20 } else { 10_000 };
            on_frame(&FunctionFrame { name: &self.0[address as usize..][..len], ..FunctionFrame::default() });
        }
    }

    #[test]
    fn long_names_have_a_limit_alone_and_together() {
        let lookup =
            LongNames((0..2 << 20).map(|at: u32| b'a' + (at.wrapping_mul(0x9e37_79b9) >> 24) as u8 % 26).collect());
        let mut parts = FrameTable::new(Demangle::Full);
        for part in [0..3000, 3000..9000] {
            let mut table = FrameTable::new(Demangle::Full);
            part.for_each(|address| table.look_up(&lookup, LookupAddress { address, is_caller: false }));
            parts.append(&table);
        }
        let len = parts.names.total_len();
        assert!((8 << 20..14 << 20).contains(&len), "{len}");
        let symbols = Symbols::new(parts, vec![(0..9000).collect()]);
        let name_len = |index| {
            let function = symbols.frames(0, index)[0].function.unwrap();
            symbols.name(symbols.function(function).unwrap().name).len()
        };
        assert_eq!([0, 1, 10, 8999].map(name_len), [MAX_NAME, 10_000, MAX_NAME, SHORT_NAME]);
    }

    /// A function in `[100, 200)`.
    struct OneFunction;

    impl Lookup for OneFunction {
        fn look_up(&self, address: u64, on_frame: &mut dyn FnMut(&FunctionFrame<'_>)) {
            if (100..200).contains(&address) {
                on_frame(&FunctionFrame { name: b"sigreturn", symbol_start: Some(100), ..FunctionFrame::default() });
            }
        }
    }

    #[test]
    fn a_caller_at_the_start_of_a_function_is_in_it() {
        let addresses = [(99, true), (99, false), (98, true), (150, true), (199, true), (200, true), (u64::MAX, true)];
        let mut table = FrameTable::new(Demangle::Full);
        for (address, is_caller) in addresses {
            table.look_up(&OneFunction, LookupAddress { address, is_caller });
        }
        let symbols = Symbols::new(table, vec![(0..7).collect()]);
        let resolved = (0..7).map(|index| (symbols.frames(0, index).len(), symbols.symbol_offset(0, index)));
        let none = (0, None);
        assert_eq!(resolved.collect::<Vec<_>>(), [(1, Some(-1)), none, none, (1, Some(50)), (1, Some(99)), none, none]);
    }

    #[test]
    fn functions_are_kept_once() {
        let numbers = (0..99).collect();
        let symbols = Symbols::new(table(1..100), vec![numbers]);
        assert_eq!((symbols.functions().len(), symbols.frames(0, 0).len()), (11, 0));
        let [inner, outer] = symbols.frames(0, 11) else { panic!("two frames") };
        assert!(inner.is_inlined && inner.line == 3 && symbols.name(inner.file) == b"a.c");
        let function = symbols.function(outer.function.unwrap()).unwrap();
        assert_eq!(symbols.name(function.name), b"void f<1>()");
        assert_eq!((symbols.name(function.system_name), function.start_line), (&b"_Z1fILi1EEvv"[..], 7));
        assert_eq!((symbols.symbol_offset(0, 11), symbols.symbol_offset(0, 0)), (Some(1), None));
        assert!(symbols.frames(0, 99).is_empty() && symbols.frames(1, 0).is_empty());
    }

    #[test]
    fn parts_put_together_are_the_whole() {
        let whole = table(1..100);
        for cut in [1, 2, 50, 99] {
            let mut parts = FrameTable::new(Demangle::Full);
            parts.append(&table(1..cut));
            parts.append(&table(cut..100));
            let mut appended = FrameTable::new(Demangle::Full);
            appended.append(&whole);
            assert_eq!((parts.frames, parts.functions), (appended.frames, appended.functions));
            assert_eq!(parts.addresses, whole.addresses);
        }
    }
}
