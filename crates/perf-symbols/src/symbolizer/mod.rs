//! Functions and lines of addresses, with or without a recording.

pub mod function_line;
mod options;
pub mod recorded_build_ids;

pub use function_line::FunctionLine;
pub use options::SymbolOptions;

use crate::symbol::custom::SymbolObject;
use crate::symbol::{self, Addresses, Request, ResolvedFrame};
use function_line::{TableLine, function_lines};

/// Resolves addresses of objects to functions, inlined functions and lines.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use perf_symbols::{SymbolObject, SymbolOptions, Symbolizer};
///
/// let symbolizer = Symbolizer::new(&SymbolOptions::default().symfs("../../roundtrip/symbols/files"));
/// let found = symbolizer.look_up(&SymbolObject::new("/srv/sym/bin/mill-fp"), &[0x16a0]);
/// let functions: Vec<_> = found.functions(0).map(|function| (function.name, function.line)).collect();
/// assert_eq!(functions, [("hull", 30), ("sieve", 33), ("grind", 39)]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Symbolizer {
    inner: symbol::Symbolizer,
    without_inlined: bool,
}

impl Symbolizer {
    /// Creates a symbolizer that searches files as these options specify.
    pub fn new(options: &SymbolOptions) -> Self {
        Self { inner: options.files().keep_objects(), without_inlined: options.omits_inlined() }
    }

    /// Looks up offsets in a file: addresses in a process, minus the start of their mapping, plus its file offset. For callers, use
    /// the return address minus 1. It is faster to look up many addresses of an object in one call.
    pub fn look_up(&self, object: &SymbolObject, offsets: &[u64]) -> FoundFunctions {
        self.resolve(object, Addresses::Offsets(offsets.to_vec()))
    }

    /// Looks up addresses as the symbol table of a file states them or, in memory without a file, addresses of its process.
    pub fn look_up_addresses(&self, object: &SymbolObject, addresses: &[u64]) -> FoundFunctions {
        self.resolve(object, Addresses::Virtual(addresses.to_vec()))
    }

    fn resolve(&self, object: &SymbolObject, addresses: Addresses) -> FoundFunctions {
        let len = addresses.list().len();
        let resolved = self.inner.resolve(&[Request::new(object.key(), addresses)]);
        let symbols = &resolved.symbols;
        let text = |id| String::from_utf8_lossy(symbols.name(id)).into();
        let line = |frame: &ResolvedFrame| {
            let function = symbols.function(frame.function?)?;
            Some(TableLine {
                function: text(function.name),
                file: text(frame.file),
                line: frame.line,
                column: frame.column,
            })
        };
        let lines = |index| {
            let frames = symbols.frames(0, index);
            let frames = if self.without_inlined { &frames[frames.len().saturating_sub(1)..] } else { frames };
            frames.iter().filter_map(line).collect()
        };
        let attempts = resolved.objects.iter().flat_map(|object| &object.attempts);
        FoundFunctions { attempts: attempts.map(ToString::to_string).collect(), lines: (0..len).map(lines).collect() }
    }
}

/// Functions of several addresses.
#[derive(Debug, Default)]
pub struct FoundFunctions {
    lines: Vec<Box<[TableLine]>>,
    attempts: Vec<String>,
}

impl FoundFunctions {
    /// The functions that contain the address with this index, innermost first; all but the last are inlined. Empty if none is
    /// known.
    pub fn functions(&self, index: usize) -> impl ExactSizeIterator<Item = FunctionLine<'_>> {
        function_lines(self.lines.get(index).map_or(&[], |lines| lines))
    }

    /// The files that were tried, each with the outcome.
    pub fn attempts(&self) -> &[String] {
        &self.attempts
    }
}
