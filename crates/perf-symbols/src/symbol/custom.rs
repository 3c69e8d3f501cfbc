//! Sources of symbols outside of this library, such as a JIT compiler.

use super::find::attempt::Attempt;
use super::lookup::{FunctionFrame, Lookup};
use super::source::{ObjectKey, OpenedObject, Source};
use crate::object::build_id::Id;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An object whose symbols are looked up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SymbolObject {
    /// Path of the file, or the name of memory without a file, such as `//anon`.
    pub path: PathBuf,
    /// Build ID; if it is known, only files with this ID are used.
    pub build_id: Option<Vec<u8>>,
    /// Process, for memory without a file.
    pub pid: Option<u32>,
}

impl SymbolObject {
    /// The file at a path.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), ..Self::default() }
    }

    /// Sets the build ID.
    #[must_use]
    pub fn build_id(mut self, id: impl Into<Vec<u8>>) -> Self {
        self.build_id = Some(id.into());
        self
    }

    /// Sets the process, for memory without a file.
    #[must_use]
    pub fn pid(mut self, pid: u32) -> Self {
        self.pid = Some(pid);
        self
    }

    /// What the sources look up the object by.
    pub fn key(&self) -> ObjectKey {
        let build_id = self.build_id.as_deref().and_then(Id::new);
        ObjectKey { path: self.path.clone(), build_id, pid: self.pid, ..ObjectKey::default() }
    }

    fn from_key(key: &ObjectKey) -> Self {
        let build_id = key.build_id.map(|id| id.bytes().to_vec());
        Self { path: key.path.clone(), build_id, pid: key.pid }
    }

    /// The path.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// A source of functions and lines, which takes precedence over files.
///
/// ```
/// use perf_symbols::symbol::lookup::FunctionFrame;
/// use perf_symbols::{SymbolObject, SymbolOptions, SymbolSource, Symbolizer};
///
/// #[derive(Debug)]
/// struct Interpreter;
///
/// impl SymbolSource for Interpreter {
///     fn has(&self, object: &SymbolObject) -> bool {
///         object.pid.is_some()
///     }
///
///     fn look_up(&self, _: &SymbolObject, address: u64, on_frame: &mut dyn FnMut(&FunctionFrame<'_>)) {
///         if (0x1000..0x2000).contains(&address) {
///             on_frame(&FunctionFrame { name: b"interpret", symbol_start: Some(0x1000), ..FunctionFrame::default() });
///         }
///     }
/// }
///
/// let symbolizer = Symbolizer::new(&SymbolOptions::default().source(Interpreter));
/// let found = symbolizer.look_up_addresses(&SymbolObject::new("//anon").pid(7), &[0x1234]);
/// assert_eq!(found.functions(0).next().unwrap().name, "interpret");
/// ```
pub trait SymbolSource: fmt::Debug + Send + Sync {
    /// Whether the symbols of an object are from this source.
    fn has(&self, object: &SymbolObject) -> bool;

    /// Calls `on_frame` for each function that contains an address, innermost first; not at all if none is known. Addresses are
    /// offsets in the file; in memory without a file, those of its process.
    fn look_up(&self, object: &SymbolObject, address: u64, on_frame: &mut dyn FnMut(&FunctionFrame<'_>));
}

/// Adapts a [`SymbolSource`] to the interface of the other sources.
#[derive(Clone, Debug)]
pub struct CustomSource(pub Arc<dyn SymbolSource>);

impl Source for CustomSource {
    fn open(&self, key: &ObjectKey, _: &mut Vec<Attempt>) -> Option<Box<dyn OpenedObject>> {
        let object = SymbolObject::from_key(key);
        self.0.has(&object).then(|| Box::new(CustomObject { source: Arc::clone(&self.0), object }) as _)
    }
}

struct CustomObject {
    source: Arc<dyn SymbolSource>,
    object: SymbolObject,
}

impl OpenedObject for CustomObject {
    fn address_of_offset(&self, offset: u64) -> Option<u64> {
        Some(offset)
    }

    fn with_lookup(&self, lookups: &mut dyn FnMut(&dyn Lookup)) {
        lookups(self);
    }
}

impl Lookup for CustomObject {
    fn look_up(&self, address: u64, on_frame: &mut dyn FnMut(&FunctionFrame<'_>)) {
        self.source.look_up(&self.object, address, on_frame);
    }
}
