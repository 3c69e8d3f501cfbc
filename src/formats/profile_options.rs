//! Options of all formats that are written from a profile.

use super::options::{FormatOption, OptionValues, Takes};
use crate::profile::labels::Label;
use crate::profile::options::Split;

/// All of them.
pub const OPTIONS: &[FormatOption] = &[LABELS, SPLIT_BY, LOST, DATA_ADDRESSES, THREAD_TYPES];

/// Labels of samples.
pub const LABELS: FormatOption = FormatOption {
    long_help: Some(|| {
        let keys = keys().join(", ");
        format!("Labels of samples, separated by commas: {keys}; none for no labels [default: comm]")
    }),
    ..FormatOption::new(
        "labels",
        "LABELS",
        "Labels of samples, separated by commas; none for no labels [default: comm]",
        Takes::List(|| keys().into_iter().chain([NO_LABELS]).collect()),
    )
};

/// What a profile is split by.
pub const SPLIT_BY: FormatOption = FormatOption::new(
    "split-by",
    "WHAT",
    "Write one profile for each of these into a folder",
    Takes::Choice(&[("pid", "Process"), ("comm", "Name of the process"), ("event", "Event"), ("cgroup", "Cgroup")]),
);

/// What to do with what the kernel lost.
pub const LOST: FormatOption = FormatOption {
    default: Some("apart"),
    ..FormatOption::new(
        "lost",
        "HOW",
        "What to do with what the kernel lost: leave it apart, or count it as samples of a stack of its own",
        Takes::Choice(&[
            ("apart", "Tell how much it is, and leave it out"),
            ("as-samples", "Samples of a stack of their own"),
        ]),
    )
};

/// Whether the address of the data is a frame.
pub const DATA_ADDRESSES: FormatOption =
    FormatOption::switch("data-addresses", "Make the address of the data a frame above the leaf");

/// What the user calls threads.
pub const THREAD_TYPES: FormatOption = FormatOption::new(
    "thread-types",
    "FILE",
    "File with a thread id and what to call its thread on each line, for the label thread_type",
    Takes::File,
);

/// Stands for no labels.
pub const NO_LABELS: &str = "none";

fn keys() -> Vec<&'static str> {
    Label::ALL.iter().map(|label| label.key()).collect()
}

/// What profiles are to be split by.
pub fn split(values: &OptionValues) -> Option<Split> {
    match values.word(&SPLIT_BY)? {
        "pid" => Some(Split::Pid),
        "comm" => Some(Split::Comm),
        "event" => Some(Split::Event),
        "cgroup" => Some(Split::Cgroup),
        _ => None,
    }
}
