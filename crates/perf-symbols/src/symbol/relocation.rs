//! Kernel modules, which are relocatable files: lays out their code as the kernel does, and relocates their debug information.

use super::object::{Object, ObjectSection};
use object::elf::{
    EM_386, EM_AARCH64, EM_ARM, EM_LOONGARCH, EM_PPC64, EM_RISCV, EM_S390, EM_X86_64, Rel32, Rel64, Rela32, Rela64,
    SHT_REL, SHT_RELA, SHT_SYMTAB, Sym32, Sym64,
};
use object::read::elf::{Rel, Rela, Sym};
use object::{Endianness, Pod, pod};

/// The address that the code of a module is laid out from. Debug information of code without an address, which is at 0 and above,
/// is below it.
pub(crate) const BASE: u64 = 1 << 30;

/// Assigns addresses to the sections of code in their order, as the kernel loads them: without those of the initialization, which
/// it loads elsewhere and discards.
pub(crate) fn lay_out(sections: &mut [ObjectSection]) {
    let mut end = BASE;
    for section in sections {
        section.address = 0;
        if !section.is_loaded || !section.is_executable || section.name.starts_with(b".init") {
            continue;
        }
        let start = end.checked_next_multiple_of(section.alignment.max(1));
        // Larger than any module: the file is corrupt.
        let limit = start.and_then(|start| start.checked_add(section.size)).filter(|&limit| limit < 2 * BASE);
        let Some((start, limit)) = start.zip(limit) else { return };
        (section.address, end) = (start, limit);
    }
}

/// Applies the relocations of a section of debug information; `None` if there are others than addresses and offsets.
///
/// Missing are the differences of labels that RISC-V and LoongArch leave to the linker; there only functions are known.
pub(crate) fn apply(object: &Object, section: usize, bytes: Vec<u8>) -> Option<Vec<u8>> {
    let mut bytes = bytes;
    let of_section = |list: &&ObjectSection| {
        let is_list = list.kind == SHT_RELA.0 || list.kind == SHT_REL.0;
        is_list && list.info == section
    };
    for list in object.sections().iter().filter(of_section) {
        // Another section would have relocations of its own, and these could refer to each other.
        let is_symbol_table = object.sections().get(list.link).is_some_and(|linked| linked.kind == SHT_SYMTAB.0);
        let symbols = if is_symbol_table { object.section_data(list.link) } else { &[] };
        let data = object.raw(list);
        let target = RelocationTarget { object, symbols };
        match (object.is_64(), list.kind == SHT_RELA.0) {
            (true, true) => target.with_addends::<Rela64<Endianness>, Sym64<Endianness>>(data, &mut bytes)?,
            (false, true) => target.with_addends::<Rela32<Endianness>, Sym32<Endianness>>(data, &mut bytes)?,
            (true, false) => target.in_place::<Rel64<Endianness>, Sym64<Endianness>>(data, &mut bytes)?,
            (false, false) => target.in_place::<Rel32<Endianness>, Sym32<Endianness>>(data, &mut bytes)?,
        }
    }
    Some(bytes)
}

/// Size of the address or offset that a relocation stores; 0 if it stores nothing.
fn size(machine: u16, kind: u32) -> Option<usize> {
    // Absolute relocations of 8 and of 4 bytes.
    let (long, short): (&[u32], &[u32]) = match machine {
        _ if kind == 0 => return Some(0),
        machine if machine == EM_X86_64.0 => (&[1], &[10, 11]),
        machine if machine == EM_AARCH64.0 => (&[257], &[258]),
        machine if machine == EM_PPC64.0 => (&[38], &[1]),
        machine if machine == EM_S390.0 => (&[22], &[4]),
        machine if machine == EM_RISCV.0 || machine == EM_LOONGARCH.0 => (&[2], &[1]),
        machine if machine == EM_386.0 => (&[], &[1]),
        machine if machine == EM_ARM.0 => (&[], &[2]),
        _ => return None,
    };
    if long.contains(&kind) {
        return Some(8);
    }
    short.contains(&kind).then_some(4)
}

/// The symbols that relocations refer to.
struct RelocationTarget<'a> {
    object: &'a Object,
    symbols: &'a [u8],
}

impl RelocationTarget<'_> {
    fn with_addends<R, S>(&self, list: &[u8], bytes: &mut [u8]) -> Option<()>
    where
        R: Rela<Endian = Endianness> + Pod,
        S: Sym<Endian = Endianness> + Pod,
    {
        let endian = self.object.endian();
        for relocation in items::<R>(list) {
            let size = size(self.object.machine(), relocation.r_type(endian, false).0)?;
            let value = self.address::<S>(relocation.r_sym(endian, false))?;
            let addend: i64 = relocation.r_addend(endian).into();
            self.store(bytes, relocation.r_offset(endian).into(), size, value.wrapping_add(addend as u64))?;
        }
        Some(())
    }

    fn in_place<R, S>(&self, list: &[u8], bytes: &mut [u8]) -> Option<()>
    where
        R: Rel<Endian = Endianness> + Pod,
        S: Sym<Endian = Endianness> + Pod,
    {
        let endian = self.object.endian();
        for relocation in items::<R>(list) {
            let size = size(self.object.machine(), relocation.r_type(endian).0)?;
            let value = self.address::<S>(relocation.r_sym(endian))?;
            let offset = relocation.r_offset(endian).into();
            let addend = field_mut(bytes, offset, size)?;
            let addend = addend.iter().enumerate().fold(0u64, |sum, (at, &byte)| {
                let at = if endian == Endianness::Big { size - 1 - at } else { at };
                sum | u64::from(byte) << (8 * at)
            });
            self.store(bytes, offset, size, value.wrapping_add(addend))?;
        }
        Some(())
    }

    fn address<S: Sym<Endian = Endianness> + Pod>(&self, symbol: u32) -> Option<u64> {
        let endian = self.object.endian();
        let symbol = items::<S>(self.symbols).get(symbol as usize)?;
        let section = self.object.sections().get(usize::from(symbol.st_shndx(endian).0));
        let value: u64 = symbol.st_value(endian).into();
        Some(value.wrapping_add(section.map_or(0, |section| section.address)))
    }

    fn store(&self, bytes: &mut [u8], offset: u64, size: usize, value: u64) -> Option<()> {
        let field = field_mut(bytes, offset, size)?;
        match self.object.endian() {
            Endianness::Little => field.copy_from_slice(&value.to_le_bytes()[..size]),
            Endianness::Big => field.copy_from_slice(&value.to_be_bytes()[8 - size..]),
        }
        Some(())
    }
}

fn items<T: Pod>(data: &[u8]) -> &[T] {
    pod::slice_from_bytes(data, data.len() / size_of::<T>()).map_or(&[][..], |(list, _)| list)
}

fn field_mut(bytes: &mut [u8], offset: u64, size: usize) -> Option<&mut [u8]> {
    bytes.get_mut(usize::try_from(offset).ok()?..)?.get_mut(..size)
}

#[cfg(test)]
mod tests {
    use super::super::lookup::names;
    use super::super::table::SymbolTable;
    use super::*;
    use object::elf::SectionHeader64;
    use object::write::{Object as Writer, Relocation, Symbol, SymbolSection};
    use object::{Architecture, BinaryFormat, RelocationFlags, SectionKind, SymbolFlags, SymbolKind, SymbolScope};
    use std::path::Path;

    /// A module with three functions, each in a section of its own, and a debug section that refers to them.
    fn module(architecture: Architecture, kind: u32) -> Vec<u8> {
        let mut file = Writer::new(BinaryFormat::Elf, architecture, object::Endianness::Little);
        let debug = file.add_section(vec![], b".debug_info".to_vec(), SectionKind::Debug);
        let size = file.append_section_data(debug, &[0xee; 24], 1);
        assert_eq!(size, 0);
        for (number, name) in [".text", ".init.text", ".text.unlikely"].iter().enumerate() {
            let section = file.add_section(vec![], name.as_bytes().to_vec(), SectionKind::Text);
            file.append_section_data(section, &[0x90; 20], 16);
            let symbol = file.add_symbol(Symbol {
                name: format!("f{number}").into_bytes(),
                value: 4,
                size: 8,
                kind: SymbolKind::Text,
                scope: SymbolScope::Linkage,
                weak: false,
                section: SymbolSection::Section(section),
                flags: SymbolFlags::None,
            });
            let flags = RelocationFlags::Elf { r_type: object::elf::RelocationType(kind) };
            let relocation = Relocation { offset: 8 * number as u64, symbol, addend: 2, flags };
            file.add_relocation(debug, relocation).unwrap();
        }
        file.write().unwrap()
    }

    #[test]
    fn code_is_laid_out_and_debug_information_relocated() {
        let object = Object::parse(Path::new("x.ko"), module(Architecture::X86_64, 1).into()).unwrap();
        let table = SymbolTable::new(&object, None);
        let name = |offset| names(&table, object.address_of_offset(offset).unwrap()).join(";");
        assert_eq!([3, 4, 11, 12, 0x23, 0x24, 0x2b, 0x2c].map(name), ["", "f0", "f0", "", "", "f2", "f2", ""]);
        let addresses: Vec<u64> =
            object.section(b".debug_info").chunks(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect();
        // Code of the initialization has no address.
        assert_eq!(addresses, [BASE + 6, 6, BASE + 0x26]);
    }

    #[test]
    fn relocations_whose_symbols_are_the_section_itself_end() {
        let mut bytes = module(Architecture::X86_64, 1);
        let object = Object::parse(Path::new("x.ko"), bytes.clone().into()).unwrap();
        let debug = object.section_index(b".debug_info").unwrap();
        let list = object.sections().iter().position(|section| section.kind == SHT_RELA.0).unwrap();
        let (table, _) = bytes[0x28..].split_first_chunk().unwrap();
        let link = u64::from_le_bytes(*table) as usize + list * size_of::<SectionHeader64<Endianness>>() + 0x28;
        bytes[link] = debug as u8;
        let object = Object::parse(Path::new("x.ko"), bytes.into()).unwrap();
        assert_eq!(object.sections()[list].link, debug);
        assert!(object.section(b".debug_info").is_empty());
    }

    #[test]
    fn unknown_relocations_and_corrupt_modules_cost_their_debug_information() {
        let difference_of_labels = module(Architecture::Riscv64, 35);
        let object = Object::parse(Path::new("x.ko"), difference_of_labels.into()).unwrap();
        assert!(object.section(b".debug_info").is_empty());
        let whole = module(Architecture::X86_64, 1);
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0xff;
            if let Some(object) = Object::parse(Path::new("x.ko"), bytes.into()) {
                (0..object.sections().len()).for_each(|index| assert!(object.section_data(index).len() < 1 << 20));
                SymbolTable::new(&object, None);
            }
        }
    }
}
