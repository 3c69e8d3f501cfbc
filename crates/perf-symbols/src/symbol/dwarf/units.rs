//! The units of a file, read when they are first needed.

use super::Slice;
use super::budget::Budget;
use super::entries::{Shapes, Walk};
use super::scopes::Scopes;
use gimli::{
    Abbreviations, DW_FORM_implicit_const, DebugInfoOffset, DebugTypeSignature, Dwarf, Reader, RunTimeEndian, Section,
    Unit, UnitHeader, UnitOffset, UnitRef, UnitType,
};
use hashbrown::HashMap;
use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

/// Bytes of abbreviations that are read whatever the number of entries.
const ABBREVIATIONS: usize = 512 << 10;

/// Units that are read whatever the size of the section, and the bytes that each further one needs. Compilers write no unit with less
/// than 40; a unit takes 800 bytes of memory.
const UNITS: usize = 1 << 15;
const UNIT_SIZE: usize = 32;

/// Abbreviations, which units can share.
struct UnitTable {
    abbreviations: Arc<Abbreviations>,
    shapes: Shapes,
}

/// What abbreviations depend on: their offset, the version, and the sizes of addresses and offsets.
type TableKey = (usize, u16, u8, u8);

/// A unit: its header, and its contents once they have been read. They are boxed because most units of a large object are never
/// read.
struct Slot<'a> {
    header: UnitHeader<Slice<'a>>,
    content: OnceCell<Option<Box<UnitContent<'a>>>>,
}

impl<'a> Slot<'a> {
    fn new(header: UnitHeader<Slice<'a>>) -> Self {
        Self { header, content: OnceCell::new() }
    }
}

/// The contents of a unit: its root entry, and tables for the others.
pub(super) struct UnitContent<'a> {
    unit: Unit<Slice<'a>>,
    table: Rc<UnitTable>,
    scopes: OnceCell<Scopes>,
}

impl<'a> UnitContent<'a> {
    /// The unit, as one of these.
    pub(super) fn view<'u>(&'u self, units: &'u Units<'a>) -> UnitView<'u, 'a> {
        let unit = UnitRef::new(&units.dwarf, &self.unit);
        UnitView { unit, shapes: &self.table.shapes, scopes: &self.scopes }
    }
}

/// The number of the unit with a type, and the offset of the type in it, by the signature of the type.
type Types = HashMap<DebugTypeSignature, (usize, UnitOffset)>;

/// The units of a file, in the order of their offsets.
pub(super) struct Units<'a> {
    dwarf: Dwarf<Slice<'a>>,
    slots: Vec<(DebugInfoOffset, Slot<'a>)>,
    /// Units of `.debug_types`, the section of types before DWARF 5.
    type_slots: OnceCell<Vec<Slot<'a>>>,
    types: OnceCell<Types>,
    tables: RefCell<HashMap<TableKey, Option<Rc<UnitTable>>>>,
    /// Bytes of tables of abbreviations that may still be read: units can refer to any offset in the same table.
    abbreviation_bytes: Cell<usize>,
    exceeds_limit: Cell<bool>,
}

/// A unit, with the sections that it refers to.
#[derive(Clone, Copy)]
pub(super) struct UnitView<'u, 'a> {
    /// The unit and its sections.
    pub unit: UnitRef<'u, Slice<'a>>,
    shapes: &'u Shapes,
    scopes: &'u OnceCell<Scopes>,
}

impl<'u, 'a> UnitView<'u, 'a> {
    /// A walk from an entry.
    pub(super) fn walk(&self, start: UnitOffset) -> Option<Walk<'u, 'a>> {
        Walk::new(&self.unit.unit.header, self.shapes, start)
    }

    /// The scopes of its entries.
    pub(super) fn scopes(self, budget: &Budget) -> &'u Scopes {
        self.scopes.get_or_init(|| Scopes::new(self, budget))
    }
}

impl<'a> Units<'a> {
    /// Reads the headers of a file's units.
    pub(super) fn new(dwarf: Dwarf<Slice<'a>>) -> Self {
        let max_units = UNITS.saturating_add(dwarf.debug_info.reader().len() / UNIT_SIZE);
        let (mut slots, mut units) = (Vec::new(), dwarf.units());
        let mut exceeds_limit = false;
        while let Ok(Some(header)) = units.next() {
            if slots.len() == max_units {
                exceeds_limit = true;
                break;
            }
            if let Some(offset) = header.debug_info_offset() {
                slots.push((offset, Slot::new(header)));
            }
        }
        // A table takes up to 40 times its size in memory, so many bytes of them need entries that they could be of: compilers write
        // a tenth as many as of entries. Tables of valid files do not overlap, but can be read for two versions of DWARF.
        let limit = ABBREVIATIONS.saturating_add(dwarf.debug_info.reader().len() / 2);
        let abbreviation_bytes = Cell::new(limit.min(2 * dwarf.debug_abbrev.reader().len() + 1));
        Self {
            dwarf,
            slots,
            type_slots: OnceCell::new(),
            types: OnceCell::new(),
            tables: RefCell::default(),
            abbreviation_bytes,
            exceeds_limit: Cell::new(exceeds_limit),
        }
    }

    pub(super) fn count(&self) -> usize {
        self.slots.len()
    }

    /// Whether units, or tables of abbreviations, were not read because there are too many for the size of the section.
    pub(super) fn exceeds_limit(&self) -> bool {
        self.exceeds_limit.get()
    }

    /// The sections.
    pub(super) fn dwarf(&self) -> &Dwarf<Slice<'a>> {
        &self.dwarf
    }

    /// Headers, with their offsets.
    pub(super) fn headers(&self) -> impl Iterator<Item = (DebugInfoOffset, &UnitHeader<Slice<'a>>)> {
        self.slots.iter().map(|(offset, slot)| (*offset, &slot.header))
    }

    pub(super) fn header(&self, number: usize) -> Option<&UnitHeader<Slice<'a>>> {
        self.slots.get(number).map(|(_, slot)| &slot.header)
    }

    /// A unit by its number; `None` if it cannot be read.
    pub(super) fn unit(&self, number: usize) -> Option<UnitView<'_, 'a>> {
        self.in_slot(&self.slots.get(number)?.1)
    }

    /// A unit by its number, completed by attributes of the unit that it is split from.
    pub(super) fn completed(&self, number: usize, skeleton: &Unit<Slice<'a>>) -> Option<UnitContent<'a>> {
        let mut content = self.read(&self.slots.get(number)?.1.header)?;
        content.unit.copy_relocated_attributes(skeleton);
        Some(content)
    }

    fn in_slot<'u>(&'u self, slot: &'u Slot<'a>) -> Option<UnitView<'u, 'a>> {
        let content = slot.content.get_or_init(|| self.read(&slot.header).map(Box::new)).as_ref()?;
        Some(content.view(self))
    }

    fn read(&self, header: &UnitHeader<Slice<'a>>) -> Option<UnitContent<'a>> {
        let table = self.table(header)?;
        let abbreviations = Arc::clone(&table.abbreviations);
        let unit = Unit::new_with_abbreviations(&self.dwarf, *header, abbreviations).ok()?;
        Some(UnitContent { unit, table, scopes: OnceCell::new() })
    }

    fn table(&self, header: &UnitHeader<Slice<'a>>) -> Option<Rc<UnitTable>> {
        let key =
            (header.debug_abbrev_offset().0, header.version(), header.address_size(), header.format().word_size());
        let read = || {
            let section = self.dwarf.debug_abbrev.reader();
            let table = section.slice().get(header.debug_abbrev_offset().0..)?;
            let limit = self.abbreviation_bytes.get();
            let len = table_len(&table[..table.len().min(limit)], section.endian());
            // A table that is as long as the limit, or does not end, is the last one that is read.
            self.abbreviation_bytes.set(limit - len);
            if len == limit {
                self.exceeds_limit.set(true);
                return None;
            }
            let abbreviations = Arc::new(header.abbreviations(&self.dwarf.debug_abbrev).ok()?);
            let shapes = Shapes::new(&abbreviations, header);
            Some(Rc::new(UnitTable { abbreviations, shapes }))
        };
        self.tables.borrow_mut().entry(key).or_insert_with(read).clone()
    }

    /// The number of the unit that contains an entry, and the offset of the entry in it.
    pub(super) fn find(&self, offset: DebugInfoOffset) -> Option<(usize, UnitOffset)> {
        let number = self.slots.partition_point(|(start, _)| *start <= offset).checked_sub(1)?;
        let (_, slot) = self.slots.get(number)?;
        Some((number, offset.to_unit_offset(&slot.header)?))
    }

    /// The entry of a type by its signature.
    pub(super) fn find_type(&self, signature: DebugTypeSignature) -> Option<(UnitView<'_, 'a>, UnitOffset)> {
        let in_types = self.type_slots.get_or_init(|| {
            let (mut slots, mut units) = (Vec::new(), self.dwarf.type_units());
            while let Ok(Some(header)) = units.next() {
                slots.push(Slot::new(header));
            }
            slots
        });
        let slot = |number: usize| {
            let own = self.slots.get(number).map(|(_, slot)| slot);
            own.or_else(|| in_types.get(number - self.slots.len()))
        };
        let types = self.types.get_or_init(|| {
            let numbers = 0..self.slots.len() + in_types.len();
            let signature = |number| match slot(number)?.header.type_() {
                UnitType::Type { type_signature, type_offset }
                | UnitType::SplitType { type_signature, type_offset } => Some((type_signature, (number, type_offset))),
                _ => None,
            };
            numbers.filter_map(signature).collect()
        });
        let &(number, offset) = types.get(&signature)?;
        Some((self.in_slot(slot(number)?)?, offset))
    }
}

/// Number of bytes of the table of abbreviations that some bytes begin with.
fn table_len(bytes: &[u8], endian: RunTimeEndian) -> usize {
    let mut rest = Slice::new(bytes, endian);
    let mut pass = || -> Option<()> {
        while rest.read_uleb128().ok()? != 0 {
            rest.skip_leb128().ok()?;
            rest.skip(1).ok()?;
            loop {
                let (name, form) = (rest.read_uleb128().ok()?, rest.read_uleb128().ok()?);
                if form == u64::from(DW_FORM_implicit_const.0) {
                    rest.skip_leb128().ok()?;
                }
                if (name, form) == (0, 0) {
                    break;
                }
            }
        }
        Some(())
    };
    // A table without an end is read to the end of the section.
    match pass() {
        Some(()) => bytes.len() - rest.len(),
        None => bytes.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gimli::SectionId;

    #[test]
    fn a_table_has_its_own_bytes() {
        let table = [1, 0x11, 1, 0x11, 1, 0x3a, 0x21, 7, 0, 0, 0];
        let more = [&table[..], &table].concat();
        assert_eq!(table_len(&more, RunTimeEndian::Little), table.len());
        assert_eq!(table_len(&table[..5], RunTimeEndian::Little), 5);
    }

    #[test]
    fn units_have_a_limit_that_their_size_raises() {
        let units = |count: usize| {
            // The header of a unit of DWARF 4 that has no entries.
            let info = [7, 0, 0, 0, 4, 0, 0, 0, 0, 0, 8].repeat(count);
            let load = |id| {
                Ok::<_, gimli::Error>(Slice::new(
                    if id == SectionId::DebugInfo { &info } else { &[] },
                    RunTimeEndian::Little,
                ))
            };
            let units = Units::new(Dwarf::load(load).unwrap());
            (units.count(), units.exceeds_limit())
        };
        assert_eq!(units(UNITS), (UNITS, false));
        let many = 2 * UNITS;
        assert_eq!(units(many), (UNITS + many * 11 / UNIT_SIZE, true));
    }

    /// Units that each refer to another offset in one table: the first few are read, then the budget ends.
    #[test]
    fn overlapping_tables_cost_no_more_than_their_bytes() {
        let kinds: Vec<u8> = (0..100).flat_map(|code| [code + 1, 0x2e, 0, 0, 0]).chain([0]).collect();
        let unit = |number: u32| [&8u32.to_le_bytes()[..], &[4, 0], &(5 * number).to_le_bytes(), &[8, 1]].concat();
        let info: Vec<u8> = (0..100).flat_map(unit).collect();
        let load = |id| {
            let bytes = match id {
                SectionId::DebugAbbrev => &kinds[..],
                SectionId::DebugInfo => &info,
                _ => &[],
            };
            Ok::<_, gimli::Error>(Slice::new(bytes, RunTimeEndian::Little))
        };
        let units = Units::new(Dwarf::load(load).unwrap());
        assert_eq!(units.headers().count(), 100);
        let tables: usize = (0..100).filter(|&number| units.table(&units.slots[number].1.header).is_some()).count();
        assert!((2..10).contains(&tables), "{tables}");
    }
}
