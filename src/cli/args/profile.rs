//! What profiles contain, in all formats that are written from one.

use super::file;
use super::help::PROFILES;
use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use perf_data::error::Result;
use perfconv::formats::{FORMATS, FormatWriter};
use perfconv::option_values::existing_file;
use perfconv::profile::cgroup_names::CgroupNames;
use perfconv::profile::labels::Label;
use perfconv::profile::options::{FunctionNames, ProfileOptions, SplitBy};
use perfconv::profile::stack_cuts::StackCuts;
use perfconv::profile::thread_types::read_thread_types;
use perfconv::profile::weight::{SampleWeight, WeightOptions};
use std::path::PathBuf;

/// The value for no labels.
const NO_LABELS: &str = "none";

/// What profiles contain, and whether there are several.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ProfileArgs {
    #[command(flatten)]
    pub contents: ProfileContentArgs,

    /// Write one profile for each of these, to a directory
    #[arg(long, value_enum, value_name = "WHAT", help_heading = PROFILES)]
    pub split_by: Option<SplitArg>,
}

/// What a profile contains.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ProfileContentArgs {
    #[arg(long, value_name = "LABELS", value_delimiter = ',', value_parser = label_names(), help = labels_help(), help_heading = PROFILES)]
    pub labels: Vec<String>,

    /// How to account for lost samples and events: only report them, or add them as samples of a separate stack
    #[arg(long, value_enum, value_name = "HOW", default_value_t, help_heading = PROFILES)]
    pub lost: LostArg,

    /// Add the data address of a sample as a frame, called by the function that accessed it
    #[arg(long, help_heading = PROFILES)]
    pub data_addresses: bool,

    #[command(flatten, next_help_heading = PROFILES)]
    pub weight: WeightOptions,

    #[command(flatten, next_help_heading = PROFILES)]
    pub cuts: StackCuts,

    /// How to show names of functions in outputs for people
    #[arg(long, value_enum, value_name = "HOW", default_value_t, help_heading = PROFILES)]
    pub names: FunctionNames,

    /// File with a thread ID and its thread type on each line, for the label thread_type
    #[arg(long, value_name = "FILE", value_parser = file(), help_heading = PROFILES)]
    pub thread_types: Option<PathBuf>,

    #[command(flatten)]
    pub name_maps: NameMapArgs,
}

/// Names that outputs show instead of recorded ones.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct NameMapArgs {
    /// File with the path or ID of a cgroup and its name on each line: outputs show these names
    #[arg(long = "map", value_name = "cgroup=FILE", value_parser = cgroup_file, help_heading = PROFILES)]
    pub cgroup_names: Option<PathBuf>,
}

/// The criterion of a split.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum SplitArg {
    /// Process
    Pid,
    /// Name of the process
    Comm,
    /// Event
    Event,
    /// Cgroup
    Cgroup,
}

/// What becomes of lost samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LostArg {
    /// Report their number, but add no samples
    #[default]
    Report,
    /// Add them as samples of a separate stack
    AsSamples,
}

impl ProfileArgs {
    /// Profiles with this weight of samples, whose stacks are cut, with these names of functions and others.
    pub(crate) fn with_cuts(
        weight: WeightOptions,
        cuts: StackCuts,
        names: FunctionNames,
        name_maps: NameMapArgs,
    ) -> Self {
        Self {
            contents: ProfileContentArgs { weight, cuts, names, name_maps, ..ProfileContentArgs::default() },
            split_by: None,
        }
    }

    /// What samples are worth.
    pub(crate) fn sample_weight(&self) -> SampleWeight {
        self.contents.weight.sample_weight()
    }

    /// Checks the labels.
    ///
    /// # Errors
    /// If they cannot be combined, or a file for one of them is missing or superfluous.
    pub(crate) fn check(&self) -> std::result::Result<(), String> {
        let ProfileContentArgs { labels, thread_types, .. } = &self.contents;
        if labels.len() > 1 && labels.iter().any(|key| key == NO_LABELS) {
            return Err(format!("--labels: '{NO_LABELS}' cannot be combined with labels"));
        }
        let needs_types = labels.iter().any(|key| Label::by_key(key) == Some(Label::ThreadType));
        if needs_types != thread_types.is_some() {
            let message = "the label thread_type and --thread-types FILE are only valid together; give both or neither";
            return Err(message.to_owned());
        }
        Ok(())
    }

    /// The options of a profile of these events.
    ///
    /// # Errors
    /// If a file of thread types or of names cannot be read.
    pub(crate) fn options(&self, events: Vec<String>) -> Result<ProfileOptions> {
        let ProfileContentArgs { labels, lost, data_addresses, cuts, names, thread_types, name_maps, .. } =
            &self.contents;
        let mut options = ProfileOptions::default();
        let selected = labels.iter().filter_map(|key| Label::by_key(key)).collect();
        options.labels = (!labels.is_empty()).then_some(selected);
        options.events = events;
        options.split = self.split_by.map(|split| match split {
            SplitArg::Pid => SplitBy::Pid,
            SplitArg::Comm => SplitBy::Comm,
            SplitArg::Event => SplitBy::Event,
            SplitArg::Cgroup => SplitBy::Cgroup,
        });
        options.lost_as_samples = *lost == LostArg::AsSamples;
        options.data_addresses = *data_addresses;
        options.weight = self.sample_weight();
        options.cuts = cuts.clone();
        options.names = *names;
        options.thread_types = thread_types.as_deref().map(read_thread_types).transpose()?.unwrap_or_default();
        options.cgroup_names =
            name_maps.cgroup_names.as_deref().map(CgroupNames::read).transpose()?.unwrap_or_default();
        Ok(options)
    }
}

/// The file in `cgroup=FILE`.
fn cgroup_file(value: &str) -> std::result::Result<PathBuf, String> {
    existing_file(value.strip_prefix("cgroup=").ok_or("expected cgroup=FILE")?.into())
}

fn label_names() -> PossibleValuesParser {
    Label::ALL.iter().map(|label| label.key()).chain([NO_LABELS]).collect::<Vec<_>>().into()
}

/// The help of the labels, with the defaults that formats have.
fn labels_help() -> String {
    let keys = |labels: &[Label]| match labels {
        [] => NO_LABELS.to_owned(),
        labels => labels.iter().map(|label| label.key()).collect::<Vec<_>>().join(","),
    };
    let mut defaults: Vec<(String, Vec<&str>)> = vec![(keys(ProfileOptions::DEFAULT_LABELS), Vec::new())];
    for format in FORMATS {
        let output = format.with_defaults();
        let Some(FormatWriter::Profile(writes)) = output.as_ref().map(|output| output.writer()) else { continue };
        let Some(labels) = writes.labels().map(keys) else { continue };
        match defaults.iter_mut().find(|(others, _)| *others == labels) {
            Some((_, formats)) => formats.push(format.name),
            None => defaults.push((labels, vec![format.name])),
        }
    }
    let defaults = defaults.iter().map(|(labels, formats)| match &formats[..] {
        [] => labels.clone(),
        formats => format!("{}: {labels}", formats.join(", ")),
    });
    let defaults = defaults.collect::<Vec<_>>().join("; ");
    format!("Labels of samples, separated by commas; none for no labels [default: {defaults}]")
}
