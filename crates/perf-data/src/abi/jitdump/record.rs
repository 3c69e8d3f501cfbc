//! The records of a jitdump file.

use crate::abi::counted;
use crate::abi::open_enum::open_enum;
use binrw::{BinRead, BinResult, Endian, binrw};
use std::io::{Read, Seek};

open_enum! {
    /// Type of a record.
    RecordKind: u32 {
        /// [`CodeLoad`].
        CODE_LOAD = 0,
        /// [`CodeMove`].
        CODE_MOVE = 1,
        /// [`DebugInfo`].
        CODE_DEBUG_INFO = 2,
        /// End of the file, without a body.
        CODE_CLOSE = 3,
        /// [`UnwindingInfo`].
        CODE_UNWINDING_INFO = 4,
    }
}

/// Record header.
///
/// ```c
/// u32 id, total_size;
/// u64 timestamp;
/// ```
#[binrw]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordHeader {
    /// Type.
    pub kind: RecordKind,
    /// Size in bytes, including this header.
    pub total_size: u32,
    /// Time in nanoseconds of `CLOCK_MONOTONIC`, or in ticks.
    pub timestamp: u64,
}

impl RecordHeader {
    /// Size in bytes.
    pub const SIZE: usize = 16;
}

/// A new function. Its code follows the name.
///
/// ```c
/// u32 pid, tid;
/// u64 vma, code_addr, code_size, code_index;
/// char name[];             // NUL-terminated
/// u8 code[code_size];
/// ```
#[binrw]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeLoad {
    /// Process ID in its own namespace.
    pub pid: u32,
    /// Thread ID.
    pub tid: u32,
    /// Virtual address; equals `code_addr`.
    pub vma: u64,
    /// Address of the code.
    pub code_addr: u64,
    /// Size of the code in bytes.
    pub code_size: u64,
    /// Unique index of the function.
    pub code_index: u64,
    /// Name.
    pub name: Terminated,
}

/// A function was moved.
///
/// ```c
/// u32 pid, tid;
/// u64 vma, old_code_addr, new_code_addr, code_size, code_index;
/// ```
#[binrw]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeMove {
    /// Process ID in its own namespace.
    pub pid: u32,
    /// Thread ID.
    pub tid: u32,
    /// Virtual address; equals `new_code_addr`.
    pub vma: u64,
    /// Old address of the code.
    pub old_code_addr: u64,
    /// New address of the code.
    pub new_code_addr: u64,
    /// Size of the code in bytes.
    pub code_size: u64,
    /// Index of the function.
    pub code_index: u64,
}

/// Source lines of the function in the next CODE_LOAD.
///
/// ```c
/// u64 code_addr, nr_entry;
/// struct { u64 code_addr; u32 line, discrim; char name[]; } entries[nr_entry];
/// ```
#[binrw]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DebugInfo {
    /// Address of the code.
    pub code_addr: u64,
    #[br(temp)]
    #[bw(calc = entries.len() as u64)]
    nr_entry: u64,
    /// Line entries, sorted by address.
    #[br(parse_with = counted::items, args(nr_entry))]
    pub entries: Vec<DebugEntry>,
}

/// A line entry.
#[binrw]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DebugEntry {
    /// First address.
    pub code_addr: u64,
    /// Line number, from 1.
    pub line: u32,
    /// DWARF discriminator; V8 stores the column.
    pub discrim: u32,
    /// File name; [`DebugEntry::SAME`] for that of the previous entry.
    pub name: Terminated,
}

impl DebugEntry {
    /// Name that means that of the previous entry.
    pub const SAME: &'static [u8] = b"\xff";
}

/// Unwind tables of the function in the next CODE_LOAD: `.eh_frame` and `.eh_frame_hdr`, encoded as if they followed the code.
///
/// ```c
/// u64 unwinding_size, eh_frame_hdr_size, mapped_size;
/// u8 unwinding_data[unwinding_size];
/// ```
#[binrw]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnwindingInfo {
    /// Size of both in bytes.
    pub unwinding_size: u64,
    /// Size of `.eh_frame_hdr` in bytes.
    pub eh_frame_hdr_size: u64,
    /// Number of mapped bytes: all or none.
    pub mapped_size: u64,
}

/// A NUL-terminated string.
#[derive(Clone, Debug, Default, PartialEq, Eq, binrw::BinWrite)]
pub struct Terminated {
    text: Vec<u8>,
    nul: u8,
}

impl Terminated {
    /// A string, up to the first NUL in `text`.
    pub fn new(text: &[u8]) -> Self {
        Self { text: crate::abi::text::until_nul(text).to_vec(), nul: 0 }
    }

    /// The string.
    pub fn text(&self) -> &[u8] {
        &self.text
    }
}

impl BinRead for Terminated {
    type Args<'a> = ();

    fn read_options<R: Read + Seek>(reader: &mut R, _: Endian, (): ()) -> BinResult<Self> {
        let mut text = Vec::new();
        let mut byte = [0];
        loop {
            reader.read_exact(&mut byte)?;
            match byte[0] {
                0 => return Ok(Self { text, nul: 0 }),
                other => text.push(other),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::testing::both_orders;

    #[test]
    fn a_header() {
        let kind = RecordKind::CODE_UNWINDING_INFO;
        both_orders(
            &RecordHeader { kind, total_size: 0x20, timestamp: 0x1234 },
            (),
            "04000000 20000000 3412000000000000",
            "00000004 00000020 0000000000001234",
        );
    }

    #[test]
    fn a_function_that_is_loaded_and_moved() {
        let (pid, tid, code_index) = (1, 2, 7);
        let name = Terminated::new(b"f\0g");
        both_orders(
            &CodeLoad { pid, tid, vma: 0x1000, code_addr: 0x1001, code_size: 0x20, code_index, name },
            (),
            "01000000 02000000 0010000000000000 0110000000000000 2000000000000000 0700000000000000 'f' 00",
            "00000001 00000002 0000000000001000 0000000000001001 0000000000000020 0000000000000007 'f' 00",
        );
        let (old_code_addr, new_code_addr) = (0x1000, 0x2000);
        both_orders(
            &CodeMove { pid, tid, vma: 0x2000, old_code_addr, new_code_addr, code_size: 0x20, code_index },
            (),
            "01000000 02000000 0020000000000000 0010000000000000 0020000000000000 2000000000000000 0700000000000000",
            "00000001 00000002 0000000000002000 0000000000001000 0000000000002000 0000000000000020 0000000000000007",
        );
    }

    #[test]
    fn lines_and_unwinding() {
        let entry = |code_addr, name: &[u8]| DebugEntry { code_addr, line: 5, discrim: 6, name: Terminated::new(name) };
        let entries = vec![entry(0x1000, b"a.js"), entry(0x1004, DebugEntry::SAME)];
        both_orders(
            &DebugInfo { code_addr: 0x1000, entries },
            (),
            "0010000000000000 0200000000000000 0010000000000000 05000000 06000000 'a.js' 00 \
             0410000000000000 05000000 06000000 ff 00",
            "0000000000001000 0000000000000002 0000000000001000 00000005 00000006 'a.js' 00 \
             0000000000001004 00000005 00000006 ff 00",
        );
        both_orders(
            &UnwindingInfo { unwinding_size: 0x40, eh_frame_hdr_size: 20, mapped_size: 0 },
            (),
            "4000000000000000 1400000000000000 0000000000000000",
            "0000000000000040 0000000000000014 0000000000000000",
        );
    }

    #[test]
    fn a_hostile_count_allocates_nothing() {
        let mut bytes = vec![0; 8];
        bytes.extend(u64::MAX.to_le_bytes());
        bytes.extend([0; 64]);
        assert!(crate::abi::parse::<DebugInfo>(&bytes, Endian::Little, ()).is_err());
    }
}
