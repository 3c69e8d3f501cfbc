//! Symbols (functions, inlined functions and lines) of a profile's frames.

use hashbrown::HashMap;
use perf_data::session::map::Map;
use perf_data::session::names::{NameId, Names};

/// ID of a function in [`Symbols`].
pub type FunctionId = u32;

/// A function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Function {
    /// Demangled name; empty if only the source line of an address is known.
    pub name: NameId,
    /// Linker symbol name.
    pub system_name: NameId,
    /// Path of the source file; empty if unknown.
    pub file: NameId,
    /// First line; 0 if unknown.
    pub start_line: i64,
}

/// A position in a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// The function.
    pub function: FunctionId,
    /// Line in its source file; 0 if unknown.
    pub line: i64,
    /// Column in the line; 0 if unknown.
    pub column: i64,
}

/// The symbol of a frame in an imported profile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameSymbol {
    /// Position in the function; `None` if the function is unknown.
    pub line: Option<Line>,
    /// Whether the function is inlined into that of the next frame of the stack: both are one location.
    pub is_inlined: bool,
    /// Mapping and address in the imported profile, if the recording has different ones.
    pub origin: Option<Origin>,
}

/// A location in the imported profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Index of the mapping in [`Symbols::mappings`].
    pub mapping: Option<u32>,
    /// The address; 0 if the profile has none.
    pub address: u64,
}

/// The symbol of a frame.
#[derive(Clone, Copy, Debug, Default)]
struct FrameEntry {
    /// Index of the first of its lines.
    first: u32,
    /// Number of lines: 0 if the function is unknown, more than 1 if functions are inlined at the address.
    len: u32,
    is_inlined: bool,
    symbol_offset: Option<i64>,
    origin: Option<Origin>,
}

/// The symbols of a profile's frames, looked up once for each frame.
#[derive(Debug, Default)]
pub struct Symbols {
    names: Names,
    functions: Vec<Function>,
    by_function: HashMap<Function, FunctionId>,
    lines: Vec<Line>,
    /// Entries by frame ID.
    frames: Vec<FrameEntry>,
    mappings: Vec<Map>,
    /// Whether inlined functions were omitted on request.
    pub(crate) omits_inlined: bool,
}

impl Symbols {
    /// Creates symbols without frames; [origins](Origin) refer to these mappings.
    pub(crate) fn new(mappings: Vec<Map>) -> Self {
        Self { mappings, ..Self::default() }
    }

    /// Interns a name.
    pub(crate) fn name_id(&mut self, name: &[u8]) -> NameId {
        self.names.id(name)
    }

    /// Interns a function.
    pub(crate) fn function_id(&mut self, function: Function) -> FunctionId {
        let Self { functions, by_function, .. } = self;
        *by_function.entry(function).or_insert_with(|| {
            functions.push(function);
            functions.len() as FunctionId - 1
        })
    }

    /// Sets the lines of a frame, innermost function first, and the offset of its address from the start of its symbol.
    pub(crate) fn set_lines(&mut self, frame: u32, lines: &[Line], symbol_offset: Option<i64>) {
        let (first, len) = (self.lines.len() as u32, lines.len() as u32);
        self.lines.extend_from_slice(lines);
        let entry = self.entry(frame);
        (entry.first, entry.len, entry.symbol_offset) = (first, len, symbol_offset);
    }

    /// Sets the properties of a frame in the imported profile.
    pub(crate) fn set_imported(&mut self, frame: u32, is_inlined: bool, origin: Option<Origin>) {
        let entry = self.entry(frame);
        (entry.is_inlined, entry.origin) = (is_inlined, origin);
    }

    fn entry(&mut self, frame: u32) -> &mut FrameEntry {
        let index = frame as usize;
        if self.frames.len() <= index {
            self.frames.resize(index + 1, FrameEntry::default());
        }
        &mut self.frames[index]
    }

    fn frame_entry(&self, frame: u32) -> FrameEntry {
        self.frames.get(frame as usize).copied().unwrap_or_default()
    }

    /// The functions that contain the address of a frame, innermost first: all but the last are inlined. Empty if unknown.
    pub fn lines(&self, frame: u32) -> &[Line] {
        let FrameEntry { first, len, .. } = self.frame_entry(frame);
        &self.lines[first as usize..(first + len) as usize]
    }

    /// The function that contains the address of a frame, without inlined functions; `None` if its name is unknown.
    pub fn frame_function(&self, frame: u32) -> Option<&Function> {
        self.function(self.lines(frame).last()?.function).filter(|function| !self.name(function.name).is_empty())
    }

    /// Offset of a frame's address from the start of its symbol, if known: -1 for a caller whose return address is the start.
    pub fn symbol_offset(&self, frame: u32) -> Option<i64> {
        self.frame_entry(frame).symbol_offset
    }

    /// Mapping and address of a frame in the imported profile, if the recording has different ones.
    pub fn origin(&self, frame: u32) -> Option<Origin> {
        self.frame_entry(frame).origin
    }

    /// The number of leading frames of a stack that are one location: inlined ones, and the one they are inlined into.
    pub fn location_len(&self, stack: &[u32]) -> usize {
        let inlined = stack.iter().take_while(|&&frame| self.is_inlined(frame)).count();
        stack.len().min(inlined + 1)
    }

    /// Whether a frame of an imported profile is inlined into the next frame of its stack.
    pub fn is_inlined(&self, frame: u32) -> bool {
        self.frame_entry(frame).is_inlined
    }

    /// Returns a function.
    pub fn function(&self, id: FunctionId) -> Option<&Function> {
        self.functions.get(id as usize)
    }

    /// A string that a function refers to.
    pub fn name(&self, id: NameId) -> &[u8] {
        self.names.name(id)
    }

    /// Mappings that [origins](Origin) refer to.
    pub fn mappings(&self) -> &[Map] {
        &self.mappings
    }
}
