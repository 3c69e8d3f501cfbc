//! Libraries: the mapped files, with what symbol servers identify them by.

use crate::profile::Tables;
use perf_data::abi::hex::to_hex;
use perf_data::session::map::{Map, cut_name};
use serde::Serialize;

/// A library.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Lib {
    arch: Option<String>,
    name: String,
    path: String,
    debug_name: String,
    debug_path: String,
    breakpad_id: String,
    code_id: Option<String>,
}

/// The mappings of a profile, by their index.
pub(super) fn libs(tables: &Tables) -> Vec<Lib> {
    let arch = tables.fact("arch");
    tables.mappings.iter().map(|map| lib(map, arch.cloned())).collect()
}

fn lib(map: &Map, arch: Option<String>) -> Lib {
    let path = String::from_utf8_lossy(&map.printed_file()).into_owned();
    let name = name(map);
    let build_id = map.build_id.as_deref();
    Lib {
        arch,
        name: name.clone(),
        path: path.clone(),
        debug_name: name,
        debug_path: path,
        breakpad_id: breakpad_id(build_id.unwrap_or_default()),
        code_id: build_id.map(to_hex),
    }
}

/// The name of a mapped file without directories.
pub(super) fn name(map: &Map) -> String {
    let path = map.printed_file();
    let last = path.rsplit(|&byte| byte == b'/').next().filter(|last| !last.is_empty());
    String::from_utf8_lossy(cut_name(last.unwrap_or(&path))).into_owned()
}

/// The debug ID of Breakpad: the first 16 bytes of the build ID, as a GUID of a little-endian machine, and the age 0.
fn breakpad_id(build_id: &[u8]) -> String {
    let mut guid = [0; 16];
    guid.iter_mut().zip(build_id).for_each(|(to, from)| *to = *from);
    guid[..4].reverse();
    guid[4..6].reverse();
    guid[6..8].reverse();
    to_hex(&guid).to_uppercase() + "0"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_ids_are_those_of_breakpad() {
        let build_id: Vec<u8> = (0x10..0x24).collect();
        assert_eq!(breakpad_id(&build_id), "131211101514171618191A1B1C1D1E1F0");
        assert_eq!(breakpad_id(&[]), "0".repeat(33));
    }
}
