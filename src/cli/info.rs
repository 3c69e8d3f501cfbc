//! `perfconv info`, and `perfconv` without an output.

use super::args::{ConvertArgs, InfoArgs, ReadArgs};
use super::failure::Failure;
use super::input::Recording;
use super::progress;
use super::report::{self, printable_line};
use super::{convert, output};
use perf_data::container::read::ReadOptions;
use perf_data::printable;
use perf_data::stream::source::Source;
use perf_symbols::symbol::demangle::Demangle;
use perfconv::conversion::passed_profiles;
use perfconv::formats::json;
use perfconv::inspect::info::stats::Stats;
use perfconv::inspect::info::{Info, Parts, read_info, summary};
use perfconv::profile::options::ProfileOptions;
use perfconv::profile::symbolize::SymbolSources;
use perfconv::report::key::Key;
use perfconv::report::location::Locations;
use perfconv::report::top::{Entry, Top};
use perfconv::rewrite::passes::Passes;
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

/// Prints the requested parts; header and statistics by default.
///
/// # Errors
/// If the recording cannot be read, or the output cannot be written.
pub(super) fn run(args: InfoArgs) -> Result<ExitCode, Failure> {
    let parts = Parts { header: false, events: args.events, build_ids: args.build_ids, stats: args.stats };
    let parts = match (parts == Parts::default(), args.json) {
        (false, _) => parts,
        (true, false) => Parts { header: true, stats: true, ..parts },
        (true, true) => Parts::ALL,
    };
    let name = args.input.display().to_string();
    let (recording, options) = open(args.input, &args.read)?;
    let asks_for_all = !args.events && !args.build_ids && !args.stats;
    if let Some(imported) = recording.imported_info().filter(|_| asks_for_all) {
        return match args.json {
            true => print_json(&imported),
            false => print(&imported.lines(&name)),
        }
        .map(|()| ExitCode::SUCCESS);
    }
    let info = read(&recording, options, parts)?;
    if args.json {
        print_json(&info)?;
    } else {
        print(&info.lines())?;
    }
    info.failure.map_or(Ok(ExitCode::SUCCESS), |error| Err(error.into()))
}

/// Prints a summary of a recording, and suggests commands to run next.
///
/// # Errors
/// If there is no recording, or it cannot be read.
pub(super) fn summary(args: &ConvertArgs) -> Result<ExitCode, Failure> {
    convert::reject_further_inputs(args)?;
    let (input, is_named) = (args.input(), !args.inputs.is_empty() || args.input_option.is_some());
    if !is_named && !input.exists() {
        let problem = "perf.data: not found in this directory; name a recording, or make one with perf record -g ./app \
                    (see -h)";
        return Err(Failure::Usage(problem.to_owned()));
    }
    let name = input.display().to_string();
    let parts = Parts { stats: true, ..Parts::default() };
    let (recording, options) = open(input, &args.read)?;
    let (mut lines, stats) = match recording.imported_info() {
        Some(imported) => (imported.lines(&name), None),
        None => {
            let info = read(&recording, options.clone(), parts)?;
            if let Some(error) = info.failure {
                return Err(error.into());
            }
            let stats = info.stats.unwrap_or_default();
            (summary::lines(&info.meta, &stats, &info.ledger), Some(stats))
        }
    };
    if name != "-" && stats.as_ref().is_none_or(Stats::has_samples) {
        lines.extend(hottest(&recording, &options, args)?);
    }
    // Standard input cannot be read again.
    let next_steps =
        if name == "-" { Vec::new() } else { next_steps(&name, is_named, args.read.from.as_deref(), stats.as_ref()) };
    lines.extend(next_steps);
    print(&lines)?;
    Ok(ExitCode::SUCCESS)
}

/// The functions with the most samples of the event with the most.
fn hottest(recording: &Recording, read: &ReadOptions, args: &ConvertArgs) -> Result<Vec<String>, Failure> {
    /// Number of functions.
    const FUNCTIONS: usize = 10;
    let objects = args.symbols.search(Demangle::Full, &args.passes.find, None, &progress::observer())?;
    let symbols = SymbolSources {
        imported: recording.imported().cloned(),
        objects: objects.map(|objects| Arc::new(objects.without_unwinding())),
    };
    let options = ProfileOptions { labels: Some(Vec::new()), leaves_only: true, symbols, ..ProfileOptions::default() };
    let (profiles, _) = passed_profiles(recording.input(), read, &mut Passes::default(), &options)?;
    let Some(profile) = profiles.first() else { return Ok(Vec::new()) };
    let locations = Locations::new(&profile.tables);
    let lists = profile.has_samples.iter().rev().map(|&event| {
        let top = Top::new(profile, &locations, Some(event), &[Key::Sym, Key::Dso], false);
        (event, top.totals.get(&event).copied().unwrap_or_default(), top)
    });
    let Some((event, all, top)) = lists.max_by_key(|(_, counts, _)| counts.samples) else { return Ok(Vec::new()) };
    let heading =
        format!("Functions with the most samples of {}:", printable::name(&profile.tables.events[event as usize].name));
    let functions = top.entries.iter().filter(|entry| entry.usage.own.samples > 0).take(FUNCTIONS);
    let function = |Entry { cells, usage, .. }: &Entry| {
        format!(
            "  {:>6.2}%  {} ({})",
            usage.own.percent_of(all),
            printable::name(&cells[0]),
            printable::name(&cells[1])
        )
    };
    Ok([heading].into_iter().chain(functions.map(function)).collect())
}

/// Commands to run next on an input. Without statistics of its records it is a profile.
fn next_steps(name: &str, is_named: bool, from: Option<&str>, stats: Option<&Stats>) -> Vec<String> {
    let from = from.map(|from| format!(" --from {from}")).unwrap_or_default();
    let named = if is_named { format!(" {}{from}", quoted(name)) } else { from.clone() };
    let next = [
        (
            stats.is_none_or(Stats::has_samples),
            format!("perfconv report{named}"),
            "print more functions, their callers and lines",
        ),
        (
            stats.is_none_or(Stats::has_samples),
            format!("perfconv{named} -o out.pb.gz"),
            "convert to pprof; 'perfconv help formats' lists more",
        ),
        (
            stats.is_some_and(|stats| stats.counters.is_some()),
            format!("perfconv{named} -t csv -o tables"),
            "convert to CSV tables, counters included",
        ),
        (true, format!("perfconv info{named}"), "print header, features and statistics"),
        (true, format!("perfconv dump{named}"), "print the records"),
        (true, format!("perfconv check {}{from}", quoted(name)), "report problems"),
    ];
    let next: Vec<_> =
        next.into_iter().filter(|(applies, ..)| *applies).map(|(_, command, purpose)| (command, purpose)).collect();
    let width = next.iter().map(|(command, _)| command.chars().count()).max().unwrap_or(0);
    let lines = next.iter().map(|(command, purpose)| format!("  {command:<width$}  {purpose}"));
    ["Next steps:".to_owned()].into_iter().chain(lines).collect()
}

/// A name quoted for a shell.
fn quoted(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%=:,".contains(c);
    // A leading dash would begin an option.
    let name = if name.starts_with('-') { format!("./{name}") } else { name.to_owned() };
    if name.chars().all(is_plain) { name } else { format!("'{}'", name.replace('\'', r"'\''")) }
}

fn open(input: PathBuf, read: &ReadArgs) -> Result<(Recording, ReadOptions), Failure> {
    let options = read.options();
    Ok((Recording::new(input, read.from.as_deref(), &options)?, options))
}

fn read(recording: &Recording, options: ReadOptions, parts: Parts) -> Result<Info, Failure> {
    let mut info = read_info(Source::open(recording.input(), options)?, parts)?;
    recording.damage().iter().for_each(|damage| info.ledger.damage(damage.clone()));
    report::warnings(&info.ledger, false);
    Ok(info)
}

fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    let mut object = Vec::new();
    json::append(&mut object, value).map_err(|e| Failure::Failed(e.to_string()))?;
    object.push(b'\n');
    output::print(&object)
}

fn print(lines: &[String]) -> Result<(), Failure> {
    let text: String = lines.iter().map(|line| printable_line(line) + "\n").collect();
    output::print(text.as_bytes())
}
