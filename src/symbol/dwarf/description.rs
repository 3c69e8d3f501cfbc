//! Names of functions and lines of their declarations, which are in an entry or in those that it refers to.

use super::budget::Budget;
use super::units::{UnitView, Units};
use gimli::{AttributeValue, UnitOffset, constants};

/// Maximum number of references that are followed from one entry to the next.
const REFERENCES: usize = 16;

/// Properties of a function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Description<'a> {
    /// Linkage name, or else name; empty if it has neither.
    pub name: &'a [u8],
    /// Line of the declaration; 0 if unknown.
    pub line: u32,
    /// Whether an entry has a linkage name.
    pub has_linkage_name: bool,
}

/// The units that entries can refer to.
pub struct Files<'u, 'a> {
    /// Units of the file with the entry.
    pub own: &'u Units<'a>,
    /// Units of the supplementary file that dwz created.
    pub supplementary: Option<&'u Units<'a>>,
    /// Limit on the bytes of names: any number of entries can have one long name, or parts of it.
    pub budget: &'u Budget,
}

impl<'a> Description<'a> {
    /// Describes the function of an entry.
    pub fn read<'u>(files: &Files<'u, 'a>, mut view: UnitView<'u, 'a>, mut entry: UnitOffset) -> Self {
        let mut found = Self::default();
        let mut own = Some(files.own);
        for _ in 0..=REFERENCES {
            let units = match found.read_entry(view, entry, files.budget) {
                Some(AttributeValue::UnitRef(offset)) => {
                    entry = offset;
                    continue;
                }
                Some(AttributeValue::DebugInfoRef(offset)) => own.map(|units| (units, offset)),
                Some(AttributeValue::DebugInfoRefSup(offset)) => {
                    own = files.supplementary;
                    own.map(|units| (units, offset))
                }
                _ => None,
            };
            let next = units.and_then(|(units, offset)| {
                let (number, entry) = units.find(offset)?;
                Some((units.unit(number)?, entry))
            });
            let Some(next) = next else { break };
            (view, entry) = next;
        }
        found
    }

    /// Reads what the entry has; returns the reference to the entry that may have more.
    fn read_entry(
        &mut self,
        view: UnitView<'_, 'a>,
        entry: UnitOffset,
        budget: &Budget,
    ) -> Option<AttributeValue<super::Slice<'a>>> {
        let mut entries = view.unit.entries_raw(Some(entry)).ok()?;
        let abbreviation = entries.read_abbreviation().ok()??;
        let (mut name, mut linkage_name, mut next) = (None, None, None);
        for spec in abbreviation.attributes() {
            let attribute = entries.read_attribute(*spec).ok()?;
            let string = || {
                let string = budget.spend(1).then(|| view.unit.attr_string(attribute.value()).ok()).flatten()?;
                budget.spend(string.len());
                Some(string)
            };
            match attribute.name() {
                constants::DW_AT_linkage_name | constants::DW_AT_MIPS_linkage_name => linkage_name = string(),
                constants::DW_AT_name => name = string(),
                constants::DW_AT_decl_line if self.line == 0 => {
                    self.line = attribute.udata_value().and_then(|line| line.try_into().ok()).unwrap_or(0);
                }
                constants::DW_AT_abstract_origin | constants::DW_AT_specification => next = Some(attribute.value()),
                _ => {}
            }
        }
        self.has_linkage_name |= linkage_name.is_some();
        if self.name.is_empty() {
            self.name = linkage_name.or(name).map_or(&[], |name| name.slice());
        }
        next.filter(|_| !self.has_linkage_name || self.line == 0)
    }
}
