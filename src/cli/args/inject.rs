//! What can be said to `inject`, as perf inject names it.

use super::ConvertArgs;
use super::build_ids::FindArgs;
use super::jit::JitArgs;
use super::step::Step;
use super::steps::Steps;
use crate::formats::options::{OptionValue, OptionValues};
use crate::formats::recording_options::CONTAINER;
use crate::rewrite::build_ids::find::FindOptions;
use crate::rewrite::build_ids::objects::Scope;
use crate::rewrite::jit::images::ImageOptions;
use clap::Args;
use std::path::{Path, PathBuf};

/// Options of perf inject.
#[derive(Args, Debug)]
pub struct InjectArgs {
    /// Recording to read
    #[arg(short, long, value_name = "IN", default_value = "-")]
    pub input: PathBuf,

    /// File to write; one that exists is overwritten, as perf inject does
    #[arg(short, long, value_name = "OUT", default_value = "-")]
    pub output: PathBuf,

    /// As of perf inject; there is no ownership that is complained about
    #[arg(short, long)]
    pub force: bool,

    /// Tell what became of each type of record
    #[arg(short, long)]
    pub verbose: bool,

    /// Tell the build ids of files that samples are in: in a file's table, in a pipe's records
    #[arg(short = 'b', long)]
    pub build_ids: bool,

    /// Tell the build ids of all files that were mapped
    #[arg(long)]
    pub buildid_all: bool,

    /// Tell the build ids of files that samples are in with their maps; unlike with perf inject, no map goes
    #[arg(short = 'B', long)]
    pub mmap2_buildids: bool,

    /// Tell the build ids of all files with their maps
    #[arg(long)]
    pub mmap2_buildid_all: bool,

    /// Merge sched_stat and sched_switch samples into ones that tell where and for how long tasks slept
    #[arg(short, long)]
    pub sched_stat: bool,

    /// Tell functions that were compiled at run time by the jitdumps that the recording maps, as maps of images of them
    #[arg(short, long)]
    pub jit: bool,

    #[command(flatten)]
    pub find: FindArgs,

    #[command(flatten)]
    pub places: JitArgs,

    #[command(flatten)]
    pub not_there: NotThere,
}

/// Options of perf inject that ask for what is not there yet.
#[derive(Args, Debug)]
pub struct NotThere {
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true)]
    itrace: Option<Option<String>>,
    #[arg(long, hide = true)]
    strip: bool,
    #[arg(long, hide = true)]
    convert_callchain: bool,
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true)]
    vm_time_correlation: Option<Option<String>>,
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true)]
    guest_data: Option<Option<String>>,
    #[arg(long, hide = true)]
    guestmount: Option<PathBuf>,
    #[arg(short = 'k', long, hide = true)]
    vmlinux: Option<PathBuf>,
    #[arg(long, hide = true)]
    ignore_vmlinux: bool,
    #[arg(long, hide = true)]
    kallsyms: Option<PathBuf>,
}

impl NotThere {
    fn first_given(&self) -> Option<&'static str> {
        let given = [
            (self.itrace.is_some(), "--itrace"),
            (self.strip, "--strip"),
            (self.convert_callchain, "--convert-callchain"),
            (self.vm_time_correlation.is_some(), "--vm-time-correlation"),
            (self.guest_data.is_some(), "--guest-data"),
            (self.guestmount.is_some(), "--guestmount"),
            (self.vmlinux.is_some(), "--vmlinux"),
            (self.ignore_vmlinux, "--ignore-vmlinux"),
            (self.kallsyms.is_some(), "--kallsyms"),
        ];
        given.into_iter().find(|(is_given, _)| *is_given).map(|(_, option)| option)
    }
}

impl InjectArgs {
    /// The rewrite that it is: to standard output as a pipe, to all else as a file.
    ///
    /// # Errors
    /// Where it asks for what is not there yet, or what makes no sense.
    pub fn rewrite(self) -> Result<ConvertArgs, String> {
        if let Some(option) = self.not_there.first_given() {
            return Err(format!("{option}: perf inject has it, and perfconv inject does not have it yet"));
        }
        let table = |scope| Step::BuildIdTable(scope, FindOptions::default());
        let maps = |scope| Step::BuildIdMaps(scope, FindOptions::default());
        let steps = [
            (self.jit, Step::Jit(Vec::new(), ImageOptions::default())),
            (self.sched_stat, Step::SchedStat),
            (self.build_ids, table(Scope::Hit)),
            (self.buildid_all, table(Scope::All)),
            (self.mmap2_buildids, maps(Scope::Hit)),
            (self.mmap2_buildid_all, maps(Scope::All)),
        ];
        let list = steps.into_iter().filter(|(is_given, _)| *is_given).map(|(_, step)| step).collect();
        let steps = Steps { list }.looking(self.find).and_then(|steps| steps.placing(&self.places));
        let steps = steps.map_err(|e| e.to_string())?;
        let container = if self.output == Path::new("-") { "pipe" } else { "file" };
        let container = OptionValue::Word(container.to_owned());
        Ok(ConvertArgs {
            input: Some(self.input),
            output: Some(self.output),
            of_records: OptionValues::default().with(&CONTAINER, container).into(),
            steps,
            force: true,
            verbose: self.verbose,
            ..ConvertArgs::default()
        })
    }
}
