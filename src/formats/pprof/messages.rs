//! Writes a `Profile` field by field, so that its repeated messages are never all in memory.

use super::proto;
use super::strings::Strings;
use prost::Message;
use prost::encoding::{WireType, encode_key, encode_varint};
use std::io::{self, Write};

/// Field numbers of `Profile` for repeated messages.
pub mod field {
    /// `repeated Sample sample`.
    pub const SAMPLE: u32 = 2;
    /// `repeated Mapping mapping`.
    pub const MAPPING: u32 = 3;
    /// `repeated Location location`.
    pub const LOCATION: u32 = 4;
    /// `repeated Function function`.
    pub const FUNCTION: u32 = 5;
    pub(super) const STRING_TABLE: u32 = 6;
}

/// Writes the messages of a profile, and its string table at the end.
pub struct Messages<'a> {
    out: &'a mut dyn Write,
    buffer: Vec<u8>,
    /// Strings that the messages refer to.
    pub strings: Strings,
}

impl<'a> Messages<'a> {
    /// Writes to `out`.
    pub fn new(out: &'a mut dyn Write) -> Self {
        Self { out, buffer: Vec::new(), strings: Strings::default() }
    }

    /// Writes an element of a repeated field.
    ///
    /// # Errors
    /// Errors of the output.
    pub fn message(&mut self, field: u32, message: &impl Message) -> io::Result<()> {
        self.buffer.clear();
        prost::encoding::message::encode(field, message, &mut self.buffer);
        self.out.write_all(&self.buffer)
    }

    /// Writes the remaining fields.
    ///
    /// # Errors
    /// Errors of the output.
    pub fn head(&mut self, head: &proto::Profile) -> io::Result<()> {
        self.out.write_all(&head.encode_to_vec())
    }

    /// Writes the string table; no message may follow.
    ///
    /// # Errors
    /// Errors of the output.
    pub fn string_table(&mut self) -> io::Result<()> {
        for string in self.strings.iter() {
            self.buffer.clear();
            encode_key(field::STRING_TABLE, WireType::LengthDelimited, &mut self.buffer);
            encode_varint(string.len() as u64, &mut self.buffer);
            self.buffer.extend_from_slice(string);
            self.out.write_all(&self.buffer)?;
        }
        Ok(())
    }
}
