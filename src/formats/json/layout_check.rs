//! Checks that a record has the fields that its event prescribes: a field that a user added or removed by hand must
//! not turn into bytes that are read as something else.

use super::field_error::FieldError;
use super::object::ParsedObject;
use perf_data::abi::attr_flags::AttrFlags;
use perf_data::abi::read_format::{ReadFormat, ReadValues};
use perf_data::abi::record::{Body, RecordType};
use perf_data::abi::sample::Sample;
use perf_data::abi::sample::field::SampleField;
use perf_data::abi::sample::id::SampleId;
use perf_data::abi::sample::layout::SampleLayout;
use perf_data::abi::sample::regs::Regs;
use perf_data::abi::sample::view::SampleView;
use perf_data::abi::sample_type::{BranchSampleType, SampleType};
use perf_data::stream::events::{Event, Events};
use perf_data::stream::raw::Raw;

/// The layout of a record as its JSON describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DescribedLayout {
    /// The fields of a sample, or of another record's trailer.
    pub fields: SampleType,
    /// Whether the body consists of these fields only, without raw bytes beside or after them.
    pub is_all: bool,
}

/// Whether a record will be read with the fields that its JSON describes.
#[inline]
pub(super) fn matches_layout(raw: &Raw<'_>, described: DescribedLayout, events: &Events) -> bool {
    let event = events.find(raw).map(|(_, event)| event);
    let kind = raw.header().kind;
    if kind == RecordType::SAMPLE {
        let layout = event.map_or_else(SampleLayout::default, |event| event.layout);
        return described.fields == sample_fields(layout.sample_type())
            && (!described.is_all || is_all_read(raw, &layout));
    }
    if !kind.has_sample_id() {
        return true;
    }
    if event.is_none() && described.is_all && !events.list().is_empty() {
        // No event has this ID. A trailer of such a record is exported as bytes.
        return false;
    }
    let expected = trailer_fields(event.filter(|event| !event.lacks_trailer(raw)));
    // A record that is too short for its trailer is read without one.
    let is_too_short = described.fields.is_empty() && raw.body().len() < SampleId::size(expected);
    described.fields == expected || is_too_short
}

/// The fields of a sample, with one bit for both kinds of weight.
fn sample_fields(sample_type: SampleType) -> SampleType {
    let weights = SampleType::WEIGHT | SampleType::WEIGHT_STRUCT;
    let others = sample_type.difference(weights);
    if sample_type.intersects(weights) { others | SampleType::WEIGHT } else { others }
}

fn trailer_fields(event: Option<&Event>) -> SampleType {
    let with_trailer = event.filter(|event| event.attr.flags.contains(AttrFlags::SAMPLE_ID_ALL));
    with_trailer.map_or_else(SampleType::empty, |event| event.attr.sample_type.intersection(SampleId::FIELDS))
}

/// Whether the fields of a sample cover its body, except for the padding of the last word.
fn is_all_read(raw: &Raw<'_>, layout: &SampleLayout) -> bool {
    let by = |layout| SampleView::read(raw.body(), layout, raw.endian()).is_ok_and(|view| view.tail.len() < 8);
    // Whether the event is in a group with branch counters is stored after the records.
    let counted = || layout.with_branch_sample_type(layout.branch_sample_type() | BranchSampleType::COUNTERS);
    by(layout) || layout.sample_type().contains(SampleType::BRANCH_STACK) && by(&counted())
}

/// Why a record does not [match](matches_layout) its event, from the object that describes it.
pub(super) fn misfit(raw: &Raw<'_>, object: ParsedObject<'_>, events: &Events) -> FieldError {
    let kind = raw.header().kind;
    let body = object.body.and_then(|body| body.into_body(kind).ok());
    let sample = match &body {
        Some(Body::Sample(sample)) => Some(sample),
        _ => None,
    };
    let (field, id) = match (sample, &object.sample_id) {
        (Some(sample), _) => ("body", sample.identifier.or(sample.id)),
        (None, trailer) => ("sample_id", trailer.and_then(|id| id.identifier.or(id.id))),
    };
    let event_by_id = id.and_then(|id| events.by_id(id)).map(|index| &events.list()[index as usize]);
    let event = event_by_id.or_else(|| events.find(raw).map(|(_, event)| event)).or(events.list().first());
    let Some(event) = event else { return FieldError::new("no event matches the record").within(field) };
    match sample {
        Some(sample) => {
            let expected = sample_fields(event.layout.sample_type());
            let error = differing(sample.fields(), expected).or_else(|| check_sample(sample, &event.layout));
            error.unwrap_or_else(|| FieldError::new("the fields do not match the event's sample_type")).within(field)
        }
        None => {
            let present = object.sample_id.map_or_else(SampleType::empty, |id| id.fields());
            let expected = trailer_fields(Some(event));
            if present.is_empty() {
                return FieldError::new("missing field: the event has SAMPLE_ID_ALL").within(field);
            }
            if expected.is_empty() {
                return FieldError::new("the event has no SAMPLE_ID_ALL").within(field);
            }
            let error = differing(present, expected);
            error.unwrap_or_else(|| FieldError::new("no event has this ID")).within(field)
        }
    }
}

/// The first missing field, or else the first surplus one.
fn differing(present: SampleType, expected: SampleType) -> Option<FieldError> {
    let (missing, surplus) = (expected.difference(present), present.difference(expected));
    let first = |fields: SampleType| SampleField::selected_by(fields).next();
    let named = |field: SampleField| field.bits().iter_names().next().map_or("", |(name, _)| name);
    if let Some(field) = first(missing) {
        let problem = format!("missing field: the event's sample_type has {}", named(field));
        return Some(FieldError::new(problem).within(field.name()));
    }
    if let Some(field) = first(surplus) {
        let problem = format!("the event's sample_type has no {}", named(field));
        return Some(FieldError::new(problem).within(field.name()));
    }
    (!missing.is_empty()).then(|| FieldError::new("the event's sample_type has unknown fields; give the record as raw"))
}

/// The first part of a field that does not match the event.
fn check_sample(sample: &Sample, layout: &SampleLayout) -> Option<FieldError> {
    let read = sample.read.as_ref().and_then(|read| check_read(read, layout.read_format()));
    let regs = |regs: &Option<Regs>, mask: u64, name| {
        let (regs, count) = (regs.as_ref()?, u64::from(mask.count_ones()));
        let (actual, expected) = (regs.regs.len() as u64, regs.abi.count(mask));
        let problem =
            format!("{actual} values; expected {expected} for this ABI and the {count} bits of the event's mask");
        (actual != expected).then(|| FieldError::new(problem).within("regs").within(name))
    };
    let branches = || {
        let stack = sample.branch_stack.as_ref()?;
        let has_counters = !stack.counters.is_empty() && stack.counters.len() != stack.entries.len();
        has_counters.then(|| FieldError::new("expected one for each entry").within("counters"))
    };
    read.map(|error| error.within("read"))
        .or_else(|| branches().map(|error| error.within("branch_stack")))
        .or_else(|| regs(&sample.regs_user, layout.regs_user(), "regs_user"))
        .or_else(|| regs(&sample.regs_intr, layout.regs_intr(), "regs_intr"))
}

/// The first part of counter values that does not match the event's `read_format`.
fn check_read(read: &ReadValues, format: ReadFormat) -> Option<FieldError> {
    let (form, is_group, times, each) = match read {
        ReadValues::Single { time_enabled, time_running, id, lost, .. } => {
            ("single", false, [time_enabled.is_some(), time_running.is_some()], vec![[id.is_some(), lost.is_some()]])
        }
        ReadValues::Group { time_enabled, time_running, values } => {
            let each = values.iter().map(|value| [value.id.is_some(), value.lost.is_some()]).collect();
            ("group", true, [time_enabled.is_some(), time_running.is_some()], each)
        }
    };
    let has = |bit| format.contains(bit);
    if is_group != has(ReadFormat::GROUP) {
        let problem = format!("the event's read_format has {}", if is_group { "no GROUP" } else { "GROUP" });
        return Some(FieldError::new(problem).within(form));
    }
    let fields = [
        (ReadFormat::TOTAL_TIME_ENABLED, "time_enabled", vec![times[0]]),
        (ReadFormat::TOTAL_TIME_RUNNING, "time_running", vec![times[1]]),
        (ReadFormat::ID, "id", each.iter().map(|[id, _]| *id).collect()),
        (ReadFormat::LOST, "lost", each.iter().map(|[_, lost]| *lost).collect()),
    ];
    let differing = fields.into_iter().find(|(bit, _, present)| present.iter().any(|&present| present != has(*bit)))?;
    let (bit, name, _) = differing;
    let named = bit.iter_names().next().map_or("", |(name, _)| name);
    let problem = match has(bit) {
        true => format!("missing field: the event's read_format has {named}"),
        false => format!("the event's read_format has no {named}"),
    };
    Some(FieldError::new(problem).within(name).within(form))
}
