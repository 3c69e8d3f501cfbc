//! Names of frames in folded stacks.

use super::{Folded, FrameKind};
use crate::profile::intern::stacks::{FrameId, StackId};
use crate::profile::options::FunctionNames;
use crate::profile::symbolize::function_name::{is_jit, without_parameters};
use crate::profile::{Frame, Tables};
use crate::report::location::Locations;
use hashbrown::HashMap;
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
    /// The locations of frames, if functions have short names.
    locations: Option<Locations>,
    /// Short names, by the names from which they differ.
    short_names: HashMap<NameId, String>,
    /// By frame: its functions in `functions`, outermost first.
    frames: Vec<Option<Range<u32>>>,
    functions: Vec<NameId>,
    text: Vec<u8>,
}

impl<'a> FrameNames<'a> {
    /// Creates names without frames.
    pub(crate) fn new(tables: &'a Tables, options: &Folded, show: Show, names: FunctionNames) -> Self {
        let marks = |kind| options.annotate.contains(&kind);
        Self {
            tables,
            show,
            has_addresses: options.addresses,
            marks_kernel: marks(FrameKind::Kernel),
            marks_inlined: marks(FrameKind::Inlined),
            marks_jit: marks(FrameKind::Jit),
            names: Names::default(),
            locations: (names == FunctionNames::Short).then(|| Locations::with_names(tables, names)),
            short_names: HashMap::new(),
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

    /// The interned names, and the short ones of functions by those from which they differ.
    pub(crate) fn into_names(self) -> (Names, HashMap<NameId, String>) {
        (self.names, self.short_names)
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
            let short = if name.is_empty() { None } else { self.short_name(frame, depth) };
            self.text.clear();
            if name.is_empty() {
                self.unknown(stack_frame, map);
            } else if let Some((full, _)) = &short {
                self.text.extend_from_slice(full);
            } else {
                self.push_name(name);
            }
            let is_inlined = depth + 1 < lines.len() || symbols.is_inlined(frame);
            let id = self.push(stack_frame, map, is_inlined);
            self.short_names
                .extend(short.filter(|(full, short)| full != short.as_bytes()).map(|(_, short)| (id, short)));
        }
        if lines.is_empty() {
            self.text.clear();
            self.unknown(stack_frame, map);
            self.push(stack_frame, map, false);
        }
        first..self.functions.len() as u32
    }

    /// The full and the short name of a function at a frame, if functions have short names.
    fn short_name(&mut self, frame: FrameId, depth: usize) -> Option<(Vec<u8>, String)> {
        let locations = self.locations.as_ref()?;
        let function = locations.get(*locations.frame_locations(frame).get(depth)?).function;
        let [full, short] = [locations.text(function).into_owned(), locations.function_name(function).into_owned()]
            .map(|name| {
                self.text.clear();
                self.push_name(name.as_bytes());
                self.text.clone()
            });
        Some((full, String::from_utf8_lossy(&short).into_owned()))
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
    fn push(&mut self, frame: Frame, map: Option<&Map>, is_inlined: bool) -> NameId {
        let is_kernel = self.tables.is_kernel_frame(frame);
        if is_inlined && self.marks_inlined {
            self.text.extend_from_slice(b"_[i]");
        } else if is_kernel && self.marks_kernel {
            self.text.extend_from_slice(b"_[k]");
        } else if self.marks_jit && map.is_some_and(is_jit) {
            self.text.extend_from_slice(b"_[j]");
        }
        let id = self.names.id(&self.text);
        self.functions.push(id);
        id
    }
}
