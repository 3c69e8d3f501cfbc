//! Names of frames in folded stacks.

use super::{Folded, FrameKind};
use crate::profile::intern::stacks::{FrameId, StackId};
use crate::profile::symbolize::function_name::without_parameters;
use crate::profile::{Frame, Tables};
use perf_data::session::map::{Map, cut_name};
use perf_data::session::names::{NameId, Names};
use std::borrow::Cow;
use std::io::Write;
use std::ops::Range;

/// How names are shown: with escapes, also shortened.
pub(super) type Show = fn(&str) -> Cow<'_, str>;

/// Interned names of frames, each determined once.
pub(crate) struct FrameNames<'a> {
    tables: &'a Tables,
    show: Show,
    has_addresses: bool,
    marks_kernel: bool,
    marks_inlined: bool,
    marks_jit: bool,
    names: Names,
    /// By frame: its functions in `functions`, outermost first.
    frames: Vec<Option<Range<u32>>>,
    functions: Vec<NameId>,
    text: Vec<u8>,
}

impl<'a> FrameNames<'a> {
    /// Creates names without frames.
    pub(crate) fn new(tables: &'a Tables, options: &Folded, show: Show) -> Self {
        let marks = |kind| options.annotate.contains(&kind);
        Self {
            tables,
            show,
            has_addresses: options.addresses,
            marks_kernel: marks(FrameKind::Kernel),
            marks_inlined: marks(FrameKind::Inlined),
            marks_jit: marks(FrameKind::Jit),
            names: Names::default(),
            frames: vec![None; tables.stacks.frames().len()],
            functions: Vec::new(),
            text: Vec::new(),
        }
    }

    /// Interns another name.
    pub(crate) fn name_id(&mut self, name: &[u8]) -> NameId {
        self.text.clear();
        self.push_name(name);
        self.names.id(&self.text)
    }

    /// Appends a name to the text: on one line, and without the separator of frames.
    fn push_name(&mut self, name: &[u8]) {
        let name = String::from_utf8_lossy(name);
        self.text.extend((self.show)(&name).bytes().map(|byte| if byte == b';' { b':' } else { byte }));
    }

    /// The interned names.
    pub(crate) fn into_names(self) -> Names {
        self.names
    }

    /// Appends the names of a stack, root first.
    pub(crate) fn append(&mut self, stack: StackId, names: &mut Vec<NameId>) {
        let tables = self.tables;
        for &frame in tables.stacks.stack(stack).iter().rev() {
            names.extend_from_slice(self.function_names(frame));
        }
    }

    /// The names of the functions at a frame, outermost first.
    fn function_names(&mut self, frame: FrameId) -> &[NameId] {
        let index = frame as usize;
        let functions = match &self.frames[index] {
            Some(range) => range.clone(),
            None => {
                let range = self.find(frame);
                self.frames[index] = Some(range.clone());
                range
            }
        };
        &self.functions[functions.start as usize..functions.end as usize]
    }

    fn find(&mut self, frame: FrameId) -> Range<u32> {
        let Self { tables, .. } = *self;
        let first = self.functions.len() as u32;
        let stack_frame = tables.stacks.frames()[frame as usize];
        let map = stack_frame.mapping().map(|mapping| &tables.mappings[mapping as usize]);
        let symbols = &tables.symbols;
        let lines = symbols.lines(frame);
        for (depth, line) in lines.iter().enumerate().rev() {
            let function = symbols.function(line.function);
            let name = function.map_or(&b""[..], |&function| without_parameters(function, symbols));
            self.text.clear();
            if name.is_empty() {
                self.unknown(stack_frame, map);
            } else {
                self.push_name(name);
            }
            let is_inlined = depth + 1 < lines.len() || symbols.is_inlined(frame);
            self.push(stack_frame, map, is_inlined);
        }
        if lines.is_empty() {
            self.text.clear();
            self.unknown(stack_frame, map);
            self.push(stack_frame, map, false);
        }
        first..self.functions.len() as u32
    }

    /// Writes the name of a frame without symbols: its file in brackets.
    fn unknown(&mut self, frame: Frame, map: Option<&Map>) {
        self.text.push(b'[');
        let file = map.map_or(Cow::Borrowed(&b"unknown"[..]), Map::printed_file);
        let last = file.rsplit(|&byte| byte == b'/').next().filter(|last| !last.is_empty());
        self.push_name(cut_name(last.unwrap_or(&file)));
        if self.has_addresses {
            // Writing to a vector cannot fail.
            let _ = write!(self.text, " <{:x}>", map.map_or(frame.address, |map| map.printed_address(frame.address)));
        }
        self.text.push(b']');
    }

    /// Adds the function whose name was written.
    fn push(&mut self, frame: Frame, map: Option<&Map>, is_inlined: bool) {
        let is_kernel = self.tables.is_kernel_frame(frame);
        if is_inlined && self.marks_inlined {
            self.text.extend_from_slice(b"_[i]");
        } else if is_kernel && self.marks_kernel {
            self.text.extend_from_slice(b"_[k]");
        } else if self.marks_jit && map.is_some_and(is_jit) {
            self.text.extend_from_slice(b"_[j]");
        }
        self.functions.push(self.names.id(&self.text));
    }
}

/// Whether a mapping is code that a process generated, or its image.
fn is_jit(map: &Map) -> bool {
    let name = map.filename.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    map.pid.is_some() || name.starts_with(b"jitted-") || name.starts_with(b"perf-") && name.ends_with(b".map")
}
