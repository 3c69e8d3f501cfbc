//! Changes numbers of records in place.

use perf_data::abi::Endian;
use perf_data::abi::bytes::Reader;

/// Reads a 32-bit number.
pub(super) fn u32_at(bytes: &[u8], at: usize, endian: Endian) -> Option<u32> {
    Reader::new(bytes.get(at..)?, endian).u32()
}

/// Reads a 64-bit number.
#[inline]
pub(super) fn u64_at(bytes: &[u8], at: usize, endian: Endian) -> Option<u64> {
    Reader::new(bytes.get(at..)?, endian).u64()
}

/// Encodes a 64-bit number.
#[inline]
pub(super) fn bytes_of(number: u64, endian: Endian) -> [u8; 8] {
    match endian {
        Endian::Little => number.to_le_bytes(),
        Endian::Big => number.to_be_bytes(),
    }
}

/// Encodes a 32-bit number.
#[inline]
pub(super) fn bytes_of_u32(number: u32, endian: Endian) -> [u8; 4] {
    match endian {
        Endian::Little => number.to_le_bytes(),
        Endian::Big => number.to_be_bytes(),
    }
}

/// Changes a 32-bit number, unless the bytes are too short.
#[inline]
pub(super) fn change_u32(bytes: &mut [u8], at: usize, endian: Endian, change: impl FnOnce(u32) -> u32) {
    if let Some(number) = u32_at(bytes, at, endian) {
        bytes[at..at + 4].copy_from_slice(&bytes_of_u32(change(number), endian));
    }
}

/// Changes a 64-bit number, unless the bytes are too short.
#[inline]
pub(super) fn change_u64(bytes: &mut [u8], at: usize, endian: Endian, change: impl FnOnce(u64) -> u64) {
    if let Some(number) = u64_at(bytes, at, endian) {
        bytes[at..at + 8].copy_from_slice(&bytes_of(change(number), endian));
    }
}
