//! Looks up the symbols of frames: in the imported profile, or in the object files of the recorded machine.

pub(crate) mod code;
pub(crate) mod function_name;
mod objects;
pub(crate) mod shown_functions;
pub mod symbols;
pub mod unsymbolized;

use super::imported::ImportedProfile;
use super::{Frame, MappingId, Place};
use code::CodeSources;
use hashbrown::HashMap;
use perf_data::session::ProcessFiles;
use perf_data::session::map::Map;
use perf_data::stream::meta::Meta;
#[cfg(feature = "disassembly")]
use perf_symbols::symbol::code::FunctionCode;
use std::sync::Arc;
use symbols::{FrameSymbol, Function, FunctionId, Line, Symbols};

pub(crate) use objects::object_key;
pub use perf_symbols::symbolizer::SymbolOptions;

/// Where to look up the symbols of frames. By default nowhere.
#[derive(Clone, Debug, Default)]
pub struct SymbolSources {
    /// The profile that the recording was converted from.
    pub imported: Option<Arc<ImportedProfile>>,
    /// How object files are searched.
    pub objects: Option<Arc<SymbolOptions>>,
}

impl SymbolSources {
    /// Whether there is any source.
    pub fn is_any(&self) -> bool {
        self.imported.is_some() || self.has_objects()
    }

    /// Whether object files are searched: then memory is distinguished by process, since each has its own JIT code.
    pub(crate) fn has_objects(&self) -> bool {
        self.objects.is_some()
    }
}

/// Looks up symbols of frames as they become known, each once.
#[derive(Debug)]
pub(crate) struct Symbolization {
    imported: Option<Arc<ImportedProfile>>,
    /// Functions by their ID in the imported profile.
    imported_functions: HashMap<FunctionId, FunctionId>,
    objects: Option<objects::ObjectSearch>,
    /// Number of frames that were looked up.
    looked_up: usize,
    symbols: Symbols,
}

impl Symbolization {
    /// Creates a lookup for the frames of a recording.
    pub(crate) fn new(sources: &SymbolSources, meta: &Meta) -> Self {
        // Object files are searched by the metadata of the recording.
        let imported = sources.imported.clone();
        let mappings = imported.as_ref().map(|imported| imported.symbols.mappings.clone());
        Self {
            imported,
            imported_functions: HashMap::new(),
            objects: sources.objects.as_deref().map(|options| objects::ObjectSearch::new(options, meta)),
            looked_up: 0,
            symbols: Symbols::new(mappings.unwrap_or_default()),
        }
    }

    /// Keeps object files open, for frames that become known in many small steps.
    #[must_use]
    pub(crate) fn keep_objects(self) -> Self {
        Self { objects: self.objects.map(objects::ObjectSearch::keep_objects), ..self }
    }

    /// Also keeps what is needed to read the code of the frames' functions.
    #[must_use]
    pub(crate) fn keep_code(self, meta: &Meta) -> Self {
        Self { objects: self.objects.map(|objects| objects.keep_code(meta)), ..self }
    }

    /// Where the code of the frames' functions is found, if it is kept.
    pub(crate) fn code(&mut self) -> Option<CodeSources> {
        self.objects.as_mut().and_then(objects::ObjectSearch::code)
    }

    /// At most so many bytes of code from the address of a frame on, which has been looked up, if code is kept.
    #[cfg(feature = "disassembly")]
    pub(crate) fn code_from(&self, frame: Frame, len: usize) -> Option<FunctionCode> {
        self.objects.as_ref()?.code_from(frame, len)
    }

    /// Looks up the frames that are not yet known, of all frames and mappings so far.
    pub(crate) fn look_up(&mut self, frames: &[Frame], mappings: &[Map], process_files: &ProcessFiles) {
        let new = self.looked_up..frames.len();
        self.looked_up = frames.len();
        // Frames without a function in the imported profile.
        let mut rest = Vec::new();
        for id in new {
            let Place::In(mapping) = frames[id].place else { continue };
            let map = &mappings[mapping as usize];
            let symbol = self.imported.as_ref().and_then(|imported| imported.symbols.find(map, frames[id].address));
            let is_named = symbol.is_some_and(|symbol| symbol.line.is_some());
            if let Some(symbol) = symbol {
                self.add_imported(id as u32, symbol);
            }
            if !is_named {
                rest.push(id as u32);
            }
        }
        if let Some(objects) = &mut self.objects {
            objects.look_up(&rest, frames, mappings, process_files, &mut self.symbols);
        }
    }

    fn add_imported(&mut self, frame: u32, symbol: FrameSymbol) {
        let Self { imported, imported_functions, symbols, .. } = self;
        let FrameSymbol { line, is_inlined, origin } = symbol;
        if is_inlined || origin.is_some() {
            symbols.set_imported(frame, is_inlined, origin);
        }
        let Some((line, imported)) = line.zip(imported.as_ref()) else { return };
        let source = &imported.symbols;
        let Some(&Function { name, system_name, file, start_line }) = source.functions.get(line.function as usize)
        else {
            return;
        };
        let function = *imported_functions.entry(line.function).or_insert_with(|| {
            let [name, system_name, file] =
                [name, system_name, file].map(|name| symbols.name_id(source.names.name(name)));
            symbols.function_id(Function { name, system_name, file, start_line })
        });
        symbols.set_lines(frame, &[Line { function, ..line }], None);
    }

    /// The symbols so far.
    pub(crate) fn symbols(&self) -> &Symbols {
        &self.symbols
    }

    /// The outcome of the searches so far.
    pub(crate) fn reports(&self) -> ObjectReports {
        self.objects.as_ref().map(objects::ObjectSearch::reports).unwrap_or_default()
    }

    /// Returns the symbols, and a report on the search for object files.
    pub(crate) fn finish(self) -> (Symbols, ObjectReports) {
        let reports = self.objects.map(objects::ObjectSearch::finish).unwrap_or_default();
        (self.symbols, reports)
    }
}

/// The outcome of the search for the object of each mapping that has frames.
#[derive(Clone, Debug, Default)]
pub struct ObjectReports {
    /// What is missing, by mapping.
    pub missing: HashMap<MappingId, Arc<MissingSymbols>>,
}

/// Why functions of an object are unknown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingSymbols {
    /// What is missing, and what to do about it.
    pub reason: String,
    /// The files that were tried, each with the outcome.
    pub attempts: Vec<String>,
}
