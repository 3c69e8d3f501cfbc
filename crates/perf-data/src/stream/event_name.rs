//! Names of events.

use crate::abi::attr::{Attr, AttrType, HardwareEvent, SoftwareEvent};
use crate::stream::events::Event;

/// The name of an event from the recording, or one derived from its type and config.
pub fn event_name(event: &Event) -> String {
    event.name.clone().unwrap_or_else(|| fallback_name(&event.attr))
}

/// The modifiers of perf, which follow the last colon of an event name, or the last slash of a PMU's event.
pub const MODIFIERS: &str = "ukhGHpPDIWeSbRX";

/// Terms of an event that say how it is sampled, not what it counts.
const SETTINGS: [&str; 17] = [
    "period",
    "freq",
    "time",
    "call-graph",
    "stack-size",
    "max-stack",
    "nr",
    "inherit",
    "no-inherit",
    "overwrite",
    "no-overwrite",
    "branch_type",
    "percore",
    "driver-config",
    "aux-output",
    "aux-action",
    "aux-sample-size",
];

/// The parts of an event name: `event:modifiers` or `pmu/event,settings/modifiers`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameParts<'a> {
    /// The PMU, if named.
    pub pmu: Option<&'a str>,
    /// What is counted, without settings.
    pub event: String,
    /// The modifiers.
    pub modifiers: &'a str,
}

impl<'a> NameParts<'a> {
    /// Parses a name. That of a tracepoint has one more colon.
    pub fn parse(name: &'a str, is_tracepoint: bool) -> Self {
        Self::with_settings(name, is_tracepoint, is_setting)
    }

    fn with_settings(name: &'a str, is_tracepoint: bool, is_setting: fn(&str) -> bool) -> Self {
        let is_breakpoint = name.starts_with("mem:");
        if !is_breakpoint
            && let Some((head, rest)) = name.split_once('/')
            && let Some((terms, modifiers)) = rest.rsplit_once('/')
            && let modifiers = modifiers.trim_start_matches(':')
            && are_modifiers(modifiers)
        {
            let terms: Vec<_> = terms.split(',').filter(|term| !is_setting(term)).collect();
            return match terms.is_empty() {
                true => Self { pmu: None, event: head.to_owned(), modifiers },
                false => Self { pmu: Some(head), event: terms.join(","), modifiers },
            };
        }
        // mem:ADDRESS:ACCESS and SYSTEM:NAME have colons of their own.
        let own_colons = 2 * usize::from(is_breakpoint) + usize::from(is_tracepoint);
        match name.rsplit_once(':') {
            Some((event, modifiers)) if are_modifiers(modifiers) && event.matches(':').count() >= own_colons => {
                Self { pmu: None, event: event.to_owned(), modifiers }
            }
            _ => Self { pmu: None, event: name.to_owned(), modifiers: "" },
        }
    }

    fn has_same_modifiers(&self, other: &Self) -> bool {
        let sorted = |text: &str| {
            let mut letters: Vec<_> = text.bytes().collect();
            letters.sort_unstable();
            letters
        };
        sorted(self.modifiers) == sorted(other.modifiers)
    }
}

fn are_modifiers(text: &str) -> bool {
    text.chars().all(|letter| MODIFIERS.contains(letter))
}

fn is_setting(term: &str) -> bool {
    SETTINGS.contains(&term.split_once('=').map_or(term, |(key, _)| key).trim())
}

/// Whether a name equals the wanted one, or adds a PMU, modifiers or parameters to it.
pub fn is_called(name: &str, wanted: &str) -> bool {
    let continues = |rest: &str| rest.is_empty() || rest.starts_with([':', '/']);
    if name.strip_prefix(wanted).is_some_and(continues) {
        return true;
    }
    // Settings in the wanted name must be those of the event.
    let wanted = NameParts::with_settings(wanted, false, |_| false);
    let parts = NameParts::parse(name, false);
    parts.event == wanted.event
        && (wanted.pmu.is_none() || wanted.pmu == parts.pmu)
        && (wanted.modifiers.is_empty() || wanted.has_same_modifiers(&parts))
}

/// Name of an event that has none in the recording.
fn fallback_name(attr: &Attr) -> String {
    let named = match attr.kind {
        // The upper half of `config` is the PMU on hybrid CPUs.
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
    fn names_have_a_pmu_an_event_and_modifiers() {
        for (name, is_tracepoint, pmu, event, modifiers) in [
            ("cycles", false, None, "cycles", ""),
            ("cycles:ppp", false, None, "cycles", "ppp"),
            ("cycles:HG", false, None, "cycles", "HG"),
            ("cycles:foo", false, None, "cycles:foo", ""),
            ("cpu_core/cycles/P", false, Some("cpu_core"), "cycles", "P"),
            ("cpu/event=0x3c,freq=99,umask=1/u", false, Some("cpu"), "event=0x3c,umask=1", "u"),
            ("cpu-clock/freq=2000/", false, None, "cpu-clock", ""),
            ("sched:up", true, None, "sched:up", ""),
            ("sched:sched_switch:u", true, None, "sched:sched_switch", "u"),
            ("mem:0x1000/8:rw", false, None, "mem:0x1000/8:rw", ""),
            ("mem:0x1000/8:w:u", false, None, "mem:0x1000/8:w", "u"),
            ("raw 0x1a8", false, None, "raw 0x1a8", ""),
        ] {
            let expected = NameParts { pmu, event: event.to_owned(), modifiers };
            assert_eq!(NameParts::parse(name, is_tracepoint), expected, "{name}");
        }
    }

    #[test]
    fn a_name_matches_with_any_pmu_and_modifiers() {
        for (name, wanted, is) in [
            ("cycles:u", "cycles", true),
            ("cycles", "cycles", true),
            ("cpu-clock/freq=2000/", "cpu-clock", true),
            ("sched:sched_switch", "sched:sched_switch", true),
            ("cycles", "cycles:u", false),
            ("cycles-ct", "cycles", false),
            ("cpu_core/cycles/", "cycles", true),
            ("cpu_atom/cycles/P", "cycles", true),
            ("cpu_atom/cycles/:P", "cycles", true),
            ("cpu_atom/cycles,period=1000/Pu", "cycles", true),
            ("cpu_atom/cycles/Pu", "cycles:uP", true),
            ("cpu_atom/cycles/P", "cycles:u", false),
            ("cpu_atom/cycles/P", "cpu_atom/cycles/", true),
            ("cpu_atom/cycles/P", "cpu_core/cycles/", false),
            ("cpu_atom/cycles/P", "cpu_core/cycles/P", false),
            ("cpu_atom/cycles/P", "cpu_atom", true),
            ("cpu_atom/event=0x3c,umask=0/u", "cpu_atom/event=0x3c,umask=0/", true),
            ("cpu_core/L1-dcache-loads/", "L1-dcache-loads", true),
            ("cpu-clock/freq=1000/", "cpu-clock/freq=2000/", false),
            ("cycles", "cpu_core/cycles/", false),
        ] {
            assert_eq!(is_called(name, wanted), is, "{name} {wanted}");
        }
    }
}
