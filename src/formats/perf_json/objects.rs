//! Files of frames.

use super::text::{field, key};
use hashbrown::HashMap;
use perf_data::session::map::{Map, MapId, cut_name};
use perf_data::stream::meta::Meta;

/// Rendered fields of files.
#[derive(Default)]
pub(super) struct Objects {
    has_build_ids: bool,
    /// Build IDs listed in the recording, by path.
    build_ids: HashMap<Vec<u8>, Vec<u8>>,
    /// The rendered fields by mapping.
    fields: HashMap<MapId, Vec<u8>>,
}

impl Objects {
    /// Collects the build IDs of a recording, if they are to be written.
    pub(super) fn new(meta: &Meta, has_build_ids: bool) -> Self {
        let ids = has_build_ids.then(|| meta.build_ids()).into_iter().flatten();
        let build_ids = ids.map(|(misc, id)| (id.filename.text().into(), id.id(misc).into())).collect();
        Self { has_build_ids, build_ids, fields: HashMap::new() }
    }

    /// Returns `,"dso":` with the short name of the mapped file, as in perf, and its build ID if known.
    pub(super) fn file_fields(&mut self, id: MapId, map: &Map) -> &[u8] {
        let Self { has_build_ids, build_ids, fields } = self;
        fields.entry(id).or_insert_with(|| file_fields(map, has_build_ids.then_some(build_ids)))
    }
}

fn file_fields(map: &Map, build_ids: Option<&HashMap<Vec<u8>, Vec<u8>>>) -> Vec<u8> {
    let name = short_name(map);
    let mut out = Vec::new();
    // Serializing strings cannot fail.
    let _ = field(&mut out, "dso", &String::from_utf8_lossy(name));
    let Some(build_ids) = build_ids else { return out };
    let path = if map.is_kernel() { name } else { &*map.filename };
    let listed = build_ids.get(path).map(|id| &**id);
    if let Some(id) = map.build_id.as_deref().or(listed) {
        key(&mut out, "build_id");
        let digits: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
        out.extend_from_slice(format!("\"{digits}\"").as_bytes());
    }
    out
}

/// The last component of a path; for the kernel, its name without the reference symbol.
fn short_name(map: &Map) -> &[u8] {
    const KERNEL: &[u8] = b"[kernel.kallsyms]";
    if map.is_kernel() {
        return KERNEL;
    }
    cut_name(map.filename.rsplit(|&byte| byte == b'/').next().unwrap_or_default())
}
