//! The options that ask for steps.

use super::event_list::event_names;
use super::inspect::record_type;
use super::jit::there;
use super::step::Step;
use crate::abi::feature::FeatureId;
use crate::rewrite::anonymize::category::Kept;
use crate::rewrite::anonymize::key::Key;
use crate::rewrite::build_ids::find::FindOptions;
use crate::rewrite::build_ids::objects::Scope;
use crate::rewrite::filter::task::TaskNumber;
use crate::rewrite::header_edits::{HeaderEdit, Value};
use crate::rewrite::jit::images::ImageOptions;
use crate::rewrite::quipper::Quipper;
use clap::{Args, ValueEnum};
use std::num::NonZeroU64;

/// The options that ask for steps; each takes any number of them, and is in [`IDS`].
#[derive(Args, Debug)]
pub(super) struct StepArgs {
    /// What to change of the records, by quipper's rules; separated by commas
    #[arg(long, value_name = "PASSES", value_delimiter = ',', value_parser = quipper())]
    pass: Vec<Step>,

    /// Records in the order of time, by the whole recording
    #[arg(long, num_args = 0, default_missing_value = "", value_parser = |_: &str| step(Step::Sort))]
    sort: Option<Step>,

    /// Give a feature that is there another value, such as hostname=build-7; may be given more than once
    #[arg(long, value_name = "FEATURE=VALUE", value_parser = |text: &str| valued(text, HeaderEdit::Set))]
    set: Vec<Step>,

    /// Add a feature that is not there
    #[arg(long, value_name = "FEATURE=VALUE", value_parser = |text: &str| valued(text, HeaderEdit::Add))]
    add_feature: Vec<Step>,

    /// Leave out a feature
    #[arg(long, value_name = "FEATURE", value_parser = |text: &str| feature(text).map(HeaderEdit::Drop).map(Step::Header))]
    drop_feature: Vec<Step>,

    /// Write what this version of perf reads; what it does not know is left out or told otherwise
    #[arg(long, value_name = "X.Y", value_parser = |text: &str| text.parse().map(Step::PerfVersion))]
    perf_version: Option<Step>,

    /// Only samples of these times, as perf script takes them: START,STOP in seconds, either of them open, several separated
    /// by blanks; or of the time between the first and the last sample 10%-30%, or 10%/2 (the second tenth), separated by commas
    #[arg(long, value_name = "TIMES", allow_hyphen_values = true, value_parser = |text: &str| text.parse().map(Step::Time))]
    time: Option<Step>,

    /// Only samples of these processes, separated by commas
    #[arg(long, value_name = "PIDS", value_delimiter = ',', value_parser = |text: &str| task(text, TaskNumber::Pid))]
    pid: Vec<Step>,

    /// Only samples of these threads, separated by commas
    #[arg(long, value_name = "TIDS", value_delimiter = ',', value_parser = |text: &str| task(text, TaskNumber::Tid))]
    tid: Vec<Step>,

    /// Only samples of threads that were called so then, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = |text: &str| named(text, Step::Comm))]
    comm: Vec<Step>,

    /// Only samples of these CPUs, separated by commas, such as 0,4-7
    #[arg(long, value_name = "CPUS", value_delimiter = ',', value_parser = |text: &str| text.parse().map(|cpus| Step::Cpu(vec![cpus])))]
    cpu: Vec<Step>,

    /// Only samples of these events, with or without their modifiers, separated by commas
    #[arg(long, value_name = "EVENTS", value_parser = events)]
    event: Vec<Step>,

    /// Keep what the recording tells of events that --event leaves out
    #[arg(long, requires = "event")]
    keep_attrs: bool,

    /// Only samples in these files, by path or name, separated by commas
    #[arg(long, value_name = "FILES", value_delimiter = ',', value_parser = |text: &str| named(text, Step::Dso))]
    dso: Vec<Step>,

    /// Only records of these types, by name or number, separated by commas, and those without which none could be read
    #[arg(long = "type", id = "type", value_name = "TYPES", value_delimiter = ',', value_parser = |text: &str| record_type(text).map(|kind| Step::Type(vec![kind])))]
    types: Vec<Step>,

    /// Only one of so many samples of each event
    #[arg(long, value_name = "N", value_parser = |text: &str| number(text).map(Step::SampleEvery))]
    sample_every: Option<Step>,

    /// Only so many samples, the first ones
    #[arg(long, value_name = "N", value_parser = |text: &str| number(text).map(|count| Step::Head(count.get())))]
    head: Option<Step>,

    /// Merge sched_stat and sched_switch samples into ones that tell where and for how long tasks slept, as perf inject does
    #[arg(long, num_args = 0, default_missing_value = "", value_parser = |_: &str| step(Step::SchedStat))]
    sched_stat: Option<Step>,

    /// Leave copies of user stacks, and user registers, out of samples
    #[arg(long, num_args = 0, default_missing_value = "", value_parser = |_: &str| step(Step::StripUserStack))]
    strip_user_stack: Option<Step>,

    /// Tell functions that were compiled at run time by the jitdumps that the recording maps, as maps of images of them
    #[arg(short = 'j', long, num_args = 0, default_missing_value = "", value_parser = |_: &str| jit())]
    jit: Option<Step>,

    /// Tell functions of /tmp/perf-PID.map files, or of those in a folder, as maps of images of them; may be given more than once
    #[arg(long, value_name = "PATH", num_args = 0..=1, require_equals = true, default_missing_value = "", value_parser = perf_map)]
    perf_map: Vec<Step>,

    /// Tell the build ids of files that samples are in, in a table
    #[arg(short = 'b', long, num_args = 0, default_missing_value = "", value_parser = |_: &str| table(Scope::Hit))]
    build_ids: Option<Step>,

    /// Tell the build ids of all files that were mapped, in a table
    #[arg(long, num_args = 0, default_missing_value = "", value_parser = |_: &str| table(Scope::All))]
    buildid_all: Option<Step>,

    /// Tell the build ids of files that samples are in with their maps, in the place of inodes
    #[arg(short = 'B', long, num_args = 0, default_missing_value = "", value_parser = |_: &str| maps(Scope::Hit))]
    mmap2_buildids: Option<Step>,

    /// Tell the build ids of all files with their maps, in the place of inodes
    #[arg(long, num_args = 0, default_missing_value = "", value_parser = |_: &str| maps(Scope::All))]
    mmap2_buildid_all: Option<Step>,

    /// Replace what tells of people, programs and machines: names, paths, addresses; leave out raw data, registers, stacks
    #[arg(long, num_args = 0, default_missing_value = "", value_parser = |_: &str| anonymize())]
    anonymize: Option<Step>,
}

/// A step that takes no value.
fn step(step: Step) -> Result<Step, String> {
    Ok(step)
}

fn anonymize() -> Result<Step, String> {
    Key::random().map(|key| Step::Anonymize(key, Kept::default()))
}

fn task(text: &str, of: TaskNumber) -> Result<Step, String> {
    let number = text.trim().parse().map_err(|_| format!("{text} is no process or thread"))?;
    Ok(Step::Task(of, vec![number]))
}

fn named(text: &str, of: impl FnOnce(Vec<String>) -> Step) -> Result<Step, String> {
    if text.is_empty() { Err("is no name".to_owned()) } else { Ok(of(vec![text.to_owned()])) }
}

fn events(text: &str) -> Result<Step, String> {
    event_names(text).map(|names| Step::Event { names, keep_attrs: false })
}

fn number(text: &str) -> Result<NonZeroU64, String> {
    text.parse().map_err(|_| "is no number from 1 on".to_owned())
}

// Where they are looked for is said by options of its own.
fn table(scope: Scope) -> Result<Step, String> {
    Ok(Step::BuildIdTable(scope, FindOptions::default()))
}

fn maps(scope: Scope) -> Result<Step, String> {
    Ok(Step::BuildIdMaps(scope, FindOptions::default()))
}

// Where dumps are, and where images go, too.
fn jit() -> Result<Step, String> {
    Ok(Step::Jit(Vec::new(), ImageOptions::default()))
}

fn perf_map(text: &str) -> Result<Step, String> {
    let places = if text.is_empty() { Vec::new() } else { vec![there(text)?] };
    Ok(Step::PerfMap(places, ImageOptions::default()))
}

/// A feature by its name, as perf has it, in letters of any case, with or without what all begin with.
fn feature(text: &str) -> Result<FeatureId, String> {
    let name = text.to_uppercase().replace('-', "_");
    let name = name.strip_prefix("HEADER_").unwrap_or(&name);
    let named = FeatureId::NAMED.iter().find(|(_, named)| *named == name).map(|(id, _)| *id);
    named.ok_or_else(|| {
        let names: Vec<_> = FeatureId::NAMED.iter().map(|(_, name)| name.to_lowercase()).collect();
        format!("there is no such feature; there is {}", names.join(", "))
    })
}

/// A feature and its value.
fn valued(text: &str, edit: fn(FeatureId, Value) -> HeaderEdit) -> Result<Step, String> {
    let (name, value) = text.split_once('=').ok_or("is not FEATURE=VALUE")?;
    let id = feature(name)?;
    Value::parse(id, value).map(|value| Step::Header(edit(id, value)))
}

/// The names of [`StepArgs`]' fields.
pub(super) const IDS: [&str; 25] = [
    "pass",
    "sort",
    "set",
    "add_feature",
    "drop_feature",
    "perf_version",
    "time",
    "pid",
    "tid",
    "comm",
    "cpu",
    "event",
    "dso",
    "type",
    "sample_every",
    "head",
    "sched_stat",
    "strip_user_stack",
    "jit",
    "perf_map",
    "build_ids",
    "buildid_all",
    "mmap2_buildids",
    "mmap2_buildid_all",
    "anonymize",
];

/// A pass by quipper's rules, as it is named on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum QuipperArg {
    /// Records in the order of time, those without one first
    Sort,
    /// Name maps that huge pages have hidden by the file that they are parts of
    HugePages,
    /// Tell maps as one that were told in pieces
    Combine,
    /// Replace addresses by others that say nothing of where a process was
    Remap,
    /// Leave out maps that no sample was in, and the marks of rounds
    DiscardUnused,
}

fn quipper() -> impl clap::builder::TypedValueParser<Value = Step> {
    use clap::builder::TypedValueParser;
    clap::builder::EnumValueParser::<QuipperArg>::new().map(|arg| {
        Step::Quipper(match arg {
            QuipperArg::Sort => Quipper::Sort,
            QuipperArg::HugePages => Quipper::HugePages,
            QuipperArg::Combine => Quipper::Combine,
            QuipperArg::Remap => Quipper::Remap,
            QuipperArg::DiscardUnused => Quipper::DiscardUnused,
        })
    })
}
