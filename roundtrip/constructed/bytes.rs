//! Builder of bytes in either byte order, independent of the definitions under test.

use perf_data::abi::Endian;

/// Bytes in a byte order, appended field by field.
#[derive(Clone, Debug)]
pub(super) struct Bytes {
    endian: Endian,
    bytes: Vec<u8>,
}

impl Bytes {
    pub(super) fn new(endian: Endian) -> Self {
        Self { endian, bytes: Vec::new() }
    }

    pub(super) fn into_vec(self) -> Vec<u8> {
        self.bytes
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn u8(self, value: u8) -> Self {
        self.raw(&[value])
    }

    pub(super) fn u16(self, value: u16) -> Self {
        let bytes = if self.is_big() { value.to_be_bytes() } else { value.to_le_bytes() };
        self.raw(&bytes)
    }

    pub(super) fn u32(self, value: u32) -> Self {
        let bytes = if self.is_big() { value.to_be_bytes() } else { value.to_le_bytes() };
        self.raw(&bytes)
    }

    pub(super) fn u64(self, value: u64) -> Self {
        let bytes = if self.is_big() { value.to_be_bytes() } else { value.to_le_bytes() };
        self.raw(&bytes)
    }

    pub(super) fn u64s(self, values: &[u64]) -> Self {
        let order = if self.is_big() { u64::to_be_bytes } else { u64::to_le_bytes };
        let bytes: Vec<u8> = values.iter().flat_map(|&value| order(value)).collect();
        self.raw(&bytes)
    }

    /// Appends bytes that have no byte order.
    pub(super) fn raw(self, bytes: &[u8]) -> Self {
        // Not in place: with rustc 1.95.0 and optimization, that frees the bytes twice.
        Self { bytes: [&self.bytes, bytes].concat(), ..self }
    }

    /// Appends text, padded with zeros to `len` bytes.
    pub(super) fn text(self, text: &str, len: usize) -> Self {
        let mut bytes = text.as_bytes().to_vec();
        bytes.resize(len, 0);
        self.raw(&bytes)
    }

    /// Appends a string of a feature: its padded length, its bytes, zeros up to a multiple of 64.
    pub(super) fn string(self, text: &str) -> Self {
        let len = (text.len() + 1).next_multiple_of(64);
        self.u32(len as u32).text(text, len)
    }

    /// Appends 8 bytes of C bit-fields, given as values and widths in order of declaration. Little-endian compilers start with
    /// the lowest bit, big-endian ones with the highest.
    pub(super) fn bit_fields(self, fields: &[(u64, u32)]) -> Self {
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
