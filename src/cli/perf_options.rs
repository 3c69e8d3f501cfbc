//! Options of perf that perfconv lacks, each with what to use instead.

use super::perf;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use perfconv::formats::FORMATS;
use perfconv::formats::omitted::omitted;
use std::env;

/// Options with the commands of perf that have them.
const OPTIONS: [(&str, &str, &str); 13] = [
    (
        "--show-round-events",
        SCRIPT,
        "perf script then prints records in file order; use 'perfconv dump --type SAMPLE,FINISHED_ROUND'",
    ),
    ("--dump-raw-trace", BOTH, "use 'perfconv dump'"),
    ("-D", BOTH, "use 'perfconv dump'"),
    ("--header", BOTH, HEADER),
    ("--header-only", BOTH, HEADER),
    ("--show-info", BOTH, HEADER),
    ("-g", REPORT, CALL_GRAPH),
    ("-G", REPORT, CALL_GRAPH),
    ("--call-graph", REPORT, CALL_GRAPH),
    ("--stdio", REPORT, STDIO),
    ("--stdio2", REPORT, STDIO),
    ("--tui", REPORT, "use 'perfconv view' to look at a recording interactively"),
    ("--gtk", REPORT, "use 'perfconv view' to look at a recording interactively"),
];

const SCRIPT: &str = "perf script";
const REPORT: &str = "perf report";
const BOTH: &str = "perf script and perf report";

const HEADER: &str = "'perfconv info' prints the header";

const STDIO: &str = "'perfconv report' always prints text, so leave it out";

const CALL_GRAPH: &str =
    "use 'perfconv report --symbol FUNCTION' for callers and callees, or 'perfconv view' for all stacks";

/// The message for an unknown argument that is one of these options.
pub(super) fn message(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidArg) else { return None };
    if let Some(message) = omitted(given).filter(|_| error.kind() == ErrorKind::UnknownArgument) {
        return Some(message);
    }
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let typed: Vec<_> = env::args_os().skip(1).collect();
    let next = typed.iter().skip_while(|argument| *argument != given.as_str()).nth(1).and_then(|next| next.to_str());
    if let Some(format) =
        next.filter(|next| ["-t", "--to"].contains(&&**given) && FORMATS.iter().any(|format| format.name == *next))
    {
        return Some(format!(
            "{given} is an option of conversions: 'perfconv IN -t {format}'; the name of a report's output, such as -o x.md, \
             .csv or .json, says what it is"
        ));
    }
    let perf = perf::instead_with_option(&typed, given);
    if let Some((option, command, instead)) = OPTIONS.iter().find(|(option, ..)| option == given) {
        let perf = perf.filter(|_| *command == REPORT).map(|perf| format!("; for the text of perf, {perf}"));
        return Some(format!("{option} is an option of {command}; {instead}{}", perf.unwrap_or_default()));
    }
    let command = typed.first()?.to_str()?;
    perf.map(|perf| format!("{given} is an option of perf {command}; {perf}"))
}

/// The message for a value of `--sort` that only perf knows.
pub(super) fn sort_key_message(error: &clap::Error) -> Option<String> {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(&**text),
        _ => None,
    };
    let is_sort = text(ContextKind::InvalidArg).is_some_and(|argument| argument.starts_with("--sort "));
    let key = text(ContextKind::InvalidValue).filter(|_| is_sort)?;
    let typed: Vec<_> = env::args_os().skip(1).collect();
    perf::instead_with_sort_key(&typed, key).map(|instead| format!("'{key}' is a sort key of perf report; {instead}"))
}
