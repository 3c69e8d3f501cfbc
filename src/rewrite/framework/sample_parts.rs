//! Where the user registers and stack dumps of samples are, for the passes that remove them.

use perf_data::abi::record::RecordType;
use perf_data::abi::sample::field::SampleField;
use perf_data::abi::sample::layout::SampleLayout;
use perf_data::abi::sample_type::{BranchSampleType, SampleType};
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use std::ops::Range;

/// Byte ranges in the body of a sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SampleParts {
    /// The call chain; if there is none, the empty range where it would be.
    pub chain: Range<usize>,
    /// The branch stack, if it has calls (`PERF_SAMPLE_BRANCH_CALL_STACK`); else the empty range before `dump`.
    pub calls: Range<usize>,
    /// User registers and stack dump.
    pub dump: Range<usize>,
}

impl SampleParts {
    /// `None` if the sample is malformed, has neither registers nor a dump, or fields of unknown layout, which may be anywhere
    /// from the registers on.
    pub(crate) fn locate(raw: &Raw<'_>, layout: &SampleLayout) -> Option<Self> {
        if layout.may_be_partial() && layout.unknown_bits_of(raw.body(), raw.endian()).is_some() {
            return None;
        }
        let (mut chain, mut calls, mut dump) = (0..0, None, None::<Range<usize>>);
        let has_calls = layout.branch_sample_type().contains(BranchSampleType::CALL_STACK);
        layout.visit(raw.body(), raw.endian(), |field, bytes| {
            if field < SampleField::Callchain {
                chain = bytes.end..bytes.end;
            } else if field == SampleField::Callchain {
                chain = bytes;
            } else if field == SampleField::BranchStack && has_calls {
                calls = Some(bytes);
            } else if field.bits().intersects(SampleType::USER_DUMP) {
                let start = dump.as_ref().map_or(bytes.start, |before| before.start);
                dump = Some(start..bytes.end);
            }
        })?;
        let dump = dump?;
        Some(Self { chain, calls: calls.unwrap_or(dump.start..dump.start), dump })
    }
}

/// The layout of a sample whose event has such fields; `None` for other records and unknown events.
pub(crate) fn layout_with<'a>(
    meta: &'a Meta,
    raw: &Raw<'_>,
    has_fields: impl FnOnce(SampleType) -> bool,
) -> Option<&'a SampleLayout> {
    if raw.header().kind != RecordType::SAMPLE {
        return None;
    }
    let (_, event) = meta.events.find(raw)?;
    has_fields(event.layout.sample_type()).then_some(&event.layout)
}
