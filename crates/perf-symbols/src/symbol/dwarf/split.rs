//! Split DWARF: entries in a `.dwo` file for each unit, or in a package, a `.dwp`.

use super::budget::Budget;
use super::units::{UnitContent, UnitView, Units};
use super::{Slice, sections};
use crate::symbol::arena::Arena;
use crate::symbol::find::candidate_paths::SplitUnit;
use crate::symbol::object::Object;
use gimli::{Dwarf, DwarfFileType, DwarfPackage, DwoId, Section, SectionId, UnitRef, UnitType};
use hashbrown::HashMap;
use std::cell::{Cell, RefCell};
use std::path::PathBuf;
use std::rc::Rc;

/// How often the entries of a package are read: units of a damaged one can overlap.
const TIMES: usize = 2;

/// Opens split DWARF.
pub(super) struct SplitFiles<'a> {
    package: Option<DwarfPackage<Slice<'a>>>,
    /// Bytes of entries that may still be read of the package.
    package_bytes: Cell<usize>,
    open: &'a dyn Fn(&SplitUnit) -> Option<Object>,
    opened: &'a Arena<Object>,
    packaged: RefCell<HashMap<DwoId, Option<Rc<SplitFile<'a>>>>>,
    files: RefCell<HashMap<PathBuf, Option<Rc<SplitFile<'a>>>>>,
}

/// The units of a file, or of a part of a package.
struct SplitFile<'a> {
    units: Units<'a>,
    numbers: HashMap<DwoId, usize>,
}

impl<'a> SplitFile<'a> {
    fn new(dwarf: Dwarf<Slice<'a>>, budget: &Budget) -> Self {
        let own = [dwarf.debug_info.reader(), dwarf.debug_abbrev.reader(), dwarf.debug_line.reader()];
        budget.add(own.map(|section| section.len() as u64).iter().sum());
        let units = Units::new(dwarf);
        let id = |number| match units.header(number)?.type_() {
            UnitType::SplitCompilation(id) => Some((id, number)),
            UnitType::Compilation => Some((units.unit(number)?.unit.unit.dwo_id?, number)),
            _ => None,
        };
        // Of units with the same ID, the first counts.
        let numbers = (0..units.count()).rev().filter_map(id).collect();
        Self { units, numbers }
    }
}

/// A unit in split DWARF, with its file.
pub(super) struct SplitDwarf<'a> {
    file: Rc<SplitFile<'a>>,
    unit: UnitContent<'a>,
}

impl<'a> SplitDwarf<'a> {
    /// The unit, and the units of its file.
    pub(super) fn view(&self) -> (&Units<'a>, UnitView<'_, 'a>) {
        (&self.file.units, self.unit.view(&self.file.units))
    }
}

impl<'a> SplitFiles<'a> {
    /// Finds units in a package, or else opens their files with a function. `opened` keeps the files.
    pub(super) fn new(
        package: Option<&'a Object>,
        open: &'a dyn Fn(&SplitUnit) -> Option<Object>,
        opened: &'a Arena<Object>,
    ) -> Self {
        let entries = package.map_or(0, |package| sections::section(package, SectionId::DebugInfo.dwo_name()).len());
        Self {
            package: package.and_then(sections::load_package),
            package_bytes: Cell::new(TIMES * entries),
            open,
            opened,
            packaged: RefCell::default(),
            files: RefCell::default(),
        }
    }

    /// Opens the unit that belongs to one of the main file. The budget gets that of a file that is opened for the first time.
    pub(super) fn open(
        &self,
        main: &Units<'a>,
        skeleton: UnitRef<'_, Slice<'a>>,
        budget: &Budget,
    ) -> Option<SplitDwarf<'a>> {
        let id = skeleton.unit.dwo_id?;
        let packaged = || self.in_package(main.dwarf(), id).map(|dwarf| Rc::new(SplitFile::new(dwarf, budget)));
        let packaged = self.packaged.borrow_mut().entry(id).or_insert_with(packaged).clone();
        let file = packaged.or_else(|| self.in_file(main.dwarf(), skeleton, id, budget))?;
        let unit = file.units.completed(*file.numbers.get(&id)?, skeleton.unit)?;
        Some(SplitDwarf { file, unit })
    }

    fn in_package(&self, main: &Dwarf<Slice<'a>>, id: DwoId) -> Option<Dwarf<Slice<'a>>> {
        let dwarf = self.package.as_ref()?.find_cu(id, main).ok()??;
        let left = self.package_bytes.get().checked_sub(dwarf.debug_info.reader().len())?;
        self.package_bytes.set(left);
        Some(dwarf)
    }

    fn in_file(
        &self,
        main: &Dwarf<Slice<'a>>,
        skeleton: UnitRef<'_, Slice<'a>>,
        id: DwoId,
        budget: &Budget,
    ) -> Option<Rc<SplitFile<'a>>> {
        let name = skeleton.dwo_name().ok()?.and_then(|name| skeleton.attr_string(name).ok());
        let unit = sections::split_unit(skeleton.unit.comp_dir, name, id);
        let open = || {
            let object = (self.open)(&unit).and_then(|object| self.opened.add(object))?;
            let read = |id: SectionId| Ok::<_, gimli::Error>(sections::section(object, id.dwo_name()));
            let mut dwarf = Dwarf::load(read).ok()?;
            dwarf.file_type = DwarfFileType::Dwo;
            dwarf.make_dwo(main);
            Some(Rc::new(SplitFile::new(dwarf, budget)))
        };
        self.files.borrow_mut().entry(unit.directory.join(&unit.name)).or_insert_with(open).clone()
    }
}
