//! Prints addresses, sources and costs of memory accesses.

use super::call_chain;
use super::fields::{DSO, SYM};
use super::number;
use super::printer::Printer;
use super::style::Style;
use perf_data::abi::attr::SoftwareEvent;
use perf_data::abi::sample::data_src::DataSrc;
use perf_data::abi::sample::weight::Weight;
use std::io::Write;

/// Events whose data address is that of code or data that may have a symbol.
const WITH_SYMBOLS: [SoftwareEvent; 3] =
    [SoftwareEvent::PAGE_FAULTS, SoftwareEvent::PAGE_FAULTS_MIN, SoftwareEvent::PAGE_FAULTS_MAJ];

/// Length at which perf truncates the description of a data source.
const SOURCE_LIMIT: usize = 82;

/// Data address, with its symbol for page faults.
pub(super) fn addr(printer: &mut Printer<'_>, out: &mut Vec<u8>) {
    let (event, addr) = (printer.sample.decoded.event, printer.sample.decoded.view.addr.unwrap_or(0));
    number::address(out, addr);
    if WITH_SYMBOLS.iter().any(|&kind| event.attr.is_software(kind)) && printer.fields.has(SYM | DSO) {
        call_chain::symbol(printer, addr, out);
    }
}

/// Source of the data, aligned to the longest one before.
pub(super) fn data_src(printer: &mut Printer<'_>, out: &mut Vec<u8>) {
    let word = printer.sample.decoded.view.data_src.unwrap_or(0);
    let mut text = describe(DataSrc(word), printer.style);
    text.truncate(SOURCE_LIMIT);
    let width = &mut *printer.longest_source;
    *width = text.len().max(*width);
    number::address(out, word);
    // Writing to a vector cannot fail.
    let _ = write!(out, " {text:0$}", *width);
}

/// Cost.
pub(super) fn weight(printer: &mut Printer<'_>, out: &mut Vec<u8>) {
    let Some(weight) = printer.sample.decoded.view.weight else { return };
    let has_parts = printer
        .sample
        .decoded
        .event
        .layout
        .sample_type()
        .contains(perf_data::abi::sample_type::SampleType::WEIGHT_STRUCT);
    let shown = if has_parts { Weight(weight).get(Weight::VAR1_DW) } else { weight };
    number::right(out, shown, 16);
}

/// Latency of the instruction.
pub(super) fn ins_lat(printer: &mut Printer<'_>, out: &mut Vec<u8>) {
    let weight = Weight(printer.sample.decoded.view.weight.unwrap_or(0));
    number::right(out, weight.get(Weight::VAR2_W), 16);
}

/// Latency until the instruction retired, which perf 6.1 does not print.
pub(super) fn retire_lat(printer: &mut Printer<'_>, out: &mut Vec<u8>) {
    if printer.style == Style::Perf612 {
        let weight = Weight(printer.sample.decoded.view.weight.unwrap_or(0));
        number::right(out, weight.get(Weight::VAR3_W), 16);
    }
}

/// Physical address.
pub(super) fn phys_addr(printer: &mut Printer<'_>, out: &mut Vec<u8>) {
    number::address(out, printer.sample.decoded.view.phys_addr.unwrap_or(0));
}

/// Size of the page of the data.
pub(super) fn data_page_size(printer: &mut Printer<'_>, out: &mut Vec<u8>) {
    page_size(printer.sample.decoded.view.data_page_size, out);
}

/// Size of the page of the code.
pub(super) fn code_page_size(printer: &mut Printer<'_>, out: &mut Vec<u8>) {
    page_size(printer.sample.decoded.view.code_page_size, out);
}

fn page_size(size: Option<u64>, out: &mut Vec<u8>) {
    let size = size.unwrap_or(0);
    let _ = match ["B", "K", "M", "G"].iter().zip(0..4).rev().find(|(_, power)| size >> (10 * power) > 0) {
        Some((unit, power)) => write!(out, " {}{unit}", size >> (10 * power)),
        None => write!(out, " N/A"),
    };
}

/// Names of bits, lowest first.
type Names = &'static [&'static str];

const OPERATIONS: Names = &["N/A", "LOAD", "STORE", "PFETCH", "EXEC"];
const LEVELS: Names = &[
    "N/A",
    "",
    "",
    "L1",
    "LFB/MAB",
    "L2",
    "L3",
    "Local RAM",
    "Remote RAM (1 hop)",
    "Remote RAM (2 hops)",
    "Remote Cache (1 hop)",
    "Remote Cache (2 hops)",
    "I/O",
    "Uncached",
];
const SNOOPS: Names = &["N/A", "None", "Hit", "Miss", "HitM"];
const EXTENDED_SNOOPS: Names = &["Fwd", "Peer"];
const TRANSLATIONS: Names = &["N/A", "", "", "L1", "L2", "Walker", "Fault"];

fn names(bits: u64, names: Names) -> Vec<&'static str> {
    let set = names.iter().enumerate().filter(|(bit, name)| bits >> bit & 1 == 1 && !name.is_empty());
    set.map(|(_, name)| *name).collect()
}

fn or_unavailable(text: String) -> String {
    if text.is_empty() { "N/A".to_owned() } else { text }
}

/// ` hit` and ` miss`, by the second and third bit.
fn outcome(bits: u64) -> String {
    names(bits, &["", " hit", " miss"]).concat()
}

fn level_number(number: u64, style: Style) -> String {
    match (number, style) {
        (8, Style::Perf612) => "Uncached".to_owned(),
        (9, _) => "CXL".to_owned(),
        (10, _) => "I/O".to_owned(),
        (11, _) => "Any cache".to_owned(),
        (12, _) => "LFB/MAB".to_owned(),
        (13, _) => "RAM".to_owned(),
        (14, _) => "PMEM".to_owned(),
        (15, _) => "N/A".to_owned(),
        (5, Style::Perf612) => "L2 MHB".to_owned(),
        (6, Style::Perf612) => "Memory-side Cache".to_owned(),
        (7, Style::Perf612) => "Unknown level 7".to_owned(),
        _ => format!("L{number}"),
    }
}

/// Distance of the node whose memory was accessed, with a space.
fn hops(source: DataSrc) -> String {
    const HOPS: [&str; 4] = ["core, same node", "node, same socket", "socket, same board", "board"];
    match source.get(DataSrc::MEM_HOPS) {
        0 => String::new(),
        hops => HOPS.get(hops as usize - 1).unwrap_or(&"(null)").to_string() + " ",
    }
}

fn level(source: DataSrc, style: Style) -> String {
    let (bits, number) = (source.get(DataSrc::MEM_LVL), source.get(DataSrc::MEM_LVL_NUM));
    let remote = if source.get(DataSrc::MEM_REMOTE) == 1 { "Remote " } else { "" };
    let (hops, outcome) = (hops(source), outcome(bits));
    if style == Style::Perf61 {
        let mut levels = if hops.is_empty() { names(bits, LEVELS) } else { Vec::new() };
        let number = Some(number).filter(|&number| number != 0).map(|number| level_number(number, style));
        levels.extend(number.as_deref());
        return or_unavailable(format!("{remote}{hops}{}", levels.join(" or "))) + &outcome;
    }
    // A miss is not shown in addition to a hit, but a space for either.
    let outcome = if outcome.starts_with(" hit") { " hit" } else { outcome.as_str() };
    let outcome = if outcome.is_empty() { " " } else { outcome };
    match (number, names(bits & !1, LEVELS)) {
        (0 | 15, levels) if levels.is_empty() => "N/A".to_owned(),
        (0 | 15, levels) => levels.join(" or ") + outcome,
        _ => format!("{remote}{hops}{}{outcome}", level_number(number, style)),
    }
}

/// The fields of a data source by name.
fn describe(source: DataSrc, style: Style) -> String {
    let operation = names(source.get(DataSrc::MEM_OP), OPERATIONS).first().copied().unwrap_or("No");
    let mut snoop = names(source.get(DataSrc::MEM_SNOOP), SNOOPS);
    snoop.extend(names(source.get(DataSrc::MEM_SNOOPX), EXTENDED_SNOOPS));
    let snoop = or_unavailable(snoop.join(" or "));
    let translation = source.get(DataSrc::MEM_DTLB);
    let translation = or_unavailable(names(translation, TRANSLATIONS).join(" or ")) + &outcome(translation);
    let lock = source.get(DataSrc::MEM_LOCK);
    let lock = if lock & 1 == 1 {
        "N/A"
    } else if lock & 2 == 2 {
        "Yes"
    } else {
        "No"
    };
    let blocked: String = match source.get(DataSrc::MEM_BLK) {
        bits if bits & 1 == 1 || bits & 6 == 0 => " N/A".to_owned(),
        bits => [(2, " Data"), (4, " Addr")].iter().filter(|(bit, _)| bits & bit != 0).map(|(_, name)| *name).collect(),
    };
    let level = level(source, style);
    format!("|OP {operation}|LVL {level}|SNP {snoop}|TLB {translation}|LCK {lock}|BLK {blocked}")
}
