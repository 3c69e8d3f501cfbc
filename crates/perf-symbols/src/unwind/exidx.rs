//! `.ARM.exidx`: the unwinding tables of 32-bit Arm (Exception Handling ABI for the Arm Architecture), compiled to rules.

use super::arch::Architecture;
use super::cfi;
use super::memory::integer;
use super::registers::Slot;
use super::rule::{Cfa, Expressions, RegisterValue, Rule, Saved};
use crate::symbol::object::Object;
use gimli::RunTimeEndian;
use object::Endianness;
use perf_data::abi::Endian;
use std::ops::Range;

const SP: Slot = 13;
const LR: Slot = 14;
const PC: Slot = 15;

/// Size of an entry: the function's address and its instructions.
const ENTRY: usize = 8;

/// The word of a function without callers.
const CANT_UNWIND: u32 = 1;

/// Set in a word that contains instructions instead of their address.
const INLINE: u32 = 1 << 31;

/// Compiles the entry of an address; `None` if there is none, or its instructions cannot be expressed as a rule.
pub(crate) fn row(file: &Object, address: u64, arch: &Architecture) -> Option<(Range<u64>, Rule)> {
    let section = file.sections().get(file.section_index(b".ARM.exidx")?)?;
    let table = ExidxTable {
        entries: file.section(b".ARM.exidx"),
        start: section.address,
        endian: if file.endian() == Endianness::Big { Endian::Big } else { Endian::Little },
    };
    let index = table.find(address)?;
    // The last function ends with its segment.
    let end = table.function(index + 1).unwrap_or(u32::MAX.into());
    let at = table.start + (index * ENTRY + 4) as u64;
    let mut frame = ExidxFrame { base: SP, offset: 0, saved: Vec::new() };
    match table.word(index * ENTRY + 4)? {
        // The outermost function has no return address.
        CANT_UNWIND => frame.saved.push(Saved { slot: LR, value: RegisterValue::Undefined }),
        word if word & INLINE != 0 => frame.run(word.to_be_bytes().into_iter().skip(1))?,
        word => frame.run(table.instructions(file.bytes_at(prel31(word, at)))?.into_iter())?,
    }
    Some((table.function(index)?..end, frame.rule(arch, cfi::endian(file))))
}

/// The entries, sorted by address.
struct ExidxTable<'a> {
    entries: &'a [u8],
    start: u64,
    endian: Endian,
}

impl ExidxTable<'_> {
    fn word(&self, offset: usize) -> Option<u32> {
        Some(integer(self.entries.get(offset..)?, 4, self.endian)? as u32)
    }

    /// The address of the function of an entry.
    fn function(&self, index: usize) -> Option<u64> {
        let at = index.checked_mul(ENTRY)?;
        Some(prel31(self.word(at)?, self.start.wrapping_add(at as u64)) & !1)
    }

    /// The entry of an address.
    fn find(&self, address: u64) -> Option<usize> {
        let (mut low, mut high) = (0, self.entries.len() / ENTRY);
        while low < high {
            let middle = (low + high) / 2;
            if self.function(middle)? <= address { low = middle + 1 } else { high = middle }
        }
        low.checked_sub(1)
    }

    /// The instructions of an entry of `.ARM.extab`.
    fn instructions(&self, entry: &[u8]) -> Option<Vec<u8>> {
        let word = |index: usize| Some(integer(entry.get(4 * index..)?, 4, self.endian)? as u32);
        let first = word(0)?;
        // A generic personality function is followed by a word with a count; the compact ones have the count or none.
        let (start, skipped, more) = match first {
            _ if first & INLINE == 0 => (1, 1, word(1)? >> 24),
            _ if first >> 24 & 0xf == 0 => (0, 1, 0),
            _ => (0, 2, first >> 16 & 0xff),
        };
        let words = (start..=start + more as usize).map(word).collect::<Option<Vec<_>>>()?;
        Some(words.into_iter().flat_map(u32::to_be_bytes).skip(skipped).collect())
    }
}

/// An address relative to the word at `at`.
fn prel31(word: u32, at: u64) -> u64 {
    let offset = (word << 1) as i32 >> 1;
    at.wrapping_add(i64::from(offset) as u64) & u64::from(u32::MAX)
}

/// The virtual stack pointer while instructions are executed, relative to a register.
struct ExidxFrame {
    base: Slot,
    offset: i64,
    /// Registers with their offsets from the base.
    saved: Vec<Saved>,
}

impl ExidxFrame {
    /// Executes instructions; `None` if they are not supported.
    fn run(&mut self, mut bytes: impl Iterator<Item = u8>) -> Option<()> {
        while let Some(byte) = bytes.next() {
            match byte {
                0x00..=0x3f => self.offset += i64::from(byte & 0x3f) * 4 + 4,
                0x40..=0x7f => self.offset -= i64::from(byte & 0x3f) * 4 + 4,
                // A mask of registers; an empty one means that there is no way to unwind.
                0x80..=0x8f => {
                    let mask = u16::from(byte & 0xf) << 8 | u16::from(bytes.next()?);
                    // Pops of the stack pointer have no rule.
                    if mask == 0 || mask >> (SP - 4) & 1 == 1 {
                        return None;
                    }
                    (4..=PC).filter(|slot| mask >> (slot - 4) & 1 == 1).for_each(|slot| self.pop(slot));
                }
                // The stack pointer is in a register, which must not have been restored before.
                0x9d => return None,
                0x90..=0x9e if self.saved.is_empty() => (self.base, self.offset) = (byte & 0xf, 0),
                0x90..=0x9e => return None,
                0xa0..=0xaf => {
                    (4..=4 + (byte & 7)).for_each(|slot| self.pop(slot));
                    if byte & 8 != 0 {
                        self.pop(LR);
                    }
                }
                0xb0 => break,
                0xb1 => {
                    let mask = bytes.next().filter(|mask| (1..0x10).contains(mask))?;
                    (0..4).filter(|slot| mask >> slot & 1 == 1).for_each(|slot| self.pop(slot));
                }
                0xb2 => {
                    let (mut value, mut shift) = (0_i64, 0);
                    loop {
                        let byte = bytes.next()?;
                        // A larger number exceeds the 32-bit address space.
                        value |= i64::from(byte & 0x7f).checked_shl(shift).filter(|_| shift < 32)?;
                        shift += 7;
                        if byte & 0x80 == 0 {
                            break;
                        }
                    }
                    self.offset += 0x204 + (value << 2);
                }
                // Floating-point registers: FSTMFDX has a word more.
                0xb3 => self.offset += i64::from(bytes.next()? & 0xf) * 8 + 12,
                0xb8..=0xbf => self.offset += i64::from(byte & 7) * 8 + 12,
                0xc8 | 0xc9 => self.offset += i64::from(bytes.next()? & 0xf) * 8 + 8,
                0xd0..=0xd7 => self.offset += i64::from(byte & 7) * 8 + 8,
                _ => return None,
            }
        }
        Some(())
    }

    fn pop(&mut self, slot: Slot) {
        self.saved.push(Saved { slot, value: RegisterValue::At(self.offset) });
        self.offset += 4;
    }

    /// The rule, of a file with this byte order.
    fn rule(self, arch: &Architecture, endian: RunTimeEndian) -> Rule {
        let Self { base, offset, mut saved } = self;
        let restores_pc = saved.iter().any(|register| register.slot == PC);
        for register in &mut saved {
            if let RegisterValue::At(at) = &mut register.value {
                *at -= offset;
            }
            // The return address is in the column of the link register.
            match register.slot {
                PC => register.slot = LR,
                // LR would overwrite it. R12 is a scratch register, on which no caller depends.
                LR if restores_pc => register.slot = 12,
                _ => {}
            }
        }
        let return_address = arch.slot(arch.return_address.into()).unwrap_or(LR);
        let cfa = Cfa::Register(base, offset);
        Rule { cfa, saved: saved.into(), return_address, is_signal: false, expressions: Expressions::new(endian) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The frame address, relative to a register, and registers, relative to the frame address.
    type Compiled = (Slot, i64, Vec<(Slot, i64)>);

    fn rule(bytes: &[u8]) -> Option<Compiled> {
        let arch = Architecture::find(Some("armv7l"), None, false).unwrap();
        let mut frame = ExidxFrame { base: SP, offset: 0, saved: Vec::new() };
        frame.run(bytes.iter().copied())?;
        let rule = frame.rule(arch, RunTimeEndian::Little);
        let Cfa::Register(base, offset) = rule.cfa else { return None };
        assert_eq!(rule.return_address, LR);
        let registers = rule.saved.iter().map(|register| match register.value {
            RegisterValue::At(at) => (register.slot, at),
            _ => (register.slot, i64::MAX),
        });
        Some((base, offset, registers.collect()))
    }

    #[test]
    fn instructions_become_rules() {
        // add sp, #16; pop {r4, r5, lr}.
        assert_eq!(rule(&[0x03, 0xa9, 0xb0]), Some((SP, 28, vec![(4, -12), (5, -8), (LR, -4)])));
        // mov sp, r7; sub sp, #4; pop {r7, lr} by a mask; pop {r0, r1}.
        let expected = (7, 12, vec![(7, -16), (LR, -12), (0, -8), (1, -4)]);
        assert_eq!(rule(&[0x97, 0x40, 0x84, 0x08, 0xb1, 3]), Some(expected));
        // pop {lr, pc}: the return address is that of pc.
        assert_eq!(rule(&[0x8c, 0x00]), Some((SP, 8, vec![(12, -8), (LR, -4)])));
        // Large increments, and floating-point registers.
        assert_eq!(rule(&[0xb2, 0x81, 0x01]), Some((SP, 0x204 + (0x81 << 2), vec![])));
        assert_eq!(rule(&[0xb9, 0xd1, 0xc9, 0x83, 0xb3, 0x01]), Some((SP, 20 + 16 + 32 + 20, vec![])));
        for unsupported in
            [&[0x80, 0x00][..], &[0x9d], &[0xa0, 0x97], &[0x82, 0x00], &[0xb1, 0], &[0xb2, 0xff], &[0xe0]]
        {
            assert_eq!(rule(unsupported), None, "{unsupported:x?}");
        }
    }

    #[test]
    fn entries_are_found_by_address() {
        let entries: Vec<u8> =
            [0x7fff_f000_u32, 1, 0x7fff_f0f8, 0x80a8_b0b0].iter().flat_map(|word| word.to_le_bytes()).collect();
        let table = ExidxTable { entries: &entries, start: 0x2000, endian: Endian::Little };
        assert_eq!([0, 1, 2].map(|index| table.function(index)), [Some(0x1000), Some(0x1100), None]);
        assert_eq!(
            [0xfff, 0x1000, 0x10ff, 0x1100, 0x9000].map(|at| table.find(at)),
            [None, Some(0), Some(0), Some(1), Some(1)]
        );
        let extab =
            |words: &[u32]| table.instructions(&words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>());
        assert_eq!(extab(&[0x8003_a9b0]), Some(vec![0x03, 0xa9, 0xb0]));
        assert_eq!(extab(&[0x8101_0203, 0x0405_0607]), Some(vec![2, 3, 4, 5, 6, 7]));
        assert_eq!(extab(&[0x10, 0x0103_a9b0, 0xb0b0_b0b0]), Some(vec![0x03, 0xa9, 0xb0, 0xb0, 0xb0, 0xb0, 0xb0]));
        assert_eq!(extab(&[0x81ff_0203]), None);
    }
}
