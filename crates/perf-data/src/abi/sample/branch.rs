//! `PERF_SAMPLE_BRANCH_STACK`: branch stacks.

use super::field::FieldKind;
use super::value::FieldValue;
use crate::abi::bit_fields::bit_fields;
use crate::abi::bit_fields::{from_recorded, to_recorded};
use crate::abi::bytes::{ByteReader, ByteWriter, Words};
use crate::abi::open_enum::open_enum;
use crate::abi::sample_type::BranchSampleType;
use crate::abi::serde::readable;
use crate::abi::{Endian, counted};
use crate::roles;
use binrw::{BinRead, BinResult, BinWrite, binrw};
use serde::{Deserialize, Serialize};
use std::io::{Read, Seek, Write};

open_enum! {
    /// `PERF_BR_*`: type of a branch.
    BranchType: u8 {
        /// Not recorded.
        UNKNOWN = 0,
        /// Conditional jump.
        COND = 1,
        /// Jump.
        UNCOND = 2,
        /// Indirect jump.
        IND = 3,
        /// Call.
        CALL = 4,
        /// Indirect call.
        IND_CALL = 5,
        /// Return.
        RET = 6,
        /// System call.
        SYSCALL = 7,
        /// Return from a system call.
        SYSRET = 8,
        /// Conditional call.
        COND_CALL = 9,
        /// Conditional return.
        COND_RET = 10,
        /// Return from an exception.
        ERET = 11,
        /// Interrupt.
        IRQ = 12,
        /// System error.
        SERROR = 13,
        /// Outside of a transaction.
        NO_TX = 14,
        /// Extended by [`BranchFlags::NEW_TYPE`]. Since Linux 6.1.
        EXTEND_ABI = 15,
    }
}

bit_fields! {
    /// Flags of a branch, allocated as on little-endian machines regardless of the recording machine.
    BranchFlags {
        /// The target was mispredicted.
        MISPRED = 0..1,
        /// The target was predicted.
        PREDICTED = 1..2,
        /// In a transaction.
        IN_TX = 2..3,
        /// The transaction was aborted.
        ABORT = 3..4,
        /// Cycles since the previous branch.
        CYCLES = 4..20,
        /// A [`BranchType`].
        TYPE = 20..24,
        /// Speculation: 0 not recorded, 1 wrong path, 2 non-speculative correct path, 3 speculative correct path. Since Linux
        /// 6.1.
        SPEC = 24..26,
        /// Additional types: 0 to 2 alignment, data and instruction faults; 3 to 7 architecture-specific. Since Linux 6.1.
        NEW_TYPE = 26..30,
        /// Privilege: 0 not recorded, 1 user, 2 kernel, 3 hypervisor. Since Linux 6.1.
        PRIV = 30..33,
        /// The branch was not taken. Only perf sets it, in samples that it decodes from traces; the kernel records taken branches.
        /// Since perf 6.15.
        NOT_TAKEN = 33..34,
        /// Unused.
        RESERVED = 34..64,
    }
}

impl BranchFlags {
    /// Decodes a recorded word.
    #[inline]
    pub fn from_word(word: u64, endian: Endian) -> Self {
        Self(from_recorded(word, endian, Self::FIELDS))
    }

    /// Type of the branch.
    pub fn branch_type(self) -> BranchType {
        BranchType(self.get(Self::TYPE) as u8)
    }
}

impl BinRead for BranchFlags {
    type Args<'a> = ();

    fn read_options<R: Read + Seek>(reader: &mut R, endian: Endian, (): ()) -> BinResult<Self> {
        Ok(Self::from_word(u64::read_options(reader, endian, ())?, endian))
    }
}

impl BinWrite for BranchFlags {
    type Args<'a> = ();

    fn write_options<W: Write + Seek>(&self, writer: &mut W, endian: Endian, (): ()) -> BinResult<()> {
        to_recorded(self.0, endian, Self::FIELDS).write_options(writer, endian, ())
    }
}

/// An entry of a branch stack.
#[binrw]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BranchEntry {
    /// Source address.
    #[serde(serialize_with = "readable::hex")]
    pub from: u64,
    /// Target address.
    #[serde(serialize_with = "readable::hex")]
    pub to: u64,
    /// Flags.
    pub flags: BranchFlags,
}

roles! { BranchEntry { from: address(UNKNOWN), to: address(UNKNOWN), flags: number } }

/// A branch stack.
///
/// ```c
/// u64 nr;
/// u64 hw_idx;                     // with BRANCH_HW_INDEX
/// struct { u64 from, to, flags; } entries[nr];
/// u64 counters[nr];               // with BRANCH_COUNTERS
/// ```
/// Without a branch stack, the kernel writes only `nr` = 0, without `hw_idx` even if requested. The second argument of decoding
/// states whether an empty stack has `hw_idx`.
#[binrw]
#[br(import(branch_sample_type: BranchSampleType, hw_idx_if_empty: bool))]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BranchStack {
    #[br(temp)]
    #[bw(calc = entries.len() as u64)]
    nr: u64,
    /// Index of the newest entry in the hardware's ring buffer.
    #[br(if(branch_sample_type.contains(BranchSampleType::HW_INDEX) && (nr > 0 || hw_idx_if_empty)))]
    pub hw_idx: Option<u64>,
    /// The entries, newest first.
    #[br(parse_with = counted::items, args(nr))]
    pub entries: Vec<BranchEntry>,
    /// Event counts, one word for each entry, or none.
    #[br(parse_with = counted::u64s, args(if branch_sample_type.contains(BranchSampleType::COUNTERS) { nr } else { 0 }))]
    pub counters: Vec<u64>,
}

roles! { BranchStack { hw_idx: number, entries: fields, counters: number } }

/// A [`BranchStack`] borrowed from a SAMPLE.
#[derive(Clone, Copy, Debug)]
pub struct BranchStackView<'a> {
    /// Index of the newest entry in the hardware's ring buffer.
    pub hw_idx: Option<u64>,
    /// Three words for each entry: from, to, flags ([`BranchFlags::from_word`]); newest first.
    pub entries: Words<'a>,
    /// Event counts, one word for each entry.
    pub counters: Option<Words<'a>>,
}

impl<'a> BranchStackView<'a> {
    /// Decodes the structure at the front of `reader`; `None` if the bytes are too few. `hw_idx_if_empty` states whether an empty
    /// stack has `hw_idx`.
    pub fn take(
        reader: &mut ByteReader<'a>,
        branch_sample_type: BranchSampleType,
        hw_idx_if_empty: bool,
    ) -> Option<Self> {
        let nr = reader.u64()?;
        let hw_idx = if branch_sample_type.contains(BranchSampleType::HW_INDEX) && (nr > 0 || hw_idx_if_empty) {
            Some(reader.u64()?)
        } else {
            None
        };
        let entries = reader.words(nr.checked_mul(3)?)?;
        let counters =
            if branch_sample_type.contains(BranchSampleType::COUNTERS) { Some(reader.words(nr)?) } else { None };
        Some(Self { hw_idx, entries, counters })
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.entries.len() / 3
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

impl FieldValue for BranchStack {
    const KIND: FieldKind = FieldKind::Variable;
    type View<'a> = BranchStackView<'a>;
    type Args = (BranchSampleType, bool);

    fn take<'a>(
        reader: &mut ByteReader<'a>,
        (branch_sample_type, hw_idx_if_empty): Self::Args,
    ) -> Option<BranchStackView<'a>> {
        BranchStackView::take(reader, branch_sample_type, hw_idx_if_empty)
    }

    fn encode(view: Option<BranchStackView<'_>>, _: Self::Args, out: &mut ByteWriter<'_>) {
        let Some(stack) = view else { return out.put(0_u64) };
        out.put(stack.len() as u64);
        out.put_some(stack.hw_idx);
        out.out.extend_from_slice(stack.entries.as_bytes());
        out.out.extend_from_slice(stack.counters.map_or(&[], |counters| counters.as_bytes()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::testing::both_orders;

    #[test]
    fn flags_are_allocated_from_opposite_ends() {
        let field =
            |field, value, little, big| both_orders(&BranchFlags::default().with(field, value), (), little, big);
        field(BranchFlags::MISPRED, 1, "0100000000000000", "8000000000000000");
        field(BranchFlags::PREDICTED, 1, "0200000000000000", "4000000000000000");
        field(BranchFlags::IN_TX, 1, "0400000000000000", "2000000000000000");
        field(BranchFlags::ABORT, 1, "0800000000000000", "1000000000000000");
        field(BranchFlags::CYCLES, 0x1234, "4023010000000000", "0123400000000000");
        field(BranchFlags::TYPE, 5, "0000500000000000", "0000050000000000");
        field(BranchFlags::SPEC, 1, "0000000100000000", "0000004000000000");
        field(BranchFlags::NEW_TYPE, 3, "0000000c00000000", "0000000c00000000");
        field(BranchFlags::PRIV, 1, "0000004000000000", "0000000080000000");
        field(BranchFlags::PRIV, 4, "0000000001000000", "0000000200000000");
        field(BranchFlags::NOT_TAKEN, 1, "0000000002000000", "0000000040000000");
        field(BranchFlags::RESERVED, 1, "0000000004000000", "0000000000000001");
        assert_eq!(BranchFlags::default().with(BranchFlags::TYPE, 5).branch_type(), BranchType::IND_CALL);
    }

    #[test]
    fn bytes_of_a_stack() {
        let flags = BranchFlags(2);
        let mut stack = BranchStack { entries: vec![BranchEntry { from: 1, to: 2, flags }], ..Default::default() };
        let little = "0100000000000000 0200000000000000 0200000000000000";
        let big = "0000000000000001 0000000000000002 4000000000000000";
        let none = BranchSampleType::empty();
        both_orders(&stack, (none, true), &format!("0100000000000000 {little}"), &format!("0000000000000001 {big}"));
        (stack.hw_idx, stack.counters) = (Some(7), vec![9]);
        both_orders(
            &stack,
            (BranchSampleType::HW_INDEX | BranchSampleType::COUNTERS, true),
            &format!("0100000000000000 0700000000000000 {little} 0900000000000000"),
            &format!("0000000000000001 0000000000000007 {big} 0000000000000009"),
        );
        let empty = BranchStack::default();
        both_orders(&empty, (BranchSampleType::HW_INDEX, false), "00 *8", "00 *8");
    }
}
