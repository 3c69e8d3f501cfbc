//! What fields and elements are written through: each on a line of its own, or together on one where they fit there.

use super::text::Unsupported;
use super::writer::{Writer, Written};
use serde::Serialize;
use serde::ser;

/// How long a line may be on which fields or elements stand together.
const WIDTH: usize = 100;

/// What the fields of a structure or the elements of a list are written through.
pub(super) struct Parts<'w, 'a> {
    writer: &'w mut Writer<'a>,
    /// Where they begin.
    start: usize,
    /// How many there are.
    count: usize,
    brackets: [&'static str; 2],
}

impl<'w, 'a> Parts<'w, 'a> {
    pub fn begin(writer: &'w mut Writer<'a>, brackets: [&'static str; 2]) -> Self {
        let start = writer.out.len();
        writer.depth += 1;
        Self { writer, start, count: 0, brackets }
    }

    pub fn element(&mut self, value: &(impl Serialize + ?Sized)) -> Written {
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
    pub fn field(&mut self, key: &str, value: &(impl Serialize + ?Sized)) -> Written {
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
    pub fn close(self) -> Written {
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
