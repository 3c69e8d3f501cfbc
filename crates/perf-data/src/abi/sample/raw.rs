//! `PERF_SAMPLE_RAW`: event-specific bytes.

use super::field::FieldKind;
use super::value::FieldValue;
use crate::abi::bytes::{ByteReader, ByteWriter};
use crate::abi::counted;
use binrw::binrw;
use serde::{Deserialize, Serialize};

/// Event-specific bytes: `u32 size; u8 data[size]`, in the byte order of the recording machine.
#[binrw]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Raw {
    #[br(temp)]
    #[bw(calc = data.len() as u32)]
    size: u32,
    /// The bytes with the kernel's padding to a multiple of 8, which includes the size.
    #[br(parse_with = counted::bytes, args(size.into()))]
    #[serde(with = "crate::abi::serde::byte_string")]
    pub data: Vec<u8>,
}

impl FieldValue for Raw {
    const KIND: FieldKind = FieldKind::Variable;
    type View<'a> = &'a [u8];
    type Args = ();

    fn take<'a>(reader: &mut ByteReader<'a>, (): ()) -> Option<&'a [u8]> {
        let size = reader.u32()?;
        reader.take(size as usize)
    }

    fn encode(view: Option<&[u8]>, (): (), out: &mut ByteWriter<'_>) {
        out.bytes_after_u32(view.unwrap_or_default());
    }
}
