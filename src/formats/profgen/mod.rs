//! Unsymbolized profiles of llvm-profgen, for its option `--unsymbolized-profile`: what `--skip-symbolization` writes.
//!
//! Text: the number of ranges, a line `START-END:COUNT` for each, the number of branches, a line `FROM->TO:COUNT` for each. Addresses
//! are hexadecimal, and relative to the page in which the first executable segment begins. With contexts, there are such lists, indented,
//! for each context, after a line with the addresses of its calls: `[0xA @ 0xB]`.

use super::{Format, ShowsFunctions};
use crate::branches::binary::BinaryBranches;
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
        branch_profile::begin(self.clone(), &self.profile, out, options)
    }
}

impl BranchFormat for Profgen {
    fn write(&self, binary: &BinaryBranches, ledger: &mut Ledger, out: &mut dyn Write) -> Result<()> {
        if !binary.has_branches {
            return Err(without_branches(FORMAT.name));
        }
        let base = binary.first_executable().map_or(0, |segment| segment.address / PAGE * PAGE);
        if self.context {
            return write_contexts(&contexts(binary, ledger)?, base, out).map_err(Error::Output);
        }
        let mut branches = binary.branches();
        for (to, count) in binary.entries() {
            *branches.entry((OUTSIDE, to)).or_default() += count;
        }
        write(&ContextCounts { ranges: binary.ranges(), branches }, base, "", out).map_err(Error::Output)
    }

    fn needs_call_chains(&self) -> bool {
        self.context
    }
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
