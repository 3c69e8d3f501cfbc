//! `perf report`: rows of functions, threads or files as text, by the report in perf's layout.

mod call_graph;
mod fields;
mod options;
mod stats;

pub(super) use fields::{SortKeySupport, keys, sort_key_support};
pub(super) use options::OPTIONS;

use super::header::{self, Then};
use super::option::{Given, list, parse};
use super::{Call, input, real_perf};
use crate::cli::args::{ConvertArgs, SymbolArgs};
use crate::cli::convert::Conversion;
use crate::cli::failure::Failure;
use crate::cli::report::print_message;
use call_graph::{call_graph, has_percent};
use fields::{added_key, columns};
use perf_data::abi::attr::AttrType;
use perf_data::abi::feature::FeatureId;
use perf_data::abi::sample_type::SampleType;
use perf_data::container::read::Container;
use perf_data::stream::meta::Meta;
use perfconv::formats::framework::output::OutputFormat;
use perfconv::formats::report::FORMAT;
use perfconv::formats::report::perf::{PerfReport, SampleFilter};
use perfconv::inspect::info::Parts;
use perfconv::rewrite::filter::cpu::Cpu;
use perfconv::rewrite::filter::time::Time;
use perfconv::rewrite::framework::pass_type::Request;
use perfconv::rewrite::itrace::TraceEvents;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

/// Prints the report.
///
/// # Errors
/// If the options are invalid, or the recording cannot be read.
pub(super) fn run(call: &Call<'_>) -> Result<ExitCode, Failure> {
    if let Some(operand) = call.given.operands().first() {
        return Err(Failure::Usage(format!("perf report: unexpected argument '{}'", operand.display())));
    }
    print(call, call.given.has("mem-mode"), call.given.has("show-nr-samples"))
}

/// `perf mem report`: prints the report of memory accesses, with the number of samples.
///
/// # Errors
/// Those of [`run`].
pub(super) fn run_mem(call: &Call<'_>) -> Result<ExitCode, Failure> {
    let refused = |problem: &str| Err(Failure::Usage(format!("perf mem: {problem}")));
    match &call.given.operands()[..] {
        [command] if command == "report" => {}
        [command, ..] if command == "record" => {
            return real_perf::run(call.all, "perf mem record: needs the real perf");
        }
        [] => return refused("expected 'report', or 'record' with the real perf"),
        [.., operand] => return refused(&format!("unexpected argument '{}'", operand.display())),
    }
    if call.given.has("field-separator") {
        return refused(
            "-t is not supported: the text has loads and stores; use 'perf report --mem-mode' with -t for columns",
        );
    }
    print(call, true, true)
}

fn print(call: &Call<'_>, counts_accesses: bool, shows_samples: bool) -> Result<ExitCode, Failure> {
    let given = &call.given;
    check_options(given)?;
    let path = input::path(given);
    if given.has("stats") {
        stats::print(given, &path)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut report = options(given)?;
    (report.counts_accesses, report.shows_samples) = (counts_accesses, shows_samples);
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
    report.shows_periods = given.has("show-total-period");
    report.percent_limit =
        given.text("percent-limit").map(|limit| parse("percent-limit", &limit)).transpose()?.unwrap_or(0.0);
    report.filter = filter(given)?;
    report.is_relative = is_relative(given)?;
    report.max_stack = given.text("max-stack").map(|frames| parse("max-stack", &frames)).transpose()?;
    report.separator = separator(given)?;
    report.widths = list(given, "column-widths")?;
    report.is_grouped = !given.is_negated("group");
    report.forces_group = given.has("group") || given.is_negated("group");
    report.is_quiet = given.has("quiet");
    report.mentions_header = !given.has("header");
    report.times = given.text("time");
    report.time_quantum =
        given.text("time-quantum").map(|quantum| parse("time-quantum", &quantum)).transpose()?.unwrap_or_default();
    report.shows_nanoseconds = given.has("ns");
    Ok(report)
}

/// Whether shares are those of the selected samples.
///
/// # Errors
/// If the value is unknown.
pub(super) fn is_relative(given: &Given) -> Result<bool, Failure> {
    match given.text("percentage").as_deref() {
        None | Some("absolute") => Ok(false),
        Some("relative") => Ok(true),
        Some(other) => Err(Failure::Usage(format!("--percentage '{other}': expected absolute or relative"))),
    }
}

/// What separates columns.
///
/// # Errors
/// If it is a dot.
pub(super) fn separator(given: &Given) -> Result<Option<String>, Failure> {
    match given.text("field-separator") {
        Some(dot) if dot == "." => {
            Err(Failure::Usage("'.' is the only non valid --field-separator argument".to_owned()))
        }
        separator => Ok(separator),
    }
}

/// Which samples have rows.
///
/// # Errors
/// If a value is invalid.
pub(super) fn filter(given: &Given) -> Result<SampleFilter, Failure> {
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
    report.counts_branches = !report.counts_accesses && counts_branches(meta.as_ref(), given, path)?;
    report.has_children =
        has_call_chains == Some(true) && wants_children && !report.counts_branches && !report.counts_accesses;
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
    if report.counts_branches {
        report.chains = None;
    }
    let has_default_keys = report.keys.is_empty() && report.fields.is_none();
    check_keys(report, given)?;
    let added = given.text("sort").and_then(|list| added_key(&list, report.counts_branches));
    report.sort_order = given.text("sort").map(|list| match added {
        Some(key) => format!("{list},{}", key.name()),
        None => list,
    });
    report.keys.extend(added);
    if let Some(meta) = &meta {
        check_events(meta, given, report.counts_branches)
            .map_err(|problem| Failure::Usage(format!("perf report: {}: {problem}", path.display())))?;
    }
    if has_default_keys {
        let keys = match (report.counts_accesses, report.counts_branches) {
            (true, _) => PerfReport::DEFAULT_ACCESS_KEYS,
            (false, true) => PerfReport::DEFAULT_BRANCH_KEYS,
            _ if meta.as_ref().is_some_and(has_only_tracepoints) => PerfReport::DEFAULT_TRACEPOINT_KEYS,
            (false, false) => PerfReport::DEFAULT_KEYS,
        };
        report.keys = keys.to_vec();
    }
    Ok(())
}

/// Whether rows are those of branches: by default, of recordings with branch stacks, but without stack dumps. As in perf, pipes have
/// none, since their features follow later, and neither have call stacks that `perf record` took for call chains.
fn counts_branches(meta: Option<&Meta>, given: &Given, path: &Path) -> Result<bool, Failure> {
    let is_decoded = || {
        given.has("itrace")
            && input::trace_events(given).is_ok_and(|events| events.is_some_and(|events| events.has_branch_stacks()))
    };
    let has_branches = meta.is_some_and(|meta| {
        let is_recorded = meta.features.contains_key(&FeatureId::BRANCH_STACK);
        let is_of_trace = meta.features.contains_key(&FeatureId::AUXTRACE) && is_decoded();
        (is_recorded || is_of_trace) && !has_sample_type(meta, SampleType::STACK_USER)
    });
    if given.has("branch-stack") && !has_branches {
        let problem = "has no branch stacks for --branch-stack; record with 'perf record -b'";
        return Err(Failure::Failed(format!("perf report: {}: {problem}", path.display())));
    }
    Ok(has_branches && !given.is_negated("branch-stack"))
}

/// Rejects keys of branches in rows of samples, and filters of samples in rows of branches.
fn check_keys(report: &PerfReport, given: &Given) -> Result<(), Failure> {
    let refused = |problem: String| Err(Failure::Usage(format!("perf report: {problem}")));
    if let Some(key) = report.all_keys().find(|key| key.requires_accesses() && !report.counts_accesses) {
        return refused(format!("'{}' is a key of memory accesses; add --mem-mode", key.name()));
    }
    if !report.counts_branches {
        let key = report.all_keys().find(|key| key.requires_branches());
        return key
            .map_or(Ok(()), |key| refused(format!("'{}' is a key of branches, which rows are not of", key.name())));
    }
    match ["dsos", "symbols"].into_iter().find(|option| given.has(option)) {
        Some(option) => refused(format!("--{option} is not supported for branches; filter the text")),
        None => Ok(()),
    }
}

/// Rejects recordings of which perf prints other rows.
///
/// # Errors
/// If it is such a recording.
pub(super) fn check_events(meta: &Meta, given: &Given, counts_branches: bool) -> Result<(), &'static str> {
    if has_sample_type(meta, SampleType::READ) && counts_branches {
        return Err("has counters in samples, each of which would count the branches; use --no-branch-stack");
    }
    if has_sample_type(meta, SampleType::READ) && (given.has("time") || given.has("cpu")) {
        return Err("has counters in samples, whose differences need all samples; omit --time and --cpu");
    }
    Ok(())
}

fn has_only_tracepoints(meta: &Meta) -> bool {
    let events = meta.events.list();
    !events.is_empty() && events.iter().all(|event| event.attr.kind == AttrType::TRACEPOINT)
}

fn has_sample_type(meta: &Meta, field: SampleType) -> bool {
    meta.events.list().iter().any(|event| event.attr.sample_type.contains(field))
}

/// The equivalent conversion.
fn conversion(call: &Call<'_>, report: PerfReport) -> Result<ConvertArgs, Failure> {
    let format: Arc<dyn OutputFormat> = Arc::new(report);
    Ok(ConvertArgs {
        inputs: vec![input::path(&call.given)],
        ..report_arguments(call, format, input::symbols(&call.given)?, input::trace_events(&call.given)?)?
    })
}

/// The arguments of a conversion to a report, without its input. Traces are decoded to samples of the events `traces`, if any.
///
/// # Errors
/// If an option is invalid.
pub(super) fn report_arguments(
    call: &Call<'_>,
    format: Arc<dyn OutputFormat>,
    symbols: SymbolArgs,
    traces: Option<TraceEvents>,
) -> Result<ConvertArgs, Failure> {
    let Call { given, .. } = call;
    let mut passes = input::passes(call, traces.is_some());
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
        to: Some(FORMAT.name.to_owned()),
        format: Some(format),
        passes,
        symbols,
        traces,
        quiet: true,
        ..ConvertArgs::default()
    })
}
