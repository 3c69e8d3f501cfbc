//! Names of processes: those that a part of a recording has, and those that a merge gives other process IDs.

use super::location::{perf_map_path, perf_map_process};
use crate::protobuf::put_bytes;
use bytes::Bytes;
use perf_data::abi::feature::FeatureId;
use perf_symbols::symbol::stored_object::{SIZED_OBJECTS, stored_objects};
use std::collections::BTreeMap;

/// Removes objects that are neither mapped nor compiled in a part of the recording. A corrupt section is unchanged.
pub(crate) fn retain_objects(
    features: &mut BTreeMap<FeatureId, Bytes>,
    has_file: impl Fn(&[u8]) -> bool,
    has_process: impl Fn(u32) -> bool,
) {
    for id in SIZED_OBJECTS {
        let Some(section) = features.get_mut(&FeatureId(id)) else { continue };
        let Ok(objects) = stored_objects(id, section).collect::<Result<Vec<_>, _>>() else { continue };
        let is_needed = |path: &[u8]| perf_map_process(path).map_or_else(|| has_file(path), &has_process);
        let needed = objects.iter().filter(|object| is_needed(object.path));
        let kept: Vec<u8> = needed.flat_map(|object| object.bytes).copied().collect();
        if kept.is_empty() {
            features.remove(&FeatureId(id));
        } else {
            *section = kept.into();
        }
    }
}

/// A section of FILE2 or LINES with the process IDs of perf maps replaced by `pid`. A corrupt section is unchanged.
///
/// # Errors
/// If the function fails.
pub(crate) fn with_processes<E>(id: u32, section: &[u8], pid: impl Fn(u32) -> Result<u32, E>) -> Result<Vec<u8>, E> {
    let Ok(objects) = stored_objects(id, section).collect::<Result<Vec<_>, _>>() else { return Ok(section.to_vec()) };
    let mut moved = Vec::with_capacity(section.len());
    for object in objects {
        let start = moved.len();
        moved.extend_from_slice(object.bytes);
        if let Some(process) = perf_map_process(object.path) {
            // Of a field that is there twice, protobuf uses the last value.
            put_bytes(&mut moved, 1, &perf_map_path(pid(process)?));
            let size = (moved.len() - start - 4) as u32;
            moved[start..start + 4].copy_from_slice(&size.to_le_bytes());
        }
    }
    Ok(moved)
}
