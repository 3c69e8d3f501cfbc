//! Event names in the syntax of `perf record -e`, and their attrs.

use perf_data::abi::attr::{Attr, AttrType, HardwareEvent, SoftwareEvent};
use perf_data::abi::attr_flags::AttrFlags;
use perf_data::error::{Error, Result};
use perf_data::stream::event_name::MODIFIERS;

/// Generic hardware events.
const HARDWARE: [(&str, HardwareEvent); 14] = [
    ("cycles", HardwareEvent::CPU_CYCLES),
    ("cpu-cycles", HardwareEvent::CPU_CYCLES),
    ("instructions", HardwareEvent::INSTRUCTIONS),
    ("cache-references", HardwareEvent::CACHE_REFERENCES),
    ("cache-misses", HardwareEvent::CACHE_MISSES),
    ("branches", HardwareEvent::BRANCH_INSTRUCTIONS),
    ("branch-instructions", HardwareEvent::BRANCH_INSTRUCTIONS),
    ("branch-misses", HardwareEvent::BRANCH_MISSES),
    ("bus-cycles", HardwareEvent::BUS_CYCLES),
    ("stalled-cycles-frontend", HardwareEvent::STALLED_CYCLES_FRONTEND),
    ("idle-cycles-frontend", HardwareEvent::STALLED_CYCLES_FRONTEND),
    ("stalled-cycles-backend", HardwareEvent::STALLED_CYCLES_BACKEND),
    ("idle-cycles-backend", HardwareEvent::STALLED_CYCLES_BACKEND),
    ("ref-cycles", HardwareEvent::REF_CPU_CYCLES),
];

/// Software events.
const SOFTWARE: [(&str, SoftwareEvent); 15] = [
    ("cpu-clock", SoftwareEvent::CPU_CLOCK),
    ("task-clock", SoftwareEvent::TASK_CLOCK),
    ("page-faults", SoftwareEvent::PAGE_FAULTS),
    ("faults", SoftwareEvent::PAGE_FAULTS),
    ("context-switches", SoftwareEvent::CONTEXT_SWITCHES),
    ("cs", SoftwareEvent::CONTEXT_SWITCHES),
    ("cpu-migrations", SoftwareEvent::CPU_MIGRATIONS),
    ("migrations", SoftwareEvent::CPU_MIGRATIONS),
    ("minor-faults", SoftwareEvent::PAGE_FAULTS_MIN),
    ("major-faults", SoftwareEvent::PAGE_FAULTS_MAJ),
    ("alignment-faults", SoftwareEvent::ALIGNMENT_FAULTS),
    ("emulation-faults", SoftwareEvent::EMULATION_FAULTS),
    ("dummy", SoftwareEvent::DUMMY),
    ("bpf-output", SoftwareEvent::BPF_OUTPUT),
    ("cgroup-switches", SoftwareEvent::CGROUP_SWITCHES),
];

/// Caches, indexed by their number in `config`.
const CACHES: [&str; 7] = ["L1-dcache", "L1-icache", "LLC", "dTLB", "iTLB", "branch", "node"];

/// Cache operations, indexed by their number in `config`: names for all accesses and for misses.
const CACHE_OPERATIONS: [(&str, &str); 3] =
    [("loads", "load-misses"), ("stores", "store-misses"), ("prefetches", "prefetch-misses")];

/// Sets type, config and modifiers of an attr from an event name. Returns system and name of a tracepoint, whose ID does not
/// follow from the name.
///
/// Supports hardware, software and cache events, tracepoints (`sched:sched_switch`), raw events (`r1a8`) and breakpoints
/// (`mem:0x1000:rw`), each with the modifiers of perf. `W`, `S`, `b`, `R` and `X` concern perf only, not the attr.
///
/// # Errors
/// If the event or a modifier is unknown.
pub(super) fn apply<'a>(name: &'a str, attr: &mut Attr) -> Result<Option<(&'a str, &'a str)>> {
    let (head, rest) = name.split_once(':').unwrap_or((name, ""));
    if let Some((kind, config)) = known_event(head) {
        (attr.kind, attr.config) = (kind, config);
        modify(name, rest, attr)?;
        return Ok(None);
    }
    if head == "mem" {
        breakpoint(name, rest, attr)?;
        return Ok(None);
    }
    let (point, modifiers) = rest.split_once(':').unwrap_or((rest, ""));
    let is_name =
        |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if !is_name(head) || !is_name(point) {
        let problem = "is not a known event; describe events of other PMUs by their attr";
        return Err(Error::invalid(format!("'{name}' {problem}")));
    }
    attr.kind = AttrType::TRACEPOINT;
    modify(name, modifiers, attr)?;
    Ok(Some((head, point)))
}

fn known_event(name: &str) -> Option<(AttrType, u64)> {
    if let Some((_, event)) = HARDWARE.iter().find(|(candidate, _)| *candidate == name) {
        return Some((AttrType::HARDWARE, event.0));
    }
    if let Some((_, event)) = SOFTWARE.iter().find(|(candidate, _)| *candidate == name) {
        return Some((AttrType::SOFTWARE, event.0));
    }
    let raw = name.strip_prefix('r').filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
    if let Some(config) = raw.and_then(|digits| u64::from_str_radix(digits, 16).ok()) {
        return Some((AttrType::RAW, config));
    }
    let (cache, rest) = CACHES.iter().enumerate().find_map(|(number, cache)| {
        let rest = name.strip_prefix(cache)?.strip_prefix('-')?;
        Some((number as u64, rest))
    })?;
    let (operation, result) = CACHE_OPERATIONS.iter().enumerate().find_map(|(number, (all, misses))| match rest {
        rest if rest == *all => Some((number as u64, 0)),
        rest if rest == *misses => Some((number as u64, 1)),
        _ => None,
    })?;
    Some((AttrType::HW_CACHE, cache | operation << 8 | result << 16))
}

/// Highest precision of the instruction pointer: `ppp`, and what perf tries first for `P`.
const MAX_PRECISION: usize = 3;

fn modify(name: &str, modifiers: &str, attr: &mut Attr) -> Result<()> {
    let spaces = [('u', AttrFlags::EXCLUDE_USER), ('k', AttrFlags::EXCLUDE_KERNEL), ('h', AttrFlags::EXCLUDE_HV)];
    let machines = [('H', AttrFlags::EXCLUDE_HOST), ('G', AttrFlags::EXCLUDE_GUEST)];
    for set in [&spaces[..], &machines] {
        if set.iter().any(|(letter, _)| modifiers.contains(*letter)) {
            let others = set.iter().filter(|(letter, _)| !modifiers.contains(*letter));
            others.for_each(|(_, flag)| attr.flags |= *flag);
        }
    }
    let precise = modifiers.matches('p').count();
    if precise > MAX_PRECISION || !modifiers.chars().all(|letter| MODIFIERS.contains(letter)) {
        let expected = MODIFIERS.chars().map(String::from).collect::<Vec<_>>().join(", ");
        return Err(Error::invalid(format!(
            "'{name}': unknown modifiers '{modifiers}'; expected some of {expected}, with at most {MAX_PRECISION} p"
        )));
    }
    let precise = if modifiers.contains('P') { MAX_PRECISION } else { precise };
    attr.flags |= AttrFlags::from_bits_retain((precise as u64) * AttrFlags::PRECISE_IP_0.bits());
    attr.flags.set(AttrFlags::PINNED, modifiers.contains('D'));
    attr.flags.set(AttrFlags::EXCLUSIVE, modifiers.contains('e'));
    attr.flags.set(AttrFlags::EXCLUDE_IDLE, modifiers.contains('I'));
    Ok(())
}

/// `mem:ADDRESS[/LENGTH][:rwx[:MODIFIERS]]`.
fn breakpoint(name: &str, rest: &str, attr: &mut Attr) -> Result<()> {
    /// `HW_BREAKPOINT_R`, `_W` and `_X`.
    const ACCESSES: [(char, u32); 3] = [('r', 1), ('w', 2), ('x', 4)];
    /// Default length in bytes.
    const LENGTH: u64 = 4;
    let invalid = || Error::invalid(format!("'{name}' is not a breakpoint; expected for instance mem:0x1000/4:rw"));
    let mut parts = rest.split(':');
    let range = parts.next().unwrap_or_default();
    let (address, length) = range.split_once('/').unwrap_or((range, ""));
    let hex = address.strip_prefix("0x").ok_or_else(invalid)?;
    attr.kind = AttrType::BREAKPOINT;
    attr.bp_addr = u64::from_str_radix(hex, 16).map_err(|_| invalid())?;
    attr.bp_len = if length.is_empty() { LENGTH } else { length.parse().map_err(|_| invalid())? };
    for letter in parts.next().unwrap_or("rw").chars() {
        attr.bp_type |= ACCESSES.iter().find(|(access, _)| *access == letter).ok_or_else(invalid)?.1;
    }
    modify(name, parts.next().unwrap_or_default(), attr)?;
    if parts.next().is_some() { Err(invalid()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perf_data::abi::Endian;

    fn attr(name: &str) -> Attr {
        let mut attr = Attr::read(&[0; 128], Endian::Little).unwrap();
        apply(name, &mut attr).unwrap();
        attr
    }

    #[test]
    fn names_give_types_and_configs() {
        for (name, kind, config) in [
            ("cycles", AttrType::HARDWARE, 0),
            ("branch-misses:u", AttrType::HARDWARE, 5),
            ("cs", AttrType::SOFTWARE, 3),
            ("L1-dcache-load-misses", AttrType::HW_CACHE, 0x1_0000),
            ("LLC-stores", AttrType::HW_CACHE, 0x102),
            ("node-prefetch-misses", AttrType::HW_CACHE, 0x1_0206),
            ("branch-loads", AttrType::HW_CACHE, 5),
            ("r1a8:k", AttrType::RAW, 0x1a8),
            ("sched:sched_switch", AttrType::TRACEPOINT, 0),
        ] {
            let attr = attr(name);
            assert_eq!((attr.kind, attr.config), (kind, config), "{name}");
        }
        let breakpoint = attr("mem:0x1000/8:w:u");
        assert_eq!((breakpoint.bp_addr, breakpoint.bp_len, breakpoint.bp_type), (0x1000, 8, 2));
        assert_eq!(breakpoint.flags, AttrFlags::EXCLUDE_KERNEL | AttrFlags::EXCLUDE_HV);
    }

    #[test]
    fn modifiers_exclude_all_other_modes() {
        assert_eq!(attr("cycles:uk").flags, AttrFlags::EXCLUDE_HV);
        assert_eq!(attr("cycles:G").flags, AttrFlags::EXCLUDE_HOST);
        assert_eq!(attr("cycles:ppp").flags.precise_ip(), 3);
        assert_eq!(attr("cycles:pu").flags.precise_ip(), 1);
        assert_eq!(attr("cycles:P").flags.precise_ip(), 3, "the default of perf 6.7");
        assert_eq!(attr("cycles:I").flags, AttrFlags::EXCLUDE_IDLE);
        assert_eq!(attr("cycles:eD").flags, AttrFlags::EXCLUSIVE | AttrFlags::PINNED);
    }

    #[test]
    fn every_modifier_of_perf_is_known() {
        for letter in MODIFIERS.chars() {
            for name in ["cycles", "cpu-clock", "r1a8", "L1-dcache-loads", "sched:sched_switch", "mem:0x10:rw"] {
                attr(&format!("{name}:{letter}"));
            }
        }
    }

    #[test]
    fn rejects_unknown_names() {
        let mut attr = attr("cycles");
        for name in
            ["", "cycle", "cycles:q", "cycles:pppp", "cpu/event=1/", "a:b:q", "mem:1000", "mem:0x1:q", "sched:", ":x"]
        {
            assert!(apply(name, &mut attr).is_err(), "{name:?}");
        }
    }
}
