//! Arguments of `inject`, named as perf inject names them.

use super::ConvertArgs;
use super::help::headed;
use super::passes::{PassArgs, conflict, flags, with_passes};
use clap::{ArgMatches, Args, Command, FromArgMatches};
use perf_data::container::read::Container;
use perfconv::rewrite::build_ids::find::FindOptions;
use perfconv::rewrite::build_ids::maps::BuildIdMaps;
use perfconv::rewrite::build_ids::table::BuildIdTable;
use perfconv::rewrite::framework::output::RecordingOptions;
use perfconv::rewrite::framework::pass_type::{PassType, flag};
use perfconv::rewrite::itrace::Itrace;
use perfconv::rewrite::registry::{BUILD_IDS, JIT, JIT_DUMPS, PassTable, SCHED_STAT};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Heading of the options that request passes.
const PASS_OPTIONS: &str = "Passes";

/// Passes that perf inject has too, under its names.
const PASSES: PassTable<'static> = &[(
    PASS_OPTIONS,
    &[
        BuildIdTable::HIT
            .help("Add build IDs of objects with samples: to a file's build ID table, to a pipe as records"),
        BuildIdTable::ALL.help("Add build IDs of all mapped objects"),
        BuildIdMaps::HIT.help(
            "Add build IDs to the MMAP2 records of objects with samples; unlike perf inject, keep all other mappings",
        ),
        BuildIdMaps::ALL.help("Add build IDs to the MMAP2 records of all mapped objects"),
        SCHED_STAT.short('s').help("Merge sched_stat and sched_switch samples to show where and how long tasks slept"),
        JIT_DUMPS,
        PassType::with_options::<Itrace>("itrace"),
    ],
)];

/// Order in which the passes run, regardless of the order of their options.
const ORDER: [&str; 7] =
    ["--itrace", "--jit", "--sched-stat", "--build-ids", "--buildid-all", "--mmap2-buildids", "--mmap2-buildid-all"];

/// Options of perf inject that request passes.
#[derive(Debug)]
pub(crate) struct InjectPasses(PassArgs);

impl Args for InjectPasses {
    fn augment_args(command: Command) -> Command {
        let command = with_passes(command, PASSES);
        let command = command.mut_args(headed::<FindOptions>(BUILD_IDS));
        command.mut_args(|argument| match argument.get_id().as_str() {
            "jit_dump" | "jit_dir" => argument.help_heading(JIT),
            _ => argument,
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for InjectPasses {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut passes = PassArgs::from_table(matches, PASSES)?;
        if let Some(setting) = &passes.only_for_symbols {
            return Err(conflict(format!("{} requires {}", flag(setting.id), flags(setting))));
        }
        passes.list.sort_by_key(|request| ORDER.iter().position(|flag| *flag == request.flag));
        Ok(Self(passes))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Arguments of `inject`.
#[derive(Args, Debug)]
pub(crate) struct InjectArgs {
    /// Recording to read, or - for standard input
    #[arg(short, long, value_name = "IN", default_value = "-")]
    pub input: PathBuf,

    /// File to write, or - for standard output; an existing file is overwritten, as perf inject does
    #[arg(short, long, value_name = "OUT", default_value = "-")]
    pub output: PathBuf,

    /// Accepted for compatibility with perf inject; file ownership is not checked
    #[arg(short, long)]
    pub force: bool,

    /// Print a table of records by type: read, written, used, dropped
    #[arg(short, long)]
    pub verbose: bool,

    #[command(flatten)]
    pub passes: InjectPasses,

    #[command(flatten)]
    pub unsupported: UnsupportedArgs,
}

/// Options of perf inject that are not supported yet.
#[derive(Args, Debug)]
pub(crate) struct UnsupportedArgs {
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

impl UnsupportedArgs {
    fn first_given(&self) -> Option<&'static str> {
        let given = [
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
    /// The equivalent rewrite: a pipe for standard output, otherwise a file.
    ///
    /// # Errors
    /// If an unsupported option is given, or options conflict.
    pub(crate) fn rewrite(self) -> Result<ConvertArgs, String> {
        if let Some(option) = self.unsupported.first_given() {
            return Err(format!("{option}: this option of perf inject is not supported yet"));
        }
        let mut recording = RecordingOptions::default();
        recording.form.container = Some(if self.output == Path::new("-") { Container::Pipe } else { Container::File });
        Ok(ConvertArgs {
            inputs: vec![self.input],
            output: Some(self.output),
            format: Some(Arc::new(recording)),
            passes: PassArgs { list: self.passes.0.list, ..PassArgs::default() },
            force: true,
            verbose: self.verbose,
            ..ConvertArgs::default()
        })
    }
}
