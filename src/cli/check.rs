//! `perfconv check`.

use super::args::CheckArgs;
use super::failure::Failure;
use super::input::InputRecording;
use super::output::stdout_failed;
use super::progress;
use super::report::{counted, frame_counts, object, print_message, printable_line, unsymbolized_lines};
use super::standard_streams::require_stdout;
use perf_data::abi::record::RecordType;
use perf_data::stream::source::Source;
use perfconv::bundle::unpack::Members;
use perfconv::conversion;
use perfconv::conversion::with_archived_objects;
use perfconv::formats::import::Values;
use perfconv::inspect::check::{Checked, Finding, Rule, Subject, check};
use perfconv::profile::options::ProfileOptions;
use perfconv::profile::symbolize::SymbolSources;
use perfconv::profile::symbolize::unsymbolized::Unsymbolized;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

/// Exit status if a recording cannot be read.
const UNREADABLE: u8 = 1;
/// Exit status if there are warnings or errors.
const HAS_PROBLEMS: u8 = 3;

/// Number of similar findings printed without `--verbose`: enough to see whether their offsets follow a pattern. The others are
/// counted.
const MAX_SIMILAR: u64 = 3;

/// Checks recordings.
///
/// # Errors
/// If the findings cannot be written.
pub(super) fn run(args: CheckArgs) -> Result<ExitCode, Failure> {
    require_stdout()?;
    let mut out = BufWriter::new(io::stdout().lock());
    let (mut unreadable, mut has_problems) = (false, false);
    if let Some(option) = args.symbol_option().filter(|_| !args.symbols) {
        return Err(Failure::Usage(format!("{option} requires --symbols")));
    }
    for path in &args.inputs {
        let is_sound = if args.symbols {
            check_symbols(path, &args, &mut out)?
        } else {
            check_one(path, &args, &mut out)?.map(|(checked, is_complete)| checked.is_valid() && is_complete)
        };
        match is_sound {
            Some(is_sound) => has_problems |= !is_sound,
            None => unreadable = true,
        }
    }
    out.flush().map_err(stdout_failed)?;
    Ok(ExitCode::from(match (unreadable, has_problems) {
        (true, _) => UNREADABLE,
        (false, true) => HAS_PROBLEMS,
        (false, false) => 0,
    }))
}

/// Checks one recording. Returns the counts, and whether the recording was completely converted from its format; `None` if it
/// cannot be read, which is reported.
fn check_one(path: &Path, args: &CheckArgs, out: &mut impl Write) -> Result<Option<(Checked, bool)>, Failure> {
    // The first error of a write, which the callback cannot return.
    let mut written = Ok(());
    let mut similar = SimilarFindings::default();
    let options = args.read.options();
    let Some(recording) = open(path, Members::Recording, args, out)? else { return Ok(None) };
    recording.announce_conversion();
    let input = recording.input();
    let name = input.name();
    recording.damage().iter().for_each(|damage| print_message(format_args!("perfconv: warning: {damage}")));
    let checked = check(input, options, &mut |finding| {
        if written.is_ok() && args.json {
            written = writeln!(out, "{}", to_json(&finding));
        } else if written.is_ok() && (similar.count(&finding) <= MAX_SIMILAR || args.verbose) {
            written = writeln!(out, "{}", printable_line(finding));
        }
    });
    written.map_err(stdout_failed)?;
    let checked = match checked {
        Ok(checked) => checked,
        Err(error) => return unreadable(error.into(), out),
    };
    if !args.json {
        if !args.verbose {
            similar.write_omitted(&name, out).map_err(stdout_failed)?;
        }
        writeln!(out, "{}: {}", printable_line(&name), summary(&checked)).map_err(stdout_failed)?;
    }
    Ok(Some((checked, recording.damage().is_empty())))
}

/// Opens a recording, or these members of an archive; `None` if it cannot be read, which is reported.
fn open(
    path: &Path,
    members: Members,
    args: &CheckArgs,
    out: &mut impl Write,
) -> Result<Option<InputRecording>, Failure> {
    match InputRecording::with_members(
        path.to_owned(),
        members,
        args.read.from.as_deref(),
        Values::default(),
        &args.read.options(),
    ) {
        Ok(recording) => Ok(Some(recording)),
        Err(failure) if failure.has_valid_arguments() => unreadable(failure, out),
        Err(failure) => Err(failure),
    }
}

/// Reports that a recording cannot be read.
fn unreadable<T>(why: Failure, out: &mut impl Write) -> Result<Option<T>, Failure> {
    // Findings precede the message if both go to the same terminal or file.
    out.flush().map_err(stdout_failed)?;
    why.report();
    Ok(None)
}

/// Reports the objects that lack function names. Returns whether all samples have them; `None` if the recording cannot be read, which
/// is reported.
fn check_symbols(path: &Path, args: &CheckArgs, out: &mut impl Write) -> Result<Option<bool>, Failure> {
    let Some(recording) = open(path, Members::All, args, out)? else { return Ok(None) };
    let mut objects = args.files.search(&args.find.options(), &progress::observer())?;
    if let Some(archive) = recording.archive() {
        objects = objects.map(|options| with_archived_objects(options, archive, path));
    }
    let symbols = SymbolSources { imported: recording.imported().cloned(), objects: objects.map(Arc::new) };
    let options = ProfileOptions { symbols, ..ProfileOptions::default() };
    let source = match Source::open(recording.input(), args.read.options()) {
        Ok(source) => source,
        Err(error) => return unreadable(error.into(), out),
    };
    let profile = match conversion::profile(source, &options) {
        Ok((profile, _)) => profile,
        Err(error) => return unreadable(error.into(), out),
    };
    let mut unsymbolized = Unsymbolized::default();
    unsymbolized.add(&profile);
    let name = recording.input().name();
    let written = if args.json {
        let objects: Vec<_> = unsymbolized.objects.iter().map(object).collect();
        let line = json!({
            "file": name,
            "samples": unsymbolized.all.innermost,
            "without_function_names": unsymbolized.samples,
            "frames": frame_counts(unsymbolized.all),
            "frames_without_function_names": frame_counts(unsymbolized.unnamed),
            "objects": objects,
        });
        writeln!(out, "{line}")
    } else if unsymbolized.unnamed.all == 0 {
        writeln!(out, "{}: all samples have function names", printable_line(&name))
    } else {
        let lines = unsymbolized_lines(&unsymbolized, args.verbose);
        lines.iter().enumerate().try_for_each(|(index, line)| {
            let name = if index == 0 { format!("{name}: ") } else { String::new() };
            writeln!(out, "{}", printable_line(format_args!("{name}{line}")))
        })
    };
    written.map_err(stdout_failed)?;
    Ok(Some(unsymbolized.unnamed.all == 0))
}

/// The line that sums up the findings on a recording.
fn summary(checked: &Checked) -> String {
    let verdict = if checked.is_valid() { "ok" } else { "not ok" };
    let [errors, warnings, notes] = [(checked.errors, "error"), (checked.warnings, "warning"), (checked.notes, "note")]
        .map(|(n, noun)| counted(n, noun));
    format!("{verdict}: {}, {errors}, {warnings}, {notes}", counted(checked.records, "record"))
}

/// Counts findings by rule and record type.
#[derive(Default)]
struct SimilarFindings(BTreeMap<(Rule, Option<RecordType>), u64>);

impl SimilarFindings {
    /// Counts a finding, and returns how many like it there are so far.
    fn count(&mut self, finding: &Finding) -> u64 {
        let kind = match finding.subject {
            Subject::Record { kind, .. } => Some(kind),
            _ => None,
        };
        let count = self.0.entry((finding.rule, kind)).or_default();
        *count += 1;
        *count
    }

    /// Writes how many findings were not printed.
    fn write_omitted(&self, name: &str, out: &mut impl Write) -> io::Result<()> {
        let name = printable_line(name);
        for ((rule, kind), count) in self.0.iter().filter(|&(_, &count)| count > MAX_SIMILAR) {
            let subject = kind.map_or_else(String::new, |kind| format!(" of {kind} records"));
            let (omitted, severity, code) = (count - MAX_SIMILAR, rule.severity(), rule.code());
            writeln!(out, "{name}: {severity}: {omitted} more{subject} [{code}]; -v shows all")?;
        }
        Ok(())
    }
}

/// A finding as JSON. Fields that do not apply are omitted.
fn to_json(finding: &Finding) -> Value {
    let mut value = json!({
        "file": finding.place.file,
        "severity": finding.rule.severity().to_string(),
        "rule": finding.rule.code(),
        "what": finding.problem,
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
