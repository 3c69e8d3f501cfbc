//! The recording that a command reads: that of `-i`, standard input if it is a pipe, or `perf.data`, as in perf; and its symbols.

use super::Call;
use super::option::Given;
use crate::cli::args::{DemangleArg, PassArgs, SymbolArgs, SymbolFileArgs, default_input};
use crate::cli::failure::Failure;
use crate::cli::input::InputRecording;
use perf_data::abi::feature::FeatureId;
use perf_data::container::read::ReadOptions;
use perf_data::stream::source::Source;
use perfconv::inspect::info::build_ids::FileId;
use perfconv::inspect::info::hit_files::hit_files;
use perfconv::inspect::info::{Info, Parts, read_info};
use perfconv::rewrite::NoItrace;
use perfconv::rewrite::framework::pass_type::Request;
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

/// Rejects recordings of which perf prints what is no sample: counters, and AUX area traces unless `--no-itrace` is given.
///
/// # Errors
/// If it is such a recording, or cannot be read.
pub(super) fn check_contents(given: &Given, path: &Path) -> Result<(), Failure> {
    if is_stdin(path) {
        return Ok(());
    }
    let features = info(path, Parts::default())?.meta.features;
    let problem = if features.contains_key(&FeatureId::STAT) {
        "has counters of perf stat instead of samples; use 'perfconv info --stats'"
    } else if features.contains_key(&FeatureId::AUXTRACE) && !given.is_negated("itrace") {
        "has AUX area traces, which this command does not decode; \
         add --no-itrace to print the other samples, or use the real perf"
    } else {
        return Ok(());
    };
    Err(Failure::Failed(format!("{}: {problem}", path.display())))
}

/// The passes of a command that prints samples, without decoding of traces.
pub(super) fn passes(call: &Call<'_>) -> PassArgs {
    let mut passes = PassArgs::default();
    passes.find.symfs = call.given.value("symfs").map(Into::into);
    passes.find.buildid_dir.clone_from(&call.buildid_dir);
    passes.list.push(Request {
        flag: "--no-itrace".to_owned(),
        for_records: None,
        pass: Arc::new(NoItrace::default()),
    });
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
