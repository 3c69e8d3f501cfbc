//! What the program says beside its output, on standard error.

use crate::stream::ledger::{Entry, Ledger};
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

/// Tells what became of the input: warnings, then one line.
pub fn ledger(ledger: &Ledger, output: &str, verbose: bool) {
    warnings(ledger, verbose);
    if verbose {
        entries(ledger);
    }
    say(format_args!("[ perfconv: {output}: {ledger} ]"));
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
