//! `perf report`: rows of functions, threads or files as text, by the report in perf's layout.

mod call_graph;
mod fields;
mod options;

pub(super) use options::OPTIONS;

use super::header::{self, Then};
use super::option::{Given, list, parse};
use super::{Call, input};
use crate::cli::args::{ConvertArgs, PassArgs};
use crate::cli::convert::Conversion;
use crate::cli::failure::Failure;
use crate::cli::report::print_message;
use call_graph::{call_graph, has_percent};
use fields::{columns, keys};
use perf_data::abi::attr::AttrType;
use perf_data::abi::sample_type::{BranchSampleType, SampleType};
use perf_data::container::read::Container;
use perf_data::stream::meta::Meta;
use perfconv::formats::report::FORMAT;
use perfconv::formats::report::perf::{PerfReport, SampleFilter};
use perfconv::inspect::info::Parts;
use perfconv::rewrite::filter::cpu::Cpu;
use perfconv::rewrite::filter::time::Time;
use perfconv::rewrite::framework::pass_type::Request;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

/// Prints the report.
///
/// # Errors
/// If the options are invalid, or the recording cannot be read.
pub(super) fn run(call: &Call<'_>) -> Result<ExitCode, Failure> {
    let given = &call.given;
    if let Some(operand) = given.operands().first() {
        return Err(Failure::Usage(format!("perf report: unexpected argument '{}'", operand.display())));
    }
    check_options(given)?;
    let path = input::path(given);
    let mut report = options(given)?;
    if header::print(given, &path)? == Then::End {
        return Ok(ExitCode::SUCCESS);
    }
    input::check_contents(given, &path)?;
    adapt(&mut report, given, &path)?;
    let args = conversion(call, report)?;
    let output = Path::new("-");
    let converted = Conversion::new(&args, output)?.convert(&args, path.clone(), output)?;
    converted.warn();
    if !converted.has_samples() {
        // As in perf, this is no failure.
        print_message(format_args!("perf report: {}: has no samples", path.display()));
    }
    Ok(ExitCode::SUCCESS)
}

/// Rejects values and negations that are not answered.
fn check_options(given: &Given) -> Result<(), Failure> {
    let refused = |problem: &str| Err(Failure::Usage(format!("perf report: {problem}")));
    match given.text("stdio-color").as_deref() {
        None | Some("never" | "auto") => {}
        Some("always") => return refused("--stdio-color 'always' is not supported: the text has no colors"),
        Some(other) => return refused(&format!("--stdio-color '{other}': expected always, never or auto")),
    }
    if given.is_negated("skip-empty") {
        return refused("--no-skip-empty is not supported: events without samples are omitted");
    }
    Ok(())
}

/// The report with the options that do not depend on the recording.
fn options(given: &Given) -> Result<PerfReport, Failure> {
    let mut report = PerfReport::default();
    report.keys = given.text("sort").map(|list| keys(&list)).transpose()?.unwrap_or_default();
    report.fields = given.text("fields").map(|list| columns(&list)).transpose()?;
    report.shows_samples = given.has("show-nr-samples");
    report.shows_periods = given.has("show-total-period");
    report.percent_limit =
        given.text("percent-limit").map(|limit| parse("percent-limit", &limit)).transpose()?.unwrap_or(0.0);
    report.filter = filter(given)?;
    report.is_relative = match given.text("percentage").as_deref() {
        None | Some("absolute") => false,
        Some("relative") => true,
        Some(other) => {
            return Err(Failure::Usage(format!("--percentage '{other}': expected absolute or relative")));
        }
    };
    report.max_stack = given.text("max-stack").map(|frames| parse("max-stack", &frames)).transpose()?;
    report.separator = given.text("field-separator");
    if report.separator.as_deref() == Some(".") {
        return Err(Failure::Usage("'.' is the only non valid --field-separator argument".to_owned()));
    }
    report.widths = list(given, "column-widths")?;
    report.is_grouped = !given.is_negated("group");
    report.forces_group = given.has("group") || given.is_negated("group");
    report.is_quiet = given.has("quiet");
    report.mentions_header = !given.has("header");
    report.times = given.text("time");
    Ok(report)
}

fn filter(given: &Given) -> Result<SampleFilter, Failure> {
    let mut filter = SampleFilter::default();
    filter.pids = list(given, "pid")?;
    filter.tids = list(given, "tid")?;
    filter.comms = list(given, "comms")?;
    filter.dsos = list(given, "dsos")?;
    filter.symbols = list(given, "symbols")?;
    Ok(filter)
}

/// Adapts the report to the recording: callers have rows in files with call chains only, since perf does not know a pipe before it
/// reads the samples.
fn adapt(report: &mut PerfReport, given: &Given, path: &Path) -> Result<(), Failure> {
    let info = (!input::is_stdin(path)).then(|| input::info(path, Parts::default())).transpose()?;
    let meta = info.map(|info| info.meta).filter(|meta| meta.container != Container::Pipe);
    let has_call_chains = meta.as_ref().map(|meta| has_sample_type(meta, SampleType::CALLCHAIN));
    let wants_children = !given.is_negated("children");
    report.has_children = has_call_chains == Some(true) && wants_children;
    report.chains = call_graph(given, wants_children)?;
    if let Some(chains) = &mut report.chains
        && given.has("percent-limit")
        && !(has_percent(given) && given.is_last("call-graph", "percent-limit"))
    {
        // In perf the limit of rows is also that of calls; the last one wins.
        chains.min_percent = report.percent_limit;
    }
    if has_call_chains == Some(false) {
        if report.chains.is_some() && given.has("call-graph") {
            let problem = "has no call chains for --call-graph; record with 'perf record -g'";
            return Err(Failure::Failed(format!("perf report: {}: {problem}", path.display())));
        }
        report.chains = None;
    }
    let has_default_keys = report.keys.is_empty() && report.fields.is_none();
    if let Some(meta) = &meta {
        check_events(meta, given, has_default_keys)
            .map_err(|problem| Failure::Usage(format!("perf report: {}: {problem}", path.display())))?;
    }
    if has_default_keys {
        report.keys = PerfReport::DEFAULT_KEYS.to_vec();
    }
    Ok(())
}

/// Rejects recordings of which perf prints other rows.
fn check_events(meta: &Meta, given: &Given, has_default_keys: bool) -> Result<(), &'static str> {
    let list = meta.events.list();
    let is_call_stack = list.iter().any(|event| event.attr.branch_sample_type.contains(BranchSampleType::CALL_STACK));
    if has_sample_type(meta, SampleType::BRANCH_STACK) && !is_call_stack && !given.is_negated("branch-stack") {
        return Err("has branch stacks, of which perf prints rows of branches; use --no-branch-stack");
    }
    if has_sample_type(meta, SampleType::READ) && (given.has("time") || given.has("cpu")) {
        return Err("has counters in samples, whose differences need all samples; omit --time and --cpu");
    }
    if has_default_keys && !list.is_empty() && list.iter().all(|event| event.attr.kind == AttrType::TRACEPOINT) {
        return Err("has only tracepoints, of which perf prints the text; use --sort comm,dso,sym, or 'perf script'");
    }
    Ok(())
}

fn has_sample_type(meta: &Meta, field: SampleType) -> bool {
    meta.events.list().iter().any(|event| event.attr.sample_type.contains(field))
}

/// The equivalent conversion.
fn conversion(call: &Call<'_>, report: PerfReport) -> Result<ConvertArgs, Failure> {
    let Call { given, buildid_dir, .. } = call;
    let mut passes = PassArgs::default();
    passes.find.symfs = given.value("symfs").map(Into::into);
    passes.find.buildid_dir.clone_from(buildid_dir);
    let cpus = list(given, "cpu")?;
    if !cpus.is_empty() {
        let mut cpu = Cpu::default();
        cpu.cpus = cpus;
        passes.list.push(Request { flag: "--cpu".to_owned(), for_records: None, pass: Arc::new(cpu) });
    }
    if let Some(times) = given.text("time") {
        let time = Time::new(parse("time", &times)?);
        passes.list.push(Request { flag: "--time".to_owned(), for_records: None, pass: Arc::new(time) });
    }
    Ok(ConvertArgs {
        inputs: vec![input::path(given)],
        to: Some(FORMAT.name.to_owned()),
        format: Some(Arc::new(report)),
        passes,
        symbols: input::symbols(given)?,
        quiet: true,
        ..ConvertArgs::default()
    })
}
