//! Runs every command of README.md and of the pages in docs/, and compares what it prints with what the page shows.
//!
//! A command is in a block of its own language:
//!
//! ````text
//! ```console
//! $ perfconv perf.data -o out.pb.gz
//! [ perfconv: out.pb.gz: 377 samples in, 377 out, 0 dropped ]
//! ```
//! ````
//!
//! Lines that begin with `$ ` are commands of bash, lines that begin with `> ` continue a command whose line ends with a backslash,
//! and all others are the output of the command above them: standard output and standard error together. A line `...` stands for any
//! number of lines; an output has at most one of them. Words behind `console` say how a block is run:
//!
//! | word | meaning |
//! |---|---|
//! | `no-compare` | the output is not deterministic: the command has to succeed, its output is not compared |
//! | `no-run=REASON` | the commands are not executed; the reason is printed |
//! | `needs=PROGRAM` | the commands are executed where this program exists, see [`tools::Tools::find`] |
//! | `status=N` | the exit status of each command; 0 if not given |
//!
//! The commands of a page run one after the other in a temporary directory of the page. `<!-- setup` on a line of its own begins
//! a script that prepares it, which ends at `-->`; `$FIXTURES` is `roundtrip/fixtures`, `$REPO` the repository. All files get a fixed
//! modification time after a setup.
//!
//! With `PERFCONV_UPDATE_DOCS=1` outputs that differ are written to the pages, and so is `docs/capture.svg`.

pub(crate) mod page;
pub(crate) mod tools;

use page::{Block, Page, Part};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tools::Tools;

pub(crate) const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// README.md and all pages of docs/, by their paths below the repository.
pub(crate) fn pages() -> Vec<String> {
    let entries = fs::read_dir(Path::new(ROOT).join("docs")).expect("docs/ is readable");
    let names = entries.map(|entry| entry.expect("docs/ is readable").file_name().into_string().expect("UTF-8"));
    let mut pages: Vec<_> = names.filter(|name| name.ends_with(".md")).map(|name| format!("docs/{name}")).collect();
    pages.push("README.md".into());
    pages.sort();
    pages
}

pub(crate) fn is_update() -> bool {
    std::env::var_os("PERFCONV_UPDATE_DOCS").is_some_and(|value| value == "1")
}

/// Executes the commands of all pages, and compares what they print with the pages. Returns the numbers of executed and of compared
/// commands.
pub(crate) fn run_pages(tools: &Tools) -> (usize, usize) {
    let names = pages();
    let runs = super::program::for_each(&names, |name| run_page(name, tools));
    let mut counts = Counts::default();
    let mut failures = Vec::new();
    for run in runs {
        counts.add(&run.counts);
        failures.extend(run.failures);
    }
    note!("{} pages, {counts}", names.len());
    assert!(
        failures.is_empty(),
        "{} commands differ from the docs; PERFCONV_UPDATE_DOCS=1 rewrites their outputs:\n{}",
        failures.len(),
        failures.join("\n")
    );
    (counts.executed, counts.compared)
}

/// Commands by what was done with them.
#[derive(Default)]
struct Counts {
    executed: usize,
    compared: usize,
    skipped: BTreeMap<String, usize>,
}

impl Counts {
    fn add(&mut self, other: &Counts) {
        self.executed += other.executed;
        self.compared += other.compared;
        for (reason, count) in &other.skipped {
            *self.skipped.entry(reason.clone()).or_default() += count;
        }
    }
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let skipped: usize = self.skipped.values().sum();
        let all = self.executed + skipped;
        write!(f, "{all} commands: {} executed, {} of them compared, {skipped} skipped", self.executed, self.compared)?;
        let reasons: Vec<_> = self.skipped.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
        if reasons.is_empty() { Ok(()) } else { write!(f, " ({})", reasons.join(", ")) }
    }
}

#[derive(Default)]
struct PageRun {
    counts: Counts,
    failures: Vec<String>,
}

fn run_page(name: &str, tools: &Tools) -> PageRun {
    let path = Path::new(ROOT).join(name);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut page = Page::parse(name, &text).unwrap_or_else(|error| panic!("{error}"));
    let directory = tempfile::tempdir().expect("a temporary directory");
    let work = directory.path().join("work");
    fs::create_dir_all(directory.path().join("home")).expect("a temporary directory");
    fs::create_dir_all(&work).expect("a temporary directory");
    let mut run = PageRun::default();
    for part in &mut page.parts {
        match part {
            Part::Text(_) => {}
            Part::Setup { line, script, .. } => {
                let script = format!("set -e\n{script}\nfind . -type f -exec touch -d @1700000000 {{}} +");
                let (status, output) = execute(tools.bash(&work, &script));
                assert_eq!(status, 0, "{name}:{line}: the setup fails: {output}");
            }
            Part::Block(block) => run_block(name, block, tools, &work, &mut run),
        }
    }
    let updated = page.to_text();
    if is_update() && updated != text {
        fs::write(&path, updated).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    run
}

fn run_block(name: &str, block: &mut Block, tools: &Tools, work: &Path, run: &mut PageRun) {
    let missing = block.needs.iter().find(|program| !tools.has(program));
    let reason = match (&block.no_run, missing) {
        (Some(reason), _) => Some(reason.clone()),
        (None, Some(program)) => Some(tools.why_not(program)),
        (None, None) => None,
    };
    if let Some(reason) = reason {
        *run.counts.skipped.entry(reason).or_default() += block.commands.len();
        return;
    }
    for command in &mut block.commands {
        let (status, output) = execute(tools.bash(work, &command.script));
        run.counts.executed += 1;
        if status != block.status {
            let expected = block.status;
            let mut failure = String::new();
            write!(failure, "{name}:{}: {}: status {status}, not {expected}:\n{output}", command.line, command.script)
                .expect("a string");
            run.failures.push(failure);
            continue;
        }
        if !block.is_compared {
            continue;
        }
        run.counts.compared += 1;
        if command.matches(&output) {
            continue;
        }
        if is_update() {
            command.replace_output(&output);
        } else {
            let shown = &command.output;
            run.failures
                .push(format!("{name}:{}: {}\n--- shown\n{shown}--- printed\n{output}", command.line, command.script));
        }
    }
}

/// Exit status, and standard output and standard error together.
fn execute(mut command: Command) -> (i32, String) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The directory of the fixtures.
fn fixtures() -> PathBuf {
    super::files::fixture("")
}
