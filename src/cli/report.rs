//! Messages on standard error: warnings and the ledger.

use super::args::ReportArg;
use super::progress;
use perf_data::abi::record::RecordType;
use perf_data::abi::record::auxtrace_info::AuxtraceType;
use perf_data::printable;
pub(super) use perf_data::stream::ledger::counted;
use perf_data::stream::ledger::{Entry, Ledger};
use perf_data::stream::traces::TraceBytes;
use perf_symbols::symbol::find::fetch::Notice;
use perfconv::profile::symbolize::unsymbolized::{FrameCounts, UnnamedObject, Unsymbolized};
use serde_json::{Map, Value, json};
use std::fmt;
use std::io::{self, Write};

/// Number of corruption warnings printed without `--verbose`: they would move other messages out of a terminal.
const MAX_WARNINGS: usize = 10;

/// Number of objects without function names printed without `--verbose`.
const MAX_OBJECTS: usize = 3;

/// Writes a line to standard error. A failure cannot be reported anywhere.
pub(super) fn print_message(line: fmt::Arguments<'_>) {
    let line = printable_line(line);
    progress::without_display(|| _ = writeln!(io::stderr(), "{line}"));
}

/// A line in which names in a recording cannot send control sequences to the terminal.
pub(super) fn printable_line(line: impl fmt::Display) -> String {
    printable::escape(&line.to_string()).into_owned()
}

/// A word as a shell reads it, for commands in messages.
pub(super) fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%=:,".contains(c);
    let is_plain = !word.is_empty() && word.chars().all(is_plain);
    if is_plain { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

/// The report on a conversion.
pub(super) struct Report<'a> {
    /// Counts of what was read, written and dropped.
    pub ledger: &'a Ledger,
    /// Names of the inputs, as the user gave them.
    pub inputs: &'a [String],
    /// Name of the output, as the user gave it.
    pub output: &'a str,
    /// Messages on further files that were written.
    pub notes: &'a [String],
    /// Frames without function names.
    pub unsymbolized: Option<&'a Unsymbolized>,
}

impl Report<'_> {
    /// Prints the report to standard error.
    pub(super) fn print(&self, form: ReportArg, verbose: bool) {
        match form {
            ReportArg::Text => {
                self.notes.iter().for_each(|note| print_message(format_args!("{note}")));
                self.ledger.changes().iter().for_each(|change| print_message(format_args!("perfconv: {change}")));
                warnings(self.ledger, verbose);
                if verbose {
                    table(self.ledger);
                }
                self.unsymbolized.into_iter().for_each(|samples| print_unsymbolized(samples, verbose));
                print_message(format_args!("[ perfconv: {}: {} ]", self.output, self.ledger));
            }
            ReportArg::Json => {
                let line = escape_json(&self.to_json().to_string());
                progress::without_display(|| _ = writeln!(io::stderr(), "{line}"));
            }
        }
    }

    fn to_json(&self) -> Value {
        let Self { ledger, inputs, output, notes, unsymbolized } = self;
        let records: Map<_, _> =
            ledger.entries().iter().map(|(kind, entry)| (kind.to_string(), record(entry))).collect();
        let samples = ledger.counts(RecordType::SAMPLE);
        let messages = ledger.messages().iter().map(ToString::to_string);
        let warnings: Vec<_> = messages.chain(ledger.notes().iter().cloned()).collect();
        json!({
            "inputs": inputs,
            "output": output,
            "samples": { "in": samples.read, "out": samples.emitted, "dropped": samples.dropped() },
            "records": records,
            "sums": ledger.aggregate().map(|aggregate| &aggregate.totals),
            "lost_by_kernel": { "records": ledger.lost_records, "samples": ledger.lost_samples },
            "unreadable_bytes": ledger.unread_bytes(),
            "samples_used_in_part": ledger.samples_used_in_part(),
            "undecoded_trace_bytes": ledger.undecoded_trace_bytes(),
            "traces": ledger.traces.iter().map(|(source, trace)| trace_counts(source, trace)).collect::<Vec<_>>(),
            "warnings": warnings,
            "further_warnings": ledger.further_messages(),
            "missing": ledger.missing_notes(),
            "notes": notes.iter().chain(ledger.changes()).collect::<Vec<_>>(),
            "frames": unsymbolized.map(|unsymbolized| frame_counts(unsymbolized.all)),
            "frames_without_function_names": unsymbolized.map(|unsymbolized| frame_counts(unsymbolized.unnamed)),
            "samples_without_function_names": unsymbolized.and_then(|unsymbolized| unsymbolized.samples),
            "objects_without_function_names": unsymbolized.map(|unsymbolized| unsymbolized.objects.iter().map(object).collect::<Vec<_>>()),
            "complete": !ledger.is_incomplete(),
        })
    }
}

/// What happened to the bytes of the hardware traces of a source.
fn trace_counts(source: AuxtraceType, trace: &TraceBytes) -> Value {
    json!({
        "source": source.title(),
        "buffers": trace.buffers,
        "bytes": trace.bytes,
        "records": trace.records,
        "decoded": trace.decoded,
        "padding": trace.padding,
        "damaged_records": trace.damaged_records,
        "damaged": trace.damaged,
        "repeated": trace.repeated,
        "not_decoded": trace.undecoded(),
        "pieces_lost": { "truncated": trace.truncated, "partial": trace.partial, "collision": trace.collisions },
        "times": trace.times,
    })
}

/// Numbers of frames.
pub(super) fn frame_counts(frames: FrameCounts) -> Value {
    json!({ "all": frames.all, "innermost": frames.innermost })
}

/// An object with frames without function names.
pub(super) fn object(object: &UnnamedObject) -> Value {
    let UnnamedObject { name, frames, build_id, missing } = object;
    let reason = missing.as_ref().map(|missing| &missing.reason);
    json!({
        "name": name,
        "build_id": build_id,
        "frames": frames.all,
        "innermost_frames": frames.innermost,
        "reason": reason,
    })
}

/// The counts of one record type.
fn record(entry: &Entry) -> Value {
    let dropped: Map<_, _> = entry.dropped.iter().map(|(reason, &count)| (reason.to_string(), count.into())).collect();
    json!({
        "read": entry.read,
        "added": entry.added,
        "out": entry.emitted,
        "used": entry.consumed,
        "not_applicable": entry.not_applicable,
        "removed": entry.removed(),
        "removed_by": entry.removed,
        "dropped": entry.dropped(),
        "dropped_as": dropped,
    })
}

/// Escapes the unsafe characters that JSON allows unescaped, such as control characters from U+0080.
fn escape_json(json: &str) -> String {
    let mut line = String::with_capacity(json.len());
    for char in json.chars() {
        if printable::is_unsafe(char) {
            line += &format!("\\u{:04x}", u32::from(char));
        } else {
            line.push(char);
        }
    }
    line
}

/// Prints the warnings of a ledger, then its one-line summary.
pub(super) fn ledger(ledger: &Ledger, output: &str, verbose: bool) {
    Report { ledger, inputs: &[], output, notes: &[], unsymbolized: None }.print(ReportArg::Text, verbose);
}

/// Reports frames without function names, if they are more than a few.
fn print_unsymbolized(unsymbolized: &Unsymbolized, verbose: bool) {
    // Below a percent there is nothing to do: nearly every recording has some frames of a program that started or ended.
    if unsymbolized.is_noticeable() || verbose && unsymbolized.unnamed.all > 0 {
        unsymbolized_lines(unsymbolized, verbose)
            .iter()
            .for_each(|line| print_message(format_args!("perfconv: {line}")));
    }
}

/// The share of frames without function names, and the objects that lack them, one on each line.
pub(super) fn unsymbolized_lines(unsymbolized: &Unsymbolized, verbose: bool) -> Vec<String> {
    if verbose {
        return unsymbolized.lines(None);
    }
    let further = unsymbolized.further_objects(MAX_OBJECTS).map(|further| format!("  {further}; -v shows all"));
    unsymbolized.lines(Some(MAX_OBJECTS)).into_iter().chain(further).collect()
}

/// Prints a message about a file that is downloaded.
pub(super) fn fetching(notice: &Notice) {
    match notice {
        Notice::Started(message) => print_message(format_args!("[ perfconv: {message} ]")),
        Notice::Failed(message) => print_message(format_args!("perfconv: warning: {message}")),
        _ => {}
    }
}

/// Prints the warnings about an input.
pub(super) fn warnings(ledger: &Ledger, verbose: bool) {
    let shown = if verbose { usize::MAX } else { MAX_WARNINGS };
    let damage = ledger.messages();
    damage.iter().take(shown).for_each(|damage| print_message(format_args!("perfconv: warning: {damage}")));
    let omitted = damage.len().saturating_sub(shown) as u64 + ledger.further_messages();
    if omitted > 0 {
        let file = damage.last().map(|last| format!("{}: ", last.file)).unwrap_or_default();
        let hint = if verbose { "" } else { "; -v shows more" };
        print_message(format_args!("perfconv: warning: {file}{omitted} more corrupt places{hint}"));
    }
    ledger
        .notes()
        .iter()
        .chain(&ledger.missing_notes())
        .for_each(|note| print_message(format_args!("perfconv: warning: {note}")));
}

/// Prints a table of the records by type. The columns of records that passes added and removed are present if there are any.
pub(super) fn table(ledger: &Ledger) {
    let has_passes = ledger.entries().values().any(|entry| entry.added + entry.removed() > 0);
    let row = |name: &str, cells: [&str; 7]| {
        let [read, added, out, used, not_applicable, removed, dropped] = cells;
        let (added, removed) = if has_passes {
            (format!(" {added:>12}"), format!(" {removed:>12}"))
        } else {
            (String::new(), String::new())
        };
        print_message(format_args!(
            "{name:<20} {read:>12}{added} {out:>12} {used:>12} {not_applicable:>14}{removed} {dropped:>10}"
        ));
    };
    row("record", ["read", "added", "out", "used", "not applicable", "removed", "dropped"]);
    for (kind, entry) in ledger.entries() {
        let Entry { read, added, emitted, consumed, not_applicable, .. } = *entry;
        let counts = [read, added, emitted, consumed, not_applicable, entry.removed(), entry.dropped()];
        let counts = counts.map(|count| count.to_string());
        row(&kind.to_string(), counts.each_ref().map(String::as_str));
    }
}
