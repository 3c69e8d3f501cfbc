//! A scenario that was checked: everything in it has its place.

use super::file::{EventTable, Expect, File, Order, ProcessTable, ProgramTable, RecordTable, StackTable};
use crate::abi::Endian;
use crate::abi::feature::{Feature, FeatureId};
use crate::abi::record::{Body, Misc, RecordType};
use crate::abi::sample_type::{BranchSampleType, SampleType};
use crate::elf::image::{Function, Image, Target};
use crate::error::{Error, Result};
use crate::synth::{About, Event, Machine, Stamp};
use std::collections::HashMap;
use std::ops::Range;

/// A scenario. The same one gives the same bytes.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// What it shows, in a sentence.
    pub shows: String,
    /// What readers are to see in the recording.
    pub expect: Expect,
    /// What the recording tells of itself.
    pub about: About,
    /// What is random follows from it.
    pub seed: u64,
    /// Nanoseconds.
    pub(super) duration: u64,
    pub(super) programs: Vec<Program>,
    pub(super) processes: Vec<Process>,
    pub(super) threads: Vec<Thread>,
    /// Samples a second of each event.
    pub(super) rates: Vec<u64>,
    /// Other records, in the order of time.
    pub(super) records: Vec<Told>,
}

/// A program, and where it is mapped.
#[derive(Clone, Debug)]
pub(super) struct Program {
    pub(super) path: String,
    pub(super) image: Image,
    pub(super) base: u64,
    functions: HashMap<String, u64>,
    function_size: u64,
}

#[derive(Clone, Debug)]
pub(super) struct Process {
    pub(super) pid: u32,
    /// Numbers of the programs in it.
    pub(super) programs: Vec<usize>,
}

#[derive(Clone, Debug)]
pub(super) struct Thread {
    pub(super) task: (u32, u32),
    pub(super) comm: String,
    pub(super) cpu: u32,
    /// Percent of the time.
    pub(super) busy: u64,
    pub(super) stacks: Vec<Stack>,
}

#[derive(Clone, Debug)]
pub(super) struct Stack {
    pub(super) percent: u64,
    /// The function that runs.
    pub(super) leaf: Place,
    /// Where its callers go on, the nearest first.
    pub(super) callers: Vec<u64>,
    pub(super) branches: Vec<(u64, u64)>,
    pub(super) addr: u64,
    pub(super) data_src: u64,
    pub(super) weight: u64,
}

/// Where a function is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) addr: u64,
    pub(super) size: u64,
}

/// A record that the scenario tells itself.
#[derive(Clone, Debug)]
pub(super) struct Told {
    pub(super) misc: Misc,
    pub(super) body: Body,
    pub(super) stamp: Stamp,
}

/// Fields of samples that a scenario can ask for.
const FIELDS: SampleType = Event::FIELDS
    .union(SampleType::ID)
    .union(SampleType::STREAM_ID)
    .union(SampleType::CALLCHAIN)
    .union(SampleType::ADDR)
    .union(SampleType::PHYS_ADDR)
    .union(SampleType::WEIGHT)
    .union(SampleType::WEIGHT_STRUCT)
    .union(SampleType::DATA_SRC)
    .union(SampleType::DATA_PAGE_SIZE)
    .union(SampleType::CODE_PAGE_SIZE);

/// Where the first program is mapped, and how far apart they are.
const FIRST_MAP: u64 = 0x5555_0000_0000;
const MAP_STEP: u64 = 1 << 32;

/// The time at which recordings begin: not 0, which would be none.
const BEGIN: u64 = 1_000_000_000_000;

impl Scenario {
    /// Reads a scenario from its text; messages call it by its name.
    ///
    /// ```
    /// use perfconv::synth::Scenario;
    ///
    /// let error = Scenario::parse("wrong.toml", "about = \"\"\nduration = \"-1s\"\nevent = []").unwrap_err();
    /// assert!(error.to_string().starts_with("wrong.toml:2: duration: \"-1s\" is no time"), "{error}");
    /// ```
    ///
    /// # Errors
    /// Where the text is none, or what it says does not fit together: with line and key.
    pub fn parse(name: &str, text: &str) -> Result<Self> {
        Lines { name, text }.scenario()
    }

    /// The scenario on a machine of another byte order.
    #[must_use]
    pub fn on_machine_of(mut self, endian: Endian) -> Self {
        self.about.endian = endian;
        self.programs.iter_mut().for_each(|program| program.image.target.endian = endian);
        self
    }

    /// When it begins: nanoseconds of the recording's clock.
    pub(super) fn begin(&self) -> u64 {
        BEGIN
    }
}

/// The text of a scenario, to name places in it.
struct Lines<'a> {
    name: &'a str,
    text: &'a str,
}

impl Lines<'_> {
    /// What is wrong, with the line and the key.
    fn wrong(&self, span: Range<usize>, key: &str, what: impl std::fmt::Display) -> Error {
        let before = self.text.get(..span.start).unwrap_or_default();
        let line = before.bytes().filter(|&byte| byte == b'\n').count() + 1;
        let key = if key.is_empty() { String::new() } else { format!("{key}: ") };
        Error::Refused(format!("{}:{line}: {key}{what}", self.name))
    }

    fn file(&self) -> Result<File> {
        let unread = |error: &toml::de::Error, key: &str| {
            let what = error.message().lines().next().unwrap_or_default();
            self.wrong(error.span().unwrap_or(0..0), key, what)
        };
        let parsed = toml::Deserializer::parse(self.text).map_err(|error| unread(&error, ""))?;
        serde_path_to_error::deserialize(parsed).map_err(|error| {
            // What tells places is in the path as if it were a key.
            let path = error.path().to_string();
            let keys: Vec<_> = path.split('.').filter(|key| !key.starts_with("$__") && *key != "?").collect();
            unread(error.inner(), keys.join(".").trim_start_matches('.'))
        })
    }

    fn scenario(&self) -> Result<Scenario> {
        let file = self.file()?;
        let mut about = self.about(&file)?;
        let programs = self.programs(&file, about.endian)?;
        for (name, feature) in &file.feature {
            let key = format!("feature.{name}");
            let id = (0..256).map(FeatureId).find(|id| id.name() == Some(name));
            let id = id.ok_or_else(|| self.wrong(feature.span(), &key, "there is no such feature"))?;
            let content = Feature::deserialize(id, feature.get_ref());
            about.set(id, content.map_err(|e| self.wrong(feature.span(), &key, e))?);
        }
        let cpus = about.machine.as_ref().map_or(1, |machine| machine.cpus);
        let (mut processes, mut threads) = (Vec::new(), Vec::new());
        for process in &file.process {
            let known = self.process(process, &programs)?;
            for thread in &process.thread {
                let cpu = threads.len() as u32 % cpus;
                let task = (process.pid, thread.tid.unwrap_or(process.pid));
                let comm = thread.comm.clone().unwrap_or_else(|| process.comm.clone());
                let busy = *thread.busy.get_ref();
                if busy > 100 {
                    return Err(self.wrong(
                        thread.busy.span(),
                        "process.thread.busy",
                        "a thread cannot run more than 100 percent",
                    ));
                }
                let percents = thread.stack.iter().map(|stack| stack.get_ref().percent);
                let sum = percents.fold(0, u64::saturating_add);
                if let Some(first) = thread.stack.first().filter(|_| sum != 100) {
                    let what = format!("the percents of this thread's stacks are {sum} together, not 100");
                    return Err(self.wrong(first.span(), "process.thread.stack.percent", what));
                }
                let stacks = thread.stack.iter().map(|stack| self.stack(stack.get_ref(), &known, &programs));
                threads.push(Thread { task, comm, cpu, busy, stacks: stacks.collect::<Result<_>>()? });
            }
            processes.push(known);
        }
        let mut records = file.record.iter().map(|record| self.record(record)).collect::<Result<Vec<_>>>()?;
        records.sort_by_key(|told| told.stamp.time);
        let rates = file.event.iter().map(|event| *event.rate.get_ref()).collect();
        let duration = file.duration.get_ref().0;
        let (shows, expect, seed) = (file.about, file.expect, file.seed);
        Ok(Scenario { shows, expect, about, seed, duration, programs, processes, threads, rates, records })
    }

    fn about(&self, file: &File) -> Result<About> {
        let usual = Machine::default();
        let told = file.machine.clone();
        let machine = Machine {
            arch: told.arch.unwrap_or(usual.arch),
            cpus: told.cpus.unwrap_or(usual.cpus).max(1),
            hostname: told.hostname.unwrap_or(usual.hostname),
            release: told.release.unwrap_or(usual.release),
            cpu: told.cpu.unwrap_or(usual.cpu),
            perf: told.perf.unwrap_or(usual.perf),
            ..usual
        };
        let endian = if file.endian == Order::Big { Endian::Big } else { Endian::Little };
        let mut about = About::default();
        (about.endian, about.machine) = (endian, Some(machine));
        for event in &file.event {
            about.event(self.event(event)?);
        }
        about.meta()?;
        Ok(about)
    }

    fn event(&self, table: &EventTable) -> Result<Event> {
        let event = Event::named(table.name.get_ref());
        let mut event = event.map_err(|e| self.wrong(table.name.span(), "event.name", e))?;
        if !(1..=1_000_000_000).contains(table.rate.get_ref()) {
            return Err(self.wrong(table.rate.span(), "event.rate", "it is from 1 to 1000000000 samples a second"));
        }
        if let Some(period) = table.period {
            event = event.period(period);
        }
        for name in &table.fields {
            let field = SampleType::from_name(name.get_ref()).filter(|&field| FIELDS.contains(field));
            let what = || {
                let known: Vec<_> = FIELDS.iter_names().map(|(name, _)| name).collect();
                format!("{:?} is no field that samples can have here; they are {}", name.get_ref(), known.join(", "))
            };
            event = event.with(field.ok_or_else(|| self.wrong(name.span(), "event.fields", what()))?);
        }
        for name in &table.branches {
            let kind = BranchSampleType::from_name(name.get_ref());
            let what = || format!("{:?} is no kind of branches; some are ANY, USER, CALL_STACK", name.get_ref());
            let kind = kind.ok_or_else(|| self.wrong(name.span(), "event.branches", what()))?;
            let kinds = event.attr.branch_sample_type | kind;
            event = event.branches(kinds);
        }
        if event.attr.branch_sample_type.intersects(BranchSampleType::HW_INDEX | BranchSampleType::COUNTERS) {
            let what = "HW_INDEX and COUNTERS are not made";
            return Err(self.wrong(table.name.span(), "event.branches", what));
        }
        Ok(event)
    }

    fn programs(&self, file: &File, endian: Endian) -> Result<Vec<Program>> {
        let arch = file.machine.arch.as_deref().unwrap_or("x86_64");
        let machine = crate::rewrite::jit::machine::of_arch(arch);
        let machine = machine.ok_or_else(|| self.wrong(0..0, "machine.arch", format!("{arch:?} is not known")))?;
        let target = Target { machine, is_64: true, endian };
        let mut programs: Vec<Program> = Vec::new();
        for (number, table) in file.program.iter().enumerate() {
            let base = FIRST_MAP + number as u64 * MAP_STEP;
            let program = self.program(table, target, base)?;
            if programs.iter().any(|other| other.path == program.path) {
                return Err(self.wrong(
                    table.path.span(),
                    "program.path",
                    format!("{:?} is there twice", program.path),
                ));
            }
            programs.push(program);
        }
        Ok(programs)
    }

    fn program(&self, table: &ProgramTable, target: Target, base: u64) -> Result<Program> {
        let (path, function_size) = (table.path.get_ref(), *table.function_size.get_ref());
        let is_path = path.starts_with('/') && !path.contains('\0') && !path.split('/').any(|part| part == "..");
        if !is_path || path.ends_with('/') {
            return Err(self.wrong(
                table.path.span(),
                "program.path",
                format!("{path:?} is no absolute path of a file"),
            ));
        }
        let mut image = Image::new(target);
        let mut functions = HashMap::new();
        for name in &table.functions {
            let function = Function { name: name.get_ref().clone().into(), size: function_size, ..Function::default() };
            let place = image.push(function).filter(|_| function_size > 0 && image.end() < MAP_STEP);
            let place = place.ok_or_else(|| {
                self.wrong(
                    table.function_size.span(),
                    "program.function_size",
                    "functions have at least 1 byte, and all together less than 4 GB",
                )
            })?;
            if functions.insert(name.get_ref().clone(), place).is_some() || name.get_ref().is_empty() {
                return Err(self.wrong(
                    name.span(),
                    "program.functions",
                    format!("{:?} is there twice, or no name", name.get_ref()),
                ));
            }
        }
        Ok(Program { path: path.clone(), image, base, functions, function_size })
    }

    fn process(&self, table: &ProcessTable, programs: &[Program]) -> Result<Process> {
        let numbers = table.programs.iter().map(|path| {
            let number = programs.iter().position(|program| program.path == *path.get_ref());
            let what = || format!("there is no program {:?}", path.get_ref());
            number.ok_or_else(|| self.wrong(path.span(), "process.programs", what()))
        });
        Ok(Process { pid: table.pid, programs: numbers.collect::<Result<_>>()? })
    }

    fn stack(&self, table: &StackTable, process: &Process, programs: &[Program]) -> Result<Stack> {
        let key = "process.thread.stack.frames";
        let places = table.frames.iter().map(|frame| {
            self.function(frame.get_ref(), process, programs).map_err(|what| self.wrong(frame.span(), key, what))
        });
        let mut places = places.collect::<Result<Vec<_>>>()?;
        let Some(leaf) = places.pop() else {
            return Err(Error::Refused(format!("{}: {key}: a stack has at least one frame", self.name)));
        };
        let callers = places.iter().rev().map(|place| place.addr + place.size / 2).collect();
        let branches = table.branches.iter().map(|text| {
            let branch = self.branch(text.get_ref(), process, programs);
            branch.map_err(|what| self.wrong(text.span(), "process.thread.stack.branches", what))
        });
        let branches = branches.collect::<Result<_>>()?;
        let StackTable { percent, addr, data_src, weight, .. } = *table;
        Ok(Stack { percent, leaf, callers, branches, addr, data_src, weight })
    }

    fn function(&self, name: &str, process: &Process, programs: &[Program]) -> std::result::Result<Place, String> {
        let (file, function) = name.split_once('!').map_or((None, name), |(file, function)| (Some(file), function));
        let mapped = process.programs.iter().filter_map(|&number| programs.get(number));
        let meant = mapped.filter(|program| file.is_none_or(|file| program.path.rsplit('/').next() == Some(file)));
        let mut found = meant.filter_map(|program| Some((program, program.functions.get(function)?)));
        let Some((program, place)) = found.next() else {
            return Err(format!("there is no function {name:?} in the programs of process {}", process.pid));
        };
        if found.next().is_some() {
            return Err(format!(
                "several programs have a function {name:?}: put the file before it, as in libc.so.6!{name}"
            ));
        }
        Ok(Place { addr: program.base + place, size: program.function_size })
    }

    /// `main+0x10 -> loop`.
    fn branch(&self, text: &str, process: &Process, programs: &[Program]) -> std::result::Result<(u64, u64), String> {
        let wrong = || format!("{text:?} is no branch; one is main+0x10 -> loop");
        let (from, to) = text.split_once(" -> ").ok_or_else(wrong)?;
        let address = |text: &str| {
            let (name, offset) = text.split_once("+0x").unwrap_or((text, "0"));
            let place = self.function(name, process, programs)?;
            let offset = u64::from_str_radix(offset, 16).map_err(|_| wrong())?;
            let is_in = offset < place.size;
            is_in.then(|| place.addr + offset).ok_or_else(|| format!("{text:?} is outside of the function"))
        };
        Ok((address(from)?, address(to)?))
    }

    fn record(&self, table: &RecordTable) -> Result<Told> {
        let kind =
            (1..RecordType::USER_START.0 * 2).map(RecordType).find(|kind| kind.name() == Some(table.kind.get_ref()));
        let what = || format!("{:?} is no type of records", table.kind.get_ref());
        let kind = kind.ok_or_else(|| self.wrong(table.kind.span(), "record.type", what()))?;
        let body = Body::deserialize(kind, table.body.get_ref());
        let body = body.map_err(|e| self.wrong(table.body.span(), "record.body", e))?;
        let time = table.at.map_or(0, |at| BEGIN.saturating_add(at.0));
        let stamp = Stamp::at(time, table.pid, table.tid.unwrap_or(table.pid)).on(table.cpu);
        Ok(Told { misc: table.misc, body, stamp })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"about = "x"
duration = "1s"
event = [{ name = "cycles", rate = 100 }]
[[program]]
path = "/bin/app"
functions = ["main", "work"]
[[process]]
pid = 7
comm = "app"
programs = ["/bin/app"]
[[process.thread]]
[[process.thread.stack]]
percent = 100
frames = ["main", "work"]
branches = ["main+0x10 -> work"]
[[record]]
type = "LOST"
at = "5ms"
body = { id = 1, lost = 3 }
"#;

    #[test]
    fn what_is_wrong_is_told_with_line_and_key() {
        Scenario::parse("s.toml", GOOD).unwrap();
        for (good, bad, message) in [
            ("rate = 100", "rat = 100", "s.toml:3: event[0]"),
            ("rate = 100", "rate = 0", "s.toml:3: event.rate: it is from 1"),
            ("rate = 100", "rate = -5", "s.toml:3: event[0].rate: "),
            ("\"cycles\"", "\"bicycles\"", "s.toml:3: event.name: \"bicycles\" is no event"),
            ("\"1s\"", "\"-1s\"", "s.toml:2: duration: \"-1s\" is no time"),
            (
                "percent = 100",
                "percent = 99",
                "s.toml:12: process.thread.stack.percent: the percents of this thread's stacks are 99",
            ),
            (
                "\"work\"]\nbranches",
                "\"play\"]\nbranches",
                "s.toml:14: process.thread.stack.frames: there is no function \"play\"",
            ),
            ("main+0x10", "main+0x1000", "s.toml:15: process.thread.stack.branches: \"main+0x1000\" is outside"),
            ("\"LOST\"", "\"FOUND\"", "s.toml:17: record.type: \"FOUND\" is no type"),
            ("lost = 3", "last = 3", "s.toml:19: record.body: "),
            ("[\"/bin/app\"]", "[\"/bin/ap\"]", "s.toml:10: process.programs: there is no program"),
            ("pid = 7", "pid = 7\nx = 1", "s.toml:9: process[0]"),
            ("about", "=about", "s.toml:1: "),
        ] {
            let text = GOOD.replacen(good, bad, 1);
            let error = Scenario::parse("s.toml", &text).unwrap_err().to_string();
            assert!(error.starts_with(message), "{bad}: {error}");
        }
    }
}
