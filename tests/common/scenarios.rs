//! Scenarios, and whether readers find what each expects.

use super::consumers::linux_perf_data;
use crate::common::program::{perfconv, run, succeed};
use perfconv::synth::{Expect, Scenario};
use std::fs;
use std::path::{Path, PathBuf};

/// The scenarios in the repository.
pub(crate) fn scenarios() -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    let paths = fs::read_dir(dir).expect("scenarios").map(|entry| entry.expect("a file").path());
    let mut paths: Vec<_> = paths.filter(|path| path.extension().is_some_and(|end| end == "toml")).collect();
    paths.sort();
    assert!(paths.len() >= 40, "found only {} scenarios", paths.len());
    paths
}

pub(crate) fn scenario(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios").join(name)
}

/// The name without its extension.
pub(crate) fn name(scenario: &Path) -> &str {
    scenario.file_stem().and_then(|name| name.to_str()).expect("a name")
}

pub(crate) fn synth(scenario: &Path, output: &Path, args: &[&str]) {
    succeed(perfconv().arg("synth").arg(scenario).arg("-o").arg(output).args(args));
}

/// A recording of a program with 100 samples of each event a second, of which these percentages are in `work`, the others in `wait`,
/// and the program in the directory `images`.
pub(crate) fn work_and_wait(
    directory: &Path,
    name: &str,
    program: &str,
    (events, seconds, work): (&[&str], u32, u32),
) -> PathBuf {
    let event = |event: &&str| format!("{{ name = '{event}', rate = 100, fields = ['CALLCHAIN'] }}");
    let (events, wait) = (events.iter().map(event).collect::<Vec<_>>().join(", "), 100 - work);
    let text = format!(
        "about = 'work and waits'\nduration = '{seconds}s'\nevent = [{events}]\n\
         program = [{{ path = '/bin/{program}', functions = ['main', 'work', 'wait'] }}]\n[[process]]\npid = 100\n\
         comm = '{program}'\nprograms = ['/bin/{program}']\n[[process.thread]]\nstack = [\n\
         {{ percent = {work}, frames = ['main', 'work'] }},\n{{ percent = {wait}, frames = ['main', 'wait'] }},\n]\n"
    );
    let (scenario, recording) = (directory.join(format!("{name}.toml")), directory.join(name));
    fs::write(&scenario, text).expect("a scenario");
    synth(&scenario, &recording, &["--images", directory.join("images").to_str().expect("a path"), "-f", "-q"]);
    recording
}

/// [`work_and_wait`] with names in the recording: the programs of several cannot be in one directory.
pub(crate) fn with_names(recording: &Path) -> PathBuf {
    let (directory, output) = (recording.with_file_name("images"), recording.with_extension("named"));
    let mut command = perfconv();
    command.arg("rewrite").arg(recording).args(["--embed-symbols", "-q", "-o"]).arg(&output);
    succeed(command.arg("--symfs").arg(directory));
    output
}

/// The results of one scenario.
#[derive(Default)]
pub(crate) struct Outcome {
    pub(crate) name: String,
    /// The result of each reader.
    pub(crate) results: Vec<String>,
    pub(crate) failures: Vec<String>,
    pub(crate) readers: Vec<&'static str>,
    pub(crate) has_perf: bool,
    pub(crate) is_accepted: bool,
    pub(crate) percents: usize,
    pub(crate) texts: usize,
}

impl Outcome {
    /// Writes the recording of a scenario and its images.
    pub(crate) fn read_scenario(scenario: &Path, output: &Path, images: &Path) -> (Self, Scenario) {
        let text = fs::read_to_string(scenario).expect("a scenario");
        let parsed = Scenario::parse(scenario.to_str().expect("a path"), &text).expect("a scenario");
        let mut outcome = Self { name: name(scenario).to_owned(), ..Self::default() };
        let expect = &parsed.expect;
        outcome.require(expect.samples > 0 || !expect.perf.is_empty(), || "the scenario expects nothing".to_owned());
        synth(scenario, output, &["--images", images.to_str().expect("a path")]);
        (outcome, parsed)
    }

    pub(crate) fn require(&mut self, condition: bool, otherwise: impl FnOnce() -> String) {
        if !condition {
            self.failures.push(format!("{}: {}", self.name, otherwise()));
        }
    }

    /// Compares the number of samples that a reader found, or its error.
    pub(crate) fn compare(&mut self, reader: &'static str, expect: &Expect, found: Option<Result<u64, String>>) {
        let Some(found) = found else { return };
        self.readers.push(reader);
        let wanted = expect.reads.get(reader).copied().unwrap_or(expect.samples);
        let (condition, result) = match (expect.rejected.get(reader), &found) {
            (None, found) => (*found == Ok(wanted), wanted.to_string()),
            (Some(part), Err(message)) => (message.contains(part), "rejected".to_owned()),
            (Some(_), Ok(_)) => (false, String::new()),
        };
        self.require(condition, || format!("{reader}: {found:?}"));
        self.results.push(format!("{reader}: {result}"));
    }

    /// Reads the recording with linux-perf-data and with `perfconv check`.
    pub(crate) fn libraries(&mut self, expect: &Expect, output: &Path) {
        self.compare("linux-perf-data", expect, linux_perf_data(output));
        let check = run(perfconv().arg("check").arg(output));
        let findings = String::from_utf8_lossy(&check.stdout).into_owned() + &check.stderr;
        self.compare("check", expect, Some(if check.status == 0 { Ok(expect.samples) } else { Err(findings) }));
    }
}
