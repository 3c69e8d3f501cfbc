//! What samples say about their operation: a memory access, a branch or another one, recorded by perf or decoded from a trace.

use super::data_source;
use perf_data::abi::bit_fields::BitField;
use perf_data::abi::sample::layout::SampleLayout;
use perf_data::abi::sample::view::SampleView;
use perf_data::abi::sample::weight::Weight;
use perf_data::abi::sample_type::SampleType;
use perf_data::trace::spe::details::SpeDetails;
use perf_data::trace::spe::packet::{SpeEvents, SpeOperation};

/// The operation of a sample.
pub(crate) struct SampledOperation<'a> {
    view: &'a SampleView<'a>,
    /// Whether it has three weights.
    has_weights: bool,
    /// What the hardware recorded, if the sample was decoded from a trace.
    details: Option<SpeDetails>,
}

impl<'a> SampledOperation<'a> {
    #[inline]
    pub(crate) fn new(view: &'a SampleView<'a>, layout: &SampleLayout) -> Self {
        let has_weights = layout.sample_type().contains(SampleType::WEIGHT_STRUCT);
        Self { view, has_weights, details: view.raw.and_then(SpeDetails::decode) }
    }

    /// What the instruction does.
    pub(crate) fn kind(&self) -> Option<&'static str> {
        let recorded = self.details.and_then(|details| details.operation).map(SpeOperation::kind);
        recorded.or_else(|| data_source::operation(self.view.data_src?))
    }

    /// Whether the TLB had the address.
    pub(crate) fn tlb(&self) -> Option<&'static str> {
        data_source::tlb(self.view.data_src?)
    }

    /// Whether the data was on another socket or node.
    pub(crate) fn remote(&self) -> Option<&'static str> {
        data_source::remote(self.view.data_src?)
    }

    /// What became of a branch, of samples of traces.
    pub(crate) fn branch_outcome(&self) -> Option<&'static str> {
        let details = self.details?;
        details.operation.filter(|operation| operation.is_branch())?;
        Some(match details.events {
            events if events.contains(SpeEvents::MISPREDICTED) => "mispredicted",
            events if events.contains(SpeEvents::NOT_TAKEN) => "not_taken",
            _ => "taken",
        })
    }

    /// Latency of the memory access: the first of three weights.
    pub(crate) fn cache_latency(&self) -> Option<u64> {
        self.weight(Weight::VAR1_DW).filter(|_| self.has_weights && self.details.is_none())
    }

    /// Latency of the instruction: the second of three weights, or the only one; of samples of traces, the first.
    pub(crate) fn total_latency(&self) -> Option<u64> {
        match (self.details, self.has_weights) {
            (Some(_), _) => self.weight(Weight::VAR1_DW),
            (None, true) => self.weight(Weight::VAR2_W),
            (None, false) => self.view.weight,
        }
    }

    /// Latency up to the issue of the instruction, of samples of traces.
    pub(crate) fn issue_latency(&self) -> Option<u64> {
        self.weight(Weight::VAR2_W).filter(|_| self.details.is_some())
    }

    /// Latency of the address translation, of samples of traces.
    pub(crate) fn translation_latency(&self) -> Option<u64> {
        self.weight(Weight::VAR3_W).filter(|_| self.details.is_some())
    }

    fn weight(&self, field: BitField) -> Option<u64> {
        self.view.weight.map(|word| Weight(word).get(field))
    }
}
