//! `perfconv info`, and `perfconv` alone.

use super::args::{ConvertArgs, InfoArgs};
use super::failure::Failure;
use super::input::Recording;
use super::report::{self, harmless};
use super::{convert, output};
use crate::container::read::ReadOptions;
use crate::formats::json;
use crate::info::{Info, Parts, look, summary};
use crate::stream::source::Source;
use std::path::PathBuf;
use std::process::ExitCode;

/// Tells what was asked for; header and counts, where nothing was.
///
/// # Errors
/// Where the recording cannot be read, or what it is not be written.
pub fn run(args: InfoArgs) -> Result<ExitCode, Failure> {
    let parts = Parts { header: false, events: args.events, build_ids: args.build_ids, stats: args.stats };
    let parts = match (parts == Parts::default(), args.json) {
        (false, _) => parts,
        (true, false) => Parts { header: true, stats: true, ..parts },
        (true, true) => Parts { header: true, events: true, build_ids: true, stats: true },
    };
    let info = look_into(args.input, None, args.spool_dir, parts)?;
    if args.json {
        let mut object = Vec::new();
        json::append(&mut object, &info).map_err(|e| Failure::Failed(e.to_string()))?;
        object.push(b'\n');
        output::print(&object)?;
    } else {
        print(&info.lines())?;
    }
    info.failure.map_or(Ok(ExitCode::SUCCESS), |error| Err(error.into()))
}

/// Tells in a few lines what a recording is, and what to do next.
///
/// # Errors
/// Where there is none, or it cannot be read.
pub fn summary(args: &ConvertArgs) -> Result<ExitCode, Failure> {
    convert::only_one_input(args)?;
    let (input, is_named) = (args.input(), args.input.is_some() || args.input_option.is_some());
    if !is_named && !input.exists() {
        let what = "there is no perf.data in this folder: name a recording, or make one (perf record -g ./app); \
                    --help tells more";
        return Err(Failure::Usage(what.to_owned()));
    }
    let name = input.display().to_string();
    let parts = Parts { stats: true, ..Parts::default() };
    let info = look_into(input, args.from.as_deref(), args.spool_dir.clone(), parts)?;
    if let Some(error) = info.failure {
        return Err(error.into());
    }
    let mut lines = info.stats.map(|stats| summary::lines(&info.meta, &stats)).unwrap_or_default();
    let named = if is_named { format!(" {name}") } else { String::new() };
    let next = [
        (format!("perfconv{named} -o out.pb.gz"), "a profile, for pprof; --help tells the other formats"),
        (format!("perfconv info{named}"), "header, features and counts"),
        (format!("perfconv dump{named}"), "record by record"),
        (format!("perfconv check {name}"), "what is wrong with it"),
    ];
    let width = next.iter().map(|(command, _)| command.chars().count()).max().unwrap_or(0);
    lines.push("What next:".to_owned());
    lines.extend(next.map(|(command, what)| format!("  {command:<width$}  {what}")));
    print(&lines)?;
    Ok(ExitCode::SUCCESS)
}

fn look_into(input: PathBuf, from: Option<&str>, spool_dir: Option<PathBuf>, parts: Parts) -> Result<Info, Failure> {
    let options = ReadOptions { spool_dir, ..ReadOptions::default() };
    let recording = Recording::new(input, from, &options)?;
    let mut info = look(Source::open(recording.input(), options)?, parts)?;
    recording.damage().iter().for_each(|damage| info.ledger.damage(damage.clone()));
    report::warnings(&info.ledger, false);
    Ok(info)
}

fn print(lines: &[String]) -> Result<(), Failure> {
    let text: String = lines.iter().map(|line| harmless(line) + "\n").collect();
    output::print(text.as_bytes())
}
