//! Numbers in records, changed where they stand.

use crate::abi::Endian;
use crate::abi::bytes::Reader;

/// The number of 32 bits at a place.
pub fn u32_at(bytes: &[u8], at: usize, endian: Endian) -> Option<u32> {
    Reader::new(bytes.get(at..)?, endian).u32()
}

/// The number of 64 bits at a place.
#[inline]
pub fn u64_at(bytes: &[u8], at: usize, endian: Endian) -> Option<u64> {
    Reader::new(bytes.get(at..)?, endian).u64()
}

/// A number as bytes.
#[inline]
pub fn bytes_of(number: u64, endian: Endian) -> [u8; 8] {
    match endian {
        Endian::Little => number.to_le_bytes(),
        Endian::Big => number.to_be_bytes(),
    }
}

/// A number of 32 bits as bytes.
#[inline]
pub fn bytes_of_u32(number: u32, endian: Endian) -> [u8; 4] {
    match endian {
        Endian::Little => number.to_le_bytes(),
        Endian::Big => number.to_be_bytes(),
    }
}

/// Changes the number of 32 bits at a place. Where the bytes end before, nothing changes.
#[inline]
pub fn change_u32(bytes: &mut [u8], at: usize, endian: Endian, change: impl FnOnce(u32) -> u32) {
    if let Some(number) = u32_at(bytes, at, endian) {
        bytes[at..at + 4].copy_from_slice(&bytes_of_u32(change(number), endian));
    }
}

/// Changes the number of 64 bits at a place. Where the bytes end before, nothing changes.
#[inline]
pub fn change_u64(bytes: &mut [u8], at: usize, endian: Endian, change: impl FnOnce(u64) -> u64) {
    if let Some(number) = u64_at(bytes, at, endian) {
        bytes[at..at + 8].copy_from_slice(&bytes_of(change(number), endian));
    }
}
