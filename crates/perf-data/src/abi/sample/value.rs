//! What each definition of a sample field provides: how it is read from a slice, skipped, and written.

use super::data_src::DataSrc;
use super::field::FieldKind;
use super::layout::SampleLayout;
use super::transaction::Transaction;
use super::weight::Weight;
use crate::abi::bytes::{ByteReader, ByteWriter};

/// What the size of a field depends on besides its bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FieldContext<'l> {
    /// Layout of the event's samples.
    pub layout: &'l SampleLayout,
    /// Whether an empty branch stack has `hw_idx`.
    pub hw_idx_if_empty: bool,
}

/// The owned definition of a field, with its borrowed form.
pub(crate) trait FieldValue: Sized {
    /// Encoding.
    const KIND: FieldKind;
    /// The borrowed form.
    type View<'a>: Copy;
    /// What its size depends on besides its bytes.
    type Args: Copy;

    /// Decodes the field at the front of a reader; `None` if the bytes are too few.
    fn take<'a>(reader: &mut ByteReader<'a>, args: Self::Args) -> Option<Self::View<'a>>;

    /// Appends the field. A missing number is 0; missing counted fields have no elements.
    fn encode(view: Option<Self::View<'_>>, args: Self::Args, out: &mut ByteWriter<'_>);

    /// The word at the front of a reader, if the field has an unknown layout because of it.
    #[inline]
    fn unknown_bits(_: ByteReader<'_>) -> Option<u64> {
        None
    }
}

/// Implements [`FieldValue`] for definitions of one word.
macro_rules! words {
    ($($owned:ty: $kind:ident,)*) => {$(
        impl FieldValue for $owned {
            const KIND: FieldKind = FieldKind::$kind;
            type View<'a> = u64;
            type Args = ();

            #[inline]
            fn take<'a>(reader: &mut ByteReader<'a>, (): ()) -> Option<u64> {
                reader.u64()
            }

            #[inline]
            fn encode(view: Option<u64>, (): (), out: &mut ByteWriter<'_>) {
                out.put(view.unwrap_or(0));
            }
        }
    )*};
}

words! {
    u64: Word,
    Transaction: Word,
    Weight: BitFields,
    DataSrc: BitFields,
}

impl FieldValue for (u32, u32) {
    const KIND: FieldKind = FieldKind::Pair;
    type View<'a> = Self;
    type Args = ();

    #[inline]
    fn take(reader: &mut ByteReader<'_>, (): ()) -> Option<Self> {
        Some((reader.u32()?, reader.u32()?))
    }

    #[inline]
    fn encode(view: Option<Self>, (): (), out: &mut ByteWriter<'_>) {
        out.pair(view.unwrap_or_default());
    }
}
