//! The `--report` argument.

use clap::ValueEnum;

/// How the ledger of a conversion is reported, as named on the command line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportArg {
    /// Warnings, then one line with the samples in, out and dropped
    #[default]
    Text,
    /// One line of JSON with records by type, warnings and omissions
    Json,
}
