//! Columns of tables, and the declaration of a table with its columns in one place.

use super::id::Id;
use arrow_array::builder::{
    ArrayBuilder, BinaryBuilder, BooleanBuilder, FixedSizeBinaryBuilder, Int64Builder, ListBuilder, MapBuilder,
    MapFieldNames, PrimitiveBuilder, StringBuilder, UInt64Builder,
};
use arrow_array::types::{ArrowPrimitiveType, Int32Type, Int64Type, TimestampNanosecondType, UInt64Type};
use arrow_array::{ArrayRef, ListArray, RecordBatch, StructArray};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef};
use std::sync::Arc;

/// The time zone of timestamps.
const UTC: &str = "UTC";

/// A column in memory.
pub(super) trait Column: Default {
    /// Returns the values so far, and removes them.
    fn take(&mut self) -> ArrayRef;

    /// Its type. The same in all files of a table.
    fn data_type() -> DataType {
        Self::default().take().data_type().clone()
    }
}

/// A table in memory, declared by [`columns!`].
pub(super) trait Columns: Default {
    /// Names, types and descriptions of the columns.
    fn describe() -> Vec<(&'static str, DataType, String)>;

    /// Returns the values so far, and removes them.
    fn take(&mut self) -> Vec<ArrayRef>;

    /// The schema.
    fn schema() -> SchemaRef {
        let fields = Self::describe().into_iter().map(|(name, data_type, _)| Field::new(name, data_type, true));
        Arc::new(Schema::new(fields.collect::<Vec<_>>()))
    }

    /// Returns the rows so far, and removes them.
    fn batch(&mut self) -> RecordBatch {
        RecordBatch::try_new(Self::schema(), self.take()).expect("columns have the declared types and equal lengths")
    }
}

/// The columns of one table, then those of another.
impl<A: Columns, B: Columns> Columns for (A, B) {
    fn describe() -> Vec<(&'static str, DataType, String)> {
        [A::describe(), B::describe()].concat()
    }

    fn take(&mut self) -> Vec<ArrayRef> {
        [self.0.take(), self.1.take()].concat()
    }
}

/// Declares a table: a structure with a builder for each column, whose documentation describes the column.
macro_rules! columns {
    ($(#[$doc:meta])* $table:ident { $($(#[doc = $text:literal])+ $column:ident: $kind:ty,)* }) => {
        $(#[$doc])*
        #[derive(Default)]
        pub(crate) struct $table {
            $($(#[doc = $text])+ pub $column: $kind,)*
        }

        impl $crate::formats::dataset::column::Columns for $table {
            fn describe() -> Vec<(&'static str, arrow_schema::DataType, String)> {
                use $crate::formats::dataset::column::Column;
                vec![$((stringify!($column), <$kind>::data_type(), [$($text.trim()),+].join(" ")),)*]
            }

            fn take(&mut self) -> Vec<arrow_array::ArrayRef> {
                use $crate::formats::dataset::column::Column;
                vec![$(self.$column.take(),)*]
            }
        }
    };
}
pub(super) use columns;

/// Numbers.
pub(super) struct Number<T: ArrowPrimitiveType>(PrimitiveBuilder<T>);

/// Signed numbers of 32 bits.
pub(super) type Int32 = Number<Int32Type>;
/// Signed numbers of 64 bits.
pub(super) type Int64 = Number<Int64Type>;
/// Unsigned numbers of 64 bits.
pub(super) type UInt64 = Number<UInt64Type>;

impl<T: ArrowPrimitiveType> Default for Number<T> {
    fn default() -> Self {
        Self(PrimitiveBuilder::new())
    }
}

impl<T: ArrowPrimitiveType> Number<T> {
    /// Appends a value; `None` is NULL.
    pub(super) fn push(&mut self, value: Option<T::Native>) {
        self.0.append_option(value);
    }

    /// Number of values.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

impl<T: ArrowPrimitiveType> Column for Number<T> {
    fn take(&mut self) -> ArrayRef {
        Arc::new(self.0.finish())
    }
}

/// Appends a count that exceeds no recording, or the highest number.
pub(super) fn saturated(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// Times in nanoseconds since 1970, UTC.
pub(super) struct Timestamp(PrimitiveBuilder<TimestampNanosecondType>);

impl Default for Timestamp {
    fn default() -> Self {
        Self(PrimitiveBuilder::new().with_data_type(Self::data_type()))
    }
}

impl Timestamp {
    /// Appends a value; `None` is NULL.
    pub(super) fn push(&mut self, value: Option<i64>) {
        self.0.append_option(value);
    }
}

impl Column for Timestamp {
    fn take(&mut self) -> ArrayRef {
        Arc::new(self.0.finish())
    }

    fn data_type() -> DataType {
        DataType::Timestamp(arrow_schema::TimeUnit::Nanosecond, Some(UTC.into()))
    }
}

/// Truth values.
#[derive(Default)]
pub(super) struct Flag(BooleanBuilder);

impl Flag {
    /// Appends a value.
    pub(super) fn push(&mut self, value: bool) {
        self.0.append_value(value);
    }
}

impl Column for Flag {
    fn take(&mut self) -> ArrayRef {
        Arc::new(self.0.finish())
    }
}

/// Texts.
#[derive(Default)]
pub(super) struct Text(StringBuilder);

impl Text {
    /// Appends a text; `None` is NULL.
    pub(super) fn push(&mut self, value: Option<&str>) {
        self.0.append_option(value);
    }

    /// Appends bytes as text; invalid UTF-8 is replaced.
    pub(super) fn push_bytes(&mut self, value: Option<&[u8]>) {
        match value.map(String::from_utf8_lossy) {
            Some(value) => self.0.append_value(value),
            None => self.0.append_null(),
        }
    }
}

impl Column for Text {
    fn take(&mut self) -> ArrayRef {
        Arc::new(self.0.finish())
    }
}

/// Bytes.
#[derive(Default)]
pub(super) struct Bytes(BinaryBuilder);

impl Bytes {
    /// Appends bytes; `None` is NULL.
    pub(super) fn push(&mut self, value: Option<&[u8]>) {
        self.0.append_option(value);
    }
}

impl Column for Bytes {
    fn take(&mut self) -> ArrayRef {
        Arc::new(self.0.finish())
    }
}

/// Identifiers.
pub(super) struct IdColumn(FixedSizeBinaryBuilder);

impl Default for IdColumn {
    fn default() -> Self {
        Self(FixedSizeBinaryBuilder::new(size_of::<Id>() as i32))
    }
}

impl IdColumn {
    /// Appends an identifier; `None` is NULL.
    pub(super) fn push(&mut self, value: Option<Id>) {
        match value {
            Some(id) => self.0.append_value(id.0).expect("all identifiers have the same size"),
            None => self.0.append_null(),
        }
    }
}

impl Column for IdColumn {
    fn take(&mut self) -> ArrayRef {
        Arc::new(self.0.finish())
    }
}

/// Lists of values.
pub(super) struct List<B: ArrayBuilder>(ListBuilder<B>);

/// Lists of signed numbers.
pub(super) type Int64List = List<Int64Builder>;
/// Lists of unsigned numbers.
pub(super) type UInt64List = List<UInt64Builder>;

impl<B: ArrayBuilder + Default> Default for List<B> {
    fn default() -> Self {
        Self(ListBuilder::new(B::default()))
    }
}

impl<B: ArrayBuilder> List<B> {
    /// Appends a list; `None` is NULL.
    pub(super) fn push<V>(&mut self, values: Option<impl IntoIterator<Item = V>>)
    where
        B: Extend<Option<V>>,
    {
        let is_valid = values.is_some();
        self.0.values().extend(values.into_iter().flatten().map(Some));
        self.0.append(is_valid);
    }
}

impl<B: ArrayBuilder + Default> Column for List<B> {
    fn take(&mut self) -> ArrayRef {
        Arc::new(self.0.finish())
    }
}

/// Lists of identifiers.
pub(super) struct IdList(ListBuilder<FixedSizeBinaryBuilder>);

impl Default for IdList {
    fn default() -> Self {
        Self(ListBuilder::new(FixedSizeBinaryBuilder::new(size_of::<Id>() as i32)))
    }
}

impl IdList {
    /// Appends a list.
    pub(super) fn push(&mut self, ids: impl Iterator<Item = Id>) {
        for id in ids {
            self.0.values().append_value(id.0).expect("all identifiers have the same size");
        }
        self.0.append(true);
    }
}

impl Column for IdList {
    fn take(&mut self) -> ArrayRef {
        Arc::new(self.0.finish())
    }
}

/// Maps from texts to texts.
pub(super) struct TextMap(MapBuilder<StringBuilder, StringBuilder>);

impl Default for TextMap {
    fn default() -> Self {
        let names = MapFieldNames { entry: "key_value".to_owned(), key: "key".to_owned(), value: "value".to_owned() };
        Self(MapBuilder::new(Some(names), StringBuilder::new(), StringBuilder::new()))
    }
}

impl TextMap {
    /// Appends a map; an empty one is NULL.
    pub(super) fn push<K: AsRef<str>, V: AsRef<str>>(&mut self, entries: impl IntoIterator<Item = (K, V)>) {
        let mut is_valid = false;
        for (key, value) in entries {
            is_valid = true;
            self.0.keys().append_value(key);
            self.0.values().append_value(value);
        }
        self.0.append(is_valid).expect("keys and values have equal lengths");
    }
}

impl Column for TextMap {
    fn take(&mut self) -> ArrayRef {
        Arc::new(self.0.finish())
    }
}

/// Lists of structures with these columns.
pub(super) struct Structs<C> {
    /// The columns of all structures.
    pub rows: C,
    /// The number of structures in each list; `None` is NULL.
    lens: Vec<Option<usize>>,
}

impl<C: Default> Default for Structs<C> {
    fn default() -> Self {
        Self { rows: C::default(), lens: Vec::new() }
    }
}

impl<C> Structs<C> {
    /// Ends a list of `len` structures, whose values were appended to [`rows`](Self::rows); `None` is NULL.
    pub(super) fn end(&mut self, len: Option<usize>) {
        self.lens.push(len);
    }
}

impl<C: Columns> Column for Structs<C> {
    fn take(&mut self) -> ArrayRef {
        let fields: Fields = C::schema().fields().clone();
        let lens = std::mem::take(&mut self.lens);
        let rows = StructArray::new(fields.clone(), self.rows.take(), None);
        let offsets = OffsetBuffer::from_lengths(lens.iter().map(|len| len.unwrap_or(0)));
        let nulls = lens.iter().map(Option::is_some).collect::<Vec<_>>().into();
        let element = Arc::new(Field::new_list_field(DataType::Struct(fields), true));
        Arc::new(ListArray::new(element, offsets, Arc::new(rows), Some(nulls)))
    }
}
