//! Values that options complete to.

use super::super::args::{Cli, command};
use super::functions::functions_at_hand;
use super::recorded::Recorded;
use clap::{Arg, Command, CommandFactory, ValueHint};
use clap_complete::engine::{ArgValueCandidates, ArgValueCompleter, CompletionCandidate};
use perf_data::abi::feature::FeatureId;
use perf_data::abi::record::RecordType;
use perfconv::formats::framework::table::{readable, writable};
use perfconv::formats::{FORMATS, Format};
use std::collections::BTreeSet;
use std::ffi::OsStr;

/// The program's command, with the values of each argument.
pub(super) fn program() -> Command {
    let mut program = command::<Cli>();
    program.build();
    with_values(program)
}

fn with_values(command: Command) -> Command {
    command.mut_args(with_value).mut_subcommands(with_values)
}

/// An argument with its values. Arguments that have a fixed set of values declare it where they are parsed.
fn with_value(arg: Arg) -> Arg {
    let name = arg.get_long().unwrap_or_else(|| arg.get_id().as_str()).to_owned();
    match name.as_str() {
        "to" => arg.add(ArgValueCandidates::new(|| formats(writable(FORMATS)))),
        "from" => arg.add(ArgValueCandidates::new(|| formats(readable(FORMATS)))),
        "topic" => arg.add(ArgValueCandidates::new(topics)),
        "event" => arg.add(ArgValueCompleter::new(events)),
        "comm" => arg.add(names(|recorded| recorded.comms)),
        "dso" => arg.add(names(|recorded| recorded.objects)),
        "callers" | "callees" | "symbol" | "lines" | "list" | "base" | "skip-after" => {
            arg.add(ArgValueCompleter::new(functions))
        }
        "pid" => arg.add(ArgValueCandidates::new(|| recorded(|recorded| numbered(recorded.processes)))),
        "tid" => arg.add(ArgValueCandidates::new(|| recorded(|recorded| numbered(recorded.threads)))),
        "cpu" => arg
            .add(ArgValueCandidates::new(|| recorded(|recorded| named((0..recorded.cpus).map(|cpu| cpu.to_string()))))),
        "type" | "types" => {
            arg.add(ArgValueCandidates::new(|| named(RecordType::NAMED.iter().map(|(_, name)| (*name).to_owned()))))
        }
        "drop-feature" => arg.add(ArgValueCandidates::new(|| {
            recorded(|recorded| named(recorded.features.into_iter().filter_map(feature)))
        })),
        "set" | "add-feature" => arg.add(ArgValueCandidates::new(|| {
            let features = FeatureId::NAMED.iter().filter_map(|(id, _)| feature(*id));
            named(features.map(|name| name + "="))
        })),
        "symfs" | "buildid-dir" | "debug-dir" | "jit-dir" => arg.value_hint(ValueHint::DirPath),
        "key" | "known-build-ids" | "jit-dump" | "perf-map" => arg.value_hint(ValueHint::AnyPath),
        _ => arg,
    }
}

fn recorded(values: impl FnOnce(Recorded) -> Vec<CompletionCandidate>) -> Vec<CompletionCandidate> {
    Recorded::at_hand().map(values).unwrap_or_default()
}

fn named(values: impl IntoIterator<Item = String>) -> Vec<CompletionCandidate> {
    values.into_iter().map(CompletionCandidate::new).collect()
}

/// Names, which may contain blanks.
fn names(select: fn(Recorded) -> BTreeSet<String>) -> ArgValueCompleter {
    ArgValueCompleter::new(move |current: &OsStr| {
        let current = current.to_string_lossy();
        let names = Recorded::at_hand().map(select).unwrap_or_default().into_iter();
        named(names.filter(|name| name.starts_with(&*current)))
    })
}

/// Functions, of which a part can be typed, as the options take it.
fn functions(current: &OsStr) -> Vec<CompletionCandidate> {
    let current = current.to_string_lossy();
    named(functions_at_hand().into_iter().filter(|name| name.contains(&*current)))
}

fn numbered(values: impl IntoIterator<Item = (u32, String)>) -> Vec<CompletionCandidate> {
    let candidate =
        |(number, name): (u32, String)| CompletionCandidate::new(number.to_string()).help(Some(name.into()));
    values.into_iter().map(candidate).collect()
}

fn formats<'a>(formats: impl Iterator<Item = &'a Format>) -> Vec<CompletionCandidate> {
    formats.map(|format| CompletionCandidate::new(format.name).help(Some(format.about.into()))).collect()
}

/// Commands, then formats.
fn topics() -> Vec<CompletionCandidate> {
    let program = Cli::command();
    let commands = program
        .get_subcommands()
        .map(|command| CompletionCandidate::new(command.get_name()).help(command.get_about().cloned()));
    commands.chain([CompletionCandidate::new("formats")]).chain(formats(FORMATS.iter())).collect()
}

/// Event names that complete the last one of a list. The names of PMU events may contain commas themselves.
fn events(current: &OsStr) -> Vec<CompletionCandidate> {
    let current = current.to_string_lossy();
    recorded(|recorded| {
        let starts = [0].into_iter().chain(current.match_indices(',').map(|(at, _)| at + 1));
        let completed = starts.flat_map(|start| {
            let (before, word) = current.split_at(start);
            let names = recorded.events.iter().filter(move |name| name.starts_with(word));
            names.map(move |name| CompletionCandidate::new(format!("{before}{name}")))
        });
        completed.collect()
    })
}

/// Name of a feature as options take it.
fn feature(id: FeatureId) -> Option<String> {
    Some(id.name()?.to_lowercase())
}
