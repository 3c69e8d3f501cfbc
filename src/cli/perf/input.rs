//! The recording that a command reads: that of `-i`, standard input if it is a pipe, or `perf.data`, as in perf; and its symbols.

use super::Call;
use super::option::{Given, parse};
use crate::cli::args::{DemangleArg, PassArgs, SymbolArgs, SymbolFileArgs, default_input};
use crate::cli::failure::Failure;
use crate::cli::input::InputRecording;
use perf_data::abi::feature::FeatureId;
use perf_data::abi::record::auxtrace_info::AuxtraceType;
use perf_data::container::read::ReadOptions;
use perf_data::stream::source::Source;
use perf_data::trace::is_decoded;
use perfconv::conversion::trace_source;
use perfconv::inspect::info::build_ids::FileId;
use perfconv::inspect::info::hit_files::hit_files;
use perfconv::inspect::info::{Info, Parts, read_info};
use perfconv::rewrite::NoItrace;
use perfconv::rewrite::framework::pass_type::Request;
use perfconv::rewrite::itrace::TraceEvents;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The path of the recording; `-` is standard input.
pub(super) fn path(given: &Given) -> PathBuf {
    given.value("input").map_or_else(default_input, PathBuf::from)
}

/// Whether the recording is read from standard input, and thus only once.
pub(super) fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

/// Reads what the header of a recording says, and the parts that are named.
///
/// # Errors
/// If the recording cannot be read.
pub(super) fn info(path: &Path, parts: Parts) -> Result<Info, Failure> {
    let options = ReadOptions::default();
    let recording = InputRecording::new(path.to_owned(), None, &options)?;
    let info = read_info(Source::open(recording.input(), options)?, parts)?;
    crate::cli::report::warnings(&info.ledger, false);
    Ok(info)
}

/// The files with samples.
///
/// # Errors
/// If the recording cannot be read.
pub(super) fn files_with_samples(path: &Path) -> Result<Vec<FileId>, Failure> {
    let options = ReadOptions::default();
    let recording = InputRecording::new(path.to_owned(), None, &options)?;
    let (files, ledger) = hit_files(Source::open(recording.input(), options.clone())?, options)?;
    crate::cli::report::warnings(&ledger, false);
    Ok(files)
}

/// Rejects recordings of which perf prints what is no sample: counters, and traces that are not decoded, unless `--no-itrace` is given.
///
/// # Errors
/// If it is such a recording, or cannot be read.
pub(super) fn check_contents(given: &Given, path: &Path) -> Result<(), Failure> {
    if is_stdin(path) {
        return Ok(());
    }
    let failed = |problem: &str| Err(Failure::Failed(format!("{}: {problem}", path.display())));
    if info(path, Parts::default())?.meta.features.contains_key(&FeatureId::STAT) {
        return failed("has counters of perf stat instead of samples; use 'perfconv info --stats'");
    }
    match recorded_trace(path)? {
        Some(source) if !is_decoded(source) && !given.is_negated("itrace") => failed(&format!(
            "has AUX area traces of {}, which are not decoded; add --no-itrace to print the other samples, or use the real perf",
            source.title()
        )),
        _ => Ok(()),
    }
}

/// The source of the trace in a file, if it has one.
fn recorded_trace(path: &Path) -> Result<Option<AuxtraceType>, Failure> {
    let options = ReadOptions::default();
    let recording = InputRecording::new(path.to_owned(), None, &options)?;
    Ok(trace_source(recording.input(), &options)?.1)
}

/// Whether the recording may have a trace; without one, options for traces have no effect, as in perf.
///
/// # Errors
/// If it cannot be read.
pub(super) fn may_have_trace(given: &Given) -> Result<bool, Failure> {
    let path = path(given);
    Ok(is_stdin(&path) || recorded_trace(&path)?.is_some())
}

/// The letters of the events that perf decodes of Arm SPE if no others are given: all.
const ALL_EVENTS: &str = "fmtbaMi";

/// The events of samples of traces; `None` with `--no-itrace`.
///
/// # Errors
/// If a letter is not one of the trace that the recording has, or it cannot be read.
pub(super) fn trace_events(given: &Given) -> Result<Option<TraceEvents>, Failure> {
    let letters = given.text("itrace").filter(|letters| !letters.is_empty());
    let events = match parse("itrace", letters.as_deref().unwrap_or(ALL_EVENTS)) {
        Err(_) if !may_have_trace(given)? => return Ok(None),
        events => events?,
    };
    Ok(Some(events).filter(|_| !given.is_negated("itrace")))
}

/// The passes of a command that prints samples, and those of traces if `decodes_traces`.
pub(super) fn passes(call: &Call<'_>, decodes_traces: bool) -> PassArgs {
    let mut passes = PassArgs::default();
    passes.find.symfs = call.given.value("symfs").map(Into::into);
    passes.find.buildid_dir.clone_from(&call.buildid_dir);
    if !decodes_traces {
        passes.list.push(Request {
            flag: "--no-itrace".to_owned(),
            for_records: None,
            pass: Arc::new(NoItrace::default()),
        });
    }
    passes
}

/// Where symbols are searched, and how they are printed.
///
/// # Errors
/// If a file does not exist.
pub(super) fn symbols(given: &Given) -> Result<SymbolArgs, Failure> {
    let (vmlinux, kallsyms) = (given.file("vmlinux")?, given.file("kallsyms")?);
    let files = SymbolFileArgs { vmlinux, kallsyms, only_below_symfs: true, ..Default::default() };
    Ok(SymbolArgs {
        files,
        no_inline: given.is_negated("inline"),
        demangle: given.is_negated("demangle").then_some(DemangleArg::No),
        ..SymbolArgs::default()
    })
}
