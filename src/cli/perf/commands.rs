//! The table of perf's commands: which are answered, and what to use for the others.

use super::option::PerfOption;
use super::{Call, SCRIPT, buildid_list, data, diff, evlist, inject, report, script};
use crate::cli::failure::Failure;
use crate::cli::report::shell_word;
use std::ffi::OsString;
use std::process::ExitCode;

/// A command of perf.
pub(super) struct PerfCommand {
    pub name: &'static str,
    /// What it does, for help.
    pub about: &'static str,
    pub how: How,
    /// What people type for it as a command of this program that does not exist.
    hint: Option<Hint>,
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

/// What to type instead of `perfconv NAME ARGUMENTS`.
enum Hint {
    /// A command of perf that this program answers, or something else.
    Perfconv(&'static str),
    /// What the command has as its replacement, or perf.
    Perf,
    /// A text in which [`ARGUMENTS`] are those of the command.
    Text { text: &'static str, example: &'static str },
}

/// What stands for the arguments of a command in texts.
const ARGUMENTS: &str = "ARGUMENTS";

/// What stands for the first argument of a command that is no option.
const OPERAND: &str = "FUNCTION";

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
    namesake(name, instead).hint(Hint::Perf)
}

const fn needs_perf(name: &'static str, purpose: &'static str) -> PerfCommand {
    PerfCommand { name, about: "", how: How::NeedsPerf(purpose), hint: Some(Hint::Perf) }
}

impl PerfCommand {
    const fn hint(self, hint: Hint) -> Self {
        Self { hint: Some(hint), ..self }
    }

    const fn text(self, text: &'static str, example: &'static str) -> Self {
        self.hint(Hint::Text { text, example })
    }
}

const EVENTS: &str = "use 'perfconv -t perf-script -o -' for the events, 'perfconv -o out.pftrace' for a timeline";

/// The commands of perf 6.1.
pub(super) const COMMANDS: &[PerfCommand] = &[
    answered(SCRIPT, "Print samples as text", script::OPTIONS, script::run),
    answered("report", "Print functions, threads or files by their samples", report::OPTIONS, report::run),
    answered("diff", "Compare the functions of two recordings", diff::OPTIONS, diff::run),
    answered("evlist", "List the events of a recording", evlist::OPTIONS, evlist::run)
        .hint(Hint::Perfconv("'perfconv info --events'")),
    answered("buildid-list", "List the build IDs of a recording", buildid_list::OPTIONS, buildid_list::run)
        .hint(Hint::Perfconv("'perfconv info --build-ids'")),
    answered("inject", "Add build IDs, JIT symbols or sleep times", inject::OPTIONS, inject::run),
    answered("data", "Convert a recording, with convert --to-json", data::OPTIONS, data::run)
        .hint(Hint::Perfconv("'perfconv -t perf-json -o out.json'")),
    namesake("annotate", "use 'perfconv annotate FUNCTION'"),
    namesake("archive", "use 'perfconv archive'"),
    replaced(
        "buildid-cache",
        "use 'perfconv archive' to pack the objects of a recording, and --unpack to unpack them to ~/.debug",
    ),
    replaced("c2c", "use 'perfconv report --c2c'"),
    replaced("kmem", EVENTS),
    replaced("kwork", EVENTS),
    replaced("lock", EVENTS),
    answered("mem", "Print memory accesses, with report", report::OPTIONS, report::run_mem)
        .hint(Hint::Perfconv("'perfconv report --mem'")),
    replaced("sched", "use 'perfconv report --sched' for times of threads, 'perfconv -o out.pftrace' for a timeline"),
    replaced("timechart", "use 'perfconv -o out.pftrace' for ui.perfetto.dev"),
    needs_perf("bench", "benchmarking"),
    needs_perf("config", "configuring perf"),
    needs_perf("daemon", "recording"),
    needs_perf("ftrace", "tracing"),
    PerfCommand { hint: None, ..needs_perf("help", "perf's manual") },
    needs_perf("iostat", "counting"),
    needs_perf("kallsyms", "searching the running kernel"),
    needs_perf("kvm", "recording"),
    needs_perf("list", "listing this machine's events"),
    needs_perf("probe", "defining probes"),
    needs_perf("record", "recording").text("use 'perf record ARGUMENTS', then 'perfconv report'", "-g ./app"),
    needs_perf("stat", "counting")
        .text("use 'perf stat record ARGUMENTS', then 'perfconv perf.data' for the counters", "./app"),
    needs_perf("test", "testing perf"),
    needs_perf("top", "live profiling")
        .text("use 'perf top ARGUMENTS', or record with 'perf record -a -g -- sleep 10', then 'perfconv report'", ""),
    needs_perf("trace", "tracing").text(
        "use 'perf trace ARGUMENTS', or record with 'perf trace record ./app', then 'perfconv -o out.pftrace'",
        "./app",
    ),
];

/// Other words that people type after perf.
const WORDS: [(&str, &str); 2] = [
    ("flamegraph", "use 'perfconv -o out.svg', or 'perfconv view' for a page with one"),
    ("version", "use 'perfconv --version'"),
];

/// What to type instead of `perfconv WORD ARGUMENTS`, for words that people know from perf.
pub(super) fn hint(word: &str, arguments: &[OsString]) -> Option<String> {
    if let Some((_, text)) = WORDS.iter().find(|(name, _)| *name == word) {
        return Some((*text).to_owned());
    }
    let command = COMMANDS.iter().find(|command| command.name == word)?;
    let run_by = |program: &str| with_arguments(&format!("'{program} {word} {ARGUMENTS}'"), arguments, "");
    Some(match (command.hint.as_ref()?, &command.how) {
        (Hint::Perfconv(other), _) => format!("use {}, or {other}", run_by("perfconv perf")),
        (Hint::Text { text, example }, _) => with_arguments(text, arguments, example),
        (Hint::Perf, How::Replaced(instead)) => {
            format!("{}, or {}", with_operand(instead, arguments), run_by("perf"))
        }
        (Hint::Perf, _) => format!("use {}", run_by("perf")),
    })
}

/// What to use in place of a command, with its first operand in the text.
pub(super) fn with_operand(text: &str, arguments: &[OsString]) -> String {
    let operand = arguments.iter().map(|argument| argument.to_string_lossy()).find(|word| !word.starts_with('-'));
    text.replace(OPERAND, &operand.map_or(OPERAND.to_owned(), |word| shell_word(&word)))
}

/// Replaces [`ARGUMENTS`] with those of a command, or with an example if it has none.
pub(super) fn with_arguments(text: &str, arguments: &[OsString], example: &str) -> String {
    let words: Vec<_> = arguments.iter().map(|argument| shell_word(&argument.to_string_lossy())).collect();
    let words = if words.is_empty() { example.to_owned() } else { words.join(" ") };
    let before = if words.is_empty() { " ARGUMENTS" } else { ARGUMENTS };
    text.replace(before, &words)
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
            assert_eq!(hint.is_none(), own.contains(name) || *name == SCRIPT, "{name}");
        }
        assert!(WORDS.iter().all(|(word, _)| !own.contains(word)) && hint("report", &[]).is_none());
    }

    #[test]
    fn hints_repeat_what_was_typed() {
        let hint = |line: &str| {
            let words: Vec<_> = line.split(' ').collect();
            let arguments: Vec<_> = words[1..].iter().map(OsString::from).collect();
            hint(words[0], &arguments).unwrap()
        };
        assert_eq!(hint("list"), "use 'perf list'");
        assert_eq!(hint("evlist -v"), "use 'perfconv perf evlist -v', or 'perfconv info --events'");
        assert_eq!(hint("record"), "use 'perf record -g ./app', then 'perfconv report'");
        assert_eq!(hint("record $x"), "use 'perf record '$x'', then 'perfconv report'");
        assert!(hint("top").starts_with("use 'perf top', or record"));
    }
}
