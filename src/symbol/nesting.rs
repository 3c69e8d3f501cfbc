//! Limits the nesting of inlined functions, since DWARF readers recurse once per level.

use super::die::Slice;
use crate::threads::returned;
use gimli::{Dwarf, Reader, Section, UnitHeader};
use std::thread::{self, Builder};

/// Maximum nesting of entries. Compilers produce a few dozen levels.
const LEVELS: u64 = if cfg!(target_pointer_width = "64") { 1 << 16 } else { 1 << 13 };

/// Stack size for each level of a lookup, and for everything else.
const FRAME: usize = 2048;

/// Runs work on a thread whose stack suffices for [`LEVELS`]; `None` if the system cannot allocate it.
pub fn with_stack<R: Send>(work: impl FnOnce() -> R + Send) -> Option<R> {
    let stack = (LEVELS as usize + 1024) * FRAME;
    thread::scope(|scope| {
        let thread = Builder::new().name("symbols".to_owned()).stack_size(stack).spawn_scoped(scope, work);
        thread.ok().map(|thread| returned(thread.join()))
    })
}

/// Whether entries are nested more deeply than [`LEVELS`].
pub fn is_too_deep(dwarf: &Dwarf<Slice<'_>>) -> bool {
    let mut units = dwarf.units();
    while let Ok(Some(unit)) = units.next() {
        let size = unit.length_including_self() as u64;
        // Entries are only read of units large enough, by their smallest entry, to exceed the limit.
        if size > LEVELS && size / smallest(dwarf, &unit).max(1) > LEVELS && is_unit_too_deep(dwarf, unit) {
            return true;
        }
    }
    false
}

/// Minimum size in bytes of an entry for an inlined function that contains others.
fn smallest(dwarf: &Dwarf<Slice<'_>>, unit: &UnitHeader<Slice<'_>>) -> u64 {
    let mut smallest = u64::MAX;
    let mut abbreviations = *dwarf.debug_abbrev.reader();
    let mut read = || -> gimli::Result<()> {
        abbreviations.skip(unit.debug_abbrev_offset().0)?;
        while abbreviations.read_uleb128()? != 0 {
            let tag = abbreviations.read_uleb128()?;
            let has_children = abbreviations.read_u8()? != 0;
            let mut size = 1;
            loop {
                let (name, form) = (abbreviations.read_uleb128()?, abbreviations.read_uleb128()?);
                let form = gimli::DwForm(form.try_into().unwrap_or(0));
                match form {
                    gimli::DW_FORM_implicit_const => {
                        abbreviations.read_sleb128()?;
                    }
                    gimli::DW_FORM_flag_present => {}
                    gimli::DW_FORM_addr | gimli::DW_FORM_data8 => size += u64::from(unit.address_size().min(8)),
                    gimli::DW_FORM_ref4 | gimli::DW_FORM_data4 | gimli::DW_FORM_sec_offset => size += 4,
                    _ if (name, form.0) == (0, 0) => break,
                    _ => size += 1,
                }
            }
            if tag == u64::from(gimli::DW_TAG_inlined_subroutine.0) && has_children {
                smallest = smallest.min(size);
            }
        }
        Ok(())
    };
    // Abbreviations that are unreadable here are unreadable for every reader.
    let _ = read();
    smallest
}

fn is_unit_too_deep(dwarf: &Dwarf<Slice<'_>>, header: UnitHeader<Slice<'_>>) -> bool {
    let Ok(unit) = dwarf.unit(header) else { return false };
    let Ok(mut entries) = unit.entries_raw(None) else { return false };
    while !entries.is_empty() {
        let Ok(abbreviation) = entries.read_abbreviation() else { return false };
        if abbreviation.is_some_and(|abbreviation| entries.skip_attributes(abbreviation.attributes()).is_err()) {
            return false;
        }
        if entries.next_depth() > LEVELS as isize {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use addr2line::Context;
    use gimli::{EndianSlice, RunTimeEndian, SectionId};

    /// A unit with a function at 0x1000 and this many inlined functions, each in the previous one.
    fn sections(depth: usize) -> (Vec<u8>, Vec<u8>) {
        let low_and_high = [0x11, 1, 0x12, 6, 0, 0];
        let function = |code, tag| [&[code, tag, 1][..], &low_and_high].concat();
        let abbreviations = [function(1, 0x11), function(2, 0x2e), vec![3, 0x1d, 1, 0, 0, 0]].concat();
        let range = [&0x1000u64.to_le_bytes()[..], &16u32.to_le_bytes()].concat();
        let entries = [&[1][..], &range, &[2], &range, &vec![3; depth]].concat();
        let length = (entries.len() + 7) as u32;
        let info = [&length.to_le_bytes()[..], &[4, 0, 0, 0, 0, 0, 8], &entries].concat();
        (abbreviations, info)
    }

    fn with_dwarf(depth: usize, work: impl FnOnce(Dwarf<Slice<'_>>)) {
        let (abbreviations, info) = sections(depth);
        let load = |id| {
            let bytes = match id {
                SectionId::DebugAbbrev => &abbreviations[..],
                SectionId::DebugInfo => &info,
                _ => &[],
            };
            Ok::<_, gimli::Error>(EndianSlice::new(bytes, RunTimeEndian::Little))
        };
        work(Dwarf::load(load).unwrap());
    }

    #[test]
    fn entries_nested_without_end_are_rejected() {
        with_dwarf(100, |dwarf| assert!(!is_too_deep(&dwarf)));
        with_dwarf(LEVELS as usize - 3, |dwarf| assert!(!is_too_deep(&dwarf)));
        with_dwarf(2 * LEVELS as usize, |dwarf| assert!(is_too_deep(&dwarf)));
    }

    #[test]
    fn a_stack_suffices_for_what_is_accepted() {
        let looked_up = with_stack(|| {
            with_dwarf(LEVELS as usize - 3, |dwarf| {
                let context = Context::from_dwarf(dwarf).unwrap();
                // A unit that ends too early is an error.
                let frames = context.find_frames(0x1004).skip_all_loads();
                let _ = frames.and_then(|mut frames| frames.next().map(drop));
            });
        });
        assert!(looked_up.is_some());
    }
}
