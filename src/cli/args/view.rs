//! Arguments of `view`.

use super::existing_path;
use super::help::{INPUT, PAGE, PROFILES, headed};
use super::passes::ReadingPasses;
use super::profile::ProfileArgs;
use super::symbols::SymbolArgs;
use super::{ConvertArgs, ReadArgs, default_input};
use clap::Args;
use perfconv::formats::html::{FORMAT, Html};
use perfconv::profile::options::FunctionNames;
use perfconv::profile::stack_cuts::StackCuts;
use std::path::PathBuf;
use std::sync::Arc;

/// Arguments of `view`.
#[derive(Args, Debug)]
#[command(mut_args(headed::<Html>(PAGE)))]
pub(crate) struct ViewArgs {
    /// Recording to read: a file, a directory, or - for standard input [default: perf.data]
    #[arg(value_name = "IN", default_value_os_t = default_input(), hide_default_value = true, conflicts_with = "input_option")]
    pub input: PathBuf,

    /// Recording to read, as with perf
    #[arg(short = 'i', long = "input", value_name = "IN", help_heading = INPUT)]
    pub input_option: Option<PathBuf>,

    /// Print the address of the page instead of opening it
    #[arg(long)]
    pub no_open: bool,

    /// Serve the page on 127.0.0.1 until interrupted, for a browser that cannot open files; the default for browsers in snaps
    #[arg(long)]
    pub serve: bool,

    #[command(flatten)]
    pub page: Html,

    /// Show how the shares of functions differ from those in this recording
    #[arg(
        long,
        value_name = "BASE",
        value_parser = existing_path(),
        help_heading = PAGE
    )]
    pub diff: Option<PathBuf>,

    #[command(flatten, next_help_heading = PROFILES)]
    pub cuts: StackCuts,

    /// How to show names of functions
    #[arg(long, value_enum, value_name = "HOW", default_value_t, help_heading = PROFILES)]
    pub names: FunctionNames,

    #[command(flatten)]
    pub symbols: SymbolArgs,

    #[command(flatten)]
    pub read: ReadArgs,

    #[command(flatten)]
    pub passes: ReadingPasses,

    /// Suppress all messages except errors
    #[arg(short, long)]
    pub quiet: bool,
}

impl ViewArgs {
    /// The equivalent conversion to a page at a path.
    pub(crate) fn conversion(self, output: PathBuf) -> ConvertArgs {
        ConvertArgs {
            inputs: vec![self.input_option.unwrap_or(self.input)],
            output: Some(output),
            to: Some(FORMAT.name.to_owned()),
            read: self.read,
            passes: self.passes.0,
            format: Some(Arc::new(self.page)),
            diff: self.diff,
            profile: ProfileArgs::with_cuts(self.cuts, self.names),
            symbols: self.symbols,
            quiet: self.quiet,
            ..ConvertArgs::default()
        }
    }
}
