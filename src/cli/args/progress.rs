//! The `--progress` argument.

use clap::ValueEnum;

/// When and how progress is shown, as named on the command line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProgressArg {
    /// On a terminal, without --quiet
    #[default]
    Auto,
    /// Always; not on a terminal, one line each second
    Always,
    /// Never
    Never,
    /// One line of JSON each second
    Json,
}
