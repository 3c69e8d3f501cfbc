//! Names of events as perf prints them if none is recorded: with modifiers.

use perf_data::abi::attr::{Attr, AttrType, HardwareEvent};
use perf_data::abi::attr_flags::AttrFlags;
use perf_data::abi::feature::FeatureId;
use perf_data::stream::event_name::event_name;
use perf_data::stream::events::Event;
use perf_data::stream::meta::Meta;
use perf_data::stream::simpleperf_events::META_INFO;
use perf_data::tracepoint::tracepoints::Tracepoints;

/// Names by which perf calls generic hardware events, where they are not those of the definition.
const HARDWARE: [(HardwareEvent, &str); 3] = [
    (HardwareEvent::CPU_CYCLES, "cycles"),
    (HardwareEvent::BRANCH_INSTRUCTIONS, "branches"),
    (HardwareEvent::REF_CPU_CYCLES, "ref-cycles"),
];

/// The names of all events.
pub(crate) fn perf_event_names(meta: &Meta) -> Vec<String> {
    let mut tracepoints = None;
    let read = || meta.features.get(&FeatureId::TRACING_DATA).map(|data| Tracepoints::read(data)).unwrap_or_default();
    let mut name = |event| {
        perf_event_name(event, meta, |id| {
            let tracepoint = tracepoints.get_or_insert_with(read).get(id)?;
            Some(format!("{}:{}", tracepoint.system, tracepoint.name))
        })
    };
    meta.events.list().iter().map(&mut name).collect()
}

/// The recorded name of an event, or the one that perf derives, which `tracepoint` determines for the ID of a tracepoint. perf does not
/// know the names that simpleperf records.
fn perf_event_name(event: &Event, meta: &Meta, tracepoint: impl FnOnce(u64) -> Option<String>) -> String {
    let is_simpleperf = meta.features.contains_key(&META_INFO) && !meta.features.contains_key(&FeatureId::EVENT_DESC);
    if event.name.is_some() && !is_simpleperf {
        return event_name(event);
    }
    let mut unnamed = event.clone();
    unnamed.name = None;
    let event = &unnamed;
    let attr = &event.attr;
    if attr.kind == AttrType::TRACEPOINT {
        return tracepoint(attr.config).unwrap_or_else(|| event_name(event));
    }
    let generic = HARDWARE.iter().find(|(id, _)| attr.kind == AttrType::HARDWARE && attr.config == id.0);
    generic.map_or_else(|| event_name(event), |(_, name)| (*name).to_owned()) + &modifiers(attr)
}

/// Address spaces that the event counts, if it does not count all, and its precision.
fn modifiers(attr: &Attr) -> String {
    let excludes = |flag| attr.flags.contains(flag);
    let mut letters = String::new();
    let levels = [(AttrFlags::EXCLUDE_KERNEL, 'k'), (AttrFlags::EXCLUDE_USER, 'u'), (AttrFlags::EXCLUDE_HV, 'h')];
    // Guests are excluded by default from events that exclude a level or are precise.
    let mut excludes_guests = false;
    if levels.iter().any(|(flag, _)| excludes(*flag)) {
        letters.extend(levels.iter().filter(|(flag, _)| !excludes(*flag)).map(|(_, letter)| letter));
        excludes_guests = true;
    }
    let precision = attr.flags.precise_ip();
    letters.extend((0..precision).map(|_| 'p'));
    excludes_guests |= precision > 0;
    if excludes(AttrFlags::EXCLUDE_HOST) || excludes(AttrFlags::EXCLUDE_GUEST) == excludes_guests {
        let machines = [(AttrFlags::EXCLUDE_HOST, 'H'), (AttrFlags::EXCLUDE_GUEST, 'G')];
        letters.extend(machines.iter().filter(|(flag, _)| !excludes(*flag)).map(|(_, letter)| letter));
    }
    if letters.is_empty() { letters } else { format!(":{letters}") }
}
