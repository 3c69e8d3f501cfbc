//! Whether a field has a value, before anything of it is written.

use serde::ser::{Error, Impossible, Serialize, Serializer};
use std::fmt::{self, Display};

/// Whether a value is one, and not the absence of one.
#[inline]
pub fn is_present(value: &(impl Serialize + ?Sized)) -> bool {
    value.serialize(Presence).is_err()
}

/// Serializes what is absent, and stops at the first sign of a value.
struct Presence;

/// There is a value.
#[derive(Debug)]
struct Present;

impl Display for Present {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("there is a value")
    }
}

impl std::error::Error for Present {}

impl Error for Present {
    fn custom<T: Display>(_: T) -> Self {
        Self
    }
}

/// Implements the methods for values.
macro_rules! present {
    ($($method:ident($($kind:ty),*) $(-> $part:ty)?;)*) => {
        $(
            #[inline]
            fn $method(self, $(_: $kind),*) -> Result<present!(@ $($part)?), Present> {
                Err(Present)
            }
        )*
    };
    (@) => { () };
    (@ $part:ty) => { $part };
}

impl Serializer for Presence {
    type Ok = ();
    type Error = Present;
    type SerializeSeq = Impossible<(), Present>;
    type SerializeTuple = Impossible<(), Present>;
    type SerializeTupleStruct = Impossible<(), Present>;
    type SerializeTupleVariant = Impossible<(), Present>;
    type SerializeMap = Impossible<(), Present>;
    type SerializeStruct = Impossible<(), Present>;
    type SerializeStructVariant = Impossible<(), Present>;

    #[inline]
    fn serialize_none(self) -> Result<(), Present> {
        Ok(())
    }

    present! {
        serialize_bool(bool);
        serialize_i8(i8);
        serialize_i16(i16);
        serialize_i32(i32);
        serialize_i64(i64);
        serialize_u8(u8);
        serialize_u16(u16);
        serialize_u32(u32);
        serialize_u64(u64);
        serialize_f32(f32);
        serialize_f64(f64);
        serialize_char(char);
        serialize_str(&str);
        serialize_bytes(&[u8]);
        serialize_unit();
        serialize_unit_struct(&'static str);
        serialize_unit_variant(&'static str, u32, &'static str);
        serialize_seq(Option<usize>) -> Self::SerializeSeq;
        serialize_tuple(usize) -> Self::SerializeTuple;
        serialize_tuple_struct(&'static str, usize) -> Self::SerializeTupleStruct;
        serialize_tuple_variant(&'static str, u32, &'static str, usize) -> Self::SerializeTupleVariant;
        serialize_map(Option<usize>) -> Self::SerializeMap;
        serialize_struct(&'static str, usize) -> Self::SerializeStruct;
        serialize_struct_variant(&'static str, u32, &'static str, usize) -> Self::SerializeStructVariant;
    }

    #[inline]
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Present> {
        value.serialize(self)
    }

    /// A number that is shown in hexadecimal, say, is there if what is in it is.
    #[inline]
    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<(), Present> {
        value.serialize(self)
    }

    #[inline]
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<(), Present> {
        Err(Present)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_none_is_no_value() {
        assert!(!is_present(&None::<u64>));
        assert!(!is_present(&Some(None::<&str>)));
        assert!(is_present(&Some(0)) && is_present("") && is_present(&()) && is_present(&Vec::<u8>::new()));
    }
}
