//! Adapts event attrs to a version of perf.

use bitflags::Flags;
use perf_data::abi::attr::Attr;
use perf_data::abi::attr_flags::AuxAction;
use perf_data::abi::read_format::ReadFormat;
use perf_data::abi::sample::layout::SampleLayout;
use perf_data::abi::sample_type::SampleType;
use perf_data::abi::version::PerfVersion;
use std::collections::BTreeSet;

/// Adapts an attr to a version of perf, and notes what is lost. The words that decide the layout of samples are kept where it is
/// unknown: fields cannot be removed from such samples.
pub(crate) fn adapt(attr: &mut Attr, version: PerfVersion, notes: &mut BTreeSet<String>) {
    let is_unknown = SampleLayout::from(&*attr).is_partial() || !ReadFormat::KNOWN.contains(attr.read_format);
    if !is_unknown {
        adapt_layout(attr, version, notes);
    }
    attr.flags = supported_bits(attr.flags, version.attr_flags(), "flags", notes);
    if version < PerfVersion::AUX_ACTION && attr.aux_action != AuxAction::empty() {
        attr.aux_action = AuxAction::empty();
        notes.insert("AUX area actions of events".to_owned());
    }
    let (len, size) = (attr.stored_size(), version.attr_size());
    if len > size {
        let shorter = attr.resized(size);
        if shorter.resized(len) != *attr {
            notes.insert(format!("attr fields beyond the first {size} bytes"));
        }
        *attr = shorter;
    }
    attr.size = attr.size.min(size as u32);
}

fn adapt_layout(attr: &mut Attr, version: PerfVersion, notes: &mut BTreeSet<String>) {
    if attr.sample_type.contains(SampleType::WEIGHT_STRUCT) && version < PerfVersion::WEIGHT_STRUCTS {
        // Older versions read the same 8 bytes as one weight.
        attr.sample_type.insert(SampleType::WEIGHT);
    }
    attr.sample_type = supported_bits(attr.sample_type, version.sample_type(), "sample fields", notes);
    attr.read_format = supported_bits(attr.read_format, version.read_format(), "counter values", notes);
    let branches = version.branch_sample_type();
    attr.branch_sample_type = supported_bits(attr.branch_sample_type, branches, "branch stack fields", notes);
}

/// Returns the bits that the version supports, and notes the names of the others.
fn supported_bits<F: Flags<Bits = u64> + Copy>(
    bits: F,
    supported: F,
    description: &str,
    notes: &mut BTreeSet<String>,
) -> F {
    let unknown = F::from_bits_retain(bits.bits() & !supported.bits());
    let mut named = 0;
    for (name, bit) in unknown.iter_names() {
        named |= bit.bits();
        notes.insert(format!("{description}: {name}"));
    }
    if unknown.bits() & !named != 0 {
        notes.insert(format!("{description}: {:#x}", unknown.bits() & !named));
    }
    F::from_bits_retain(bits.bits() & supported.bits())
}
