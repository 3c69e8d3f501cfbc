//! The header of a recording: container, byte order and sections.

use super::Endian;
use super::bytes::{ByteReader, Integer};
use super::text::FixedStr;
use binrw::{BinRead, binrw};
use serde::{Deserialize, Serialize};
use std::io::Cursor;

/// The magic of a recording, which contains the version of the format.
#[binrw]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Magic {
    /// `PERFFILE` in either byte order: version 1, of perf before 3.4.
    #[brw(magic = b"PERFFILE")]
    V1,
    /// A number in the byte order of the recorder: `PERFILE2` on little-endian machines, `2ELIFREP` on big-endian ones.
    #[brw(magic = 0x3245_4c49_4652_4550_u64)]
    V2,
}

/// Byte order of a recording; `None` if the bytes do not begin with a header.
///
/// Follows from the magic of version 2. For version 1 it follows from the next field, the header size, which has one of
/// three values. (perf uses the size of an attr, which pipes lack.)
pub fn endian(bytes: &[u8]) -> Option<Endian> {
    [Endian::Little, Endian::Big].into_iter().find(|&endian| match super::parse(bytes, endian, ()) {
        Ok((Magic::V2, _)) => true,
        Ok((Magic::V1, at)) => ByteReader::new(&bytes[at..], endian).u64().is_some_and(is_header_size),
        Err(_) => false,
    })
}

fn is_header_size(size: u64) -> bool {
    matches!(size, PIPE_HEADER_SIZE | FileHeader::SIZE | FileHeader::SIZE_WITHOUT_FEATURES)
}

/// Size of the header of a pipe: magic and size.
pub const PIPE_HEADER_SIZE: u64 = 16;

/// `struct perf_file_section`: location of a section in the file.
#[binrw]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Section {
    /// Offset in the file.
    pub offset: u64,
    /// Size in bytes.
    pub size: u64,
}

impl Section {
    /// Size of the structure in bytes.
    pub const SIZE: usize = 16;

    /// Offset of the end, saturating.
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(self.size)
    }
}

/// `struct perf_file_header` without its feature bitmap.
///
/// ```c
/// u64 magic, size, attr_size;
/// struct perf_file_section attrs, data, event_types;
/// DECLARE_BITMAP(adds_features, 256);
/// ```
#[binrw]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileHeader {
    /// Version.
    pub magic: Magic,
    /// Size of the header: 104, or 72 without the feature bitmap (very old files).
    pub size: u64,
    /// Size of an entry of the attrs section: the writer's `perf_event_attr` and a [`Section`].
    pub attr_size: u64,
    /// The events.
    pub attrs: Section,
    /// The records.
    pub data: Section,
    /// Names of tracepoints, one [`EventType`] each, in very old files.
    pub event_types: Section,
}

impl FileHeader {
    /// Size of a header with feature bitmap.
    pub const SIZE: u64 = 104;
    /// Size of a header without feature bitmap.
    pub const SIZE_WITHOUT_FEATURES: u64 = 72;

    /// Decodes the header at the front of `bytes`.
    ///
    /// # Errors
    /// If there are fewer than 72 bytes, or they do not begin with a [`Magic`].
    pub fn read_from(bytes: &[u8], endian: Endian) -> binrw::BinResult<Self> {
        Self::read_options(&mut Cursor::new(bytes), endian, ())
    }
}

/// `struct perf_trace_event_type`: name of a tracepoint, in very old files. The ID is specific to the recording machine, whose
/// [tracing data](super::feature::tracing_data) may be missing.
///
/// ```c
/// u64 event_id; char name[64];
/// ```
#[binrw]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventType {
    /// The `config` of the event.
    pub event_id: u64,
    /// `system:name`.
    pub name: FixedStr<64>,
}

impl EventType {
    /// Size in bytes.
    pub const SIZE: usize = 72;
}

/// `adds_features`: bitmap of the feature sections of a file, 256 bits.
///
/// The bitmap is an array of the recorder's `unsigned long`, which matters on big-endian machines: words have 4 or 8 bytes,
/// and the file does not record which. Every file of perf has HOSTNAME (bit 3; before perf 3.2, most have BUILD_ID, bit 2), so
/// the word size for which that bit is set is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FeatureBits {
    bits: [u64; 4],
    /// Whether the words have 4 bytes, if it makes a difference.
    words_of_4: bool,
}

impl FeatureBits {
    /// Bits of which one is set in every file, the more reliable first.
    const MARKS: [u32; 2] = [3, 2];

    /// Decodes the bitmap.
    pub fn read(bytes: &[u8; 32], endian: Endian) -> Self {
        let mut wide = Self::default();
        for (word, bytes) in wide.bits.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *word = u64::from_bytes(*bytes, endian);
        }
        let mut narrow = wide;
        narrow.words_of_4 = true;
        narrow.bits.iter_mut().for_each(|word| *word = word.rotate_left(32));
        let mark = Self::MARKS.into_iter().find(|&mark| wide.has(mark) || narrow.has(mark));
        if endian == Endian::Big && mark.is_some_and(|mark| !wide.has(mark)) { narrow } else { wide }
    }

    /// Encodes the bitmap.
    pub fn to_bytes(&self, endian: Endian) -> [u8; 32] {
        let mut out = [0; 32];
        for (bytes, word) in out.as_chunks_mut::<8>().0.iter_mut().zip(self.bits) {
            *bytes = match endian {
                Endian::Little => word.to_le_bytes(),
                Endian::Big if self.words_of_4 => word.rotate_left(32).to_be_bytes(),
                Endian::Big => word.to_be_bytes(),
            };
        }
        out
    }

    /// Whether a bit is set.
    pub fn has(&self, bit: u32) -> bool {
        self.bits[bit as usize / 64] >> (bit % 64) & 1 == 1
    }

    /// The set bits, lowest first.
    pub fn iter(&self) -> impl Iterator<Item = u32> + use<> {
        let bits = *self;
        (0..256).filter(move |&bit| bits.has(bit))
    }
}

impl FromIterator<u32> for FeatureBits {
    /// Sets the given bits. Bits beyond 255 are ignored.
    fn from_iter<I: IntoIterator<Item = u32>>(bits: I) -> Self {
        let mut this = Self::default();
        for bit in bits.into_iter().filter(|&bit| bit < 256) {
            this.bits[bit as usize / 64] |= 1 << (bit % 64);
        }
        this
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::testing::both_orders;

    #[test]
    fn the_byte_order_follows_from_magic_or_size() {
        assert_eq!(endian(b"PERFILE2...."), Some(Endian::Little));
        assert_eq!(endian(b"2ELIFREP"), Some(Endian::Big));
        for size in [16, 72, 104] {
            let header = |size: [u8; 8]| [b"PERFFILE", &size[..]].concat();
            assert_eq!(endian(&header(u64::to_le_bytes(size))), Some(Endian::Little));
            assert_eq!(endian(&header(u64::to_be_bytes(size))), Some(Endian::Big));
        }
        for none in [&b"PERFFILE\x69\0\0\0\0\0\0\0"[..], b"PERFFILE\x68\0", b"ELIFFREP\x68\0\0\0\0\0\0\0", b"PERF"] {
            assert_eq!(endian(none), None);
        }
    }

    #[test]
    fn bytes_of_the_header() {
        let section = |offset| Section { offset, size: 8 };
        let mut header = FileHeader {
            magic: Magic::V2,
            size: 104,
            attr_size: 160,
            attrs: section(0x68),
            data: section(0x110),
            event_types: Section::default(),
        };
        let little = "6800000000000000 a000000000000000 6800000000000000 0800000000000000 \
                      1001000000000000 0800000000000000 00 *16";
        let big = "0000000000000068 00000000000000a0 0000000000000068 0000000000000008 \
                   0000000000000110 0000000000000008 00 *16";
        both_orders(&header, (), &format!("'PERFILE2' {little}"), &format!("'2ELIFREP' {big}"));
        header.magic = Magic::V1;
        both_orders(&header, (), &format!("'PERFFILE' {little}"), &format!("'PERFFILE' {big}"));
    }

    #[test]
    fn bytes_of_an_event_type() {
        let name = FixedStr::new(b"a:b");
        both_orders(
            &EventType { event_id: 0x12, name },
            (),
            "1200000000000000 'a:b' 00 *61",
            "0000000000000012 'a:b' 00 *61",
        );
    }

    #[test]
    fn big_endian_feature_words_have_4_or_8_bytes() {
        let mut of_8 = [0; 32];
        of_8[7] = 1 << 3;
        of_8[3] = 1; // bit 32
        let mut of_4 = [0; 32];
        of_4[3] = 1 << 3;
        of_4[7] = 1;
        let [mut old_of_8, mut old_of_4] = [[0; 32]; 2];
        (old_of_8[7], old_of_4[3]) = (1 << 2, 1 << 2);
        for bytes in [old_of_8, old_of_4] {
            let bits = FeatureBits::read(&bytes, Endian::Big);
            assert_eq!((bits.iter().collect::<Vec<_>>(), bits.to_bytes(Endian::Big)), (vec![2], bytes));
        }
        for bytes in [of_8, of_4] {
            let bits = FeatureBits::read(&bytes, Endian::Big);
            assert_eq!(bits.iter().collect::<Vec<_>>(), [3, 32]);
            assert_eq!(bits.to_bytes(Endian::Big), bytes);
        }
        let little = FeatureBits::read(&of_4, Endian::Little);
        assert_eq!(little.iter().collect::<Vec<_>>(), [27, 56]);
        assert_eq!(little.to_bytes(Endian::Little), of_4);
    }
}
