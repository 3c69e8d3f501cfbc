//! Source files and lines of a unit's addresses.

use super::super::ranges::Ranges;
use super::Slice;
use super::budget::Budget;
use super::line_program::{LineProgram, LineRow, LineStep};
use gimli::{LineProgramHeader, Reader, UnitRef};
use perf_data::session::names::{MAX_NAME, truncated};
use std::cmp::Reverse;
use std::ops::Range;
use std::ptr;
use std::sync::OnceLock;

/// A position in source code.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Location<'l> {
    /// Path of the file; empty if unknown.
    pub file: &'l [u8],
    /// Line; 0 if unknown.
    pub line: u32,
    /// Column; 0 if unknown.
    pub column: u32,
    /// Distinguishes blocks of code with the same line; 0 by default.
    pub discriminator: u32,
}

/// Rows of code in one piece.
struct Sequence {
    addresses: Range<u64>,
    /// Where its instructions begin.
    offset: usize,
    /// Its rows, in the order of their addresses, each with another one.
    rows: OnceLock<Box<[LineRow]>>,
}

/// Lines of a unit. Rows and paths are only read of the sequences and files that are looked up.
#[derive(Default)]
pub(super) struct UnitLines {
    sequences: Vec<Sequence>,
    index: Ranges,
    paths: Box<[OnceLock<Box<[u8]>>]>,
}

impl UnitLines {
    /// Finds the sequences of a unit's line program.
    pub(super) fn new(unit: UnitRef<'_, Slice<'_>>, budget: &Budget) -> Self {
        let Some(header) = header(unit) else { return Self::default() };
        let mut sequences = Vec::new();
        if let Some(mut program) = LineProgram::new(header, 0).filter(|_| budget.spend(header.raw_program_buf().len()))
        {
            let (mut offset, mut start) = (0, None);
            while let Some(step) = program.next() {
                match step {
                    LineStep::Row(row) => _ = start.get_or_insert(row.address),
                    LineStep::End(end) => {
                        if let Some(start) = start.take().filter(|&start| start < end) {
                            sequences.push(Sequence { addresses: start..end, offset, rows: OnceLock::new() });
                        }
                        offset = program.offset();
                    }
                }
            }
        }
        sequences.sort_by_key(|sequence| (sequence.addresses.start, Reverse(sequence.addresses.end)));
        let index = Ranges::new(sequences.iter().map(|sequence| (sequence.addresses.start, sequence.addresses.end)));
        let paths = (0..=header.file_names().len()).map(|_| OnceLock::new()).collect();
        Self { sequences, index, paths }
    }

    /// The addresses of each sequence.
    pub(super) fn ranges(&self) -> impl Iterator<Item = Range<u64>> {
        self.sequences.iter().map(|sequence| sequence.addresses.clone())
    }

    /// The line of an address; `None` if the program has no code there.
    pub(super) fn find(&self, unit: UnitRef<'_, Slice<'_>>, budget: &Budget, address: u64) -> Option<Location<'_>> {
        let row = self.row(unit, budget, address)?;
        let column = if row.line == 0 { 0 } else { row.column };
        let file = self.path(unit, budget, row.file.into());
        Some(Location { file, line: row.line, column, discriminator: row.discriminator })
    }

    /// Identifies the row of an address among those of the unit.
    pub(super) fn row_id(&self, unit: UnitRef<'_, Slice<'_>>, budget: &Budget, address: u64) -> Option<usize> {
        self.row(unit, budget, address).map(|row| ptr::from_ref(row).addr())
    }

    fn row(&self, unit: UnitRef<'_, Slice<'_>>, budget: &Budget, address: u64) -> Option<&LineRow> {
        let sequence = self.sequences.get(self.index.find(address)?)?;
        let rows = sequence.rows.get_or_init(|| rows(unit, budget, sequence.offset));
        rows.get(rows.partition_point(|row| row.address <= address).checked_sub(1)?)
    }

    /// The text of the source file of an address, if the line program contains it (`DW_LNCT_LLVM_source`).
    pub(super) fn source<'a>(&self, unit: UnitRef<'_, Slice<'a>>, budget: &Budget, address: u64) -> Option<Slice<'a>> {
        let file = header(unit)?.file(self.row(unit, budget, address)?.file.into())?;
        let text = unit.attr_string(file.source()?).ok()?;
        // Of a file that is not embedded, the text is empty.
        (!text.is_empty() && budget.spend(text.len())).then_some(text)
    }

    /// The path of a file by its number; empty if unknown.
    pub(super) fn path(&self, unit: UnitRef<'_, Slice<'_>>, budget: &Budget, number: u64) -> &[u8] {
        let cell = usize::try_from(number).ok().and_then(|number| self.paths.get(number));
        let read = || {
            let path = path(unit, number).unwrap_or_default();
            // Any number of files can be in one directory with a long name.
            if budget.spend(path.len()) { truncated(&path, MAX_NAME).into() } else { Box::default() }
        };
        cell.map_or(&[], |cell| cell.get_or_init(read))
    }
}

fn header<'u, 'a>(unit: UnitRef<'u, Slice<'a>>) -> Option<&'u LineProgramHeader<Slice<'a>>> {
    unit.unit.line_program.as_ref().map(|program| program.header())
}

/// Reads the rows of a sequence. Of rows with the same address, the last one counts.
fn rows(unit: UnitRef<'_, Slice<'_>>, budget: &Budget, offset: usize) -> Box<[LineRow]> {
    let mut rows: Vec<LineRow> = Vec::new();
    let Some(mut program) = header(unit).and_then(|header| LineProgram::new(header, offset)) else {
        return rows.into();
    };
    while let Some(LineStep::Row(row)) = program.next() {
        match rows.last_mut() {
            Some(last) if last.address == row.address => *last = row,
            _ => rows.push(row),
        }
    }
    budget.spend(program.offset() - offset);
    rows.into()
}

/// The path of a file: below its directory, and that of the unit, unless it is absolute.
fn path(unit: UnitRef<'_, Slice<'_>>, number: u64) -> Option<Vec<u8>> {
    let header = header(unit)?;
    let file = header.file(number)?;
    let mut path = unit.unit.comp_dir.map_or_else(Vec::new, |directory| directory.slice().to_vec());
    // Directory 0 is that of the unit.
    if file.directory_index() != 0
        && let Some(directory) = file.directory(header)
    {
        push(&mut path, unit.attr_string(directory).ok()?.slice());
    }
    push(&mut path, unit.attr_string(file.path_name()).ok()?.slice());
    Some(path)
}

/// Appends a relative path, or replaces the path by an absolute one, of Unix or of Windows.
fn push(path: &mut Vec<u8>, part: &[u8]) {
    let has_drive = |path: &[u8], separator| path.get(1..3) == Some(&[b':', separator]);
    let is_windows = |path: &[u8]| path.starts_with(b"\\") || has_drive(path, b'\\');
    if part.starts_with(b"/") || has_drive(part, b'/') || is_windows(part) {
        path.clear();
    } else {
        let separator = if is_windows(path) { b'\\' } else { b'/' };
        if path.last().is_some_and(|&last| last != separator) {
            path.push(separator);
        }
    }
    path.extend_from_slice(part);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_joined_unless_they_are_absolute() {
        let joined = |parts: &[&str]| {
            let mut path = Vec::new();
            parts.iter().for_each(|part| push(&mut path, part.as_bytes()));
            String::from_utf8(path).unwrap()
        };
        assert_eq!(joined(&["/src", "lib", "a.c"]), "/src/lib/a.c");
        assert_eq!(joined(&["/src/", "/usr/include", "a.h"]), "/usr/include/a.h");
        assert_eq!(joined(&["C:\\src", "a.c"]), "C:\\src\\a.c");
        assert_eq!(joined(&["/src", "D:/b", "a.c"]), "D:/b/a.c");
        assert_eq!(joined(&["", "a.c"]), "a.c");
    }
}
