//! The fields of SAMPLE records: their order, the bits that select them, and their encodings.

pub use super::table::SampleField;

use super::table::TABLE;
use crate::abi::sample_type::SampleType;
use crate::abi::version::PerfVersion;

/// Encoding of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FieldKind {
    /// A `u64`.
    Word,
    /// Two `u32`.
    Pair,
    /// 8 bytes of parts whose position depends on the byte order.
    BitFields,
    /// A size that follows from the content or the attr.
    Variable,
}

impl FieldKind {
    /// Whether it always has 8 bytes.
    pub const fn is_word(self) -> bool {
        !matches!(self, Self::Variable)
    }
}

/// How tables and perf script text show a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// As each format defines, or not at all.
    ByFormat,
    /// Under its name, as [text](super::view::SampleView::text).
    AsText,
}

/// A row of the table.
pub(crate) struct FieldRow {
    pub field: SampleField,
    pub bits: SampleType,
    pub kind: FieldKind,
    pub name: &'static str,
    pub since: PerfVersion,
    pub shown: Shown,
}

/// The fields of a [trailer](crate::abi::sample::id::SampleId) in order: that of a SAMPLE, except that the identifier is last.
pub const TRAILER: [SampleField; 6] = {
    use SampleField as Field;
    [Field::Task, Field::Time, Field::Id, Field::StreamId, Field::Cpu, Field::Identifier]
};

impl SampleField {
    /// All fields in the kernel's order.
    pub fn all() -> impl DoubleEndedIterator<Item = Self> {
        TABLE.iter().map(|row| row.field)
    }

    /// The fields selected by these bits, in the kernel's order.
    #[inline]
    pub fn selected_by(sample_type: SampleType) -> impl Iterator<Item = Self> + Clone {
        TABLE.iter().filter(move |row| sample_type.intersects(row.bits)).map(|row| row.field)
    }

    const fn row(self) -> &'static FieldRow {
        &TABLE[self as usize]
    }

    /// The bits of `sample_type` that select the field.
    #[inline]
    pub const fn bits(self) -> SampleType {
        self.row().bits
    }

    /// Encoding.
    #[inline]
    pub const fn kind(self) -> FieldKind {
        self.row().kind
    }

    /// Name in [`Sample`](crate::abi::sample::Sample) and in JSON.
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// The bits of the fields that a version of Linux has.
    pub const fn known_to_linux(version: PerfVersion) -> SampleType {
        let (mut bits, mut index) = (SampleType::empty(), 0);
        while index < TABLE.len() {
            let PerfVersion(major, minor) = TABLE[index].since;
            if major < version.0 || major == version.0 && minor <= version.1 {
                bits = bits.union(TABLE[index].bits);
            }
            index += 1;
        }
        bits
    }

    /// The fields that tables and perf script text show as [text](Shown::AsText).
    pub const SHOWN_AS_TEXT: &[Self] = &{
        let mut fields = [Self::Identifier; shown_as_text()];
        let (mut count, mut index) = (0, 0);
        while index < TABLE.len() {
            if matches!(TABLE[index].shown, Shown::AsText) {
                fields[count] = TABLE[index].field;
                count += 1;
            }
            index += 1;
        }
        fields
    };

    /// The bits of this field and of those before it.
    pub const fn up_to(self) -> SampleType {
        let (mut bits, mut index) = (SampleType::empty(), 0);
        while index <= self as usize {
            bits = bits.union(TABLE[index].bits);
            index += 1;
        }
        bits
    }

    /// The bits of all fields with this encoding.
    pub const fn encoded_as(kind: FieldKind) -> SampleType {
        let (mut bits, mut index) = (SampleType::empty(), 0);
        while index < TABLE.len() {
            if TABLE[index].kind as usize == kind as usize {
                bits = bits.union(TABLE[index].bits);
            }
            index += 1;
        }
        bits
    }
}

/// Number of fields that are shown as text.
const fn shown_as_text() -> usize {
    let (mut count, mut index) = (0, 0);
    while index < TABLE.len() {
        count += matches!(TABLE[index].shown, Shown::AsText) as usize;
        index += 1;
    }
    count
}

// Each named bit of `sample_type` selects one field.
const _: () = {
    let (mut bits, mut index) = (SampleType::empty(), 0);
    while index < TABLE.len() {
        assert!(!bits.intersects(TABLE[index].bits), "two fields have the same bit");
        bits = bits.union(TABLE[index].bits);
        index += 1;
    }
    assert!(bits.bits() == SampleType::KNOWN.bits(), "a bit of sample_type has no field");
};
