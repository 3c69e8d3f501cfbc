//! Iterates over the fields of an encoded message, without decoding them.

use prost::encoding::{WireType, decode_key, decode_varint};

/// An encoded field.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WireField<'a> {
    /// WireField number.
    pub number: u32,
    /// Offset.
    pub at: u64,
    /// Key and value.
    pub whole: &'a [u8],
    /// Content of a length-delimited or fixed-size field; otherwise empty.
    pub value: &'a [u8],
}

/// Iterator over the fields of a message.
#[derive(Clone, Debug)]
pub(crate) struct Fields<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Fields<'a> {
    /// Iterates over the message in `bytes`.
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    fn field(&self) -> Option<WireField<'a>> {
        let start = &self.bytes[self.at..];
        let mut rest = start;
        let (number, wire) = decode_key(&mut rest).ok()?;
        let len = match wire {
            WireType::Varint => {
                decode_varint(&mut rest).ok()?;
                0
            }
            WireType::SixtyFourBit => 8,
            WireType::ThirtyTwoBit => 4,
            WireType::LengthDelimited => usize::try_from(decode_varint(&mut rest).ok()?).ok()?,
            WireType::StartGroup | WireType::EndGroup => return None,
        };
        let (value, rest) = rest.split_at_checked(len)?;
        Some(WireField { number, at: self.at as u64, whole: &start[..start.len() - rest.len()], value })
    }
}

impl<'a> Iterator for Fields<'a> {
    /// The error is the offset of an invalid field; iteration ends there.
    type Item = Result<WireField<'a>, u64>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at == self.bytes.len() {
            return None;
        }
        let field = self.field();
        let at = std::mem::replace(&mut self.at, self.bytes.len());
        Some(field.inspect(|field| self.at = at + field.whole.len()).ok_or(at as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iterates_fields_up_to_a_truncated_one() {
        let bytes = [8, 150, 1, 18, 3, 1, 2, 3, 25, 0, 0, 0, 0, 0, 0, 0, 0, 18, 5, 1];
        let fields: Vec<_> = Fields::new(&bytes).collect();
        let seen: Vec<_> = fields.iter().flatten().map(|f| (f.number, f.at, f.value.len(), f.whole.len())).collect();
        assert_eq!(seen, [(1, 0, 0, 3), (2, 3, 3, 5), (3, 8, 8, 9)]);
        assert_eq!(fields.last().unwrap().as_ref().err(), Some(&17));
    }
}
