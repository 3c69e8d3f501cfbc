//! Bytes as a recorder of either byte order writes them, put together without the definitions that they are to prove.

use perfconv::abi::Endian;

/// Bytes in a byte order, one field after the other.
#[derive(Clone, Debug)]
pub struct Bytes {
    endian: Endian,
    bytes: Vec<u8>,
}

impl Bytes {
    pub fn new(endian: Endian) -> Self {
        Self { endian, bytes: Vec::new() }
    }

    pub fn into_vec(self) -> Vec<u8> {
        self.bytes
    }

    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    pub fn u8(self, value: u8) -> Self {
        self.raw(&[value])
    }

    pub fn u16(self, value: u16) -> Self {
        let bytes = if self.is_big() { value.to_be_bytes() } else { value.to_le_bytes() };
        self.raw(&bytes)
    }

    pub fn u32(self, value: u32) -> Self {
        let bytes = if self.is_big() { value.to_be_bytes() } else { value.to_le_bytes() };
        self.raw(&bytes)
    }

    pub fn u64(self, value: u64) -> Self {
        let bytes = if self.is_big() { value.to_be_bytes() } else { value.to_le_bytes() };
        self.raw(&bytes)
    }

    pub fn u64s(self, values: &[u64]) -> Self {
        let order = if self.is_big() { u64::to_be_bytes } else { u64::to_le_bytes };
        let bytes: Vec<u8> = values.iter().flat_map(|&value| order(value)).collect();
        self.raw(&bytes)
    }

    /// Bytes that have no byte order.
    pub fn raw(self, bytes: &[u8]) -> Self {
        // Not in place: rustc 1.95.0, optimizing, frees the bytes twice then.
        Self { bytes: [&self.bytes, bytes].concat(), ..self }
    }

    /// Text in a place of `len` bytes.
    pub fn text(self, text: &str, len: usize) -> Self {
        let mut bytes = text.as_bytes().to_vec();
        bytes.resize(len, 0);
        self.raw(&bytes)
    }

    /// Text of a feature: its length with padding, its bytes, zeros up to a multiple of 64.
    pub fn string(self, text: &str) -> Self {
        let len = (text.len() + 1).next_multiple_of(64);
        self.u32(len as u32).text(text, len)
    }

    /// 8 bytes of C bit-fields, each its value and width, in their order: compilers of little-endian machines begin with
    /// the lowest bit, those of big-endian machines with the highest.
    pub fn bit_fields(self, fields: &[(u64, u32)]) -> Self {
        let (mut word, mut used) = (0, 0);
        for &(value, width) in fields {
            let shift = if self.is_big() { u64::BITS - used - width } else { used };
            word |= value << shift;
            used += width;
        }
        self.u64(word)
    }

    fn is_big(&self) -> bool {
        self.endian == Endian::Big
    }
}
