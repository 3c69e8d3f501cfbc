//! Attributes branches to positions in source code, as LLVM's llvm-profgen does.
//!
//! 1. Ranges that run over an unconditional jump, a call or a return cannot be, and are dropped.
//! 2. All code of a function with a range counts as executed zero times at least: compilers distinguish it from unknown code.
//! 3. Overlapping ranges are split (`disjoint`).
//! 4. The total of a function is a sum over instructions, weighted by their lengths. The count of a position is the largest, not the
//!    sum, of its instructions' counts: a line with ten instructions is not executed ten times.
//! 5. A branch to the entry of a function is a call of it, whatever the instruction is.
//!
//! With pseudo probes, the count of a probe is the sum over the instructions at its address, and the total of a function is that of its
//! probes. Without branches, instruction pointers are added up by position.

use super::binary::{BinaryBranches, PairCounts};
use super::code::{Code, CodeInstruction, Flow};
use super::disjoint::disjoint;
use super::functions::{Functions, canonical};
use super::probes::{Probe, Probes};
use super::source_profile::{FunctionCounts, NameNumber, SourcePosition, SourceProfile};
use super::{discriminator, report};
use perf_data::error::{Error, Result};
use perf_data::stream::ledger::Ledger;
use perf_symbols::symbol::source_lookup::SourceLookup;
use std::collections::BTreeSet;

/// Maximum number of inlined functions in each other that are distinguished. Compilers inline a few dozen.
const DEPTH: usize = 256;

/// Number of attributed instructions from which on it is remarkable that none has a discriminator.
const WITHOUT_DISCRIMINATORS: u64 = 100;

/// Names of functions of compilers that run before the program, of which no profile is kept.
const INITIALIZERS: [&[u8]; 2] = [b"__cxx_global_var_init", b"__tls_init"];

/// The symbol of objects whose discriminators are flow-sensitive.
const FLOW_SENSITIVE: &str = "__llvm_fs_discriminator__";

/// How code is found in its source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum Correlation {
    /// By pseudo probes if the object has them, otherwise by lines
    #[default]
    Auto,
    /// By lines of its debug information
    Lines,
}

/// What compilers write as discriminators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discriminators {
    /// Numbers, as GCC.
    Plain,
    /// Several numbers in a word, as LLVM, but for those that are flow-sensitive.
    Composed,
}

/// The counts of an object by position in its source.
///
/// # Errors
/// If it has no debug information, or no sampled function has.
pub fn attribute(
    binary: &BinaryBranches,
    correlation: Correlation,
    discriminators: Discriminators,
    ledger: &mut Ledger,
) -> Result<SourceProfile> {
    let name = binary.object.name();
    let mut code = binary.files.object().and_then(Code::new).filter(|_| binary.has_branches);
    if binary.has_branches && code.is_none() {
        return Err(Error::invalid(format!("{name}: only instructions of x86 and AArch64 can be decoded")));
    }
    let is_probed = correlation == Correlation::Auto && binary.has_branches;
    let probes = if is_probed { Probes::read(&binary.files) } else { None };
    let mut profile = SourceProfile::default();
    let has_source = binary.files.with_source(&mut |source| {
        let mut attribution = Attribution::new(binary, source, probes.as_ref(), discriminators);
        match &mut code {
            Some(code) => attribution.branches(code, ledger),
            None => attribution.addresses(),
        }
        profile = attribution.finish(ledger);
    });
    if !profile.functions.is_empty() {
        return Ok(profile);
    }
    const FLAGS: &str = "-g1 -fdebug-info-for-profiling";
    Err(if has_source {
        Error::not_found(format!("{name}: no sampled function has debug information; compile all code with {FLAGS}"))
    } else {
        let problem = format!("{name} has no debug information; compile it with {FLAGS}");
        Error::not_found(problem).remedy("debug_dir", "DIR with its debug file")
    })
}

/// A function at an address, with the position in it.
#[derive(Clone, Copy)]
struct AttributedFrame {
    name: NameNumber,
    position: SourcePosition,
    discriminator: u32,
}

struct Attribution<'b, 'l, 's, 'a> {
    binary: &'b BinaryBranches,
    source: &'l SourceLookup<'s, 'a>,
    probes: Option<&'b Probes>,
    profile: SourceProfile,
    functions: Functions,
    /// Scratch buffer: the frames of an address, outermost first.
    frames: Vec<AttributedFrame>,
    instructions: u64,
    /// Whether discriminators are words of several numbers.
    has_composed: bool,
    has_discriminators: bool,
}

impl<'b, 'l, 's, 'a> Attribution<'b, 'l, 's, 'a> {
    fn new(
        binary: &'b BinaryBranches,
        source: &'l SourceLookup<'s, 'a>,
        probes: Option<&'b Probes>,
        discriminators: Discriminators,
    ) -> Self {
        let is_flow_sensitive = binary.files.has_symbol(FLOW_SENSITIVE);
        let mut profile = SourceProfile::default();
        profile.is_flow_sensitive = is_flow_sensitive;
        let has_composed = discriminators == Discriminators::Composed && !is_flow_sensitive;
        let (functions, frames, instructions, has_discriminators) = Default::default();
        Self { binary, source, probes, profile, functions, frames, instructions, has_composed, has_discriminators }
    }

    /// Attributes ranges and calls.
    fn branches(&mut self, code: &mut Code<'_>, ledger: &mut Ledger) {
        let (ranges, branches, entries) = (self.binary.ranges(), self.binary.branches(), self.binary.entries());
        let ends = branches.keys().flat_map(|&(from, to)| [from, to]).chain(entries.keys().copied());
        let touched: BTreeSet<u64> = ranges.keys().map(|&(start, _)| start).chain(ends).collect();
        let touched: Vec<u64> = touched.into_iter().collect();
        let starts = ranges.keys().map(|&(start, _)| start);
        self.functions = Functions::read(self.binary, self.source, &mut self.profile, &touched, starts);
        let functions = &self.functions;
        let sampled: BTreeSet<usize> =
            touched.iter().filter_map(|&address| Some(functions.part(address)?.1.function)).collect();
        for function in sampled {
            functions.list[function].parts.iter().for_each(|part| code.decode(part.clone()));
        }
        for (part, count) in disjoint(&self.valid_ranges(&ranges, code, ledger)) {
            for instruction in
                code.instructions_from(part.0).iter().take_while(|instruction| instruction.address <= part.1)
            {
                match self.probes {
                    Some(probes) => self.add_probes(probes, instruction.address, count),
                    None => self.add_instruction(instruction.address, instruction.len, count),
                }
            }
        }
        for ((from, to), count) in branches {
            self.add_call(Some(from).filter(|&from| code.instructions_at(from).is_some()), to, count);
        }
        for (to, count) in entries {
            self.add_call(None, to, count);
        }
        for counts in self.profile.functions.values_mut() {
            for position in counts.body.values_mut() {
                position.count = position.count.max(position.targets.values().sum());
            }
        }
    }

    /// Attributes instruction pointers.
    fn addresses(&mut self) {
        for &(address, count) in &self.binary.addresses {
            self.find_frames(address);
            if let Some(&AttributedFrame { position, .. }) = self.frames.last() {
                let body = &mut self.innermost(count).body;
                let sum = &mut body.entry(position).or_default().count;
                *sum = sum.saturating_add(count);
            }
        }
    }

    /// The ranges that can be, and one with the count 0 for each part of their functions.
    fn valid_ranges(&self, ranges: &PairCounts, code: &Code<'_>, ledger: &mut Ledger) -> PairCounts {
        let (mut valid, mut total, mut invalid) = (PairCounts::new(), 0, 0);
        for (&(start, end), &count) in ranges {
            total += count;
            let instructions = code.instructions_at(start).filter(|_| code.instructions_at(end).is_some());
            let runs_through = |list: &[CodeInstruction]| {
                let mut before_end = list.iter().take_while(|instruction| instruction.address < end);
                before_end.all(|instruction| instruction.flow == Flow::Next)
            };
            match instructions {
                Some(list) if runs_through(list) => *valid.entry((start, end)).or_default() += count,
                // Code without debug information is not decoded.
                None if [start, end].iter().any(|&end| self.functions.part(end).is_none()) => continue,
                _ => {
                    invalid += count;
                    continue;
                }
            }
            if let Some((_, part)) = self.functions.part(start) {
                for part in &self.functions.list[part.function].parts {
                    valid.entry((part.start, part.end - 1)).or_default();
                }
            }
        }
        report::warn_of_invalid_ranges(invalid, total, ledger);
        valid
    }

    /// Finds the frames of an address.
    fn find_frames(&mut self, address: u64) {
        let Self { profile, frames, source, has_composed, .. } = self;
        frames.clear();
        source.each_frame(address, &mut |frame| {
            let is_known = !frame.function.is_empty();
            let name = if is_known { profile.number(canonical(frame.function)) } else { NameNumber::MAX };
            let discriminator = frame.discriminator;
            let base = if *has_composed { discriminator::base(discriminator) } else { discriminator };
            let line = frame.line.wrapping_sub(frame.declaration) & 0xffff;
            frames.push(AttributedFrame {
                name,
                position: SourcePosition { line, discriminator: base },
                discriminator,
            });
        });
        frames.reverse();
        let end = frames.iter().position(|frame| frame.name == NameNumber::MAX).unwrap_or(frames.len());
        frames.truncate(end.min(DEPTH));
    }

    /// The counts of the innermost frame; `count` is added to the totals of all.
    fn innermost(&mut self, count: u64) -> &mut FunctionCounts {
        let Self { profile, frames, .. } = self;
        let mut counts = profile.functions.entry(frames[0].name).or_default();
        counts.total = counts.total.saturating_add(count);
        for pair in frames.windows(2) {
            counts = counts.inlined.entry(pair[0].position).or_default().entry(pair[1].name).or_default();
            counts.total = counts.total.saturating_add(count);
        }
        counts
    }

    fn add_instruction(&mut self, address: u64, len: u8, count: u64) {
        self.find_frames(address);
        let Some(&AttributedFrame { position, discriminator, .. }) = self.frames.last() else { return };
        self.instructions += 1;
        self.has_discriminators |= discriminator != 0;
        let factor = if self.has_composed { discriminator::duplication(discriminator) } else { 1 };
        let body = &mut self.innermost(count.saturating_mul(len.into())).body;
        let largest = &mut body.entry(position).or_default().count;
        *largest = (*largest).max(count.saturating_mul(factor));
    }

    /// Counts the probes at an instruction.
    fn add_probes(&mut self, probes: &Probes, address: u64, count: u64) {
        /// The probe of a function's entry.
        const ENTRY: u32 = 1;
        for probe in probes.at(address) {
            let Some(counts) = self.probed(probes, probe, count) else { continue };
            let position = SourcePosition { line: probe.index, discriminator: probe.discriminator };
            let sum = &mut counts.body.entry(position).or_default().count;
            *sum = sum.saturating_add(count);
            counts.head += if probe.index == ENTRY { count } else { 0 };
        }
    }

    /// The counts of the function of a probe; `count` is added to its total, and to those of the functions that it is inlined into.
    fn probed(&mut self, probes: &Probes, probe: &Probe, count: u64) -> Option<&mut FunctionCounts> {
        let mut frames = probes.named_frames(probe).0.into_iter();
        let (function, mut call) = frames.next()?;
        let name = self.profile.number(&function.name);
        let inner: Vec<_> =
            frames.map(|(function, index)| (self.profile.number(&function.name), function, index)).collect();
        let mut counts = self.profile.functions.entry(name).or_default();
        (counts.total, counts.checksum) = (counts.total.saturating_add(count), Some(function.checksum));
        for (name, function, index) in inner {
            let position = SourcePosition { line: call, discriminator: 0 };
            counts = counts.inlined.entry(position).or_default().entry(name).or_default();
            (counts.total, counts.checksum) = (counts.total.saturating_add(count), Some(function.checksum));
            call = index;
        }
        Some(counts)
    }

    /// Counts a branch to the entry of a function as a call.
    fn add_call(&mut self, from: Option<u64>, to: u64, count: u64) {
        let Some(callee) = self.functions.entered(to, &mut self.profile) else { return };
        if let Some(probes) = self.probes {
            let probe = from.and_then(|from| probes.call_at(from));
            if let Some((probe, counts)) = probe.and_then(|probe| Some((probe, self.probed(probes, probe, 0)?))) {
                let position = SourcePosition { line: probe.index, discriminator: 0 };
                *counts.body.entry(position).or_default().targets.entry(callee).or_default() += count;
            }
            return;
        }
        if let Some(from) = from {
            self.find_frames(from);
            if let Some(&AttributedFrame { position, .. }) = self.frames.last() {
                let targets = &mut self.innermost(0).body.entry(position).or_default().targets;
                *targets.entry(callee).or_default() += count;
            }
        }
        self.profile.functions.entry(callee).or_default().head += count;
    }

    fn finish(self, ledger: &mut Ledger) -> SourceProfile {
        let Self { binary, mut profile, instructions, has_discriminators, .. } = self;
        let names: Vec<_> = profile.functions.keys().copied().collect();
        for name in names {
            if INITIALIZERS.iter().any(|prefix| profile.name(name).starts_with(prefix)) {
                profile.functions.remove(&name);
            }
        }
        if instructions >= WITHOUT_DISCRIMINATORS && !has_discriminators {
            ledger.note(format!(
                "{}: its debug information has no discriminators, so blocks of one line share their counts; compile it with \
                 -fdebug-info-for-profiling",
                binary.object.name()
            ));
        }
        profile.with_sorted_names()
    }
}
