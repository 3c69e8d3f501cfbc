//! Arguments of `report`.

use super::help::{INPUT, OUTPUT, REPORT, headed};
use super::passes::ReadingPasses;
use super::symbols::SymbolArgs;
use super::{ConvertArgs, DEFAULT_INPUT, ReadArgs};
use clap::{Args, ValueEnum};
use perfconv::formats::report::{Color, Contents, FORMAT, Report};
use perfconv::report::key::Key;
use std::path::PathBuf;
use std::sync::Arc;

/// Arguments of `report`.
#[derive(Args, Debug)]
#[command(mut_args(headed::<Contents>(REPORT)))]
pub(crate) struct ReportArgs {
    /// Recording to read: a file, a directory, or - for standard input
    #[arg(value_name = "IN", default_value = DEFAULT_INPUT, conflicts_with = "input_option")]
    pub input: PathBuf,

    /// Recording to read, as with perf
    #[arg(short = 'i', long = "input", value_name = "IN", help_heading = INPUT)]
    pub input_option: Option<PathBuf>,

    /// What samples are grouped by, separated by commas [default: comm,dso,sym]
    #[arg(short, long = "sort", value_name = "KEYS", value_delimiter = ',', value_parser = Key::parser())]
    pub sort: Vec<Key>,

    /// Also count samples in what a function calls (the default)
    #[arg(long, conflicts_with = "no_children")]
    pub children: bool,

    #[command(flatten)]
    pub contents: Contents,

    #[command(flatten)]
    pub symbols: SymbolArgs,

    /// File to write, or - for standard output
    #[arg(short, long, value_name = "OUT", default_value = "-", help_heading = OUTPUT)]
    pub output: PathBuf,

    /// Overwrite an existing output
    #[arg(short, long, help_heading = OUTPUT)]
    pub force: bool,

    /// When to color the text
    #[arg(long, value_enum, value_name = "WHEN", default_value = "auto", help_heading = OUTPUT)]
    pub color: ColorArg,

    /// Do not page the text on a terminal
    #[arg(long, help_heading = OUTPUT)]
    pub no_pager: bool,

    #[command(flatten)]
    pub read: ReadArgs,

    #[command(flatten)]
    pub passes: ReadingPasses,

    /// Print a table of records by type: read, used, dropped
    #[arg(short, long)]
    pub verbose: bool,

    /// Suppress all messages except errors
    #[arg(short, long, conflicts_with = "verbose")]
    pub quiet: bool,
}

/// When text is colored, as named on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorArg {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl ReportArgs {
    /// The equivalent conversion to a report.
    pub(crate) fn conversion(self, has_color: bool) -> ConvertArgs {
        let mut report = Report::default();
        report.group_by = self.sort;
        report.contents = self.contents;
        report.color = if has_color { Color::Always } else { Color::Never };
        ConvertArgs {
            inputs: vec![self.input_option.unwrap_or(self.input)],
            output: Some(self.output),
            to: Some(FORMAT.name.to_owned()),
            force: self.force,
            read: self.read,
            passes: self.passes.0,
            format: Some(Arc::new(report)),
            symbols: self.symbols,
            verbose: self.verbose,
            quiet: self.quiet,
            ..ConvertArgs::default()
        }
    }
}
