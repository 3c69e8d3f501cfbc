//! Events.

use super::ScenarioLines;
use crate::synth::scenario::file::File;
use crate::synth::scenario::file::event::EventTable;
use crate::synth::scenario::plan::Sampled;
use crate::synth::scenario::registers::Registers;
use crate::synth::scenario::slices::scheduler_format;
use crate::synth::tracepoint::Tracepoint;
use crate::synth::{Event, Metadata};
use bitflags::Flags;
use perf_data::abi::attr::Attr;
use perf_data::abi::attr_flags::AttrFlags;
use perf_data::abi::read_format::ReadFormat;
use perf_data::abi::sample_type::{BranchSampleType, SampleType};
use perf_data::error::Result;
use serde_json::{Map, Value};
use std::ops::Range;
use toml::Spanned;

/// Valid sizes of attrs, with room for future ones.
const ATTR_SIZES: std::ops::RangeInclusive<u32> = Attr::SIZE_VER0 as u32..=1024;

/// Maximum size of the user stack in a sample, so that its other fields fit the record, too.
const MAX_STACK: u32 = 32768;

impl ScenarioLines<'_> {
    /// The events and their sampling.
    pub(super) fn events(
        &self,
        file: &File,
        registers: Option<Registers>,
        metadata: &mut Metadata,
    ) -> Result<Vec<Sampled>> {
        let mut groups: Vec<Range<usize>> = Vec::new();
        for (number, table) in file.event.iter().enumerate() {
            let has_samples = file.switches.as_ref().is_some_and(|switches| switches.samples);
            let mut event = self.event(table, registers)?;
            if let Some(format) = scheduler_format(&event.name).filter(|_| has_samples && table.format.is_empty()) {
                event = event.formatted(format);
            }
            if let Some(size) = &file.attr_size {
                let is_valid = ATTR_SIZES.contains(size.get_ref()) && size.get_ref() % 8 == 0;
                if !is_valid {
                    return Err(self.invalid(size.span(), "attr_size", "expected a multiple of 8 from 64 to 1024"));
                }
                event.attr.size = *size.get_ref();
                event.attr = event.attr.resized(*size.get_ref() as usize);
            }
            metadata.event(event);
            match groups.last_mut().filter(|_| table.grouped) {
                Some(group) => group.end = number + 1,
                None => groups.push(number..number + 1),
            }
        }
        groups.iter().filter(|group| group.len() > 1).for_each(|group| metadata.group(group.start, group.len()));
        let groups = groups.iter().flat_map(|group| group.clone().map(|_| group.clone()));
        let rates = file.event.iter().map(|table| *table.rate.get_ref());
        Ok(rates.zip(groups).map(|(rate, group)| Sampled { rate, group }).collect())
    }

    fn event(&self, table: &EventTable, registers: Option<Registers>) -> Result<Event> {
        let invalid = |name: &Spanned<String>, key: &str, problem: String| self.invalid(name.span(), key, problem);
        let has_kind = table.attr.as_ref().is_some_and(|attr| attr.get_ref().contains_key("kind"));
        let event = match has_kind {
            true => Event::unknown(table.name.get_ref().clone()),
            false => Event::named(table.name.get_ref()),
        };
        let mut event = event.map_err(|e| invalid(&table.name, "event.name", e.to_string()))?;
        if *table.rate.get_ref() > 1_000_000_000 {
            return Err(self.invalid(
                table.rate.span(),
                "event.rate",
                "expected at most 1000000000 samples per second",
            ));
        }
        if let Some(period) = table.period {
            event = event.period(period);
        }
        event = event.with(self.flags(&table.fields, "event.fields")?);
        let branches: BranchSampleType = self.flags(&table.branches, "event.branches")?;
        if !branches.is_empty() {
            event = event.branches(branches);
        }
        event.attr.read_format |= self.flags::<ReadFormat>(&table.read, "event.read")?;
        event.attr.flags |= self.flags::<AttrFlags>(&table.flags, "event.flags")?;
        event.attr.sample_regs_user |= self.mask(&table.regs_user, "event.regs_user", registers)?;
        event.attr.sample_regs_intr |= self.mask(&table.regs_intr, "event.regs_intr", registers)?;
        if let Some(bytes) = &table.user_stack {
            if *bytes.get_ref() > MAX_STACK || bytes.get_ref() % 8 != 0 {
                let problem = format!("expected a multiple of 8 up to {MAX_STACK}");
                return Err(self.invalid(bytes.span(), "event.user_stack", problem));
            }
            event.attr.sample_stack_user = *bytes.get_ref();
            event = event.with(SampleType::STACK_USER);
        }
        if !table.format.is_empty() {
            event = event.formatted(self.format(table)?);
        }
        if let Some(fields) = &table.attr {
            event.attr = self.attr(&event.attr, fields)?;
        }
        for (mask, field) in
            [(event.attr.sample_regs_user, SampleType::REGS_USER), (event.attr.sample_regs_intr, SampleType::REGS_INTR)]
        {
            event = if mask == 0 { event } else { event.with(field) };
        }
        if event.attr.sample_stack_user > MAX_STACK {
            let problem = format!("expected at most {MAX_STACK} bytes");
            return Err(invalid(&table.name, "event.attr.sample_stack_user", problem));
        }
        if !SampleType::KNOWN.contains(event.attr.sample_type) {
            return Err(invalid(&table.name, "event.attr.sample_type", "unknown bits in sample_type".to_owned()));
        }
        Ok(event)
    }

    /// Flags by name.
    fn flags<F: Flags + FromIterator<F>>(&self, names: &[Spanned<String>], key: &str) -> Result<F> {
        let flags = names.iter().map(|name| {
            let error = || {
                let flag_names: Vec<_> =
                    F::FLAGS.iter().map(|flag| flag.name()).filter(|name| !name.is_empty()).collect();
                self.invalid(
                    name.span(),
                    key,
                    format!("unknown name '{}'; expected one of: {}", name.get_ref(), flag_names.join(", ")),
                )
            };
            F::from_name(name.get_ref()).ok_or_else(error)
        });
        flags.collect()
    }

    /// A mask of registers by name.
    fn mask(&self, names: &[Spanned<String>], key: &str, registers: Option<Registers>) -> Result<u64> {
        names.iter().try_fold(0, |mask, name| {
            let bit = registers.and_then(|registers| registers.bit(name.get_ref()));
            let error = || {
                let expected = registers.map_or_else(
                    || "none, as those of this machine are not supported".to_owned(),
                    |registers| registers.names.join(", "),
                );
                self.invalid(
                    name.span(),
                    key,
                    format!("unknown register '{}'; expected one of: {expected}", name.get_ref()),
                )
            };
            Ok(mask | 1 << bit.ok_or_else(error)?)
        })
    }

    /// The attr with some fields replaced.
    fn attr(&self, attr: &Attr, given: &Spanned<Map<String, Value>>) -> Result<Attr> {
        let invalid = |problem: String| self.invalid(given.span(), "event.attr", problem);
        let Ok(Value::Object(mut fields)) = serde_json::to_value(attr) else { return Ok(attr.clone()) };
        for (name, value) in given.get_ref() {
            match fields.get_mut(name).filter(|_| name != "stored") {
                Some(field) => *field = Self::json(value),
                None => return Err(invalid(format!("unknown attr field '{name}'"))),
            }
        }
        Attr::deserialize(Value::Object(fields)).map_err(|e| invalid(e.to_string()))
    }

    /// The tracepoint with its fields.
    fn format(&self, table: &EventTable) -> Result<Tracepoint> {
        let (system, rest) = table.name.get_ref().split_once(':').unwrap_or_default();
        let name = rest.split(':').next().unwrap_or_default();
        table.format.iter().try_fold(Tracepoint::new(system, name), |tracepoint, field| {
            let error = || {
                self.invalid(
                    field.span(),
                    "event.format",
                    "expected a C declaration such as 'int prev_pid' or 'char comm[16]'",
                )
            };
            let (size, signed) = size_and_sign(field.get_ref()).ok_or_else(error)?;
            Ok(tracepoint.field(field.get_ref().as_str(), size, signed))
        })
    }
}

/// Size of a tracepoint field in bytes, and whether it is signed.
fn size_and_sign(declaration: &str) -> Option<(u64, bool)> {
    /// Types by their last word.
    const TYPES: [(&str, u64); 18] = [
        ("char", 1),
        ("bool", 1),
        ("u8", 1),
        ("s8", 1),
        ("short", 2),
        ("u16", 2),
        ("s16", 2),
        ("int", 4),
        ("u32", 4),
        ("s32", 4),
        ("pid_t", 4),
        ("unsigned", 4),
        ("long", 8),
        ("u64", 8),
        ("s64", 8),
        ("size_t", 8),
        ("dev_t", 4),
        ("sector_t", 8),
    ];
    let (head, count) = match declaration.strip_suffix(']').and_then(|text| text.split_once('[')) {
        Some((head, count)) => (head, count.parse().ok().filter(|count| (1..=4096).contains(count))?),
        None => (declaration, 1),
    };
    let (kind, name) = head.rsplit_once([' ', '*'])?;
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let is_pointer = head.contains('*');
    let last = kind.split_whitespace().next_back()?;
    let size = if is_pointer { 8 } else { TYPES.iter().find(|(type_name, _)| *type_name == last)?.1 };
    let is_unsigned = is_pointer
        || kind.contains("unsigned")
        || last.starts_with('u')
        || matches!(last, "bool" | "size_t" | "dev_t" | "sector_t");
    is_name.then_some((size * count, !is_unsigned))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn field_sizes_follow_from_their_types() {
        for (declaration, size) in [
            ("int prev_pid", Some((4, true))),
            ("char prev_comm[16]", Some((16, true))),
            ("unsigned long args[6]", Some((48, false))),
            ("const char *name", Some((8, false))),
            ("u64 bytes", Some((8, false))),
            ("struct thing it", None),
            ("int", None),
            ("int x[0]", None),
        ] {
            assert_eq!(size_and_sign(declaration), size, "{declaration}");
        }
    }
}
