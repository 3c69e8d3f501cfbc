//! Prints addresses, sources and costs of memory accesses.

use super::call_chain;
use super::fields::{DSO, SYM};
use super::number;
use super::printer::Printer;
use crate::abi::attr::SoftwareEvent;
use crate::abi::data_src::DataSrc;
use crate::abi::weight::Weight;
use std::io::Write;

/// Events whose data address is that of code or data that may have a symbol.
const WITH_SYMBOLS: [SoftwareEvent; 3] =
    [SoftwareEvent::PAGE_FAULTS, SoftwareEvent::PAGE_FAULTS_MIN, SoftwareEvent::PAGE_FAULTS_MAJ];

/// Data address, with its symbol for page faults.
pub fn addr(printer: &mut Printer<'_>, out: &mut Vec<u8>) {
    let (event, addr) = (printer.sample.decoded.event, printer.sample.decoded.view.addr.unwrap_or(0));
    number::address(out, addr);
    if WITH_SYMBOLS.iter().any(|&known| event.attr.is_software(known)) && printer.fields.has(SYM | DSO) {
        call_chain::symbol(printer, addr, out);
    }
}

/// Source of the data, aligned to the longest one before.
pub fn data_src(printer: &mut Printer<'_>, out: &mut Vec<u8>) {
    let word = printer.sample.decoded.view.data_src.unwrap_or(0);
    let text = describe(DataSrc(word));
    let width = &mut *printer.longest_source;
    *width = text.len().max(*width);
    number::address(out, word);
    // Writing to a vector cannot fail.
    let _ = write!(out, " {text:0$}", *width);
}

/// Cost.
pub fn weight(printer: &mut Printer<'_>, out: &mut Vec<u8>) {
    let Some(weight) = printer.sample.decoded.view.weight else { return };
    let has_parts =
        printer.sample.decoded.event.layout.sample_type().contains(crate::abi::sample_type::SampleType::WEIGHT_STRUCT);
    let shown = if has_parts { Weight(weight).get(Weight::VAR1_DW) } else { weight };
    number::right(out, shown, 16);
}

/// Latency of the instruction.
pub fn ins_lat(printer: &mut Printer<'_>, out: &mut Vec<u8>) {
    let weight = Weight(printer.sample.decoded.view.weight.unwrap_or(0));
    number::right(out, weight.get(Weight::VAR2_W), 16);
}

/// Physical address.
pub fn phys_addr(printer: &mut Printer<'_>, out: &mut Vec<u8>) {
    number::address(out, printer.sample.decoded.view.phys_addr.unwrap_or(0));
}

/// Size of the page of the data.
pub fn data_page_size(printer: &mut Printer<'_>, out: &mut Vec<u8>) {
    page_size(printer.sample.decoded.view.data_page_size, out);
}

/// Size of the page of the code.
pub fn code_page_size(printer: &mut Printer<'_>, out: &mut Vec<u8>) {
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

/// ` hit` or ` miss`, by the second and third bit.
fn outcome(bits: u64) -> &'static str {
    match bits & 6 {
        2 => " hit",
        4 => " miss",
        _ => "",
    }
}

fn level(source: DataSrc) -> String {
    let bits = source.get(DataSrc::MEM_LVL);
    let mut found = names(bits, LEVELS);
    let number = source.get(DataSrc::MEM_LVL_NUM);
    let numbered = match number {
        0 => String::new(),
        1..=4 => format!("L{number}"),
        9 => "CXL".to_owned(),
        10 => "I/O".to_owned(),
        11 => "Any cache".to_owned(),
        12 => "LFB/MAB".to_owned(),
        13 => "RAM".to_owned(),
        14 => "PMEM".to_owned(),
        15 => "N/A".to_owned(),
        other => format!("L{other}"),
    };
    let remote = if source.get(DataSrc::MEM_REMOTE) == 1 { "Remote " } else { "" };
    let numbered = format!("{remote}{numbered}");
    if number != 0 {
        found.push(&numbered);
    }
    or_unavailable(found.join(" or ") + outcome(bits))
}

/// The fields of a data source by name.
fn describe(source: DataSrc) -> String {
    let operation = or_unavailable(names(source.get(DataSrc::MEM_OP), OPERATIONS).join(" or "));
    let mut snoop = names(source.get(DataSrc::MEM_SNOOP), SNOOPS);
    snoop.extend(names(source.get(DataSrc::MEM_SNOOPX), EXTENDED_SNOOPS));
    let snoop = or_unavailable(snoop.join(" or "));
    let translation = source.get(DataSrc::MEM_DTLB);
    let translation = or_unavailable(names(translation, TRANSLATIONS).join(" or ") + outcome(translation));
    let lock = source.get(DataSrc::MEM_LOCK);
    let lock = if lock & 1 == 1 {
        "N/A"
    } else if lock & 2 == 2 {
        "Yes"
    } else {
        "No"
    };
    let blocked: String = match source.get(DataSrc::MEM_BLK) {
        bits if bits & 6 == 0 => " N/A".to_owned(),
        bits => [(2, " Data"), (4, " Addr")].iter().filter(|(bit, _)| bits & bit != 0).map(|(_, name)| *name).collect(),
    };
    let level = level(source);
    format!("|OP {operation}|LVL {level}|SNP {snoop}|TLB {translation}|LCK {lock}|BLK {blocked}")
}
