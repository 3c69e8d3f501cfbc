//! Counts the messages of a profile before decoding it: an empty one takes only two bytes of input.

use prost::DecodeError;
use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field};

/// A field whose messages contain messages, and which of these do.
pub(in crate::formats) struct Nested(pub u32, pub &'static [Nested]);

/// Labels in samples, lines in locations.
pub(super) const PROFILE: &[Nested] = &[Nested(2, &[]), Nested(4, &[])];

/// Counts messages and strings of a message, including those in `nested` fields.
///
/// # Errors
/// If the bytes are not a message.
pub(in crate::formats) fn count(mut message: &[u8], nested: &[Nested]) -> Result<usize, DecodeError> {
    let mut parts = 0;
    while let Some((field, content)) = next(&mut message)? {
        parts += 1;
        if let Some(Nested(_, fields)) = nested.iter().find(|Nested(number, _)| *number == field) {
            parts += count(content, fields)?;
        }
    }
    Ok(parts)
}

/// Returns the next length-delimited field and its content.
fn next<'a>(bytes: &mut &'a [u8]) -> Result<Option<(u32, &'a [u8])>, DecodeError> {
    while !bytes.is_empty() {
        let (field, kind) = decode_key(bytes)?;
        if kind != WireType::LengthDelimited {
            skip_field(kind, field, bytes, DecodeContext::default())?;
            continue;
        }
        let len = decode_varint(bytes)?;
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        // The decoder reports truncated messages.
        let (message, rest) = bytes.split_at_checked(len).unwrap_or((bytes, &[]));
        *bytes = rest;
        return Ok(Some((field, message)));
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::pprof::proto::{Function, Label, Line, Location, Profile, Sample};
    use prost::Message;

    #[test]
    fn counts_nested_messages() {
        let profile = Profile {
            sample: vec![Sample { label: vec![Label::default(); 3], ..<_>::default() }, Sample::default()],
            location: vec![Location { line: vec![Line::default(); 2], id: 1, ..<_>::default() }],
            function: vec![Function::default()],
            string_table: vec![String::new(), "x".to_owned()],
            time_nanos: 7,
            ..Profile::default()
        };
        assert_eq!(count(&profile.encode_to_vec(), PROFILE), Ok(2 + 3 + 1 + 2 + 1 + 2));
        assert_eq!(count(b"", PROFILE), Ok(0));
        assert!(count(b"\x12\x07ab", PROFILE).is_err() && count(b"\xff", PROFILE).is_err());
    }
}
