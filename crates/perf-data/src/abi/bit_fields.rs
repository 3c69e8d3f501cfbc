//! Words of 64 bits that consist of C bit-fields.

use super::Endian;

/// Position of a bit-field in its word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BitField {
    /// Lowest bit.
    pub shift: u32,
    /// Number of bits.
    pub width: u32,
}

impl BitField {
    /// Extracts the value of the field.
    #[inline]
    pub fn get(self, word: u64) -> u64 {
        word >> self.shift & self.mask()
    }

    /// Replaces the value of the field; excess bits of the value are dropped.
    #[inline]
    pub fn set(self, word: u64, value: u64) -> u64 {
        word & !(self.mask() << self.shift) | (value & self.mask()) << self.shift
    }

    fn mask(self) -> u64 {
        u64::MAX >> (u64::BITS - self.width)
    }

    /// Position of the field as allocated by a big-endian compiler.
    fn in_big_endian(self) -> Self {
        Self { shift: u64::BITS - self.shift - self.width, ..self }
    }
}

/// Converts a recorded word to little-endian allocation: compilers allocate bit-fields from the lowest bit on little-endian
/// machines and from the highest on big-endian ones. The fields must cover all bits.
pub fn from_recorded(word: u64, endian: Endian, fields: &[(BitField, &str)]) -> u64 {
    match endian {
        Endian::Little => word,
        Endian::Big => fields.iter().fold(0, |out, (field, _)| field.set(out, field.in_big_endian().get(word))),
    }
}

/// The inverse of [`from_recorded`].
pub fn to_recorded(word: u64, endian: Endian, fields: &[(BitField, &str)]) -> u64 {
    match endian {
        Endian::Little => word,
        Endian::Big => fields.iter().fold(0, |out, (field, _)| field.in_big_endian().set(out, field.get(word))),
    }
}

/// Declares a newtype over a `u64` with named bit-fields, each a constant of type [`BitField`].
macro_rules! bit_fields {
    ($(#[$outer:meta])* $name:ident { $($(#[$inner:meta])* $field:ident = $from:literal..$to:literal,)* }) => {
        $(#[$outer])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        pub struct $name(pub u64);

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                $crate::abi::serde::readable::serialize_fields(self.0, Self::FIELDS, serializer)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::abi::serde::readable::deserialize_fields(deserializer, Self::FIELDS).map(Self)
            }
        }

        impl $name {
            $(
                $(#[$inner])*
                pub const $field: $crate::abi::bit_fields::BitField =
                    $crate::abi::bit_fields::BitField { shift: $from, width: $to - $from };
            )*

            /// All fields with their names, lowest first.
            pub const FIELDS: &'static [($crate::abi::bit_fields::BitField, &'static str)] =
                &[$((Self::$field, stringify!($field)),)*];

            /// Value of a field.
            #[inline]
            pub fn get(self, field: $crate::abi::bit_fields::BitField) -> u64 {
                field.get(self.0)
            }

            /// Replaces the value of a field.
            #[inline]
            pub fn with(self, field: $crate::abi::bit_fields::BitField, value: u64) -> Self {
                Self(field.set(self.0, value))
            }
        }
    };
}
pub(crate) use bit_fields;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_extracted_and_replaced() {
        let field = BitField { shift: 4, width: 16 };
        assert_eq!(field.get(0xabcd_ef12), 0xdef1);
        assert_eq!(field.set(0xabcd_ef12, 0xf_1234), 0xabc1_2342);
        let all = BitField { shift: 0, width: 64 };
        assert_eq!(all.set(1, u64::MAX), u64::MAX);
    }
}
