//! Unsymbolized profiles of llvm-profgen, for its option `--unsymbolized-profile`: what `--skip-symbolization` writes.
//!
//! Text: the number of ranges, a line `START-END:COUNT` for each, the number of branches, a line `FROM->TO:COUNT` for each. Addresses
//! are hexadecimal, and relative to the page in which the first executable segment begins. With contexts, there are such lists, indented,
//! for each context, after a line with the addresses of its calls: `[0xA @ 0xB]`.

use super::{Format, ShowsFunctions};
use crate::branches::CodeIndex;
use crate::branches::binary::{BinaryBranches, PairCounts};
use crate::branches::context::{ContextCounts, Contexts, OUTSIDE, contexts};
use crate::formats::framework::branch_profile::{self, BranchFormat, BranchProfileOptions, without_branches};
use crate::formats::framework::converter::{ConvertOptions, Converter};
use crate::formats::framework::output::{FormatWriter, OutputFormat, OutputType, RecordFormat};
use perf_data::error::{Error, Result};
use perf_data::session::map::PAGE;
use perf_data::stream::ledger::Ledger;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Unsymbolized profiles of llvm-profgen.
pub const FORMAT: Format = Format {
    extensions: &[("unsymbolized", None)],
    output: Some(OutputType::of::<Profgen>()),
    functions: ShowsFunctions::Always,
    ..Format::new("profgen", "profile for llvm-profgen --unsymbolized-profile")
};

/// An unsymbolized profile of llvm-profgen with these options.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[non_exhaustive]
pub struct Profgen {
    /// What the profile is of.
    #[cfg_attr(feature = "cli", command(flatten))]
    pub profile: BranchProfileOptions,

    /// Count ranges and branches separately by their callers, from call chains.
    #[cfg_attr(feature = "cli", arg(long))]
    pub context: bool,
}

impl OutputFormat for Profgen {
    fn format(&self) -> &'static Format {
        &FORMAT
    }

    fn writer(&self) -> FormatWriter<'_> {
        self.profile.writer(self, self)
    }
}

impl RecordFormat for Profgen {
    fn begin<'a>(&self, out: &'a mut dyn Write, options: &ConvertOptions) -> Box<dyn Converter + 'a> {
        branch_profile::begin(self.clone(), out, options)
    }
}

impl BranchFormat for Profgen {
    fn profile(&self) -> &BranchProfileOptions {
        &self.profile
    }

    fn write(&self, binary: &BinaryBranches, ledger: &mut Ledger, out: &mut dyn Write) -> Result<()> {
        if !binary.has_branches {
            return Err(without_branches(FORMAT.name));
        }
        let base = binary.first_executable().map_or(0, |segment| segment.address / PAGE * PAGE);
        if self.context {
            return write_contexts(&contexts(binary, ledger)?, base, out).map_err(Error::Output);
        }
        write(&counts(binary), base, "", out).map_err(Error::Output)
    }

    fn needs_call_chains(&self) -> bool {
        self.context
    }
}

/// The ranges and branches that llvm-profgen uses: those between instructions that it decodes. Stubs of linkers are not among them.
fn counts(binary: &BinaryBranches) -> ContextCounts {
    let mut code = CodeIndex::new(&binary.files);
    let mut is_code = |address: u64| code.as_mut().is_none_or(|code| code.is_code(address));
    let mut branches = PairCounts::new();
    for ((from, to), count) in binary.branches() {
        if is_code(to) {
            let from = if is_code(from) { from } else { OUTSIDE };
            *branches.entry((from, to)).or_default() += count;
        }
    }
    for (to, count) in binary.entries().into_iter().filter(|(to, _)| is_code(*to)) {
        *branches.entry((OUTSIDE, to)).or_default() += count;
    }
    let mut ranges = binary.ranges();
    if let Some(code) = &mut code {
        ranges.retain(|&(start, end), _| code.is_code(start) && code.runs_through(start, end));
    }
    ContextCounts { ranges, branches }
}

fn write(counts: &ContextCounts, base: u64, indent: &str, out: &mut dyn Write) -> io::Result<()> {
    for (pairs, between) in [(&counts.ranges, "-"), (&counts.branches, "->")] {
        writeln!(out, "{indent}{}", pairs.len())?;
        for (&(first, second), count) in pairs {
            let [first, second] = [first, second].map(|address| address.wrapping_sub(base));
            writeln!(out, "{indent}{first:x}{between}{second:x}:{count}")?;
        }
    }
    Ok(())
}

/// Writes a list for each context, in the order of their texts: the addresses of the calls, outermost first.
fn write_contexts(contexts: &Contexts, base: u64, out: &mut dyn Write) -> io::Result<()> {
    let text = |context: &[u64]| {
        let calls: Vec<_> = context.iter().map(|call| format!("{:#x}", call.wrapping_sub(base))).collect();
        calls.join(" @ ")
    };
    let contexts: BTreeMap<_, _> = contexts.iter().map(|(context, counts)| (text(context), counts)).collect();
    for (context, counts) in contexts {
        writeln!(out, "[{context}]")?;
        write(counts, base, "  ", out)?;
    }
    Ok(())
}
