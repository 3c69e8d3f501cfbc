//! Prints decoded records as `perf report -D` does.

use super::dump_sample_printer;
use super::words;
use perf_data::abi::attr::Attr;
use perf_data::abi::attr_flags::AttrFlags;
use perf_data::abi::record::event_update::EventUpdateValue;
use perf_data::abi::record::mmap2::{MappedFile, Mmap2};
use perf_data::abi::record::stat::{StatConfig, StatConfigTag, StatRoundType};
use perf_data::abi::record::task::Task;
use perf_data::abi::record::{Body, Misc, Record, RecordType};
use perf_data::abi::sample::id::SampleId;
use perf_data::abi::sample_type::SampleType;
use perf_data::abi::{self, Endian};
use perf_data::container::read::input::Input;
use perf_data::container::read::{Container, ReadOptions};
use perf_data::stream::Sink;
use perf_data::stream::meta::Meta;
use perf_data::stream::order::Order;
use perf_data::stream::raw::Raw;
use perf_data::stream::source::Source;
use std::fmt::Write;
use std::path::Path;

/// Prints all records of a recording, each as words separated by single spaces.
pub(super) fn records(path: &Path) -> perfconv::Result<Vec<String>> {
    let source = Source::open(Input::Path(path.to_path_buf()), ReadOptions::default())?;
    let mut printer = Printer::default();
    source.run(&mut printer)?;
    Ok(printer.records)
}

/// Same, in time order.
pub(super) fn in_order(path: &Path) -> perfconv::Result<Vec<String>> {
    let source = Source::open(Input::Path(path.to_path_buf()), ReadOptions::default())?;
    let mut order = Order::new(Printer::default(), ReadOptions::default());
    source.run(&mut order)?;
    Ok(order.into_inner().records)
}

#[derive(Default)]
struct Printer {
    /// The union of all events' fields, which decides what perf prints before each record.
    sample_type: SampleType,
    sample_id_all: bool,
    /// Whether only a perf version that swaps scales can have read the recording.
    swaps_scale: bool,
    records: Vec<String>,
}

impl Printer {
    fn update(&mut self, meta: &Meta) {
        let attrs = || meta.events.list().iter().map(|event| &event.attr);
        self.sample_type = attrs().map(|attr| attr.sample_type).fold(SampleType::empty(), |all, one| all | one);
        self.swaps_scale = attrs().any(|attr| attr.size as usize >= Attr::SIZE_KNOWN);
        self.sample_id_all = attrs().next().is_some_and(|attr| attr.flags.contains(AttrFlags::SAMPLE_ID_ALL));
    }

    /// The CPU and time, if any event has them.
    fn when(&self, kind: RecordType, id: &SampleId) -> String {
        if !self.sample_id_all && kind != RecordType::SAMPLE {
            return "-1 -1".into();
        }
        let has = |field| self.sample_type.contains(field);
        let (cpu, time) = if kind < RecordType::USER_START {
            (id.cpu.map_or(u32::MAX, |(cpu, _)| cpu), id.time.unwrap_or(u64::MAX))
        } else {
            (0, 0)
        };
        let cpu = if has(SampleType::CPU) { cpu.to_string() } else { String::new() };
        let time = if has(SampleType::TIME) { time.to_string() } else { String::new() };
        format!("{cpu} {time}")
    }
}

impl Sink for Printer {
    fn begin(&mut self, meta: &Meta) -> perfconv::Result<()> {
        self.update(meta);
        Ok(())
    }

    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> perfconv::Result<()> {
        let kind = raw.header().kind;
        // perf dumps the records inside frames instead.
        if matches!(kind, RecordType::COMPRESSED | RecordType::COMPRESSED2) {
            return Ok(());
        }
        let record = Record::read(raw.bytes(), &meta.context(raw)).expect("the record should be complete");
        let mut id = record.id.unwrap_or_default();
        let text = if kind == RecordType::SAMPLE {
            let (_, event) = meta.events.find(raw).expect("the sample should have an event");
            let (sample_id, text) = dump_sample_printer::sample(raw, event);
            id = sample_id;
            text
        } else {
            let name = |id: &SampleId| {
                let (_, event) = meta.events.find(raw).expect("the record should have an event");
                event.name.clone().unwrap_or_else(|| format!("{id:?}"))
            };
            body(&record, &id, raw.endian(), self.swaps_scale, name)
        };
        // perf counts offsets from after the header of a pipe.
        let start = if meta.container == Container::Pipe { 16 } else { 0 };
        let location = format!("{} [{}]", hex(raw.offset() - start), hex(raw.header().len() as u64));
        self.records.push(words(format!("{} {location}: PERF_RECORD_{}{text}", self.when(kind, &id), kind_name(kind))));
        self.update(meta);
        Ok(())
    }
}

/// perf's name of a record type.
fn kind_name(kind: RecordType) -> String {
    kind.to_string().trim_start_matches("HEADER_").into()
}

/// A hexadecimal number, without the prefix if it is 0, as perf prints it.
pub(super) fn hex(value: u64) -> String {
    if value == 0 { "0".into() } else { format!("{value:#x}") }
}

fn text(bytes: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

/// Prints the rest of the line after the type, and the lines below it.
fn body(
    record: &Record,
    id: &SampleId,
    endian: Endian,
    swaps_scale: bool,
    event_name: impl Fn(&SampleId) -> String,
) -> String {
    let misc = record.header.misc;
    // Values that perf fails to swap in foreign recordings are printed as it misreads them.
    let is_foreign = endian == Endian::Big;
    match &record.body {
        Body::Mmap(map) => {
            let kind = if misc.contains(Misc::MMAP_DATA) { 'r' } else { 'x' };
            let map_range = map_range(map.pid, map.tid, map.addr, map.len, map.pgoff);
            format!(" {map_range}]: {kind} {}", text(map.filename.text()))
        }
        Body::Mmap2(map) => mmap2(map, is_foreign),
        Body::Comm(comm) => {
            let exec = if misc.contains(Misc::COMM_EXEC) { " exec" } else { "" };
            format!("{exec}: {}:{}/{}", text(comm.comm.text()), comm.pid as i32, comm.tid as i32)
        }
        Body::Fork(Task { pid, tid, ppid, ptid, .. }) | Body::Exit(Task { pid, tid, ppid, ptid, .. }) => {
            format!("({pid}:{tid}):({}:{})", *ppid as i32, *ptid as i32)
        }
        Body::Lost(lost) => format!(": id:{}: lost:{}", lost.id, lost.lost),
        Body::LostSamples(lost) => {
            let id = id.id.or(id.identifier).unwrap_or(u64::MAX);
            format!(": id:{id}: lost samples :{}", lost.lost)
        }
        Body::Read(read) => {
            let values = dump_sample_printer::counts(&read.values);
            format!(": {} {} {} {values}", read.pid, read.tid, event_name(id))
        }
        Body::Switch(_) => format!(" {}", switch(misc)),
        Body::SwitchCpuWide(switched) => {
            let other = if misc.contains(Misc::SWITCH_OUT) { "next" } else { "prev" };
            let (pid, tid) = (switched.next_prev_pid as i32, switched.next_prev_tid as i32);
            format!(" {} {other} pid/tid: {pid}/{tid}", switch(misc))
        }
        Body::Namespaces(namespaces) => {
            let names = ["net", "uts", "ipc", "pid", "user", "mnt", "cgroup"];
            let links = namespaces.link_info.iter().zip(names).enumerate();
            let links: Vec<_> =
                links.map(|(at, (link, name))| format!("{at}/{name}: {}/{:#x}", link.dev, link.ino)).collect();
            let count = namespaces.link_info.len();
            format!(" {}/{} - nr_namespaces: {count} [{}]", namespaces.pid, namespaces.tid, links.join(", "))
        }
        Body::Ksymbol(symbol) => format!(
            " addr {:x} len {} type {} flags {:#x} name {}",
            symbol.addr,
            symbol.len,
            symbol.kind.0,
            symbol.flags.bits(),
            text(symbol.name.text())
        ),
        Body::BpfEvent(event) => format!(" type {}, flags {}, id {}", event.kind.0, event.flags, event.id),
        Body::Cgroup(cgroup) => format!(" cgroup: {} {}", cgroup.id, text(cgroup.path.text())),
        Body::TextPoke(poke) => {
            let lens = format!("old len {} new len {}", poke.old.len(), poke.new.len());
            format!(" {:x} {lens}{}{}", poke.addr, code("Old", &poke.old), code("New", &poke.new))
        }
        Body::CallchainDeferred(chain) => {
            let (pid, tid) = id.task.unwrap_or_default();
            let ips = dump_sample_printer::callchain(chain.ips.iter().copied());
            format!("(IP, {:#x}): {pid}/{tid}: {}{ips}", misc.bits(), hex(chain.cookie))
        }
        Body::IdIndex(index) => {
            let mut text = format!(" nr: {}", index.entries.len());
            for entry in &index.entries {
                let (cpu, tid) = (entry.cpu, entry.tid);
                write!(text, " ... id: {} idx: {} cpu: {cpu} tid: {tid}", entry.id, entry.idx).unwrap();
            }
            text
        }
        Body::ThreadMap(map) => {
            let threads: String = map.entries.iter().map(|entry| format!(" {}", entry.pid)).collect();
            format!(" nr: {} thread:{threads}", map.entries.len())
        }
        Body::CpuMap(map) => format!(": {}", cpus(map.data.cpus.as_ref().map(|set| set.numbers()).unwrap_or_default())),
        Body::EventUpdate(update) => {
            let value = match update.value.as_ref().expect("a known kind of update") {
                EventUpdateValue::Unit(unit) => format!("unit: {}", text(unit.text())),
                EventUpdateValue::Scale(scale) => {
                    let bits = if is_foreign && !swaps_scale { scale.0.swap_bytes() } else { scale.0 };
                    format!("scale: {:.6}", f64::from_bits(bits))
                }
                EventUpdateValue::Name(name) => format!("name: {}", text(name.text())),
                EventUpdateValue::Cpus(map) => cpus(map.cpus.as_ref().map(|set| set.numbers()).unwrap_or_default()),
                other => panic!("perf prints no {other:?}"),
            };
            format!(" ... id: {} ... {value}", update.id)
        }
        Body::StatConfig(config) => stat_config(config),
        Body::Stat(stat) => format!(
            " ... id {}, cpu {}, thread {} ... value {}, enabled {}, running {}",
            stat.id, stat.cpu as i32, stat.thread as i32, stat.val, stat.ena, stat.run
        ),
        Body::StatRound(round) => {
            let kind = if round.kind == StatRoundType::FINAL { "FINAL" } else { "INTERVAL" };
            format!(" ... time {}, type {kind}", round.time)
        }
        Body::TimeConv(conv) => {
            let mut text = format!(
                " ... Time Shift {} ... Time Multiplier {} ... Time Zero {}",
                conv.time_shift, conv.time_mult, conv.time_zero
            );
            if let Some(short) = &conv.short {
                write!(
                    text,
                    " ... Time Cycles {} ... Time Mask {} ... Cap Time Zero {} ... Cap Time Short {}",
                    short.time_cycles,
                    hex(short.time_mask),
                    short.cap_user_time_zero,
                    short.cap_user_time_short
                )
                .unwrap();
            }
            text
        }
        Body::BpfMetadata(metadata) => {
            let mut all = format!(" prog {}", text(metadata.prog_name.text()));
            for (at, entry) in metadata.entries.iter().enumerate() {
                write!(all, " entry {at}: {} = {}", text(entry.key.text()), text(entry.value.text())).unwrap();
            }
            all
        }
        Body::SchedstatCpu(stat) => {
            let cpu = if is_foreign { stat.cpu.swap_bytes() } else { stat.cpu };
            let counts = stat.counts.map(|c| {
                let own = [c.yld_count, c.array_exp, c.sched_count, c.sched_goidle, c.ttwu_count, c.ttwu_local];
                let own = own.map(|count| count.to_string()).join(" ");
                format!("{own} {} {} {}", c.rq_cpu_time, c.run_delay, c.pcount)
            });
            format!(" cpu{cpu} {}", schedstat(stat.version, counts, is_foreign))
        }
        Body::SchedstatDomain(stat) => {
            let domain = if is_foreign { stat.domain.swap_bytes() } else { stat.domain };
            let counts = stat.counts.map(|counts| {
                let bytes = abi::to_bytes(&counts, Endian::Little).expect("the counts should be writable");
                let counts = bytes.as_chunks().0.iter().map(|&bytes| u32::from_le_bytes(bytes).to_string());
                counts.collect::<Vec<_>>().join(" ")
            });
            format!(" domain{domain} {}", schedstat(stat.version, counts, is_foreign))
        }
        _ => String::new(),
    }
}

/// Prints `PID/TID: [ADDR(LEN) @ PGOFF`.
fn map_range(pid: u32, tid: u32, addr: u64, len: u64, pgoff: u64) -> String {
    format!("{}/{}: [{}({}) @ {}", pid as i32, tid as i32, hex(addr), hex(len), hex(pgoff))
}

fn mmap2(map: &Mmap2, is_foreign: bool) -> String {
    let file = match (&map.file, map.file.build_id()) {
        (MappedFile::Inode { maj, min, ino, ino_generation }, _) => {
            format!("{maj:02x}:{min:02x} {ino} {ino_generation}")
        }
        (_, id) => format!("<{}>", id.into_iter().flatten().map(|byte| format!("{byte:02x}")).collect::<String>()),
    };
    let own = |word: u32| if is_foreign { word.swap_bytes() } else { word };
    let (prot, flags) = (own(map.prot), own(map.flags));
    let letter = |bit: u32, letter| if prot & bit != 0 { letter } else { '-' };
    let prot: String = [letter(1, 'r'), letter(2, 'w'), letter(4, 'x')].iter().collect();
    let shared = if flags & 1 != 0 { 's' } else { 'p' };
    let map_range = map_range(map.pid, map.tid, map.addr, map.len, map.pgoff);
    format!(" {map_range} {file}]: {prot}{shared} {}", text(map.filename.text()))
}

/// Prints code, 16 bytes per line.
fn code(name: &str, code: &[u8]) -> String {
    let bytes = |line: &[u8]| line.iter().map(|byte| format!(" {byte:02x}")).collect::<String>();
    code.chunks(16).map(|line| format!(" {name} bytes:{}", bytes(line))).collect()
}

/// Prints counts, or perf's message about the version that it fails to swap.
fn schedstat(version: u16, counts: Option<String>, is_foreign: bool) -> String {
    let counts = counts.expect("a known version");
    if is_foreign { format!("Unsupported /proc/schedstat version {}.", version.swap_bytes()) } else { counts }
}

fn switch(misc: Misc) -> &'static str {
    match (misc.contains(Misc::SWITCH_OUT), misc.contains(Misc::SWITCH_OUT_PREEMPT)) {
        (false, _) => "IN",
        (true, false) => "OUT",
        (true, true) => "OUT preempt",
    }
}

/// Prints CPU ranges such as `0-1,3`; `-1` for none.
fn cpus(numbers: Vec<u32>) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    if ranges.is_empty() {
        return "-1".into();
    }
    let range = |&(first, last): &(u32, u32)| if first == last { first.to_string() } else { format!("{first}-{last}") };
    ranges.iter().map(range).collect::<Vec<_>>().join(",")
}

fn stat_config(config: &StatConfig) -> String {
    let names = [
        (StatConfigTag::AGGR_MODE, "aggr_mode"),
        (StatConfigTag::SCALE, "scale"),
        (StatConfigTag::INTERVAL, "interval"),
    ];
    let value = |tag| config.data.iter().find(|term| term.tag == tag).map_or(0, |term| term.val);
    names.iter().map(|&(tag, name)| format!(" ... {name} {}", value(tag))).collect()
}
