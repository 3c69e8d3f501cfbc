//! Converts a scenario file to a scenario: resolves all names, and reports errors with line and key.
//!
//! * Here: the scenario as a whole; [`events`]; [`programs`]; [`stacks`]; [`samples`]; [`records`].

mod events;
mod programs;
mod records;
mod samples;
mod stacks;
#[cfg(test)]
mod tests;

use super::code;
use super::damage::Damage;
use super::file::process::{ProcessTable, ThreadTable};
use super::file::{Compress, ContainerKey, File, Order, SwitchesTable};
use super::plan::{PlannedThread, Process, Program, SampledSwitches, Scenario, Switches};
use super::registers::Registers;
use super::slices::{SCHED_SWITCH, WAKEUPS};
use crate::synth::{Machine, Metadata};
use perf_data::abi::Endian;
use perf_data::abi::attr_flags::AttrFlags;
use perf_data::abi::feature::{Feature, FeatureId};
use perf_data::abi::hex::from_hex;
use perf_data::container::read::Container;
use perf_data::container::write::frames::FrameKind;
use perf_data::error::{Error, Result};
use serde_json::Value;
use std::collections::HashSet;
use std::ops::{Range, RangeInclusive};
use toml::Spanned;

/// The text of a scenario, to locate errors.
pub(super) struct ScenarioLines<'a> {
    pub(super) name: &'a str,
    pub(super) text: &'a str,
}

/// The names that stacks are resolved against.
struct StackNames<'a> {
    metadata: &'a Metadata,
    programs: &'a [Program],
    registers: Option<Registers>,
}

impl ScenarioLines<'_> {
    /// An error with line and key.
    fn invalid(&self, span: Range<usize>, key: &str, problem: impl std::fmt::Display) -> Error {
        let before = self.text.get(..span.start).unwrap_or_default();
        let line = before.bytes().filter(|&byte| byte == b'\n').count() + 1;
        let key = if key.is_empty() { String::new() } else { format!("{key}: ") };
        Error::invalid(format!("{}:{line}: {key}{problem}", self.name))
    }

    fn file(&self) -> Result<File> {
        let parse_error = |error: &toml::de::Error, key: &str| {
            let problem = error.message().lines().next().unwrap_or_default();
            self.invalid(error.span().unwrap_or(0..0), key, problem)
        };
        let parsed = toml::Deserializer::parse(self.text).map_err(|error| parse_error(&error, ""))?;
        serde_path_to_error::deserialize(parsed).map_err(|error| {
            // Spans appear as keys in the path.
            let path = error.path().to_string();
            let keys: Vec<_> = path.split('.').filter(|key| !key.starts_with("$__") && *key != "?").collect();
            parse_error(error.inner(), keys.join(".").trim_start_matches('.'))
        })
    }

    pub(super) fn scenario(&self) -> Result<Scenario> {
        let file = self.file()?;
        let registers = Registers::for_arch(file.machine.arch.as_deref().unwrap_or("x86_64"));
        let (mut metadata, events) = self.metadata(&file, registers)?;
        let (mut programs, bpf) = self.programs(&file, metadata.endian)?;
        self.features(&file, &mut metadata)?;
        let names = StackNames { metadata: &metadata, programs: &programs, registers };
        let cpus = metadata.machine.as_ref().map_or(1, |machine| machine.cpus);
        let (mut processes, mut threads, mut cgroups) = (Vec::new(), Vec::new(), Vec::new());
        let mut pids = HashSet::new();
        for table in &file.process {
            if !pids.insert(table.pid) {
                return Err(Error::invalid(format!("{}: process.pid: duplicate process ID {}", self.name, table.pid)));
            }
            let process = self.process(table, &programs, &mut cgroups)?;
            for thread in &table.thread {
                let cpu = threads.len() as u32 % cpus;
                threads.push(self.thread(table, thread, cpu, &process, &names)?);
            }
            processes.push(process);
        }
        let mut records = self.samples(&file, &processes, &names)?;
        records.extend(self.records(&file, &metadata)?);
        records.sort_by_key(|given| given.stamp.time);
        let mut branches: Vec<_> =
            threads.iter().flat_map(|thread| &thread.stacks).flat_map(|stack| &stack.branches).collect();
        branches.sort_by_key(|(from, ..)| *from);
        let mut room = code::MAX_SIZE;
        programs.iter_mut().for_each(|program| program.add_code(&branches, &mut room));
        let switches = file.switches.as_ref().map(|table| self.switches(table, &metadata, &threads)).transpose()?;
        let flags = [
            (AttrFlags::CONTEXT_SWITCH, switches.is_some_and(|switches| switches.sampled.is_none())),
            (AttrFlags::CGROUP, !cgroups.is_empty()),
            (AttrFlags::KSYMBOL | AttrFlags::BPF_EVENT, !bpf.is_empty()),
        ];
        let flags = flags.into_iter().filter(|(_, is_set)| *is_set).map(|(flags, _)| flags).collect();
        metadata.flag_first(flags);
        let damage = file.damage.as_ref().map(|table| self.damage(table, file.container)).transpose()?;
        Ok(Scenario {
            shows: file.about,
            expect: file.expect,
            metadata,
            seed: file.seed,
            container: match file.container {
                ContainerKey::File => Container::File,
                ContainerKey::Pipe => Container::Pipe,
                ContainerKey::Dir => Container::Directory,
            },
            compress: match file.compress {
                Compress::No => None,
                Compress::Compressed => Some(FrameKind::Compressed),
                Compress::Compressed2 => Some(FrameKind::Compressed2),
            },
            damage,
            duration: file.duration.get_ref().0,
            programs,
            bpf,
            processes,
            threads,
            events,
            switches,
            registers,
            records,
        })
    }

    fn metadata(&self, file: &File, registers: Option<Registers>) -> Result<(Metadata, Vec<super::plan::Sampled>)> {
        let defaults = Machine::default();
        let given = file.machine.clone();
        let machine = Machine {
            arch: given.arch.unwrap_or(defaults.arch),
            cpus: given.cpus.unwrap_or(defaults.cpus).clamp(1, MAX_CPUS),
            hostname: given.hostname.unwrap_or(defaults.hostname),
            release: given.release.unwrap_or(defaults.release),
            cpu: given.cpu.unwrap_or(defaults.cpu),
            perf: given.perf.unwrap_or(defaults.perf),
            ..defaults
        };
        let (events, cpus) = (file.event.len(), machine.cpus as usize);
        if events.saturating_mul(cpus) > MAX_IDS {
            let problem = format!("{events} events on {cpus} CPUs are too many; their product is at most {MAX_IDS}");
            return Err(self.invalid(0..0, "machine.cpus", problem));
        }
        let mut metadata = Metadata::default();
        metadata.endian = if file.endian == Order::Big { Endian::Big } else { Endian::Little };
        (metadata.machine, metadata.rounds) = (Some(machine), file.rounds);
        let events = self.events(file, registers, &mut metadata)?;
        // Errors in the events are reported when the scenario is read, not only when it is run.
        metadata.meta()?;
        Ok((metadata, events))
    }

    fn features(&self, file: &File, metadata: &mut Metadata) -> Result<()> {
        let feature_id = |name: &str| (0..256).map(FeatureId).find(|id| id.name() == Some(name));
        for (name, feature) in &file.feature {
            let key = format!("feature.{name}");
            let id = feature_id(name).ok_or_else(|| self.invalid(feature.span(), &key, "unknown feature"))?;
            let content = Feature::deserialize(id, Self::fields(feature.get_ref()));
            let content = content.map_err(|e| self.invalid(feature.span(), &key, e))?;
            self.check_known(feature, &key, &content)?;
            metadata.set(id, content);
        }
        for name in &file.without {
            let problem = || format!("unknown feature '{}'", name.get_ref());
            metadata.omit_feature(
                feature_id(name.get_ref()).ok_or_else(|| self.invalid(name.span(), "without", problem()))?,
            );
        }
        Ok(())
    }

    fn thread(
        &self,
        process: &ProcessTable,
        thread: &ThreadTable,
        cpu: u32,
        planned_process: &Process,
        names: &StackNames<'_>,
    ) -> Result<PlannedThread> {
        let cpus = names.metadata.machine.as_ref().map_or(1, |machine| machine.cpus);
        let cpu = match &thread.cpu {
            Some(cpu) if *cpu.get_ref() >= cpus => {
                let problem = format!("expected a CPU below {cpus}");
                return Err(self.invalid(cpu.span(), "process.thread.cpu", problem));
            }
            Some(cpu) => *cpu.get_ref(),
            None => cpu,
        };
        let busy = *thread.busy.get_ref();
        if busy > 100 {
            let problem = "expected at most 100 percent";
            return Err(self.invalid(thread.busy.span(), "process.thread.busy", problem));
        }
        let percents = thread.stack.iter().map(|stack| stack.get_ref().percent);
        let sum = percents.fold(0, u64::saturating_add);
        if let Some(first) = thread.stack.first().filter(|_| sum != 100) {
            let problem = format!("the percentages of this thread's stacks add up to {sum}, not 100");
            return Err(self.invalid(first.span(), "process.thread.stack.percent", problem));
        }
        let stacks = thread.stack.iter().map(|stack| self.stack(stack, planned_process, names));
        Ok(PlannedThread {
            task: (process.pid, thread.tid.unwrap_or(process.pid)),
            comm: thread.comm.clone().unwrap_or_else(|| process.comm.clone()),
            cpu,
            busy,
            cgroup: planned_process.cgroup.as_ref().map_or(0, |(id, _)| *id),
            stacks: stacks.collect::<Result<_>>()?,
        })
    }

    fn switches(&self, table: &SwitchesTable, metadata: &Metadata, threads: &[PlannedThread]) -> Result<Switches> {
        let every = table.every.get_ref().0;
        if !SWITCH_INTERVALS.contains(&every) {
            return Err(self.invalid(table.every.span(), "switches.every", "expected 100ns to 60m"));
        }
        let index = |name: &str| metadata.events().iter().position(|event| event.name == name);
        let sampled = table.samples.then(|| {
            let problem = "samples of context switches need an event sched:sched_switch";
            let switch =
                index(SCHED_SWITCH).ok_or_else(|| self.invalid(table.every.span(), "switches.samples", problem))?;
            let wakeup = WAKEUPS.iter().find_map(|name| index(name));
            let delay = table.delay.map_or(0, |delay| delay.0);
            let busy = threads.iter().map(|thread| thread.busy).max().unwrap_or(0);
            if u128::from(every) * u128::from(busy) / 100 + u128::from(delay) > every.into() {
                let problem = "a thread that is delayed by so much is not busy for so long";
                return Err(self.invalid(table.every.span(), "switches.delay", problem));
            }
            Ok(SampledSwitches { switch, wakeup, delay, state: table.state })
        });
        Ok(Switches { every, cpu_wide: table.cpu_wide, sampled: sampled.transpose()? })
    }

    fn damage(&self, table: &super::file::damage::DamageTable, container: ContainerKey) -> Result<Damage> {
        if container == ContainerKey::Dir {
            let problem = "damage: only files and pipes can be corrupted";
            return Err(Error::invalid(format!("{}: {problem}", self.name)));
        }
        for name in table.header.keys() {
            if !Damage::HEADER.iter().any(|(field, _)| field == name.get_ref()) {
                let expected: Vec<_> = Damage::HEADER.iter().map(|(name, _)| *name).collect();
                let problem =
                    format!("unknown header field '{}'; expected one of: {}", name.get_ref(), expected.join(", "));
                return Err(self.invalid(name.span(), "damage.header", problem));
            }
        }
        let header = table.header.iter().map(|(name, value)| {
            let error = || self.invalid(name.span(), "damage.header", "expected a number, or a string of 8 bytes");
            let value = match value {
                Value::Number(number) => number.as_u64(),
                Value::String(text) => <[u8; 8]>::try_from(text.as_bytes()).ok().map(u64::from_le_bytes),
                _ => None,
            };
            Ok((name.get_ref().clone(), value.ok_or_else(error)?))
        });
        Ok(Damage {
            unfinished: table.unfinished,
            empty_record: table.empty_record.as_ref().map(|number| *number.get_ref()),
            header: header.collect::<Result<_>>()?,
            flip: table.flip.iter().map(|position| *position.get_ref()).collect(),
            cut: table.cut.as_ref().map(|position| *position.get_ref()),
        })
    }

    /// Parses bytes from hexadecimal digits, ignoring blanks.
    fn hex(&self, text: &Spanned<String>, key: &str) -> Result<Vec<u8>> {
        let digits: Vec<u8> = text.get_ref().bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
        from_hex(&digits).ok_or_else(|| self.invalid(text.span(), key, "expected pairs of hexadecimal digits"))
    }

    /// Fields of a record or feature. An empty table means no fields.
    fn fields(given: &Value) -> Value {
        if given.as_object().is_some_and(serde_json::Map::is_empty) { Value::Null } else { Self::json(given) }
    }

    /// The JSON equivalent of a TOML value. Numbers beyond TOML's range are strings of 16 hexadecimal digits.
    fn json(given: &Value) -> Value {
        match given {
            Value::String(text) => {
                let digits = text.strip_prefix("0x").filter(|digits| digits.len() == 16);
                let number = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
                number.map_or_else(|| given.clone(), Value::from)
            }
            Value::Array(values) => values.iter().map(Self::json).collect(),
            Value::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), Self::json(value))).collect(),
            _ => given.clone(),
        }
    }

    /// Checks that all keys are fields of the decoded value, by serializing it.
    fn check_known(&self, given: &Spanned<Value>, key: &str, read: &impl serde::Serialize) -> Result<()> {
        let serialized = serde_json::to_value(read).unwrap_or_default();
        let (Value::Object(given_keys), Value::Object(fields)) = (given.get_ref(), &serialized) else { return Ok(()) };
        match given_keys.keys().find(|name| !fields.contains_key(*name)) {
            Some(name) => {
                let expected: Vec<_> = fields.keys().map(String::as_str).collect();
                Err(self.invalid(
                    given.span(),
                    key,
                    format!("unknown field '{name}'; expected one of: {}", expected.join(", ")),
                ))
            }
            None => Ok(()),
        }
    }
}

/// Valid scheduling intervals in nanoseconds: one percent must not round to 0, and the maximum is an hour.
const SWITCH_INTERVALS: RangeInclusive<u64> = 100..=3_600_000_000_000;

/// Maximum number of CPUs, each of which has an ID for each event: as many as Linux supports on 64-bit Arm.
const MAX_CPUS: u32 = 4096;

/// Maximum number of event IDs, which are in memory: in an ID_INDEX, each takes 32 bytes.
const MAX_IDS: usize = 1 << 20;
