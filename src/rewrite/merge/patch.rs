//! Changes numbers of records in place.

use perf_data::abi::Endian;
use perf_data::abi::bytes::{ByteReader, Integer};

/// Reads a 32-bit number.
pub(super) fn u32_at(bytes: &[u8], at: usize, endian: Endian) -> Option<u32> {
    ByteReader::new(bytes.get(at..)?, endian).u32()
}

/// Reads a 64-bit number.
#[inline]
pub(super) fn u64_at(bytes: &[u8], at: usize, endian: Endian) -> Option<u64> {
    ByteReader::new(bytes.get(at..)?, endian).u64()
}

/// Changes a 32-bit number, unless the bytes are too short.
#[inline]
pub(super) fn change_u32(bytes: &mut [u8], at: usize, endian: Endian, change: impl FnOnce(u32) -> u32) {
    if let Some(number) = u32_at(bytes, at, endian) {
        bytes[at..at + 4].copy_from_slice(&change(number).to_bytes(endian));
    }
}

/// Changes a 64-bit number, unless the bytes are too short.
#[inline]
pub(super) fn change_u64(bytes: &mut [u8], at: usize, endian: Endian, change: impl FnOnce(u64) -> u64) {
    if let Some(number) = u64_at(bytes, at, endian) {
        bytes[at..at + 8].copy_from_slice(&change(number).to_bytes(endian));
    }
}
