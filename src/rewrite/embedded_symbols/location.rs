//! How objects and addresses in them are named in a recording with names.

use perf_data::abi::record::build_id::unpadded;
use perf_data::session::map::Map;
use perf_symbols::object::build_id::Id;
use perf_symbols::symbol::simpleperf;
use perf_symbols::symbol::stored_object::kind;

/// Identity of an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ObjectId {
    /// Path, or a name such as `[kernel.kallsyms]`.
    pub path: Vec<u8>,
    /// Build ID, if recorded.
    pub build_id: Option<Id>,
}

/// The path of a perf map.
pub(super) fn perf_map_path(pid: u32) -> Vec<u8> {
    format!("/tmp/perf-{pid}.map").into_bytes()
}

/// The process of a perf map with this path.
pub(super) fn perf_map_process(path: &[u8]) -> Option<u32> {
    let pid = path.strip_prefix(b"/tmp/perf-")?.strip_suffix(b".map")?;
    str::from_utf8(pid).ok()?.parse().ok()
}

/// The object of a mapping, its kind, and where an address is in it: the address itself, or an offset.
pub(super) fn located(map: &Map, address: u64) -> (ObjectId, u64, u64) {
    let build_id = map.build_id.as_deref().and_then(|id| Id::new(unpadded(id)));
    let by_name = ObjectId { path: map.filename.to_vec(), build_id };
    if map.is_kernel() {
        let path = map.printed_file().into_owned();
        (ObjectId { path, build_id }, kind::KERNEL, address)
    } else if map.pid.is_some() || simpleperf::has_process_addresses(&map.filename) {
        (ObjectId { path: map.printed_file().into_owned(), build_id: None }, kind::SYMBOL_MAP, address)
    } else if map.belongs_to_kernel() {
        (by_name, kind::KERNEL_MODULE, map.file_offset(address))
    } else {
        (by_name, kind::ELF_FILE, map.file_offset(address))
    }
}
