//! Prints branch stacks.

use super::call_chain;
use super::fields::{DSO, FieldSet};
use super::printer::Printer;
use super::style::Style;
use crate::formats::framework::sample_writer::SampleState;
use perf_data::abi::sample::branch::{BranchFlags, BranchType};
use perf_data::session::map::MapId;
use perf_data::session::space::Space;
use std::io::Write;

/// Prints an end of a branch.
type PrintEnd = fn(&mut Printer<'_>, u64, Option<MapId>, &mut Vec<u8>);

/// Source and target addresses.
pub(super) fn addresses(printer: &mut Printer<'_>, out: &mut Vec<u8>) {
    print(printer, " ", out, |printer, address, map, out| {
        // Writing to a vector cannot fail.
        let _ = write!(out, "{address:#x}");
        dso(printer, map, out);
    });
}

/// Functions of source and target, unless their addresses are printed.
pub(super) fn functions(printer: &mut Printer<'_>, out: &mut Vec<u8>) {
    if printer.fields.has(FieldSet::from_names(&["brstack"])) {
        return;
    }
    print(printer, "", out, |printer, address, map, out| {
        call_chain::symbol_at(printer, address, map, out);
        dso(printer, map, out);
    });
}

/// Addresses of source and target in their files, unless another form of the stack is printed.
pub(super) fn offsets(printer: &mut Printer<'_>, out: &mut Vec<u8>) {
    if printer.fields.has(FieldSet::from_names(&["brstack", "brstacksym"])) {
        return;
    }
    print(printer, " ", out, |printer, address, map, out| {
        let in_file = map.map_or(address, |map| printer.state.session.map(map).file_offset(address));
        let _ = write!(out, "{in_file:#x}");
        dso(printer, map, out);
    });
}

fn print(printer: &mut Printer<'_>, before: &str, out: &mut Vec<u8>, end: PrintEnd) {
    let decoded = printer.sample.decoded;
    let Some(stack) = decoded.view.branch_stack else { return };
    let pid = printer.sample.pid();
    let mut words = stack.entries.iter();
    while let (Some(from), Some(to), Some(flags)) = (words.next(), words.next(), words.next()) {
        out.extend_from_slice(before.as_bytes());
        for (index, address) in [from, to].into_iter().enumerate() {
            if index > 0 {
                out.push(b'/');
            }
            let space = if address >> 63 == 1 { Space::Kernel } else { Space::User };
            let map = printer.state.session.map_at(pid, space, address);
            end(printer, address, map, out);
        }
        let flags = BranchFlags::from_word(flags, decoded.raw.endian());
        let outcome = match (flags.get(BranchFlags::PREDICTED), flags.get(BranchFlags::MISPRED)) {
            (1, _) => 'P',
            (_, 1) => 'M',
            _ => '-',
        };
        let not_taken = if flags.get(BranchFlags::NOT_TAKEN) == 1 { "N" } else { "" };
        let set = |field, letter| if flags.get(field) == 1 { letter } else { '-' };
        let (transaction, abort) = (set(BranchFlags::IN_TX, 'X'), set(BranchFlags::ABORT, 'A'));
        let (cycles, kind) = (flags.get(BranchFlags::CYCLES), branch_type(flags));
        let _ = write!(out, "/{outcome}{not_taken}/{transaction}/{abort}/{cycles}/{kind}");
        if printer.style == Style::Perf612 {
            const SPECULATION: [&str; 4] = ["-", "SPEC_WRONG_PATH", "NON_SPEC_CORRECT_PATH", "SPEC_CORRECT_PATH"];
            let _ = write!(out, "/{}", SPECULATION[flags.get(BranchFlags::SPEC) as usize]);
        }
        out.push(b' ');
    }
}

fn dso(printer: &mut Printer<'_>, map: Option<MapId>, out: &mut Vec<u8>) {
    if printer.fields.has(DSO) {
        let SampleState { session, listed_kernel, printed_maps, .. } = &mut *printer.state;
        let printed = map.map(|map| printed_maps.map(map, session.map(map), listed_kernel.as_deref()));
        let name = printed.map_or("[unknown]", |map| &*map.file);
        let space = if printer.style == Style::Perf612 { " " } else { "" };
        let _ = write!(out, "{space}({name})");
    }
}

fn branch_type(flags: BranchFlags) -> &'static str {
    const EXTENDED: [&str; 8] =
        ["FAULT_ALGN", "FAULT_DATA", "FAULT_INST", "ARCH_1", "ARCH_2", "ARCH_3", "ARCH_4", "ARCH_5"];
    match flags.branch_type() {
        BranchType::COND => "COND",
        BranchType::UNCOND => "UNCOND",
        BranchType::IND => "IND",
        BranchType::CALL => "CALL",
        BranchType::IND_CALL => "IND_CALL",
        BranchType::RET => "RET",
        BranchType::SYSCALL => "SYSCALL",
        BranchType::SYSRET => "SYSRET",
        BranchType::COND_CALL => "COND_CALL",
        BranchType::COND_RET => "COND_RET",
        BranchType::ERET => "ERET",
        BranchType::IRQ => "IRQ",
        BranchType::SERROR => "SERROR",
        BranchType::NO_TX => "NO_TX",
        BranchType::EXTEND_ABI => EXTENDED.get(flags.get(BranchFlags::NEW_TYPE) as usize).unwrap_or(&"(null)"),
        _ => "",
    }
}
