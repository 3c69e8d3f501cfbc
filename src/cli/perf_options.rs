//! Options of perf script that perfconv lacks, each with what to use instead.

use clap::error::{ContextKind, ContextValue, ErrorKind};

const OPTIONS: [(&str, &str); 4] = [
    (
        "--show-round-events",
        "perf script then prints records in file order; use 'perfconv dump --type SAMPLE,FINISHED_ROUND'",
    ),
    ("--dump-raw-trace", "use 'perfconv dump'"),
    ("--header", "use 'perfconv info'"),
    ("--show-info", "use 'perfconv info'"),
];

/// The message for an unknown argument that is one of these options.
pub(super) fn message(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidArg) else { return None };
    let (option, instead) = OPTIONS.iter().find(|(option, _)| option == given)?;
    (error.kind() == ErrorKind::UnknownArgument).then(|| format!("{option} is an option of perf script; {instead}"))
}
