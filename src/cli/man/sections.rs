//! Sections of manual pages besides OPTIONS.

use super::pages::{ENVIRONMENT, PAGES, Page};
use clap::Command;
use roff::{Roff, bold, italic, roman};

/// Indentation of lists and literal lines.
pub(super) const FOUR: [&str; 1] = ["4"];

/// SYNOPSIS: the usage lines of the help.
pub(super) fn synopsis(usage: &str, roff: &mut Roff) {
    roff.control("SH", ["SYNOPSIS"]);
    let lines = usage.trim_start_matches("Usage:").lines().map(str::trim).filter(|line| !line.is_empty());
    for (index, line) in lines.enumerate() {
        if index > 0 {
            roff.control("br", []);
        }
        // The name ends where the arguments begin.
        let at = line.find(" [").or_else(|| line.find(" <")).unwrap_or(line.len());
        let (name, arguments) = line.split_at(at);
        roff.text([bold(name), roman(arguments)]);
    }
}

/// DESCRIPTION: the paragraphs of the page.
pub(super) fn description(page: &Page, roff: &mut Roff) {
    roff.control("SH", ["DESCRIPTION"]);
    for (index, paragraph) in page.description.iter().enumerate() {
        if index > 0 {
            roff.control("PP", []);
        }
        roff.text([roman(*paragraph)]);
    }
}

/// COMMANDS: the commands of the program.
pub(super) fn commands(program: &Command, roff: &mut Roff) {
    let commands = program.get_subcommands().filter(|command| !command.is_hide_set());
    definitions(
        "COMMANDS",
        commands.map(|command| {
            (command.get_name().to_owned(), command.get_about().map(ToString::to_string).unwrap_or_default())
        }),
        roff,
    );
}

/// The text after the help of a command: exit status, tables and notes. Its examples are those of the page.
pub(super) fn after_help(text: &str, roff: &mut Roff) {
    let mut has_notes = false;
    for paragraph in text.split("\n\n").filter(|paragraph| !paragraph.trim().is_empty()) {
        let (first, rest) = paragraph.split_once('\n').unwrap_or((paragraph, ""));
        if first == "Examples:" {
            continue;
        }
        if let Some(status) = first.strip_prefix("Exit status:") {
            roff.control("SH", ["EXIT STATUS"]);
            match status.trim() {
                "" => literal(rest, roff),
                status => _ = roff.text([roman(status)]),
            }
            has_notes = false;
            continue;
        }
        match has_notes {
            true => roff.control("PP", []),
            false => roff.control("SH", ["NOTES"]),
        };
        has_notes = true;
        if rest.starts_with("  ") {
            roff.text([roman(first)]);
            roff.control("PP", []);
            literal(rest, roff);
        } else {
            roff.text([roman(paragraph.replace('\n', " "))]);
        }
    }
}

/// EXAMPLES: what each example does, and the command.
pub(super) fn examples(page: &Page, roff: &mut Roff) {
    roff.control("SH", ["EXAMPLES"]);
    for (index, (about, example)) in page.examples.iter().enumerate() {
        if index > 0 {
            roff.control("PP", []);
        }
        roff.text([roman(format!("{about}:"))]);
        roff.control("PP", []);
        literal(example, roff);
    }
}

/// FILES: the files that the command reads and writes besides those that its arguments name.
pub(super) fn files(page: &Page, roff: &mut Roff) {
    definitions("FILES", page.files.iter().copied().flatten().copied(), roff);
}

/// ENVIRONMENT: the variables that the command uses.
pub(super) fn environment(page: &Page, roff: &mut Roff) {
    let is_used = |(name, _): &(&str, &str)| page.environment.contains(name);
    definitions("ENVIRONMENT", ENVIRONMENT.iter().copied().filter(is_used), roff);
}

fn definitions<T: AsRef<str>>(heading: &str, entries: impl Iterator<Item = (T, T)>, roff: &mut Roff) {
    for (index, (name, about)) in entries.enumerate() {
        if index == 0 {
            roff.control("SH", [heading]);
        }
        roff.control("TP", []);
        roff.text([italic(name.as_ref())]);
        roff.text([roman(about.as_ref())]);
    }
}

/// SEE ALSO: the pages of the program, of related commands and of perf.
pub(super) fn see_also(page: &Page, own: &str, roff: &mut Roff) {
    let commands = PAGES.iter().filter_map(|other| other.command);
    let related = commands.filter(|name| page.command.is_none() || page.related.contains(name));
    let program = (own != "perfconv").then(|| "perfconv".to_owned());
    let names = program.into_iter().chain(related.map(|name| format!("perfconv-{name}")));
    let names: Vec<_> = names.chain(page.perf.map(str::to_owned)).collect();
    let mut text = Vec::new();
    for name in names {
        if !text.is_empty() {
            text.push(roman(", "));
        }
        text.extend([bold(name), roman("(1)")]);
    }
    roff.control("SH", ["SEE ALSO"]);
    roff.text(text);
}

/// Lines as they are, indented.
fn literal(text: &str, roff: &mut Roff) {
    roff.control("RS", FOUR);
    roff.control("nf", []);
    for line in text.lines() {
        roff.text([roman(line.strip_prefix("  ").unwrap_or(line))]);
    }
    roff.control("fi", []);
    roff.control("RE", []);
}
