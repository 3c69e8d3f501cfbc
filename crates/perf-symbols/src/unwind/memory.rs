//! Memory of a sampled process: its stack dump, and constant data of mapped files.

use perf_data::abi::Endian;

/// The dump of a user stack, from the stack pointer upwards.
#[derive(Clone, Copy, Debug)]
pub struct StackDump<'a> {
    /// The valid bytes.
    pub bytes: &'a [u8],
    /// Address of the first byte.
    pub start: u64,
    /// Byte order.
    pub endian: Endian,
}

/// Why memory cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// It is beyond the end of the dump.
    AfterDump,
    /// It is elsewhere.
    Outside,
}

impl StackDump<'_> {
    /// An integer of 1, 2, 4 or 8 bytes.
    ///
    /// # Errors
    /// If it is not in the dump as a whole.
    #[inline]
    pub fn read(&self, address: u64, size: u8) -> Result<u64, Unreadable> {
        let offset = address.checked_sub(self.start).ok_or(Unreadable::Outside)?;
        let bytes = usize::try_from(offset).ok().and_then(|offset| self.bytes.get(offset..));
        bytes.and_then(|bytes| integer(bytes, size, self.endian)).ok_or(Unreadable::AfterDump)
    }
}

/// The integer that bytes begin with.
#[inline]
pub fn integer(bytes: &[u8], size: u8, endian: Endian) -> Option<u64> {
    let is_big = endian == Endian::Big;
    match size {
        8 => bytes
            .first_chunk()
            .map(|bytes| if is_big { u64::from_be_bytes(*bytes) } else { u64::from_le_bytes(*bytes) }),
        4 => bytes
            .first_chunk()
            .map(|bytes| (if is_big { u32::from_be_bytes(*bytes) } else { u32::from_le_bytes(*bytes) }).into()),
        2 => bytes
            .first_chunk()
            .map(|bytes| (if is_big { u16::from_be_bytes(*bytes) } else { u16::from_le_bytes(*bytes) }).into()),
        1 => bytes.first().map(|&byte| byte.into()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_dump_is_readable() {
        let bytes: Vec<u8> = (1..=12).collect();
        let dump = |endian| StackDump { bytes: &bytes, start: 0x1000, endian };
        let little = dump(Endian::Little);
        assert_eq!(little.read(0x1001, 8), Ok(0x0908_0706_0504_0302));
        assert_eq!(dump(Endian::Big).read(0x1000, 4), Ok(0x0102_0304));
        assert_eq!((little.read(0x1002, 2), little.read(0x100b, 1)), (Ok(0x0403), Ok(12)));
        assert_eq!(little.read(0x1005, 8), Err(Unreadable::AfterDump));
        assert_eq!(little.read(0xfff, 8), Err(Unreadable::Outside));
        assert_eq!(little.read(u64::MAX, 8), Err(Unreadable::AfterDump));
    }
}
