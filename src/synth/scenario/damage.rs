//! Deliberate corruption of a recording.

use super::file::damage::DamagePosition;
use perf_data::abi::Endian;
use perf_data::abi::header::{FileHeader, PIPE_HEADER_SIZE};
use perf_data::abi::record::RecordHeader;
use perf_data::container::read::Container;
use perf_data::error::{Error, Result};

/// Corruptions of the bytes of a recording, in order of application.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Damage {
    /// An interrupted recorder: the data size in the header is 0, and there are no features.
    pub unfinished: bool,
    /// Index of the record whose size is set to 0.
    pub empty_record: Option<u64>,
    /// Header fields to overwrite.
    pub header: Vec<(String, u64)>,
    /// Offsets of bytes to invert.
    pub flip: Vec<DamagePosition>,
    /// Offset at which to truncate.
    pub cut: Option<DamagePosition>,
}

/// Offset of the data size in the header.
const DATA_SIZE_AT: usize = 48;
/// Offset of the feature bits.
const FEATURES_AT: usize = 72;

impl Damage {
    /// The header fields of 8 bytes, with their offsets. A pipe has the first two.
    pub const HEADER: [(&'static str, usize); 10] = [
        ("magic", 0),
        ("size", 8),
        ("attr_size", 16),
        ("attrs.offset", 24),
        ("attrs.size", 32),
        ("data.offset", 40),
        ("data.size", DATA_SIZE_AT),
        ("event_types.offset", 56),
        ("event_types.size", 64),
        ("features", FEATURES_AT),
    ];

    /// Applies the corruptions.
    ///
    /// # Errors
    /// If an offset, record or field does not exist.
    pub fn on(&self, bytes: &mut Vec<u8>, container: Container, endian: Endian) -> Result<()> {
        let refused = |problem: String| Error::invalid(format!("damage: {problem}"));
        let mut data = PIPE_HEADER_SIZE..bytes.len() as u64;
        if container == Container::File {
            let header = FileHeader::read_from(bytes, endian).map_err(|e| refused(e.to_string()))?;
            data = header.data.offset..header.data.end();
            if self.unfinished {
                bytes.truncate(data.end as usize);
                bytes[DATA_SIZE_AT..DATA_SIZE_AT + 8].fill(0);
                bytes[FEATURES_AT..FileHeader::SIZE as usize].fill(0);
            }
        }
        if self.unfinished && container != Container::File {
            return Err(refused(
                "'unfinished' applies to files only; the header of a pipe has no data size".to_owned(),
            ));
        }
        if let Some(number) = self.empty_record {
            let none = || refused(format!("there is no record {number}"));
            let len = |at: usize, bytes: &[u8]| {
                let rest = bytes.get(at..data.end as usize).unwrap_or_default();
                RecordHeader::peek(rest, endian).map(|header| header.len()).filter(|&len| len > 0)
            };
            let mut at = data.start as usize;
            for _ in 0..number {
                at += len(at, bytes).ok_or_else(none)?;
            }
            len(at, bytes).ok_or_else(none)?;
            // The size is the last field of the record header.
            bytes[at + 6..at + 8].fill(0);
        }
        for (name, value) in &self.header {
            let field = Self::HEADER.iter().find(|(field_name, _)| field_name == name);
            let (_, at) = field.ok_or_else(|| refused(format!("'{name}' is not a header field")))?;
            let has_field = container == Container::File || *at < PIPE_HEADER_SIZE as usize;
            let field_bytes = bytes.get_mut(*at..at + 8).filter(|_| has_field);
            let field_bytes = field_bytes.ok_or_else(|| refused(format!("its header has no {name}")))?;
            // Text is the same in either byte order.
            let is_text = name == "magic";
            let value = if endian == Endian::Big && !is_text { value.to_be_bytes() } else { value.to_le_bytes() };
            field_bytes.copy_from_slice(&value);
        }
        for position in &self.flip {
            let at = position
                .offset_in(bytes.len() as u64)
                .ok_or_else(|| refused(format!("offset {position:?} is beyond the end")))?;
            bytes[at as usize] ^= 0xff;
        }
        if let Some(position) = self.cut {
            let at = position
                .offset_in(bytes.len() as u64)
                .ok_or_else(|| refused(format!("offset {position:?} is beyond the end")))?;
            bytes.truncate(at as usize);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perf_data::abi::record::{Misc, RecordType};

    #[test]
    fn corruptions_are_applied_or_rejected() {
        let pipe = || {
            let header = RecordHeader { kind: RecordType::FINISHED_ROUND, misc: Misc::empty(), size: 8 };
            let record = header.to_bytes(Endian::Little);
            [&b"PERFILE2\x10\0\0\0\0\0\0\0"[..], &record, &record].concat()
        };
        let done = |damage: Damage| {
            let mut bytes = pipe();
            damage.on(&mut bytes, Container::Pipe, Endian::Little).map(|()| bytes)
        };
        let sound = Damage::default();
        let empty = done(Damage { empty_record: Some(1), ..sound.clone() }).unwrap();
        assert_eq!((empty.len(), empty[22], empty[30]), (32, 8, 0));
        let size = done(Damage { header: vec![("size".to_owned(), 17)], ..sound.clone() }).unwrap();
        assert_eq!(size[8..16], 17_u64.to_le_bytes());
        let cut = done(Damage {
            flip: vec![DamagePosition::Bytes(0)],
            cut: Some(DamagePosition::Percent(50)),
            ..sound.clone()
        })
        .unwrap();
        assert_eq!((cut.len(), cut[0]), (16, !b'P'));
        for impossible in [
            Damage { unfinished: true, ..sound.clone() },
            Damage { empty_record: Some(2), ..sound.clone() },
            Damage { empty_record: Some(u64::MAX), ..sound.clone() },
            Damage { header: vec![("data.size".to_owned(), 0)], ..sound.clone() },
            Damage { flip: vec![DamagePosition::Bytes(32)], ..sound.clone() },
            Damage { cut: Some(DamagePosition::Bytes(32)), ..sound },
        ] {
            assert!(done(impossible.clone()).is_err(), "{impossible:?}");
        }
    }
}
