//! What the bytes mean: definitions of every structure of a `perf.data`, for reading and writing.
//!
//! No I/O and no policy here: each definition takes a slice and a byte order, and gives bytes back. Names are those of
//! the kernel's `perf_event.h` and of perf itself.
//!
//! Conventions that hold in this room:
//!
//! * Byte order is a value at run time, [`Endian`], since a recording may come from any machine.
//! * A record's body is parsed from the exact slice without its header and `sample_id` trailer ([`parse`]); bytes that a
//!   definition does not cover stay with the caller.
//! * Numbers that name things are open enums: a value that has no name yet is kept. Flag words keep unknown bits.
//! * Text keeps the bytes behind its NUL ([`text::PaddedStr`]), since writers differ in how they pad.
//! * Counts and lengths are checked against the bytes that are left before anything is allocated.
//! * [`record::Record`] and [`feature::FeatureSection`] put body and tail together: what was read is written as the same
//!   bytes, whatever the bytes.

pub mod attr;
pub mod attr_flags;
pub mod bit_fields;
pub mod bit_set;
pub mod branch;
pub mod bytes;
pub mod callchain;
mod counted;
pub mod data_src;
pub mod feature;
pub mod fields;
pub mod header;
pub mod hex;
pub mod jitdump;
pub mod open_enum;
pub mod read_format;
pub mod readable;
pub mod record;
pub mod regs;
pub mod sample;
pub mod sample_id;
pub mod sample_layout;
pub mod sample_type;
pub mod sample_view;
pub mod sample_words;
mod stored;
#[cfg(test)]
mod testing;
pub mod text;
pub mod tokens;
pub mod transaction;
pub mod version;
pub mod weight;

pub use binrw::Endian;

use binrw::{BinRead, BinResult, BinWrite};
use std::io::Cursor;

/// Parses one definition from the front of a slice and says how many bytes it took.
///
/// # Errors
/// What binrw says when the slice is too short for the definition or holds what it does not allow.
pub fn parse<'a, T>(bytes: &'a [u8], endian: Endian, args: T::Args<'a>) -> BinResult<(T, usize)>
where
    T: BinRead,
{
    let mut cursor = Cursor::new(bytes);
    let value = T::read_options(&mut cursor, endian, args)?;
    Ok((value, cursor.position() as usize))
}

/// The bytes of one definition.
///
/// # Errors
/// Where a value does not fit its place, such as a name that is longer than a header can tell.
pub fn to_bytes<T>(value: &T, endian: Endian) -> BinResult<Vec<u8>>
where
    T: for<'a> BinWrite<Args<'a> = ()>,
{
    let mut out = Cursor::new(Vec::new());
    value.write_options(&mut out, endian, ())?;
    Ok(out.into_inner())
}
