//! Definitions of all structures of `perf.data`, for decoding and encoding.
//!
//! The definitions do no I/O: they decode slices and encode to bytes, in the given byte order. Names are those of the kernel's
//! headers and of perf:
//!
//! | structures | source in Linux |
//! |---|---|
//! | attr, sample, records below 64 | `include/uapi/linux/perf_event.h` |
//! | records from 64 on | `tools/lib/perf/include/perf/event.h` |
//! | file header, feature sections | `tools/perf/util/header.h`, `tools/perf/Documentation/perf.data-file-format.txt` |
//! | BPF programs, BTF | `include/uapi/linux/bpf.h`, `include/uapi/linux/btf.h` |
//! | jitdump | `tools/perf/Documentation/jitdump-specification.txt` |
//!
//! Conventions:
//!
//! * Byte order is a run-time value, [`Endian`], because a recording may come from any machine.
//! * A record body is decoded from exactly its bytes, without header and `sample_id` trailer ([`parse`]). Bytes beyond a
//!   definition are left to the caller.
//! * Enumerations are open: unknown values are retained. Flag words retain unknown bits.
//! * Strings retain the bytes after their NUL ([`text::PaddedStr`]), because writers differ in padding.
//! * Counts and lengths are checked against the remaining bytes before anything is allocated.
//! * [`record::Record`] and [`feature::FeatureSection`] combine body and tail: decoding and encoding reproduces any bytes.

pub mod attr;
pub mod attr_flags;
pub mod bit_fields;
pub(crate) mod bit_set;
pub mod bytes;
mod counted;
pub mod feature;
pub mod fields;
pub mod header;
pub mod hex;
pub mod jitdump;
pub(crate) mod open_enum;
pub mod read_format;
pub mod record;
pub mod sample;
pub mod sample_type;
pub mod serde;
mod stored_size;
#[cfg(test)]
mod testing;
pub mod text;
pub mod version;

pub use binrw::{BinRead, BinResult, BinWrite, Endian};

use std::io::Cursor;

/// Decodes a definition from the front of a slice; also returns the number of bytes used.
///
/// # Errors
/// If the slice is too short or contains invalid values.
pub fn parse<'a, T>(bytes: &'a [u8], endian: Endian, args: T::Args<'a>) -> BinResult<(T, usize)>
where
    T: BinRead,
{
    let mut cursor = Cursor::new(bytes);
    let value = T::read_options(&mut cursor, endian, args)?;
    Ok((value, cursor.position() as usize))
}

/// Encodes a definition.
///
/// # Errors
/// If a value cannot be represented, such as a record larger than its 16-bit size.
pub fn to_bytes<T>(value: &T, endian: Endian) -> BinResult<Vec<u8>>
where
    T: for<'a> BinWrite<Args<'a> = ()>,
{
    let mut out = Cursor::new(Vec::new());
    value.write_options(&mut out, endian, ())?;
    Ok(out.into_inner())
}
