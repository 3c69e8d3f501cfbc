//! The file container, laid out as by perf record: header, IDs, events, records, feature table, features. Events that are
//! known only after all records come last, as `perf inject` writes them.

use super::encoded;
use crate::abi;
use crate::abi::Endian;
use crate::abi::attr::Attr;
use crate::abi::feature::FeatureId;
use crate::abi::header::{EventType, FeatureBits, FileHeader, Magic, Section};
use crate::container::read::file::FileAttr;
use crate::error::{Error, Result};
use std::collections::BTreeMap;
use std::io::{self, Seek, SeekFrom, Write};

/// Writes a file sequentially, and its header at the end.
pub struct FileWriter<W> {
    out: W,
    endian: Endian,
    /// Number of bytes written.
    at: u64,
    header: FileHeader,
    /// Unused slots of the feature table.
    spare_slots: u64,
}

/// Limit on the size of all attrs of a file, padded to one size. Real files have a page at most.
const MAX_ATTRS: usize = 256 << 20;

/// Size of the section that follows each attr and locates its IDs.
const IDS_SIZE: u64 = 16;

impl<W: Write + Seek> FileWriter<W> {
    /// Begins a file, with its events if they are known.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn begin(out: W, endian: Endian, events: &[FileAttr], event_types: &[EventType]) -> Result<Self> {
        let nothing = Section::default();
        let attr_size = Attr::SIZE_KNOWN as u64 + IDS_SIZE;
        let size = FileHeader::SIZE;
        let header =
            FileHeader { magic: Magic::V2, size, attr_size, attrs: nothing, data: nothing, event_types: nothing };
        let mut this = Self { out, endian, at: 0, header, spare_slots: 0 };
        this.write_all(&[0; FileHeader::SIZE as usize]).map_err(Error::Output)?;
        if !events.is_empty() {
            this.events(events, event_types)?;
        }
        this.header.data.offset = this.at;
        Ok(this)
    }

    /// Offset of the next byte.
    pub fn position(&self) -> u64 {
        self.at
    }

    /// Advances over bytes that are written by other means.
    pub fn skip(&mut self, bytes: u64) {
        self.at += bytes;
    }

    /// Reserves unused slots of the feature table, as perf does for each feature that it selects but then does not write.
    pub fn leave_slots(&mut self, slots: u8) {
        self.spare_slots = slots.into();
    }

    fn events(&mut self, events: &[FileAttr], event_types: &[EventType]) -> Result<()> {
        let mut entries = Vec::new();
        for event in events {
            let ids = Section { offset: self.at, size: 8 * event.ids.len() as u64 };
            entries.push((encoded(event.attr.to_bytes(self.endian))?, encoded(abi::to_bytes(&ids, self.endian))?));
            self.write_all(&encoded(abi::to_bytes(&event.ids, self.endian))?).map_err(Error::Output)?;
        }
        // All entries have one size. perf accepts attrs of different sizes if each states its own.
        let size = entries.iter().map(|(attr, _)| attr.len()).max().unwrap_or_default();
        if size.saturating_mul(entries.len()) > MAX_ATTRS {
            let problem = format!("{} events with attrs of {size} bytes are too large for a file", entries.len());
            return Err(Error::too_large(problem));
        }
        self.header.attr_size = size as u64 + IDS_SIZE;
        self.header.attrs = Section { offset: self.at, size: self.header.attr_size * entries.len() as u64 };
        for (mut attr, ids) in entries {
            attr.resize(size, 0);
            self.write_all(&attr).and_then(|()| self.write_all(&ids)).map_err(Error::Output)?;
        }
        if !event_types.is_empty() {
            let size = (EventType::SIZE * event_types.len()) as u64;
            self.header.event_types = Section { offset: self.at, size };
            for event_type in event_types {
                self.write_all(&encoded(abi::to_bytes(event_type, self.endian))?).map_err(Error::Output)?;
            }
        }
        Ok(())
    }

    /// Ends the file after its records: writes the features, and the events if they are still missing.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn finish(
        mut self,
        events: &[FileAttr],
        event_types: &[EventType],
        features: &BTreeMap<FeatureId, Vec<u8>>,
    ) -> Result<W> {
        self.header.data.size = self.at - self.header.data.offset;
        // The header has 256 bits for features.
        let features: Vec<_> = features.iter().filter(|(id, _)| id.0 < 256).collect();
        let table_size = IDS_SIZE * (features.len() as u64 + self.spare_slots);
        let mut offset = self.at + table_size;
        for (_, bytes) in &features {
            let section = Section { offset, size: bytes.len() as u64 };
            self.write_all(&encoded(abi::to_bytes(&section, self.endian))?).map_err(Error::Output)?;
            offset = section.end();
        }
        let spare = vec![0; (IDS_SIZE * self.spare_slots) as usize];
        self.write_all(&spare).map_err(Error::Output)?;
        for (_, bytes) in &features {
            self.write_all(bytes).map_err(Error::Output)?;
        }
        if self.header.attrs.size == 0 && !events.is_empty() {
            self.events(events, event_types)?;
        }
        let bits = features.iter().map(|(id, _)| id.0).collect::<FeatureBits>().to_bytes(self.endian);
        let header = encoded(abi::to_bytes(&self.header, self.endian))?;
        let rewritten: io::Result<()> = (|| {
            self.out.seek(SeekFrom::Start(0))?;
            self.out.write_all(&header)?;
            self.out.write_all(&bits)?;
            self.out.seek(SeekFrom::End(0))?;
            self.out.flush()
        })();
        rewritten.map_err(Error::Output)?;
        Ok(self.out)
    }
}

/// Writes bytes of records.
impl<W: Write> Write for FileWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.at += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::text::FixedStr;
    use crate::container::read::file::FileSections;
    use crate::container::read::file_bytes::FileBytes;
    use bytes::Bytes;
    use std::io::Cursor;

    #[test]
    fn a_written_file_can_be_read() {
        let mut attr = Attr::read(&[0; 128], Endian::Little).unwrap();
        attr.size = 128;
        attr.config = 7;
        let events = [FileAttr { attr: attr.clone(), ids: vec![3, 4] }, FileAttr { attr, ids: vec![] }];
        let types = [EventType { event_id: 7, name: FixedStr::new(b"a:b") }];
        let features = BTreeMap::from([(FeatureId::ARCH, vec![1; 5]), (FeatureId(200), vec![2; 9])]);
        let none = BTreeMap::new();
        let records = [9; 24];
        for endian in [Endian::Little, Endian::Big] {
            for (events_first, records, features) in [
                (true, &records[..], &features),
                (false, &records, &features),
                (true, &[], &features),
                (false, &[], &features),
                (false, &[], &none),
            ] {
                let first = if events_first { &events[..] } else { &[] };
                let mut writer = FileWriter::begin(Cursor::new(Vec::new()), endian, first, &types).unwrap();
                writer.write_all(records).unwrap();
                let bytes = writer.finish(&events, &types, features).unwrap().into_inner();
                let bytes = FileBytes::from(Bytes::from(bytes));
                let read = FileSections::read("test", &bytes, endian).unwrap();
                assert_eq!((&read.attrs[..], &read.event_types[..]), (&events[..], &types[..]));
                assert_eq!(bytes.slice(read.data).unwrap(), *records);
                let read_features: BTreeMap<_, _> =
                    read.features.into_iter().map(|(id, bytes)| (id, bytes.to_vec())).collect();
                assert_eq!(&read_features, features);
                assert!(read.damage.is_empty(), "{events_first} {records:?}: {:?}", read.damage);
            }
        }
    }
}
