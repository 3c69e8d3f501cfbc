//! Places in code that frames stand for: one for each function at an address, inlined ones included.

use super::key::ReportKey;
use crate::profile::function_selection::SelectedFunctions;
use crate::profile::intern::stacks::FrameId;
use crate::profile::options::FunctionNames;
use crate::profile::symbolize::function_name::{ShownFunction, without_own_parameters};
use crate::profile::symbolize::shown_functions::ShownFunctions;
use crate::profile::symbolize::symbols::Line;
use crate::profile::{Frame, Tables};
use hashbrown::{HashMap, HashSet};
use perf_data::error::Result;
use perf_data::session::kernel_names::module_name;
use perf_data::session::map::{Map, cut_name};
use perf_data::session::names::{NameId, Names};
use std::borrow::Cow;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// ID of a location in [`Locations`].
pub type LocationId = u32;

/// A place in a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Location {
    /// Full name of the function, without parameters; if it is unknown, the name of the file in brackets. Equal for what is
    /// [shown](Locations::function_name) as one function.
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

impl LocationSelection {
    /// The full names of the functions.
    pub(crate) fn names<'a>(&self, locations: &'a Locations) -> HashSet<Cow<'a, str>> {
        let selected = locations.list.iter().zip(&self.is_selected).filter(|(_, is_selected)| **is_selected);
        selected.map(|(location, _)| locations.text(location.function)).collect()
    }
}

/// The function of a frame.
struct FrameFunction {
    /// Its full name; `None` if it is unknown.
    name: Option<NameId>,
    /// Path of its source file; empty if unknown.
    file: NameId,
    start_line: i64,
}

/// The locations of all frames of a profile.
#[derive(Debug, Default)]
pub struct Locations {
    names: Names,
    /// Short names of functions, where they differ from the full ones.
    short_names: HashMap<NameId, String>,
    /// Other names of functions, with those that they are shown as: of parts, clones and tiers.
    other_names: HashSet<(NameId, NameId)>,
    list: Vec<Location>,
    by_location: HashMap<Location, LocationId>,
    /// By location: the first one in its line.
    by_line: Vec<LocationId>,
    /// By frame: the range of its locations in `location_ids`.
    frames: Vec<Range<u32>>,
    location_ids: Vec<LocationId>,
}

impl Locations {
    /// Determines the locations of frames, whose functions have full names.
    pub fn new(tables: &Tables) -> Self {
        Self::with_names(tables, FunctionNames::Full)
    }

    /// Determines the locations of frames, with these names of functions.
    pub fn with_names(tables: &Tables, names: FunctionNames) -> Self {
        let mut locations = Self::default();
        let shown = (names == FunctionNames::Short)
            .then(|| ShownFunctions::new(tables.stacks.frames(), &tables.mappings, &tables.symbols));
        for (id, &frame) in (0..).zip(tables.stacks.frames()) {
            let first = locations.location_ids.len() as u32;
            locations.add(id, frame, tables, shown.as_ref());
            locations.frames.push(first..locations.location_ids.len() as u32);
        }
        let mut lines = HashMap::new();
        let line = |(id, location): (LocationId, &Location)| *lines.entry((location.file, location.line)).or_insert(id);
        locations.by_line = (0..).zip(&locations.list).map(line).collect();
        locations
    }

    fn add(&mut self, id: FrameId, frame: Frame, tables: &Tables, shown: Option<&ShownFunctions>) {
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
            let FrameFunction { name, file: source, start_line } = match shown {
                Some(shown) => self.short_function(*line, frame, tables, shown),
                None => self.full_function(*line, tables),
            };
            let function = name.unwrap_or_else(|| self.unknown(file));
            self.push(Location {
                function,
                dso,
                file: source,
                line: line.line,
                start_line,
                is_named: name.is_some(),
                is_kernel,
                is_inlined: depth + 1 < lines.len() || symbols.is_inlined(id),
            });
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

    fn full_function(&mut self, line: Line, tables: &Tables) -> FrameFunction {
        let symbols = &tables.symbols;
        let function = symbols.function(line.function);
        let name = function.map_or(&b""[..], |&function| without_own_parameters(function, symbols));
        FrameFunction {
            name: (!name.is_empty()).then(|| self.names.id(name)),
            file: self.names.id(function.map_or(&b""[..], |function| symbols.name(function.file))),
            start_line: function.map_or(0, |function| function.start_line),
        }
    }

    fn short_function(&mut self, line: Line, frame: Frame, tables: &Tables, shown: &ShownFunctions) -> FrameFunction {
        let mut function = self.full_function(line, tables);
        let Some(ShownFunction { full, short }) = shown.get(line.function, frame.mapping()) else { return function };
        let name = self.names.id(full.as_bytes());
        self.other_names.extend(function.name.filter(|&other| other != name).map(|other| (other, name)));
        function.name = Some(name);
        if short.text != *full {
            self.short_names.entry(name).or_insert_with(|| short.text.clone());
        }
        if let Some((file, start_line)) = short.source.as_ref().filter(|_| self.names.name(function.file).is_empty()) {
            function.file = self.names.id(file.as_bytes());
            function.start_line = *start_line;
        }
        function
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

    /// The name under which a function is shown, by that of [`Location::function`].
    pub fn function_name(&self, function: NameId) -> Cow<'_, str> {
        match self.short_names.get(&function) {
            Some(name) => Cow::Borrowed(name),
            None => self.text(function),
        }
    }

    /// The functions that are shown under other names than their full ones: the full and the shown name of each.
    pub(crate) fn shown_names(&self) -> impl Iterator<Item = (Cow<'_, str>, &str)> {
        self.short_names.iter().map(|(&full, shown)| (self.text(full), &**shown))
    }

    /// Replaces full names of functions in a column by those that are shown in one of these tables of locations.
    pub(crate) fn show_names<'a>(
        tables: &[&Self],
        keys: &[ReportKey],
        cells: impl Iterator<Item = &'a mut Vec<Arc<str>>>,
    ) {
        let Some(column) = keys.iter().position(|key| *key == ReportKey::Sym) else { return };
        let names: HashMap<_, _> = tables.iter().flat_map(|table| table.shown_names()).collect();
        for cells in cells {
            if let Some(&name) = names.get(&*cells[column]) {
                cells[column] = name.into();
            }
        }
    }

    /// Source file and line, `file:line`; empty if unknown.
    pub fn source(&self, location: &Location) -> String {
        match (self.names.name(location.file), location.line) {
            (b"", _) => String::new(),
            (_, 0) => self.text(location.file).into_owned(),
            (_, line) => format!("{}:{line}", self.text(location.file)),
        }
    }

    /// By location: the group in which the lines of a selected function are listed, one of all or one of each function.
    pub fn groups(&self, is_selected: &[bool], is_each: bool) -> Vec<Option<u32>> {
        let group = |location: &Location| if is_each { location.function.0 } else { 0 };
        self.list.iter().zip(is_selected).map(|(location, is_selected)| is_selected.then(|| group(location))).collect()
    }

    /// The functions that a text [selects](SelectedFunctions), in any file.
    ///
    /// # Errors
    /// If it selects none.
    pub fn select(&self, text: &str) -> Result<LocationSelection> {
        let functions: HashSet<NameId> = self.list.iter().map(|location| location.function).collect();
        let own_names = functions.iter().map(|&function| (function, function));
        let names: Vec<_> = own_names.chain(self.other_names.iter().copied()).collect();
        let texts: Vec<_> =
            names.iter().map(|&(full, function)| (self.function_name(function), self.text(full))).collect();
        let selected = SelectedFunctions::with_full_names(text, texts.iter().map(|(name, full)| (&**name, &**full)))?;
        let full_names: HashSet<&str> = selected.full_names.iter().copied().collect();
        let is_named = texts.iter().map(|(_, full)| full_names.contains(&**full));
        let functions: HashSet<NameId> =
            names.iter().zip(is_named).filter(|(_, is_named)| *is_named).map(|(&(_, function), _)| function).collect();
        let is_selected = self.list.iter().map(|location| functions.contains(&location.function)).collect();
        Ok(LocationSelection { title: selected.title(), is_selected })
    }
}
