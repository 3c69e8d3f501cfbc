//! Properties of functions in debugging information entries (DIEs): line of the declaration, presence of a linkage name.

use super::dwarf::EntryKey;
use super::reader::Slice;
use gimli::{AttributeValue, Dwarf, Unit, UnitOffset, UnitRef};
use hashbrown::HashMap;
use std::rc::Rc;
use std::sync::Arc;

/// Maximum number of references that are followed from one entry to the next.
const DEPTH: usize = 16;

/// Properties of a function other than its name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Declaration<'a> {
    /// Line of the declaration; 0 if unknown.
    pub line: u32,
    /// Whether the entry has a linkage name.
    pub has_linkage_name: bool,
    marker: std::marker::PhantomData<&'a ()>,
}

/// Declarations, each read once.
pub struct Declarations<'a> {
    dwarf: Arc<Dwarf<Slice<'a>>>,
    known: HashMap<EntryKey, Declaration<'a>>,
    /// Unit headers of the main file, read when an entry first refers to another unit.
    main: Option<Units<'a>>,
    supplementary: Option<Units<'a>>,
}

/// The units of a file, by offset.
struct Units<'a> {
    headers: Vec<(usize, gimli::UnitHeader<Slice<'a>>)>,
    parsed: HashMap<usize, Option<Rc<Unit<Slice<'a>>>>>,
}

impl<'a> Units<'a> {
    fn new(dwarf: &Dwarf<Slice<'a>>) -> Self {
        let (mut headers, mut units) = (Vec::new(), dwarf.units());
        while let Ok(Some(header)) = units.next() {
            if let Some(offset) = header.debug_info_offset() {
                headers.push((offset.0, header));
            }
        }
        Self { headers, parsed: HashMap::new() }
    }

    /// The unit that contains an entry, and the offset of the entry in it.
    fn find(&mut self, dwarf: &Dwarf<Slice<'a>>, offset: usize) -> Option<(Rc<Unit<Slice<'a>>>, UnitOffset)> {
        let number = self.headers.partition_point(|(start, _)| *start <= offset).checked_sub(1)?;
        let (_, header) = self.headers.get(number)?;
        let inside = gimli::DebugInfoOffset(offset).to_unit_offset(header)?;
        let parse = || dwarf.unit(*header).ok().map(Rc::new);
        let unit = self.parsed.entry(number).or_insert_with(parse).clone()?;
        Some((unit, inside))
    }
}

/// Which file an entry is in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum File {
    /// The file of the unit that was found by address: the main file, or a split DWARF file.
    Own,
    /// The main file, in another unit.
    Main,
    /// The supplementary file that dwz created.
    Supplementary,
}

/// The entry that a function's entry refers to for its remaining attributes.
enum Next {
    Here(UnitOffset),
    Elsewhere(File, usize),
}

impl<'a> Declarations<'a> {
    /// Reads the declarations of a file's functions.
    pub fn new(dwarf: Arc<Dwarf<Slice<'a>>>) -> Self {
        Self { dwarf, known: HashMap::new(), main: None, supplementary: None }
    }

    /// The declaration of a function.
    pub fn find(&mut self, unit: UnitRef<'_, Slice<'a>>, entry: UnitOffset) -> Declaration<'a> {
        let key = (std::ptr::from_ref(unit.unit) as usize, entry);
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        let found = self.read(unit, entry);
        self.known.insert(key, found);
        found
    }

    fn read(&mut self, unit: UnitRef<'_, Slice<'a>>, entry: UnitOffset) -> Declaration<'a> {
        let mut found = Declaration::default();
        let Some(mut next) = read_entry(unit, entry, File::Own, &mut found) else { return found };
        let mut current: Option<(Rc<Unit<Slice<'a>>>, File)> = None;
        let dwarf = Arc::clone(&self.dwarf);
        for _ in 0..DEPTH {
            let offset = match next {
                Next::Here(offset) => offset,
                Next::Elsewhere(file, offset) => {
                    let from = current.as_ref().map_or(File::Own, |(_, file)| *file);
                    let file = if from == File::Supplementary { File::Supplementary } else { file };
                    let (units, dwarf) = match (file, dwarf.sup()) {
                        (File::Supplementary, Some(dwarf)) => (&mut self.supplementary, dwarf),
                        (File::Supplementary, None) => return found,
                        _ => (&mut self.main, &*dwarf),
                    };
                    let units = units.get_or_insert_with(|| Units::new(dwarf));
                    let Some((unit, offset)) = units.find(dwarf, offset) else { return found };
                    current = Some((unit, file));
                    offset
                }
            };
            let read = match &current {
                None => read_entry(unit, offset, File::Own, &mut found),
                Some((unit, file)) => {
                    let sections = if *file == File::Supplementary { dwarf.sup() } else { Some(&*dwarf) };
                    let Some(sections) = sections else { return found };
                    read_entry(UnitRef::new(sections, unit), offset, *file, &mut found)
                }
            };
            match read {
                Some(following) => next = following,
                None => break,
            }
        }
        found
    }
}

/// Reads an entry; returns the entry that it refers to, if that may have more attributes.
fn read_entry(
    unit: UnitRef<'_, Slice<'_>>,
    offset: UnitOffset,
    file: File,
    found: &mut Declaration<'_>,
) -> Option<Next> {
    let mut entries = unit.entries_raw(Some(offset)).ok()?;
    let abbreviation = entries.read_abbreviation().ok()??;
    let mut next = None;
    for spec in abbreviation.attributes() {
        let attribute = entries.read_attribute(*spec).ok()?;
        match attribute.name() {
            gimli::DW_AT_linkage_name | gimli::DW_AT_MIPS_linkage_name => found.has_linkage_name = true,
            gimli::DW_AT_decl_line if found.line == 0 => {
                found.line = attribute.udata_value().and_then(|line| line.try_into().ok()).unwrap_or(0);
            }
            gimli::DW_AT_abstract_origin | gimli::DW_AT_specification => next = Some(attribute.value()),
            _ => {}
        }
    }
    if found.has_linkage_name && found.line != 0 {
        return None;
    }
    match next? {
        AttributeValue::UnitRef(offset) => Some(Next::Here(offset)),
        AttributeValue::DebugInfoRef(offset) => {
            let own = offset.to_unit_offset(&unit.header).map(Next::Here);
            own.or(Some(Next::Elsewhere(if file == File::Own { File::Main } else { file }, offset.0)))
        }
        AttributeValue::DebugInfoRefSup(offset) => Some(Next::Elsewhere(File::Supplementary, offset.0)),
        _ => None,
    }
}
