//! Names of functions and lines of their declarations, which are in an entry or in those that it refers to.

use super::Slice;
use super::budget::Budget;
use super::units::{UnitView, Units};
use gimli::{AttributeValue, DwLang, DwTag, UnitOffset, constants};
use std::rc::Rc;

/// Maximum number of references that are followed from one entry to the next: they can form cycles.
const REFERENCES: usize = 16;
/// Maximum number of scopes in each other: with the references from scopes to their declarations, they can form cycles.
const SCOPES: usize = 64;

/// Properties of a function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Description<'a> {
    /// Linkage name, or else name; empty if it has neither.
    name: &'a [u8],
    /// The name with its scopes, if there is no linkage name.
    qualified: Option<Rc<[u8]>>,
    /// Line of the declaration; 0 if unknown.
    pub line: u32,
    /// Whether an entry has a linkage name.
    pub has_linkage_name: bool,
}

/// The units that entries can refer to.
#[derive(Clone, Copy)]
pub(super) struct Files<'u, 'a> {
    /// Units of the file with the entry.
    pub own: &'u Units<'a>,
    /// Units of the supplementary file that dwz created.
    pub supplementary: Option<&'u Units<'a>>,
    /// Limit on the bytes of names: any number of entries can have one long name, or parts of it.
    pub budget: &'u Budget,
}

/// An entry, with the file that it is in.
#[derive(Clone, Copy)]
struct EntryInFile<'u, 'a> {
    files: Files<'u, 'a>,
    view: UnitView<'u, 'a>,
    offset: UnitOffset,
}

/// What entries say of a function or a type.
struct Attributes<'a> {
    tag: DwTag,
    name: Option<&'a [u8]>,
    linkage_name: Option<&'a [u8]>,
    line: u32,
    /// The entry that may have more.
    next: Option<AttributeValue<Slice<'a>>>,
}

impl<'a> Description<'a> {
    /// Describes the function of an entry.
    pub(super) fn read<'u>(files: &Files<'u, 'a>, view: UnitView<'u, 'a>, offset: UnitOffset) -> Self {
        let mut description = Self::default();
        let mut entry = EntryInFile { files: *files, view, offset };
        for _ in 0..=REFERENCES {
            let Some(attributes) = entry.read() else { break };
            if description.line == 0 {
                description.line = attributes.line;
            }
            description.has_linkage_name |= attributes.linkage_name.is_some();
            if description.name.is_empty() {
                description.name = attributes.linkage_name.or(attributes.name).unwrap_or_default();
            }
            let is_wanted = !description.has_linkage_name || description.line == 0;
            let Some(next) = attributes.next.filter(|_| is_wanted).and_then(|next| entry.follow(next)) else { break };
            entry = next;
        }
        if !description.has_linkage_name && !description.name.is_empty() && has_scopes(view) {
            description.qualified = entry.qualify(description.name);
        }
        description
    }

    /// The linkage name, or else the name without its scopes.
    pub(super) fn plain_name(&self) -> &'a [u8] {
        self.name
    }

    /// The linkage name, or else the name with its scopes.
    pub(super) fn name(&self) -> &[u8] {
        self.qualified.as_deref().unwrap_or(self.name)
    }
}

/// Whether the language of a unit separates names from their scopes by `::`.
fn has_scopes(view: UnitView<'_, '_>) -> bool {
    let root = view.unit.unit.header.root_offset();
    let language = (|| {
        let mut entries = view.unit.entries_raw(Some(root)).ok()?;
        let abbreviation = entries.read_abbreviation().ok()??;
        let mut attributes = abbreviation.attributes().iter().map_while(|spec| entries.read_attribute(*spec).ok());
        let value = attributes.find(|attribute| attribute.name() == constants::DW_AT_language)?.value();
        if let AttributeValue::Language(language) = value { Some(language) } else { None }
    })();
    const LANGUAGES: [DwLang; 8] = [
        constants::DW_LANG_C_plus_plus,
        constants::DW_LANG_C_plus_plus_03,
        constants::DW_LANG_C_plus_plus_11,
        constants::DW_LANG_C_plus_plus_14,
        constants::DW_LANG_C_plus_plus_17,
        constants::DW_LANG_C_plus_plus_20,
        constants::DW_LANG_ObjC_plus_plus,
        constants::DW_LANG_Rust,
    ];
    language.is_some_and(|language| LANGUAGES.contains(&language))
}

impl<'u, 'a> EntryInFile<'u, 'a> {
    fn read(&self) -> Option<Attributes<'a>> {
        let (unit, budget) = (self.view.unit, self.files.budget);
        let mut entries = unit.entries_raw(Some(self.offset)).ok()?;
        let abbreviation = entries.read_abbreviation().ok()??;
        let tag = abbreviation.tag();
        let mut attributes = Attributes { tag, name: None, linkage_name: None, line: 0, next: None };
        for spec in abbreviation.attributes() {
            let attribute = entries.read_attribute(*spec).ok()?;
            let string = || {
                let string = budget.spend(1).then(|| unit.attr_string(attribute.value()).ok()).flatten()?.slice();
                budget.spend(string.len());
                Some(string)
            };
            match attribute.name() {
                constants::DW_AT_linkage_name | constants::DW_AT_MIPS_linkage_name => {
                    attributes.linkage_name = string()
                }
                constants::DW_AT_name => attributes.name = string(),
                constants::DW_AT_decl_line => {
                    attributes.line = attribute.udata_value().and_then(|line| line.try_into().ok()).unwrap_or(0);
                }
                constants::DW_AT_abstract_origin
                | constants::DW_AT_specification
                | constants::DW_AT_signature
                | constants::DW_AT_extension => attributes.next = Some(attribute.value()),
                _ => {}
            }
        }
        Some(attributes)
    }

    /// The entry that an attribute refers to.
    fn follow(&self, reference: AttributeValue<Slice<'a>>) -> Option<Self> {
        let files = match reference {
            AttributeValue::UnitRef(offset) => return Some(Self { offset, ..*self }),
            AttributeValue::DebugTypesRef(signature) => {
                let (view, offset) = self.files.own.find_type(signature)?;
                return Some(Self { view, offset, ..*self });
            }
            AttributeValue::DebugInfoRef(_) => self.files,
            AttributeValue::DebugInfoRefSup(_) => Files { own: self.files.supplementary?, ..self.files },
            _ => return None,
        };
        let (AttributeValue::DebugInfoRef(offset) | AttributeValue::DebugInfoRefSup(offset)) = reference else {
            return None;
        };
        let (number, offset) = files.own.find(offset)?;
        Some(Self { files, view: files.own.unit(number)?, offset })
    }

    /// The name of a function, declared by this entry, after those of its scopes; `None` if it has none.
    fn qualify(mut self, function: &[u8]) -> Option<Rc<[u8]>> {
        let mut scopes: Vec<&[u8]> = Vec::new();
        while scopes.len() < SCOPES
            && let Some(offset) = self.view.scopes(self.files.budget).find(self.offset)
        {
            self.offset = offset;
            let attributes = self.read()?;
            let (tag, mut name, mut next) = (attributes.tag, attributes.name, attributes.next);
            // The declaration is in the scope, and the type in the unit of a signature has the name.
            for _ in 0..REFERENCES {
                let Some(entry) = next.take().and_then(|next| self.follow(next)) else { break };
                let Some(attributes) = entry.read() else { break };
                self = entry;
                name = name.or(attributes.name);
                next = attributes.next;
            }
            // GCC does not name the classes of lambdas.
            let is_lambda = scopes.is_empty() && function.starts_with(b"operator()");
            scopes.push(name.unwrap_or(match tag {
                constants::DW_TAG_namespace => b"(anonymous namespace)",
                constants::DW_TAG_structure_type | constants::DW_TAG_class_type if is_lambda => b"{lambda}",
                constants::DW_TAG_structure_type => b"(anonymous struct)",
                constants::DW_TAG_union_type => b"(anonymous union)",
                constants::DW_TAG_enumeration_type => b"(anonymous enum)",
                _ => b"(anonymous class)",
            }));
        }
        let is_qualified = !scopes.is_empty();
        let parts = scopes.into_iter().rev().chain([function]).collect::<Vec<_>>();
        is_qualified.then(|| parts.join(&b"::"[..]).into())
    }
}

#[cfg(test)]
mod tests {
    use super::super::functions::{Depth, Functions};
    use super::*;
    use gimli::write::{Address, AttributeValue as Value, DwarfUnit, EndianVec, Sections, UnitEntryId};
    use gimli::{DW_TAG_class_type, DW_TAG_lexical_block, DW_TAG_namespace, DW_TAG_structure_type, DW_TAG_subprogram};
    use gimli::{Dwarf, Encoding, Format, LittleEndian, RunTimeEndian, SectionId};

    fn add(dwarf: &mut DwarfUnit, parent: UnitEntryId, tag: DwTag, name: Option<&str>) -> UnitEntryId {
        let id = dwarf.unit.add(parent, tag);
        if let Some(name) = name {
            let name = Value::String(name.into());
            dwarf.unit.get_mut(id).set(constants::DW_AT_name, name);
        }
        id
    }

    /// The name of a function that refers to one that `declare` adds.
    fn described(language: DwLang, declare: impl FnOnce(&mut DwarfUnit, UnitEntryId) -> UnitEntryId) -> String {
        let mut dwarf = DwarfUnit::new(Encoding { format: Format::Dwarf32, version: 5, address_size: 8 });
        let root = dwarf.unit.root();
        dwarf.unit.get_mut(root).set(constants::DW_AT_language, Value::Language(language));
        let declared = declare(&mut dwarf, root);
        let function = add(&mut dwarf, root, DW_TAG_subprogram, None);
        let entry = dwarf.unit.get_mut(function);
        entry.set(constants::DW_AT_specification, Value::UnitRef(declared));
        entry.set(constants::DW_AT_low_pc, Value::Address(Address::Constant(0x1000)));
        entry.set(constants::DW_AT_high_pc, Value::Udata(0x10));
        let mut sections = Sections::new(EndianVec::new(LittleEndian));
        dwarf.write(&mut sections).unwrap();
        let section = |id: SectionId| {
            let bytes = sections.get(id).map_or(&[][..], |section| section.slice());
            Ok::<_, gimli::Error>(Slice::new(bytes, RunTimeEndian::Little))
        };
        let units = Units::new(Dwarf::load(section).unwrap());
        let (view, budget) = (units.unit(0).unwrap(), Budget::new(1 << 20));
        let function = Functions::new(view, &budget, Depth::All).find(0x1000).unwrap();
        let files = Files { own: &units, supplementary: None, budget: &budget };
        let description = Description::read(&files, view, function);
        String::from_utf8(description.name().to_vec()).unwrap()
    }

    #[test]
    fn names_without_linkage_names_have_their_scopes() {
        let cpp = constants::DW_LANG_C_plus_plus_14;
        let method = |dwarf: &mut DwarfUnit, root| {
            let space = add(dwarf, root, DW_TAG_namespace, Some("shop"));
            let hidden = add(dwarf, space, DW_TAG_namespace, None);
            let class = add(dwarf, hidden, DW_TAG_class_type, Some("Visitor"));
            add(dwarf, class, DW_TAG_subprogram, Some("operator()"))
        };
        assert_eq!(described(cpp, method), "shop::(anonymous namespace)::Visitor::operator()");
        assert_eq!(described(constants::DW_LANG_C11, method), "operator()");
        let local = |name| {
            move |dwarf: &mut DwarfUnit, root| {
                let outer = add(dwarf, root, DW_TAG_subprogram, Some("work"));
                let block = add(dwarf, outer, DW_TAG_lexical_block, None);
                let class = add(dwarf, block, DW_TAG_structure_type, None);
                add(dwarf, class, DW_TAG_subprogram, Some(name))
            }
        };
        assert_eq!(described(cpp, local("operator()<int>")), "work::{lambda}::operator()<int>");
        assert_eq!(described(cpp, local("run")), "work::(anonymous struct)::run");
        let plain = |dwarf: &mut DwarfUnit, root| {
            add(dwarf, root, DW_TAG_namespace, Some("before"));
            add(dwarf, root, DW_TAG_subprogram, Some("plain"))
        };
        assert_eq!(described(cpp, plain), "plain");
    }

    #[test]
    fn a_linkage_name_is_the_whole_name() {
        let linked = |dwarf: &mut DwarfUnit, root| {
            let space = add(dwarf, root, DW_TAG_namespace, Some("shop"));
            let function = add(dwarf, space, DW_TAG_subprogram, Some("run"));
            let name = Value::String("_ZN4shop3runEv".into());
            dwarf.unit.get_mut(function).set(constants::DW_AT_linkage_name, name);
            function
        };
        assert_eq!(described(constants::DW_LANG_C_plus_plus, linked), "_ZN4shop3runEv");
    }

    #[test]
    fn a_scope_has_the_name_of_its_declaration() {
        let nested = |dwarf: &mut DwarfUnit, root| {
            let space = add(dwarf, root, DW_TAG_namespace, Some("shop"));
            let declared = add(dwarf, space, DW_TAG_class_type, Some("Till"));
            let class = add(dwarf, root, DW_TAG_class_type, None);
            dwarf.unit.get_mut(class).set(constants::DW_AT_specification, Value::UnitRef(declared));
            add(dwarf, class, DW_TAG_subprogram, Some("open"))
        };
        assert_eq!(described(constants::DW_LANG_C_plus_plus, nested), "shop::Till::open");
        let endless = |dwarf: &mut DwarfUnit, root| {
            let class = add(dwarf, root, DW_TAG_class_type, None);
            dwarf.unit.get_mut(class).set(constants::DW_AT_specification, Value::UnitRef(class));
            add(dwarf, class, DW_TAG_subprogram, Some("open"))
        };
        assert_eq!(described(constants::DW_LANG_C_plus_plus, endless), "(anonymous class)::open");
    }
}
