//! Runs line programs: instructions that yield rows with addresses and lines.

use super::Slice;
use gimli::{LineProgramHeader, Reader, constants};

/// A row: from its address on, code belongs to its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LineRow {
    /// Address.
    pub address: u64,
    /// Number of the file.
    pub file: u32,
    /// Line; 0 if the code belongs to none.
    pub line: u32,
    /// Column; 0 if unknown.
    pub column: u32,
    /// Distinguishes blocks of code with the same line; 0 by default.
    pub discriminator: u32,
}

/// The row at the beginning of a sequence.
const FIRST: LineRow = LineRow { address: 0, file: 1, line: 1, column: 0, discriminator: 0 };

/// What an instruction yields.
pub(super) enum LineStep {
    Row(LineRow),
    /// The end of a sequence, at the address after its code.
    End(u64),
}

/// A program that runs, at the beginning of a sequence.
pub(super) struct LineProgram<'u, 'a> {
    header: &'u LineProgramHeader<Slice<'a>>,
    whole: Slice<'a>,
    rest: Slice<'a>,
    row: LineRow,
    operation: u64,
    /// Whether rows are of code that the linker left out.
    is_dead: bool,
}

impl<'u, 'a> LineProgram<'u, 'a> {
    /// A program that continues at an offset, where a sequence begins.
    pub(super) fn new(header: &'u LineProgramHeader<Slice<'a>>, offset: usize) -> Option<Self> {
        let whole = header.raw_program_buf();
        let mut rest = whole;
        rest.skip(offset).ok()?;
        (header.line_encoding().line_range != 0).then_some(Self {
            header,
            whole,
            rest,
            row: FIRST,
            operation: 0,
            is_dead: false,
        })
    }

    /// Offset of the next instruction.
    pub(super) fn offset(&self) -> usize {
        self.rest.offset_from(self.whole)
    }

    /// The next row or end of a sequence. `None` at the end of the program, or where it cannot be read.
    pub(super) fn next(&mut self) -> Option<LineStep> {
        loop {
            let opcode = self.rest.read_u8().ok()?;
            let is_row = if opcode >= self.header.opcode_base() {
                self.special(opcode);
                true
            } else if opcode == 0 {
                if self.extended()? {
                    let (end, is_dead) = (self.row.address, self.is_dead);
                    self.row = FIRST;
                    (self.operation, self.is_dead) = (0, false);
                    return Some(LineStep::End(if is_dead { 0 } else { end }));
                }
                false
            } else {
                self.standard(opcode)?
            };
            if is_row {
                let row = self.row;
                self.row.discriminator = 0;
                if !self.is_dead {
                    return Some(LineStep::Row(row));
                }
            }
        }
    }

    #[inline]
    fn special(&mut self, opcode: u8) {
        let encoding = self.header.line_encoding();
        let adjusted = opcode - self.header.opcode_base();
        self.advance_line(i64::from(encoding.line_base) + i64::from(adjusted % encoding.line_range));
        self.advance(u64::from(adjusted / encoding.line_range));
    }

    #[inline]
    fn advance_line(&mut self, lines: i64) {
        self.row.line = self.row.line.wrapping_add(lines as u32);
    }

    #[inline]
    fn advance(&mut self, operations: u64) {
        let encoding = self.header.line_encoding();
        let instructions = match u64::from(encoding.maximum_operations_per_instruction) {
            0 | 1 => operations,
            maximum => {
                let operation = self.operation.wrapping_add(operations);
                self.operation = operation % maximum;
                operation / maximum
            }
        };
        let bytes = instructions.wrapping_mul(encoding.minimum_instruction_length.into());
        self.row.address = self.row.address.wrapping_add(bytes);
    }

    /// Runs a standard instruction. Whether it yields a row.
    fn standard(&mut self, opcode: u8) -> Option<bool> {
        match gimli::DwLns(opcode) {
            constants::DW_LNS_copy => return Some(true),
            constants::DW_LNS_advance_pc => {
                let operations = self.rest.read_uleb128().ok()?;
                self.advance(operations);
            }
            constants::DW_LNS_advance_line => {
                let lines = self.rest.read_sleb128().ok()?;
                self.advance_line(lines);
            }
            constants::DW_LNS_set_file => self.row.file = self.rest.read_uleb128().ok()?.try_into().unwrap_or(u32::MAX),
            constants::DW_LNS_set_column => self.row.column = self.rest.read_uleb128().ok()? as u32,
            constants::DW_LNS_const_add_pc => {
                let adjusted = u8::MAX - self.header.opcode_base();
                self.advance((adjusted / self.header.line_encoding().line_range).into());
            }
            constants::DW_LNS_fixed_advance_pc => {
                let bytes = self.rest.read_u16().ok()?;
                self.row.address = self.row.address.wrapping_add(bytes.into());
                self.operation = 0;
            }
            constants::DW_LNS_negate_stmt
            | constants::DW_LNS_set_basic_block
            | constants::DW_LNS_set_prologue_end
            | constants::DW_LNS_set_epilogue_begin => {}
            _ => {
                let lengths = self.header.standard_opcode_lengths().slice();
                for _ in 0..lengths.get(usize::from(opcode) - 1).copied().unwrap_or(0) {
                    self.rest.skip_leb128().ok()?;
                }
            }
        }
        Some(false)
    }

    /// Runs an extended instruction. Whether it ends the sequence.
    fn extended(&mut self) -> Option<bool> {
        let len = usize::try_from(self.rest.read_uleb128().ok()?).ok()?;
        let mut operands = self.rest.split(len).ok()?;
        let Ok(opcode) = operands.read_u8() else { return Some(false) };
        match gimli::DwLne(opcode) {
            constants::DW_LNE_end_sequence => return Some(true),
            constants::DW_LNE_set_address => {
                let size = self.header.address_size();
                let address = operands.read_address(size).ok()?;
                // Linkers write 0, or the largest addresses, for code that they left out; addresses only grow in a sequence.
                let largest = u64::MAX >> (64 - 8 * u32::from(size.clamp(1, 8)));
                self.is_dead = address < self.row.address || address >= largest - 1;
                if !self.is_dead {
                    (self.row.address, self.operation) = (address, 0);
                }
            }
            constants::DW_LNE_set_discriminator => {
                self.row.discriminator = operands.read_uleb128().ok()? as u32;
            }
            _ => {}
        }
        Some(false)
    }
}
