//! Integers of a slice in a byte order known at run time. For hand-written views on hot paths, which borrow what the binrw
//! definitions own.

use super::Endian;

/// An unsigned integer of fixed size.
pub trait Integer: Copy + sealed::Sealed {
    /// An array of its size.
    type Bytes: AsRef<[u8]>;
    /// Its bytes in a byte order.
    fn to_bytes(self, endian: Endian) -> Self::Bytes;
    /// The integer of bytes in a byte order.
    fn from_bytes(bytes: Self::Bytes, endian: Endian) -> Self;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! integers {
    ($($integer:ident)*) => {$(
        impl sealed::Sealed for $integer {}
        impl Integer for $integer {
            type Bytes = [u8; size_of::<$integer>()];

            #[inline]
            fn to_bytes(self, endian: Endian) -> Self::Bytes {
                match endian {
                    Endian::Little => self.to_le_bytes(),
                    Endian::Big => self.to_be_bytes(),
                }
            }

            #[inline]
            fn from_bytes(bytes: Self::Bytes, endian: Endian) -> Self {
                match endian {
                    Endian::Little => Self::from_le_bytes(bytes),
                    Endian::Big => Self::from_be_bytes(bytes),
                }
            }
        }
    )*};
}

integers!(u16 u32 u64);

/// Appends integers to a buffer.
#[derive(Debug)]
pub struct ByteWriter<'a> {
    /// The buffer.
    pub out: &'a mut Vec<u8>,
    endian: Endian,
}

impl<'a> ByteWriter<'a> {
    /// A writer to the end of `out`.
    #[inline]
    pub fn new(out: &'a mut Vec<u8>, endian: Endian) -> Self {
        Self { out, endian }
    }

    /// The byte order.
    #[inline]
    pub fn endian(&self) -> Endian {
        self.endian
    }

    /// Appends an integer.
    #[inline]
    pub fn put(&mut self, number: impl Integer) {
        self.out.extend_from_slice(number.to_bytes(self.endian).as_ref());
    }

    /// Writes an integer over the bytes at an index of the buffer.
    #[inline]
    pub fn put_at(&mut self, index: usize, number: impl Integer) {
        let bytes = number.to_bytes(self.endian);
        self.out[index..][..bytes.as_ref().len()].copy_from_slice(bytes.as_ref());
    }

    /// Appends 8 bytes, if there is a number.
    #[inline]
    pub fn put_some(&mut self, number: Option<u64>) {
        if let Some(number) = number {
            self.put(number);
        }
    }

    /// Appends two integers of 4 bytes.
    #[inline]
    pub fn pair(&mut self, (first, second): (u32, u32)) {
        self.put(first);
        self.put(second);
    }

    /// Appends bytes after their length of 4 bytes.
    #[inline]
    pub fn bytes_after_u32(&mut self, bytes: &[u8]) {
        self.put(bytes.len() as u32);
        self.out.extend_from_slice(bytes);
    }

    /// Appends numbers of 8 bytes.
    #[inline]
    pub fn words(&mut self, numbers: &[u64]) {
        // One test of the byte order for all: it keeps the loop vectorized.
        match self.endian {
            Endian::Little => self.out.extend(numbers.iter().flat_map(|number| number.to_le_bytes())),
            Endian::Big => self.out.extend(numbers.iter().flat_map(|number| number.to_be_bytes())),
        }
    }
}

/// Reads from the front of a slice. If too few bytes are left, a method returns `None` and consumes nothing.
#[derive(Clone, Copy, Debug)]
pub struct ByteReader<'a> {
    rest: &'a [u8],
    endian: Endian,
}

impl<'a> ByteReader<'a> {
    /// A reader of `bytes`.
    #[inline]
    pub fn new(bytes: &'a [u8], endian: Endian) -> Self {
        Self { rest: bytes, endian }
    }

    /// The unread bytes.
    #[inline]
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// The next `len` bytes.
    #[inline]
    pub fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.rest.split_at_checked(len)?;
        self.rest = rest;
        Some(bytes)
    }

    /// The next 2 bytes as an integer.
    #[inline]
    pub fn u16(&mut self) -> Option<u16> {
        let (bytes, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(u16::from_bytes(*bytes, self.endian))
    }

    /// The next 4 bytes as an integer.
    #[inline]
    pub fn u32(&mut self) -> Option<u32> {
        let (bytes, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(u32::from_bytes(*bytes, self.endian))
    }

    /// The next 8 bytes as an integer.
    #[inline]
    pub fn u64(&mut self) -> Option<u64> {
        let (bytes, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(u64::from_bytes(*bytes, self.endian))
    }

    /// The next `count` 8-byte integers, borrowed.
    #[inline]
    pub fn words(&mut self, count: u64) -> Option<Words<'a>> {
        let len = usize::try_from(count).ok()?.checked_mul(8)?;
        Some(Words { bytes: self.take(len)?, endian: self.endian })
    }
}

/// The two integers at an offset, such as PID and TID.
#[inline]
pub fn pair_at(bytes: &[u8], at: usize, endian: Endian) -> Option<(u32, u32)> {
    let mut reader = ByteReader::new(bytes.get(at..)?, endian);
    Some((reader.u32()?, reader.u32()?))
}

/// An array of `u64` in the byte order of the recording, borrowed from a record.
#[derive(Clone, Copy, Debug)]
pub struct Words<'a> {
    bytes: &'a [u8],
    endian: Endian,
}

impl<'a> Words<'a> {
    /// Number of integers.
    #[inline]
    pub fn len(&self) -> usize {
        self.bytes.len() / 8
    }

    /// Whether there are no integers.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The bytes as recorded. Equal arrays of one recording have equal bytes.
    #[inline]
    pub fn as_bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Their byte order.
    #[inline]
    pub fn endian(&self) -> Endian {
        self.endian
    }

    /// The bytes of each integer as recorded.
    #[inline]
    pub fn as_chunks(&self) -> &'a [[u8; 8]] {
        self.bytes.as_chunks().0
    }

    /// The integers, in order.
    #[inline]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = u64> + use<'a> {
        let endian = self.endian;
        self.as_chunks().iter().map(move |bytes| u64::from_bytes(*bytes, endian))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_follow_the_byte_order() {
        let bytes = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14];
        let mut little = ByteReader::new(&bytes, Endian::Little);
        let mut big = ByteReader::new(&bytes, Endian::Big);
        assert_eq!((little.u64(), big.u64()), (Some(0x0807_0605_0403_0201), Some(0x0102_0304_0506_0708)));
        assert_eq!((little.u32(), big.u32()), (Some(0x0c0b_0a09), Some(0x090a_0b0c)));
        assert_eq!((little.u16(), big.u16()), (Some(0x0e0d), Some(0x0d0e)));
        assert_eq!(little.u16(), None);
    }

    #[test]
    fn a_count_beyond_the_slice_consumes_nothing() {
        let bytes = [0; 24];
        let mut reader = ByteReader::new(&bytes, Endian::Little);
        assert!(reader.words(u64::MAX).is_none());
        assert!(reader.words(1 << 61).is_none());
        assert!(reader.words(4).is_none());
        assert_eq!(reader.words(3).unwrap().len(), 3);
    }
}
