//! How a conversion is accounted for.

use clap::ValueEnum;

/// The form of the account, as it is named on the command line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ReportArg {
    /// Warnings and a line with the samples in, out and dropped
    #[default]
    Text,
    /// One JSON object in one line, with records by type, warnings and what is missing
    Json,
}
