//! Text of a record: bytes up to a NUL, with whatever the writer padded it with.

use super::counted;
use super::readable::Text;
use binrw::binrw;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A NUL-terminated string with its padding, up to the end of the slice that it is parsed from.
///
/// The kernel pads file names, comms and the like with zeros to a multiple of 8; other writers leave stale bytes there,
/// and a name may lack its NUL altogether. All of it is kept.
#[binrw]
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct PaddedStr {
    #[br(parse_with = counted::bytes_to_end)]
    bytes: Vec<u8>,
}

impl PaddedStr {
    /// Text as the kernel writes it: a NUL, then zeros up to a multiple of `align` bytes.
    pub fn new(text: &[u8], align: usize) -> Self {
        let mut bytes = text.to_vec();
        bytes.resize((text.len() + 1).next_multiple_of(align), 0);
        Self { bytes }
    }

    /// How many bytes text of this length takes with its padding as the kernel writes it.
    fn usual_room(len: usize) -> usize {
        (len + 1).next_multiple_of(8)
    }

    /// The text, without NUL and padding. Not necessarily UTF-8.
    pub fn text(&self) -> &[u8] {
        until_nul(&self.bytes)
    }

    /// All bytes as recorded.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl Serialize for PaddedStr {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Text::of(&self.bytes, Self::usual_room).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for PaddedStr {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Text::deserialize(deserializer).map(|text| text.into_bytes(Self::usual_room).into())
    }
}

impl From<Vec<u8>> for PaddedStr {
    fn from(bytes: Vec<u8>) -> Self {
        Self { bytes }
    }
}

/// A string in a place of `N` bytes: `char name[N]`, with a NUL where it is shorter.
#[binrw]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FixedStr<const N: usize>(pub [u8; N]);

impl<const N: usize> FixedStr<N> {
    /// The text and zeros behind it; text beyond `N` bytes is cut.
    pub fn new(text: &[u8]) -> Self {
        let mut bytes = [0; N];
        let len = text.len().min(N);
        bytes[..len].copy_from_slice(&text[..len]);
        Self(bytes)
    }

    /// The text, without NUL and padding.
    pub fn text(&self) -> &[u8] {
        until_nul(&self.0)
    }
}

impl<const N: usize> Serialize for FixedStr<N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Text::of(&self.0, |_| N).serialize(serializer)
    }
}

impl<'de, const N: usize> Deserialize<'de> for FixedStr<N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bytes = Text::deserialize(deserializer)?.into_bytes(|_| N);
        bytes.try_into().map(Self).map_err(|_| serde::de::Error::custom(format_args!("longer than {N} bytes")))
    }
}

/// The part of `bytes` before its first NUL, or all of it.
pub fn until_nul(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
    &bytes[..end]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::{self, Endian};

    #[test]
    fn padding_is_kept_but_is_not_text() {
        let (name, used): (PaddedStr, usize) = abi::parse(b"cat\0\0stale", Endian::Little, ()).unwrap();
        assert_eq!((name.text(), name.as_bytes(), used), (&b"cat"[..], &b"cat\0\0stale"[..], 10));
        assert_eq!(PaddedStr::new(b"cat", 8).as_bytes(), b"cat\0\0\0\0\0");
        assert_eq!(PaddedStr::new(b"1234567", 8).as_bytes().len(), 8);
        assert_eq!(until_nul(b"no end"), b"no end");
    }

    #[test]
    fn a_fixed_place_is_filled_and_never_overrun() {
        assert_eq!(FixedStr::<4>::new(b"ab").0, *b"ab\0\0");
        assert_eq!(FixedStr::<4>::new(b"abcdef").text(), b"abcd");
    }
}
