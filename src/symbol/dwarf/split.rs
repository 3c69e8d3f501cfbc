//! Split DWARF: entries in a `.dwo` file for each unit, or in a package, a `.dwp`.

use super::units::{UnitView, Units};
use super::{Slice, sections};
use crate::symbol::arena::Arena;
use crate::symbol::find::candidate_paths::SplitUnit;
use crate::symbol::object::Object;
use gimli::{Dwarf, DwarfFileType, DwarfPackage, DwoId, Section, SectionId, Unit, UnitRef};
use hashbrown::HashMap;
use std::cell::RefCell;
use std::path::PathBuf;

/// Opens split DWARF.
pub struct SplitFiles<'a> {
    package: Option<DwarfPackage<Slice<'a>>>,
    open: &'a dyn Fn(&SplitUnit) -> Option<Object>,
    opened: &'a Arena<Object>,
    known: RefCell<HashMap<PathBuf, Option<&'a Object>>>,
}

/// A unit in split DWARF, with its file.
pub struct Split<'a> {
    units: Units<'a>,
    number: usize,
}

impl<'a> Split<'a> {
    /// Size of the sections of its file, or of its part of a package.
    pub fn size(&self) -> u64 {
        let dwarf = self.units.dwarf();
        let own = [dwarf.debug_info.reader(), dwarf.debug_abbrev.reader(), dwarf.debug_line.reader()];
        own.map(|section| section.len() as u64).iter().sum()
    }

    /// The unit, and the units of its file.
    pub fn view(&self) -> Option<(&Units<'a>, UnitView<'_, 'a>)> {
        Some((&self.units, self.units.unit(self.number)?))
    }
}

impl<'a> SplitFiles<'a> {
    /// Finds units in a package, or else opens their files with a function. `opened` keeps the files.
    pub fn new(
        package: Option<&'a Object>,
        open: &'a dyn Fn(&SplitUnit) -> Option<Object>,
        opened: &'a Arena<Object>,
    ) -> Self {
        Self { package: package.and_then(sections::load_package), open, opened, known: RefCell::default() }
    }

    /// Opens the unit that belongs to one of the main file.
    pub fn open(&self, main: &Units<'a>, skeleton: UnitRef<'_, Slice<'a>>) -> Option<Split<'a>> {
        let id = skeleton.unit.dwo_id?;
        let dwarf = self.in_package(main.dwarf(), id).or_else(|| self.in_file(main.dwarf(), skeleton, id))?;
        let units = Units::new(dwarf);
        // Type units can come first.
        let complete = |unit: &mut Unit<Slice<'a>>| unit.copy_relocated_attributes(skeleton.unit);
        let is_wanted = |number: &usize| {
            let view = units.read(*number, complete);
            view.is_some_and(|view| view.unit.unit.dwo_id == Some(id))
        };
        let number = (0..units.headers().count()).find(is_wanted)?;
        Some(Split { units, number })
    }

    fn in_package(&self, main: &Dwarf<Slice<'a>>, id: DwoId) -> Option<Dwarf<Slice<'a>>> {
        self.package.as_ref()?.find_cu(id, main).ok()?
    }

    fn in_file(
        &self,
        main: &Dwarf<Slice<'a>>,
        skeleton: UnitRef<'_, Slice<'a>>,
        id: DwoId,
    ) -> Option<Dwarf<Slice<'a>>> {
        let name = skeleton.dwo_name().ok()?.and_then(|name| skeleton.attr_string(name).ok());
        let unit = sections::split_unit(skeleton.unit.comp_dir, name, id);
        let open = || (self.open)(&unit).and_then(|object| self.opened.add(object));
        let object = (*self.known.borrow_mut().entry(unit.directory.join(&unit.name)).or_insert_with(open))?;
        let read = |id: SectionId| Ok::<_, gimli::Error>(sections::section(object, id.dwo_name()));
        let mut dwarf = Dwarf::load(read).ok()?;
        dwarf.file_type = DwarfFileType::Dwo;
        dwarf.make_dwo(main);
        Some(dwarf)
    }
}
