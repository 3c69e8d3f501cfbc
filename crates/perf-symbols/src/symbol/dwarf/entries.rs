//! Walks over the entries of a unit without reading their attributes.

use super::Slice;
use gimli::{Abbreviations, DwForm, DwTag, Reader, UnitHeader, UnitOffset, constants};

/// What the bytes of a form begin with, if its size differs from value to value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EntryStep {
    /// Bytes of forms of constant size.
    Bytes(usize),
    /// A LEB128 number.
    Number,
    /// A string with a null byte.
    String,
    /// A block with its size in this many bytes before it.
    Sized(usize),
    /// A block with its size as a LEB128 number before it.
    Numbered,
    /// The offset in the unit of the next entry with the same parent, in this many bytes.
    Sibling(usize),
    /// A form that is not known, after which nothing can be read.
    Unknown,
}

/// How the entries with an abbreviation are passed over.
#[derive(Debug)]
struct Shape {
    tag: DwTag,
    has_children: bool,
    has_code: bool,
    steps: Vec<EntryStep>,
}

/// The abbreviations of a unit.
#[derive(Debug)]
pub(super) struct Shapes(Vec<Option<Shape>>);

impl Shapes {
    /// Reads abbreviations. Compilers number them from 1; those beyond a gap are not known.
    pub(super) fn new(abbreviations: &Abbreviations, header: &UnitHeader<Slice<'_>>) -> Self {
        let numbered = (1..).map_while(|code| abbreviations.get(code));
        let shape = |abbreviation: &gimli::Abbreviation| {
            let mut steps = Vec::new();
            for attribute in abbreviation.attributes() {
                let step = match (attribute.name(), attribute.size(header)) {
                    (constants::DW_AT_sibling, Some(size)) => EntryStep::Sibling(size),
                    (_, Some(size)) => EntryStep::Bytes(size),
                    (_, None) => EntryStep::from_form(attribute.form()),
                };
                match (steps.last_mut(), step) {
                    (Some(EntryStep::Bytes(before)), EntryStep::Bytes(size)) => *before += size,
                    (_, EntryStep::Bytes(0)) => {}
                    _ => steps.push(step),
                }
            }
            let is_code = |name| matches!(name, constants::DW_AT_low_pc | constants::DW_AT_ranges);
            let has_code = abbreviation.attributes().iter().any(|attribute| is_code(attribute.name()));
            Shape { tag: abbreviation.tag(), has_children: abbreviation.has_children(), has_code, steps }
        };
        Self(std::iter::once(None).chain(numbered.map(|abbreviation| Some(shape(abbreviation)))).collect())
    }
}

impl EntryStep {
    fn from_form(form: DwForm) -> Self {
        match form {
            constants::DW_FORM_block1 => Self::Sized(1),
            constants::DW_FORM_block2 => Self::Sized(2),
            constants::DW_FORM_block4 => Self::Sized(4),
            constants::DW_FORM_block | constants::DW_FORM_exprloc => Self::Numbered,
            constants::DW_FORM_string => Self::String,
            constants::DW_FORM_udata
            | constants::DW_FORM_sdata
            | constants::DW_FORM_ref_udata
            | constants::DW_FORM_strx
            | constants::DW_FORM_GNU_str_index
            | constants::DW_FORM_addrx
            | constants::DW_FORM_GNU_addr_index
            | constants::DW_FORM_loclistx
            | constants::DW_FORM_rnglistx => Self::Number,
            _ => Self::Unknown,
        }
    }
}

/// An entry that was passed over.
#[derive(Clone, Copy, Debug)]
pub(super) struct DwarfEntry {
    /// Its offset in the unit.
    pub offset: UnitOffset,
    /// Its tag.
    pub tag: DwTag,
    /// Number of entries above it, up to the one at which the walk began.
    pub depth: usize,
    /// Whether it has attributes with the addresses of code.
    pub has_code: bool,
    /// Whether entries can be below it.
    pub has_children: bool,
    sibling: Option<usize>,
}

/// A walk over an entry and those below it, each before its children. It ends early at a form that is not known.
pub(super) struct Walk<'u, 'a> {
    shapes: &'u Shapes,
    whole: Slice<'a>,
    rest: Slice<'a>,
    /// Offset of `whole` in the unit.
    first: usize,
    depth: usize,
    is_begun: bool,
}

impl<'u, 'a> Walk<'u, 'a> {
    /// A walk from an entry.
    pub(super) fn new(header: &UnitHeader<Slice<'a>>, shapes: &'u Shapes, start: UnitOffset) -> Option<Self> {
        let first = header.root_offset();
        let whole = header.range_from(first..).ok()?;
        let mut walk = Self { shapes, whole, rest: whole, first: first.0, depth: 0, is_begun: false };
        walk.seek(start.0).then_some(walk)
    }

    /// Continues at an offset, unless it is beyond the unit.
    fn seek(&mut self, offset: usize) -> bool {
        let mut rest = self.whole;
        let is_inside = offset.checked_sub(self.first).is_some_and(|offset| rest.skip(offset).is_ok());
        if is_inside {
            self.rest = rest;
        }
        is_inside
    }

    /// Offset of the bytes that follow in the unit.
    pub(super) fn offset(&self) -> UnitOffset {
        UnitOffset(self.first + self.rest.offset_from(self.whole))
    }

    pub(super) fn next(&mut self) -> Option<DwarfEntry> {
        while !self.is_begun || self.depth > 0 {
            self.is_begun = true;
            let offset = self.offset();
            let code = self.rest.read_uleb128().ok()?;
            if code == 0 {
                self.depth = self.depth.saturating_sub(1);
                continue;
            }
            let shape = self.shapes.0.get(usize::try_from(code).ok()?)?.as_ref()?;
            let sibling = self.pass(&shape.steps)?;
            let (tag, has_children, has_code) = (shape.tag, shape.has_children, shape.has_code);
            let entry = DwarfEntry { offset, tag, depth: self.depth, has_code, has_children, sibling };
            self.depth += usize::from(has_children);
            return Some(entry);
        }
        None
    }

    /// Passes over the children of the last entry, if it refers to the entry after them. Whether children were left out.
    pub(super) fn skip_children(&mut self, entry: &DwarfEntry) -> bool {
        let next = entry.sibling.filter(|&next| entry.has_children && next > self.offset().0);
        let is_left_out = next.is_some_and(|next| self.seek(next));
        if is_left_out {
            self.depth = entry.depth;
        }
        is_left_out
    }

    /// Passes over attributes, and returns the offset of the next entry with the same parent if they have it. `None` at the end.
    fn pass(&mut self, steps: &[EntryStep]) -> Option<Option<usize>> {
        let mut sibling = None;
        for step in steps {
            let len = match *step {
                EntryStep::Bytes(len) => len,
                EntryStep::Number => {
                    self.rest.skip_leb128().ok()?;
                    continue;
                }
                EntryStep::String => self.rest.find(0)? + 1,
                EntryStep::Sized(width) => self.number(width)?,
                EntryStep::Numbered => usize::try_from(self.rest.read_uleb128().ok()?).ok()?,
                EntryStep::Sibling(width) => {
                    sibling = Some(self.number(width)?);
                    continue;
                }
                EntryStep::Unknown => return None,
            };
            self.rest.skip(len).ok()?;
        }
        Some(sibling)
    }

    fn number(&mut self, width: usize) -> Option<usize> {
        let number = match width {
            1 => self.rest.read_u8().map(u64::from),
            2 => self.rest.read_u16().map(u64::from),
            4 => self.rest.read_u32().map(u64::from),
            8 => self.rest.read_u64(),
            _ => return None,
        };
        usize::try_from(number.ok()?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::super::calls::tests::{END, FUNCTION, TYPE, entry, with_unit};
    use super::super::functions::{Depth, Functions};

    /// The functions found at 0x1000, in a type that refers to an offset as the next entry, and at 0x2000, after the type.
    fn find_functions(sibling: u32) -> ([bool; 2], bool) {
        let inside = entry(FUNCTION, 0x1000, 0x10);
        let kind = [&[TYPE][..], &sibling.to_le_bytes(), &inside, &[END, END]].concat();
        let entries = [kind, entry(FUNCTION, 0x2000, 0x10), vec![END]].concat();
        let mut find_functions = ([false; 2], false);
        with_unit(&entries, |view, budget| {
            let functions = Functions::new(view, budget, Depth::Outer);
            find_functions =
                ([0x1000, 0x2000].map(|address| functions.find(address).is_some()), functions.is_partial());
        });
        find_functions
    }

    #[test]
    fn children_are_passed_over_only_forward_in_the_unit() {
        // The header has 11 bytes, the entry of the unit 13, that of the type 5, the function in it 13, and two ends follow.
        let next = 11 + 13 + 5 + 13 + 2;
        assert_eq!(find_functions(next), ([false, true], true));
        for wrong in [0, 11, 24, 29, 1000, u32::MAX] {
            assert_eq!(find_functions(wrong), ([true, true], false), "{wrong}");
        }
    }
}
