//! Writes a `Profile` field by field, so that its repeated messages are never all in memory.

use super::proto;
use super::strings::Strings;
use crate::protobuf::{put_bytes, put_message, put_nonzero, put_packed};
use prost::Message;
use std::io::{self, Write};

/// Field numbers of repeated messages, of `Profile` unless stated otherwise.
pub(super) mod field {
    /// `repeated Sample sample`.
    pub(crate) const SAMPLE: u32 = 2;
    /// `repeated Mapping mapping`.
    pub(crate) const MAPPING: u32 = 3;
    /// `repeated Location location`.
    pub(crate) const LOCATION: u32 = 4;
    /// `repeated Function function`.
    pub(crate) const FUNCTION: u32 = 5;
    pub(super) const STRING_TABLE: u32 = 6;
    /// `repeated Label label` of `Sample`.
    pub(crate) const LABEL: u32 = 3;
}

/// Number of bytes from which on messages are written.
const FULL: usize = 1 << 15;

/// Writes the messages of a profile, and its string table at the end.
pub(super) struct Messages<'a> {
    out: &'a mut dyn Write,
    /// Messages that are not yet written.
    buffer: Vec<u8>,
    /// Strings that the messages refer to.
    pub strings: Strings,
}

impl<'a> Messages<'a> {
    /// Writes to `out`.
    pub(super) fn new(out: &'a mut dyn Write) -> Self {
        Self { out, buffer: Vec::with_capacity(2 * FULL), strings: Strings::default() }
    }

    /// Writes an element of a repeated field.
    ///
    /// # Errors
    /// Errors of the output.
    pub(super) fn message(&mut self, field: u32, message: &impl Message) -> io::Result<()> {
        prost::encoding::message::encode(field, message, &mut self.buffer);
        write_if_full(&mut self.buffer, self.out)
    }

    /// Writes a sample with its encoded labels.
    ///
    /// # Errors
    /// Errors of the output.
    pub(super) fn sample(&mut self, locations: &[u64], values: &[i64], labels: &[u8]) -> io::Result<()> {
        put_sample(&mut self.buffer, locations, values, labels);
        write_if_full(&mut self.buffer, self.out)
    }

    /// Writes a location.
    ///
    /// # Errors
    /// Errors of the output.
    pub(super) fn location(&mut self, location: &proto::Location) -> io::Result<()> {
        put_location(&mut self.buffer, location);
        write_if_full(&mut self.buffer, self.out)
    }

    /// Writes the remaining fields.
    ///
    /// # Errors
    /// Errors of the output.
    pub(super) fn head(&mut self, head: &proto::Profile) -> io::Result<()> {
        head.encode_raw(&mut self.buffer);
        write_if_full(&mut self.buffer, self.out)
    }

    /// Writes the string table; no message may follow.
    ///
    /// # Errors
    /// Errors of the output.
    pub(super) fn string_table(&mut self) -> io::Result<()> {
        let Self { out, buffer, strings } = self;
        for string in strings.iter() {
            put_bytes(buffer, field::STRING_TABLE, string);
            write_if_full(buffer, *out)?;
        }
        out.write_all(buffer)
    }
}

#[inline]
fn write_if_full(buffer: &mut Vec<u8>, out: &mut dyn Write) -> io::Result<()> {
    if buffer.len() >= FULL {
        out.write_all(buffer)?;
        buffer.clear();
    }
    Ok(())
}

/// Appends `Profile.sample`.
fn put_sample(out: &mut Vec<u8>, locations: &[u64], values: &[i64], labels: &[u8]) {
    put_message(out, field::SAMPLE, |out| {
        if !locations.is_empty() {
            put_packed(out, 1, locations.iter().copied());
        }
        if !values.is_empty() {
            put_packed(out, 2, values.iter().map(|&value| value as u64));
        }
        out.extend_from_slice(labels);
    });
}

/// Appends `Profile.location`.
fn put_location(out: &mut Vec<u8>, location: &proto::Location) {
    put_message(out, field::LOCATION, |out| {
        put_nonzero(out, 1, location.id);
        put_nonzero(out, 2, location.mapping_id);
        put_nonzero(out, 3, location.address);
        for line in &location.line {
            put_message(out, 4, |out| {
                put_nonzero(out, 1, line.function_id);
                put_nonzero(out, 2, line.line as u64);
                put_nonzero(out, 3, line.column as u64);
            });
        }
        put_nonzero(out, 5, location.is_folded.into());
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protobuf::tests::number;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use prost::encoding::message;

    proptest! {
        #[test]
        fn samples_match_prost(
            location_id in vec(number(), 0..300), value in vec(any::<i64>(), 0..4), labels in vec((any::<i64>(), any::<i64>()), 0..4)
        ) {
            let label: Vec<_> =
                labels.iter().map(|&(key, num)| proto::Label { key, num, ..proto::Label::default() }).collect();
            let mut encoded = Vec::new();
            label.iter().for_each(|label| message::encode(field::LABEL, label, &mut encoded));
            let (mut ours, mut theirs) = (Vec::new(), Vec::new());
            put_sample(&mut ours, &location_id, &value, &encoded);
            message::encode(field::SAMPLE, &proto::Sample { location_id, value, label }, &mut theirs);
            prop_assert_eq!(ours, theirs);
        }

        #[test]
        fn locations_match_prost(
            numbers in vec(number(), 3), lines in vec((number(), any::<i64>(), 0..3_i64), 0..9), is_folded in any::<bool>()
        ) {
            let line = lines.iter().map(|&(function_id, line, column)| proto::Line { function_id, line, column }).collect();
            let (id, mapping_id, address) = (numbers[0], numbers[1], numbers[2]);
            let location = proto::Location { id, mapping_id, address, line, is_folded };
            let (mut ours, mut theirs) = (Vec::new(), Vec::new());
            put_location(&mut ours, &location);
            message::encode(field::LOCATION, &location, &mut theirs);
            prop_assert_eq!(ours, theirs);
        }
    }
}
