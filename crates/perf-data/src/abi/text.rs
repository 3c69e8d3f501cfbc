//! Strings of records: bytes up to a NUL, with the writer's padding.

use super::counted;
use crate::abi::serde::readable::Text;
use binrw::binrw;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A NUL-terminated string with its padding, to the end of the slice.
///
/// The kernel pads file names, comms and other strings with zeros to a multiple of 8. Other writers leave stale bytes, and
/// the NUL may be missing. All bytes are retained.
#[binrw]
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct PaddedStr {
    #[br(parse_with = counted::bytes_to_end)]
    bytes: Vec<u8>,
}

impl PaddedStr {
    /// A string as written by the kernel: with a NUL, padded with zeros to a multiple of `align` bytes.
    pub fn new(text: &[u8], align: usize) -> Self {
        let mut bytes = text.to_vec();
        bytes.resize((text.len() + 1).next_multiple_of(align), 0);
        Self { bytes }
    }

    /// Size of a string of this length with the kernel's padding.
    fn default_size(len: usize) -> usize {
        (len + 1).next_multiple_of(8)
    }

    /// The string, without NUL and padding. Not necessarily UTF-8.
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
        Text::from_stored(&self.bytes, Self::default_size).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for PaddedStr {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Text::deserialize(deserializer).map(|text| text.into_bytes(Self::default_size).into())
    }
}

impl From<Vec<u8>> for PaddedStr {
    fn from(bytes: Vec<u8>) -> Self {
        Self { bytes }
    }
}

/// A string in an array of `N` bytes: `char name[N]`, with a NUL if it is shorter.
#[binrw]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FixedStr<const N: usize>(pub [u8; N]);

impl<const N: usize> FixedStr<N> {
    /// A string padded with zeros, truncated to `N` bytes.
    pub fn new(text: &[u8]) -> Self {
        let mut bytes = [0; N];
        let len = text.len().min(N);
        bytes[..len].copy_from_slice(&text[..len]);
        Self(bytes)
    }

    /// The string, without NUL and padding.
    pub fn text(&self) -> &[u8] {
        until_nul(&self.0)
    }
}

impl<const N: usize> Serialize for FixedStr<N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Text::from_stored(&self.0, |_| N).serialize(serializer)
    }
}

impl<'de, const N: usize> Deserialize<'de> for FixedStr<N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bytes = Text::deserialize(deserializer)?.into_bytes(|_| N);
        bytes.try_into().map(Self).map_err(|_| serde::de::Error::custom(format_args!("longer than {N} bytes")))
    }
}

/// The bytes before the first NUL, or all of them.
pub fn until_nul(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
    &bytes[..end]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::{self, Endian};

    #[test]
    fn padding_is_retained_but_is_not_text() {
        let (name, used): (PaddedStr, usize) = abi::parse(b"cat\0\0stale", Endian::Little, ()).unwrap();
        assert_eq!((name.text(), name.as_bytes(), used), (&b"cat"[..], &b"cat\0\0stale"[..], 10));
        assert_eq!(PaddedStr::new(b"cat", 8).as_bytes(), b"cat\0\0\0\0\0");
        assert_eq!(PaddedStr::new(b"1234567", 8).as_bytes().len(), 8);
        assert_eq!(until_nul(b"no end"), b"no end");
    }

    #[test]
    fn a_fixed_array_is_padded_or_truncates() {
        assert_eq!(FixedStr::<4>::new(b"ab").0, *b"ab\0\0");
        assert_eq!(FixedStr::<4>::new(b"abcdef").text(), b"abcd");
    }
}
