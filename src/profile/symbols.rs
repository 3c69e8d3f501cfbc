//! Symbols (functions and lines) of a profile's frames.

use super::{Frame, Place};
use crate::session::map::Map;
use crate::session::names::{NameId, Names};
use std::fmt;
use std::sync::Arc;

/// ID of a function in [`Symbols`].
pub type FunctionId = u32;

/// A function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Function {
    /// Demangled name.
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

/// The symbol of a frame.
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

/// A source of symbols by mapping and address.
pub trait SymbolSource: fmt::Debug + Send + Sync {
    /// The symbol of an address in a mapping.
    fn find(&self, map: &Map, address: u64) -> Option<FrameSymbol>;

    /// The functions by ID.
    fn functions(&self) -> &[Function];

    /// Mappings that [origins](Origin) refer to.
    fn mappings(&self) -> &[Map];

    /// The strings that functions refer to.
    fn names(&self) -> &Names;
}

/// The symbols of a profile's frames, looked up once for each frame.
#[derive(Clone, Debug, Default)]
pub struct Symbols {
    source: Option<Arc<dyn SymbolSource>>,
    /// Symbols by frame ID.
    frames: Vec<FrameSymbol>,
}

impl Symbols {
    /// Looks up all frames in a source.
    pub fn new(source: Arc<dyn SymbolSource>, frames: &[Frame], mappings: &[Map]) -> Self {
        let find = |frame: &Frame| match frame.place {
            Place::In(mapping) => source.find(&mappings[mapping as usize], frame.address).unwrap_or_default(),
            Place::Outside(_) => FrameSymbol::default(),
        };
        let frames = frames.iter().map(find).collect();
        Self { source: Some(source), frames }
    }

    /// The symbol of a frame.
    pub fn of(&self, frame: u32) -> FrameSymbol {
        self.frames.get(frame as usize).copied().unwrap_or_default()
    }

    /// The number of leading frames of a stack that are one location: inlined ones, and the one they are inlined into.
    pub fn location_len(&self, stack: &[u32]) -> usize {
        let inlined = stack.iter().take_while(|&&frame| self.of(frame).is_inlined).count();
        stack.len().min(inlined + 1)
    }

    /// Returns a function.
    pub fn function(&self, id: FunctionId) -> Option<&Function> {
        self.source.as_ref()?.functions().get(id as usize)
    }

    /// A string that a function refers to.
    pub fn name(&self, id: NameId) -> &[u8] {
        self.source.as_ref().map_or(&[], |source| source.names().name(id))
    }

    /// Mappings that [origins](Origin) refer to.
    pub fn mappings(&self) -> &[Map] {
        self.source.as_ref().map_or(&[], |source| source.mappings())
    }
}
