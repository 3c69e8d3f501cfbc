//! Names of events.

use crate::abi::attr::{Attr, AttrType, HardwareEvent, SoftwareEvent};
use crate::stream::events::Event;

/// The name of an event from the recording, or one derived from its type and config.
pub fn event_name(event: &Event) -> String {
    event.name.clone().unwrap_or_else(|| fallback_name(&event.attr))
}

/// Whether a name equals the wanted one, or continues it with modifiers or parameters.
pub fn is_called(name: &str, wanted: &str) -> bool {
    name.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with([':', '/']))
}

/// Name of an event that has none in the recording.
fn fallback_name(attr: &Attr) -> String {
    let named = match attr.kind {
        AttrType::HARDWARE => HardwareEvent(attr.config & 0xffff_ffff).name(),
        AttrType::SOFTWARE => SoftwareEvent(attr.config).name(),
        _ => None,
    };
    match (named, attr.kind) {
        (Some(name), _) => name.to_lowercase().replace('_', "-"),
        (None, AttrType::TRACEPOINT) => format!("tracepoint:{}", attr.config),
        (None, AttrType::BREAKPOINT) => format!("mem:{:#x}", attr.bp_addr),
        (None, AttrType::RAW) => format!("raw {:#x}", attr.config),
        (None, kind) => format!("pmu {}/config={:#x}/", kind.0, attr.config),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::Endian;

    #[test]
    fn unnamed_events_are_named_by_type_and_config() {
        let mut attr = Attr::read(&[0; 64], Endian::Little).unwrap();
        assert_eq!(fallback_name(&attr), "cpu-cycles");
        attr.kind = AttrType::SOFTWARE;
        assert_eq!(fallback_name(&attr), "cpu-clock");
    }

    #[test]
    fn a_name_matches_with_any_modifiers() {
        for (name, wanted, is) in [
            ("cycles:u", "cycles", true),
            ("cycles", "cycles", true),
            ("cpu-clock/freq=2000/", "cpu-clock", true),
            ("sched:sched_switch", "sched:sched_switch", true),
            ("cycles", "cycles:u", false),
            ("cycles-ct", "cycles", false),
        ] {
            assert_eq!(is_called(name, wanted), is, "{name} {wanted}");
        }
    }
}
