//! `perfconv check`.

use super::args::CheckArgs;
use super::failure::Failure;
use super::input::Recording;
use super::output::stdout_failed;
use super::report::{harmless, say};
use super::standard_streams::demand_stdout;
use perfconv::abi::record::RecordType;
use perfconv::inspect::check::{Checked, Finding, Rule, Subject, check};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;

/// Exit status when a recording cannot be read at all.
const UNREADABLE: u8 = 1;
/// Exit status when there are warnings or errors.
const UNSOUND: u8 = 3;

/// How many findings that are alike are shown when not everything is asked for.
const ALIKE: u64 = 3;

/// Checks recordings.
///
/// # Errors
/// Where the findings cannot be written.
pub fn run(args: CheckArgs) -> Result<ExitCode, Failure> {
    demand_stdout()?;
    let mut out = BufWriter::new(io::stdout().lock());
    let (mut unreadable, mut unsound) = (false, false);
    for path in &args.inputs {
        match check_one(path, &args, &mut out)? {
            Some((checked, is_whole)) => unsound |= !checked.is_sound() || !is_whole,
            None => unreadable = true,
        }
    }
    out.flush().map_err(stdout_failed)?;
    Ok(ExitCode::from(match (unreadable, unsound) {
        (true, _) => UNREADABLE,
        (false, true) => UNSOUND,
        (false, false) => 0,
    }))
}

/// Checks one recording, and tells whether it was read in whole from the format that carries it; `None` where it cannot be
/// read, which is said.
fn check_one(path: &Path, args: &CheckArgs, out: &mut impl Write) -> Result<Option<(Checked, bool)>, Failure> {
    let mut written = Ok(());
    let mut alike = Alike::default();
    let options = args.read.options();
    let recording = match Recording::new(path.to_owned(), args.read.from.as_deref(), &options) {
        Ok(recording) => recording,
        Err(Failure::Failed(what)) => {
            out.flush().map_err(stdout_failed)?;
            say(format_args!("perfconv: {what}"));
            return Ok(None);
        }
        Err(usage) => return Err(usage),
    };
    let input = recording.input();
    let name = input.name();
    recording.damage().iter().for_each(|damage| say(format_args!("perfconv: warning: {damage}")));
    let checked = check(input, options, &mut |finding| {
        if written.is_ok() && args.json {
            written = writeln!(out, "{}", to_json(&finding));
        } else if written.is_ok() && (alike.count(&finding) <= ALIKE || args.verbose) {
            written = writeln!(out, "{}", harmless(finding));
        }
    });
    written.map_err(stdout_failed)?;
    let checked = match checked {
        Ok(checked) => checked,
        Err(error) => {
            out.flush().map_err(stdout_failed)?;
            say(format_args!("perfconv: {error}"));
            return Ok(None);
        }
    };
    if !args.json {
        if !args.verbose {
            alike.write_further(&name, out).map_err(stdout_failed)?;
        }
        writeln!(out, "{}: {}", harmless(&name), summary(&checked)).map_err(stdout_failed)?;
    }
    Ok(Some((checked, recording.damage().is_empty())))
}

/// One line about a recording.
fn summary(checked: &Checked) -> String {
    let many = |count: u64, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let verdict = if checked.is_sound() { "sound" } else { "not sound" };
    let [errors, warnings, notes] = [(checked.errors, "error"), (checked.warnings, "warning"), (checked.notes, "note")]
        .map(|(n, what)| many(n, what));
    format!("{verdict}: {}, {errors}, {warnings}, {notes}", many(checked.records, "record"))
}

/// Counts findings by what they have in common.
#[derive(Default)]
struct Alike(BTreeMap<(Rule, Option<RecordType>), u64>);

impl Alike {
    /// How many there are with this one.
    fn count(&mut self, finding: &Finding) -> u64 {
        let kind = match finding.subject {
            Subject::Record { kind, .. } => Some(kind),
            _ => None,
        };
        let count = self.0.entry((finding.rule, kind)).or_default();
        *count += 1;
        *count
    }

    /// Tells how many there are that were not shown.
    fn write_further(&self, name: &str, out: &mut impl Write) -> io::Result<()> {
        let name = harmless(name);
        for ((rule, kind), count) in self.0.iter().filter(|&(_, &count)| count > ALIKE) {
            let of = kind.map_or_else(String::new, |kind| format!(" of {kind} records"));
            let (further, severity, rule) = (count - ALIKE, rule.severity(), rule.name());
            writeln!(out, "{name}: {severity}: {further} more like these{of} ({rule}); -v shows all")?;
        }
        Ok(())
    }
}

/// A finding for machines. What does not apply to it is not there.
fn to_json(finding: &Finding) -> Value {
    let mut value = json!({
        "file": finding.place.file,
        "severity": finding.rule.severity().to_string(),
        "rule": finding.rule.name(),
        "what": finding.what,
    });
    if let Some(offset) = finding.place.offset {
        value["offset"] = offset.into();
    }
    match finding.subject {
        Subject::Container => {}
        Subject::Event(index) => value["event"] = index.into(),
        Subject::Record { index, kind } => value["record"] = json!({ "index": index, "type": kind.to_string() }),
        Subject::Feature(id) => value["feature"] = id.to_string().into(),
    }
    value
}
