//! Places in code that frames stand for: one for each function at an address, inlined ones included.

use crate::profile::function_selection::SelectedFunctions;
use crate::profile::intern::stacks::FrameId;
use crate::profile::symbolize::function_name::without_own_parameters;
use crate::profile::{Frame, Tables};
use hashbrown::{HashMap, HashSet};
use perf_data::error::Result;
use perf_data::session::kernel_names::module_name;
use perf_data::session::map::{Map, cut_name};
use perf_data::session::names::{NameId, Names};
use std::borrow::Cow;
use std::ops::Range;
use std::path::Path;

/// ID of a location in [`Locations`].
pub type LocationId = u32;

/// A place in a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Location {
    /// Name of the function, without parameters; if it is unknown, the name of the file in brackets.
    pub function: NameId,
    /// Name of the file or memory with the code, without directories.
    pub dso: NameId,
    /// Path of the source file; empty if unknown.
    pub file: NameId,
    /// Line in the source file; 0 if unknown.
    pub line: i64,
    /// First line of the function; 0 if unknown.
    pub start_line: i64,
    /// Whether the function is known.
    pub is_named: bool,
    /// Whether it is code of a kernel.
    pub is_kernel: bool,
    /// Whether the function is inlined into the next one.
    pub is_inlined: bool,
}

/// Functions that a text selects.
#[derive(Clone, Debug)]
pub struct LocationSelection {
    /// Their names.
    pub title: String,
    /// By location: whether it is in one of them.
    pub is_selected: Vec<bool>,
}

/// The locations of all frames of a profile.
#[derive(Debug, Default)]
pub struct Locations {
    names: Names,
    list: Vec<Location>,
    by_location: HashMap<Location, LocationId>,
    /// By location: the first one in its line.
    by_line: Vec<LocationId>,
    /// By frame: the range of its locations in `location_ids`.
    frames: Vec<Range<u32>>,
    location_ids: Vec<LocationId>,
}

impl Locations {
    /// Determines the locations of frames.
    pub fn new(tables: &Tables) -> Self {
        let mut locations = Self::default();
        for (id, &frame) in (0..).zip(tables.stacks.frames()) {
            let first = locations.location_ids.len() as u32;
            locations.add(id, frame, tables);
            locations.frames.push(first..locations.location_ids.len() as u32);
        }
        let mut lines = HashMap::new();
        let line = |(id, location): (LocationId, &Location)| *lines.entry((location.file, location.line)).or_insert(id);
        locations.by_line = (0..).zip(&locations.list).map(line).collect();
        locations
    }

    fn add(&mut self, id: FrameId, frame: Frame, tables: &Tables) {
        let map = frame.mapping().map(|mapping| &tables.mappings[mapping as usize]);
        let file = map.map_or(Cow::Borrowed(&b"[unknown]"[..]), Map::printed_file);
        let last = file.rsplit(|&byte| byte == b'/').next().filter(|last| !last.is_empty());
        let file = cut_name(last.unwrap_or(&file));
        // Perf has names of kernel modules as kallsyms has them.
        let module = str::from_utf8(file).ok().filter(|_| map.is_some_and(Map::belongs_to_kernel));
        let module = module.filter(|name| !name.starts_with('[')).and_then(|name| module_name(Path::new(name)));
        let dso = module.map(|name| format!("[{name}]"));
        let dso = self.names.id(dso.as_ref().map_or(file, |name| name.as_bytes()));
        let (is_kernel, symbols) = (tables.is_kernel_frame(frame), &tables.symbols);
        let lines = symbols.lines(id);
        for (depth, line) in lines.iter().enumerate() {
            let function = symbols.function(line.function);
            let name = function.map_or(&b""[..], |&function| without_own_parameters(function, symbols));
            let is_named = !name.is_empty();
            let location = Location {
                function: if is_named { self.names.id(name) } else { self.unknown(file) },
                dso,
                file: self.names.id(function.map_or(&b""[..], |function| symbols.name(function.file))),
                line: line.line,
                start_line: function.map_or(0, |function| function.start_line),
                is_named,
                is_kernel,
                is_inlined: depth + 1 < lines.len() || symbols.is_inlined(id),
            };
            self.push(location);
        }
        if lines.is_empty() {
            let (function, file) = (self.unknown(file), self.names.id(b""));
            let (line, start_line) = (0, 0);
            self.push(Location {
                function,
                dso,
                file,
                line,
                start_line,
                is_named: false,
                is_kernel,
                is_inlined: false,
            });
        }
    }

    /// The name that stands for unknown functions of a file.
    fn unknown(&mut self, file: &[u8]) -> NameId {
        let name = file.strip_prefix(b"[").and_then(|name| name.strip_suffix(b"]")).unwrap_or(file);
        self.names.id(&[b"[", name, b"]"].concat())
    }

    fn push(&mut self, location: Location) {
        let Self { list, by_location, location_ids, .. } = self;
        location_ids.push(*by_location.entry(location).or_insert_with(|| {
            list.push(location);
            list.len() as LocationId - 1
        }));
    }

    /// The locations of a frame, innermost function first; at least one.
    pub fn frame_locations(&self, frame: FrameId) -> &[LocationId] {
        let Range { start, end } = self.frames[frame as usize];
        &self.location_ids[start as usize..end as usize]
    }

    /// The locations of a stack, leaf first.
    pub fn stack_locations<'a>(&'a self, stack: &'a [FrameId]) -> impl DoubleEndedIterator<Item = LocationId> + 'a {
        stack.iter().flat_map(|&frame| self.frame_locations(frame).iter().copied())
    }

    /// All locations, by ID.
    pub fn list(&self) -> &[Location] {
        &self.list
    }

    /// A location in the same line of the same file, equal for all locations in it.
    pub fn first_of_line(&self, id: LocationId) -> LocationId {
        self.by_line[id as usize]
    }

    /// The location with this ID.
    pub fn get(&self, id: LocationId) -> &Location {
        &self.list[id as usize]
    }

    /// A name, with replacement characters where it is not UTF-8.
    pub fn text(&self, id: NameId) -> Cow<'_, str> {
        String::from_utf8_lossy(self.names.name(id))
    }

    /// Source file and line, `file:line`; empty if unknown.
    pub fn source(&self, location: &Location) -> String {
        match (self.names.name(location.file), location.line) {
            (b"", _) => String::new(),
            (_, 0) => self.text(location.file).into_owned(),
            (_, line) => format!("{}:{line}", self.text(location.file)),
        }
    }

    /// The functions that a text [selects](SelectedFunctions), in any file.
    ///
    /// # Errors
    /// If it selects none.
    pub fn select(&self, text: &str) -> Result<LocationSelection> {
        let texts: HashMap<NameId, Cow<'_, str>> =
            self.list.iter().map(|location| (location.function, self.text(location.function))).collect();
        let selected = SelectedFunctions::new(text, texts.values().map(|name| &**name))?;
        let names: HashSet<&str> = selected.names.iter().copied().collect();
        let is_selected = self.list.iter().map(|location| names.contains(&*texts[&location.function])).collect();
        Ok(LocationSelection { title: selected.title(), is_selected })
    }
}
