//! A step of a rewrite.

use crate::abi::record::RecordType;
use crate::container::read::ReadOptions;
use crate::rewrite::anonymize::category::Kept;
use crate::rewrite::anonymize::key::Key;
use crate::rewrite::anonymize::pass::AnonymizePass;
use crate::rewrite::build_ids::find::FindOptions;
use crate::rewrite::build_ids::maps::BuildIdMapsPass;
use crate::rewrite::build_ids::objects::Scope;
use crate::rewrite::build_ids::table::BuildIdTablePass;
use crate::rewrite::by_time::ByTimePass;
use crate::rewrite::filter::comm::CommFilter;
use crate::rewrite::filter::cpu::{CpuFilter, CpuRange};
use crate::rewrite::filter::dso::DsoFilter;
use crate::rewrite::filter::event::EventPass;
use crate::rewrite::filter::head::HeadFilter;
use crate::rewrite::filter::kind::TypePass;
use crate::rewrite::filter::pass::{Filter, FilterPass};
use crate::rewrite::filter::sample_every::EveryFilter;
use crate::rewrite::filter::task::{TaskFilter, TaskNumber};
use crate::rewrite::filter::time::{TimeFilter, Times};
use crate::rewrite::header_edits::HeaderEdit;
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
    pub(super) fn merge(&mut self, other: Self) -> Option<Self> {
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
            Self::PerfVersion(version) => Box::new(PerfVersionPass::new(*version, options.clone())),
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
