//! `perfconv diff`.

use super::args::{DiffArgs, OrderArg};
use super::failure::Failure;
use super::input::InputRecording;
use super::report::{counted, print_message, printable_line, warnings};
use perf_data::error::Error;
use perf_data::stream::source::Source;
use perfconv::diff::{Count, DiffOptions, Difference, FieldChange, Side, Subject, Summary, diff};
use perfconv::formats::json::write_lines;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;

/// Exit status if the recordings differ, and if they cannot be compared, as for diff and cmp.
const DIFFERENT: u8 = 1;
const FAILED: u8 = 2;

/// Number of differences of one kind printed without `--verbose`: one change often repeats in all records.
const MAX_SIMILAR: u64 = 20;

/// Maximum length of a printed value, of which two are in a line.
const MAX_VALUE_LEN: usize = 120;

/// Compares two recordings.
///
/// # Errors
/// If the differences cannot be written.
pub(super) fn run(args: DiffArgs) -> Result<ExitCode, Failure> {
    compare(args).or_else(|failure| {
        if !failure.has_valid_arguments() {
            return Err(failure);
        }
        failure.report();
        Ok(ExitCode::from(FAILED))
    })
}

fn compare(args: DiffArgs) -> Result<ExitCode, Failure> {
    if [&args.first, &args.second].into_iter().all(|input| input == Path::new("-")) {
        return Err(Failure::Usage("standard input can be only one of the two recordings".to_owned()));
    }
    let read = args.read.options();
    let open = |path: &Path| InputRecording::new(path.to_owned(), args.read.from.as_deref(), &read);
    let (a, b) = (open(&args.first)?, open(&args.second)?);
    let mut options = DiffOptions { by_time: args.order == OrderArg::Time, ..DiffOptions::default() };
    args.ignore.iter().for_each(|name| options.ignore.add(name));
    let mut out = BufWriter::new(io::stdout().lock());
    let mut shown = BTreeMap::new();
    let sources = [Source::open(a.input(), read.clone())?, Source::open(b.input(), read)?];
    let (summary, ledgers) = diff(sources, &options, write_lines, &mut |difference| {
        let count: &mut u64 = shown.entry(group(difference)).or_default();
        *count += 1;
        if args.json {
            writeln!(out, "{}", to_json(difference)).map_err(Error::Output)
        } else if !args.stats && (args.verbose || *count <= MAX_SIMILAR) {
            lines(difference)
                .iter()
                .try_for_each(|line| writeln!(out, "{}", printable_line(line)))
                .map_err(Error::Output)
        } else {
            Ok(())
        }
    })
    .map_err(to_failure)?;
    let written = if args.json { write_summary_json(&summary, &mut out) } else { write_summary(&summary, &mut out) };
    written.and_then(|()| out.flush()).map_err(|e| to_failure(Error::Output(e)))?;
    for (recording, mut ledger) in [a, b].iter().zip(ledgers) {
        recording.damage().iter().for_each(|damage| ledger.damage(damage.clone()));
        warnings(&ledger, args.verbose);
    }
    for field in options.ignore.unmatched() {
        print_message(format_args!(
            "perfconv: warning: --ignore: no field '{field}' in either recording; expected offsets, ids, times, form or a field \
             of the --json output"
        ));
    }
    let omitted: u64 = shown.values().map(|count| count.saturating_sub(MAX_SIMILAR)).sum();
    if omitted > 0 && !args.json && !args.verbose && !args.stats {
        print_message(format_args!("perfconv: {omitted} similar differences not shown; -v shows all"));
    }
    if !summary.is_same() && !args.json && !args.stats {
        // People who know perf diff expect functions.
        print_message(format_args!(
            "perfconv: these are records; to compare functions: perfconv report {1} --diff {0}",
            args.first.display(),
            args.second.display()
        ));
    }
    Ok(ExitCode::from(if summary.is_same() { 0 } else { DIFFERENT }))
}

fn to_failure(error: Error) -> Failure {
    match error {
        Error::Output(e) if e.kind() == io::ErrorKind::BrokenPipe => Failure::BrokenPipe,
        other => other.into(),
    }
}

/// The group under which a difference is counted; only the first few of each group are printed.
fn group(difference: &Difference) -> (String, u8) {
    let (subject, how) = match difference {
        Difference::Changed(subject, _) => (subject, 0),
        Difference::Only(side, subject, _) => (subject, 1 + *side as u8),
    };
    let kind = if let Subject::Record(kind, _) = subject { kind } else { subject.kind() };
    (kind.to_owned(), how)
}

/// A difference as text.
fn lines(difference: &Difference) -> Vec<String> {
    match difference {
        Difference::Changed(subject, changes) => {
            let head = format!("! {}", name(subject));
            let fields = changes.iter().map(|FieldChange { field, values: [a, b] }| {
                let field = if field.is_empty() { "all" } else { field };
                format!("    {field}: {} -> {}", shorten(a.as_ref()), shorten(b.as_ref()))
            });
            std::iter::once(head).chain(fields).collect()
        }
        Difference::Only(side, subject, value) => {
            let mark = if *side == Side::A { '-' } else { '+' };
            vec![format!("{mark} {} {}", name(subject), shorten(Some(value)))]
        }
    }
}

fn name(subject: &Subject) -> String {
    match subject {
        Subject::Form => "form".to_owned(),
        Subject::Event(number) => format!("event {number}"),
        Subject::EventType(number) => format!("event type {number}"),
        Subject::Feature(name) => format!("feature {name}"),
        Subject::BuildId(file) => format!("build id of {file}"),
        Subject::Other(name) => format!("file {name}"),
        Subject::Gap(number) => format!("gap {number}"),
        Subject::Layout(which) => format!("layout {which} the records"),
        Subject::Record(kind, [Some(a), Some(b)]) if a != b => format!("record {a}, {b} {kind}"),
        Subject::Record(kind, [a, b]) => format!("record {} {kind}", a.or(*b).unwrap_or_default()),
    }
}

/// A value as JSON, shortened to fit a line.
fn shorten(value: Option<&Value>) -> String {
    let Some(value) = value else { return "(absent)".to_owned() };
    let text = value.to_string();
    match text.char_indices().nth(MAX_VALUE_LEN) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

fn to_json(difference: &Difference) -> Value {
    let (how, subject) = match difference {
        Difference::Changed(subject, _) => ("changed", subject),
        Difference::Only(Side::A, subject, _) => ("only in first", subject),
        Difference::Only(Side::B, subject, _) => ("only in second", subject),
    };
    let mut object = json!({ "difference": how, "of": subject.kind() });
    match subject {
        Subject::Form => {}
        Subject::Event(number) | Subject::EventType(number) | Subject::Gap(number) => object["number"] = json!(number),
        Subject::Feature(name) | Subject::BuildId(name) | Subject::Other(name) => object["name"] = json!(name),
        Subject::Layout(which) => object["name"] = json!(which),
        Subject::Record(kind, numbers) => {
            object["type"] = json!(kind);
            object["numbers"] = json!(numbers);
        }
    }
    match difference {
        Difference::Changed(_, changes) => {
            let change = |FieldChange { field, values }: &FieldChange| json!({ "field": field, "values": values });
            object["fields"] = changes.iter().map(change).collect();
        }
        Difference::Only(_, _, value) => object["value"] = value.clone(),
    }
    object
}

fn write_summary_json(summary: &Summary, out: &mut impl Write) -> io::Result<()> {
    let count = |count: &Count| json!({ "same": count.same, "changed": count.changed, "only_in_first": count.only[0], "only_in_second": count.only[1] });
    let records: BTreeMap<_, _> = summary.records.iter().map(|(kind, entry)| (kind, count(entry))).collect();
    let others: BTreeMap<_, _> = summary.others.iter().map(|(kind, entry)| (kind, count(entry))).collect();
    writeln!(out, "{}", json!({ "same": summary.is_same(), "records": records, "others": others }))
}

/// Writes a table of the differences, or one line if there are none.
fn write_summary(summary: &Summary, out: &mut impl Write) -> io::Result<()> {
    if summary.is_same() {
        let same_count = |kind| summary.others.get(kind).map_or(0, |count: &Count| count.same);
        let records: u64 = summary.records.values().map(|count| count.same).sum();
        let [records, events, features] =
            [(records, "record"), (same_count("events"), "event"), (same_count("features"), "feature")]
                .map(|(n, noun)| counted(n, noun));
        return writeln!(out, "identical: {records}, {events}, {features}");
    }
    writeln!(out, "{:<20} {:>12} {:>12} {:>12} {:>12}", "", "same", "changed", "first only", "second only")?;
    let records = summary.records.iter().map(|(kind, count)| (&**kind, count));
    let others = summary.others.iter().map(|(kind, count)| (*kind, count));
    for (kind, Count { same, changed, only: [a, b] }) in records.chain(others) {
        writeln!(out, "{kind:<20} {same:>12} {changed:>12} {a:>12} {b:>12}")?;
    }
    Ok(())
}
