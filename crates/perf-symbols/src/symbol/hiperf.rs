//! Symbols that hiperf, the profiler of OpenHarmony and HarmonyOS, stores in its recordings, and the names of its other features.

use super::stored_object::{Bytes, StoredObject, StoredObjectError, StoredSymbol, kind};
use crate::object::build_id::Id;
use gimli::{LittleEndian, Reader};
use perf_data::abi::hex::from_hex;

/// The feature with the symbols of objects. Strings are preceded by their size, which includes the NUL.
///
/// ```c
/// u32 file_count; struct {
///     u32 path_size; char path[]; u32 type; u64 text_vaddr, text_file_offset; u32 build_id_size; char build_id[]; // hexadecimal
///     u32 symbol_count; struct { u64 vaddr; u32 len, name_size; char name[]; } symbols[symbol_count];
/// } files[file_count];
/// ```
pub const FILES_SYMBOL: u32 = 192;

/// The feature with the stacks of all samples.
pub const STACK_TABLE: u32 = 197;

/// Name of one of hiperf's features.
pub fn feature_name(id: u32) -> Option<&'static str> {
    const NAMES: [&str; 6] = ["FILES_SYMBOL", "WORKLOAD_CMD", "RECORD_TIME", "CPU_OFF", "HM_DEVHOST", "STACK_TABLE"];
    NAMES.get(id.checked_sub(FILES_SYMBOL)? as usize).copied()
}

/// The objects of the feature [`FILES_SYMBOL`]. Nothing behind a corrupt object can be read.
pub(super) fn objects(section: &[u8]) -> impl Iterator<Item = Result<StoredObject<'_>, StoredObjectError>> {
    let mut rest = Bytes::new(section, LittleEndian);
    let mut count = rest.read_u32().unwrap_or(0);
    std::iter::from_fn(move || {
        count = count.checked_sub(1)?;
        let before = rest.slice();
        let offset = section.len() - before.len();
        let object = object(&mut rest);
        if object.is_err() {
            count = 0;
        }
        let bytes = &before[..before.len() - rest.len()];
        let error = |_| StoredObjectError { offset, problem: "does not have the layout of this feature" };
        Some(object.map(|object| StoredObject { bytes, ..object }).map_err(error))
    })
}

fn object<'a>(rest: &mut Bytes<'a>) -> gimli::Result<StoredObject<'a>> {
    let path = string(rest)?;
    let recorded_kind = rest.read_u32()?.into();
    let (address, offset) = (rest.read_u64()?, rest.read_u64()?);
    let build_id = from_hex(string(rest)?).and_then(|id| Id::new(&id));
    let mut symbols = Vec::new();
    for _ in 0..rest.read_u32()? {
        let (address, size) = (rest.read_u64()?, rest.read_u32()?.into());
        symbols.push(StoredSymbol { address, size, name: string(rest)? });
    }
    // Numbers of kinds differ between versions: ELF files are 2 or 3. Of code in virtual machines, the address is unset.
    let is_file = recorded_kind != kind::KERNEL && path.starts_with(b"/") && address != u64::MAX;
    let (kind, lowest_address, lowest_offset) =
        if is_file { (kind::ELF_FILE, address, offset) } else { (recorded_kind, 0, 0) };
    Ok(StoredObject { path, kind, build_id, symbols, lowest_address, lowest_offset, ..StoredObject::default() })
}

/// A string without its NUL.
fn string<'a>(rest: &mut Bytes<'a>) -> gimli::Result<&'a [u8]> {
    let size = rest.read_u32()? as usize;
    let bytes = rest.split(size)?.slice();
    Ok(&bytes[..memchr::memchr(0, bytes).unwrap_or(bytes.len())])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symbol::stored_object::stored_objects;

    fn text(text: &str) -> Vec<u8> {
        [&(text.len() as u32 + 1).to_le_bytes(), text.as_bytes(), b"\0"].concat()
    }

    #[test]
    fn symbols_are_relative_to_the_file() {
        let numbers = [&2u32.to_le_bytes()[..], &0x5000u64.to_le_bytes(), &0x4000u64.to_le_bytes()].concat();
        let symbol = [&1u32.to_le_bytes()[..], &0x5010u64.to_le_bytes(), &8u32.to_le_bytes(), &text("f")].concat();
        let file = [text("/lib/x.so"), numbers, text("0102"), symbol].concat();
        let section = [&2u32.to_le_bytes()[..], &file, &file].concat();
        let objects: Vec<_> = stored_objects(FILES_SYMBOL, &section).map(|object| object.expect("an object")).collect();
        let [object, _] = &objects[..] else { panic!("{objects:?}") };
        assert_eq!((object.path, object.bias(), object.build_id), (&b"/lib/x.so"[..], 0x1000, Id::new(&[1, 2])));
        assert_eq!(object.symbols, [StoredSymbol { address: 0x5010, size: 8, name: b"f" }]);
        for len in 0..section.len() {
            assert!(stored_objects(FILES_SYMBOL, &section[..len]).flatten().count() < 2);
        }
    }
}
