//! Messages about invalid arguments: one line in the form of all others, with suggestions only of names that are near.

use super::perf_options;
use clap::Error;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use perfconv::suggest::{hint, similar};

/// The message about arguments that the parser rejected.
pub(super) fn message(error: &Error) -> String {
    match error.kind() {
        ErrorKind::UnknownArgument => perf_options::message(error).unwrap_or_else(|| unknown_argument(error)),
        ErrorKind::InvalidValue => perf_options::sort_key_message(error).unwrap_or_else(|| invalid_value(error)),
        ErrorKind::ValueValidation => first_line(error),
        ErrorKind::MissingRequiredArgument => {
            let missing = texts(error, ContextKind::InvalidArg);
            format!("{} missing; see --help", missing.join(", ") + if missing.len() > 1 { " are" } else { " is" })
        }
        _ => {
            let message = error.to_string();
            without_prefix(message.split("\n\nFor more information").next().unwrap_or_default())
        }
    }
}

/// `unknown option '--hed'; did you mean '--head'?`
fn unknown_argument(error: &Error) -> String {
    let Some(given) = text(error, ContextKind::InvalidArg) else { return first_line(error) };
    let is_option = given.strip_prefix('-').is_some_and(|rest| !rest.is_empty());
    if !is_option {
        return format!("unexpected argument '{given}'; see --help");
    }
    if given[1..].starts_with(|c: char| c.is_ascii_digit()) {
        return format!("unexpected argument '{given}'; no option takes a negative number");
    }
    let suggested = texts(error, ContextKind::SuggestedArg);
    let candidates: Vec<_> = suggested.iter().map(|option| option.as_str()).collect();
    let hint = hint(&given, &candidates);
    format!("unknown option '{given}'; {}", if hint.is_empty() { "see --help" } else { hint.trim_end() })
}

/// `invalid value 'nope' for '--symbols <WHICH>'; expected one of: auto, embedded, objects, no, force`
fn invalid_value(error: &Error) -> String {
    let first = first_line(error);
    let valid = texts(error, ContextKind::ValidValue);
    if valid.is_empty() {
        return first;
    }
    let value = text(error, ContextKind::InvalidValue).unwrap_or_default();
    let candidates: Vec<_> = valid.iter().map(|value| value.as_str()).collect();
    let hint = if similar(&value, &candidates).is_empty() { String::new() } else { hint(&value, &candidates) };
    format!("{first}; {hint}expected one of: {}", candidates.join(", "))
}

fn first_line(error: &Error) -> String {
    let message = error.to_string();
    without_prefix(message.lines().next().unwrap_or_default())
}

fn without_prefix(message: &str) -> String {
    message.strip_prefix("error: ").unwrap_or(message).trim_end().to_owned()
}

/// A value of the error's context.
fn text(error: &Error, kind: ContextKind) -> Option<String> {
    texts(error, kind).into_iter().next()
}

/// The values of the error's context.
fn texts(error: &Error, kind: ContextKind) -> Vec<String> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => vec![text.clone()],
        Some(ContextValue::Strings(texts)) => texts.clone(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::args::{Cli, command};

    fn rejected(arguments: &str) -> String {
        let words = ["perfconv"].into_iter().chain(arguments.split(' '));
        message(&command::<Cli>().try_get_matches_from(words).unwrap_err())
    }

    #[test]
    fn only_near_names_are_suggested() {
        assert_eq!(rejected("a.data --hed 1"), "unknown option '--hed'; did you mean '--head'?");
        assert_eq!(rejected("a.data --threads"), "unknown option '--threads'; see --help");
        assert_eq!(rejected("dump a.data --out-dir x"), "unknown option '--out-dir'; see --help");
        assert_eq!(rejected("dump a.data -1"), "unexpected argument '-1'; no option takes a negative number");
        let expected =
            "invalid value 'nope' for '--symbols <WHICH>'; expected one of: auto, embedded, objects, no, force";
        assert_eq!(rejected("a.data --symbols nope"), expected);
        assert!(
            rejected("a.data --symbols atuo")
                .contains("; did you mean 'auto'? expected one of: auto, embedded, objects, no, force")
        );
    }

    #[test]
    fn wrong_values_are_reported_in_one_line() {
        for arguments in
            ["a.data --head x", "a.data --head -1", "a.data --kallsyms /none", "a.data --level 70", "split"]
        {
            let message = rejected(arguments);
            assert!(!message.contains("For more information") && !message.contains("tip:"), "{message}");
        }
        assert_eq!(rejected("merge a.data"), "--output <OUT> is missing; see --help");
        assert_eq!(rejected("a.data --head x"), "invalid value 'x' for '--head <N>': expected a number of at least 1");
        assert!(
            rejected("a.data --head 99999999999999999999")
                .ends_with("too large; expected at most 18446744073709551615")
        );
    }
}
