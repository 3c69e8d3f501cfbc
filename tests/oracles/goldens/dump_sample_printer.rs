//! Prints samples as `perf report -D` does.

use super::dump_printer::hex;
use perf_data::abi::Endian;
use perf_data::abi::read_format::{ReadFormat, ReadValues};
use perf_data::abi::sample::id::SampleId;
use perf_data::abi::sample::regs::RegsView;
use perf_data::abi::sample::view::SampleView;
use perf_data::abi::sample_type::SampleType;
use perf_data::stream::events::Event;
use perf_data::stream::raw::Raw;
use std::fmt::Write;

/// Prints what follows the type of a sample, and the lines below. Also returns the sample's ID fields.
pub(super) fn sample(raw: &Raw<'_>, event: &Event) -> (SampleId, String) {
    let layout = &event.layout;
    let view = SampleView::read(raw.body(), layout, raw.endian()).expect("the sample should be complete");
    let id = SampleId { time: view.time, cpu: view.cpu, ..SampleId::default() };
    let (pid, tid) = view.task.map_or((-1, -1), |(pid, tid)| (pid as i32, tid as i32));
    let ip = hex(view.ip.unwrap_or_default());
    // Samples without a period have that of the attr.
    let period = view.period.unwrap_or(event.attr.sample_period);
    let addr = hex(view.addr.unwrap_or_default());
    let misc = raw.header().misc.bits();
    let mut text = format!("(IP, {misc:#x}): {pid}/{tid}: {ip} period: {period} addr: {addr}");
    if let Some(chain) = view.callchain {
        text += &callchain(chain.iter());
    }
    if let Some(view) = &view.regs_user {
        text += &regs("user", layout.regs_user(), view);
    }
    if let Some(view) = &view.regs_intr {
        // perf does not swap this mask.
        let is_foreign = raw.endian() == Endian::Big;
        let mask = if is_foreign { layout.regs_intr().swap_bytes() } else { layout.regs_intr() };
        text += &regs("intr", mask, view);
    }
    if let Some(stack) = &view.stack_user
        && !stack.data.is_empty()
    {
        let at = stack.data.as_ptr() as usize - raw.bytes().as_ptr() as usize - size_of::<u64>();
        write!(text, " ... ustack: size {}, offset {}", stack.dyn_size, hex(at as u64)).unwrap();
    }
    if let Some(weight) = view.weight {
        if layout.sample_type().contains(SampleType::WEIGHT_STRUCT) {
            let (first, second, third) = (weight as u32, (weight >> 32) as u16, weight >> 48);
            write!(text, " ... weight: {first},0x{second:x},0x{third:x}").unwrap();
        } else {
            write!(text, " ... weight: {weight}").unwrap();
        }
    }
    if let Some(source) = view.data_src {
        write!(text, " . data_src: 0x{source:x}").unwrap();
    }
    if let Some(address) = view.phys_addr {
        write!(text, " .. phys_addr: 0x{address:x}").unwrap();
    }
    for (name, size) in [("data", view.data_page_size), ("code", view.code_page_size)] {
        if let Some(size) = size {
            write!(text, " .. {name} page size: {}", page_size(size)).unwrap();
        }
    }
    if let Some(transaction) = view.transaction {
        write!(text, " ... transaction: {transaction:x}").unwrap();
    }
    if let Some(read) = &view.read {
        text += " ... sample_read:";
        let times = [("enabled", read.time_enabled), ("running", read.time_running)];
        let times = times.iter().filter_map(|(name, time)| Some((name, (*time)?)));
        times.for_each(|(name, time)| write!(text, " ...... time {name} {time:016x}").unwrap());
        if layout.read_format().contains(ReadFormat::GROUP) {
            write!(text, " .... group nr {}", read.values().count()).unwrap();
        }
        for value in read.values() {
            write!(text, " ..... id {:016x}, value {:016x}", value.id.unwrap_or_default(), value.value).unwrap();
            value.lost.into_iter().for_each(|lost| write!(text, ", lost {lost}").unwrap());
        }
    }
    (id, text)
}

/// Prints a call chain with its context markers.
pub(super) fn callchain(ips: impl ExactSizeIterator<Item = u64>) -> String {
    let mut text = format!(" ... FP chain: nr:{}", ips.len());
    for (at, ip) in ips.enumerate() {
        write!(text, " ..... {at}: {ip:016x}").unwrap();
    }
    text
}

/// Prints the counter values of a READ record.
pub(super) fn counts(values: &ReadValues) -> String {
    let (value, fields) = match values {
        ReadValues::Single { value, time_enabled, time_running, id, lost } => {
            (value, [("time enabled", time_enabled), ("time running", time_running), ("id", id), ("lost", lost)])
        }
        _ => panic!("perf does not print READ records of groups"),
    };
    let fields = fields.iter().filter_map(|(name, value)| value.map(|value| format!(" ... {name} : {value}")));
    format!("{value}{}", fields.collect::<String>())
}

/// Prints register values without names, which are not part of a recording.
fn regs(kind: &str, mask: u64, regs: &RegsView<'_>) -> String {
    let abi = ["none", "32-bit", "64-bit"][regs.abi as usize];
    let values: String = regs.regs.iter().map(|value| format!(" 0x{value:016x}")).collect();
    if regs.abi == 0 { String::new() } else { format!(" ... {kind} regs: mask {} ABI {abi}{values}", hex(mask)) }
}

fn page_size(size: u64) -> String {
    match size {
        0 => "N/A".into(),
        _ if size >= 1 << 20 => format!("{}M", size >> 20),
        _ => format!("{}K", size >> 10),
    }
}
