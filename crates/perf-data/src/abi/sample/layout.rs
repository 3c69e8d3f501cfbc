//! The layout of SAMPLE records, compiled from the attr of an event.
//!
//! All code that needs the order or position of fields uses [`SampleField`] and [`SampleLayout`].

use super::field::SampleField;
use super::table::TABLE;
use super::unknown_layout::{FIRST_UNCERTAIN, LayoutWord, UnknownBits};
use super::value::FieldContext;
use super::words::SampleWords;
use crate::abi::Endian;
use crate::abi::attr::Attr;
use crate::abi::bytes::ByteReader;
use crate::abi::read_format::ReadFormat;
use crate::abi::sample_type::{BranchSampleType, SampleType};
use std::ops::Range;

/// Layout of the samples of an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SampleLayout {
    sample_type: SampleType,
    read_format: ReadFormat,
    branch_sample_type: BranchSampleType,
    regs_user: u64,
    regs_intr: u64,
    /// The fields that are decoded: all, unless there are [unknown bits](crate::abi::sample::unknown_layout).
    decoded: SampleType,
    /// Decoded fields: a bit for each row of the table.
    present: u32,
    /// Number of single-word fields before the first larger field.
    head: u8,
    /// Word index of task, time and ID.
    task_at: Option<u8>,
    time_at: Option<u8>,
    id_at: Option<u8>,
    words: Option<SampleWords>,
}

impl From<&Attr> for SampleLayout {
    fn from(attr: &Attr) -> Self {
        Self::new(attr.sample_type)
            .with_read_format(attr.read_format)
            .with_branch_sample_type(attr.branch_sample_type)
            .with_regs(attr.sample_regs_user, attr.sample_regs_intr)
    }
}

impl SampleLayout {
    /// The layout of samples with these fields, without optional parts of counter values and branch stacks, and without
    /// registers.
    pub fn new(sample_type: SampleType) -> Self {
        Self { sample_type, ..Self::default() }.compiled()
    }

    /// Derives what follows from the words of the attr.
    fn compiled(self) -> Self {
        let end = self.unknown_bits().map(|unknown| unknown.from).min();
        let decoded = end.map_or(self.sample_type, |end| self.sample_type & (end.up_to() - end.bits()));
        let mut this = Self { decoded, present: 0, ..self };
        for (index, row) in TABLE.iter().enumerate() {
            this.present |= u32::from(decoded.intersects(row.bits)) << index;
        }
        this.head = this.fields().take_while(|field| field.kind().is_word()).count() as u8;
        let word_at = |field| this.word_at(field).map(|at| at as u8);
        let (task_at, time_at) = (word_at(SampleField::Task), word_at(SampleField::Time));
        let id_at = word_at(SampleField::Identifier).or_else(|| word_at(SampleField::Id));
        Self { task_at, time_at, id_at, words: SampleWords::of(&this), ..this }
    }

    /// The unknown bits of the attr that decide the layout.
    pub fn unknown_bits(&self) -> impl Iterator<Item = UnknownBits> + use<> {
        let unknown = |word, bits, from| UnknownBits { word, bits, from };
        let read_format = self.read_format - ReadFormat::KNOWN;
        let branches = self.branch_sample_type - BranchSampleType::KNOWN;
        let words = [
            (true, unknown(LayoutWord::SampleType, (self.sample_type - SampleType::KNOWN).bits(), FIRST_UNCERTAIN)),
            (
                self.sample_type.contains(SampleType::READ),
                unknown(LayoutWord::ReadFormat, read_format.bits(), SampleField::Read),
            ),
            (
                self.sample_type.contains(SampleType::BRANCH_STACK),
                unknown(LayoutWord::BranchSampleType, branches.bits(), SampleField::BranchStack),
            ),
        ];
        words.into_iter().filter(|(applies, unknown)| *applies && unknown.bits != 0).map(|(_, unknown)| unknown)
    }

    /// The fields that are decoded: those before the first whose place or size depends on unknown bits.
    #[inline]
    pub fn decoded(&self) -> SampleType {
        self.decoded
    }

    /// Whether only the first fields of samples are decoded, because of unknown bits of the attr.
    #[inline]
    pub fn is_partial(&self) -> bool {
        self.decoded != self.sample_type
    }

    /// Whether a sample may be decoded in part only: because of the attr, or of an unknown ABI of its registers.
    #[inline]
    pub fn may_be_partial(&self) -> bool {
        self.is_partial() || self.decoded.intersects(REGS)
    }

    /// The unknown bits because of which a sample is decoded in part only, those of the first field that is not decoded;
    /// `None` if it is decoded as a whole, or malformed.
    pub fn unknown_bits_of(&self, body: &[u8], endian: Endian) -> Option<UnknownBits> {
        if self.decoded.intersects(REGS) {
            let mut reader = ByteReader::new(body, endian);
            let context = FieldContext { layout: self, hw_idx_if_empty: self.has_hw_idx_if_empty(body, endian) };
            for field in self.fields() {
                if let Some(bits) = field.unknown_bits(reader) {
                    return Some(UnknownBits { word: LayoutWord::RegsAbi, bits, from: field });
                }
                field.skip(context, &mut reader)?;
            }
        }
        self.unknown_bits().min_by_key(|unknown| unknown.from)
    }

    /// Restricts the layout to the given fields, of those that are decoded.
    #[must_use]
    pub fn keeping(self, fields: SampleType) -> Self {
        if fields.contains(self.sample_type) && !self.is_partial() {
            return self;
        }
        Self::new(self.decoded.intersection(fields))
            .with_read_format(self.read_format)
            .with_branch_sample_type(self.branch_sample_type)
            .with_regs(self.regs_user, self.regs_intr)
    }

    /// Sets the format of counter values.
    #[must_use]
    pub fn with_read_format(self, read_format: ReadFormat) -> Self {
        Self { read_format, ..self }.compiled()
    }

    /// Sets the type of branch stacks.
    #[must_use]
    pub fn with_branch_sample_type(self, branch_sample_type: BranchSampleType) -> Self {
        Self { branch_sample_type, ..self }.compiled()
    }

    /// Sets the masks of user and interrupt registers.
    #[must_use]
    pub fn with_regs(self, regs_user: u64, regs_intr: u64) -> Self {
        Self { regs_user, regs_intr, ..self }
    }

    /// Fields, as in the attr.
    #[inline]
    pub fn sample_type(&self) -> SampleType {
        self.sample_type
    }

    /// Format of counter values.
    #[inline]
    pub fn read_format(&self) -> ReadFormat {
        self.read_format
    }

    /// Type of branch stacks.
    #[inline]
    pub fn branch_sample_type(&self) -> BranchSampleType {
        self.branch_sample_type
    }

    /// Mask of user registers.
    #[inline]
    pub fn regs_user(&self) -> u64 {
        self.regs_user
    }

    /// Mask of interrupt registers.
    #[inline]
    pub fn regs_intr(&self) -> u64 {
        self.regs_intr
    }

    /// Whether samples have a field that is decoded.
    #[inline]
    pub fn has(&self, field: SampleField) -> bool {
        self.present >> field as u32 & 1 == 1
    }

    /// The decoded fields of samples, in order.
    #[inline]
    pub fn fields(&self) -> impl Iterator<Item = SampleField> + use<> {
        let mut left = self.present;
        std::iter::from_fn(move || {
            let row = TABLE.get(left.trailing_zeros() as usize)?;
            left &= left - 1;
            Some(row.field)
        })
    }

    /// Word index of a field; `None` if it is missing, or a larger field precedes it.
    #[inline]
    pub fn word_at(&self, field: SampleField) -> Option<usize> {
        let before = (self.present & ((1 << field as u32) - 1)).count_ones();
        (self.has(field) && before <= self.head.into()).then_some(before as usize)
    }

    /// Word index of process and thread ID.
    #[inline]
    pub fn task_at(&self) -> Option<usize> {
        self.task_at.map(usize::from)
    }

    /// Word index of the time.
    #[inline]
    pub fn time_at(&self) -> Option<usize> {
        self.time_at.map(usize::from)
    }

    /// Word index of the event ID: of the identifier, if present.
    #[inline]
    pub fn id_at(&self) -> Option<usize> {
        self.id_at.map(usize::from)
    }

    /// The single-word fields before the first larger field, with their byte offsets.
    #[inline]
    pub fn head(&self) -> impl Iterator<Item = (SampleField, usize)> + use<> {
        self.fields().zip((0..usize::from(self.head)).map(|word| 8 * word))
    }

    /// Composition of samples that consist of words; `None` if they have larger fields.
    #[inline]
    pub(crate) fn words(&self) -> Option<&SampleWords> {
        self.words.as_ref()
    }

    /// Whether samples have branch stacks with `hw_idx`, which an empty one may lack.
    #[inline]
    pub fn may_lack_hw_idx(&self) -> bool {
        self.branch_sample_type.contains(BranchSampleType::HW_INDEX) && self.has(SampleField::BranchStack)
    }

    /// Whether an empty branch stack of a sample has `hw_idx`: it lacks it if the fields fill the record exactly only without it.
    pub fn has_hw_idx_if_empty(&self, body: &[u8], endian: Endian) -> bool {
        let ends =
            |hw_idx_if_empty| self.walk(body, endian, hw_idx_if_empty, |_, _| {}).is_some_and(|end| end == body.len());
        !self.may_lack_hw_idx() || self.is_partial() || ends(true) || !ends(false)
    }

    /// Visits the decoded fields of a sample's body, each with its byte range. Returns the end of the last field; `None` if they
    /// do not fit.
    pub fn visit(&self, body: &[u8], endian: Endian, visit: impl FnMut(SampleField, Range<usize>)) -> Option<usize> {
        self.walk(body, endian, self.has_hw_idx_if_empty(body, endian), visit)
    }

    fn walk(
        &self,
        body: &[u8],
        endian: Endian,
        hw_idx_if_empty: bool,
        mut visit: impl FnMut(SampleField, Range<usize>),
    ) -> Option<usize> {
        let context = FieldContext { layout: self, hw_idx_if_empty };
        let mut reader = ByteReader::new(body, endian);
        let mut at = 0;
        for field in self.fields() {
            if field.unknown_bits(reader).is_some() {
                break;
            }
            field.skip(context, &mut reader)?;
            let end = body.len() - reader.rest().len();
            visit(field, at..end);
            at = end;
        }
        Some(at)
    }
}

/// The fields with registers.
const REGS: SampleType = SampleType::REGS_USER.union(SampleType::REGS_INTR);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::sample::field::TRAILER;
    use crate::abi::sample::id::SampleId;

    #[test]
    fn a_trailer_has_the_identifier_last() {
        let (last, others) = TRAILER.split_last().unwrap();
        assert_eq!(*last, SampleField::Identifier);
        assert!(others.is_sorted());
        let bits: SampleType = TRAILER.iter().map(|field| field.bits()).collect();
        assert_eq!(bits, SampleId::FIELDS);
    }

    #[test]
    fn words_are_located_up_to_the_first_larger_field() {
        let layout = SampleLayout::new(SampleField::Callchain.up_to() | SampleType::TRANSACTION);
        assert_eq!((layout.time_at(), layout.id_at()), (Some(3), Some(0)));
        assert_eq!(layout.word_at(SampleField::Period), Some(8));
        assert_eq!(layout.word_at(SampleField::Read), Some(9));
        assert_eq!(layout.word_at(SampleField::Callchain), None);
        assert_eq!(layout.word_at(SampleField::Transaction), None);
        let layout = SampleLayout::new(SampleType::IP | SampleType::ID | SampleType::CALLCHAIN);
        assert_eq!((layout.time_at(), layout.id_at()), (None, Some(1)));
        assert_eq!(layout.head().collect::<Vec<_>>(), [(SampleField::Ip, 0), (SampleField::Id, 8)]);
        assert_eq!(layout.word_at(SampleField::Callchain), Some(2));
    }
}
