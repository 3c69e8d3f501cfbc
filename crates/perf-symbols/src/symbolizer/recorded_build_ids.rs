//! Build IDs that a recording has of objects.

use hashbrown::HashMap;
use perf_data::abi::record::CpuMode;
use perf_data::session::map::Map;
use perf_data::stream::meta::Meta;

/// The build ID table of the recording.
#[derive(Debug)]
pub struct BuildIds {
    by_name: HashMap<Box<[u8]>, Box<[u8]>>,
    kernel: Option<Box<[u8]>>,
}

impl BuildIds {
    /// Creates the table from the metadata.
    pub fn new(meta: &Meta) -> Self {
        let mut table = Self { by_name: HashMap::new(), kernel: None };
        for (misc, entry) in meta.build_ids() {
            let name = entry.filename.text();
            let id = entry.unpadded_id(misc);
            let is_module = [&b".ko"[..], b".ko.xz", b".ko.gz", b".ko.zst"].iter().any(|end| name.ends_with(end));
            // The kernel has this name or the path of its image; other names in brackets are those of modules.
            let is_kernel = misc.cpu_mode() == CpuMode::KERNEL
                && (name.starts_with(b"[kernel.kallsyms]") || !is_module && !name.starts_with(b"["));
            if is_kernel && table.kernel.is_none() {
                table.kernel = Some(id.into());
            }
            table.by_name.insert(name.into(), id.into());
        }
        table
    }

    /// Sets the build ID of a map that has none.
    pub fn complete(&self, map: &mut Map) {
        if map.build_id.is_none() {
            map.build_id = self.build_id(map).map(Into::into);
        }
    }

    /// The build ID of the object of a map.
    pub fn build_id(&self, map: &Map) -> Option<&[u8]> {
        let by_name = self.by_name.get(&*map.filename);
        by_name.or(if map.is_kernel() { self.kernel.as_ref() } else { None }).map(|id| &**id)
    }

    /// The build ID of the kernel.
    pub fn kernel(&self) -> Option<&[u8]> {
        self.kernel.as_deref()
    }
}
