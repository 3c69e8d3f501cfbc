//! Counts the messages of a profile before decoding it: an empty one takes only two bytes of input.

use prost::DecodeError;
use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field};

/// Fields whose messages contain messages: labels in samples, lines in locations.
const SAMPLE: u32 = 2;
const LOCATION: u32 = 4;

/// Counts messages and strings of a profile, including those in samples and locations.
///
/// # Errors
/// If the bytes are not a message.
pub(super) fn count(mut profile: &[u8]) -> Result<usize, DecodeError> {
    let mut count = 0;
    while let Some((field, message)) = next(&mut profile)? {
        count += 1;
        if matches!(field, SAMPLE | LOCATION) {
            let mut message = message;
            while next(&mut message)?.is_some() {
                count += 1;
            }
        }
    }
    Ok(count)
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
        assert_eq!(count(&profile.encode_to_vec()), Ok(2 + 3 + 1 + 2 + 1 + 2));
        assert_eq!(count(b""), Ok(0));
        assert!(count(b"\x12\x07ab").is_err() && count(b"\xff").is_err());
    }
}
