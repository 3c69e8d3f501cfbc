//! Whether a record has the fields that its event says: what a person adds or takes away must not become bytes that are
//! read as something else.

use super::field_error::FieldError;
use super::object::Object;
use crate::abi::attr_flags::AttrFlags;
use crate::abi::read_format::{ReadFormat, ReadValues};
use crate::abi::record::{Body, RecordType};
use crate::abi::regs::Regs;
use crate::abi::sample::Sample;
use crate::abi::sample_id::SampleId;
use crate::abi::sample_layout::{SampleField, SampleLayout};
use crate::abi::sample_type::{BranchSampleType, SampleType};
use crate::abi::sample_view::SampleView;
use crate::stream::events::{Event, Events};
use crate::stream::raw::Raw;

/// What JSON tells of a record's layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DescribedLayout {
    /// Which fields a sample has, or the trailer of another record.
    pub fields: SampleType,
    /// Whether its fields are all that it holds, and no bytes are told beside or behind them.
    pub is_all: bool,
}

/// Whether a record will be read as the fields that it was told by.
#[inline]
pub fn fits(raw: &Raw<'_>, told: DescribedLayout, events: &Events) -> bool {
    let event = events.of(raw).map(|(_, event)| event);
    let kind = raw.header().kind;
    if kind == RecordType::SAMPLE {
        let layout = event.map_or_else(SampleLayout::default, |event| event.layout);
        return told.fields == of_sample(layout.sample_type()) && (!told.is_all || is_all_read(raw, &layout));
    }
    if !kind.has_sample_id() {
        return true;
    }
    if event.is_none() && told.is_all && !events.list().is_empty() {
        // There is no event of this id. Where there is a trailer nonetheless, it is told as bytes.
        return false;
    }
    let expected = of_trailer(event);
    let is_too_short = told.fields.is_empty() && raw.body().len() < SampleId::size(expected);
    told.fields == expected || is_too_short
}

/// The fields of a sample, with one name for either kind of weight.
fn of_sample(sample_type: SampleType) -> SampleType {
    let weights = SampleType::WEIGHT | SampleType::WEIGHT_STRUCT;
    let others = sample_type.difference(weights);
    if sample_type.intersects(weights) { others | SampleType::WEIGHT } else { others }
}

fn of_trailer(event: Option<&Event>) -> SampleType {
    let with_trailer = event.filter(|event| event.attr.flags.contains(AttrFlags::SAMPLE_ID_ALL));
    with_trailer.map_or_else(SampleType::empty, |event| event.attr.sample_type.intersection(SampleId::FIELDS))
}

/// Whether the fields of a sample are all that it holds, but for what fills its last word.
fn is_all_read(raw: &Raw<'_>, layout: &SampleLayout) -> bool {
    let by = |layout| SampleView::read(raw.body(), layout, raw.endian()).is_ok_and(|view| view.tail.len() < 8);
    // That an event is in a group with one whose branches are counted is told behind the records.
    let counted = || layout.with_branch_sample_type(layout.branch_sample_type() | BranchSampleType::COUNTERS);
    by(layout) || layout.sample_type().contains(SampleType::BRANCH_STACK) && by(&counted())
}

/// What is wrong with a record that does not [fit](fits), by the object that tells it.
pub fn misfit(raw: &Raw<'_>, object: Object<'_>, events: &Events) -> FieldError {
    let kind = raw.header().kind;
    let body = object.body.and_then(|told| told.of(kind).ok());
    let sample = match &body {
        Some(Body::Sample(sample)) => Some(sample),
        _ => None,
    };
    let (place, id) = match (sample, &object.sample_id) {
        (Some(sample), _) => ("body", sample.identifier.or(sample.id)),
        (None, told) => ("sample_id", told.and_then(|told| told.identifier.or(told.id))),
    };
    let found = id.and_then(|id| events.by_id(id)).map(|index| &events.list()[index as usize]);
    let event = found.or_else(|| events.of(raw).map(|(_, event)| event)).or(events.list().first());
    let Some(event) = event else { return FieldError::new("there is no event that it could be of").within(place) };
    match sample {
        Some(sample) => {
            let expected = of_sample(event.layout.sample_type());
            let wrong = differing(sample.fields(), expected).or_else(|| part_of_sample(sample, &event.layout));
            wrong.unwrap_or_else(|| FieldError::new("its fields are not those of the event's samples")).within(place)
        }
        None => {
            let told = object.sample_id.map_or_else(SampleType::empty, |told| told.fields());
            let expected = of_trailer(Some(event));
            if told.is_empty() {
                return FieldError::new("the field is missing: the event has SAMPLE_ID_ALL").within(place);
            }
            if expected.is_empty() {
                return FieldError::new("the event has no SAMPLE_ID_ALL").within(place);
            }
            let wrong = differing(told, expected);
            wrong.unwrap_or_else(|| FieldError::new("there is no event that has this id")).within(place)
        }
    }
}

/// The first field that is missing, or else the first that is too many.
fn differing(told: SampleType, expected: SampleType) -> Option<FieldError> {
    let (missing, surplus) = (expected.difference(told), told.difference(expected));
    let first = |of: SampleType| SampleField::of(of).next();
    let named = |field: SampleField| field.bits().iter_names().next().map_or("", |(name, _)| name);
    if let Some(field) = first(missing) {
        let what = format!("the field is missing: the event's sample_type has {}", named(field));
        return Some(FieldError::new(what).within(field.name()));
    }
    if let Some(field) = first(surplus) {
        let what = format!("the event's sample_type has no {}", named(field));
        return Some(FieldError::new(what).within(field.name()));
    }
    (!missing.is_empty())
        .then(|| FieldError::new("the event's sample_type has fields that are not known: say it by raw"))
}

/// What in a field is not as the event says.
fn part_of_sample(sample: &Sample, layout: &SampleLayout) -> Option<FieldError> {
    let read = sample.read.as_ref().and_then(|read| part_of_read(read, layout.read_format()));
    let regs = |regs: &Option<Regs>, mask: u64, name| {
        let (regs, count) = (regs.as_ref()?, u64::from(mask.count_ones()));
        let (told, expected) = (regs.regs.len() as u64, regs.abi.count(mask));
        let what = format!("there are {told}; with this abi and the event's mask of {count}, there must be {expected}");
        (told != expected).then(|| FieldError::new(what).within("regs").within(name))
    };
    let branches = || {
        let stack = sample.branch_stack.as_ref()?;
        let has_counters = !stack.counters.is_empty() && stack.counters.len() != stack.entries.len();
        has_counters.then(|| FieldError::new("there must be one for each of the entries").within("counters"))
    };
    read.map(|wrong| wrong.within("read"))
        .or_else(|| branches().map(|wrong| wrong.within("branch_stack")))
        .or_else(|| regs(&sample.regs_user, layout.regs_user(), "regs_user"))
        .or_else(|| regs(&sample.regs_intr, layout.regs_intr(), "regs_intr"))
}

/// What in counter values is not as the event's `read_format` says.
fn part_of_read(read: &ReadValues, format: ReadFormat) -> Option<FieldError> {
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
        let what = format!("the event's read_format has {}", if is_group { "no GROUP" } else { "GROUP" });
        return Some(FieldError::new(what).within(form));
    }
    let fields = [
        (ReadFormat::TOTAL_TIME_ENABLED, "time_enabled", vec![times[0]]),
        (ReadFormat::TOTAL_TIME_RUNNING, "time_running", vec![times[1]]),
        (ReadFormat::ID, "id", each.iter().map(|[id, _]| *id).collect()),
        (ReadFormat::LOST, "lost", each.iter().map(|[_, lost]| *lost).collect()),
    ];
    let differing = fields.into_iter().find(|(bit, _, told)| told.iter().any(|&told| told != has(*bit)))?;
    let (bit, name, _) = differing;
    let named = bit.iter_names().next().map_or("", |(name, _)| name);
    let what = match has(bit) {
        true => format!("the field is missing: the event's read_format has {named}"),
        false => format!("the event's read_format has no {named}"),
    };
    Some(FieldError::new(what).within(name).within(form))
}
