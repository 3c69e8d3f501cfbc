//! Feature BUILD_ID.

use super::FeatureId;
use super::descriptor::{FeatureDescriptor, FeatureFlags};
use crate::abi::fields::{FieldVisitor, TextField, TextRole, VisitFields};
use crate::abi::record::build_id::BuildId;
use crate::abi::record::{Misc, RecordHeader, RecordType};
use crate::abi::serde::readable;
use crate::abi::text::PaddedStr;
use crate::abi::{self, Endian, counted};
use crate::roles;
use binrw::{BinRead, BinResult, BinWrite, binrw};
use serde::{Deserialize, Serialize};
use std::io::{Read, Seek, SeekFrom, Write};

/// Build IDs of files. Since perf 2.6.33.
///
/// Contains the entries up to the first invalid one; the remaining bytes are left to the caller.
#[binrw]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildIds {
    /// The entries.
    #[br(parse_with = entries)]
    pub entries: Vec<BuildIdEntry>,
}

/// An entry, a record like HEADER_BUILD_ID.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildIdEntry {
    /// 0 in perf.
    pub kind: RecordType,
    /// CPU mode of the mapping, and whether the size of the ID is recorded.
    pub misc: Misc,
    /// The build ID.
    pub content: BuildIdContent,
}

/// Content of an entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum BuildIdContent {
    /// As in HEADER_BUILD_ID.
    BuildId(BuildId),
    /// As in perf before 2.6.35.
    WithoutPid(BuildIdWithoutPid),
}

/// A build ID as in perf before 2.6.35.
///
/// ```c
/// u8 build_id[20]; u8 pad[4]; char filename[];
/// ```
#[binrw]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildIdWithoutPid {
    /// The ID.
    #[serde(with = "readable::hex_bytes")]
    pub build_id: [u8; 20],
    /// Unused.
    pub pad: [u8; 4],
    /// Path of the file.
    pub filename: PaddedStr,
}

impl BuildIdContent {
    fn read(body: &[u8], endian: Endian, without_pid: bool) -> BinResult<Self> {
        if without_pid {
            abi::parse(body, endian, ()).map(|(content, _)| Self::WithoutPid(content))
        } else {
            abi::parse(body, endian, ()).map(|(content, _)| Self::BuildId(content))
        }
    }

    /// Converts to the current form, for the host if the pid is not recorded.
    pub fn to_build_id(&self) -> BuildId {
        match self {
            Self::BuildId(build_id) => build_id.clone(),
            Self::WithoutPid(old) => BuildId {
                pid: -1,
                build_id: old.build_id,
                size: 0,
                reserved_1: 0,
                reserved_2: 0,
                filename: old.filename.clone(),
            },
        }
    }
}

impl BinWrite for BuildIdEntry {
    type Args<'a> = ();

    fn write_options<W: Write + Seek>(&self, writer: &mut W, endian: Endian, (): ()) -> BinResult<()> {
        let start = writer.stream_position()?;
        let header = RecordHeader { kind: self.kind, misc: self.misc, size: 0 };
        header.write_options(writer, endian, ())?;
        match &self.content {
            BuildIdContent::BuildId(content) => content.write_options(writer, endian, ())?,
            BuildIdContent::WithoutPid(content) => content.write_options(writer, endian, ())?,
        }
        let end = writer.stream_position()?;
        let Some(header) = header.with_len((end - start) as usize) else {
            let message = "the name is too long for an entry".to_owned();
            return Err(binrw::Error::AssertFail { pos: start, message });
        };
        writer.seek(SeekFrom::Start(start))?;
        header.write_options(writer, endian, ())?;
        writer.seek(SeekFrom::Start(end))?;
        Ok(())
    }
}

fn entries<R: Read + Seek>(reader: &mut R, endian: Endian, (): ()) -> BinResult<Vec<BuildIdEntry>> {
    let mut entries = Vec::new();
    let mut without_pid = false;
    loop {
        let start = reader.stream_position()?;
        let Ok((header, body)) = entry(reader, endian) else {
            reader.seek(SeekFrom::Start(start))?;
            return Ok(entries);
        };
        // The first entry is the kernel. If its name is missing 4 bytes, the layout has no pid.
        if entries.is_empty() {
            let parsed = abi::parse::<BuildId>(&body, endian, ());
            without_pid = parsed.is_ok_and(|(parsed, _)| parsed.filename.text() == b"nel.kallsyms]");
        }
        let Ok(content) = BuildIdContent::read(&body, endian, without_pid) else {
            reader.seek(SeekFrom::Start(start))?;
            return Ok(entries);
        };
        entries.push(BuildIdEntry { kind: header.kind, misc: header.misc, content });
    }
}

/// A complete entry: its header, and the bytes after it.
fn entry<R: Read + Seek>(reader: &mut R, endian: Endian) -> BinResult<(RecordHeader, Vec<u8>)> {
    let header = RecordHeader::read_options(reader, endian, ())?;
    // A size below that of the header would not lead to a next entry.
    let len = header.len().checked_sub(RecordHeader::SIZE).map_or(u64::MAX, |len| len as u64);
    counted::bytes(reader, endian, (len,)).map(|body| (header, body))
}

/// The entries of a section, up to the first invalid one.
pub fn read(bytes: &[u8], endian: Endian) -> Vec<(Misc, BuildId)> {
    let ids = abi::parse::<BuildIds>(bytes, endian, ()).map(|(ids, _)| ids.entries).unwrap_or_default();
    ids.into_iter().map(|entry| (entry.misc, entry.content.to_build_id())).collect()
}

/// Encodes a section as perf does.
///
/// # Errors
/// If a name is too long for an entry.
pub fn to_bytes(entries: &[(Misc, BuildId)], endian: Endian) -> BinResult<Vec<u8>> {
    let entry = |(misc, build_id): &(Misc, BuildId)| BuildIdEntry {
        kind: RecordType(0),
        misc: *misc,
        content: BuildIdContent::BuildId(build_id.clone()),
    };
    abi::to_bytes(&BuildIds { entries: entries.iter().map(entry).collect() }, endian)
}

/// Descriptor of BUILD_ID.
pub const BUILD_ID: FeatureDescriptor = FeatureDescriptor::recording(FeatureId::BUILD_ID, (2, 6))
    .with(FeatureFlags::FILE_ONLY.union(FeatureFlags::DERIVED));

roles! { BuildIds { entries: fields } }

impl VisitFields for BuildIdEntry {
    fn visit_fields(&mut self, visitor: &mut dyn FieldVisitor) {
        let Self { kind: _, misc: _, content } = self;
        match content {
            BuildIdContent::BuildId(build_id) => build_id.visit_fields(visitor),
            BuildIdContent::WithoutPid(build_id) => build_id.visit_fields(visitor),
        }
    }
}

impl VisitFields for BuildIdWithoutPid {
    fn visit_fields(&mut self, visitor: &mut dyn FieldVisitor) {
        let Self { build_id, pad, filename } = self;
        let mut size = build_id.len() as u8;
        visitor.build_id(build_id, &mut size);
        visitor.opaque(pad);
        visitor.text(TextRole::Path, TextField::new("filename", filename));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::testing::{hex, to_bytes};

    #[test]
    fn bytes() {
        for (endian, entry) in [
            (Endian::Little, "00000000 0280 2c00 ffffffff 07 *20 14 00 *3 '/bin/ls' 00"),
            (Endian::Big, "00000000 8002 002c ffffffff 07 *20 14 00 *3 '/bin/ls' 00"),
        ] {
            let bytes = hex(entry);
            let entries = read(&bytes, endian);
            assert_eq!(entries.len(), 1);
            assert_eq!((entries[0].1.id(entries[0].0), entries[0].1.filename.text()), (&[7; 20][..], &b"/bin/ls"[..]));
            let (ids, used): (BuildIds, usize) = abi::parse(&bytes, endian, ()).unwrap();
            assert_eq!((to_bytes(&ids, endian), used), (bytes.clone(), bytes.len()));
        }
    }

    #[test]
    fn decoding_ends_at_the_first_invalid_entry() {
        let entry = hex("00000000 0280 2c00 ffffffff 09 *20 10 00 *3 '/bin/ls' 00");
        let bytes = [&entry[..], &entry[..30]].concat();
        let (ids, used): (BuildIds, usize) = abi::parse(&bytes, Endian::Little, ()).unwrap();
        assert_eq!((ids.entries.len(), used), (1, entry.len()));
        assert_eq!(ids.entries[0].content.to_build_id().id(ids.entries[0].misc), &[9; 16]);
        assert!(read(&[0; 16], Endian::Little).is_empty(), "a size of 0 ends the section");
    }

    #[test]
    fn entries_of_old_perf_versions_have_no_pid() {
        let bytes = hex(
            "00000000 0100 3400 05 *20 00 *4 '[kernel.kallsyms]' 00 *3 00000000 0200 2800 06 *20 00 *4 '/bin/ls' 00",
        );
        let (ids, used): (BuildIds, usize) = abi::parse(&bytes, Endian::Little, ()).unwrap();
        assert_eq!((to_bytes(&ids, Endian::Little), used), (bytes.clone(), bytes.len()));
        let names: Vec<_> =
            read(&bytes, Endian::Little).into_iter().map(|(_, id)| id.filename.text().to_vec()).collect();
        assert_eq!(names, [&b"[kernel.kallsyms]"[..], b"/bin/ls"]);
    }
}
