//! Options common to all formats written from a profile.

use super::options::{FormatOption, OptionValues, ValueKind};
use crate::profile::labels::Label;
use crate::profile::options::Split;

/// All of them.
pub const OPTIONS: &[FormatOption] = &[LABELS, SPLIT_BY, LOST, DATA_ADDRESSES, THREAD_TYPES];

/// Labels of samples.
pub const LABELS: FormatOption = FormatOption::new(
    "labels",
    "LABELS",
    "Labels of samples, separated by commas; none for no labels [default: comm; folded and flamegraph: thread_comm; chrome, firefox, speedscope: pid,tid; perfetto: also cpu,execution_mode; otlp: pid,tid,comm,thread_comm; callgrind: none]",
    ValueKind::List(|| keys().into_iter().chain([NO_LABELS]).collect()),
);

/// The option `--split-by`.
pub const SPLIT_BY: FormatOption = FormatOption::new(
    "split-by",
    "WHAT",
    "Write one profile for each of these, to a directory",
    ValueKind::Choice(&[("pid", "Process"), ("comm", "Name of the process"), ("event", "Event"), ("cgroup", "Cgroup")]),
);

/// The option `--lost`.
pub const LOST: FormatOption = FormatOption {
    default: Some("report"),
    ..FormatOption::new(
        "lost",
        "HOW",
        "How to account for lost samples and events: only report them, or add them as samples of a separate stack",
        ValueKind::Choice(&[
            ("report", "Report their number, but add no samples"),
            ("as-samples", "Add them as samples of a separate stack"),
        ]),
    )
};

/// The option `--data-addresses`.
pub const DATA_ADDRESSES: FormatOption = FormatOption::switch(
    "data-addresses",
    "Add the data address of a sample as a frame, called by the function that accessed it",
);

/// The option `--thread-types`.
pub const THREAD_TYPES: FormatOption = FormatOption::new(
    "thread-types",
    "FILE",
    "File with a thread ID and its thread type on each line, for the label thread_type",
    ValueKind::File,
);

/// The value for no labels.
pub const NO_LABELS: &str = "none";

fn keys() -> Vec<&'static str> {
    Label::ALL.iter().map(|label| label.key()).collect()
}

/// The value of `--split-by`.
pub fn split(values: &OptionValues) -> Option<Split> {
    match values.word(&SPLIT_BY)? {
        "pid" => Some(Split::Pid),
        "comm" => Some(Split::Comm),
        "event" => Some(Split::Event),
        "cgroup" => Some(Split::Cgroup),
        _ => None,
    }
}
