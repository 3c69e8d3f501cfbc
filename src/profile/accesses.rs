//! Memory accesses that samples have recorded.

use perf_data::abi::sample::data_src::DataSrc;
use perf_data::abi::sample::layout::SampleLayout;
use perf_data::abi::sample::view::SampleView;
use perf_data::abi::sample::weight::Weight;
use perf_data::abi::sample_type::SampleType;
use perf_data::error::{Error, Result};
use perf_data::stream::meta::Meta;

/// A field of a memory access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AccessField {
    /// Where the data came from: the word `perf_mem_data_src`.
    Source,
    /// Virtual address.
    Address,
    /// The address as a frame, whose function is the name of the data.
    Frame,
    /// Physical address.
    PhysicalAddress,
    /// Latency in cycles: the first of three weights, or the only one.
    Weight,
    /// Latency of the instruction in cycles: the second of three weights.
    InstructionLatency,
}

/// Which memory accesses a profile has.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Accesses {
    /// The fields that samples have as labels.
    pub fields: Vec<AccessField>,
    /// Whether a sample is worth its weight, at least 1, instead of its period.
    pub counts_weight: bool,
}

impl Accesses {
    /// Those with these fields.
    pub fn with_fields(fields: impl IntoIterator<Item = AccessField>, counts_weight: bool) -> Self {
        let mut unique = Vec::new();
        for field in fields {
            if !unique.contains(&field) {
                unique.push(field);
            }
        }
        Self { fields: unique, counts_weight }
    }

    /// Whether any field is wanted.
    pub fn is_any(&self) -> bool {
        !self.fields.is_empty() || self.counts_weight
    }

    /// Checks that an event records each field. Accesses that are worth their weight may lack it, as those of some processors;
    /// `as_recorded`, as in perf, they need no more than an address or a source.
    ///
    /// # Errors
    /// If none does.
    pub(super) fn check(&self, meta: &Meta, as_recorded: bool) -> Result<()> {
        let events = meta.events.list();
        let has = |fields: SampleType| events.iter().any(|event| event.layout.sample_type().intersects(fields));
        let is_optional = |field: &AccessField| match field {
            AccessField::Weight => self.counts_weight,
            _ => as_recorded && has(SampleType::ADDR.union(SampleType::DATA_SRC)),
        };
        match self.fields.iter().copied().find(|field| !is_optional(field) && !has(field.recorded_as())) {
            Some(field) if !events.is_empty() => {
                let problem = format!("samples have no {}; record them with 'perf mem record'", field.title());
                Err(Error::input(&meta.files[0], None, problem))
            }
            _ => Ok(()),
        }
    }
}

impl AccessField {
    /// The sample fields that provide it; one of them is sufficient.
    fn recorded_as(self) -> SampleType {
        match self {
            Self::Source => SampleType::DATA_SRC,
            Self::Address | Self::Frame => SampleType::ADDR,
            Self::PhysicalAddress => SampleType::PHYS_ADDR,
            Self::Weight => SampleType::WEIGHT.union(SampleType::WEIGHT_STRUCT),
            // perf shows 0 without it.
            Self::InstructionLatency => SampleType::all(),
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Source => "data source",
            Self::Address | Self::Frame => "data address",
            Self::PhysicalAddress => "physical address",
            Self::Weight => "weight",
            Self::InstructionLatency => "latency of the instruction",
        }
    }
}

/// The data source of samples without one: nothing is available.
pub(crate) const NO_SOURCE: DataSrc = DataSrc(0x1e05080021);

/// The latency of a memory access in cycles.
pub(super) fn weight(view: &SampleView<'_>, layout: &SampleLayout) -> u64 {
    let word = view.weight.unwrap_or(0);
    if layout.sample_type().contains(SampleType::WEIGHT_STRUCT) { Weight(word).get(Weight::VAR1_DW) } else { word }
}

/// The latency of an instruction in cycles.
pub(super) fn instruction_latency(view: &SampleView<'_>, layout: &SampleLayout) -> u64 {
    let has_parts = layout.sample_type().contains(SampleType::WEIGHT_STRUCT);
    if has_parts { Weight(view.weight.unwrap_or(0)).get(Weight::VAR2_W) } else { 0 }
}
