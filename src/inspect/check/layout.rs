//! Rules for the sections of a file.

use super::attrs;
use super::finding::{Rule, Subject};
use perf_data::abi::Endian;
use perf_data::abi::attr::Attr;
use perf_data::abi::bytes::ByteReader;
use perf_data::abi::feature::FeatureId;
use perf_data::abi::header::{FeatureBits, FileHeader, Section};
use perf_data::container::image::FileImage;
use std::collections::HashMap;

/// Size of the section with the event IDs that follows each attr.
const IDS_SIZE: usize = 16;
/// Size of an entry of the feature table.
const SLOT_SIZE: u64 = 16;

/// The sections of a file, as far as they can be located.
pub(super) struct Layout<'a> {
    image: &'a FileImage,
    header: FileHeader,
    endian: Endian,
    /// End of the records; the maximum if the header does not say, since nothing follows the records then.
    data_end: u64,
    /// Sections and their names.
    sections: Vec<(Section, String)>,
    /// Sections of the features.
    pub features: Vec<(FeatureId, Section)>,
}

impl<'a> Layout<'a> {
    /// Locates the sections of a file, and reports problems of each.
    pub(super) fn check(
        image: &'a FileImage,
        header: FileHeader,
        endian: Endian,
        report: &mut impl FnMut(Rule, u64, Subject, String),
    ) -> Self {
        // `perf record` writes the size of the records at its end; if it is killed, the size stays 0.
        let is_killed = header.data.size == 0 && image.data > 0;
        let data_end = if is_killed { u64::MAX } else { header.data.end() };
        let mut layout = Self { image, header, endian, data_end, sections: Vec::new(), features: Vec::new() };
        layout.add(Section { offset: 0, size: header.size }, "the header");
        layout.add(header.attrs, "the events");
        layout.add(Section { size: data_end - header.data.offset, ..header.data }, "the records");
        layout.add(header.event_types, "the event types");
        layout.find_features();
        layout.check_attrs(report);
        layout.check_coverage(report);
        layout
    }

    fn add(&mut self, section: Section, name: impl Into<String>) {
        if section.size > 0 {
            self.sections.push((section, name.into()));
        }
    }

    /// Bytes of a section outside of the records.
    fn bytes(&self, section: Section) -> Option<&'a [u8]> {
        let (bytes, base) = match section.offset.checked_sub(self.data_end) {
            Some(behind) => (&self.image.behind, behind),
            None => (&self.image.before, section.offset),
        };
        bytes.get(base as usize..)?.get(..section.size as usize)
    }

    fn find_features(&mut self) {
        let header = Section { offset: 0, size: FileHeader::SIZE };
        let bits = self.bytes(header).and_then(|header| header.last_chunk()).copied().unwrap_or_default();
        // The shorter header of old recordings has no feature bits.
        if self.header.size != FileHeader::SIZE || self.image.behind.is_empty() {
            return;
        }
        let mut slots = ByteReader::new(&self.image.behind, self.endian);
        let bits: Vec<u32> = FeatureBits::read(&bits, self.endian).iter().collect();
        self.add(Section { offset: self.data_end, size: bits.len() as u64 * SLOT_SIZE }, "the feature table");
        for id in bits.into_iter().map(FeatureId) {
            let (Some(offset), Some(size)) = (slots.u64(), slots.u64()) else { return };
            let section = Section { offset, size };
            self.add(section, format!("feature {id}"));
            self.features.push((id, section));
        }
    }

    fn check_attrs(&mut self, report: &mut impl FnMut(Rule, u64, Subject, String)) {
        let header = self.header;
        let (Some(entries), stride) = (self.bytes(header.attrs), header.attr_size as usize) else { return };
        let (mut events, mut sections) = (HashMap::new(), HashMap::new());
        for (index, entry) in entries.chunks_exact(stride).enumerate() {
            let at = header.attrs.offset + (index * stride) as u64;
            let mut report = |rule, problem| report(rule, at, Subject::Event(index), problem);
            let room = stride - IDS_SIZE;
            let declared = Attr::declared_size(entry, self.endian).unwrap_or(room);
            if declared != room {
                report(
                    Rule::AttrSize,
                    format!(
                        "attr.size is {declared}, but attr_size in the file header leaves {room} bytes for the attr"
                    ),
                );
            }
            attrs::check_bytes(&entry[..room], self.endian, &mut report);
            // If the two sizes differ, writers disagree on where the position of the IDs is stored.
            let ids_section = |len: usize| {
                let mut fields = ByteReader::new(entry.get(len..)?, self.endian);
                Some(Section { offset: fields.u64()?, size: fields.u64()? })
            };
            let ids_at = |len: usize| ids_section(len).and_then(|ids| Some((ids, self.bytes(ids)?)));
            let Some((section, ids)) = ids_at(room).or_else(|| ids_at(declared)) else {
                // Not IDs if they are in the records; their overlap is reported with the other sections.
                if let Some(section) = ids_section(room).filter(|ids| ids.offset < self.data_end) {
                    self.add(section, format!("the IDs of event {index}"));
                }
                continue;
            };
            if section.size == 0 {
                continue;
            }
            if let Some(owner) = sections.insert((section.offset, section.size), index) {
                report(Rule::DuplicateId, format!("all its IDs are also those of event {owner}"));
                continue;
            }
            if !section.size.is_multiple_of(8) {
                report(Rule::IdsSize, format!("the size of its IDs is {}, which is not a multiple of 8", section.size));
            }
            for id in ByteReader::new(ids, self.endian).words(section.size / 8).iter().flat_map(|ids| ids.iter()) {
                let owner = *events.entry(id).or_insert(index);
                if owner != index {
                    report(Rule::DuplicateId, format!("its ID {id} is also one of event {owner}"));
                }
            }
            self.add(section, format!("the IDs of event {index}"));
        }
    }

    /// Reports sections that overlap, and bytes that are in no section.
    fn check_coverage(&mut self, report: &mut impl FnMut(Rule, u64, Subject, String)) {
        self.sections.sort_by_key(|(section, _)| (section.offset, section.end()));
        let (mut end, mut before) = (0, "the start of the file");
        for (section, name) in &self.sections {
            if section.offset < end {
                let shared = end.min(section.end()) - section.offset;
                report(
                    Rule::Overlap,
                    section.offset,
                    Subject::Container,
                    format!("{shared} bytes of {name} overlap {before}"),
                );
            } else if section.offset > end {
                let gap = Section { offset: end, size: section.offset - end };
                self.check_gap(gap, &format!("between {before} and {name}"), report);
            }
            if section.end() > end {
                (end, before) = (section.end(), name);
            }
        }
    }

    /// Reports a gap before the end of the records, unless it is of zeros. perf leaves gaps behind the records where it could not
    /// write a feature: in the table, which has room for all that it tries, and among the sections, with what it had written.
    fn check_gap(&self, gap: Section, location: &str, report: &mut impl FnMut(Rule, u64, Subject, String)) {
        let Some(bytes) = self.bytes(gap) else { return };
        if gap.offset < self.data_end && bytes.iter().any(|&byte| byte != 0) {
            report(
                Rule::Gap,
                gap.offset,
                Subject::Container,
                format!("{} bytes {location} belong to no section", gap.size),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    /// A file with one event, whose IDs are at `ids`, and with the given bytes after the records.
    fn image(ids: Section, behind: &[u8]) -> (FileImage, FileHeader) {
        let section = |offset, size| Section { offset, size };
        let mut before = vec![0; 104 + 8 + 80];
        before[112..].copy_from_slice(&[&[0; 64][..], &ids.offset.to_le_bytes(), &ids.size.to_le_bytes()].concat());
        let header = FileHeader {
            magic: perf_data::abi::header::Magic::V2,
            size: 104,
            attr_size: 80,
            attrs: section(112, 80),
            data: section(192, 16),
            event_types: Section::default(),
        };
        (FileImage { before: before.into(), behind: Bytes::copy_from_slice(behind), data: 0 }, header)
    }

    fn rules((image, header): &(FileImage, FileHeader)) -> Vec<(Rule, u64)> {
        let mut violations = Vec::new();
        Layout::check(image, *header, Endian::Little, &mut |rule, at, _, _| violations.push((rule, at)));
        violations
    }

    #[test]
    fn each_byte_belongs_to_one_section() {
        let section = |offset, size| Section { offset, size };
        assert_eq!(rules(&image(section(104, 8), &[])), []);
        assert_eq!(rules(&image(section(104, 0), &[])), [], "a gap of zeros");
        let mut gap = image(section(104, 0), &[]);
        let mut before = gap.0.before.to_vec();
        before[104] = 1;
        gap.0.before = before.into();
        assert_eq!(rules(&gap), [(Rule::Gap, 104)]);
        assert_eq!(rules(&image(section(104, 8), &[1; 4])), [], "behind the records");
        assert_eq!(rules(&image(section(100, 12), &[])), [(Rule::IdsSize, 112), (Rule::Overlap, 100)]);
        assert_eq!(rules(&image(section(200, 8), &[])), [(Rule::Overlap, 200)], "in the records");
    }

    #[test]
    fn sizes_of_an_attr_must_agree() {
        let mut image = image(Section { offset: 104, size: 8 }, &[]);
        let mut before = image.0.before.to_vec();
        before[116] = 72;
        image.0.before = before.into();
        assert_eq!(rules(&image), [(Rule::AttrSize, 112)]);
    }
}
