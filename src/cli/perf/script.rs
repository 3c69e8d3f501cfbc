//! `perf script`: samples as text, by the conversion to `perf-script`.

use super::header::{self, Then};
use super::option::{Given, PerfOption, list, names, parse};
use super::{Call, input, missing_perf, real_perf};
use crate::cli::args::{ConvertArgs, SymbolArgs};
use crate::cli::convert::Conversion;
use crate::cli::failure::Failure;
use clap::{Args, Command, FromArgMatches};
use perfconv::formats::perf_script::{FORMAT, PerfScript, SampleSelection};
use std::num::NonZeroUsize;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

const RECORDING: &str = "it belongs to 'perf script record', which needs perf";
const DUMP: &str = "use 'perfconv dump'";
const INSTRUCTIONS: &str = "perfconv does not decode instructions; use the real perf";
const GUESTS: &str = "perfconv reads the files of one machine; use the real perf";

/// The options of perf 6.1.
pub(super) const OPTIONS: &[PerfOption] = &[
    PerfOption::flag(names!("all-cpus")).short('a').refused(RECORDING),
    PerfOption::value(names!("comms")).short('c'),
    PerfOption::value(names!("cpu")).short('C'),
    PerfOption::flag(names!("debug-mode")).short('d').refused("use 'perfconv check'"),
    PerfOption::flag(names!("dump-raw-trace")).short('D').refused(DUMP),
    PerfOption::value(names!("fields")).short('F'),
    PerfOption::flag(names!("force")).short('f'),
    PerfOption::value(names!("gen-script")).short('g'),
    PerfOption::flag(names!("hide-call-graph")).short('G'),
    PerfOption::value(names!("input")).short('i'),
    PerfOption::flag(names!("show-info")).short('I'),
    PerfOption::value(names!("vmlinux")).short('k'),
    PerfOption::flag(names!("Latency")).short('L').refused("the text has no latency attributes; omit it"),
    PerfOption::flag(names!("list")).short('l'),
    PerfOption::value(names!("script")).short('s'),
    PerfOption::value(names!("symbols")).short('S').refused("filter the text, or use --dsos"),
    PerfOption::flag(names!("verbose")).short('v'),
    PerfOption::value(names!("addr-range")).refused("filter the text, or use --dsos"),
    PerfOption::optional(names!("call-ret-trace")).refused(INSTRUCTIONS),
    PerfOption::optional(names!("call-trace")).refused(INSTRUCTIONS),
    PerfOption::flag(names!("deltatime")),
    PerfOption::flag(names!("demangle")),
    PerfOption::flag(names!("demangle-kernel")).refused("kernel symbols are printed as they are; omit it"),
    PerfOption::value(names!("dlarg")),
    PerfOption::value(names!("dlfilter")),
    PerfOption::value(names!("dsos")),
    PerfOption::flag(names!("dump-unsorted-raw-trace")).refused(DUMP),
    PerfOption::flag(names!("full-source-path")),
    PerfOption::value(names!("graph-function")).refused(INSTRUCTIONS),
    PerfOption::flag(names!("guest-code")).refused(GUESTS),
    PerfOption::value(names!("guestkallsyms")).refused(GUESTS),
    PerfOption::value(names!("guestmodules")).refused(GUESTS),
    PerfOption::value(names!("guestmount")).refused(GUESTS),
    PerfOption::value(names!("guestvmlinux")).refused(GUESTS),
    PerfOption::flag(names!("header")),
    PerfOption::flag(names!("header-only")),
    PerfOption::flag(names!("inline")),
    PerfOption::optional(names!("insn-trace")).refused(INSTRUCTIONS),
    PerfOption::optional(names!("itrace")),
    PerfOption::value(names!("kallsyms")),
    PerfOption::flag(names!("list-dlfilters")),
    PerfOption::value(names!("max-blocks")).refused(INSTRUCTIONS),
    PerfOption::value(names!("max-stack")),
    PerfOption::flag(names!("ns")),
    PerfOption::flag(names!("per-event-dump")).refused("choose events with 'perfconv IN -t perf-script --event NAME'"),
    PerfOption::value(names!("pid")),
    PerfOption::flag(names!("reltime")),
    PerfOption::flag(names!("show-bpf-events")),
    PerfOption::flag(names!("show-cgroup-events")),
    PerfOption::flag(names!("show-kernel-path")).refused("the kernel is printed as [kernel.kallsyms]; omit it"),
    PerfOption::flag(names!("show-lost-events")),
    PerfOption::flag(names!("show-mmap-events")),
    PerfOption::flag(names!("show-namespace-events")),
    PerfOption::flag(names!("show-on-off-events")).refused("use --time"),
    PerfOption::flag(names!("show-round-events")).refused("use 'perfconv dump --type FINISHED_ROUND'"),
    PerfOption::flag(names!("show-switch-events")),
    PerfOption::flag(names!("show-task-events")),
    PerfOption::flag(names!("show-text-poke-events")),
    PerfOption::flag(names!("stitch-lbr")).refused("branch stacks are not joined to call chains; use the real perf"),
    PerfOption::value(names!("stop-bt")).refused("use --max-stack"),
    PerfOption::value(names!("switch-off")).refused("use --time"),
    PerfOption::value(names!("switch-on")).refused("use --time"),
    PerfOption::value(names!("symfs")),
    PerfOption::value(names!("tid")),
    PerfOption::value(names!("time")),
    PerfOption::optional(names!("xed")).refused(INSTRUCTIONS),
    // Not of perf: the text of its newer versions.
    PerfOption::value(names!("perf-style")),
];

/// Options that run or list scripts, which the real perf does.
const SCRIPTS: [&str; 6] = ["gen-script", "list", "script", "dlarg", "dlfilter", "list-dlfilters"];

/// Options that the format has under the same names.
const SAME_FLAGS: [&str; 9] = [
    "ns",
    "show-bpf-events",
    "show-cgroup-events",
    "show-lost-events",
    "show-mmap-events",
    "show-namespace-events",
    "show-switch-events",
    "show-task-events",
    "show-text-poke-events",
];

/// Prints the samples, or runs a script with the real perf.
///
/// # Errors
/// If the options are invalid, or the recording cannot be read.
pub(super) fn run(call: &Call<'_>) -> Result<ExitCode, Failure> {
    let given = &call.given;
    if let Some(file) = given.operands().first().filter(|operand| is_recording(Path::new(operand))) {
        let file = file.display();
        let problem = format!("perf script: '{file}' would be the name of a script; name a recording with -i {file}");
        return Err(Failure::Usage(problem));
    }
    if SCRIPTS.iter().any(|option| given.has(option)) || !given.operands().is_empty() {
        return real_perf::run(call.all, &missing_perf("running a script of perf script"));
    }
    let args = conversion(call)?;
    let path = args.input();
    if header::print(given, &path)? == Then::End {
        return Ok(ExitCode::SUCCESS);
    }
    input::check_contents(given, &path)?;
    let output = Path::new("-");
    let converted = Conversion::new(&args, output)?.convert(&args, path, output)?;
    if args.verbose {
        _ = converted.report(&args)
    } else {
        converted.warn()
    }
    Ok(ExitCode::SUCCESS)
}

/// Whether an argument in place of a script names a recording, which need not exist.
fn is_recording(argument: &Path) -> bool {
    argument.is_file() || argument.extension().is_some_and(|extension| extension == "data")
}

/// The equivalent conversion.
fn conversion(call: &Call<'_>) -> Result<ConvertArgs, Failure> {
    let Call { given, .. } = call;
    let traces = input::trace_events(given)?;
    Ok(ConvertArgs {
        inputs: vec![input::path(given)],
        to: Some(FORMAT.name.to_owned()),
        format: Some(Arc::new(format(given)?)),
        passes: input::passes(call, traces.is_some()),
        traces,
        symbols: symbols(given)?,
        verbose: given.has("verbose"),
        quiet: !given.has("verbose"),
        ..ConvertArgs::default()
    })
}

fn symbols(given: &Given) -> Result<SymbolArgs, Failure> {
    // Without call chains, stacks need not be unwound.
    let hides_call_graph = given.has("hide-call-graph");
    Ok(SymbolArgs {
        no_unwind: hides_call_graph,
        max_stack: max_stack(given)?.filter(|_| !hides_call_graph),
        ..input::symbols(given)?
    })
}

fn format(given: &Given) -> Result<PerfScript, Failure> {
    if given.has("reltime") && given.has("deltatime") {
        return Err(Failure::Usage("--reltime and --deltatime exclude each other; give one of them".to_owned()));
    }
    let flags = SAME_FLAGS.iter().filter(|flag| given.has(flag)).map(|flag| format!("--{flag}"));
    let fields = given.values("fields").into_iter();
    let fields = fields.map(|fields| format!("--fields={}", fields.to_string_lossy()));
    let style = given.text("perf-style").map(|style| format!("--perf-style={style}"));
    let parser = PerfScript::augment_args(Command::new("perfconv").no_binary_name(true));
    let parsed = parser.try_get_matches_from(flags.chain(fields).chain(style));
    let parsed = parsed.and_then(|matches| PerfScript::from_arg_matches(&matches));
    let mut format = parsed.map_err(|error| Failure::Usage(crate::cli::usage::message(&error)))?;
    format.selection = selection(given)?;
    format.hides_call_graph = given.has("hide-call-graph");
    format.max_frames = max_stack(given)?;
    format.has_short_source_paths = !given.has("full-source-path");
    format.has_perf_errors = true;
    (format.reltime, format.deltatime) = (given.has("reltime"), given.has("deltatime"));
    Ok(format)
}

fn selection(given: &Given) -> Result<SampleSelection, Failure> {
    let mut selection = SampleSelection::default();
    selection.pids = list(given, "pid")?;
    selection.tids = list(given, "tid")?;
    selection.comms = list(given, "comms")?;
    selection.cpus = list(given, "cpu")?;
    selection.dsos = list(given, "dsos")?;
    selection.times = given.text("time").map(|times| parse("time", &times)).transpose()?;
    Ok(selection)
}

fn max_stack(given: &Given) -> Result<Option<NonZeroUsize>, Failure> {
    given.text("max-stack").map(|frames| parse("max-stack", &frames)).transpose()
}
