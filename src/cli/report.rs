//! What the program says beside its output, on standard error.

use crate::stream::ledger::Ledger;
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
        say(format_args!("perfconv: warning: {further} more places are damaged"));
    }
    ledger.notes().iter().for_each(|note| say(format_args!("perfconv: warning: {note}")));
}

/// A table of what became of each type of record.
fn entries(ledger: &Ledger) {
    let row = |name: &str, cells: [&str; 5]| {
        let [read, out, used, not_applicable, dropped] = cells;
        say(format_args!("{name:<20} {read:>12} {out:>12} {used:>12} {not_applicable:>14} {dropped:>10}"));
    };
    row("record", ["read", "out", "used", "not applicable", "dropped"]);
    for (kind, entry) in ledger.entries() {
        let counts = [entry.read, entry.emitted, entry.consumed, entry.not_applicable, entry.dropped()];
        let counts = counts.map(|count| count.to_string());
        row(&kind.to_string(), counts.each_ref().map(String::as_str));
    }
}
