//! Arguments of `view`.

use super::existing_path;
use super::help::{INPUT, PAGE, PROFILES, headed};
use super::passes::ReadingPasses;
use super::profile::{NameMapArgs, ProfileArgs};
use super::symbols::SymbolArgs;
use super::{ConvertArgs, ReadArgs, default_input};
use crate::cli::viewer::Viewer;
use clap::{Args, value_parser};
use perfconv::formats::html::Html;
use perfconv::profile::options::FunctionNames;
use perfconv::profile::stack_cuts::StackCuts;
use perfconv::profile::weight::WeightOptions;
use std::net::IpAddr;
use std::path::PathBuf;

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

    /// Serve the page on this port until interrupted [default of --serve: a free one]
    #[arg(long, value_name = "PORT", value_parser = value_parser!(u16).range(1..))]
    pub port: Option<u16>,

    /// Serve the page on this address until interrupted, 0.0.0.0 for all of this machine [default of --serve: 127.0.0.1]
    #[arg(long, value_name = "ADDR")]
    pub bind: Option<IpAddr>,

    /// Show the profile in the Firefox Profiler, profiler.firefox.com, to which it is served on 127.0.0.1 until interrupted
    #[arg(long, conflicts_with_all = ["speedscope", "bind", "title", "diff"])]
    pub firefox: bool,

    /// Show the profile in www.speedscope.app, to which it is served on 127.0.0.1 until interrupted
    #[arg(long, conflicts_with_all = ["bind", "title", "diff"])]
    pub speedscope: bool,

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
    pub weight: WeightOptions,

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
    /// What shows the recording.
    pub(crate) fn viewer(&self) -> Viewer {
        match self {
            Self { firefox: true, .. } => Viewer::Firefox,
            Self { speedscope: true, .. } => Viewer::Speedscope,
            _ => Viewer::Page,
        }
    }

    /// The equivalent conversion to the file of the viewer at a path.
    pub(crate) fn conversion(self, output: PathBuf) -> ConvertArgs {
        let (format_name, format) = self.viewer().format(self.page);
        ConvertArgs {
            inputs: vec![self.input_option.unwrap_or(self.input)],
            output: Some(output),
            to: Some(format_name.to_owned()),
            read: self.read,
            passes: self.passes.0,
            format: Some(format),
            diff: self.diff,
            profile: ProfileArgs::with_cuts(self.weight, self.cuts, self.names, NameMapArgs::default()),
            symbols: self.symbols,
            quiet: self.quiet,
            ..ConvertArgs::default()
        }
    }
}
