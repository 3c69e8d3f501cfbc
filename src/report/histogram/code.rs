//! Code as `perf report` distinguishes it: by symbol, or without one by address.

use crate::profile::intern::stacks::FrameId;
use crate::profile::symbolize::function_name::with_version;
use crate::profile::{Frame, Place, Tables};
use crate::report::column::CACHE_LINE;
use crate::report::data_text::{ANONYMOUS, ANONYMOUS_DATA};
use crate::report::location::Locations;
use hashbrown::HashMap;
use perf_data::session::interned::Interned;
use perf_data::session::names::{NameId, Names};
use perf_data::session::space::Space;
use std::borrow::Cow;
use std::ops::Range;

/// ID of code in [`CodeTable`].
pub(crate) type CodeId = u32;

/// Code that is one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Code {
    /// Name of its file or memory without directories; `None` if unknown.
    pub dso: Option<NameId>,
    pub symbol: CodeSymbol,
}

/// What identifies code in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum CodeSymbol {
    /// A function, with the start of its symbol in the file.
    Function { name: NameId, start: u64 },
    /// An address without a symbol.
    Address(u64),
}

/// What is printed of code, but does not distinguish it.
#[derive(Clone, Copy, Debug)]
struct CodeMarks {
    /// `k` for code of a kernel, `.` for that of a process.
    level: char,
    is_inlined: bool,
}

/// The code of a frame.
#[derive(Debug)]
struct FrameCode {
    /// The symbol of the instruction pointer of a sample.
    own: CodeId,
    /// The functions in a call chain, innermost first.
    chain: Range<u32>,
}

/// The code of all frames of a profile.
#[derive(Debug, Default)]
pub(crate) struct CodeTable {
    names: Names,
    list: Interned<Code>,
    marks: Vec<CodeMarks>,
    /// By code: the first code that rows by symbol do not distinguish from it.
    same_symbol: Vec<CodeId>,
    by_address: HashMap<u64, CodeId>,
    /// By code: that with the address in its file, if it is code of a call chain without a symbol.
    in_file: Vec<CodeId>,
    frames: Vec<FrameCode>,
    /// By frame: the name of its file or memory, if it is one of data.
    data_dsos: Vec<Option<NameId>>,
    /// By frame: the address of its cache line in its file, and the first frame in it.
    cache_lines: Vec<(u64, FrameId)>,
    chains: Vec<CodeId>,
}

impl CodeTable {
    /// The code of the frames of a profile.
    pub(crate) fn new(tables: &Tables) -> Self {
        let (mut table, locations) = (Self::default(), Locations::new(tables));
        let mut first_frames = HashMap::new();
        for (id, &frame) in (0..).zip(tables.stacks.frames()) {
            table.add(id, frame, tables, &locations);
            let map = frame.mapping().map(|mapping| &tables.mappings[mapping as usize]);
            let address = map.map_or(frame.address, |map| map.printed_address(frame.address));
            let is_anonymous = map.is_some_and(|map| map.filename.starts_with(ANONYMOUS));
            let anonymous = is_anonymous.then(|| table.names.id(ANONYMOUS_DATA.as_bytes()));
            table.data_dsos.push(anonymous.or(table.dso(id)));
            let line = address & !(CACHE_LINE - 1);
            let first = *first_frames.entry((table.dso(id), line)).or_insert(id);
            table.cache_lines.push((line, first));
        }
        table
    }

    /// The name of the file or memory of a frame.
    pub(super) fn dso(&self, frame: FrameId) -> Option<NameId> {
        self.get(self.own(frame)).dso
    }

    /// The name of the file or memory of a frame of data.
    pub(super) fn data_dso(&self, frame: FrameId) -> Option<NameId> {
        self.data_dsos[frame as usize]
    }

    /// The first frame in the cache line of a frame, which stands for it.
    pub(super) fn cache_line(&self, frame: FrameId) -> FrameId {
        self.cache_lines[frame as usize].1
    }

    /// The address in its file of the cache line of a frame.
    pub(super) fn cache_line_address(&self, frame: FrameId) -> u64 {
        self.cache_lines[frame as usize].0
    }

    fn add(&mut self, id: FrameId, frame: Frame, tables: &Tables, locations: &Locations) {
        let symbols = &tables.symbols;
        let map = frame.mapping().map(|mapping| &tables.mappings[mapping as usize]);
        let location = locations.frame_locations(id).last().map(|&location| locations.get(location));
        let dso = location.filter(|_| map.is_some()).map(|location| jit_name(locations.text(location.dso)));
        let dso = dso.map(|dso| self.names.id(dso.as_bytes()));
        let in_file = map.map_or(frame.address, |map| match map.belongs_to_kernel() && !map.is_kernel() {
            // In rows, perf prints addresses in modules from their start.
            true => map.file_offset(frame.address),
            false => map.printed_address(frame.address),
        });
        let level = level(frame, tables);
        let first = self.chains.len() as u32;
        let lines = symbols.lines(id);
        let start = in_file.wrapping_sub(symbols.symbol_offset(id).unwrap_or(0) as u64);
        let mut own = None;
        for (depth, line) in lines.iter().enumerate() {
            let is_inlined = depth + 1 < lines.len();
            let name = symbols.function(line.function).map_or(&b""[..], |function| with_version(function, symbols));
            if name.is_empty() {
                continue;
            }
            let symbol = CodeSymbol::Function { name: self.names.id(name), start };
            let code = self.code(Code { dso, symbol }, CodeMarks { level, is_inlined });
            self.chains.push(code);
            own = (!is_inlined).then_some(code);
        }
        if self.chains.len() as u32 == first {
            // In call chains perf prints the return address, as recorded.
            let address = frame.address.wrapping_add(frame.is_caller.into());
            let code =
                self.code(Code { dso, symbol: CodeSymbol::Address(address) }, CodeMarks { level, is_inlined: false });
            self.chains.push(code);
        }
        let own = own.unwrap_or_else(|| {
            let symbol = CodeSymbol::Address(in_file);
            let own = self.code(Code { dso, symbol }, CodeMarks { level, is_inlined: false });
            if let [in_memory] = self.chains[first as usize..] {
                self.in_file[in_memory as usize] = own;
            }
            own
        });
        self.frames.push(FrameCode { own, chain: first..self.chains.len() as u32 });
    }

    fn code(&mut self, code: Code, marks: CodeMarks) -> CodeId {
        let id = self.list.id(code);
        if id as usize == self.marks.len() {
            self.marks.push(marks);
            self.in_file.push(id);
            self.same_symbol.push(match code.symbol {
                CodeSymbol::Function { .. } => id,
                CodeSymbol::Address(address) => *self.by_address.entry(address).or_insert(id),
            });
        }
        id
    }

    /// The symbol of the instruction pointer of a sample.
    pub(crate) fn own(&self, frame: FrameId) -> CodeId {
        self.frames[frame as usize].own
    }

    /// The functions of a frame of a call chain, innermost first.
    pub(crate) fn chain(&self, frame: FrameId) -> &[CodeId] {
        let Range { start, end } = self.frames[frame as usize].chain;
        &self.chains[start as usize..end as usize]
    }

    /// The function at an end of a branch, or its address in memory.
    pub(super) fn branch_end(&self, frame: FrameId) -> CodeId {
        self.chain(frame).last().copied().unwrap_or_else(|| self.own(frame))
    }

    /// The code with the address in its file, of code without a symbol at an end of a branch.
    pub(super) fn in_file(&self, id: CodeId) -> CodeId {
        self.in_file[id as usize]
    }

    /// The code that stands for code in rows by symbol: addresses without one are not distinguished by file.
    pub(super) fn same_symbol(&self, id: CodeId) -> CodeId {
        self.same_symbol[id as usize]
    }

    pub(crate) fn get(&self, id: CodeId) -> Code {
        self.list.list()[id as usize]
    }

    pub(crate) fn name(&self, id: NameId) -> Cow<'_, str> {
        String::from_utf8_lossy(self.names.name(id))
    }

    /// The letter of the address space of code.
    pub(super) fn level(&self, id: CodeId) -> char {
        self.marks[id as usize].level
    }

    /// The text of a symbol in a row: `[k] do_idle`.
    pub(super) fn symbol_text(&self, id: CodeId, level: char) -> String {
        let is_inlined = self.marks[id as usize].is_inlined;
        match self.get(id).symbol {
            CodeSymbol::Function { name, .. } => {
                format!("[{level}] {}{}", self.name(name), if is_inlined { INLINED } else { "" })
            }
            // As C's %#x, perf has no prefix for 0.
            CodeSymbol::Address(0) => format!("[{level}] {:016x}", 0),
            CodeSymbol::Address(address) => format!("[{level}] {address:#018x}"),
        }
    }

    /// The order of functions with equal values in call chains: perf compares addresses in a file, and otherwise where it has the files
    /// in memory, which is not reproduced.
    pub(super) fn chain_order(&self, id: CodeId) -> (Option<NameId>, u64, &[u8]) {
        let Code { dso, symbol } = self.get(id);
        match symbol {
            CodeSymbol::Function { name, start } => (dso, start, self.names.name(name)),
            CodeSymbol::Address(address) => (dso, address, &[]),
        }
    }

    /// The text of a function in a call chain.
    pub(crate) fn chain_text(&self, id: CodeId) -> String {
        let is_inlined = self.marks[id as usize].is_inlined;
        match self.get(id).symbol {
            CodeSymbol::Function { name, .. } => {
                format!("{}{}", self.name(name), if is_inlined { INLINED } else { "" })
            }
            CodeSymbol::Address(0) => "0".to_owned(),
            CodeSymbol::Address(address) => format!("{address:#x}"),
        }
    }
}

const INLINED: &str = " (inlined)";

/// perf's name of the memory with code that a process generated: `/tmp/perf-7.map` is `[JIT] tid 7`.
fn jit_name(dso: Cow<'_, str>) -> Cow<'_, str> {
    let pid = dso.strip_prefix("perf-").and_then(|rest| rest.strip_suffix(".map"));
    match pid.filter(|pid| !pid.is_empty() && pid.bytes().all(|byte| byte.is_ascii_digit())) {
        Some(pid) => format!("[JIT] tid {pid}").into(),
        None => dso,
    }
}

/// The letter of the address space.
fn level(frame: Frame, tables: &Tables) -> char {
    match frame.place {
        Place::Outside(Space::Kernel) => 'k',
        Place::Outside(Space::GuestKernel) => 'g',
        Place::Outside(Space::GuestUser) => 'u',
        Place::Outside(Space::Hypervisor) => 'H',
        Place::Outside(_) => '.',
        Place::In(mapping) => {
            let map = &tables.mappings[mapping as usize];
            match map.belongs_to_kernel() {
                true if map.filename.starts_with(b"[guest.kernel") => 'g',
                true => 'k',
                false => '.',
            }
        }
    }
}
