//! Arguments of `push`.

use super::help::{INPUT, PROFILES};
use super::passes::ReadingPasses;
use super::profile::{ProfileArgs, ProfileContentArgs};
use super::symbols::SymbolArgs;
use super::{ConvertArgs, ReadArgs, default_input};
use clap::{Args, ValueEnum};
use perfconv::formats::OutputFormat;
use perfconv::formats::otlp::{self, Otlp, name_and_value};
use perfconv::formats::pprof::{self, Pprof};
use std::path::PathBuf;
use std::sync::Arc;

/// A server that receives profiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ServerArg {
    /// Grafana Pyroscope, and what receives its push requests, such as Grafana Alloy
    Pyroscope,
    /// Parca, and Polar Signals Cloud
    Parca,
    /// Receivers of OTLP over HTTP, such as an OpenTelemetry Collector
    Otlp,
}

/// Arguments of `push`.
#[derive(Args, Debug)]
pub(crate) struct PushArgs {
    /// Kind of the server
    #[arg(value_enum, value_name = "SERVER")]
    pub server: ServerArg,

    /// Address of the server, such as http://localhost:4040
    #[arg(value_name = "URL")]
    pub url: String,

    /// Recording to send: a file, a directory, or - for standard input [default: perf.data]
    #[arg(value_name = "IN", default_value_os_t = default_input(), hide_default_value = true, conflicts_with = "input_option")]
    pub input: PathBuf,

    /// Recording to send, as with perf
    #[arg(short = 'i', long = "input", value_name = "IN", help_heading = INPUT)]
    pub input_option: Option<PathBuf>,

    /// Name of the service that was recorded, by which the server selects profiles
    #[arg(long, value_name = "NAME")]
    pub service_name: String,

    /// Label of the profile; repeat for several
    #[arg(long = "label", id = "label", value_name = "NAME=VALUE", value_parser = name_and_value)]
    pub labels: Vec<(String, String)>,

    /// Header of the request, such as 'Authorization: Bearer TOKEN'; @FILE reads headers from the lines of a file
    #[arg(long = "header", value_name = "HEADER")]
    pub headers: Vec<String>,

    /// How often to try again if the server cannot be reached or is overloaded
    #[arg(long, value_name = "N", default_value = "3", value_parser = clap::value_parser!(u32).range(..=20))]
    pub retries: u32,

    #[command(flatten)]
    pub profile: ProfileContentArgs,

    /// Keep the time of each sample, instead of the sum of equal ones
    #[arg(long, help_heading = PROFILES)]
    pub timestamps: bool,

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

impl PushArgs {
    /// The recording.
    pub(crate) fn input(&self) -> PathBuf {
        self.input_option.as_ref().unwrap_or(&self.input).clone()
    }

    /// The conversion to a profile at a path.
    pub(crate) fn conversion(self, output: PathBuf) -> ConvertArgs {
        let (name, format): (_, Arc<dyn OutputFormat>) = match self.server {
            ServerArg::Pyroscope | ServerArg::Parca => (pprof::FORMAT.name, Arc::new(Pprof::default())),
            ServerArg::Otlp => {
                let mut otlp = Otlp::default();
                otlp.timestamps = self.timestamps;
                otlp.service_name = Some(self.service_name);
                otlp.resource_attribute = self.labels;
                (otlp::FORMAT.name, Arc::new(otlp))
            }
        };
        ConvertArgs {
            inputs: vec![self.input_option.unwrap_or(self.input)],
            output: Some(output),
            to: Some(name.to_owned()),
            read: self.read,
            passes: self.passes.0,
            format: Some(format),
            symbols: self.symbols,
            profile: ProfileArgs { contents: self.profile, split_by: None },
            quiet: self.quiet,
            ..ConvertArgs::default()
        }
    }
}
