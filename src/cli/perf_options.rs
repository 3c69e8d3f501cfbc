//! Options of perf that perfconv lacks, each with what to use instead.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use perfconv::formats::omitted::omitted;

/// Options with the commands of perf that have them.
const OPTIONS: [(&str, &str, &str); 13] = [
    (
        "--show-round-events",
        "script",
        "perf script then prints records in file order; use 'perfconv dump --type SAMPLE,FINISHED_ROUND'",
    ),
    ("--dump-raw-trace", "script", "use 'perfconv dump'"),
    ("-D", "script", "use 'perfconv dump'"),
    ("--header", "script", "use 'perfconv info'"),
    ("--header-only", "report", "use 'perfconv info'"),
    ("--show-info", "script", "use 'perfconv info'"),
    ("-g", "report", CALL_GRAPH),
    ("-G", "report", CALL_GRAPH),
    ("--call-graph", "report", CALL_GRAPH),
    ("--stdio", "report", "'perfconv report' always prints text; leave it out"),
    ("--stdio2", "report", "'perfconv report' always prints text; leave it out"),
    ("--tui", "report", "use 'perfconv view' to look at a recording interactively"),
    ("--gtk", "report", "use 'perfconv view' to look at a recording interactively"),
];

const CALL_GRAPH: &str =
    "use 'perfconv report --symbol FUNCTION' for callers and callees, or 'perfconv view' for all stacks";

/// The message for an unknown argument that is one of these options.
pub(super) fn message(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidArg) else { return None };
    if error.kind() == ErrorKind::UnknownArgument
        && let Some(message) = omitted(given)
    {
        return Some(message);
    }
    let (option, command, instead) = OPTIONS.iter().find(|(option, ..)| option == given)?;
    (error.kind() == ErrorKind::UnknownArgument).then(|| format!("{option} is an option of perf {command}; {instead}"))
}
