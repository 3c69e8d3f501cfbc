//! The table of perf's commands: which are answered, and what to use for the others.

use super::option::PerfOption;
use super::{Call, buildid_list, data, evlist, inject, report, script};
use crate::cli::failure::Failure;
use std::process::ExitCode;

/// A command of perf.
pub(super) struct PerfCommand {
    pub name: &'static str,
    /// What it does, for help.
    pub about: &'static str,
    pub how: How,
    /// What to type instead of `perfconv NAME`, unless that is a command, too.
    hint: Option<&'static str>,
}

/// How a command is answered.
pub(super) enum How {
    /// By this program, with these options.
    Answered { options: &'static [PerfOption], run: fn(&Call<'_>) -> Result<ExitCode, Failure> },
    /// By the real perf; without one, the purpose needs it.
    NeedsPerf(&'static str),
    /// By the real perf; without one, something else is suggested.
    Replaced(&'static str),
}

const fn answered(
    name: &'static str,
    about: &'static str,
    options: &'static [PerfOption],
    run: fn(&Call<'_>) -> Result<ExitCode, Failure>,
) -> PerfCommand {
    PerfCommand { name, about, how: How::Answered { options, run }, hint: None }
}

/// A command that this program has under the same name.
const fn namesake(name: &'static str, instead: &'static str) -> PerfCommand {
    PerfCommand { name, about: "", how: How::Replaced(instead), hint: None }
}

const fn replaced(name: &'static str, instead: &'static str) -> PerfCommand {
    namesake(name, instead).hint(instead)
}

const fn needs_perf(name: &'static str, purpose: &'static str) -> PerfCommand {
    PerfCommand { name, about: "", how: How::NeedsPerf(purpose), hint: Some(PERF_ONLY) }
}

impl PerfCommand {
    const fn hint(self, hint: &'static str) -> Self {
        Self { hint: Some(hint), ..self }
    }
}

const PERF_ONLY: &str = "perfconv works on recordings, so that only perf has it";

const ACCESSES: &str =
    "use 'perfconv IN -t perf-script -F comm,addr,data_src,weight,ip,sym -o -' for the sampled accesses";

const EVENTS: &str = "perfconv prints the events: 'perfconv IN -t perf-script -o -', or 'perfconv IN -o out.pftrace' for a timeline; \
                      only perf has its summaries";

/// The commands of perf 6.1.
pub(super) const COMMANDS: &[PerfCommand] = &[
    answered("script", "Print samples as text", script::OPTIONS, script::run),
    answered("report", "Print functions, threads or files by their samples", report::OPTIONS, report::run),
    answered("evlist", "List the events of a recording", evlist::OPTIONS, evlist::run)
        .hint("use 'perfconv perf evlist', or 'perfconv info --events'"),
    answered("buildid-list", "List the build IDs of a recording", buildid_list::OPTIONS, buildid_list::run)
        .hint("use 'perfconv perf buildid-list', or 'perfconv info --build-ids'"),
    answered("inject", "Add build IDs, JIT symbols or sleep times", inject::OPTIONS, inject::run),
    answered("data", "Convert a recording, with convert --to-json", data::OPTIONS, data::run)
        .hint("use 'perfconv perf data convert --to-json', or 'perfconv IN -t perf-json -o out.json'"),
    replaced("annotate", "use 'perfconv report --lines FUNCTION' for its source lines"),
    namesake("archive", "use 'perfconv archive'"),
    replaced(
        "buildid-cache",
        "use 'perfconv archive' to pack the objects of a recording, and --unpack to unpack them to ~/.debug",
    ),
    replaced("c2c", ACCESSES),
    namesake("diff", "use 'perfconv OLD.data -t flamegraph -o OUT.svg --diff NEW.data'"),
    replaced("kmem", EVENTS),
    replaced("kwork", EVENTS),
    replaced("lock", EVENTS),
    replaced("mem", ACCESSES),
    replaced("sched", EVENTS),
    replaced("timechart", "use 'perfconv IN -o out.pftrace' for ui.perfetto.dev"),
    needs_perf("bench", "benchmarking"),
    needs_perf("config", "configuring perf"),
    needs_perf("daemon", "recording"),
    needs_perf("ftrace", "tracing"),
    PerfCommand { hint: None, ..needs_perf("help", "perf's manual") },
    needs_perf("iostat", "counting"),
    needs_perf("kallsyms", "searching the running kernel"),
    needs_perf("kvm", "recording").hint(EVENTS),
    needs_perf("list", "listing this machine's events"),
    needs_perf("probe", "defining probes"),
    needs_perf("record", "recording").hint("record with perf: 'perf record -g ./app'; then 'perfconv report'"),
    needs_perf("stat", "counting")
        .hint("count with perf: 'perf stat record ./app'; then 'perfconv perf.data' for the counters"),
    needs_perf("test", "testing perf"),
    needs_perf("top", "live profiling").hint("record with 'perf record -a -g -- sleep 10'; then 'perfconv report'"),
    needs_perf("trace", "tracing").hint(EVENTS),
];

/// Other words that people type after perf.
const WORDS: [(&str, &str); 2] = [
    ("flamegraph", "use 'perfconv IN -o out.svg', or 'perfconv view IN' for a page with one"),
    ("version", "use 'perfconv --version'"),
];

/// What to type instead of `perfconv WORD`, for words that people know from perf.
pub(super) fn hint(word: &str) -> Option<&'static str> {
    let hints = COMMANDS.iter().filter_map(|command| Some((command.name, command.hint?)));
    hints.chain(WORDS).find(|(name, _)| *name == word).map(|(_, hint)| hint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::args::{Cli, command};
    use std::collections::BTreeSet;

    #[test]
    fn commands_are_listed_once() {
        let names: BTreeSet<_> = COMMANDS.iter().map(|command| command.name).collect();
        assert_eq!(names.len(), COMMANDS.len());
        for command in COMMANDS {
            assert_eq!(command.about.is_empty(), !matches!(command.how, How::Answered { .. }), "{}", command.name);
        }
    }

    #[test]
    fn hints_are_for_what_this_program_has_under_another_name() {
        let program = command::<Cli>();
        let own: Vec<_> = program.get_subcommands().map(|command| command.get_name()).collect();
        for PerfCommand { name, hint, .. } in COMMANDS {
            assert_eq!(hint.is_none(), own.contains(name), "{name}");
        }
        assert!(WORDS.iter().all(|(word, _)| !own.contains(word)) && hint("report").is_none());
    }
}
