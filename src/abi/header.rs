//! The first bytes of a recording: which container, which byte order, where the sections are.

use super::Endian;
use super::bytes::Reader;
use super::text::FixedStr;
use binrw::{BinRead, binrw};
use serde::{Deserialize, Serialize};
use std::io::Cursor;

/// The 8 bytes that a recording begins with: which version of the format it is in.
#[binrw]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Magic {
    /// `PERFFILE`, whatever the recorder's byte order: version 1, of perf before 3.4.
    #[brw(magic = b"PERFFILE")]
    V1,
    /// A number in the recorder's byte order: `PERFILE2` from a little-endian machine and `2ELIFREP` from a big-endian one.
    #[brw(magic = 0x3245_4c49_4652_4550_u64)]
    V2,
}

/// The byte order of a recording that begins with `bytes`; `None` where they begin none.
///
/// Of version 2 the magic tells it. That of version 1 is the same in both, so that the next field does: the size of the
/// header, which can only be one of three. (perf tries the size of an attr, which pipes do not tell.)
pub fn endian(bytes: &[u8]) -> Option<Endian> {
    [Endian::Little, Endian::Big].into_iter().find(|&endian| match super::parse(bytes, endian, ()) {
        Ok((Magic::V2, _)) => true,
        Ok((Magic::V1, at)) => Reader::new(&bytes[at..], endian).u64().is_some_and(is_header_size),
        Err(_) => false,
    })
}

fn is_header_size(size: u64) -> bool {
    matches!(size, PIPE_HEADER_SIZE | FileHeader::SIZE | FileHeader::SIZE_WITHOUT_FEATURES)
}

/// Size of the header of a pipe: magic and size.
pub const PIPE_HEADER_SIZE: u64 = 16;

/// `struct perf_file_section`: where something is in the file.
#[binrw]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Section {
    /// From the beginning of the file.
    pub offset: u64,
    /// In bytes.
    pub size: u64,
}

impl Section {
    /// Its size in bytes.
    pub const SIZE: usize = 16;

    /// One past its last byte; a section that claims to reach past the end of the numbers ends there.
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
    /// The version.
    pub magic: Magic,
    /// Size of the header: 104, or 72 where it has no feature bitmap (very old files).
    pub size: u64,
    /// Size of an entry of the attrs section: of the writer's `perf_event_attr` and a [`Section`].
    pub attr_size: u64,
    /// The events.
    pub attrs: Section,
    /// The records.
    pub data: Section,
    /// Names of tracepoints, an [`EventType`] each, in very old files.
    pub event_types: Section,
}

impl FileHeader {
    /// Size of a header with a feature bitmap.
    pub const SIZE: u64 = 104;
    /// Size of a header without one.
    pub const SIZE_WITHOUT_FEATURES: u64 = 72;

    /// Reads the header from the front of `bytes`.
    ///
    /// # Errors
    /// Where there are fewer than 72 bytes, or they do not begin with a [`Magic`].
    pub fn read_from(bytes: &[u8], endian: Endian) -> binrw::BinResult<Self> {
        Self::read_options(&mut Cursor::new(bytes), endian, ())
    }
}

/// `struct perf_trace_event_type`: name of a tracepoint, in very old files. Its number is of the machine that
/// recorded, whose [tracing data](super::feature::tracing_data) need not be in the file.
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
    /// Size in a file.
    pub const SIZE: usize = 72;
}

/// `adds_features`: which feature sections a file has, one bit for each of 256.
///
/// The bitmap is an array of the recorder's `unsigned long`. On little-endian machines that makes no difference; on
/// big-endian ones the words may be of 4 or of 8 bytes, which the file does not say: every file that perf writes has a
/// HOSTNAME (bit 3; before 3.2 most have BUILD_ID, bit 2), so the word size that puts a bit there is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FeatureBits {
    bits: [u64; 4],
    /// Whether the recorder's words were of 4 bytes, where that makes a difference.
    words_of_4: bool,
}

impl FeatureBits {
    /// Bits of which one is in every file, the surer one first.
    const MARKS: [u32; 2] = [3, 2];

    /// Reads the 32 bytes of the bitmap.
    pub fn read(bytes: &[u8; 32], endian: Endian) -> Self {
        let mut wide = Self::default();
        for (word, bytes) in wide.bits.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *word = match endian {
                Endian::Little => u64::from_le_bytes(*bytes),
                Endian::Big => u64::from_be_bytes(*bytes),
            };
        }
        let mut narrow = wide;
        narrow.words_of_4 = true;
        narrow.bits.iter_mut().for_each(|word| *word = word.rotate_left(32));
        let mark = Self::MARKS.into_iter().find(|&mark| wide.has(mark) || narrow.has(mark));
        if endian == Endian::Big && mark.is_some_and(|mark| !wide.has(mark)) { narrow } else { wide }
    }

    /// The 32 bytes of the bitmap.
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

    /// Whether the bit is set.
    pub fn has(&self, bit: u32) -> bool {
        self.bits[bit as usize / 64] >> (bit % 64) & 1 == 1
    }

    /// The bits that are set, lowest first.
    pub fn iter(&self) -> impl Iterator<Item = u32> + use<> {
        let bits = *self;
        (0..256).filter(move |&bit| bits.has(bit))
    }
}

impl FromIterator<u32> for FeatureBits {
    /// The bits to set. Those beyond 255 have no place and are left out.
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
    fn magic_or_size_tell_the_byte_order() {
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
    fn big_endian_feature_words_may_be_of_4_or_8_bytes() {
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
