//! Entries of procedure linkage tables: the stubs through which code calls functions of other objects, named `name@plt`.

use super::object::Object;
use hashbrown::HashMap;
use object::elf::{EM_386, EM_AARCH64, EM_X86_64, Rela32, Rela64, SHT_REL, SHT_RELA, Sym32, Sym64};
use object::elf::{Rel32, Rel64};
use object::read::elf::{Rel, Rela, Sym};
use object::{Endianness, Pod, pod};

/// Ends the names of entries.
pub(super) const SUFFIX: &str = "@plt";

/// Maximum number of entries. Linkers write one per imported function.
const LIMIT: usize = 1 << 20;

/// Sections with PLT entries.
const SECTIONS: [&[u8]; 5] = [b".plt", b".plt.sec", b".plt.got", b".iplt", b".plt.bnd"];

/// Address, size and name of each entry.
pub(super) fn entries(object: &Object) -> Vec<(u64, u64, Vec<u8>)> {
    let machine = object.machine();
    if ![EM_X86_64.0, EM_386.0, EM_AARCH64.0].contains(&machine) || object.is_relocatable() {
        return Vec::new();
    }
    let mut stubs = Vec::new();
    let mut slots = None;
    let got = object.section_index(b".got.plt").or_else(|| object.section_index(b".got"));
    let got = got.map_or(0, |index| object.sections()[index].address);
    // Each name of the file has one entry, so all of them together are shorter than the file.
    let mut room = object.bytes().len();
    for index in 0..object.sections().len() {
        let section = &object.sections()[index];
        if !SECTIONS.contains(&&*section.name) || stubs.len() > LIMIT {
            continue;
        }
        let slots = slots.get_or_insert_with(|| plt_slots(object));
        let (address, data) = (section.address, object.section_data(index));
        // Entries of `.plt.got` lack the code for lazy binding, but with IBT they begin with `endbr64`, and are as long as others.
        let step = if &*section.name == b".plt.got" && section.entry_size != 16 { 8 } else { 16 };
        for (number, stub) in data.chunks(step).enumerate().take(LIMIT) {
            let at = address.wrapping_add((number * step) as u64);
            let slot = match machine {
                _ if machine == EM_AARCH64.0 => aarch64(stub, at),
                _ if machine == EM_X86_64.0 => x86_64(stub, at),
                _ => i386(stub, got),
            };
            if let Some(name) = slot.and_then(|slot| slots.get(&slot)) {
                let Some(rest) = room.checked_sub(name.len()) else { return stubs };
                room = rest;
                stubs.push((at, step as u64, [name, SUFFIX.as_bytes()].concat()));
            }
        }
    }
    stubs
}

/// The slot of the GOT that a stub jumps through: `jmp *offset(%rip)`, with `endbr64` or a prefix before it.
fn x86_64(stub: &[u8], at: u64) -> Option<u64> {
    let jump = stub.windows(6).take(6).position(|bytes| bytes[..2] == [0xff, 0x25])?;
    let offset = i32::from_le_bytes(*stub.get(jump + 2..)?.first_chunk()?);
    Some(at.wrapping_add(jump as u64 + 6).wrapping_add_signed(offset.into()))
}

/// `jmp *address`, or `jmp *offset(%ebx)` with the address of the GOT in the register.
fn i386(stub: &[u8], got: u64) -> Option<u64> {
    let jump = stub.windows(6).take(6).position(|bytes| matches!(bytes[..2], [0xff, 0x25 | 0xa3]))?;
    let operand = i32::from_le_bytes(*stub.get(jump + 2..)?.first_chunk()?);
    let is_relative = stub[jump + 1] == 0xa3;
    Some(if is_relative { got.wrapping_add_signed(operand.into()) } else { u64::from(operand as u32) })
}

/// `adrp x16, page; ldr x17, [x16, offset]`, after an optional `bti c`.
fn aarch64(stub: &[u8], at: u64) -> Option<u64> {
    let words: Vec<u32> = stub.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
    let first = words.iter().position(|word| word & 0x9f00_001f == 0x9000_0010)?;
    let (page, load) = (words[first], *words.get(first + 1)?);
    if load & 0xffc0_03ff != 0xf940_0211 {
        return None;
    }
    let pages = i64::from(((page >> 5 & 0x7_ffff) << 2 | page >> 29 & 3) as i32) << 43 >> 31;
    let pc = at.wrapping_add(first as u64 * 4) & !0xfff;
    Some(pc.wrapping_add_signed(pages).wrapping_add(u64::from(load >> 10 & 0xfff) * 8))
}

/// Names of the functions whose addresses the dynamic linker stores in GOT slots, by slot address.
fn plt_slots(object: &Object) -> HashMap<u64, &[u8]> {
    let mut slots = HashMap::new();
    for (index, section) in object.sections().iter().enumerate() {
        let is_dynamic = section.address != 0 || section.name.ends_with(b".plt");
        if !is_dynamic || ![SHT_RELA.0, SHT_REL.0].contains(&section.kind) {
            continue;
        }
        let data = object.section_data(index);
        let endian = object.endian();
        let relocations: Vec<(u64, u32)> = match (object.is_64(), section.kind == SHT_RELA.0) {
            (true, true) => each(data, |r: &Rela64<Endianness>| (r.r_offset(endian), r.r_sym(endian, false))),
            (true, false) => each(data, |r: &Rel64<Endianness>| (r.r_offset(endian), r.r_sym(endian))),
            (false, true) => each(data, |r: &Rela32<Endianness>| (r.r_offset(endian).into(), r.r_sym(endian))),
            (false, false) => each(data, |r: &Rel32<Endianness>| (r.r_offset(endian).into(), r.r_sym(endian))),
        };
        for (slot, symbol) in relocations.into_iter().take(LIMIT) {
            if let Some(name) = symbol_name(object, section.link, symbol).filter(|name| !name.is_empty()) {
                slots.entry(slot).or_insert(name);
            }
        }
    }
    slots
}

fn each<T: Pod>(data: &[u8], of: impl Fn(&T) -> (u64, u32)) -> Vec<(u64, u32)> {
    let list = pod::slice_from_bytes::<T>(data, data.len() / size_of::<T>());
    list.map_or_else(|()| Vec::new(), |(list, _)| list.iter().map(of).collect())
}

fn symbol_name(object: &Object, table: usize, symbol: u32) -> Option<&[u8]> {
    /// Maximum length of a name: a string table without a NUL would be searched for each entry.
    const NAME: usize = 4096;
    let section = object.sections().get(table).filter(|_| symbol != 0)?;
    let data = object.section_data(table);
    fn name_offset<S: Sym<Endian = Endianness> + Pod>(data: &[u8], symbol: u32, endian: Endianness) -> Option<u32> {
        let at = size_of::<S>().checked_mul(symbol as usize)?;
        pod::from_bytes::<S>(data.get(at..)?).ok().map(|(symbol, _)| symbol.st_name(endian))
    }
    let offset = match object.is_64() {
        true => name_offset::<Sym64<Endianness>>(data, symbol, object.endian()),
        false => name_offset::<Sym32<Endianness>>(data, symbol, object.endian()),
    }?;
    let strings = object.section_data(section.link).get(offset as usize..)?;
    // Many relocations can refer to one name without an end.
    let start = &strings[..strings.len().min(NAME)];
    let end = memchr::memchr(0, start).or_else(|| (strings.len() > NAME).then_some(NAME))?;
    Some(&start[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stubs_jump_through_slots() {
        assert_eq!(x86_64(&[0xff, 0x25, 0x10, 0, 0, 0, 0x68, 0, 0, 0, 0], 0x1000), Some(0x1016));
        let endbr = [0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25, 0xf0, 0xff, 0xff, 0xff, 0x66];
        assert_eq!(x86_64(&endbr, 0x1000), Some(0xffa));
        let bnd = [0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, 1, 0, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(x86_64(&bnd, 0x1000), Some(0x100c));
        assert_eq!(x86_64(&[0x90; 16], 0x1000), None);
        assert_eq!(i386(&[0xff, 0x25, 0, 0, 0, 0x80], 0), Some(0x8000_0000));
        assert_eq!(i386(&[0xff, 0xa3, 0x0c, 0, 0, 0], 0x2000), Some(0x200c));
        let stub: Vec<u8> = [0x9000_0090u32, 0xf946_0e11, 0x9130_6210].iter().flat_map(|w| w.to_le_bytes()).collect();
        assert_eq!(aarch64(&stub, 0x1234), Some(0x1_1c18));
    }
}
