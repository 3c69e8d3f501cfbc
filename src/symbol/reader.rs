//! Reads sections of debugging information, and limits the recursion of DWARF readers, which recurse once per nested entry.

use gimli::leb128::read;
use gimli::{EndianSlice, Error, Reader, ReaderOffsetId, Result, RunTimeEndian};
use std::borrow::Cow;
use std::cell::Cell;
use std::thread::{self, Builder};

/// Stack size of a thread that looks up addresses. Compilers nest a few dozen entries; there is room for some thousands.
const STACK: usize = 8 << 20;

/// The part of the stack for everything that a reader calls at the deepest level.
const RESERVE: usize = 1 << 20;

thread_local! {
    /// The address that the stack must not grow below; 0 on threads without a limit.
    static LIMIT: Cell<usize> = const { Cell::new(0) };
}

/// An address in the current stack frame.
#[inline(always)]
fn stack_address() -> usize {
    let local = 0u8;
    std::ptr::from_ref(&local).addr()
}

/// Runs work on a thread on which a [`Slice`] limits recursion; `None` if the system cannot start it.
pub fn with_stack<R: Send>(work: impl FnOnce() -> R + Send) -> Option<R> {
    let limited = || {
        LIMIT.set(stack_address().saturating_sub(STACK - RESERVE));
        work()
    };
    thread::scope(|scope| {
        let thread = Builder::new().name("symbols".to_owned()).stack_size(STACK).spawn_scoped(scope, limited);
        thread.ok().map(|thread| crate::threads::returned(thread.join()))
    })
}

/// Bytes of a section. Reading fails once recursion has used up the stack of the thread that created it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Slice<'a> {
    bytes: EndianSlice<'a, RunTimeEndian>,
    /// A copy of [`LIMIT`].
    limit: usize,
}

impl<'a> Slice<'a> {
    pub fn new(bytes: &'a [u8], endian: RunTimeEndian) -> Self {
        Self { bytes: EndianSlice::new(bytes, endian), limit: LIMIT.get() }
    }

    pub fn bytes(&self) -> &'a [u8] {
        self.bytes.slice()
    }
}

/// Delegates to the slice. Each entry begins with the number of its abbreviation, a ULEB128 value, where the stack is checked.
impl Reader for Slice<'_> {
    type Endian = RunTimeEndian;
    type Offset = usize;

    #[inline]
    fn read_uleb128(&mut self) -> Result<u64> {
        if stack_address() < self.limit {
            return Err(Error::TooManyIterations);
        }
        read::unsigned(&mut self.bytes)
    }

    #[inline]
    fn endian(&self) -> RunTimeEndian {
        self.bytes.endian()
    }

    #[inline]
    fn len(&self) -> usize {
        self.bytes.len()
    }

    #[inline]
    fn empty(&mut self) {
        self.bytes.empty();
    }

    #[inline]
    fn truncate(&mut self, len: usize) -> Result<()> {
        self.bytes.truncate(len)
    }

    #[inline]
    fn offset_from(&self, base: &Self) -> usize {
        self.bytes.offset_from(base.bytes)
    }

    #[inline]
    fn offset_id(&self) -> ReaderOffsetId {
        self.bytes.offset_id()
    }

    #[inline]
    fn lookup_offset_id(&self, id: ReaderOffsetId) -> Option<usize> {
        self.bytes.lookup_offset_id(id)
    }

    #[inline]
    fn find(&self, byte: u8) -> Result<usize> {
        Reader::find(&self.bytes, byte)
    }

    #[inline]
    fn skip(&mut self, len: usize) -> Result<()> {
        self.bytes.skip(len)
    }

    #[inline]
    fn split(&mut self, len: usize) -> Result<Self> {
        self.bytes.split(len).map(|bytes| Self { bytes, ..*self })
    }

    #[inline]
    fn to_slice(&self) -> Result<Cow<'_, [u8]>> {
        self.bytes.to_slice()
    }

    #[inline]
    fn to_string(&self) -> Result<Cow<'_, str>> {
        Reader::to_string(&self.bytes)
    }

    #[inline]
    fn to_string_lossy(&self) -> Result<Cow<'_, str>> {
        Reader::to_string_lossy(&self.bytes)
    }

    #[inline]
    fn read_slice(&mut self, buffer: &mut [u8]) -> Result<()> {
        Reader::read_slice(&mut self.bytes, buffer)
    }

    #[inline]
    fn read_u8(&mut self) -> Result<u8> {
        self.bytes.read_u8()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use addr2line::Context;
    use gimli::{Dwarf, SectionId};

    /// A unit with a function at 0x1000 and this many inlined functions, each in the previous one, and a function at 0x2000.
    fn sections(depth: usize) -> (Vec<u8>, Vec<u8>) {
        let low_and_high = [0x11, 1, 0x12, 6, 0, 0];
        let function = |code, tag| [&[code, tag, 1][..], &low_and_high].concat();
        let abbreviations = [function(1, 0x11), function(2, 0x2e), vec![3, 0x1d, 1, 0, 0, 0]].concat();
        let range = |start: u64| [&start.to_le_bytes()[..], &16u32.to_le_bytes()].concat();
        let unit = [&0x1000u64.to_le_bytes()[..], &0x2000u32.to_le_bytes()].concat();
        let nested = [&[2][..], &range(0x1000), &vec![3; depth], &vec![0; depth + 1]].concat();
        let entries = [&[1][..], &unit, &nested, &[2], &range(0x2000), &[0, 0]].concat();
        let length = (entries.len() + 7) as u32;
        let info = [&length.to_le_bytes()[..], &[4, 0, 0, 0, 0, 0, 8], &entries].concat();
        (abbreviations, info)
    }

    /// Whether the functions at 0x1000 and at 0x2000 are found.
    fn found(depth: usize) -> [bool; 2] {
        let (abbreviations, info) = sections(depth);
        let load = |id| {
            let bytes = match id {
                SectionId::DebugAbbrev => &abbreviations[..],
                SectionId::DebugInfo => &info,
                _ => &[],
            };
            Ok::<_, Error>(Slice::new(bytes, RunTimeEndian::Little))
        };
        let context = Context::from_dwarf(Dwarf::load(load).unwrap()).unwrap();
        [0x1004, 0x2004].map(|address| {
            let frames = context.find_frames(address).skip_all_loads();
            frames.is_ok_and(|mut frames| frames.next().is_ok_and(|frame| frame.is_some()))
        })
    }

    #[test]
    fn functions_nested_without_end_are_errors_and_cost_no_others() {
        let found = |depth| with_stack(|| found(depth)).unwrap();
        assert_eq!(found(100), [true, true]);
        assert_eq!(found(10_000_000), [false, true]);
    }
}
