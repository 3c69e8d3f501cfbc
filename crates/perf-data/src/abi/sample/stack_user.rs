//! `PERF_SAMPLE_STACK_USER`: user stack dumps.

use super::field::FieldKind;
use super::value::FieldValue;
use crate::abi::bytes::{ByteReader, ByteWriter};
use crate::abi::counted;
use binrw::binrw;
use serde::{Deserialize, Serialize};

/// User stack dump: `u64 size; u8 data[size]; u64 dyn_size`, the last two only if `size` is not 0.
#[binrw]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StackUser {
    #[br(temp)]
    #[bw(calc = data.len() as u64)]
    size: u64,
    /// Dumped bytes, followed by stale bytes of the ring buffer. In the byte order of the recording machine.
    #[br(parse_with = counted::bytes, args(size))]
    #[serde(with = "crate::abi::serde::byte_string")]
    pub data: Vec<u8>,
    /// Number of valid bytes of `data`.
    #[brw(if(!data.is_empty()))]
    pub dyn_size: u64,
}

/// A [`StackUser`] borrowed from a SAMPLE. Without a dump, as in samples of kernel threads, `data` is empty.
#[derive(Clone, Copy, Debug)]
pub struct StackView<'a> {
    /// Dumped bytes, followed by stale bytes of the ring buffer.
    pub data: &'a [u8],
    /// Number of valid bytes of `data`.
    pub dyn_size: u64,
}

impl FieldValue for StackUser {
    const KIND: FieldKind = FieldKind::Variable;
    type View<'a> = StackView<'a>;
    type Args = ();

    fn take<'a>(reader: &mut ByteReader<'a>, (): ()) -> Option<StackView<'a>> {
        let size = reader.u64()?;
        if size == 0 {
            return Some(StackView { data: &[], dyn_size: 0 });
        }
        Some(StackView { data: reader.take(usize::try_from(size).ok()?)?, dyn_size: reader.u64()? })
    }

    fn encode(view: Option<StackView<'_>>, (): (), out: &mut ByteWriter<'_>) {
        let data = view.map_or(&[][..], |stack| stack.data);
        out.put(data.len() as u64);
        out.out.extend_from_slice(data);
        out.put_some(view.map(|stack| stack.dyn_size).filter(|_| !data.is_empty()));
    }
}
