//! `perf diff`: how the shares of functions differ between two recordings.

use super::option::{Given, PerfOption, names};
use super::{Call, input, report};
use crate::cli::args::{ConvertArgs, SymbolArgs, SymbolFileArgs};
use crate::cli::convert::Conversion;
use crate::cli::failure::Failure;
use perfconv::formats::report::perf::{PerfCompute, PerfDiff};
use perfconv::inspect::info::Parts;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

const ORDER: &str = "rows are ordered by what --compute names";
const BLOCKS: &str = "cycles of basic blocks are not compared; use the real perf";

/// The options of perf 6.1.
pub(super) const OPTIONS: &[PerfOption] = &[
    PerfOption::flag(names!("baseline-only")).short('b'),
    PerfOption::value(names!("comms")).short('C'),
    PerfOption::value(names!("compute")).short('c'),
    PerfOption::value(names!("dsos")).short('d'),
    PerfOption::flag(names!("dump-raw-trace")).short('D').refused("use 'perfconv dump'"),
    PerfOption::flag(names!("force")).short('f'),
    PerfOption::flag(names!("formula")).short('F').refused("use --period for the numbers that are compared"),
    PerfOption::flag(names!("modules")).short('m').refused("symbols of modules are those of their files; omit it"),
    PerfOption::value(names!("order")).short('o').refused(ORDER),
    PerfOption::flag(names!("period")).short('p'),
    PerfOption::flag(names!("quiet")).short('q'),
    PerfOption::value(names!("sort")).short('s'),
    PerfOption::value(names!("symbols")).short('S'),
    PerfOption::value(names!("field-separator")).short('t'),
    PerfOption::flag(names!("verbose")).short('v').refused("use --period for the numbers that are compared"),
    PerfOption::value(names!("cpu")),
    PerfOption::flag(names!("cycles-hist")).refused(BLOCKS),
    PerfOption::value(names!("kallsyms")),
    PerfOption::value(names!("percentage")),
    PerfOption::value(names!("pid")),
    PerfOption::flag(names!("stream")).refused("use 'perfconv report --tree' of each recording"),
    PerfOption::value(names!("symfs")),
    PerfOption::value(names!("tid")),
    PerfOption::value(names!("time")),
];

/// Prints the comparison.
///
/// # Errors
/// If the options are invalid, or a recording cannot be read.
pub(super) fn run(call: &Call<'_>) -> Result<ExitCode, Failure> {
    let [before, after] = recordings(&call.given)?;
    let format = Arc::new(format(&call.given)?);
    for path in [&before, &after] {
        let meta = input::info(path, Parts::default())?.meta;
        report::check_events(&meta, &call.given, false)
            .map_err(|problem| Failure::Usage(format!("perf diff: {}: {problem}", path.display())))?;
    }
    let files =
        SymbolFileArgs { kallsyms: call.given.file("kallsyms")?, only_below_symfs: true, ..SymbolFileArgs::default() };
    let symbols = SymbolArgs { files, ..SymbolArgs::default() };
    let args = ConvertArgs {
        inputs: vec![after.clone()],
        diff: Some(before),
        ..report::report_arguments(call, format, symbols, None)?
    };
    let output = Path::new("-");
    Conversion::new(&args, output)?.convert(&args, after, output)?.warn();
    Ok(ExitCode::SUCCESS)
}

/// The recordings, the earlier one first, by perf's rules for names that are not given.
fn recordings(given: &Given) -> Result<[PathBuf; 2], Failure> {
    let operands: Vec<PathBuf> = given.operands().into_iter().map(PathBuf::from).collect();
    match <[PathBuf; 2]>::try_from(operands) {
        Ok(both) => Ok(both),
        Err(operands) if operands.len() > 2 => Err(Failure::Usage(
            "perf diff: more than two recordings are not supported: compare two at a time".to_owned(),
        )),
        Err(operands) => {
            let after = operands.into_iter().next().unwrap_or_else(|| PathBuf::from("perf.data"));
            Ok([PathBuf::from("perf.data.old"), after])
        }
    }
}

fn format(given: &Given) -> Result<PerfDiff, Failure> {
    let mut diff = PerfDiff::default();
    diff.keys = given.text("sort").map(|list| report::keys(&list)).transpose()?.unwrap_or_default();
    if diff.keys.is_empty() {
        diff.keys = PerfDiff::DEFAULT_KEYS.to_vec();
    }
    if let Some(key) = diff.keys.iter().find(|key| key.requires_branches()) {
        return Err(Failure::Usage(format!(
            "perf diff: '{}' is a key of branches, which are not compared",
            key.name()
        )));
    }
    if let Some(key) = diff.keys.iter().find(|key| !key.access_fields().is_empty()) {
        let problem = "is a key of memory accesses, which are not compared";
        return Err(Failure::Usage(format!("perf diff: '{}' {problem}", key.name())));
    }
    diff.compute = match given.text("compute").as_deref() {
        None | Some("delta-abs") => PerfCompute::DeltaAbs,
        Some("delta") => PerfCompute::Delta,
        Some("ratio") => PerfCompute::Ratio,
        Some(other) => {
            let problem = "is not supported: use 'delta-abs', 'delta' or 'ratio'";
            return Err(Failure::Usage(format!("perf diff: --compute '{other}' {problem}")));
        }
    };
    diff.common_only = given.has("baseline-only");
    diff.shows_periods = given.has("period");
    diff.filter = report::filter(given)?;
    diff.is_relative = report::is_relative(given)?;
    diff.separator = report::separator(given)?;
    diff.is_quiet = given.has("quiet");
    Ok(diff)
}
