//! OPTIONS of a manual page: each argument with its help and values, under the headings of the long help.
//!
//! clap_mangen would omit the help of options that `-h` does not show.

use super::sections::FOUR;
use clap::{Arg, Command};
use roff::{Inline, Roff, bold, italic, roman};

/// Adds the section, unless the command takes no arguments.
pub(super) fn section(command: &Command, roff: &mut Roff) {
    let mut shown: Vec<_> = command.get_arguments().filter(|arg| !arg.is_hide_set()).collect();
    // As in the help, options of all commands follow those of this one.
    shown.sort_by_key(|arg| arg.is_global_set());
    let mut headings = vec![None];
    for arg in &shown {
        if !headings.contains(&arg.get_help_heading()) {
            headings.push(arg.get_help_heading());
        }
    }
    roff.control("SH", ["OPTIONS"]);
    for heading in headings {
        let under_heading = || shown.iter().filter(move |arg| arg.get_help_heading() == heading);
        if let Some(heading) = heading {
            roff.control("SS", [heading]);
        }
        let (positional, options): (Vec<&Arg>, Vec<&Arg>) = under_heading().partition(|arg| arg.is_positional());
        positional.into_iter().chain(options).for_each(|arg| describe(arg, roff));
    }
}

/// Adds an argument.
fn describe(arg: &Arg, roff: &mut Roff) {
    roff.control("TP", []);
    roff.text(head(arg));
    let help = arg.get_long_help().or(arg.get_help()).map(ToString::to_string).unwrap_or_default();
    let defaults: Vec<_> = arg.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    let takes_values = arg.get_num_args().is_some_and(|count| count.takes_values());
    let default = match &*defaults.join(",") {
        "" => String::new(),
        _ if !takes_values => String::new(),
        default => format!(" [default: {default}]"),
    };
    roff.text([roman(format!("{}{default}", help.replace('\n', " ")))]);
    let values = if takes_values { arg.get_possible_values() } else { Vec::new() };
    let has_help = values.iter().any(|value| value.get_help().is_some());
    if has_help {
        roff.control("RS", []);
        for value in values.iter().filter(|value| !value.is_hide_set()) {
            roff.control("TP", FOUR);
            roff.text([bold(value.get_name())]);
            roff.text([roman(value.get_help().map(ToString::to_string).unwrap_or_default())]);
        }
        roff.control("RE", []);
    } else if !values.is_empty() {
        let names: Vec<_> = values.iter().map(|value| value.get_name()).collect();
        roff.control("RS", []);
        roff.control("PP", []);
        roff.text([roman("Values: "), roman(names.join(", "))]);
        roff.control("RE", []);
    }
}

/// The names of an argument and of its values.
fn head(arg: &Arg) -> Vec<Inline> {
    let names = arg.get_value_names().unwrap_or_default();
    let names: Vec<_> = names.iter().map(|name| name.as_str()).collect();
    let value = names.join(" ");
    if arg.is_positional() {
        return vec![italic(value)];
    }
    let short = arg.get_short().map(|short| format!("-{short}"));
    let long = arg.get_long().map(|long| format!("--{long}"));
    let mut head = Vec::new();
    for name in short.into_iter().chain(long) {
        if !head.is_empty() {
            head.push(roman(", "));
        }
        head.push(bold(name));
    }
    let Some(count) = arg.get_num_args().filter(|count| count.takes_values()) else { return head };
    match count.min_values() {
        0 => head.extend([roman("[="), italic(value), roman("]")]),
        _ => head.extend([roman(" "), italic(value)]),
    }
    head
}
