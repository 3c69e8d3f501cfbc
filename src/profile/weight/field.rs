//! Numeric fields of samples as their values.

use super::event_roles::EventRoles;
use super::number::NumberField;
use crate::profile::event::Unit;
use perf_data::abi::sample::view::SampleView;
use perf_data::abi::sample::weight::Weight;
use perf_data::abi::sample_type::SampleType;
use perf_data::error::{Error, Result};
use perf_data::stream::events::{Event, EventIndex};
use perf_data::stream::meta::Meta;
use perf_data::tracepoint::field::TracepointKind;
use perf_data::tracepoint::tracepoints::Tracepoint;

/// A numeric field of samples.
struct SampleNumber {
    name: &'static str,
    field: SampleType,
    read: fn(&SampleView<'_>, SampleType) -> Option<u64>,
}

/// The numeric fields of samples; weights as in perf's sort keys.
const SAMPLE_NUMBERS: [SampleNumber; 5] = [
    SampleNumber {
        name: "weight",
        field: SampleType::WEIGHT.union(SampleType::WEIGHT_STRUCT),
        read: |view, fields| {
            let word = view.weight?;
            Some(if fields.contains(SampleType::WEIGHT_STRUCT) { Weight(word).get(Weight::VAR1_DW) } else { word })
        },
    },
    SampleNumber {
        name: "ins_lat",
        field: SampleType::WEIGHT_STRUCT,
        read: |view, _| Some(Weight(view.weight?).get(Weight::VAR2_W)),
    },
    SampleNumber {
        name: "retire_lat",
        field: SampleType::WEIGHT_STRUCT,
        read: |view, _| Some(Weight(view.weight?).get(Weight::VAR3_W)),
    },
    SampleNumber { name: "data_page_size", field: SampleType::DATA_PAGE_SIZE, read: |view, _| view.data_page_size },
    SampleNumber { name: "code_page_size", field: SampleType::CODE_PAGE_SIZE, read: |view, _| view.code_page_size },
];

/// The unit of a field.
pub(super) fn unit(field: &str) -> Unit {
    match field {
        "data_page_size" | "code_page_size" | "bytes" | "bytes_alloc" | "bytes_req" => Unit::Bytes,
        // Of sched_stat_* and other tracepoints.
        "delay" | "runtime" | "duration_ns" => Unit::Nanoseconds,
        _ => Unit::Count,
    }
}

/// Where an event has the field.
#[derive(Debug)]
enum FieldSource {
    Sample(usize),
    Tracepoint(NumberField),
}

/// Reads a field of samples.
#[derive(Debug, Default)]
pub(crate) struct FieldReader {
    name: String,
    sources: EventRoles<FieldSource>,
    /// Samples whose value is negative.
    negative: u64,
    /// Samples of events without the field.
    without_field: u64,
}

impl FieldReader {
    pub(crate) fn new(name: String) -> Self {
        Self { name, ..Self::default() }
    }

    /// The value of a sample; `None` if it has none, or a negative one.
    pub(crate) fn value(&mut self, meta: &Meta, index: EventIndex, view: &SampleView<'_>) -> Option<u64> {
        self.update(meta);
        let event = meta.events.list().get(index as usize)?;
        let value = match self.sources.get(index) {
            None => {
                self.without_field += 1;
                return None;
            }
            Some(FieldSource::Sample(number)) => {
                return (SAMPLE_NUMBERS[*number].read)(view, event.layout.sample_type());
            }
            Some(FieldSource::Tracepoint(field)) => field.read(view.raw?)?,
        };
        let value = u64::try_from(value).ok();
        self.negative += u64::from(value.is_none());
        value
    }

    fn update(&mut self, meta: &Meta) {
        let Self { name, sources, .. } = self;
        sources.update(meta, |event, tracepoint| field_source(name, event, tracepoint));
    }

    /// Checks that an event has the field. Returns messages on samples without a value.
    ///
    /// # Errors
    /// If none has it; the message lists the fields that exist.
    pub(crate) fn finish(mut self, meta: &Meta) -> Result<Vec<String>> {
        self.update(meta);
        let Self { name, .. } = &self;
        if !meta.events.list().is_empty() && self.sources.iter().next().is_none() {
            let names = self.available(meta);
            let problem = format!("samples have no numeric field '{name}'; expected one of: {}", names.join(", "));
            return Err(Error::input(&meta.files[0], None, problem));
        }
        let omitted = [(self.without_field, "of events without it"), (self.negative, "in which it is negative")];
        let omitted = omitted.iter().filter(|(count, _)| *count > 0);
        Ok(omitted.map(|(count, why)| format!("{name}: omitted samples {why}: {count}")).collect())
    }

    /// The numeric fields of the recording's samples.
    fn available(&self, meta: &Meta) -> Vec<String> {
        let mut names = ["period", "samples", "latency"].map(str::to_owned).to_vec();
        for event in meta.events.list() {
            let fields = event.layout.sample_type();
            let numbers = SAMPLE_NUMBERS.iter().filter(|number| fields.intersects(number.field));
            names.extend(numbers.map(|number| number.name.to_owned()));
            let tracepoint = self.sources.tracepoint(event);
            let fields = tracepoint.into_iter().flat_map(|tracepoint| &tracepoint.fields);
            let numbers = fields.filter(|field| matches!(field.kind, TracepointKind::Number(_)));
            names.extend(numbers.map(|field| field.name.clone()));
        }
        let mut unique = std::collections::BTreeSet::new();
        names.retain(|name| unique.insert(name.clone()));
        names
    }
}

/// Where an event has the field of this name.
fn field_source(name: &str, event: &Event, tracepoint: Option<&Tracepoint>) -> Option<FieldSource> {
    let number = SAMPLE_NUMBERS.iter().position(|number| number.name == name);
    let has = |&number: &usize| event.layout.sample_type().intersects(SAMPLE_NUMBERS[number].field);
    if let Some(number) = number.filter(has) {
        return Some(FieldSource::Sample(number));
    }
    Some(FieldSource::Tracepoint(NumberField::new(tracepoint?, name)?))
}
