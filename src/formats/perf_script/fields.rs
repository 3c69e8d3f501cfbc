//! The fields of perf script text, with perf's names, in the order in which perf prints them.

use super::printer::{Head, Printer};
use super::{branches, call_chain, head, memory, registers, trace};
use crate::suggest;
use perf_data::abi::attr::AttrType;
use perf_data::abi::sample::field::SampleField;
use perf_data::abi::sample_type::SampleType;
use std::ops::{BitAnd, BitOr};

#[derive(Clone, Copy)]
pub(super) struct ScriptField {
    pub name: &'static str,
    /// What it needs.
    pub needs: Needs,
    /// How it is printed.
    pub print: Print,
}

/// What a field needs.
#[derive(Clone, Copy)]
pub(super) enum Needs {
    /// Nothing: it is printed in any case, or omitted in samples that lack it.
    Nothing,
    /// A field of samples.
    Sample(SampleType),
    /// Another field of the text.
    Field(&'static str),
    /// The instruction pointer or the data address.
    Address,
    /// All taken branches.
    AllBranches,
}

/// How a field is printed.
#[derive(Clone, Copy)]
pub(super) enum Print {
    /// For samples and other records.
    Head(fn(&Head<'_>, FieldSet, &mut Vec<u8>)),
    /// For samples.
    Sample(fn(&mut Printer<'_>, &mut Vec<u8>)),
    /// As the text of a field of samples.
    Text(SampleField),
    /// As a part of other fields.
    Part,
    /// Not at all; perf prints nothing for it either in a recording without traces of instructions.
    Nothing,
    /// Not supported, for this reason.
    Unsupported(&'static str),
}

const INSTRUCTIONS: Print = Print::Unsupported("perfconv does not decode instructions; use 'perf script'");

/// Blocks of instructions.
#[cfg(feature = "disassembly")]
mod blocks {
    use super::Print;
    use crate::formats::perf_script::branch_blocks::{bytes, lengths, texts};

    pub(super) const BYTES: Print = Print::Sample(bytes);
    pub(super) const LENGTHS: Print = Print::Sample(lengths);
    pub(super) const TEXTS: Print = Print::Sample(texts);
}

/// Blocks of instructions.
#[cfg(not(feature = "disassembly"))]
mod blocks {
    use super::Print;

    const MISSING: Print = Print::Unsupported("this program was built without the feature disassembly");
    pub(super) const BYTES: Print = MISSING;
    pub(super) const LENGTHS: Print = MISSING;
    pub(super) const TEXTS: Print = MISSING;
}

const METRICS: Print = Print::Unsupported("perfconv does not compute metrics; use 'perf script'");

/// All fields: those of perf, then fields of samples that are shown as text.
pub(super) const FIELDS: &[ScriptField] = &{
    const TEXTS: &[SampleField] = SampleField::SHOWN_AS_TEXT;
    let mut fields = [PERF_FIELDS[0]; PERF_FIELDS.len() + TEXTS.len()];
    let mut index = 0;
    while index < fields.len() {
        fields[index] = if index < PERF_FIELDS.len() {
            PERF_FIELDS[index]
        } else {
            let field = TEXTS[index - PERF_FIELDS.len()];
            ScriptField { name: field.name(), needs: Needs::Sample(field.bits()), print: Print::Text(field) }
        };
        index += 1;
    }
    fields
};

/// Fields of perf.
const PERF_FIELDS: &[ScriptField] = &[
    ScriptField { name: "comm", needs: Needs::Nothing, print: Print::Head(head::comm) },
    ScriptField { name: "pid", needs: Needs::Sample(SampleType::TID), print: Print::Head(head::pid) },
    ScriptField { name: "tid", needs: Needs::Sample(SampleType::TID), print: Print::Head(head::tid) },
    ScriptField { name: "cpu", needs: Needs::Sample(SampleType::CPU), print: Print::Head(head::cpu) },
    ScriptField { name: "misc", needs: Needs::Nothing, print: Print::Head(head::misc) },
    ScriptField { name: "tod", needs: Needs::Nothing, print: Print::Head(head::time_of_day) },
    ScriptField { name: "time", needs: Needs::Sample(SampleType::TIME), print: Print::Head(head::time) },
    ScriptField { name: "period", needs: Needs::Nothing, print: Print::Sample(head::period) },
    ScriptField { name: "event", needs: Needs::Nothing, print: Print::Sample(head::event) },
    ScriptField { name: "flags", needs: Needs::Nothing, print: Print::Sample(head::flags) },
    ScriptField { name: "trace", needs: Needs::Nothing, print: Print::Sample(trace::trace) },
    ScriptField { name: "addr", needs: Needs::Sample(SampleType::ADDR), print: Print::Sample(memory::addr) },
    ScriptField {
        name: "data_src",
        needs: Needs::Sample(SampleType::DATA_SRC),
        print: Print::Sample(memory::data_src),
    },
    ScriptField {
        name: "weight",
        needs: Needs::Sample(SampleType::WEIGHT.union(SampleType::WEIGHT_STRUCT)),
        print: Print::Sample(memory::weight),
    },
    ScriptField {
        name: "ins_lat",
        needs: Needs::Sample(SampleType::WEIGHT_STRUCT),
        print: Print::Sample(memory::ins_lat),
    },
    ScriptField {
        name: "retire_lat",
        needs: Needs::Sample(SampleType::WEIGHT_STRUCT),
        print: Print::Sample(memory::retire_lat),
    },
    ScriptField { name: "ip", needs: Needs::Sample(SampleType::IP), print: Print::Sample(call_chain::frames) },
    ScriptField { name: "sym", needs: Needs::Address, print: Print::Part },
    ScriptField { name: "symoff", needs: Needs::Field("sym"), print: Print::Part },
    ScriptField { name: "dso", needs: Needs::Address, print: Print::Part },
    ScriptField { name: "dsoff", needs: Needs::Address, print: Print::Part },
    ScriptField { name: "srcline", needs: Needs::Field("ip"), print: Print::Part },
    ScriptField {
        name: "iregs",
        needs: Needs::Sample(SampleType::REGS_INTR),
        print: Print::Sample(registers::interrupt_registers),
    },
    ScriptField {
        name: "uregs",
        needs: Needs::Sample(SampleType::REGS_USER),
        print: Print::Sample(registers::user_registers),
    },
    ScriptField { name: "brstack", needs: Needs::Nothing, print: Print::Sample(branches::addresses) },
    ScriptField { name: "brstacksym", needs: Needs::Nothing, print: Print::Sample(branches::functions) },
    ScriptField { name: "brstackoff", needs: Needs::Nothing, print: Print::Sample(branches::offsets) },
    ScriptField { name: "bpf-output", needs: Needs::Nothing, print: Print::Sample(trace::bpf_output) },
    ScriptField { name: "brstackinsn", needs: Needs::AllBranches, print: blocks::BYTES },
    ScriptField { name: "brstackinsnlen", needs: Needs::AllBranches, print: blocks::LENGTHS },
    ScriptField { name: "brstackdisasm", needs: Needs::AllBranches, print: blocks::TEXTS },
    ScriptField {
        name: "phys_addr",
        needs: Needs::Sample(SampleType::PHYS_ADDR),
        print: Print::Sample(memory::phys_addr),
    },
    ScriptField {
        name: "data_page_size",
        needs: Needs::Sample(SampleType::DATA_PAGE_SIZE),
        print: Print::Sample(memory::data_page_size),
    },
    ScriptField {
        name: "code_page_size",
        needs: Needs::Sample(SampleType::CODE_PAGE_SIZE),
        print: Print::Sample(memory::code_page_size),
    },
    ScriptField { name: "cgroup", needs: Needs::Sample(SampleType::CGROUP), print: Print::Sample(trace::cgroup) },
    ScriptField { name: "synth", needs: Needs::Nothing, print: Print::Nothing },
    ScriptField { name: "ipc", needs: Needs::Nothing, print: Print::Nothing },
    ScriptField { name: "callindent", needs: Needs::Nothing, print: Print::Nothing },
    ScriptField { name: "insn", needs: Needs::Nothing, print: INSTRUCTIONS },
    ScriptField { name: "insnlen", needs: Needs::Nothing, print: INSTRUCTIONS },
    ScriptField { name: "disasm", needs: Needs::Nothing, print: INSTRUCTIONS },
    ScriptField { name: "brcntr", needs: Needs::Nothing, print: METRICS },
    ScriptField { name: "metric", needs: Needs::Nothing, print: METRICS },
    ScriptField {
        name: "srccode",
        needs: Needs::Nothing,
        print: Print::Unsupported("'perfconv annotate FUNCTION' shows source lines"),
    },
];

/// A set of fields: a bit for each row of the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FieldSet(u64);

impl FieldSet {
    /// These fields.
    pub(super) const fn from_names(names: &[&str]) -> Self {
        let (mut set, mut index) = (0, 0);
        while index < names.len() {
            let mut row = 0;
            while !is_equal(FIELDS[row].name, names[index]) {
                row += 1;
            }
            set |= 1 << row;
            index += 1;
        }
        Self(set)
    }

    /// Whether it has any of these fields.
    #[inline]
    pub(super) fn has(self, fields: Self) -> bool {
        self.0 & fields.0 != 0
    }

    /// Without some fields.
    pub(super) fn without(self, fields: Self) -> Self {
        Self(self.0 & !fields.0)
    }

    /// Its fields in the order of printing.
    #[inline]
    pub(super) fn fields(self) -> impl Iterator<Item = (Self, &'static ScriptField)> {
        let mut left = self.0;
        std::iter::from_fn(move || {
            let index = left.trailing_zeros();
            // An empty set gives index 64, which is beyond the table.
            let field = FIELDS.get(index as usize)?;
            left &= left - 1;
            Some((Self(1 << index), field))
        })
    }
}

impl BitOr for FieldSet {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitAnd for FieldSet {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

/// Whether two names are equal, at compile time.
const fn is_equal(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    if one.len() != other.len() {
        return false;
    }
    let mut index = 0;
    while index < one.len() {
        if one[index] != other[index] {
            return false;
        }
        index += 1;
    }
    true
}

/// The process ID.
pub(super) const PID: FieldSet = FieldSet::from_names(&["pid"]);
/// The thread ID.
pub(super) const TID: FieldSet = FieldSet::from_names(&["tid"]);
/// The instruction pointer or call chain.
pub(super) const IP: FieldSet = FieldSet::from_names(&["ip"]);
/// Functions.
pub(super) const SYM: FieldSet = FieldSet::from_names(&["sym"]);
/// Offsets in functions.
pub(super) const SYMOFF: FieldSet = FieldSet::from_names(&["symoff"]);
/// The time.
pub(super) const TIME: FieldSet = FieldSet::from_names(&["time"]);
/// Files.
pub(super) const DSO: FieldSet = FieldSet::from_names(&["dso"]);
/// Offsets in files.
pub(super) const DSOFF: FieldSet = FieldSet::from_names(&["dsoff"]);
/// Files and lines of the source.
pub(super) const SRCLINE: FieldSet = FieldSet::from_names(&["srcline"]);
/// The time of day.
pub(super) const TIME_OF_DAY: FieldSet = FieldSet::from_names(&["tod"]);
/// The CPU.
pub(super) const CPU: FieldSet = FieldSet::from_names(&["cpu"]);
/// The fields of a tracepoint.
const TRACE: FieldSet = FieldSet::from_names(&["trace"]);
/// Frames as they are printed by default.
pub(super) const FRAMES: FieldSet = FieldSet::from_names(&["ip", "sym", "symoff", "dso"]);

/// Fields that every type of event has by default.
const COMMON: FieldSet = FieldSet::from_names(&["comm", "tid", "cpu", "time", "event"]);

/// A type of events, for which perf prints the same fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EventType {
    /// Name in `--fields`, if it has one.
    name: Option<&'static str>,
    default: FieldSet,
    /// Fields that do not apply.
    invalid: FieldSet,
}

pub(super) const TYPES: [EventType; 7] = {
    let plain = FieldSet(COMMON.0 | FRAMES.0 | FieldSet::from_names(&["period"]).0);
    let bpf = FieldSet::from_names(&["bpf-output"]);
    let traced = FieldSet(TRACE.0 | bpf.0);
    let costs = FieldSet::from_names(&["data_src", "weight", "ins_lat", "retire_lat"]);
    let pages = FieldSet::from_names(&["addr", "phys_addr", "data_page_size", "code_page_size"]);
    let access = FieldSet(costs.0 | pages.0);
    [
        EventType { name: Some("hw"), default: plain, invalid: traced },
        EventType { name: Some("sw"), default: FieldSet(plain.0 | bpf.0), invalid: TRACE },
        EventType { name: Some("trace"), default: FieldSet(COMMON.0 | TRACE.0), invalid: FieldSet(0) },
        EventType { name: None, default: plain, invalid: traced },
        EventType { name: Some("raw"), default: FieldSet(plain.0 | access.0), invalid: traced },
        EventType { name: None, default: plain, invalid: traced },
        EventType { name: None, default: plain, invalid: traced },
    ]
};

/// Number of a type in [`TYPES`].
pub(super) fn type_index(kind: AttrType) -> usize {
    (kind.0 as usize).min(TYPES.len() - 1)
}

/// The fields of a type, before it is known what its events record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TypeFields {
    pub fields: FieldSet,
    /// Those that were asked for.
    pub requested: FieldSet,
    /// Whether they were changed by `--fields`.
    pub is_requested: bool,
}

/// Checks a value of `--fields`.
#[cfg(feature = "cli")]
pub(super) fn checked(value: &str) -> Result<String, String> {
    parse(&[value.to_owned()]).map(|_| value.to_owned())
}

/// The fields of each type by the values of `--fields`.
///
/// # Errors
/// An unknown or unsupported field, or an unknown type.
pub(super) fn parse(values: &[String]) -> Result<[TypeFields; TYPES.len()], String> {
    let mut types = TYPES.map(|kind| TypeFields { fields: kind.default, requested: FieldSet(0), is_requested: false });
    for value in values {
        let (selected, list) = match value.split_once(':') {
            None => (None, &**value),
            Some((name, list)) => {
                let type_names: Vec<_> = TYPES.iter().filter_map(|kind| kind.name).chain(["synth"]).collect();
                if !type_names.contains(&name) {
                    return Err(suggest::unknown("type of events", name, &type_names));
                }
                (Some(name), list)
            }
        };
        let names: Vec<&str> = list.split(',').filter(|name| !name.is_empty()).collect();
        let is_change = names.iter().any(|name| name.starts_with(['+', '-']));
        for (kind, chosen) in TYPES.iter().zip(&mut types) {
            if selected.is_some_and(|name| kind.name != Some(name)) {
                continue;
            }
            if !is_change {
                (chosen.fields, chosen.requested) = (FieldSet(0), FieldSet(0));
            }
            for name in &names {
                let field = field(name.trim_start_matches(['+', '-']))?;
                if name.starts_with('-') {
                    (chosen.fields, chosen.requested) = (chosen.fields.without(field), chosen.requested.without(field));
                } else if !kind.invalid.has(field) {
                    (chosen.fields, chosen.requested) = (chosen.fields | field, chosen.requested | field);
                }
            }
            chosen.is_requested = true;
        }
    }
    Ok(types)
}

fn field(name: &str) -> Result<FieldSet, String> {
    match FIELDS.iter().position(|field| field.name == name) {
        Some(index) => match FIELDS[index].print {
            Print::Unsupported(why) => Err(format!("field '{name}' is not supported: {why}")),
            _ => Ok(FieldSet(1 << index)),
        },
        None => {
            let is_supported = |field: &&ScriptField| !matches!(field.print, Print::Unsupported(_));
            let field_names: Vec<_> = FIELDS.iter().filter(is_supported).map(|field| field.name).collect();
            Err(suggest::unknown("field", name, &field_names))
        }
    }
}
