//! The fields of a message, one after the other, without what is in them.

use prost::encoding::{WireType, decode_key, decode_varint};

/// A field as it stands.
#[derive(Clone, Copy, Debug)]
pub struct Field<'a> {
    /// Its number.
    pub number: u32,
    /// Where it begins.
    pub at: u64,
    /// All of it.
    pub whole: &'a [u8],
    /// What it holds, where that is of some length; else nothing.
    pub value: &'a [u8],
}

/// Walks the fields of a message.
#[derive(Clone, Debug)]
pub struct Fields<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Fields<'a> {
    /// The fields of the message that is all of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    fn field(&self) -> Option<Field<'a>> {
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
        Some(Field { number, at: self.at as u64, whole: &start[..start.len() - rest.len()], value })
    }
}

impl<'a> Iterator for Fields<'a> {
    /// An error is where the field begins that is none; no other follows it.
    type Item = Result<Field<'a>, u64>;

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
    fn fields_come_as_they_stand_up_to_one_that_is_cut() {
        let bytes = [8, 150, 1, 18, 3, 1, 2, 3, 25, 0, 0, 0, 0, 0, 0, 0, 0, 18, 5, 1];
        let fields: Vec<_> = Fields::new(&bytes).collect();
        let seen: Vec<_> = fields.iter().flatten().map(|f| (f.number, f.at, f.value.len(), f.whole.len())).collect();
        assert_eq!(seen, [(1, 0, 0, 3), (2, 3, 3, 5), (3, 8, 8, 9)]);
        assert_eq!(fields.last().unwrap().as_ref().err(), Some(&17));
    }
}
