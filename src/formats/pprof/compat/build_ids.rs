//! Build IDs of maps: their own, or those of the recording's table.

use super::processes::KERNEL;
use crate::rewrite::framework::mmap::Mmap;
use hashbrown::HashMap;
use perf_data::abi::record::mmap2::MappedFile;
use perf_data::abi::record::{CpuMode, Misc};
use perf_data::stream::meta::Meta;
use std::sync::Arc;

/// Names of kernel maps that correspond to `[kernel.kallsyms]` in the table.
const KERNEL_ALIASES: [&[u8]; 2] = [b"[kernel.kallsyms]_text", b"[kernel.kallsyms]_stext"];

/// The recording's table of build IDs by file name.
#[derive(Debug, Default)]
pub(super) struct BuildIds {
    by_name: HashMap<Arc<[u8]>, Arc<[u8]>>,
    /// Build ID of the first kernel file that is not a module.
    kernel: Option<Arc<[u8]>>,
}

impl BuildIds {
    /// Builds the table from features and records, and from maps for files that those do not list.
    pub(super) fn new(meta: &Meta, mapped_files: HashMap<Arc<[u8]>, (Misc, MappedFile)>) -> Self {
        let mut table = Self::default();
        let mut aliased = None;
        for (misc, entry) in meta.build_ids() {
            let id = Arc::from(trimmed(entry.id(misc)));
            if entry.filename.text() == KERNEL {
                aliased = Some(Arc::clone(&id));
            }
            table.add(misc, entry.filename.text().into(), id);
        }
        let mut mapped_files: Vec<_> = mapped_files.into_iter().collect();
        // The order of the map differs from run to run, and of several kernel files the first one counts.
        mapped_files.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        for (name, (misc, file)) in mapped_files {
            if let Some(id) = file.build_id().filter(|_| !table.by_name.contains_key(&name)) {
                table.add(misc, name, trimmed(id).into());
            }
        }
        for alias in KERNEL_ALIASES {
            table.by_name.extend(aliased.clone().map(|id| (alias.into(), id)));
        }
        table
    }

    fn add(&mut self, misc: Misc, name: Arc<[u8]>, id: Arc<[u8]>) {
        let may_be_kernel = name.starts_with(KERNEL) || !name.ends_with(b".ko");
        if misc.cpu_mode() == CpuMode::KERNEL && may_be_kernel && self.kernel.is_none() {
            self.kernel = Some(Arc::clone(&id));
        }
        self.by_name.insert(name, id);
    }

    /// The build ID of a map; empty if unknown.
    pub(super) fn build_id(&self, mmap: &Mmap) -> Arc<[u8]> {
        if let Some(id) = mmap.file.as_ref().and_then(MappedFile::build_id).filter(|id| !id.is_empty()) {
            return id.into();
        }
        let kernel = self.kernel.as_ref().filter(|_| mmap.filename.starts_with(KERNEL));
        self.by_name.get(&mmap.filename).or(kernel).cloned().unwrap_or_default()
    }
}

/// Strips the zero padding of a build ID in the table, in groups of 4 bytes.
fn trimmed(mut id: &[u8]) -> &[u8] {
    while let Some(rest) = id.strip_suffix(&[0; 4]) {
        id = rest;
    }
    id
}
