//! The fields of SAMPLE records: their order, the bits that select them, and their encodings.

use super::sample_type::SampleType;

/// A field of SAMPLE records. Variants are in the kernel's order, the order in the record, which is not that of the bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SampleField {
    /// [`SampleType::IDENTIFIER`].
    Identifier,
    /// [`SampleType::IP`].
    Ip,
    /// [`SampleType::TID`].
    Task,
    /// [`SampleType::TIME`].
    Time,
    /// [`SampleType::ADDR`].
    Addr,
    /// [`SampleType::ID`].
    Id,
    /// [`SampleType::STREAM_ID`].
    StreamId,
    /// [`SampleType::CPU`].
    Cpu,
    /// [`SampleType::PERIOD`].
    Period,
    /// [`SampleType::READ`].
    Read,
    /// [`SampleType::CALLCHAIN`].
    Callchain,
    /// [`SampleType::RAW`].
    Raw,
    /// [`SampleType::BRANCH_STACK`].
    BranchStack,
    /// [`SampleType::REGS_USER`].
    RegsUser,
    /// [`SampleType::STACK_USER`].
    StackUser,
    /// [`SampleType::WEIGHT`] or [`SampleType::WEIGHT_STRUCT`].
    Weight,
    /// [`SampleType::DATA_SRC`].
    DataSrc,
    /// [`SampleType::TRANSACTION`].
    Transaction,
    /// [`SampleType::REGS_INTR`].
    RegsIntr,
    /// [`SampleType::PHYS_ADDR`].
    PhysAddr,
    /// [`SampleType::CGROUP`].
    Cgroup,
    /// [`SampleType::DATA_PAGE_SIZE`].
    DataPageSize,
    /// [`SampleType::CODE_PAGE_SIZE`].
    CodePageSize,
    /// [`SampleType::AUX`].
    Aux,
}

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
    /// Counter values, laid out by `read_format`.
    Read,
    /// `u64 nr; u64 words[nr]`.
    CountedWords,
    /// `u32 size; u8 data[size]`.
    ShortBytes,
    /// `u64 size; u8 data[size]`.
    LongBytes,
    /// `u64 nr; u64 hw_idx; { u64 from, to, flags; } entries[nr]; u64 counters[nr]`.
    BranchStack,
    /// `u64 abi; u64 regs[popcount(mask)]`, no registers where `abi` is 0.
    Regs,
    /// `u64 size; u8 data[size]; u64 dyn_size`, the last two only where `size` is not 0.
    StackDump,
}

impl FieldKind {
    /// Whether it always has 8 bytes.
    pub const fn is_word(self) -> bool {
        matches!(self, Self::Word | Self::Pair | Self::BitFields)
    }
}

/// A row of the table.
pub(super) struct Row {
    pub field: SampleField,
    pub bits: SampleType,
    pub kind: FieldKind,
    name: &'static str,
}

const fn row(field: SampleField, bits: SampleType, kind: FieldKind, name: &'static str) -> Row {
    Row { field, bits, kind, name }
}

/// The fields in the kernel's order: the bits that select each, its encoding, and its name in
/// [`Sample`](super::sample::Sample).
pub(super) const TABLE: [Row; 24] = {
    use FieldKind as Kind;
    use SampleField as Field;
    [
        row(Field::Identifier, SampleType::IDENTIFIER, Kind::Word, "identifier"),
        row(Field::Ip, SampleType::IP, Kind::Word, "ip"),
        row(Field::Task, SampleType::TID, Kind::Pair, "task"),
        row(Field::Time, SampleType::TIME, Kind::Word, "time"),
        row(Field::Addr, SampleType::ADDR, Kind::Word, "addr"),
        row(Field::Id, SampleType::ID, Kind::Word, "id"),
        row(Field::StreamId, SampleType::STREAM_ID, Kind::Word, "stream_id"),
        row(Field::Cpu, SampleType::CPU, Kind::Pair, "cpu"),
        row(Field::Period, SampleType::PERIOD, Kind::Word, "period"),
        row(Field::Read, SampleType::READ, Kind::Read, "read"),
        row(Field::Callchain, SampleType::CALLCHAIN, Kind::CountedWords, "callchain"),
        row(Field::Raw, SampleType::RAW, Kind::ShortBytes, "raw"),
        row(Field::BranchStack, SampleType::BRANCH_STACK, Kind::BranchStack, "branch_stack"),
        row(Field::RegsUser, SampleType::REGS_USER, Kind::Regs, "regs_user"),
        row(Field::StackUser, SampleType::STACK_USER, Kind::StackDump, "stack_user"),
        row(Field::Weight, SampleType::WEIGHT.union(SampleType::WEIGHT_STRUCT), Kind::BitFields, "weight"),
        row(Field::DataSrc, SampleType::DATA_SRC, Kind::BitFields, "data_src"),
        row(Field::Transaction, SampleType::TRANSACTION, Kind::Word, "transaction"),
        row(Field::RegsIntr, SampleType::REGS_INTR, Kind::Regs, "regs_intr"),
        row(Field::PhysAddr, SampleType::PHYS_ADDR, Kind::Word, "phys_addr"),
        row(Field::Cgroup, SampleType::CGROUP, Kind::Word, "cgroup"),
        row(Field::DataPageSize, SampleType::DATA_PAGE_SIZE, Kind::Word, "data_page_size"),
        row(Field::CodePageSize, SampleType::CODE_PAGE_SIZE, Kind::Word, "code_page_size"),
        row(Field::Aux, SampleType::AUX, Kind::LongBytes, "aux"),
    ]
};

/// The fields of a [trailer](super::sample_id::SampleId) in order: that of a SAMPLE, except that the identifier is last.
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
    pub fn of(sample_type: SampleType) -> impl Iterator<Item = Self> + Clone {
        TABLE.iter().filter(move |row| sample_type.intersects(row.bits)).map(|row| row.field)
    }

    /// The bits of `sample_type` that select the field.
    #[inline]
    pub const fn bits(self) -> SampleType {
        TABLE[self as usize].bits
    }

    /// Encoding.
    #[inline]
    pub const fn kind(self) -> FieldKind {
        TABLE[self as usize].kind
    }

    /// Name in [`Sample`](super::sample::Sample) and in JSON.
    pub const fn name(self) -> &'static str {
        TABLE[self as usize].name
    }

    /// The bits of this field and of those before it.
    pub const fn up_to(self) -> SampleType {
        let (mut bits, mut index) = (SampleType::empty(), 0);
        while index <= self as usize {
            bits = bits.union(TABLE[index].bits);
            index += 1;
        }
        bits
    }

    /// The bits of all fields with these encodings.
    pub const fn of_kinds(kinds: &[FieldKind]) -> SampleType {
        let (mut bits, mut index) = (SampleType::empty(), 0);
        while index < TABLE.len() {
            let mut kind = 0;
            while kind < kinds.len() {
                if TABLE[index].kind as usize == kinds[kind] as usize {
                    bits = bits.union(TABLE[index].bits);
                }
                kind += 1;
            }
            index += 1;
        }
        bits
    }
}
