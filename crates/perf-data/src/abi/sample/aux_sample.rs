//! `PERF_SAMPLE_AUX`: part of the AUX area.

use super::field::FieldKind;
use super::value::FieldValue;
use crate::abi::bytes::{ByteReader, ByteWriter};
use crate::abi::counted;
use binrw::binrw;
use serde::{Deserialize, Serialize};

/// Part of the AUX area: `u64 size; u8 data[size]`, in the byte order of the recording machine.
#[binrw]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuxSample {
    #[br(temp)]
    #[bw(calc = data.len() as u64)]
    size: u64,
    /// The bytes.
    #[br(parse_with = counted::bytes, args(size))]
    #[serde(with = "crate::abi::serde::byte_string")]
    pub data: Vec<u8>,
}

impl FieldValue for AuxSample {
    const KIND: FieldKind = FieldKind::Variable;
    type View<'a> = &'a [u8];
    type Args = ();

    fn take<'a>(reader: &mut ByteReader<'a>, (): ()) -> Option<&'a [u8]> {
        let size = reader.u64()?;
        reader.take(usize::try_from(size).ok()?)
    }

    fn encode(view: Option<&[u8]>, (): (), out: &mut ByteWriter<'_>) {
        let bytes = view.unwrap_or_default();
        out.put(bytes.len() as u64);
        out.out.extend_from_slice(bytes);
    }
}
