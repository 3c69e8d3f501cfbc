//! Anonymizes events and their names.

use super::category::{Category, KeptCategories};
use super::replace::Replacer;
use super::vocabulary::{self, has, has_numbered};
use crate::rewrite::header::Header;
use bitflags::Flags;
use perf_data::abi;
use perf_data::abi::attr::{Attr, AttrType};
use perf_data::abi::feature::FeatureId;
use perf_data::abi::feature::pmu_mappings::PmuMappings;
use perf_data::abi::sample_type::SampleType;
use perf_data::session::space::Space;
use perf_data::stream::events::EventIndex;

/// Fields that are removed as a whole, unless their category is kept.
pub(super) const REMOVABLE: [(SampleType, Category); 4] = [
    (SampleType::REGS_USER, Category::Registers),
    (SampleType::STACK_USER, Category::Stacks),
    (SampleType::REGS_INTR, Category::Registers),
    (SampleType::PHYS_ADDR, Category::PhysAddresses),
];

/// The sample fields that are removed. Tracepoint samples keep RAW with the common fields only: without it perf report crashes.
pub fn removed_fields(kept: KeptCategories, kind: AttrType) -> SampleType {
    let unless_kept = |category, fields| if kept.has(category) { SampleType::empty() } else { fields };
    let raw = if kind == AttrType::TRACEPOINT { SampleType::empty() } else { SampleType::RAW };
    let removable = REMOVABLE.into_iter().map(|(fields, category)| unless_kept(category, fields));
    removable.fold(SampleType::AUX | unless_kept(Category::Raw, raw), SampleType::union)
}

/// The bits with a known meaning.
fn known_bits<F: Flags<Bits = u64> + Copy>(bits: F) -> F {
    let named = F::FLAGS.iter().filter(|flag| flag.is_named()).fold(0, |all, flag| all | flag.value().bits());
    F::from_bits_retain(bits.bits() & named)
}

/// Whether the layout of an event's records is known.
fn is_known(attr: &Attr) -> bool {
    known_bits(attr.sample_type) == attr.sample_type
        && known_bits(attr.read_format) == attr.read_format
        && known_bits(attr.branch_sample_type) == attr.branch_sample_type
}

impl Replacer {
    /// Collects the event types and tracepoints that are user-defined probes.
    pub(crate) fn collect_probes(&mut self, header: &Header) {
        if let Some(bytes) = header.features.get(&FeatureId::TRACING_DATA) {
            self.collect_tracepoints(bytes);
        }
        if let Some(bytes) = header.features.get(&FeatureId::PMU_MAPPINGS)
            && let Ok((mappings, _)) = abi::parse::<PmuMappings>(bytes, header.endian, ())
        {
            for pmu in &mappings.pmus {
                match pmu.name.text() {
                    b"kprobe" | b"uprobe" => drop(self.probe_types.insert(pmu.kind)),
                    name if has_numbered(vocabulary::PMUS, name) => drop(self.pmu_types.insert(pmu.kind)),
                    _ => {}
                }
            }
        }
    }

    /// Whether the layout of an event's samples is known.
    #[inline]
    pub(super) fn knows_layout(&mut self, index: EventIndex, attr: &Attr) -> bool {
        let index = index as usize;
        if self.layouts.len() <= index {
            self.layouts.resize(index + 1, None);
        }
        *self.layouts[index].get_or_insert_with(|| is_known(attr))
    }

    /// Anonymizes an attr: drops removed sample fields, replaces its addresses, and clears unknown bits.
    pub(crate) fn attr(&mut self, attr: &Attr) -> Attr {
        let mut attr = attr.resized(attr.stored_size().min(Attr::SIZE_KNOWN));
        attr.size = attr.size.min(Attr::SIZE_KNOWN as u32);
        attr.flags = known_bits(attr.flags);
        attr.sample_type = known_bits(attr.sample_type) - removed_fields(self.kept, attr.kind);
        attr.read_format = known_bits(attr.read_format);
        attr.branch_sample_type = known_bits(attr.branch_sample_type);
        (attr.aux_sample_size, attr.sig_data, attr.reserved_2) = (0, 0, 0);
        if !self.kept.has(Category::Registers) {
            (attr.sample_regs_user, attr.sample_regs_intr) = (0, 0);
        }
        if !self.kept.has(Category::Stacks) {
            attr.sample_stack_user = 0;
        }
        // `config1` to `config4` of probes are names and addresses, are unused in types without further configuration, and
        // may be anything in unknown types.
        let has_config = match attr.kind {
            kind if kind <= AttrType::TRACEPOINT => false,
            AttrType::HW_CACHE | AttrType::RAW => true,
            kind => self.pmu_types.contains(&kind.0),
        };
        if attr.kind == AttrType::BREAKPOINT {
            attr.bp_addr = self.address(Space::Unknown, attr.bp_addr);
        } else if !self.kept.has(Category::Addresses) && !has_config {
            (attr.bp_addr, attr.bp_len, attr.config3, attr.config4) = (0, 0, 0, 0);
        }
        attr
    }

    /// Anonymizes an event name. Names that neither perf nor the kernel defines are replaced, by perf's own name if it follows
    /// from the attr.
    pub(crate) fn event_name(&mut self, name: &[u8], attr: Option<&Attr>) -> Vec<u8> {
        let is_own = attr.is_some_and(|attr| {
            attr.kind == AttrType::TRACEPOINT && self.probes.contains(&attr.config)
                || attr.kind == AttrType::BREAKPOINT && !self.kept.has(Category::Addresses)
                || self.probe_types.contains(&attr.kind.0)
        });
        // The user may give an event the name of another one.
        let is_tracepoint = attr.is_some_and(|attr| attr.kind == AttrType::TRACEPOINT);
        if self.kept.has(Category::Events) || !is_own && self.is_common_event(name, is_tracepoint) {
            return name.to_vec();
        }
        self.replace_event_name(name, attr)
    }

    /// Anonymizes a tracepoint name without an attr.
    pub(crate) fn tracepoint_name(&mut self, name: &[u8]) -> Vec<u8> {
        if self.is_common_event(name, true) { name.to_vec() } else { self.replace_event_name(name, None) }
    }

    /// Whether an event name may be kept.
    pub(super) fn is_common_event(&self, name: &[u8], is_tracepoint: bool) -> bool {
        let is_own = || self.probe_names.contains(without_modifiers(name).0);
        let names_machine = || !self.kept.has(Category::Machine) && vocabulary::names_model(name);
        self.kept.has(Category::Events)
            || name.is_empty()
            || is_common(name, is_tracepoint) && !is_own() && !names_machine()
    }

    fn replace_event_name(&mut self, name: &[u8], attr: Option<&Attr>) -> Vec<u8> {
        self.replaces(Category::Events);
        let (plain, modifiers) = without_modifiers(name);
        let mut to = match attr {
            Some(attr) if attr.kind == AttrType::RAW => format!("r{:x}", attr.config).into_bytes(),
            Some(attr) if attr.kind == AttrType::BREAKPOINT => {
                let address = self.address(Space::Unknown, attr.bp_addr);
                let access = ["", "r", "w", "rw", "x"].get(attr.bp_type as usize).copied().unwrap_or_default();
                format!("mem:{address:#x}:{access}").into_bytes()
            }
            _ => match plain.iter().position(|&byte| byte == b':') {
                Some(colon) => {
                    [&self.names.name(&plain[..colon])[..], b":", &self.names.name(&plain[colon + 1..])].concat()
                }
                None => self.names.name(plain),
            },
        };
        if let Some(modifiers) = modifiers {
            to.push(b':');
            to.extend(modifiers);
        }
        to
    }
}

/// Splits a name and its modifiers.
fn without_modifiers(name: &[u8]) -> (&[u8], Option<&[u8]>) {
    match name.iter().rposition(|&byte| byte == b':') {
        Some(colon) if name[colon + 1..].iter().all(|byte| b"ukhGHpPSDIWebR".contains(byte)) => {
            (&name[..colon], Some(&name[colon + 1..]))
        }
        _ => (name, None),
    }
}

/// Whether this is a common event name; `SYSTEM:NAME` only for tracepoints.
pub fn is_common(name: &[u8], is_tracepoint: bool) -> bool {
    let (name, _) = without_modifiers(name);
    if has(vocabulary::UNNAMED, name) {
        return true;
    }
    if let Some(colon) = name.iter().position(|&byte| byte == b':') {
        let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"_*?".contains(byte);
        return is_tracepoint && has(vocabulary::SYSTEMS, &name[..colon]) && name[colon + 1..].iter().all(is_plain);
    }
    match name.iter().position(|&byte| byte == b'/') {
        Some(slash) => {
            has_numbered(vocabulary::PMUS, &name[..slash])
                && name[slash + 1..].split(|byte| b"/=,".contains(byte)).all(is_term)
        }
        None => is_event(name) || has_numbered(vocabulary::PMUS, name),
    }
}

/// Whether this is a raw event name, such as `r1a8`.
pub fn is_raw(name: &[u8]) -> bool {
    let digits = without_modifiers(name).0.strip_prefix(b"r").unwrap_or_default();
    digits.iter().any(u8::is_ascii_digit) && digits.len() <= 8 && digits.iter().all(u8::is_ascii_hexdigit)
}

fn is_event(word: &[u8]) -> bool {
    has(vocabulary::EVENTS, word) || vocabulary::is_cache_event(word)
}

/// Whether this is a term or modifier of a PMU event.
fn is_term(word: &[u8]) -> bool {
    let is_number = |digits: &[u8]| digits.len() <= 8 && digits.iter().all(u8::is_ascii_hexdigit);
    let is_modifier = word.len() <= 3 && word.iter().all(|byte| b"ukhGHpPSD".contains(byte));
    is_modifier
        || word.strip_prefix(b"0x").is_some_and(is_number)
        || word.len() <= 8 && word.iter().all(u8::is_ascii_digit)
        || has(vocabulary::TERMS, word)
        || is_event(word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rewrite::anonymize::key::Key;
    use perf_data::abi::Endian;

    #[test]
    fn recognizes_common_event_names() {
        for common in [
            "cycles:u",
            "cpu-clock",
            "cpu/cycles/ppp",
            "sched:sched_switch",
            "L1-dcache-load-misses:k",
            "unknown",
            "cpu/event=0x3c,umask=0x1/u",
            "uncore_imc_0/cas_count_read/",
            "intel_pt//",
            "dummy:HG",
        ] {
            assert_eq!(is_common(common.as_bytes(), true), !common.contains("cas_count"), "{common}");
        }
        for own in [
            "secret",
            "probe:main",
            "probe_libc:malloc",
            "cpu/name=secret/",
            "sched:a b",
            "deadbeefdeadbeef",
            "mem:0x7ffe12345678:rw",
            "4111111111111111",
            "0xdeadbeef",
            "rca11ab1e",
            "time=12345678",
            "cpu4111111111111111/cycles/",
        ] {
            assert!(!is_common(own.as_bytes(), true), "{own}");
        }
        assert!(!is_common(b"net:sekret", false) && is_raw(b"r1a8:u") && !is_raw(b"rare") && !is_raw(b"r1234567890"));
    }

    #[test]
    fn replacements_are_valid_event_names() {
        let mut replace = Replacer::new(Key::new(&[1; 16]).unwrap(), KeptCategories::default());
        let mut attr = Attr::read(&[0; 112], Endian::Little).unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let probe = text(replace.event_name(b"probe_app:secret:u", Some(&attr)));
        assert!(probe.ends_with(":u") && probe.len() == 2 * 12 + 3, "{probe}");
        attr.kind = AttrType::RAW;
        attr.config = 0x1c0;
        assert_eq!(text(replace.event_name(b"inst_retired.any", Some(&attr))), "r1c0");
        attr.kind = AttrType::TRACEPOINT;
        assert_eq!(text(replace.event_name(b"sched:mine", Some(&attr))), "sched:mine");
        replace.probes.insert(0x1c0);
        assert_ne!(text(replace.event_name(b"sched:mine", Some(&attr))), "sched:mine");
        assert_eq!(replace.summary.replaced[Category::Events as usize], 3);
        attr.kind = AttrType::SOFTWARE;
        for own in ["sched:alice", "rca11ab1e"] {
            assert_ne!(text(replace.event_name(own.as_bytes(), Some(&attr))), own);
        }
        assert_eq!(text(replace.tracepoint_name(b"sched:sched_switch")), "sched:sched_switch");
    }
}
