//! Rebuilds header and sections around unchanged records.

use super::form::events;
use crate::abi;
use crate::abi::feature::FeatureId;
use crate::abi::feature::auxtrace::AuxtraceIndex;
use crate::container::image::FileImage;
use crate::container::read::Container;
use crate::container::write::encoded;
use crate::container::write::file::FileWriter;
use crate::error::Result;
use crate::stream::meta::Meta;
use std::io::Cursor;

/// The bytes before and after the records of a file, or of the main file of a directory, from the metadata. Adjusts the offsets
/// in the index of AUXTRACE records, in the metadata as well.
///
/// # Errors
/// If a value cannot be encoded.
pub fn image(meta: &mut Meta) -> Result<FileImage> {
    if meta.container == Container::Pipe {
        return Ok(meta.image.clone());
    }
    let (data, types) = (meta.image.data, meta.event_types.list().to_vec());
    let events = events(meta);
    let mut writer = FileWriter::begin(Cursor::new(Vec::new()), meta.endian, &events, &types)?;
    let start = writer.position();
    if let Some(section) = meta.features.get(&FeatureId::AUXTRACE)
        && let Ok((mut index, _)) = abi::parse::<AuxtraceIndex>(section, meta.endian, ())
    {
        let old_start = meta.image.before.len() as u64;
        index.entries_mut().iter_mut().for_each(|entry| {
            entry.file_offset = entry.file_offset.wrapping_sub(old_start).wrapping_add(start);
        });
        meta.features.insert(FeatureId::AUXTRACE, encoded(abi::to_bytes(&index, meta.endian))?.into());
    }
    let features = meta.features.iter().map(|(&id, bytes)| (id, bytes.to_vec())).collect();
    writer.skip(data);
    let written = writer.finish(&events, &types, &features)?.into_inner();
    let (before, behind) = written.split_at(start as usize);
    Ok(FileImage { before: before.to_vec().into(), behind: behind.to_vec().into(), data })
}
