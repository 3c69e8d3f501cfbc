//! `perfconv info`, and `perfconv` without an output.

use super::args::{ConvertArgs, InfoArgs, ReadArgs};
use super::failure::Failure;
use super::input::InputRecording;
use super::progress;
use super::report::{self, printable_line, shell_word};
use super::{convert, output};
use perf_data::abi::sample_type::SampleType;
use perf_data::container::read::ReadOptions;
use perf_data::printable;
use perf_data::stream::events::EventIndex;
use perf_data::stream::meta::Meta;
use perf_data::stream::source::Source;
use perf_symbols::symbol::demangle::Demangle;
use perfconv::bundle::unpack::Members;
use perfconv::conversion::{decoded_profiles, with_archived_objects};
use perfconv::formats::framework::bounded_json::bounded_info;
use perfconv::formats::import::Values;
use perfconv::formats::json;
use perfconv::inspect::info::stats::Stats;
use perfconv::inspect::info::{Info, Parts, read_info, summary};
use perfconv::profile::Profile;
use perfconv::profile::options::ProfileOptions;
use perfconv::profile::symbolize::SymbolSources;
use perfconv::profile::symbolize::unsymbolized::{UnnamedObject, Unsymbolized};
use perfconv::report::Counts;
use perfconv::report::key::ReportKey;
use perfconv::report::location::Locations;
use perfconv::report::top::{ReportEntry, Top};
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
    let (recording, options) = open(args.input, Members::Recording, &args.read)?;
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
        print_info(&info, args.offset, args.max_bytes)?;
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
    let name = input.display().to_string();
    let parts = Parts { stats: true, ..Parts::default() };
    let (recording, options) = open(input, Members::All, &args.read)?;
    let (mut lines, recorded) = match recording.imported_info() {
        Some(imported) => (imported.lines(&name), None),
        None => {
            let info = read(&recording, options.clone(), parts)?;
            if let Some(error) = info.failure {
                return Err(error.into());
            }
            let stats = info.stats.unwrap_or_default();
            let lines = summary::lines(&info.meta, &stats, &info.ledger);
            (lines, Some(Recorded { has_callers: has_callers(&info.meta), stats }))
        }
    };
    let has_samples = recorded.as_ref().is_none_or(|recorded| recorded.stats.has_decoded_samples());
    if name != "-" && has_samples {
        lines.extend(hottest(&recording, &options, args)?);
    }
    if recorded.as_ref().is_some_and(|recorded| recorded.stats.has_samples() && !recorded.has_callers) {
        lines.push(NO_CALLERS.to_owned());
    }
    // Standard input cannot be read again.
    if name != "-" {
        lines.extend(next_steps(&name, is_named, args, recorded.as_ref()));
    }
    print(&lines)?;
    Ok(ExitCode::SUCCESS)
}

/// What decides which commands apply to a recording.
struct Recorded {
    stats: Stats,
    /// Whether samples have more than their own address.
    has_callers: bool,
}

/// Line on a recording without call chains.
const NO_CALLERS: &str = "No call chains were recorded, so flame graphs have one level: record them with perf record -g, or with \
                          perf record --call-graph dwarf for programs without frame pointers";

/// Whether any event has call chains, or what they are derived from.
fn has_callers(meta: &Meta) -> bool {
    let derived = SampleType::CALLCHAIN | SampleType::STACK_USER | SampleType::BRANCH_STACK;
    meta.events.list().iter().any(|event| event.layout.sample_type().intersects(derived))
}

/// The functions with the most samples of the event with the most; of tracepoints, whose samples are all in the same functions, the
/// numbers of samples instead.
fn hottest(recording: &InputRecording, read: &ReadOptions, args: &ConvertArgs) -> Result<Vec<String>, Failure> {
    /// Number of functions.
    const FUNCTIONS: usize = 10;
    let mut objects = args.symbols.search(Demangle::Full, &args.passes.find, None, &progress::observer())?;
    if let Some(archive) = recording.archive() {
        objects = objects.map(|objects| with_archived_objects(objects, archive, &args.input()));
    }
    let symbols = SymbolSources {
        imported: recording.imported().cloned(),
        objects: objects.map(|objects| Arc::new(objects.without_unwinding())),
    };
    let names = args.profile.contents.names;
    let options =
        ProfileOptions { labels: Some(Vec::new()), leaves_only: true, symbols, names, ..ProfileOptions::default() };
    let (profiles, _) = decoded_profiles(recording.input(), read, &options)?;
    let Some(profile) = profiles.first() else { return Ok(Vec::new()) };
    let locations = Locations::with_names(&profile.tables, profile.tables.function_names);
    let lists = profile.has_samples.iter().map(|&event| {
        let top = Top::new(profile, &locations, Some(event), &[ReportKey::Sym, ReportKey::Dso], false);
        (event, top.totals.get(&event).copied().unwrap_or_default(), top)
    });
    let mut lists: Vec<_> = lists.collect();
    lists.sort_by_key(|(_, counts, _)| std::cmp::Reverse(counts.samples));
    let Some((event, all, top)) = lists.first() else { return Ok(Vec::new()) };
    let name = |event: EventIndex| printable::name(&profile.tables.events[event as usize].name);
    if is_tracepoint(&name(*event)) {
        let line =
            |(event, counts, _): &(EventIndex, Counts, Top)| format!("  {:>9}  {}", counts.samples, name(*event));
        let lines = lists.iter().take(FUNCTIONS).map(line);
        return Ok(["Samples by event:".to_owned()].into_iter().chain(lines).collect());
    }
    let heading = format!("Functions with the most samples of {}:", name(*event));
    let functions = top.entries.iter().filter(|entry| entry.usage.own.samples > 0).take(FUNCTIONS);
    let function = |ReportEntry { cells, usage, .. }: &ReportEntry| {
        format!(
            "  {:>6.2}%  {} ({})",
            usage.own.percent_of(*all),
            printable::name(&cells[0]),
            printable::name(&cells[1])
        )
    };
    Ok([heading].into_iter().chain(functions.map(function)).chain(missing_names(profile)).collect())
}

/// Which files have the names that many functions lack, and how to get them: who received a recording cannot make it again.
fn missing_names(profile: &Profile) -> Vec<String> {
    /// Number of files.
    const FILES: usize = 3;
    let mut unsymbolized = Unsymbolized::default();
    unsymbolized.add(profile);
    let missing = unsymbolized.objects.iter().filter(|object| object.missing.is_some() && object.name.starts_with('/'));
    let innermost: u64 = missing.clone().map(|object| object.frames.innermost).sum();
    // Where a few are missing, the functions with the most samples have names.
    if innermost == 0 || innermost < unsymbolized.all.innermost / 10 {
        return Vec::new();
    }
    let file = |object: &UnnamedObject| {
        let id = object.build_id.as_ref().map(|id| format!(" (build ID {id})")).unwrap_or_default();
        format!("  {}{id}", printable::name(&object.name))
    };
    let heading = "Functions have no names without these files: --symfs DIR finds copies, and 'perfconv archive' packs them with \
                   the recording where it was made";
    [heading.to_owned()].into_iter().chain(missing.take(FILES).map(file)).collect()
}

/// Commands to run next on an input. Without statistics of its records it is a profile.
fn next_steps(name: &str, is_named: bool, args: &ConvertArgs, recorded: Option<&Recorded>) -> Vec<String> {
    let stats = recorded.map(|recorded| &recorded.stats);
    let has_samples = stats.is_none_or(Stats::has_decoded_samples);
    let from = args.read.from.as_ref().map(|from| format!(" --from {from}")).unwrap_or_default();
    // Functions are looked up where this summary found them.
    let symfs = args.passes.find.symfs.as_ref();
    let symfs = symfs.map(|root| format!(" --symfs {}", quoted(&root.to_string_lossy()))).unwrap_or_default();
    let named = if is_named { format!(" {}{from}", quoted(name)) } else { from.clone() };
    let next = [
        (has_samples, format!("perfconv report{named}{symfs}"), "print more functions, their callers and lines"),
        (has_samples, format!("perfconv view{named}{symfs}"), "show a page with a flame graph in the browser"),
        (has_samples, format!("perfconv{named}{symfs} -o out.svg"), "draw a flame graph; out.html: the page"),
        (
            has_samples,
            format!("perfconv{named}{symfs} -o out.pb.gz"),
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

/// Whether an event is a tracepoint, by its name: `sched:sched_switch`.
fn is_tracepoint(name: &str) -> bool {
    let is_word = |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    name.split_once(':').is_some_and(|(system, event)| is_word(system) && is_word(event) && event.len() > 3)
}

/// A file name as an argument of a command.
fn quoted(name: &str) -> String {
    // A leading dash would begin an option.
    if name.starts_with('-') { shell_word(&format!("./{name}")) } else { shell_word(name) }
}

fn open(input: PathBuf, members: Members, read: &ReadArgs) -> Result<(InputRecording, ReadOptions), Failure> {
    let options = read.options();
    let recording = InputRecording::with_members(input, members, read.from.as_deref(), Values::default(), &options)?;
    Ok((recording, options))
}

fn read(recording: &InputRecording, options: ReadOptions, parts: Parts) -> Result<Info, Failure> {
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

/// Prints the JSON of a recording, all of it or within a limit.
fn print_info(info: &Info, offset: Option<u32>, max_bytes: Option<u32>) -> Result<(), Failure> {
    if offset.is_none() && max_bytes.is_none() {
        return print_json(info);
    }
    let mut text = Vec::new();
    json::append(&mut text, info).map_err(|e| Failure::Failed(e.to_string()))?;
    let info = serde_json::from_slice(&text).map_err(|e| Failure::Failed(e.to_string()))?;
    let object = format!("{}\n", bounded_info(info, offset, max_bytes));
    output::print(object.as_bytes())
}

fn print(lines: &[String]) -> Result<(), Failure> {
    let text: String = lines.iter().map(|line| printable_line(line) + "\n").collect();
    output::print(text.as_bytes())
}
