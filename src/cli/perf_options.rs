//! Options of perf that perfconv lacks, each with what to use instead.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use perfconv::formats::omitted::omitted;

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
    ("--stdio", REPORT, "'perfconv report' always prints text; leave it out"),
    ("--stdio2", REPORT, "'perfconv report' always prints text; leave it out"),
    ("--tui", REPORT, "use 'perfconv view' to look at a recording interactively"),
    ("--gtk", REPORT, "use 'perfconv view' to look at a recording interactively"),
];

const SCRIPT: &str = "perf script";
const REPORT: &str = "perf report";
const BOTH: &str = "perf script and perf report";

const HEADER: &str = "'perfconv info' prints the header";

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
    (error.kind() == ErrorKind::UnknownArgument).then(|| format!("{option} is an option of {command}; {instead}"))
}
