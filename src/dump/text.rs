//! Values of the definitions as text: a field a line, and on one line what fits there.

use crate::abi::told;
use serde::Serialize;
use serde::ser::{self, Error as _, Serializer};
use std::fmt::{self, Display, Write};

/// How long a line may be on which fields or elements stand together.
const WIDTH: usize = 100;

/// How many bytes are shown of opaque ones, where not all are asked for.
const OPAQUE: usize = 64;

/// Appends the fields of a value, each on a line of its own behind two blanks; of opaque bytes all, or those that they begin
/// with.
///
/// # Errors
/// Where the value is not one that a definition has, such as a float.
pub fn append(out: &mut String, value: &impl Serialize, all_bytes: bool) -> Result<(), Unsupported> {
    let start = out.len();
    value.serialize(&mut Writer { out, depth: 0, all_bytes, hex: false, is_none: false })?;
    if out.len() == start {
        return Ok(());
    }
    // Fields begin with the end of the line before.
    if out[start..].starts_with('\n') {
        out.remove(start);
    } else {
        out.insert_str(start, "  ");
    }
    out.push('\n');
    Ok(())
}

/// Appends a value on the line at hand, as far as it fits there.
///
/// # Errors
/// As [`append`].
pub fn append_inline(out: &mut String, value: &impl Serialize) -> Result<(), Unsupported> {
    value.serialize(&mut Writer { out, depth: 1, all_bytes: false, hex: false, is_none: false })
}

/// A kind of value that no definition has.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Unsupported(String);

impl ser::Error for Unsupported {
    fn custom<T: Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

type Written = Result<(), Unsupported>;

struct Writer<'a> {
    out: &'a mut String,
    /// How many structures and lists what is written is in.
    depth: usize,
    /// Whether all of opaque bytes is shown.
    all_bytes: bool,
    /// Whether numbers are shown in hexadecimal.
    hex: bool,
    /// Whether what was written last is no value, which fields leave out.
    is_none: bool,
}

impl Writer<'_> {
    fn put(&mut self, value: impl Display) -> Written {
        write!(self.out, "{value}").map_err(Unsupported::custom)
    }

    fn integer(&mut self, value: impl Display + fmt::LowerHex) -> Written {
        if self.hex { self.put(format_args!("{value:#x}")) } else { self.put(value) }
    }

    /// Text that could be taken for something else is quoted.
    fn text(&mut self, text: &str) -> Written {
        let is_plain = |c: char| c.is_alphanumeric() || "/._-+@%=~$*".contains(c);
        if !text.is_empty() && text.chars().all(is_plain) { self.put(text) } else { self.put(format_args!("{text:?}")) }
    }

    fn bytes(&mut self, bytes: &[u8]) -> Written {
        let shown = if self.all_bytes { bytes } else { &bytes[..bytes.len().min(OPAQUE)] };
        self.put(format_args!("{} bytes", bytes.len()))?;
        if !shown.is_empty() {
            self.out.push(' ');
        }
        shown.iter().try_for_each(|byte| self.put(format_args!("{byte:02x}")))?;
        if shown.len() < bytes.len() { self.put("...") } else { Ok(()) }
    }

    /// What separates fields and elements that have lines of their own.
    fn separator(&self) -> &'static str {
        const LINES: &str = "\n                                                                ";
        &LINES[..(1 + 2 * self.depth).min(LINES.len())]
    }
}

/// What the fields of a structure or the elements of a list are written through.
struct Parts<'w, 'a> {
    writer: &'w mut Writer<'a>,
    /// Where they begin.
    start: usize,
    /// How many there are.
    count: usize,
    brackets: [&'static str; 2],
}

impl<'w, 'a> Parts<'w, 'a> {
    fn begin(writer: &'w mut Writer<'a>, brackets: [&'static str; 2]) -> Self {
        let start = writer.out.len();
        writer.depth += 1;
        Self { writer, start, count: 0, brackets }
    }

    fn element(&mut self, value: &(impl Serialize + ?Sized)) -> Written {
        self.count += 1;
        self.writer.out.push_str(self.writer.separator());
        let start = self.writer.out.len();
        value.serialize(&mut *self.writer)?;
        if self.writer.out[start..].starts_with('\n') {
            self.writer.out.insert(start, '-');
        }
        Ok(())
    }

    /// A field, if it has a value.
    fn field(&mut self, key: &str, value: &(impl Serialize + ?Sized)) -> Written {
        let start = self.writer.out.len();
        self.writer.out.push_str(self.writer.separator());
        self.writer.put(format_args!("{key}:"))?;
        let value_start = self.writer.out.len();
        self.writer.is_none = false;
        value.serialize(&mut *self.writer)?;
        if std::mem::take(&mut self.writer.is_none) {
            self.writer.out.truncate(start);
            return Ok(());
        }
        self.count += 1;
        if !self.writer.out[value_start..].starts_with('\n') {
            self.writer.out.insert(value_start, ' ');
        }
        Ok(())
    }

    /// Puts what fits there on one line; fields of the outermost structure always have their own.
    fn close(self) -> Written {
        let Self { writer, start, count, brackets: [open, close] } = self;
        let separator = writer.separator();
        writer.depth -= 1;
        writer.is_none = false;
        let lines = &writer.out[start..];
        let fits = lines.len() <= WIDTH + count * separator.len() && lines.matches('\n').count() == count;
        if writer.depth == 0 || !fits && count > 0 {
            return Ok(());
        }
        let joined = lines.replacen(separator, "", 1).replace(separator, ", ");
        writer.out.truncate(start);
        writer.put(format_args!("{open}{joined}{close}"))
    }
}

/// Implements the methods for integers.
macro_rules! integers {
    ($($method:ident($type:ty),)*) => {
        $(
            fn $method(self, value: $type) -> Written {
                self.integer(value)
            }
        )*
    };
}

impl<'w, 'a> Serializer for &'w mut Writer<'a> {
    type Ok = ();
    type Error = Unsupported;
    type SerializeSeq = Parts<'w, 'a>;
    type SerializeTuple = Parts<'w, 'a>;
    type SerializeTupleStruct = Parts<'w, 'a>;
    type SerializeTupleVariant = ser::Impossible<(), Unsupported>;
    type SerializeMap = Parts<'w, 'a>;
    type SerializeStruct = Parts<'w, 'a>;
    type SerializeStructVariant = Parts<'w, 'a>;

    fn serialize_bool(self, value: bool) -> Written {
        self.put(value)
    }

    integers! {
        serialize_i8(i8), serialize_i16(i16), serialize_i32(i32), serialize_i64(i64),
        serialize_u8(u8), serialize_u16(u16), serialize_u32(u32), serialize_u64(u64),
    }

    fn serialize_f32(self, _: f32) -> Written {
        Err(Unsupported("a float".into()))
    }

    fn serialize_f64(self, _: f64) -> Written {
        Err(Unsupported("a float".into()))
    }

    fn serialize_char(self, value: char) -> Written {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Written {
        self.text(value)
    }

    fn serialize_bytes(self, value: &[u8]) -> Written {
        self.bytes(value)
    }

    fn serialize_none(self) -> Written {
        self.is_none = true;
        Ok(())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Written {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Written {
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Written {
        Ok(())
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Written {
        self.text(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, name: &'static str, value: &T) -> Written {
        let was_hex = self.hex;
        self.hex |= name == told::HEX;
        value.serialize(&mut *self)?;
        self.hex = was_hex;
        Ok(())
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Written {
        let mut parts = Parts::begin(self, ["{", "}"]);
        parts.field(variant, value)?;
        parts.close()
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Parts<'w, 'a>, Unsupported> {
        Ok(Parts::begin(self, ["[", "]"]))
    }

    fn serialize_tuple(self, _: usize) -> Result<Parts<'w, 'a>, Unsupported> {
        self.serialize_seq(None)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Parts<'w, 'a>, Unsupported> {
        self.serialize_seq(None)
    }

    fn serialize_tuple_variant(
        self,
        name: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, Unsupported> {
        Err(Unsupported(format!("a variant of {name}")))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Parts<'w, 'a>, Unsupported> {
        Ok(Parts::begin(self, ["{", "}"]))
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Parts<'w, 'a>, Unsupported> {
        self.serialize_map(None)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Parts<'w, 'a>, Unsupported> {
        self.put(variant)?;
        Ok(Parts::begin(self, [" {", "}"]))
    }

    fn collect_str<T: Display + ?Sized>(self, value: &T) -> Written {
        self.text(&value.to_string())
    }
}

/// Implements the traits of what has elements or fields.
macro_rules! parts {
    ($($trait:ident: $method:ident($($key:ident: $type:ty)?) => $put:ident;)*) => {
        $(
            impl ser::$trait for Parts<'_, '_> {
                type Ok = ();
                type Error = Unsupported;

                fn $method<T: Serialize + ?Sized>(&mut self, $($key: $type,)? value: &T) -> Written {
                    self.$put($($key,)? value)
                }

                fn end(self) -> Written {
                    self.close()
                }
            }
        )*
    };
}

parts! {
    SerializeSeq: serialize_element() => element;
    SerializeTuple: serialize_element() => element;
    SerializeTupleStruct: serialize_field() => element;
    SerializeStruct: serialize_field(key: &'static str) => field;
    SerializeStructVariant: serialize_field(key: &'static str) => field;
}

impl ser::SerializeMap for Parts<'_, '_> {
    type Ok = ();
    type Error = Unsupported;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, _: &T) -> Written {
        Err(Unsupported("a key apart from its value".into()))
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, _: &T) -> Written {
        Err(Unsupported("a value apart from its key".into()))
    }

    fn serialize_entry<K: Serialize + ?Sized, V: Serialize + ?Sized>(&mut self, key: &K, value: &V) -> Written {
        let mut name = String::new();
        key.serialize(&mut Writer { out: &mut name, depth: 1, all_bytes: true, hex: false, is_none: false })?;
        self.field(&name, value)
    }

    fn end(self) -> Written {
        self.close()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: &impl Serialize) -> String {
        let mut out = String::new();
        append(&mut out, value, false).unwrap();
        out
    }

    #[derive(Serialize)]
    struct Outer {
        name: &'static str,
        nothing: Option<u32>,
        inner: Inner,
        list: Vec<Inner>,
        empty: Vec<u32>,
        #[serde(serialize_with = "told::hex")]
        ips: Vec<u64>,
        #[serde(with = "serde_bytes")]
        data: Vec<u8>,
    }

    #[derive(Serialize)]
    struct Inner {
        a: u8,
        b: &'static str,
    }

    #[test]
    fn what_fits_on_one_line_is_on_one_line() {
        let outer = |ips: usize| Outer {
            name: "a, b\n",
            nothing: None,
            inner: Inner { a: 1, b: "/bin/x" },
            list: vec![Inner { a: 2, b: "" }, Inner { a: 3, b: "y" }],
            empty: vec![],
            ips: vec![0x1234; ips],
            data: vec![0xab; 65],
        };
        let short = text(&outer(2));
        let data = format!("  data: 65 bytes {}...\n", "ab".repeat(64));
        let head =
            "  name: \"a, b\\n\"\n  inner: {a: 1, b: /bin/x}\n  list: [{a: 2, b: \"\"}, {a: 3, b: y}]\n  empty: []\n";
        assert_eq!(short, format!("{head}  ips: [0x1234, 0x1234]\n{data}"));
        let long = text(&outer(50));
        assert_eq!(long, format!("{head}  ips:\n{}{data}", "    0x1234\n".repeat(50)));
        assert_eq!(text(&5), "  5\n");
    }
}
