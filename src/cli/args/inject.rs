//! What can be said to `inject`, as perf inject names it.

use super::ConvertArgs;
use super::passes::{PassArgs, given, with_options};
use clap::{ArgMatches, Args, Command, FromArgMatches};
use perfconv::formats::options::{OptionValue, OptionValues};
use perfconv::formats::recording_options::CONTAINER;
use perfconv::rewrite::registry::{PassTable, requests};
use perfconv::rewrite::request::{PassRequest, Values};
use perfconv::rewrite::{build_ids, jit, sched_stat};
use std::path::{Path, PathBuf};

/// The passes that perf inject has too, as it names them.
const PASSES: PassTable<'static> = &[
    &[
        build_ids::table::HIT
            .help("Tell the build ids of files that samples are in: in a file's table, in a pipe's records"),
        build_ids::table::ALL.help("Tell the build ids of all files that were mapped"),
        build_ids::maps::HIT.help(
            "Tell the build ids of files that samples are in with their maps; unlike with perf inject, no map goes",
        ),
        build_ids::maps::ALL.help("Tell the build ids of all files with their maps"),
        sched_stat::OPTION
            .short('s')
            .help("Merge sched_stat and sched_switch samples into ones that tell where and for how long tasks slept"),
        jit::pass::OPTION,
    ],
    build_ids::options::SETTINGS,
    jit::options::SETTINGS,
];

/// The order in which passes run, whatever that of their options.
const ORDER: [&str; 6] =
    ["--jit", "--sched-stat", "--build-ids", "--buildid-all", "--mmap2-buildids", "--mmap2-buildid-all"];

/// Options of perf inject that ask for passes.
#[derive(Debug)]
pub struct InjectPasses(Values);

impl InjectPasses {
    fn requests(&self) -> Result<Vec<PassRequest>, String> {
        let mut requests = requests(PASSES, &self.0)?;
        requests.sort_by_key(|request| ORDER.iter().position(|option| *option == request.option()));
        Ok(requests)
    }
}

impl Args for InjectPasses {
    fn augment_args(command: Command) -> Command {
        with_options(command, PASSES)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for InjectPasses {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Self(given(matches, PASSES)))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

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

    #[command(flatten)]
    pub passes: InjectPasses,

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
        let container = if self.output == Path::new("-") { "pipe" } else { "file" };
        let container = OptionValue::Word(container.to_owned());
        Ok(ConvertArgs {
            input: Some(self.input),
            output: Some(self.output),
            of_records: OptionValues::default().with(&CONTAINER, container).into(),
            passes: PassArgs { list: self.passes.requests()? },
            force: true,
            verbose: self.verbose,
            ..ConvertArgs::default()
        })
    }
}
