//! Checks whether bytes have the shape of a (possibly truncated) protobuf message.

/// Type of a field.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    /// One number.
    Number,
    /// Numbers, packed or one by one.
    Numbers,
    /// A string, or a message that is not checked.
    Bytes,
    /// A message.
    Message(&'static [(u32, Shape)]),
}

/// Wire types of numbers, and of length-delimited fields.
const VARINT: u64 = 0;
const LEN: u64 = 2;

/// Whether all fields of a message have these numbers and shapes. The last one may be truncated.
pub(crate) fn has_message_shape(mut bytes: &[u8], fields: &[(u32, Shape)]) -> bool {
    while !bytes.is_empty() {
        let key = match varint(&mut bytes) {
            Ok(Some(key)) => key,
            end => return end.is_ok(),
        };
        let Some(&(_, shape)) = fields.iter().find(|(number, _)| u64::from(*number) == key >> 3) else { return false };
        let value = match varint(&mut bytes) {
            Ok(Some(value)) => value,
            end => return end.is_ok(),
        };
        match (key & 7, shape) {
            (VARINT, Shape::Number | Shape::Numbers) => continue,
            (LEN, Shape::Numbers | Shape::Bytes | Shape::Message(_)) => {}
            _ => return false,
        }
        let len = usize::try_from(value).unwrap_or(usize::MAX);
        let (content, rest) = bytes.split_at_checked(len).unwrap_or((bytes, &[]));
        let is_complete = content.len() == len;
        let fits = match shape {
            Shape::Message(fields) => has_message_shape(content, fields),
            Shape::Numbers => numbers(content, is_complete),
            Shape::Number | Shape::Bytes => true,
        };
        if !fits {
            return false;
        }
        bytes = rest;
    }
    true
}

/// The length-delimited fields of a message, by number, with their (possibly truncated) contents.
pub(crate) fn contents(mut bytes: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    std::iter::from_fn(move || {
        loop {
            let key = varint(&mut bytes).ok()??;
            let value = varint(&mut bytes).ok()??;
            if key & 7 == LEN {
                let len = usize::try_from(value).unwrap_or(usize::MAX);
                let (content, rest) = bytes.split_at_checked(len).unwrap_or((bytes, &[]));
                bytes = rest;
                return Some((key >> 3, content));
            }
            if key & 7 != VARINT {
                return None;
            }
        }
    })
}

/// Whether bytes are packed numbers. The last one may be truncated if the content is.
fn numbers(mut bytes: &[u8], is_complete: bool) -> bool {
    while !bytes.is_empty() {
        match varint(&mut bytes) {
            Ok(Some(_)) => {}
            Ok(None) => return !is_complete,
            Err(TooLong) => return false,
        }
    }
    true
}

/// A varint has at most ten bytes.
struct TooLong;

/// Reads a varint; `None` if it is truncated.
fn varint(bytes: &mut &[u8]) -> Result<Option<u64>, TooLong> {
    let mut value = 0_u64;
    for (at, &byte) in bytes.iter().enumerate().take(10) {
        value |= u64::from(byte & 0x7f) << (7 * at).min(63);
        if byte < 0x80 {
            *bytes = &bytes[at + 1..];
            return Ok(Some(value));
        }
    }
    let is_truncated = bytes.len() < 10;
    *bytes = &[];
    if is_truncated { Ok(None) } else { Err(TooLong) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIELDS: &[(u32, Shape)] =
        &[(1, Shape::Number), (2, Shape::Numbers), (3, Shape::Message(&[(1, Shape::Number)])), (16, Shape::Bytes)];

    #[test]
    fn truncated_messages_fit() {
        let message = b"\x08\x96\x01\x12\x03\x01\x80\x01\x10\x05\x1a\x02\x08\x07\x82\x01\x02ab";
        assert!((0..=message.len()).all(|len| has_message_shape(&message[..len], FIELDS)));
        let seen: Vec<_> = contents(message).map(|(number, content)| (number, content.len())).collect();
        assert_eq!(seen, [(2, 3), (3, 2), (16, 2)]);
        assert_eq!(contents(b"\x08\x07\x09").count(), 0);
    }

    #[test]
    fn other_fields_and_shapes_do_not_fit() {
        for bytes in [
            &b"\x20\x01"[..],
            b"\x0a\x01\x01",
            b"\x18\x01",
            b"\x12\x01\x80",
            b"\x1a\x02\x10\x07",
            b"\x09\x01",
            &[0xff; 12],
        ] {
            assert!(!has_message_shape(bytes, FIELDS), "{bytes:?}");
        }
    }
}
