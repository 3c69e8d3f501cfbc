//! Prints addresses, sources and costs of memory accesses.

use super::call_chain;
use super::fields::{DSO, SYM};
use super::number;
use super::printer::Printer;
use super::style::Style;
use crate::profile::access_words::{self, AccessWords};
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

/// The fields of a data source by name.
fn describe(source: DataSrc, style: Style) -> String {
    let words = if style == Style::Perf61 { AccessWords::Perf61 } else { AccessWords::Perf612 };
    let (operation, level) = (access_words::operation(source), access_words::level(source, words));
    let (snoop, translation) = (access_words::snoop(source), access_words::translation(source));
    let (lock, blocked) = (access_words::lock(source), access_words::blocked(source));
    format!("|OP {operation}|LVL {level}|SNP {snoop}|TLB {translation}|LCK {lock}|BLK {blocked}")
}
