//! Object files with their debug files as a source of symbols.

use super::arena::Arena;
use super::code::{self, FunctionCode, MissingCode};
use super::dwarf::{self, DwarfCache, DwarfFiles, DwarfLookup};
use super::find::attempt::{Attempt, Role};
use super::find::candidate_paths::SplitUnit;
use super::find::fetch::Wanted;
use super::find::search::{Search, split_dwarf};
use super::find::{Policy, SearchOptions};
use super::gopclntab::GoTable;
use super::lookup::{FramesKey, FunctionFrame, Lookup};
use super::object::Object;
use super::source::{ObjectKey, OpenedObject, Source};
use super::source_lookup::SourceLookup;
use super::table::SymbolTable;
use std::fs::File;
use std::io::Read;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

/// Number of bytes that are read of a source file.
const MAX_SOURCE: u64 = 64 << 20;

/// Object files found in the directories of the search options.
#[derive(Debug)]
pub struct ElfSource {
    options: Arc<SearchOptions>,
}

impl ElfSource {
    /// Creates a source that searches these directories.
    pub fn new(options: Arc<SearchOptions>) -> Self {
        Self { options }
    }
}

impl Source for ElfSource {
    fn open(&self, key: &ObjectKey, attempts: &mut Vec<Attempt>) -> Option<Box<dyn OpenedObject>> {
        if self.options.policy == Policy::No {
            return None;
        }
        let files = ElfFiles::find(&self.options, key, attempts)?;
        Some(Box::new(files))
    }
}

/// An object with its debug files.
#[derive(Debug)]
pub struct ElfFiles {
    object: Option<Object>,
    debug: Option<Object>,
    supplementary: Option<Object>,
    package: Option<Object>,
    options: Arc<SearchOptions>,
    table: OnceLock<SymbolTable>,
    data: OnceLock<SymbolTable>,
    dwarf: DwarfCache,
}

impl ElfFiles {
    /// Finds the files of an object; `None` if there is neither the object nor a debug file.
    pub fn find(options: &Arc<SearchOptions>, key: &ObjectKey, attempts: &mut Vec<Attempt>) -> Option<Self> {
        let mut search = Search::new(options, key, attempts);
        let object = search.object();
        let has_dwarf = object.as_ref().is_some_and(Object::has_dwarf);
        let debug = if has_dwarf { None } else { search.debug_file(object.as_ref()) };
        let is_any = object.is_some() || debug.is_some();
        let object = if is_any { object } else { search.fetch_object() };
        let mut files = Self::new(object, debug, Arc::clone(options))?;
        if let Some(main) = files.debug_info() {
            let candidates: Vec<&Object> = files.object.iter().chain(&files.debug).collect();
            let (supplementary, is_split) = (search.alternate(main), is_split(main));
            let package = if is_split { search.package(&candidates) } else { None };
            (files.supplementary, files.package) = (supplementary, package);
        }
        Some(files)
    }

    /// Finds the image of a kernel; `None` if there is none with symbols.
    pub fn find_kernel(options: &Arc<SearchOptions>, key: &ObjectKey, attempts: &mut Vec<Attempt>) -> Option<Self> {
        let image = Search::new(options, key, attempts).vmlinux()?;
        Some(Self::from_object(image))
    }

    /// An object without debug files.
    pub fn from_object(object: Object) -> Self {
        Self { object: Some(object), ..Self::empty() }
    }

    /// The same files, with these search options.
    #[must_use]
    pub fn with_options(self, options: Arc<SearchOptions>) -> Self {
        Self { options, ..self }
    }

    fn new(object: Option<Object>, debug: Option<Object>, options: Arc<SearchOptions>) -> Option<Self> {
        let is_any = object.is_some() || debug.is_some();
        is_any.then(|| Self { object, debug, options, ..Self::empty() })
    }

    fn empty() -> Self {
        Self {
            object: None,
            debug: None,
            supplementary: None,
            package: None,
            options: Arc::default(),
            table: OnceLock::new(),
            data: OnceLock::new(),
            dwarf: DwarfCache::default(),
        }
    }

    /// The file with `.debug_info`.
    fn debug_info(&self) -> Option<&Object> {
        let mut files = self.object.iter().chain(&self.debug);
        files.find(|file| file.has_dwarf())
    }

    /// The object, or else its debug file.
    pub fn object(&self) -> Option<&Object> {
        self.object.as_ref().or(self.debug.as_ref())
    }

    /// Functions by address.
    pub fn table(&self) -> &SymbolTable {
        let object = self.object();
        self.table.get_or_init(|| {
            object.map_or_else(SymbolTable::default, |object| SymbolTable::new(object, self.debug.as_ref()))
        })
    }

    /// Names of symbols of code with their addresses, including all names of one address.
    pub fn each_symbol(&self, on_symbol: &mut dyn FnMut(u64, &[u8])) {
        if let Some(object) = self.object() {
            SymbolTable::each_alias(object, self.debug.as_ref(), on_symbol);
        }
    }

    /// Whether the symbol table has a name, of code or data.
    pub fn has_symbol(&self, name: &str) -> bool {
        let name = [b"\0", name.as_bytes(), b"\0"].concat();
        let has_name = |file: &Object| memchr::memmem::find(file.section(b".strtab"), &name).is_some();
        self.object.iter().chain(&self.debug).any(has_name)
    }

    /// Calls `lookups` with the debug information. Whether there is any.
    pub fn with_source(&self, lookups: &mut dyn FnMut(&SourceLookup<'_, '_>)) -> bool {
        self.debug_info().map(|main| self.with_dwarf(main, true, &mut |dwarf| lookups(&SourceLookup(dwarf)))).is_some()
    }

    fn with_dwarf(&self, main: &Object, has_lines: bool, lookups: &mut dyn FnMut(&DwarfLookup<'_>)) {
        let path = self.path();
        let split = |unit: &SplitUnit| split_dwarf(&self.options, unit, &path);
        let opened = Arena::default();
        let files = DwarfFiles {
            main,
            supplementary: self.supplementary.as_ref(),
            package: self.package.as_ref(),
            split: &split,
            table: self.table(),
            opened: &opened,
            cache: &self.dwarf,
            has_lines,
        };
        lookups(&DwarfLookup::new(files));
    }

    /// Data by address.
    fn data(&self) -> &SymbolTable {
        let object = self.object();
        self.data.get_or_init(|| {
            object.map_or_else(SymbolTable::default, |object| SymbolTable::data(object, self.debug.as_ref()))
        })
    }

    /// Whether an address is in a section that is loaded, but has no code.
    fn is_data(&self, address: u64) -> bool {
        let sections = self.object().map_or(&[][..], Object::sections);
        let mut holding = sections.iter().filter(|section| {
            section.address > 0 && address.checked_sub(section.address).is_some_and(|offset| offset < section.size)
        });
        holding.next().is_some_and(|section| !section.is_executable)
    }

    fn path(&self) -> PathBuf {
        self.object().map(|object| object.path().to_owned()).unwrap_or_default()
    }
}

/// Whether a file may have split DWARF: units then refer to addresses by index.
fn is_split(object: &Object) -> bool {
    object.section_index(b".debug_addr").is_some()
}

impl OpenedObject for ElfFiles {
    fn address_of_offset(&self, offset: u64) -> Option<u64> {
        self.object()?.address_of_offset(offset)
    }

    fn debug_size(&self) -> u64 {
        let size = |object: &Object| {
            let index = object.section_index(b".debug_info")?;
            Some(object.sections()[index].size)
        };
        self.debug_info().and_then(size).unwrap_or(0)
    }

    fn memory_size(&self) -> u64 {
        self.debug_info().into_iter().chain(&self.supplementary).map(dwarf::memory_size).fold(0, u64::saturating_add)
    }

    fn split_files(&self) -> Vec<(u64, PathBuf)> {
        let Some(main) = self.debug_info() else { return Vec::new() };
        let path = self.path();
        let package = self.package.as_ref();
        let opened = |unit: &SplitUnit| Some((unit.id, split_dwarf(&self.options, unit, &path)?.path().to_owned()));
        dwarf::split_units(main, package).iter().filter_map(opened).collect()
    }

    fn prepare(&self, threads: usize) {
        for file in self.debug_info().into_iter().chain(&self.supplementary) {
            dwarf::inflate(file, threads);
        }
    }

    fn code(&self, address: u64) -> Result<FunctionCode, MissingCode> {
        let Some(object) = &self.object else { return Err(MissingCode::DebugFileOnly) };
        if let Some((start, end)) = self.table().range(address) {
            return code::in_object(object, (start, Some(end)));
        }
        // The table of Go programs, or debug information.
        let mut start = None;
        self.with_lookup(&mut |lookup| start = code::symbol_start(lookup, address));
        code::in_object(object, (start.ok_or(MissingCode::NoFunction)?, None))
    }

    fn code_from(&self, address: u64, len: usize) -> Option<FunctionCode> {
        code::from_address(self.object.as_ref()?, address, len)
    }

    fn fetch_source(&self, path: &str) -> Option<Vec<u8>> {
        let (object, fetcher) = (self.object()?, self.options.fetcher.as_ref()?);
        let wanted = Wanted { object: object.path(), build_id: object.build_id()?, role: Role::Source };
        let file = File::open(fetcher.0.fetch_source(&wanted, path)?).ok()?;
        let mut text = Vec::new();
        file.take(MAX_SOURCE).read_to_end(&mut text).ok()?;
        Some(text)
    }

    fn with_lookup(&self, lookups: &mut dyn FnMut(&dyn Lookup)) {
        self.with_code_lookup(&mut |code| lookups(&DataOrCode { files: self, code }));
    }
}

/// Names of data where an address is in data, of functions elsewhere.
struct DataOrCode<'a> {
    files: &'a ElfFiles,
    code: &'a dyn Lookup,
}

impl Lookup for DataOrCode<'_> {
    fn look_up(&self, address: u64, on_frame: &mut dyn FnMut(&FunctionFrame<'_>)) {
        match self.files.is_data(address) {
            true => self.files.data().look_up(address, on_frame),
            false => self.code.look_up(address, on_frame),
        }
    }

    fn frames_key(&self, address: u64) -> Option<FramesKey> {
        self.code.frames_key(address).filter(|_| !self.files.is_data(address))
    }

    fn source(&self, address: u64) -> Option<Vec<u8>> {
        self.code.source(address)
    }

    fn exceeds_limit(&self) -> bool {
        self.code.exceeds_limit()
    }
}

impl ElfFiles {
    fn with_code_lookup(&self, lookups: &mut dyn FnMut(&dyn Lookup)) {
        let table = self.table();
        let Some(main) = self.debug_info() else {
            return match self.object().and_then(GoTable::new) {
                Some(go) => lookups(&(&go, table)),
                None => lookups(table),
            };
        };
        self.with_dwarf(main, !self.options.without_lines, &mut |dwarf| lookups(dwarf));
    }
}
