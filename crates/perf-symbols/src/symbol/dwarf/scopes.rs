//! The scopes that entries are in: namespaces, types and functions.

use super::budget::Budget;
use super::units::UnitView;
use gimli::{DwTag, UnitOffset, constants};

struct Scope {
    entry: UnitOffset,
    /// Offset in the unit of what follows it.
    end: usize,
    outer: Option<u32>,
}

/// The scopes of a unit, in the order of their offsets.
#[derive(Default)]
pub(super) struct Scopes(Vec<Scope>);

fn is_scope(tag: DwTag) -> bool {
    matches!(
        tag,
        constants::DW_TAG_namespace
            | constants::DW_TAG_module
            | constants::DW_TAG_class_type
            | constants::DW_TAG_structure_type
            | constants::DW_TAG_union_type
            | constants::DW_TAG_enumeration_type
            | constants::DW_TAG_interface_type
            | constants::DW_TAG_subprogram
    )
}

impl Scopes {
    /// Reads the scopes of a unit.
    pub(super) fn new(view: UnitView<'_, '_>, budget: &Budget) -> Self {
        let header = &view.unit.unit.header;
        let walk = view.walk(header.root_offset()).filter(|_| budget.spend(header.length_including_self()));
        let Some(mut walk) = walk else { return Self::default() };
        let mut scopes = Vec::<Scope>::new();
        // The scopes around an entry, with their depths.
        let mut around: Vec<(usize, u32)> = Vec::new();
        while let Some(entry) = walk.next() {
            while let Some((_, scope)) = around.pop_if(|&mut (depth, _)| depth >= entry.depth) {
                scopes[scope as usize].end = entry.offset.0;
            }
            if entry.has_children && is_scope(entry.tag) {
                let outer = around.last().map(|&(_, scope)| scope);
                around.push((entry.depth, scopes.len() as u32));
                scopes.push(Scope { entry: entry.offset, end: usize::MAX, outer });
            }
        }
        Self(scopes)
    }

    /// The entry of the innermost scope that an entry is in.
    pub(super) fn find(&self, entry: UnitOffset) -> Option<UnitOffset> {
        let before = self.0.partition_point(|scope| scope.entry < entry).checked_sub(1);
        let mut scope = self.0.get(before?)?;
        while scope.end <= entry.0 {
            scope = self.0.get(scope.outer? as usize)?;
        }
        Some(scope.entry)
    }
}

#[cfg(test)]
mod tests {
    use super::super::calls::tests::{END, FUNCTION, TYPE, entry, with_unit};
    use super::*;

    #[test]
    fn entries_are_in_the_innermost_scope_around_them() {
        let kind = |inside: &[u8]| [&[TYPE][..], &0u32.to_le_bytes(), inside, &[END]].concat();
        let function = |start| [entry(FUNCTION, start, 0x10), vec![END]].concat();
        // A type with a type with a function and one behind it, and functions behind these.
        let inner = kind(&function(0x1000));
        let entries = [kind(&[inner, function(0x1010)].concat()), function(0x2000)].concat();
        with_unit(&entries, |view, budget| {
            let scopes = Scopes::new(view, budget);
            // The header has 11 bytes, the entry of the unit 13, those of types 5.
            let outer = 11 + 13;
            let inner = outer + 5;
            let find = |offset| scopes.find(UnitOffset(offset)).map(|scope| scope.0);
            let [first, second, third] = [inner + 5, inner + 5 + 15, inner + 5 + 15 + 15];
            assert_eq!([first, second, third].map(find), [Some(inner), Some(outer), None]);
            assert_eq!([inner, outer, 0, usize::MAX].map(find), [Some(outer), None, None, None]);
        });
    }
}
