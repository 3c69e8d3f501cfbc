//! Functions and lines of an address, innermost first.

use std::sync::Arc;

/// A position in a function, with shared names.
#[derive(Debug)]
pub struct TableLine {
    /// Demangled name.
    pub function: Arc<str>,
    /// Path of the source file; empty if unknown.
    pub file: Arc<str>,
    /// Line; 0 if unknown.
    pub line: u32,
    /// Column; 0 if unknown.
    pub column: u32,
}

/// The functions at an address, innermost first.
pub fn function_lines(lines: &[TableLine]) -> impl ExactSizeIterator<Item = FunctionLine<'_>> {
    lines.iter().enumerate().map(move |(index, TableLine { function, file, line, column })| FunctionLine {
        name: function,
        file,
        line: *line,
        column: *column,
        is_inlined: index + 1 < lines.len(),
    })
}

/// A function that contains the address of a frame, and the position in its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FunctionLine<'a> {
    /// Demangled name.
    pub name: &'a str,
    /// Path of the source file; empty if unknown.
    pub file: &'a str,
    /// Line of the address, or of the call of the inlined function before it; 0 if unknown.
    pub line: u32,
    /// Column in the line; 0 if unknown.
    pub column: u32,
    /// Whether the function is inlined into the next one.
    pub is_inlined: bool,
}
