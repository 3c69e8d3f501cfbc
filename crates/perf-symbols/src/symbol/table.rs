//! Symbol tables of ELF files: `.symtab`, or else `.dynsym` and `.gnu_debugdata`, and PLT entries.

use super::lookup::{FunctionFrame, Lookup};
use super::object::Object;
use super::plt;
use super::ranges::Ranges;
use bytes::Bytes;
use object::elf::{
    EM_AARCH64, EM_ARM, EM_CSKY, EM_MIPS, EM_PPC64, EM_RISCV, SHN_UNDEF, STB_GLOBAL, STB_WEAK, STT_FUNC, STT_GNU_IFUNC,
    STT_NOTYPE, STT_OBJECT, Sym32, Sym64,
};
use object::read::elf::Sym;
use object::{Endianness, Pod, pod};
use perf_data::session::names::MAX_NAME;
use std::cmp::Reverse;

/// A symbol of code.
#[derive(Clone, Copy, Debug)]
struct Symbol {
    start: u64,
    /// Size in bytes; 0 if unknown.
    size: u64,
    /// Upper bound for the end of a symbol without a size: the end of its section.
    limit: u64,
    name: Name,
    is_function: bool,
    is_weak: bool,
    is_global: bool,
}

/// Location of a name.
#[derive(Clone, Copy, Debug)]
struct Name {
    source: u32,
    offset: u32,
}

/// What symbols a table has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Kind {
    #[default]
    Functions,
    /// Objects outside of code: variables, constants.
    Data,
}

/// Functions, or data, by address.
#[derive(Debug, Default)]
pub struct SymbolTable {
    kind: Kind,
    sources: Vec<Bytes>,
    symbols: Vec<Symbol>,
    ranges: Ranges,
}

impl SymbolTable {
    /// The symbols of an object and of its debug file.
    pub fn new(object: &Object, debug: Option<&Object>) -> Self {
        let mut table = Self::default();
        let has_table = table.add(object, b".symtab") || debug.is_some_and(|debug| table.add(debug, b".symtab"));
        if !has_table {
            table.add(object, b".dynsym");
            table.add_mini_debug_info(object);
        }
        for (start, size, name) in plt::entries(object) {
            table.add_named(start, size, name);
        }
        table.finish();
        table
    }

    /// The symbols of data of an object and of its debug file.
    pub fn data(object: &Object, debug: Option<&Object>) -> Self {
        let mut table = Self { kind: Kind::Data, ..Self::default() };
        let has_table = table.add(object, b".symtab") || debug.is_some_and(|debug| table.add(debug, b".symtab"));
        if !has_table {
            table.add(object, b".dynsym");
        }
        table.finish();
        table
    }

    /// Builds a table of symbols with start address, size and name. A symbol of size 0 extends to the next one.
    pub fn from_symbols<'a>(symbols: impl Iterator<Item = (u64, u64, &'a [u8])>) -> Self {
        let mut table = Self::default();
        let mut names = Vec::new();
        for (start, size, name) in symbols {
            let Ok(offset) = u32::try_from(names.len()) else { break };
            names.extend_from_slice(name);
            names.push(0);
            table.push(start, size, Name { source: 0, offset });
        }
        table.sources.push(names.into());
        table.finish();
        table
    }

    /// Calls `on_symbol` with the address and name of each symbol of code, of an object or of its debug file: several for one address.
    pub(super) fn each_alias(object: &Object, debug: Option<&Object>, on_symbol: &mut dyn FnMut(u64, &[u8])) {
        let mut table = Self::default();
        let _ = table.add(object, b".symtab") || debug.is_some_and(|debug| table.add(debug, b".symtab"));
        table.symbols.iter().for_each(|symbol| on_symbol(symbol.start, table.name(symbol.name)));
    }

    fn push(&mut self, start: u64, size: u64, name: Name) {
        let (is_function, is_weak, is_global) = (true, false, false);
        self.symbols.push(Symbol { start, size, limit: u64::MAX, name, is_function, is_weak, is_global });
    }

    fn add_named(&mut self, start: u64, size: u64, name: Vec<u8>) {
        let source = self.sources.len() as u32;
        self.sources.push(name.into());
        self.push(start, size, Name { source, offset: 0 });
    }

    /// Adds the symbols of a section; returns false if there are none.
    fn add(&mut self, object: &Object, section: &[u8]) -> bool {
        let Some(index) = object.section_index(section) else { return false };
        let strings = object.section_data(object.sections()[index].link);
        let owner = object.bytes().as_ptr_range();
        // The table shares the bytes of the file, unless the section was inflated.
        let is_mapped = owner.contains(&strings.as_ptr()) && !strings.is_empty();
        let source = self.sources.len() as u32;
        let strings = if is_mapped { object.bytes().slice_ref(strings) } else { Bytes::copy_from_slice(strings) };
        let before = self.symbols.len();
        if object.is_64() {
            self.read::<Sym64<Endianness>>(object, object.section_data(index), source, &strings);
        } else {
            self.read::<Sym32<Endianness>>(object, object.section_data(index), source, &strings);
        }
        self.sources.push(strings);
        self.symbols.len() > before
    }

    fn read<S: Sym<Endian = Endianness> + Pod>(&mut self, object: &Object, data: &[u8], source: u32, strings: &[u8]) {
        let Ok((list, _)) = pod::slice_from_bytes::<S>(data, data.len() / size_of::<S>()) else { return };
        let (endian, machine) = (object.endian(), object.machine());
        let descriptors = Descriptors::parse(object);
        for symbol in list {
            let kind = symbol.st_type();
            let section = object.sections().get(usize::from(symbol.st_shndx(endian).0));
            let is_in_code = section.is_some_and(|section| section.is_executable);
            let is_function = self.kind == Kind::Functions && (kind == STT_FUNC || kind == STT_GNU_IFUNC);
            let is_label = match self.kind {
                // GHC marks its code as objects, because data precedes each entry point.
                Kind::Functions => [STT_NOTYPE, STT_OBJECT].contains(&kind) && is_in_code,
                Kind::Data => kind == STT_OBJECT && section.is_some() && !is_in_code,
            };
            if !(is_function || is_label) || symbol.st_shndx(endian) == SHN_UNDEF {
                continue;
            }
            let offset = symbol.st_name(endian);
            let Some(name) = strings.get(offset as usize..) else { continue };
            if matches!(name.first(), None | Some(0)) || is_label && is_marker(machine, name) {
                continue;
            }
            let mut start: u64 = symbol.st_value(endian).into();
            if is_function && [EM_ARM.0, EM_MIPS.0].contains(&machine) {
                // The lowest bit of an address selects the instruction set.
                start &= !1;
            }
            let mut limit = section.map_or(u64::MAX, |section| section.address.saturating_add(section.size));
            // The symbol is in the section of descriptors, which does not bound the code.
            if let Some(code) = descriptors.as_ref().and_then(|descriptors| descriptors.code(start)) {
                (start, limit) = (code, u64::MAX);
            }
            if object.is_relocatable() {
                // Code that is discarded after the initialization has no address.
                let Some(section) = section.filter(|section| section.address != 0) else { continue };
                start = start.wrapping_add(section.address);
                limit = section.address.saturating_add(section.size);
            }
            self.symbols.push(Symbol {
                start,
                size: symbol.st_size(endian).into(),
                limit,
                name: Name { source, offset },
                is_function,
                is_weak: symbol.st_bind() == STB_WEAK,
                is_global: symbol.st_bind() == STB_GLOBAL,
            });
        }
    }

    /// Adds the symbols of a stripped file from the compressed ELF file that Fedora embeds (MiniDebugInfo).
    fn add_mini_debug_info(&mut self, object: &Object) {
        if let Some(inside) = object.mini_debug_info() {
            self.add(&inside, b".symtab");
        }
    }

    /// Sorts the symbols, keeps one name per address, and derives missing sizes.
    fn finish(&mut self) {
        let mut symbols = std::mem::take(&mut self.symbols);
        symbols.sort_by_key(|symbol| symbol.start);
        let by_start = symbols.chunk_by(|a, b| a.start == b.start);
        let mut kept: Vec<Symbol> = by_start.filter_map(|aliases| self.preferred(aliases)).collect();
        let (mut covered, mut index) = (0, 0);
        while let Some(symbol) = kept.get(index).copied() {
            let next = kept.get(index + 1).map_or(u64::MAX, |next| next.start);
            if symbol.size == 0 {
                // A label within a function is not a function.
                kept[index].size =
                    if symbol.start < covered { 0 } else { next.min(symbol.limit).saturating_sub(symbol.start) };
            } else {
                covered = covered.max(symbol.start.saturating_add(symbol.size));
            }
            index += 1;
        }
        kept.retain(|symbol| symbol.size > 0);
        self.ranges = Ranges::new(kept.iter().map(|symbol| (symbol.start, symbol.start.saturating_add(symbol.size))));
        self.symbols = kept;
    }

    /// The name that perf would show for an address: preferably that of a function, with a size, not weak, global, with the
    /// fewest leading underscores, the longest, the first in the table.
    fn preferred(&self, aliases: &[Symbol]) -> Option<Symbol> {
        let &[first, ref rest @ ..] = aliases else { return None };
        if rest.is_empty() {
            return Some(first);
        }
        let rank = |symbol: &Symbol| {
            let name = self.name(symbol.name);
            let underscores = name.iter().take_while(|&&byte| byte == b'_').count();
            let bind = (!symbol.is_weak, symbol.is_global);
            (symbol.size > 0, symbol.is_function, bind, Reverse(underscores), name.len())
        };
        // Of several maxima, the iterator returns the last.
        aliases.iter().rev().max_by_key(|symbol| rank(symbol)).copied()
    }

    /// A name, of which no more is read than shows that it is too long: any number of symbols can have one long name, or parts of
    /// it.
    fn name(&self, name: Name) -> &[u8] {
        let strings = self.sources.get(name.source as usize).and_then(|strings| strings.get(name.offset as usize..));
        let strings = strings.unwrap_or_default();
        let strings = &strings[..strings.len().min(MAX_NAME + 1)];
        &strings[..memchr::memchr(0, strings).unwrap_or(strings.len())]
    }

    /// Start address and name of the function that contains an address.
    pub fn find(&self, address: u64) -> Option<(u64, &[u8])> {
        let symbol = self.symbols.get(self.ranges.find(address)?)?;
        Some((symbol.start, self.name(symbol.name)))
    }

    /// Start and end address of the function that contains an address.
    pub fn range(&self, address: u64) -> Option<(u64, u64)> {
        let symbol = self.symbols.get(self.ranges.find(address)?)?;
        Some((symbol.start, symbol.start.saturating_add(symbol.size)))
    }

    /// The start address of the function with this name.
    pub fn symbol_address(&self, name: &[u8]) -> Option<u64> {
        self.symbols.iter().find(|symbol| self.name(symbol.name) == name).map(|symbol| symbol.start)
    }

    /// Start address, size and name of all functions, sorted by address.
    pub fn symbols(&self) -> impl Iterator<Item = (u64, u64, &[u8])> {
        self.symbols.iter().map(|symbol| (symbol.start, symbol.size, self.name(symbol.name)))
    }

    /// Linker symbol names of all functions, sorted by address.
    pub fn names(&self) -> impl Iterator<Item = &[u8]> {
        self.symbols.iter().map(|symbol| self.name(symbol.name))
    }

    /// Number of symbols.
    pub fn len(&self) -> usize {
        self.symbols.len()
    }

    /// Whether there are no symbols.
    pub fn is_empty(&self) -> bool {
        self.symbols.is_empty()
    }
}

impl Lookup for SymbolTable {
    fn look_up(&self, address: u64, on_frame: &mut dyn FnMut(&FunctionFrame<'_>)) {
        if let Some((start, name)) = self.find(address) {
            on_frame(&FunctionFrame { name, symbol_start: Some(start), ..FunctionFrame::default() });
        }
    }
}

/// Whether a label marks something other than named code: a mapping symbol, or a note of a compiler plugin.
fn is_marker(machine: u16, name: &[u8]) -> bool {
    let is_mapping = [EM_ARM.0, EM_AARCH64.0, EM_RISCV.0, EM_CSKY.0].contains(&machine) && name[0] == b'$';
    is_mapping || name.starts_with(b".L") || name.starts_with(b".annobin_")
}

/// Function descriptors of 64-bit PowerPC before ELFv2: a function's symbol points to its descriptor in `.opd`.
struct Descriptors<'a> {
    address: u64,
    data: &'a [u8],
    endian: Endianness,
}

impl<'a> Descriptors<'a> {
    fn parse(object: &'a Object) -> Option<Self> {
        let index = object.section_index(b".opd").filter(|_| object.machine() == EM_PPC64.0 && object.is_64())?;
        let address = object.sections()[index].address;
        Some(Self { address, data: object.section_data(index), endian: object.endian() })
    }

    fn code(&self, descriptor: u64) -> Option<u64> {
        let offset = usize::try_from(descriptor.checked_sub(self.address)?).ok()?;
        let word: [u8; 8] = *self.data.get(offset..)?.first_chunk()?;
        Some(if self.endian == Endianness::Big { u64::from_be_bytes(word) } else { u64::from_le_bytes(word) })
    }
}

#[cfg(test)]
mod tests {
    use super::super::object::tests::object;
    use super::*;

    #[test]
    fn symbols_have_their_sizes() {
        let object = object();
        let table = SymbolTable::new(&object, None);
        let name =
            |address| table.find(address).map(|(start, name)| (start, String::from_utf8_lossy(name).into_owned()));
        assert_eq!(name(0x1000), Some((0x1000, "first".to_owned())));
        assert_eq!(name(0x101f), Some((0x1010, "second".to_owned())));
        assert_eq!((name(0xfff), name(0x1020)), (None, None));
    }

    #[test]
    fn a_symbol_without_a_size_reaches_to_the_next() {
        let symbols: [(u64, u64, &[u8]); 4] = [(10, 0, b"a"), (20, 10, b"b"), (25, 0, b"label"), (40, 0, b"c")];
        let table = SymbolTable::from_symbols(symbols.into_iter());
        let name = |address| table.find(address).map(|(_, name)| String::from_utf8_lossy(name).into_owned());
        let names = [9, 10, 19, 20, 26, 30, 1000].map(name);
        let expected = [None, Some("a"), Some("a"), Some("b"), Some("b"), None, Some("c")];
        assert_eq!(names, expected.map(|name| name.map(str::to_owned)));
    }

    #[test]
    fn of_aliases_the_plainest_is_shown() {
        let mut table =
            SymbolTable { sources: vec![Bytes::from_static(b"__a\0_a\0a\0weak\0long\0")], ..SymbolTable::default() };
        let symbol = |offset, is_weak, is_global, size| Symbol {
            start: 8,
            size,
            limit: u64::MAX,
            name: Name { source: 0, offset },
            is_function: true,
            is_weak,
            is_global,
        };
        let shown = |table: &SymbolTable, list: &[Symbol]| table.preferred(list).map(|symbol| symbol.name.offset);
        let [two, one, none] = [0, 4, 7].map(|offset| symbol(offset, false, true, 1));
        assert_eq!(shown(&table, &[two, one, none]), Some(7));
        assert_eq!(shown(&table, &[two, symbol(9, true, false, 1)]), Some(0));
        assert_eq!(shown(&table, &[one, symbol(7, false, false, 1)]), Some(4));
        assert_eq!(shown(&table, &[symbol(7, false, true, 0), two]), Some(0));
        assert_eq!(shown(&table, &[none, symbol(14, false, true, 1)]), Some(14));
        table.symbols = vec![two, none];
        table.finish();
        assert_eq!(table.find(8), Some((8, &b"a"[..])));
    }
}
