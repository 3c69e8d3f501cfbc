//! What the program says beside its output, on standard error.

use super::args::ReportArg;
use perfconv::abi::record::RecordType;
use perfconv::profile::unnamed::Unnamed;
use perfconv::stream::ledger::{Entry, Ledger};
use serde_json::{Map, Value, json};
use std::fmt;
use std::io::{self, Write};

/// How many warnings of damage are shown when not everything is asked for.
const WARNINGS: usize = 10;

/// Writes a line to standard error. Nobody is left to tell when that fails.
pub fn say(line: fmt::Arguments<'_>) {
    let _ = writeln!(io::stderr(), "{}", harmless(line));
}

/// A line whose control characters are spelled out: what a file or a recording calls something commands no terminal.
pub fn harmless(line: impl fmt::Display) -> String {
    let mut harmless = String::new();
    for char in line.to_string().chars() {
        if char.is_control() {
            harmless.extend(char.escape_default());
        } else {
            harmless.push(char);
        }
    }
    harmless
}

/// An account of what became of the inputs.
pub struct Account<'a> {
    /// What is known of it.
    pub ledger: &'a Ledger,
    /// The inputs, as the user named them.
    pub inputs: &'a [String],
    /// The output, as the user named it.
    pub output: &'a str,
    /// What there is to say of files beside the output.
    pub notes: &'a [String],
    /// Samples of a profile whose frames have no names.
    pub unnamed: Option<&'a Unnamed>,
}

impl Account<'_> {
    /// Writes it to standard error.
    pub fn report(&self, form: ReportArg, verbose: bool) {
        match form {
            ReportArg::Text => {
                self.notes.iter().for_each(|note| say(format_args!("{note}")));
                warnings(self.ledger, verbose);
                if verbose {
                    entries(self.ledger);
                }
                self.unnamed.into_iter().for_each(unnamed);
                say(format_args!("[ perfconv: {}: {} ]", self.output, self.ledger));
            }
            ReportArg::Json => {
                let _ = writeln!(io::stderr(), "{}", escaped(&self.to_json().to_string()));
            }
        }
    }

    fn to_json(&self) -> Value {
        let Self { ledger, inputs, output, notes, unnamed } = self;
        let records: Map<_, _> =
            ledger.entries().iter().map(|(kind, entry)| (kind.to_string(), record(entry))).collect();
        let samples = ledger.of(RecordType::SAMPLE);
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
            "warnings": warnings,
            "further_warnings": ledger.further_messages(),
            "missing": ledger.missing_notes(),
            "notes": notes,
            "samples_without_function_names": unnamed.map(|unnamed| unnamed.unnamed),
            "complete": !ledger.is_incomplete(),
        })
    }
}

/// What became of the records of one type.
fn record(entry: &Entry) -> Value {
    let dropped: Map<_, _> = entry.dropped.iter().map(|(reason, &count)| (reason.to_string(), count.into())).collect();
    json!({
        "read": entry.read,
        "added": entry.added,
        "out": entry.emitted,
        "used": entry.consumed,
        "not_applicable": entry.not_applicable,
        "left_out": entry.left_out(),
        "left_out_by": entry.left_out,
        "dropped": entry.dropped(),
        "dropped_as": dropped,
    })
}

/// JSON in which control characters that it takes as they are, such as those from U+0080 on, are escaped too.
fn escaped(json: &str) -> String {
    let mut line = String::with_capacity(json.len());
    for char in json.chars() {
        if char.is_control() {
            line += &format!("\\u{:04x}", u32::from(char));
        } else {
            line.push(char);
        }
    }
    line
}

/// Reports what became of an input as text: warnings, then one line.
pub fn ledger(ledger: &Ledger, output: &str, verbose: bool) {
    Account { ledger, inputs: &[], output, notes: &[], unnamed: None }.report(ReportArg::Text, verbose);
}

/// Reports samples whose frames have no function names, where there are any.
fn unnamed(unnamed: &Unnamed) {
    if unnamed.unnamed > 0 {
        say(format_args!("perfconv: {unnamed}; pprof can add names where the binaries are"));
    }
}

/// Tells what is wrong with the input.
pub fn warnings(ledger: &Ledger, verbose: bool) {
    let shown = if verbose { usize::MAX } else { WARNINGS };
    let damage = ledger.messages();
    damage.iter().take(shown).for_each(|damage| say(format_args!("perfconv: warning: {damage}")));
    let further = damage.len().saturating_sub(shown) as u64 + ledger.further_messages();
    if further > 0 {
        let file = damage.last().map(|last| format!("{}: ", last.file)).unwrap_or_default();
        say(format_args!("perfconv: warning: {file}{further} more places are damaged"));
    }
    ledger.notes().iter().chain(ledger.missing_notes()).for_each(|note| say(format_args!("perfconv: warning: {note}")));
}

/// A table of what became of each type of record; what passes added and left out is told where any did.
pub fn entries(ledger: &Ledger) {
    let has_passes = ledger.entries().values().any(|entry| entry.added + entry.left_out() > 0);
    let row = |name: &str, cells: [&str; 7]| {
        let [read, added, out, used, not_applicable, left_out, dropped] = cells;
        let (added, left_out) = if has_passes {
            (format!(" {added:>12}"), format!(" {left_out:>12}"))
        } else {
            (String::new(), String::new())
        };
        say(format_args!(
            "{name:<20} {read:>12}{added} {out:>12} {used:>12} {not_applicable:>14}{left_out} {dropped:>10}"
        ));
    };
    row("record", ["read", "added", "out", "used", "not applicable", "left out", "dropped"]);
    for (kind, entry) in ledger.entries() {
        let Entry { read, added, emitted, consumed, not_applicable, .. } = *entry;
        let counts = [read, added, emitted, consumed, not_applicable, entry.left_out(), entry.dropped()];
        let counts = counts.map(|count| count.to_string());
        row(&kind.to_string(), counts.each_ref().map(String::as_str));
    }
}
