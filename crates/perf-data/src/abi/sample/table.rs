//! The table of the fields of SAMPLE records. Everything that reads, writes or lists all fields is derived from it.

use super::branch::{BranchStack, BranchStackView};
use super::data_src::DataSrc;
use super::field::{FieldRow, Shown};
use super::layout::SampleLayout;
use super::regs::{Regs, RegsView};
use super::stack_user::{StackUser, StackView};
#[cfg(any(test, feature = "testing"))]
use super::test_field::{ExampleField, ExampleFieldView};
use super::transaction::Transaction;
use super::value::{FieldContext, FieldValue};
use super::view::TruncatedField;
use super::weight::Weight;
use super::{AuxSample, Callchain, Raw, SampleArgs};
use crate::abi::Endian;
use crate::abi::bytes::{ByteReader, ByteWriter, Words};
use crate::abi::fields::{FieldVisitor, VisitFields};
use crate::abi::read_format::{ReadValues, ReadView};
use crate::abi::sample_type::SampleType;
use crate::abi::serde::readable;
use crate::abi::version::PerfVersion;
use binrw::{BinRead, BinResult, BinWrite};
use serde::{Deserialize, Serialize};
use std::io::{Read, Seek, Write};

/// Declares [`SampleField`], [`Sample`] and [`SampleView`] from the fields in the kernel's order, which is not that of the bits.
///
/// `Variant = BITS => name: Owned as Borrowed, [with arguments,], role, version, shown;` where `Owned` is a [`FieldValue`], the role is
/// one of [`roles!`](crate::roles), the version of Linux is that since which the field exists, and `shown` is a [`Shown`].
macro_rules! sample_fields {
    ($a:lifetime, $context:ident; $(
        $(#[doc = $doc:literal])* $(#[serde($($serde:tt)*)])? $(#[cfg($cfg:meta)])?
        $variant:ident = $bit:ident $(| $other_bit:ident)* => $field:ident: $owned:ty as $view:ty, $(with $args:expr,)?
        ($major:literal, $minor:literal), $role:ident $(($mode:ident))?, $shown:ident;
    )*) => {
        /// A field of SAMPLE records. Variants are in the kernel's order, the order in the record.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum SampleField {
            $($(#[doc = $doc])* $(#[cfg($cfg)])? $variant,)*
        }

        /// The fields in the kernel's order.
        pub(crate) const TABLE: &[FieldRow] = &[
            $($(#[cfg($cfg)])? FieldRow {
                field: SampleField::$variant,
                bits: SampleType::$bit$(.union(SampleType::$other_bit))*,
                kind: <$owned as FieldValue>::KIND,
                name: stringify!($field),
                since: PerfVersion($major, $minor),
                shown: Shown::$shown,
            },)*
        ];

        impl SampleField {
            /// Skips the field at the front of a reader.
            pub(super) fn skip(self, $context: FieldContext<'_>, reader: &mut ByteReader<'_>) -> Option<()> {
                match self {
                    $($(#[cfg($cfg)])? Self::$variant => <$owned>::take(reader, { $($args)? }).map(drop),)*
                }
            }

            /// The word at the front of a reader, if the field has an unknown layout because of it.
            pub(super) fn unknown_bits(self, reader: ByteReader<'_>) -> Option<u64> {
                match self {
                    $($(#[cfg($cfg)])? Self::$variant => <$owned>::unknown_bits(reader),)*
                }
            }
        }

        /// The body of a SAMPLE. Fields are present if their bits of `sample_type` are set, in the kernel's order, which is not
        /// that of the bits. Samples with [unknown bits](crate::abi::sample::unknown_layout) are not decoded.
        ///
        /// Since Linux 2.6.31.
        #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        pub struct Sample {
            $($(#[doc = $doc])* $(#[serde($($serde)*)])? $(#[cfg($cfg)])? pub $field: Option<$owned>,)*
        }

        impl BinRead for Sample {
            type Args<'a> = SampleArgs;

            fn read_options<R: Read + Seek>(reader: &mut R, endian: Endian, args: SampleArgs) -> BinResult<Self> {
                if args.layout.is_partial() {
                    let message = "fields of unknown layout".to_owned();
                    return Err(binrw::Error::AssertFail { pos: reader.stream_position()?, message });
                }
                let $context = args.context();
                Ok(Self {
                    $($(#[cfg($cfg)])? $field: if args.layout.has(SampleField::$variant) {
                        Some(<$owned>::read_options(reader, endian, { $($args)? })?)
                    } else {
                        None
                    },)*
                })
            }
        }

        impl BinWrite for Sample {
            type Args<'a> = ();

            fn write_options<W: Write + Seek>(&self, writer: &mut W, endian: Endian, (): ()) -> BinResult<()> {
                $($(#[cfg($cfg)])? self.$field.write_options(writer, endian, ())?;)*
                Ok(())
            }
        }

        impl Sample {
            /// The present fields, with [`SampleType::WEIGHT`] for either kind of weight.
            pub fn fields(&self) -> SampleType {
                let mut fields = SampleType::empty();
                $($(#[cfg($cfg)])? fields.set(SampleType::$bit, self.$field.is_some());)*
                fields
            }

            /// Keeps the fields that these bits select, and adds missing ones with default values.
            pub fn set_fields(&mut self, fields: SampleType) {
                self.retain(fields);
                $($(#[cfg($cfg)])? if fields.intersects(SampleField::$variant.bits()) {
                    self.$field.get_or_insert_default();
                })*
            }

            /// Removes the fields that these bits do not select.
            pub fn retain(&mut self, fields: SampleType) {
                $($(#[cfg($cfg)])? if !fields.intersects(SampleField::$variant.bits()) {
                    self.$field = None;
                })*
            }
        }

        impl VisitFields for Sample {
            fn visit_fields(&mut self, visitor: &mut dyn FieldVisitor) {
                $($(#[cfg($cfg)])? if let Some($field) = &mut self.$field {
                    crate::roles!(@ visitor $field $role $($mode)?);
                })*
            }
        }

        /// The body of a SAMPLE, borrowed. Fields are present if their bits of `sample_type` are set.
        #[derive(Clone, Copy, Debug, Default)]
        pub struct SampleView<$a> {
            $($(#[doc = $doc])* $(#[cfg($cfg)])? pub $field: Option<$view>,)*
            /// Bytes after the decoded fields.
            pub tail: &$a [u8],
            /// Whether there are [unknown bits](crate::abi::sample::unknown_layout), so that the tail has fields that are not
            /// decoded.
            pub is_partial: bool,
        }

        impl<$a> SampleView<$a> {
            /// Decodes into an empty view. Inlined, as most samples have no fields after the call chain.
            #[inline(always)]
            pub(super) fn fill_as(
                &mut self,
                body: &$a [u8],
                layout: &SampleLayout,
                endian: Endian,
                hw_idx_if_empty: bool,
            ) -> Result<(), TruncatedField> {
                const HEAD: SampleType = SampleField::Callchain.up_to();
                let (mut reader, $context) = (ByteReader::new(body, endian), FieldContext { layout, hw_idx_if_empty });
                self.is_partial = $context.layout.is_partial();
                $($(#[cfg($cfg)])? if const { HEAD.contains(SampleField::$variant.bits()) }
                    && $context.layout.decoded().intersects(SampleField::$variant.bits())
                {
                    self.$field = Some(<$owned>::take(&mut reader, { $($args)? }).ok_or(stringify!($bit))?);
                })*
                if HEAD.contains($context.layout.decoded()) {
                    self.tail = reader.rest();
                    return Ok(());
                }
                self.fill_rest(reader, $context)
            }

            /// Decodes the fields after the call chain.
            #[inline(never)]
            fn fill_rest(&mut self, mut reader: ByteReader<$a>, $context: FieldContext<'_>) -> Result<(), TruncatedField> {
                $($(#[cfg($cfg)])? if const { SampleField::$variant as u8 > SampleField::Callchain as u8 }
                    && $context.layout.decoded().intersects(SampleField::$variant.bits())
                {
                    if <$owned>::unknown_bits(reader).is_some() {
                        return self.end_before(reader);
                    }
                    self.$field = Some(<$owned>::take(&mut reader, { $($args)? }).ok_or(stringify!($bit))?);
                })*
                self.tail = reader.rest();
                Ok(())
            }

            /// Appends a field. A missing number is 0; missing counted fields have no elements.
            #[inline]
            pub fn encode_field(&self, field: SampleField, layout: &SampleLayout, out: &mut ByteWriter<'_>) {
                let $context = FieldContext { layout, hw_idx_if_empty: true };
                match field {
                    $($(#[cfg($cfg)])? SampleField::$variant => <$owned>::encode(self.$field, { $($args)? }, out),)*
                }
            }

            /// The text of a field that is [shown as text](Shown::AsText); `None` if it is missing.
            pub fn text(&self, field: SampleField) -> Option<String> {
                match field {
                    $($(#[cfg($cfg)])? SampleField::$variant => text!($shown self.$field),)*
                }
            }
        }
    };
}

/// The text of a field, by its [`Shown`].
macro_rules! text {
    (ByFormat $view:expr) => {
        None
    };
    (AsText $view:expr) => {
        $view.map(|view| view.to_string())
    };
}

sample_fields! { 'a, context;
    /// [`SampleType::IDENTIFIER`]: event ID.
    Identifier = IDENTIFIER => identifier: u64 as u64, (3, 12), own_event_id, ByFormat;
    /// [`SampleType::IP`]: instruction pointer.
    #[serde(serialize_with = "readable::hex")]
    Ip = IP => ip: u64 as u64, (2, 6), address(UNKNOWN), ByFormat;
    /// [`SampleType::TID`]: process and thread ID.
    #[serde(with = "readable::task", default)]
    Task = TID => task: (u32, u32) as (u32, u32), (2, 6), own_thread, ByFormat;
    /// [`SampleType::TIME`]: time in nanoseconds on the clock of the recording.
    Time = TIME => time: u64 as u64, (2, 6), time, ByFormat;
    /// [`SampleType::ADDR`]: data address or other event-specific address.
    #[serde(serialize_with = "readable::hex")]
    Addr = ADDR => addr: u64 as u64, (2, 6), address(UNKNOWN), ByFormat;
    /// [`SampleType::ID`]: event ID, that of the parent if inherited.
    Id = ID => id: u64 as u64, (2, 6), own_event_id, ByFormat;
    /// [`SampleType::STREAM_ID`]: ID of the event itself.
    StreamId = STREAM_ID => stream_id: u64 as u64, (2, 6), own_event_id, ByFormat;
    /// [`SampleType::CPU`]: CPU number, and the unused half of its word.
    #[serde(with = "readable::cpu", default)]
    Cpu = CPU => cpu: (u32, u32) as (u32, u32), (2, 6), number, ByFormat;
    /// [`SampleType::PERIOD`]: number of events that the sample represents.
    Period = PERIOD => period: u64 as u64, (2, 6), number, ByFormat;
    /// [`SampleType::READ`]: counter values.
    Read = READ => read: ReadValues as ReadView<'a>, with context.layout.read_format(), (2, 6), fields, ByFormat;
    /// [`SampleType::CALLCHAIN`].
    Callchain = CALLCHAIN => callchain: Callchain as Words<'a>, (2, 6), fields, ByFormat;
    /// [`SampleType::RAW`].
    Raw = RAW => raw: Raw as &'a [u8], (2, 6), opaque, ByFormat;
    /// [`SampleType::BRANCH_STACK`].
    BranchStack = BRANCH_STACK => branch_stack: BranchStack as BranchStackView<'a>,
        with (context.layout.branch_sample_type(), context.hw_idx_if_empty), (2, 6), fields, ByFormat;
    /// [`SampleType::REGS_USER`].
    RegsUser = REGS_USER => regs_user: Regs as RegsView<'a>, with context.layout.regs_user(), (3, 7), opaque, ByFormat;
    /// [`SampleType::STACK_USER`].
    StackUser = STACK_USER => stack_user: StackUser as StackView<'a>, (3, 7), opaque, ByFormat;
    /// [`SampleType::WEIGHT`] or [`SampleType::WEIGHT_STRUCT`], one word either way.
    Weight = WEIGHT | WEIGHT_STRUCT => weight: Weight as u64, (3, 10), number, ByFormat;
    /// [`SampleType::DATA_SRC`].
    DataSrc = DATA_SRC => data_src: DataSrc as u64, (3, 10), number, ByFormat;
    /// [`SampleType::TRANSACTION`].
    Transaction = TRANSACTION => transaction: Transaction as u64, (3, 13), number, ByFormat;
    /// [`SampleType::REGS_INTR`].
    RegsIntr = REGS_INTR => regs_intr: Regs as RegsView<'a>, with context.layout.regs_intr(), (3, 19), opaque, ByFormat;
    /// [`SampleType::PHYS_ADDR`]: physical address of the data.
    #[serde(serialize_with = "readable::hex")]
    PhysAddr = PHYS_ADDR => phys_addr: u64 as u64, (4, 14), opaque, ByFormat;
    /// [`SampleType::CGROUP`]: cgroup ID.
    Cgroup = CGROUP => cgroup: u64 as u64, (5, 7), cgroup_id, ByFormat;
    /// [`SampleType::DATA_PAGE_SIZE`]: size of the data page in bytes.
    DataPageSize = DATA_PAGE_SIZE => data_page_size: u64 as u64, (5, 11), number, ByFormat;
    /// [`SampleType::CODE_PAGE_SIZE`]: size of the code page in bytes.
    CodePageSize = CODE_PAGE_SIZE => code_page_size: u64 as u64, (5, 11), number, ByFormat;
    /// [`SampleType::AUX`].
    Aux = AUX => aux: AuxSample as &'a [u8], (5, 5), opaque, ByFormat;
    /// [`SampleType::EXAMPLE`]: an example, in tests.
    #[cfg(any(test, feature = "testing"))]
    Example = EXAMPLE => example: ExampleField as ExampleFieldView<'a>, (7, 3), fields, AsText;
}
