//! Steps of a rewrite, in the order in which they are said.

use super::anonymize::AnonymizeArgs;
use super::build_ids::FindArgs;
use super::jit::{JitArgs, there};
use super::look::record_type;
use crate::abi::feature::FeatureId;
use crate::abi::record::RecordType;
use crate::container::read::ReadOptions;
use crate::rewrite::anonymize::key::Key;
use crate::rewrite::anonymize::pass::AnonymizePass;
use crate::rewrite::anonymize::what::Kept;
use crate::rewrite::build_ids::find::FindOptions;
use crate::rewrite::build_ids::maps::BuildIdMapsPass;
use crate::rewrite::build_ids::objects::Scope;
use crate::rewrite::build_ids::table::BuildIdTablePass;
use crate::rewrite::by_time::ByTimePass;
use crate::rewrite::filter::comm::CommFilter;
use crate::rewrite::filter::cpu::{CpuFilter, CpuRange};
use crate::rewrite::filter::dso::DsoFilter;
use crate::rewrite::filter::event::EventPass;
use crate::rewrite::filter::every::EveryFilter;
use crate::rewrite::filter::head::HeadFilter;
use crate::rewrite::filter::kind::TypePass;
use crate::rewrite::filter::pass::{Filter, FilterPass};
use crate::rewrite::filter::task::{TaskFilter, TaskNumber};
use crate::rewrite::filter::time::{TimeFilter, Times};
use crate::rewrite::header_edits::{HeaderEdit, Value};
use crate::rewrite::jit::images::ImageOptions;
use crate::rewrite::jit::pass::JitPass;
use crate::rewrite::jit::perf_map::PerfMapPass;
use crate::rewrite::pass::Pass;
use crate::rewrite::perf_version::PerfVersionPass;
use crate::rewrite::perf_version::since::PerfVersion;
use crate::rewrite::quipper::Quipper;
use crate::rewrite::repair::RepairPass;
use crate::rewrite::sched_stat::SchedStatPass;
use crate::rewrite::strip_user_stack::StripUserStackPass;
use clap::error::ErrorKind;
use clap::{ArgMatches, Args, Command, FromArgMatches, ValueEnum};
use std::num::NonZeroU64;
use std::path::PathBuf;

/// A step that is asked for.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// `--pass`.
    Quipper(Quipper),
    /// The command `repair`.
    Repair,
    /// `--sort`.
    Sort,
    /// `--set`, `--add-feature`, `--drop-feature`.
    Header(HeaderEdit),
    /// `--perf-version`.
    PerfVersion(PerfVersion),
    /// `--time`.
    Time(Times),
    /// `--pid`, `--tid`.
    Task(TaskNumber, Vec<u32>),
    /// `--comm`.
    Comm(Vec<String>),
    /// `--cpu`.
    Cpu(Vec<CpuRange>),
    /// `--event`, `--keep-attrs`.
    Event {
        /// Their names.
        names: Vec<String>,
        /// Whether the other events stay.
        keep_attrs: bool,
    },
    /// `--dso`.
    Dso(Vec<String>),
    /// `--type`.
    Type(Vec<RecordType>),
    /// `--sample-every`.
    SampleEvery(NonZeroU64),
    /// `--head`.
    Head(u64),
    /// `--sched-stat`.
    SchedStat,
    /// `--strip-user-stack`.
    StripUserStack,
    /// `--build-ids`, `--buildid-all`.
    BuildIdTable(Scope, FindOptions),
    /// `--mmap2-buildids`, `--mmap2-buildid-all`.
    BuildIdMaps(Scope, FindOptions),
    /// `--anonymize`, `--keep`, `--replace`, `--key`.
    Anonymize(Key, Kept),
    /// `--jit`: where jitdumps are, and where images go.
    Jit(Vec<PathBuf>, ImageOptions),
    /// `--perf-map`: where map files are, and where images go.
    PerfMap(Vec<PathBuf>, ImageOptions),
}

impl Step {
    /// The option that asks for it.
    pub fn option(&self) -> &'static str {
        match self {
            Self::Quipper(_) => "--pass",
            Self::Repair => "repair",
            Self::Sort => "--sort",
            Self::Header(HeaderEdit::Set(..)) => "--set",
            Self::Header(HeaderEdit::Add(..)) => "--add-feature",
            Self::Header(HeaderEdit::Drop(_)) => "--drop-feature",
            Self::PerfVersion(_) => "--perf-version",
            Self::Time(_) => "--time",
            Self::Task(TaskNumber::Pid, _) => "--pid",
            Self::Task(TaskNumber::Tid, _) => "--tid",
            Self::Comm(_) => "--comm",
            Self::Cpu(_) => "--cpu",
            Self::Event { keep_attrs: true, .. } => "--keep-attrs",
            Self::Event { keep_attrs: false, .. } => "--event",
            Self::Dso(_) => "--dso",
            Self::Type(_) => "--type",
            Self::SampleEvery(_) => "--sample-every",
            Self::Head(_) => "--head",
            Self::SchedStat => "--sched-stat",
            Self::StripUserStack => "--strip-user-stack",
            Self::BuildIdTable(Scope::Hit, _) => "--build-ids",
            Self::BuildIdTable(Scope::All, _) => "--buildid-all",
            Self::BuildIdMaps(Scope::Hit, _) => "--mmap2-buildids",
            Self::BuildIdMaps(Scope::All, _) => "--mmap2-buildid-all",
            Self::Anonymize(..) => "--anonymize",
            Self::Jit(..) => "--jit",
            Self::PerfMap(..) => "--perf-map",
        }
    }

    /// Whether a profile is another one by it.
    pub fn is_for_profiles(&self) -> bool {
        match self {
            Self::Event { keep_attrs, .. } => !keep_attrs,
            Self::Time(_)
            | Self::Task(..)
            | Self::Comm(_)
            | Self::Cpu(_)
            | Self::Dso(_)
            | Self::SampleEvery(_)
            | Self::Head(_)
            | Self::SchedStat
            | Self::BuildIdTable(..)
            | Self::BuildIdMaps(..)
            | Self::Anonymize(..)
            | Self::Jit(..)
            | Self::PerfMap(..) => true,
            Self::Quipper(_)
            | Self::Repair
            | Self::Sort
            | Self::Header(_)
            | Self::PerfVersion(_)
            | Self::Type(_)
            | Self::StripUserStack => false,
        }
    }

    /// Takes what another one asks for too, if it is of the same option; else gives it back.
    fn merge(&mut self, other: Self) -> Option<Self> {
        match (self, other) {
            (Self::Task(number, all), Self::Task(other, more)) if *number == other => all.extend(more),
            (Self::Cpu(all), Self::Cpu(more)) => all.extend(more),
            (Self::Type(all), Self::Type(more)) => all.extend(more),
            (Self::Event { names, .. }, Self::Event { names: more, .. }) => names.extend(more),
            (Self::Comm(all), Self::Comm(more)) | (Self::Dso(all), Self::Dso(more)) => all.extend(more),
            (Self::PerfMap(all, _), Self::PerfMap(more, _)) => all.extend(more),
            (_, other) => return Some(other),
        }
        None
    }

    /// The pass that it is.
    pub fn pass(&self, options: &ReadOptions) -> Box<dyn Pass> {
        match self {
            Self::Quipper(pass) => pass.pass(options),
            Self::Repair => Box::new(RepairPass::default()),
            Self::Sort => Box::new(ByTimePass { options: options.clone() }),
            Self::Header(edit) => Box::new(edit.clone()),
            Self::PerfVersion(version) => Box::new(PerfVersionPass::new(*version)),
            Self::Time(times) => filter(TimeFilter::new(times.clone()), options),
            Self::Task(number, wanted) => filter(TaskFilter::new(*number, wanted.iter().copied()), options),
            Self::Comm(wanted) => filter(CommFilter::new(wanted.clone()), options),
            Self::Cpu(wanted) => filter(CpuFilter::new(wanted.clone()), options),
            Self::Event { names, keep_attrs } => Box::new(EventPass::new(names.clone(), *keep_attrs)),
            Self::Dso(wanted) => filter(DsoFilter::new(wanted.clone()), options),
            Self::Type(wanted) => Box::new(TypePass::new(wanted.clone())),
            Self::SampleEvery(every) => filter(EveryFilter::new(*every), options),
            Self::Head(count) => filter(HeadFilter::new(*count), options),
            Self::SchedStat => Box::new(SchedStatPass { options: options.clone() }),
            Self::StripUserStack => Box::new(StripUserStackPass::default()),
            Self::BuildIdTable(scope, find) => Box::new(BuildIdTablePass::new(*scope, find.clone())),
            Self::BuildIdMaps(scope, find) => Box::new(BuildIdMapsPass::new(*scope, find.clone())),
            Self::Anonymize(key, kept) => Box::new(AnonymizePass::new(key.clone(), *kept)),
            Self::Jit(places, images) => Box::new(JitPass::new(places.clone(), images.clone(), options.clone())),
            Self::PerfMap(places, images) => Box::new(PerfMapPass::new(places.clone(), images.clone())),
        }
    }
}

fn filter(filter: impl Filter + 'static, options: &ReadOptions) -> Box<dyn Pass> {
    Box::new(FilterPass::new(filter, options.clone()))
}

/// All steps, in the order in which they are said.
#[derive(Debug, Default)]
pub struct Steps {
    /// The steps.
    pub list: Vec<Step>,
}

impl Steps {
    /// The events that are asked for.
    pub fn events(&self) -> Vec<String> {
        let of_step = |step: &Step| match step {
            Step::Event { names, .. } => Some(names.clone()),
            _ => None,
        };
        self.list.iter().find_map(of_step).unwrap_or_default()
    }

    /// With build ids looked for there.
    ///
    /// # Errors
    /// Where it is said where to look, and no step looks for any.
    pub fn looking(mut self, find: FindArgs) -> Result<Self, clap::Error> {
        let given = find.first_given();
        let mut wanted = self.list.iter_mut().filter_map(|step| match step {
            Step::BuildIdTable(_, find) | Step::BuildIdMaps(_, find) => Some(find),
            _ => None,
        });
        match (wanted.next(), given) {
            (None, Some(option)) => {
                let message =
                    format!("{option} is for --build-ids, --buildid-all, --mmap2-buildids, --mmap2-buildid-all");
                return Err(clap::Error::raw(ErrorKind::MissingRequiredArgument, message));
            }
            (None, None) => {}
            (Some(first), _) => {
                let options = find.options();
                wanted.for_each(|find| find.clone_from(&options));
                *first = options;
            }
        }
        Ok(self)
    }

    /// With what is replaced, behind all steps but those that tell nothing themselves, or what the user says.
    ///
    /// # Errors
    /// Where it is said what, but not asked for, or cannot be done.
    fn anonymizing(mut self, how: AnonymizeArgs) -> Result<Self, clap::Error> {
        let place = |step: &Step| match step {
            Step::Anonymize(..) => 1,
            step => 2 * u8::from(tells_nothing(step)),
        };
        match (self.list.iter_mut().find(|step| place(step) == 1), how.first_given()) {
            (Some(Step::Anonymize(key, kept)), _) => {
                how.put(key, kept).map_err(|error| clap::Error::raw(ErrorKind::ArgumentConflict, error))?;
                self.list.sort_by_key(place);
            }
            (_, Some(option)) => {
                let message = format!("{option} is for --anonymize");
                return Err(clap::Error::raw(ErrorKind::MissingRequiredArgument, message));
            }
            _ => {}
        }
        Ok(self)
    }

    /// With jitdumps and images in these places.
    ///
    /// # Errors
    /// Where a place is said, and no step is for it.
    pub fn placing(mut self, jit: &JitArgs) -> Result<Self, clap::Error> {
        let misplaced = |option: Option<&str>, of: &str| {
            option.map(|option| clap::Error::raw(ErrorKind::MissingRequiredArgument, format!("{option} is for {of}")))
        };
        let (mut of_dumps, mut of_images) = (jit.first_of_dumps(), jit.first_of_images());
        for step in &mut self.list {
            match step {
                Step::Jit(places, images) => {
                    (*places, *images) = (jit.places(), jit.images());
                    (of_dumps, of_images) = (None, None);
                }
                Step::PerfMap(_, images) => {
                    *images = jit.images();
                    of_images = None;
                }
                _ => {}
            }
        }
        match misplaced(of_dumps, "--jit").or(misplaced(of_images, "--jit and --perf-map")) {
            Some(error) => Err(error),
            None => Ok(self),
        }
    }

    /// With images that go there unless it is said where.
    pub fn with_images(&self, beside: &ImageOptions) -> Vec<Step> {
        let mut list = self.list.clone();
        for step in &mut list {
            if let Step::Jit(_, images) | Step::PerfMap(_, images) = step {
                images.dir = images.dir.take().or_else(|| beside.dir.clone());
                images.overwrite = beside.overwrite;
            }
        }
        list
    }
}

/// Whether a step makes nothing known that was not: it may follow when all is anonymous.
fn tells_nothing(step: &Step) -> bool {
    matches!(step, Step::Sort | Step::Header(HeaderEdit::Set(..) | HeaderEdit::Add(..)))
}

/// The options that ask for steps; each takes any number of them, and is in [`IDS`].
#[derive(Args, Debug)]
struct StepArgs {
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

    /// Only samples of this event, with or without its modifiers; may be given more than once
    #[arg(long, value_name = "NAME", value_parser = |text: &str| named(text, |names| Step::Event { names, keep_attrs: false }))]
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
const IDS: [&str; 25] = [
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

impl Args for Steps {
    fn augment_args(command: Command) -> Command {
        let command = JitArgs::augment_args(FindArgs::augment_args(StepArgs::augment_args(command)));
        AnonymizeArgs::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        let command = FindArgs::augment_args_for_update(StepArgs::augment_args_for_update(command));
        AnonymizeArgs::augment_args_for_update(JitArgs::augment_args_for_update(command))
    }
}

impl FromArgMatches for Steps {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut steps = Vec::new();
        for id in IDS {
            let places = matches.indices_of(id).into_iter().flatten();
            steps.extend(places.zip(matches.get_many::<Step>(id).into_iter().flatten().cloned()));
        }
        steps.sort_by_key(|(place, _)| *place);
        let mut list: Vec<Step> = Vec::new();
        for (_, step) in steps {
            // What an option asks for, and asks for again, is one filter.
            let left = list.iter_mut().try_fold(step, |step, other| other.merge(step));
            list.extend(left);
        }
        if let Some(Step::Event { keep_attrs, .. }) = list.iter_mut().find(|step| matches!(step, Step::Event { .. })) {
            *keep_attrs = matches.get_flag("keep_attrs");
        }
        Self { list }
            .looking(FindArgs::from_arg_matches(matches)?)?
            .placing(&JitArgs::from_arg_matches(matches)?)?
            .anonymizing(AnonymizeArgs::from_arg_matches(matches)?)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

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
