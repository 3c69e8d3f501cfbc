//! The units of a file, read when they are first needed.

use super::Slice;
use super::budget::Budget;
use super::entries::{Shapes, Walk};
use super::scopes::Scopes;
use gimli::{
    Abbreviations, DebugInfoOffset, DebugTypeSignature, Dwarf, Unit, UnitHeader, UnitOffset, UnitRef, UnitType,
};
use hashbrown::HashMap;
use std::cell::{OnceCell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

/// Abbreviations, which units can share.
struct Table {
    abbreviations: Arc<Abbreviations>,
    shapes: Shapes,
}

/// What abbreviations depend on: their offset, the version, and the sizes of addresses and offsets.
type TableKey = (usize, u16, u8, u8);

/// A unit with its header.
struct Slot<'a> {
    header: UnitHeader<Slice<'a>>,
    content: OnceCell<Option<(Unit<Slice<'a>>, Rc<Table>)>>,
    scopes: OnceCell<Scopes>,
}

impl<'a> Slot<'a> {
    fn new(header: UnitHeader<Slice<'a>>) -> Self {
        Self { header, content: OnceCell::new(), scopes: OnceCell::new() }
    }
}

/// The number of the unit with a type, and the offset of the type in it, by the signature of the type.
type Types = HashMap<DebugTypeSignature, (usize, UnitOffset)>;

/// The units of a file, in the order of their offsets.
pub struct Units<'a> {
    dwarf: Dwarf<Slice<'a>>,
    slots: Vec<(DebugInfoOffset, Slot<'a>)>,
    /// Units of `.debug_types`, the section of types before DWARF 5.
    type_slots: OnceCell<Vec<Slot<'a>>>,
    types: OnceCell<Types>,
    tables: RefCell<HashMap<TableKey, Option<Rc<Table>>>>,
}

/// A unit, with the sections that it refers to.
#[derive(Clone, Copy)]
pub struct UnitView<'u, 'a> {
    /// The unit and its sections.
    pub unit: UnitRef<'u, Slice<'a>>,
    shapes: &'u Shapes,
    scopes: &'u OnceCell<Scopes>,
}

impl<'u, 'a> UnitView<'u, 'a> {
    /// A walk from an entry.
    pub fn walk(&self, start: UnitOffset) -> Option<Walk<'u, 'a>> {
        Walk::new(&self.unit.unit.header, self.shapes, start)
    }

    /// The scopes of its entries.
    pub fn scopes(self, budget: &Budget) -> &'u Scopes {
        self.scopes.get_or_init(|| Scopes::new(self, budget))
    }
}

impl<'a> Units<'a> {
    /// Reads the headers of a file's units.
    pub fn new(dwarf: Dwarf<Slice<'a>>) -> Self {
        let (mut slots, mut units) = (Vec::new(), dwarf.units());
        while let Ok(Some(header)) = units.next() {
            if let Some(offset) = header.debug_info_offset() {
                slots.push((offset, Slot::new(header)));
            }
        }
        Self { dwarf, slots, type_slots: OnceCell::new(), types: OnceCell::new(), tables: RefCell::default() }
    }

    /// The sections.
    pub fn dwarf(&self) -> &Dwarf<Slice<'a>> {
        &self.dwarf
    }

    /// Headers, with their offsets.
    pub fn headers(&self) -> impl Iterator<Item = (DebugInfoOffset, &UnitHeader<Slice<'a>>)> {
        self.slots.iter().map(|(offset, slot)| (*offset, &slot.header))
    }

    /// A unit by its number; `None` if it cannot be read.
    pub fn unit(&self, number: usize) -> Option<UnitView<'_, 'a>> {
        self.read(number, |_| {})
    }

    /// A unit that is completed by a function if it is read for the first time.
    pub fn read(&self, number: usize, complete: impl FnOnce(&mut Unit<Slice<'a>>)) -> Option<UnitView<'_, 'a>> {
        let (_, slot) = self.slots.get(number)?;
        self.read_slot(slot, complete)
    }

    fn read_slot<'u>(
        &'u self,
        slot: &'u Slot<'a>,
        complete: impl FnOnce(&mut Unit<Slice<'a>>),
    ) -> Option<UnitView<'u, 'a>> {
        let read = || {
            let table = self.table(&slot.header)?;
            let abbreviations = Arc::clone(&table.abbreviations);
            let mut unit = Unit::new_with_abbreviations(&self.dwarf, slot.header, abbreviations).ok()?;
            complete(&mut unit);
            Some((unit, table))
        };
        let (unit, table) = slot.content.get_or_init(read).as_ref()?;
        Some(UnitView { unit: UnitRef::new(&self.dwarf, unit), shapes: &table.shapes, scopes: &slot.scopes })
    }

    fn table(&self, header: &UnitHeader<Slice<'a>>) -> Option<Rc<Table>> {
        let key =
            (header.debug_abbrev_offset().0, header.version(), header.address_size(), header.format().word_size());
        let read = || {
            let abbreviations = Arc::new(header.abbreviations(&self.dwarf.debug_abbrev).ok()?);
            let shapes = Shapes::new(&abbreviations, header);
            Some(Rc::new(Table { abbreviations, shapes }))
        };
        self.tables.borrow_mut().entry(key).or_insert_with(read).clone()
    }

    /// The number of the unit that contains an entry, and the offset of the entry in it.
    pub fn find(&self, offset: DebugInfoOffset) -> Option<(usize, UnitOffset)> {
        let number = self.slots.partition_point(|(start, _)| *start <= offset).checked_sub(1)?;
        let (_, slot) = self.slots.get(number)?;
        Some((number, offset.to_unit_offset(&slot.header)?))
    }

    /// The entry of a type by its signature.
    pub fn find_type(&self, signature: DebugTypeSignature) -> Option<(UnitView<'_, 'a>, UnitOffset)> {
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
        Some((self.read_slot(slot(number)?, |_| {})?, offset))
    }
}
