//! Object files as the unwinder sees them: compiled rules by address, code and constant data.

use super::arch::{Architecture, Trampoline};
use super::cfi::{Cfi, CfiRow};
use super::jit::JitCode;
use super::rule::Rule;
use crate::symbol::find::SearchOptions;
use crate::symbol::find::search::Search;
use crate::symbol::object::Object;
use crate::symbol::source::ObjectKey;
use gimli::UnwindContext;
use object::Endianness;
use perf_data::abi::Endian;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Maximum number of cached rules: each address without CFI has an entry of its own.
const MAX_CACHED: usize = 1 << 20;

/// An object file with a cache of its rules.
#[derive(Debug)]
pub(crate) struct UnwindObject {
    key: ObjectKey,
    options: Arc<SearchOptions>,
    /// The object, unless it was not found.
    object: Option<Cfi>,
    /// If the object is the image of JIT code: where its functions are.
    jit: Option<JitCode>,
    /// Its debug file, once searched, or else the one embedded in it.
    debug: Option<Option<Cfi>>,
    arch: &'static Architecture,
    /// Compiled rules by the start of their addresses, with the end; `None` where there is no CFI.
    ranges: BTreeMap<u64, (u64, Option<Arc<Rule>>)>,
}

impl UnwindObject {
    pub(crate) fn find(options: &Arc<SearchOptions>, key: ObjectKey, arch: &'static Architecture) -> Self {
        if key.pid.is_some() {
            let (jit, image) = JitCode::find(options, &key).unzip();
            return Self { jit, ..Self::new(key, image, arch) };
        }
        let mut attempts = Vec::new();
        let object = Search::new(options, &key, &mut attempts).object();
        Self { options: Arc::clone(options), ..Self::new(key, object, arch) }
    }

    /// An object, if it is available.
    pub(crate) fn new(key: ObjectKey, object: Option<Object>, arch: &'static Architecture) -> Self {
        let object = object.map(Cfi::new);
        Self { key, options: Arc::default(), object, jit: None, debug: None, arch, ranges: BTreeMap::new() }
    }

    /// Whether the object itself is available.
    pub(crate) fn is_found(&self) -> bool {
        self.object.is_some()
    }

    fn file(&self) -> Option<&Object> {
        self.object.as_ref().map(Cfi::file)
    }

    /// The address in the object of an offset in its file, or of an address of JIT code.
    pub(crate) fn address_of_offset(&mut self, offset: u64) -> Option<u64> {
        if self.object.is_none() && self.key.pid.is_none() {
            // The segments of a debug file are those of the object.
            self.search_debug_file();
        }
        if let Some(jit) = &self.jit {
            return jit.address(offset);
        }
        let debug = || self.debug.as_ref()?.as_ref().map(Cfi::file);
        self.file().or_else(debug)?.address_of_offset(offset)
    }

    /// Whether code is at an address; assumed if the object is unavailable.
    pub(crate) fn is_code(&self, address: u64) -> bool {
        let Some(file) = self.file() else { return true };
        let mut code = file.segments().iter().filter(|segment| segment.is_executable);
        code.any(|segment| address.wrapping_sub(segment.address) < segment.memory_size)
    }

    /// The rule of an address.
    pub(crate) fn rule(&mut self, address: u64, context: &mut UnwindContext<usize>) -> Option<Arc<Rule>> {
        if let Some((_, (end, rule))) = self.ranges.range(..=address).next_back()
            && address < *end
        {
            return rule.clone();
        }
        if self.ranges.len() >= MAX_CACHED {
            self.ranges.clear();
        }
        let (addresses, rule) = match self.compile(address, context) {
            Some(CfiRow { addresses, rule }) => (addresses, Some(Arc::new(rule))),
            // How far code without CFI extends is unknown.
            None => (address..address.saturating_add(1), None),
        };
        self.ranges.insert(addresses.start, (addresses.end, rule.clone()));
        rule
    }

    fn compile(&mut self, address: u64, context: &mut UnwindContext<usize>) -> Option<CfiRow> {
        let row = self.object.as_mut().and_then(|cfi| cfi.row(address, self.arch, context));
        row.or_else(|| {
            self.search_debug_file();
            self.debug.as_mut()?.as_mut()?.row(address, self.arch, context)
        })
    }

    fn search_debug_file(&mut self) {
        if self.debug.is_none() && self.key.pid.is_none() {
            let mut attempts = Vec::new();
            let mut search = Search::new(&self.options, &self.key, &mut attempts);
            let file = self.object.as_ref().map(Cfi::file);
            let debug = search.debug_file(file).or_else(|| file?.mini_debug_info());
            self.debug = Some(debug.map(Cfi::new));
        }
    }

    /// Whether an address is in the function at which the kernel starts a program, or in what follows it in a dynamic linker. It has
    /// no caller.
    pub(crate) fn is_entry(&self, address: u64) -> bool {
        /// More than the size of these functions, which are written by hand.
        const SIZE: u64 = 128;
        self.file().is_some_and(|file| file.entry() != 0 && address.wrapping_sub(file.entry()) < SIZE)
    }

    /// Constant data and code from an address on.
    pub(crate) fn constant(&self, address: u64) -> Option<(&[u8], Endian)> {
        let file = self.file()?;
        let offset = |at: u64, size| address.checked_sub(at).filter(|&offset| offset < size);
        let mut segments = file.segments().iter().filter(|segment| !segment.is_writable);
        let at = segments.find_map(|segment| {
            let offset = offset(segment.address, segment.file_size)?;
            let end = segment.offset.checked_add(segment.file_size)?;
            Some(segment.offset.checked_add(offset)?..end)
        })?;
        let bytes = file.bytes().get(usize::try_from(at.start).ok()?..usize::try_from(at.end).ok()?)?;
        Some((bytes, if file.endian() == Endianness::Big { Endian::Big } else { Endian::Little }))
    }

    /// Whether an address is that of a signal trampoline.
    pub(crate) fn is_trampoline(&self, address: u64, trampoline: &Trampoline) -> bool {
        self.constant(address).is_some_and(|(bytes, _)| trampoline.code.iter().any(|code| bytes.starts_with(code)))
    }
}
