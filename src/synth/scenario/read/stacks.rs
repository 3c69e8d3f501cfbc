//! Stacks: addresses of functions and branches, and other sample fields.

use super::{ScenarioLines, StackNames};
use crate::synth::scenario::file::process::StackTable;
use crate::synth::scenario::plan::{FunctionLocation, PlannedSpace, Process, Program, Stack};
use perf_data::abi::sample::Sample;
use perf_data::abi::sample::branch::BranchFlags;
use perf_data::abi::sample::field::SampleField;
use perf_data::abi::sample_type::SampleType;
use perf_data::error::Result;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use toml::Spanned;

/// An error without its location.
type Parsed<T> = std::result::Result<T, String>;

/// Sample fields derived from other parts of the scenario.
const DERIVED: SampleType = SampleField::Callchain.up_to().difference(SampleType::ADDR).difference(SampleType::PERIOD);

/// Maximum size of a user stack file: a record holds no more.
const MAX_STACK: usize = 1 << 16;

impl ScenarioLines<'_> {
    pub(super) fn stack(
        &self,
        given: &Spanned<StackTable>,
        process: &Process,
        names: &StackNames<'_>,
    ) -> Result<Stack> {
        let table = given.get_ref();
        let key = "process.thread.stack.frames";
        let locations = table.frames.iter().map(|frame| {
            let location = function(frame.get_ref(), process, names.programs);
            location.map_err(|problem| self.invalid(frame.span(), key, problem))
        });
        let locations = locations.collect::<Result<Vec<_>>>()?;
        let Some((leaf, callers)) = locations.split_last() else {
            return Err(self.invalid(given.span(), key, "a stack needs at least one frame"));
        };
        let mut chain = vec![leaf.space.context(), leaf.addr];
        let mut space = leaf.space;
        for caller in callers.iter().rev() {
            if caller.space != space {
                chain.push(caller.space.context());
                space = caller.space;
            }
            // The return address is in the middle of the caller.
            chain.push(caller.addr + caller.size / 2);
        }
        let branches = table.branches.iter().map(|text| {
            let branch = branch(text.get_ref(), process, names.programs);
            branch.map_err(|problem| self.invalid(text.span(), "process.thread.stack.branches", problem))
        });
        Ok(Stack {
            percent: table.percent,
            leaf: *leaf,
            chain,
            branches: branches.collect::<Result<_>>()?,
            regs: self.regs(table, names)?,
            raw: self.raw(table, names)?,
            user_stack: table.user_stack.as_ref().map(|name| self.user_stack(name)).transpose()?,
            sample: self.sample(table)?,
        })
    }

    fn regs(&self, table: &StackTable, names: &StackNames<'_>) -> Result<BTreeMap<String, u64>> {
        let values = table.regs.iter().map(|(name, value)| {
            let is_known = names.registers.is_some_and(|registers| registers.bit(name.get_ref()).is_some());
            let error = || {
                self.invalid(
                    name.span(),
                    "process.thread.stack.regs",
                    format!("'{}' is not a known register, or its value is not a number", name.get_ref()),
                )
            };
            let number = Self::json(value).as_u64().or_else(|| value.as_i64().map(i64::cast_unsigned));
            let number = number.filter(|_| is_known);
            number.map(|number| (name.get_ref().clone(), number)).ok_or_else(error)
        });
        values.collect()
    }

    fn raw(&self, table: &StackTable, names: &StackNames<'_>) -> Result<BTreeMap<String, Value>> {
        if table.raw.is_empty() {
            return Ok(BTreeMap::new());
        }
        let events = names.metadata.events();
        let values = table.raw.iter().map(|(name, value)| {
            let tracepoints = events.iter().filter_map(|event| event.tracepoint.as_ref());
            let mut fields = tracepoints.flat_map(|tracepoint| &tracepoint.fields);
            let error = |problem: &str| {
                self.invalid(name.span(), "process.thread.stack.raw", format!("'{}' {problem}", name.get_ref()))
            };
            let field = fields.find(|field| field.name() == name.get_ref());
            let field = field.ok_or_else(|| error("is not a field of any tracepoint of the scenario"))?;
            match field.bytes(value, names.metadata.endian) {
                Some(_) => Ok((name.get_ref().clone(), value.clone())),
                None => Err(error("has a value of the wrong type or size")),
            }
        });
        values.collect()
    }

    fn user_stack(&self, name: &Spanned<String>) -> Result<Vec<u8>> {
        let file = Path::new(name.get_ref());
        let invalid = |problem: String| self.invalid(name.span(), "process.thread.stack.user_stack", problem);
        if file.file_name() != Some(file.as_os_str()) {
            return Err(invalid("expected the name of a file in the directory of the scenario".to_owned()));
        }
        let path = Path::new(self.name).with_file_name(file);
        let mut bytes = fs::read(&path).map_err(|e| invalid(format!("cannot read {}: {e}", path.display())))?;
        bytes.truncate(MAX_STACK);
        Ok(bytes)
    }

    fn sample(&self, table: &StackTable) -> Result<Sample> {
        let Some(given) = &table.sample else { return Ok(Sample::default()) };
        let key = "process.thread.stack.sample";
        let value = Spanned::new(given.span(), Self::json(&Value::Object(given.get_ref().clone())));
        let sample = Sample::deserialize(value.get_ref()).map_err(|e| self.invalid(given.span(), key, e))?;
        self.check_known(&value, key, &sample)?;
        let derived = sample.fields() & DERIVED;
        match derived.is_empty() {
            true => Ok(sample),
            false => {
                let names: Vec<_> = derived.iter_names().map(|(name, _)| name).collect();
                Err(self.invalid(given.span(), key, format!("{} cannot be set, it is derived", names.join(", "))))
            }
        }
    }
}

/// Finds a function in a process and the kernels.
fn function(name: &str, process: &Process, programs: &[Program]) -> Parsed<FunctionLocation> {
    let (file, function) = name.split_once('!').map_or((None, name), |(file, function)| (Some(file), function));
    let mapped = process.programs.iter().filter_map(|&number| programs.get(number));
    let kernels = programs.iter().filter(|program| program.space != PlannedSpace::User);
    let candidates =
        mapped.chain(kernels).filter(|program| file.is_none_or(|file| program.path.rsplit('/').next() == Some(file)));
    let mut matches = candidates.filter_map(|program| Some((program, program.functions.get(function)?)));
    let Some((program, offset)) = matches.next() else {
        return Err(format!("unknown function '{name}' in process {}", process.pid));
    };
    if matches.next().is_some() {
        return Err(format!("several programs have a function '{name}'; prefix the file name, as in libc.so.6!{name}"));
    }
    let space =
        if program.space == PlannedSpace::User && process.is_guest { PlannedSpace::GuestUser } else { program.space };
    Ok(FunctionLocation { space, addr: program.base + offset, size: program.function_size })
}

/// `main+0x10 -> loop MISPRED CYCLES=5`.
fn branch(text: &str, process: &Process, programs: &[Program]) -> Parsed<(u64, u64, u64)> {
    let invalid = || format!("'{text}' is not a branch; expected for instance 'main+0x10 -> loop MISPRED'");
    let (from, to) = text.split_once(" -> ").ok_or_else(invalid)?;
    let address = |text: &str| {
        let (name, offset) = text.split_once("+0x").unwrap_or((text, "0"));
        let location = function(name, process, programs)?;
        let offset = u64::from_str_radix(offset, 16).map_err(|_| invalid())?;
        let is_in = offset < location.size;
        is_in.then(|| location.addr + offset).ok_or_else(|| format!("'{text}' is outside the function"))
    };
    let mut words = to.split_whitespace();
    let (from, to) = (address(from)?, address(words.next().ok_or_else(invalid)?)?);
    let mut flags = BranchFlags::default();
    for word in words {
        let (name, value) = word.split_once('=').unwrap_or((word, "1"));
        let flag = BranchFlags::FIELDS.iter().find(|(_, flag_name)| *flag_name == name);
        let (field, _) = *flag.ok_or_else(|| format!("unknown branch flag '{name}'"))?;
        let value = value.parse().map_err(|_| invalid())?;
        flags = flags.with(field, value);
        if flags.get(field) != value {
            return Err(format!("value {value} is too large for branch flag {name}"));
        }
    }
    // A branch is predicted unless the scenario says otherwise.
    let is_given = flags.get(BranchFlags::MISPRED) != 0 || flags.get(BranchFlags::PREDICTED) != 0;
    let flags = if is_given { flags } else { flags.with(BranchFlags::PREDICTED, 1) };
    Ok((from, to, flags.0))
}
