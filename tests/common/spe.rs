//! Random traces of Arm SPE, and the samples that are decoded from traces.

use crate::common::json::to_json;
use crate::common::program::{perfconv, succeed};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// A record of the hardware.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub cpu: u32,
    pub events: u64,
    pub class: u8,
    subclass: u8,
    pub pc: u64,
    /// Ticks of the generic timer; 0 if it has no time.
    ticks: u64,
    context: Option<u32>,
    /// Total, issue and translation.
    latencies: [Option<u16>; 3],
    pub target: Option<u64>,
    data: Option<(u64, u64)>,
    source: Option<u8>,
    pub previous: Option<u64>,
}

/// A sample that was decoded from a trace. What it lacks is 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Decoded {
    pub time: u64,
    pub cpu: u32,
    pub task: (u32, u32),
    pub event: String,
    pub ip: u64,
    pub addr: u64,
    pub phys_addr: u64,
    /// Total, issue and translation.
    pub latencies: [u64; 3],
    /// What happened, the source of data as the CPU numbers it, class and subclass of the operation.
    pub details: (u64, u16, u8, u8),
    /// Load or store, and whether it missed the TLB, as in `perf_mem_data_src`.
    pub access: (u64, u64),
    /// Source, target, mispredicted, not taken.
    pub branches: Vec<(u64, u64, bool, bool)>,
}

/// The trace of a recording.
pub(crate) struct Trace {
    version: u8,
    has_times: bool,
    /// Where the second buffer begins in the first one.
    overlap: Option<u64>,
    buffers: Vec<(u32, Vec<Record>, Vec<u8>)>,
}

/// xorshift64*.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, end: u64) -> u64 {
        (self.next() >> 11) % end
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len() as u64) as usize]
    }
}

const CPUS: u32 = 2;
const PROCESSES: [u32; 2] = [100, 200];
const TEXT: u64 = 0x40_0000;
const KERNEL: u64 = 0xffff_8000_1008_0000;
const ZERO: u64 = 1_000_000_000_000;

impl Record {
    fn random(random: &mut Random, cpu: u32, ticks: u64, has_context: bool) -> Self {
        let class = random.pick(&[0, 1, 1, 1, 2, 2]);
        let subclass = random.pick(match class {
            0 => &[0, 1, 2, 0x09, 0x88][..],
            1 => &[0x00, 0x01, 0x04, 0x16, 0x17, 0x1a, 0x12, 0x0c, 0x2c, 0x10, 0x20, 0x25],
            _ => &[0, 1, 2, 3, 0x08, 0x0a, 0x12],
        });
        let code = |random: &mut Random| TEXT + 4 * random.below(1 << 14);
        let pc = if random.chance(20) { KERNEL + 4 * random.below(1 << 14) } else { code(random) };
        let mut events = 2;
        let bits: &[u32] =
            if class == 1 { &[2, 3, 4, 5, 8, 9, 10, 11, 19, 20, 21, 22, 23] } else { &[0, 6, 7, 16, 24] };
        bits.iter().for_each(|bit| events |= u64::from(random.chance(30)) << bit);
        let latency = |random: &mut Random| random.chance(90).then(|| random.below(4000) as u16);
        Self {
            cpu,
            events,
            class,
            subclass,
            pc,
            ticks,
            context: has_context.then(|| random.pick(&PROCESSES)),
            latencies: [latency(random), latency(random), latency(random)],
            target: (class == 2).then(|| code(random)),
            data: (class == 1).then(|| (0xaaaa_e000_0000 + random.below(1 << 30), 0x8000_0000 + random.below(1 << 30))),
            source: (class == 1 && random.chance(70)).then(|| random.pick(&[0, 8, 9, 10, 11, 12, 13, 14])),
            previous: random.chance(30).then(|| code(random)),
        }
    }

    /// Its packets, in an order that hardware may choose.
    fn packets(&self, random: &mut Random) -> Vec<u8> {
        let mut packets = Vec::new();
        let address = |index: u8, payload: u64| [&[0xb0 | index][..], &payload.to_le_bytes()].concat();
        let code = |address: u64| (address & ((1 << 56) - 1)) | ((address >> 63) << 61) | (1 << 63);
        self.context
            .iter()
            .for_each(|tid| packets.push([&[0x64 | random.below(2) as u8][..], &tid.to_le_bytes()].concat()));
        packets.push(vec![0x48 | self.class, self.subclass]);
        packets.push(match random.below(2) {
            0 => [&[0x62][..], &(self.events as u32).to_le_bytes()].concat(),
            _ => [&[0x72][..], &self.events.to_le_bytes()].concat(),
        });
        for (index, latency) in self.latencies.iter().enumerate() {
            latency.iter().for_each(|cycles| packets.push([&[0x98 | index as u8][..], &cycles.to_le_bytes()].concat()));
        }
        self.target.iter().for_each(|&target| packets.push(address(1, code(target))));
        self.data.iter().for_each(|&(virtual_address, physical)| {
            // The highest byte of a virtual address is a tag.
            packets.push(address(2, virtual_address | 0x55 << 56));
            packets.push(address(3, physical | 1 << 63));
        });
        self.source.iter().for_each(|&source| {
            packets.push(match random.below(2) {
                0 => vec![0x43, source],
                _ => vec![0x53, source, 0],
            })
        });
        self.previous.iter().for_each(|&target| packets.push(address(4, code(target))));
        for last in (1..packets.len()).rev() {
            packets.swap(last, random.below(last as u64 + 1) as usize);
        }
        let pc = address(0, code(self.pc));
        // The same header in its extended form.
        let prefix = if random.chance(10) { &[0x20][..] } else { &[] };
        [prefix, &pc, &packets.concat()].concat()
    }

    /// Whether its data was on another socket: by its events, or the data source that the CPU numbers, of loads.
    pub(crate) fn is_remote(&self, trace: &Trace) -> bool {
        let is_by_source = trace.version == 2 && self.subclass & 1 == 0 && self.source == Some(0xd);
        self.events & 1 << 10 != 0 || is_by_source
    }

    /// The sample of the record.
    pub(crate) fn decoded(&self, trace: &Trace) -> Decoded {
        let event = ["other", "memory", "branch"][usize::from(self.class)];
        let (data, physical) = self.data.unwrap_or_default();
        let branch = self.target.map(|target| (self.pc, target, self.events & 1 << 7 != 0, self.events & 1 << 6 != 0));
        let previous = self.previous.map(|target| (0, target, false, false));
        let operation = if self.class == 1 { 2 << (self.subclass & 1) } else { 0 };
        let tlb = [0, 0x22, 0x24, 0x24][usize::from(self.class == 1) * (self.events >> 4 & 3) as usize];
        Decoded {
            time: if trace.has_times { ZERO + 2 * self.ticks } else { 0 },
            cpu: self.cpu,
            // Without a context, the thread that perf recorded.
            task: [self.context.unwrap_or(PROCESSES[0]); 2].into(),
            event: event.to_owned(),
            ip: self.pc,
            addr: self.target.unwrap_or(data),
            phys_addr: physical,
            latencies: self.latencies.map(|latency| latency.unwrap_or(0).into()),
            details: (self.events, self.source.map_or(u16::MAX, u16::from), self.class, self.subclass),
            access: (operation, tlb),
            branches: branch.into_iter().chain(previous).collect(),
        }
    }
}

/// A buffer of random records: these, its bytes, and where each record ends in them.
fn buffer(
    random: &mut Random,
    cpu: u32,
    ticks: &mut u64,
    records: usize,
    has_context: bool,
) -> (Vec<Record>, Vec<u8>, Vec<usize>) {
    let (mut list, mut bytes, mut ends) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..records {
        *ticks += 2 + random.below(1000);
        let record = Record::random(random, cpu, *ticks, has_context);
        bytes.extend(record.packets(random));
        let end = [&[0x71][..], &ticks.to_le_bytes()].concat();
        let unit = random.pick(&[16, 64]);
        let padding = (unit - (bytes.len() + end.len()) % unit) % unit;
        bytes.resize(bytes.len() + padding, 0);
        bytes.extend(end);
        ends.push(bytes.len());
        list.push(record);
    }
    bytes.resize(bytes.len().next_multiple_of(64), 0);
    (list, bytes, ends)
}

impl Trace {
    /// A trace of two CPUs with about this many records.
    pub(crate) fn random(seed: u64, records: usize) -> Self {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let has_context = random.chance(75);
        let mut buffers = Vec::new();
        for cpu in 0..CPUS {
            let mut ticks = 1000 + u64::from(cpu);
            for _ in 0..1 + random.below(3) {
                let count = 1 + random.below(records as u64) as usize;
                let (list, bytes, _) = buffer(&mut random, cpu, &mut ticks, count, has_context);
                buffers.push((cpu, list, bytes));
            }
        }
        Self { version: 1 + (seed % 2) as u8, has_times: true, overlap: None, buffers }
    }

    /// A trace of one CPU in two buffers, of which the second one begins in the first one. Its records are listed once.
    pub(crate) fn snapshots(seed: u64, records: usize) -> Self {
        let mut random = Random(seed | 1 << 50);
        let (list, bytes, ends) = buffer(&mut random, 0, &mut 1000, records, true);
        let (begin, end) = (ends[records / 3], ends[2 * records / 3]);
        let (first, second) = (bytes[..end].to_vec(), bytes[begin..].to_vec());
        let buffers = vec![(0, list, first), (0, Vec::new(), second)];
        Self { version: 2, has_times: true, overlap: Some(begin as u64), buffers }
    }

    /// Where the second one of [snapshots](Self::snapshots) begins in the AUX area.
    pub(crate) fn second_start(&self) -> u64 {
        self.overlap.expect("snapshots")
    }

    /// Whether its records have a context.
    pub(crate) fn has_context(&self) -> bool {
        self.records().any(|record| record.context.is_some())
    }

    pub(crate) fn records(&self) -> impl Iterator<Item = &Record> {
        self.buffers.iter().flat_map(|(_, records, _)| records)
    }

    /// Number of its bytes.
    pub(crate) fn size(&self) -> u64 {
        self.buffers.iter().map(|(.., bytes)| bytes.len() as u64).sum()
    }

    /// Changes some of its bytes.
    pub(crate) fn damage(&mut self, seed: u64) {
        let mut random = Random(seed | 1 << 40);
        for (.., bytes) in &mut self.buffers {
            for _ in 0..1 + bytes.len() / 2000 {
                let at = random.below(bytes.len() as u64) as usize;
                match random.below(3) {
                    0 => bytes[at] ^= 1 << random.below(8),
                    1 => bytes[at] = 0xff,
                    _ => bytes[at..].iter_mut().take(20).for_each(|byte| *byte = 0),
                }
            }
        }
    }

    /// The scenario that generates the recording.
    pub(crate) fn scenario(&self, without: &[&str]) -> String {
        let mut out = format!(
            "without = {without:?}\nabout = \"A random trace of Arm SPE\"\nseed = 1\nduration = \"100ms\"\n\
             [machine]\narch = \"aarch64\"\ncpus = {CPUS}\n\
             [[event]]\nname = \"arm_spe_0//\"\nrate = 0\nperiod = 1024\nattr = {{ kind = 8, config = 0x100000001 }}\n\
             [[program]]\npath = \"/usr/bin/app\"\nfunctions = [\"main\"]\n"
        );
        for pid in PROCESSES {
            let _ = write!(
                out,
                "[[process]]\npid = {pid}\ncomm = \"app{pid}\"\nprograms = [\"/usr/bin/app\"]\n\
                 [[process.thread]]\nstack = [{{ percent = 100, frames = [\"main\"] }}]\n"
            );
        }
        let _ = write!(
            out,
            "[[record]]\ntype = \"TIME_CONV\"\nbody = {{ time_shift = 4, time_mult = 32, time_zero = {ZERO} }}\n\
             [aux]\ntype = \"ARM_SPE\"\nprivate = {:?}\n",
            self.metadata()
        );
        for (index, (cpu, _, bytes)) in self.buffers.iter().enumerate() {
            let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            let _ = write!(
                out,
                "[[aux.buffer]]\nat = \"{}ms\"\ncpu = {cpu}\npid = {}\nbytes = \"{digits}\"\n",
                index + 1,
                PROCESSES[0]
            );
        }
        out
    }

    fn metadata(&self) -> Vec<u64> {
        const NEOVERSE_N1: u64 = 0x413f_d0c1;
        match self.version {
            1 => vec![8, 1],
            _ => {
                let cpus =
                    (0..u64::from(CPUS)).flat_map(|cpu| [0x1010_1010_1010_1010, cpu, 4, NEOVERSE_N1, 8, 1024, 0xaa]);
                [2, 4, 8, u64::from(CPUS)].into_iter().chain(cpus).collect()
            }
        }
    }
}

/// The samples that an option decodes from the traces of a recording, sorted.
pub(crate) fn decoded(path: &Path, option: &str) -> Vec<Decoded> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let output = directory.path().join("decoded.data");
    succeed(perfconv().arg("rewrite").arg(path).args([option, "--strip", "-q", "-o"]).arg(&output));
    samples(&output)
}

/// The samples of traces in a recording, sorted.
pub(crate) fn samples(path: &Path) -> Vec<Decoded> {
    let text = to_json(path, &[]);
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let mut names = HashMap::new();
    for event in
        lines.iter().filter(|line| line["feature"] == "EVENT_DESC").flat_map(|line| array(&line["content"]["events"]))
    {
        for id in array(&event["ids"]) {
            names.insert(number(id), event["name"].as_str().expect("a name").to_owned());
        }
    }
    let of_traces = lines.iter().filter(|line| line["record"] == "SAMPLE");
    let mut samples: Vec<_> = of_traces.map(|line| sample(&line["body"], &names)).collect();
    samples.sort();
    samples
}

fn sample(body: &Value, names: &HashMap<u64, String>) -> Decoded {
    let id = number(if body["identifier"].is_null() { &body["id"] } else { &body["identifier"] });
    let raw = STANDARD.decode(body["raw"]["data"].as_str().expect("raw data")).expect("base64");
    assert!(raw.starts_with(b"SPE1") && raw.len() == 20, "{raw:?}");
    let source = &body["data_src"];
    let branch = |entry: &Value| {
        let is = |flag: &str| number(&entry["flags"][flag]) == 1;
        assert!(number(&entry["from"]) == 0 || is("MISPRED") != is("PREDICTED"), "{entry}");
        (number(&entry["from"]), number(&entry["to"]), is("MISPRED"), is("NOT_TAKEN"))
    };
    let task = &body["task"];
    Decoded {
        time: number(&body["time"]),
        cpu: number(&body["cpu"]["cpu"]) as u32,
        task: (number(&task["pid"]) as u32, number(&task["tid"]) as u32),
        event: names[&id].clone(),
        ip: number(&body["ip"]),
        addr: number(&body["addr"]),
        phys_addr: number(&body["phys_addr"]),
        latencies: ["VAR1_DW", "VAR2_W", "VAR3_W"].map(|part| number(&body["weight"][part])),
        details: (
            u64::from_le_bytes(raw[4..12].try_into().expect("8 bytes")),
            u16::from_le_bytes([raw[12], raw[13]]),
            raw[14],
            raw[15],
        ),
        access: (number(&source["MEM_OP"]), number(&source["MEM_DTLB"])),
        branches: array(&body["branch_stack"]["entries"]).iter().map(branch).collect(),
    }
}

/// Compares the samples of a recording with the records in the file beside it; returns their number.
///
/// A line of it has: cpu time pc class:subclass events latency target va pa source context pbt.
pub(crate) fn compare_with_truth(path: &Path) -> usize {
    let truth = fs::read_to_string(format!("{}.records", path.display())).expect("the truth");
    let decoded = decoded(path, "--itrace");
    let mut expected: HashMap<String, usize> = HashMap::new();
    for line in truth.lines() {
        let mut fields: Vec<_> = line.split(' ').map(str::to_owned).collect();
        // The generator writes 16 bits of them.
        let events = u64::from_str_radix(&fields[4], 16).expect("a hexadecimal number");
        fields[4] = format!("{:x}", events & 0xffff);
        *expected.entry(fields.join(" ")).or_default() += 1;
    }
    let has_context = truth.lines().any(|line| line.split(' ').nth(10) != Some("-"));
    for sample in &decoded {
        let (events, source, class, subclass) = sample.details;
        let (target, data) = if class == 2 { (sample.addr, 0) } else { (0, sample.addr) };
        let kind = match (class, subclass) {
            (2, _) => "BR",
            (0, _) => "OTHER",
            (_, 0) => "LD",
            (_, 1) => "ST",
            (_, 4) => "FPLD",
            (_, 0x16) => "ATOMIC",
            _ => "SVE",
        };
        let source = if source == u16::MAX { "-".to_owned() } else { source.to_string() };
        let context = if has_context { sample.task.1.to_string() } else { "-".to_owned() };
        let previous = sample.branches.iter().find(|(from, ..)| *from == 0).map_or(0, |(_, to, ..)| *to);
        let line = format!(
            "{} {} {:x} {kind}:{subclass} {events:x} {} {target:x} {data:x} {:x} {source} {context} {previous:x}",
            sample.cpu, sample.time, sample.ip, sample.latencies[0], sample.phys_addr
        );
        let count = expected.get_mut(&line).unwrap_or_else(|| panic!("{}: no record: {line}", path.display()));
        *count = count.checked_sub(1).unwrap_or_else(|| panic!("{}: twice: {line}", path.display()));
        let is_mispredicted = sample.branches.iter().any(|branch| branch.0 != 0 && branch.2);
        assert_eq!(is_mispredicted, class == 2 && events & 1 << 7 != 0, "{line}");
    }
    let missing: usize = expected.values().sum();
    // Four records have bytes that no packet begins with.
    let damaged = if path.ends_with("bad.data") { 4 } else { 0 };
    assert_eq!(missing, damaged, "{}", path.display());
    decoded.len()
}

/// The events of all letters of Arm SPE.
const EVENTS: &str =
    "l1d-miss,l1d-access,llc-miss,llc-access,tlb-miss,tlb-access,branch,remote-access,memory,instructions";

/// The samples of all events of a trace, as normalized lines of perf script text with their numbers.
pub(crate) fn script_lines(path: &Path) -> BTreeMap<String, usize> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let decoded = directory.path().join("decoded.data");
    succeed(perfconv().arg("rewrite").arg(path).args(["--itrace=fmtbaMil", "-q", "-o"]).arg(&decoded));
    let fields = ["-t", "perf-script", "--fields", "event,addr,data_src,weight,ip,brstack", "--event", EVENTS];
    let text = succeed(perfconv().arg(decoded).args(fields).args(["--symbols", "no", "-q", "-o", "-"])).stdout;
    normalized_lines(&String::from_utf8(text).expect("UTF-8"))
}

/// Lines of perf script text with their numbers, reduced to event, address, data source, weight, instruction and branches.
pub(crate) fn normalized_lines(text: &str) -> BTreeMap<String, usize> {
    let mut lines = BTreeMap::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let (head, rest) = line.split_once('|').expect("a data source");
        // The text of the data source may be truncated after this.
        let (_, tail) = rest.rsplit_once("|BL").expect("a data source");
        let is_number = |word: &&str| word.bytes().all(|byte| byte.is_ascii_digit());
        let tail = tail.split_whitespace().skip_while(|word| !is_number(word));
        let head: Vec<_> = head.split_whitespace().collect();
        let event = head.iter().rev().find(|word| word.ends_with(':')).expect("an event");
        let mut words = vec![*event];
        words.extend(&head[head.len() - 2..]);
        // Since perf 6.12, a branch has a further part.
        words.extend(tail.map(|word| word.strip_suffix("/-").unwrap_or(word)));
        *lines.entry(words.join(" ")).or_default() += 1;
    }
    lines
}

fn array(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// A number, or the text of a hexadecimal one; 0 if missing.
fn number(value: &Value) -> u64 {
    let hex = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).ok();
    value.as_u64().or_else(|| hex(value.as_str()?)).unwrap_or(value.as_i64().unwrap_or(0) as u64)
}
