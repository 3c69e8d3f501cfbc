//! All functions of the objects that samples are in: `--embed-symbols=all`.

use super::location::located;
use super::objects::EmbeddedObjects;
use crate::profile::symbolize::{SymbolOptions, object_key};
use crate::profile::{Place, Profile};
use perf_data::session::ProcessFiles;
use perf_data::session::map::Map;
use perf_data::stream::meta::Meta;
use perf_symbols::symbol::elf::ElfFiles;
use perf_symbols::symbol::find::Policy;
use perf_symbols::symbol::stored_object::kind;
use perf_symbols::symbolizer::recorded_build_ids::BuildIds;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Adds all functions of ELF files. Of kernels and generated code, only those of samples are stored.
pub(super) fn add_whole_tables(objects: &mut EmbeddedObjects, profile: &Profile, options: &SymbolOptions, meta: &Meta) {
    let search = Arc::new(options.for_recording(meta));
    if search.policy == Policy::No {
        return;
    }
    let tables = &*profile.tables;
    let in_mappings = tables.stacks.frames().iter().filter_map(|frame| match frame.place {
        Place::In(mapping) => Some(mapping),
        Place::Outside(_) => None,
    });
    let mappings: BTreeSet<_> = in_mappings.collect();
    let files: BTreeMap<_, &Map> = mappings
        .into_iter()
        .map(|mapping| &tables.mappings[mapping as usize])
        .filter_map(|map| {
            let (id, kind, _) = located(map, map.start);
            (kind == kind::ELF_FILE).then_some((id, map))
        })
        .collect();
    let build_ids = BuildIds::new(meta);
    for (id, map) in files {
        let key = object_key(map, &build_ids, &ProcessFiles::default());
        let Some(files) = ElfFiles::find(&search, &key, &mut Vec::new()) else { continue };
        let Some(object) = files.object() else { continue };
        for (address, size, name) in files.table().symbols() {
            if let Some(start) = object.offset_of_address(address) {
                objects.add_function(id.clone(), kind::ELF_FILE, start, start.saturating_add(size), name);
            }
        }
    }
}
