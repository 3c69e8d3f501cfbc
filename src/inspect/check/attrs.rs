//! Rules for events: for each attr, and for all attrs together.

use super::finding::Rule;
use perf_data::abi::Endian;
use perf_data::abi::attr::Attr;
use perf_data::abi::attr_flags::AttrFlags;
use perf_data::abi::read_format::ReadFormat;
use perf_data::abi::sample_type::{BranchSampleType, SampleType};
use perf_data::stream::events::Event;

/// Flags that perf 7.2 defines.
const FLAGS: u64 = (1 << 40) - 1;

/// Checks the bytes of an attr.
pub(super) fn check_bytes(bytes: &[u8], endian: Endian, mut report: impl FnMut(Rule, String)) {
    let Ok(attr) = Attr::read(bytes, endian) else { return };
    if !attr.to_bytes(endian).is_ok_and(|written| written == bytes) {
        report(Rule::NotReproduced, "re-encoding it gives different bytes".into());
    }
    check(&attr, report);
}

/// Checks the fields of an attr.
pub(super) fn check(attr: &Attr, mut report: impl FnMut(Rule, String)) {
    if !attr.tail.is_empty() {
        report(Rule::Unknown, format!("perf_event_attr has {} bytes of unknown fields", attr.tail.len()));
    }
    for (field, bits, known_bits) in [
        ("sample_type", attr.sample_type.bits(), SampleType::KNOWN.bits()),
        ("read_format", attr.read_format.bits(), ReadFormat::KNOWN.bits()),
        ("branch_sample_type", attr.branch_sample_type.bits(), BranchSampleType::KNOWN.bits()),
        ("flags", attr.flags.bits(), FLAGS),
    ] {
        if bits & !known_bits != 0 {
            report(Rule::Unknown, format!("{field} has unknown bits {:#x}", bits & !known_bits));
        }
    }
}

/// Checks that samples and other records can be assigned to events before their layout is known. Reports the first event of each
/// kind.
pub(super) fn check_together(events: &[Event], mut report: impl FnMut(usize, Rule, String)) {
    let [first, others @ ..] = events else { return };
    if others.is_empty() {
        return;
    }
    let differing = |id_position: fn(&Attr) -> Option<usize>| {
        others.iter().position(|other| id_position(&other.attr) != id_position(&first.attr)).map(|index| index + 1)
    };
    if let Some(index) = differing(id_in_sample) {
        report(
            index,
            Rule::EventsDiffer,
            "the event ID is at a different position in its samples than in those of event 0".into(),
        );
    }
    if let Some(index) = differing(id_in_trailer) {
        report(
            index,
            Rule::EventsDiffer,
            "the event ID is at a different position in its records than in those of event 0".into(),
        );
    }
    let without_ids = events.iter().position(|event| {
        event.attr.sample_type.contains(SampleType::READ) && !event.attr.read_format.contains(ReadFormat::ID)
    });
    if let Some(index) = without_ids {
        report(
            index,
            Rule::EventsDiffer,
            "its samples contain counter values without event IDs (read_format lacks ID)".into(),
        );
    }
}

/// Position of the event ID in a sample, in 8-byte words from the start.
fn id_in_sample(attr: &Attr) -> Option<usize> {
    let has = |field| attr.sample_type.contains(field);
    if has(SampleType::IDENTIFIER) {
        return Some(0);
    }
    let before = [SampleType::IP, SampleType::TID, SampleType::TIME, SampleType::ADDR];
    has(SampleType::ID).then(|| before.into_iter().filter(|&field| has(field)).count())
}

/// Position of the event ID in the sample ID trailer of other records, in 8-byte words from the end.
fn id_in_trailer(attr: &Attr) -> Option<usize> {
    let has = |field| attr.sample_type.contains(field);
    if !attr.flags.contains(AttrFlags::SAMPLE_ID_ALL) {
        return None;
    }
    if has(SampleType::IDENTIFIER) {
        return Some(1);
    }
    has(SampleType::ID).then(|| 1 + usize::from(has(SampleType::CPU)) + usize::from(has(SampleType::STREAM_ID)))
}
