//! Readers print what each scenario expects.

use crate::common::scenarios::{Outcome, name, scenarios};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use super::super::consumers::perfparser;
use crate::common::program::{Run, for_each, run_other, with_time_limit};
use perfconv::synth::Scenario;

/// The minimum percentage of scenarios that perf must read without messages.
const MIN_ACCEPTED_PERCENT: usize = 60;

/// Samples as perf script prints them: counts by event, thread name and function; exit status and messages.
#[derive(Debug, Default)]
pub(super) struct ScriptCounts {
    pub samples: u64,
    pub events: BTreeMap<String, u64>,
    pub comms: BTreeMap<String, u64>,
    pub functions: BTreeMap<String, u64>,
    pub status: i32,
    pub messages: String,
}

/// Runs perf on a recording with the images of its programs, whose directory replaces IMAGES in the arguments.
fn perf(args: &[&str], recording: &Path, images: &Path, home: &Path) -> Run {
    let mut perf = with_time_limit("perf");
    for arg in args {
        if *arg == "IMAGES" {
            perf.arg(images)
        } else {
            perf.arg(arg)
        };
    }
    perf.args(["--force", "-i"]).arg(recording).env("LC_ALL", "C").env("HOME", home);
    run_other(&mut perf)
}

/// Runs perf script; `None` if perf is not installed.
pub(super) fn perf_script(recording: &Path, images: &Path, home: &Path) -> Option<ScriptCounts> {
    let kallsyms = images.join("kallsyms");
    let kallsyms = kallsyms.to_str().expect("a path");
    let mut args = vec!["script", "-G", "--no-itrace", "-F", "comm,event,ip,sym", "--symfs", "IMAGES"];
    if Path::new(kallsyms).exists() {
        args.extend(["--kallsyms", kallsyms]);
    }
    let run = perf(&args, recording, images, home);
    if run.status == 127 {
        return None;
    }
    let mut counts = ScriptCounts { status: run.status, messages: run.stderr.clone(), ..ScriptCounts::default() };
    for line in String::from_utf8_lossy(&run.stdout).lines() {
        let words: Vec<_> = line.split_whitespace().collect();
        let Some(at) = words.iter().position(|word| word.ends_with(':')) else { continue };
        let [_, function, ..] = words[at + 1..] else { continue };
        counts.samples += 1;
        *counts.events.entry(words[at].trim_end_matches(':').to_owned()).or_default() += 1;
        *counts.comms.entry(words[..at].join(" ")).or_default() += 1;
        *counts.functions.entry(function.to_owned()).or_default() += 1;
    }
    Some(counts)
}

/// The number of branches that perf prints in all samples.
fn perf_branches(recording: &Path, images: &Path, home: &Path) -> u64 {
    let run = perf(&["script", "-F", "brstack"], recording, images, home);
    String::from_utf8_lossy(&run.stdout).split_whitespace().filter(|word| word.starts_with("0x")).count() as u64
}

/// The percentages of functions that perf report prints, for recordings of one event.
fn perf_percents(recording: &Path, images: &Path, home: &Path) -> BTreeMap<String, String> {
    let kallsyms = images.join("kallsyms");
    let kallsyms = kallsyms.to_str().expect("a path");
    let mut args =
        vec!["report", "--stdio", "--no-branch-stack", "-g", "none", "--no-children", "-s", "sym", "--symfs", "IMAGES"];
    if Path::new(kallsyms).exists() {
        args.extend(["--kallsyms", kallsyms]);
    }
    let run = perf(&args, recording, images, home);
    let lines = String::from_utf8_lossy(&run.stdout).into_owned();
    let lines = lines.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let percents = lines.filter_map(|words| match words[..] {
        [percent, _, function] if percent.ends_with('%') => Some((function.to_owned(), percent.to_owned())),
        _ => None,
    });
    percents.collect()
}

impl Outcome {
    fn perf(&mut self, scenario: &Scenario, output: &Path, images: &Path, home: &Path) {
        let Some(counts) = perf_script(output, images, home) else { return };
        let expect = &scenario.expect;
        (self.has_perf, self.is_accepted) = (true, counts.status == 0 && counts.messages.is_empty());
        if counts.status == 0 && !expect.rejected.contains_key("perf") {
            let counted = (&counts.events, &counts.comms, &counts.functions);
            let wanted = (&expect.events, &expect.comms, &expect.functions);
            let is_partial = expect.reads.contains_key("perf") || expect.events.is_empty();
            self.require(is_partial || counted == wanted, || {
                format!("perf script prints {counted:?}, expected {wanted:?}")
            });
            let branches = if expect.branches > 0 { perf_branches(output, images, home) } else { 0 };
            self.require(branches == expect.branches, || format!("perf prints {branches} branches"));
            let warns = expect.perf_warns.as_deref().unwrap_or_default();
            let is_warned = counts.messages.contains(warns) && counts.messages.is_empty() == warns.is_empty();
            self.require(is_warned, || format!("perf prints {:?}, expected {warns:?}", counts.messages));
            // Functions without names are printed as addresses.
            if expect.events.len() == 1 && !is_partial && !expect.functions.contains_key("[unknown]") {
                let percent = |count: u64| format!("{:.2}%", 100.0 * count as f64 / expect.samples as f64);
                let wanted = expect.functions.iter().map(|(name, count)| (name.clone(), percent(*count)));
                let wanted: BTreeMap<_, _> = wanted.collect();
                let percents = perf_percents(output, images, home);
                self.require(percents == wanted, || format!("perf report has {percents:?}, expected {wanted:?}"));
                self.percents += wanted.len();
            }
            let header = perf(&["report", "--header-only"], output, images, home);
            let header = collapse_whitespace(&header.stdout);
            let machine = scenario.metadata.machine.as_ref().expect("a machine");
            let wanted = ["# cmdline : perf record".to_owned(), format!("# hostname : {}", machine.hostname)];
            self.require(wanted.iter().all(|text| header.contains(text)), || format!("the header is {header}"));
        }
        let samples = if counts.status == 0 { Ok(counts.samples) } else { Err(counts.messages) };
        self.compare("perf", expect, Some(samples));
        for output_check in &expect.perf {
            let args: Vec<_> = output_check.args.iter().map(String::as_str).collect();
            let run = perf(&args, output, images, home);
            let text = collapse_whitespace(&run.stdout);
            let mut rest = &text[..];
            for text in &output_check.shows {
                let position = rest.find(text);
                self.require(position.is_some(), || {
                    format!("perf {args:?} does not print {text:?} in {rest:.3000}{:.300}", run.stderr)
                });
                rest = position.map_or("", |at| &rest[at + text.len()..]);
                self.texts += 1;
            }
        }
    }
}

fn collapse_whitespace(output: &[u8]) -> String {
    String::from_utf8_lossy(output).split_whitespace().collect::<Vec<_>>().join(" ")
}

fn run_scenario(path: &Path, dir: &Path) -> Outcome {
    let (output, images) = (dir.join(format!("{}.data", name(path))), dir.join(name(path)));
    let (mut outcome, scenario) = Outcome::read_scenario(path, &output, &images);
    outcome.perf(&scenario, &output, &images, dir);
    outcome.compare("perfparser", &scenario.expect, perfparser(&output));
    outcome.libraries(&scenario.expect, &output);
    outcome
}

#[test]
fn readers_print_what_scenarios_expect() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let outcomes = for_each(&scenarios(), |path| run_scenario(path, dir.path()));
    let mut out = io::stderr().lock();
    let mut readers = BTreeMap::<&str, u64>::new();
    for run_scenario in &outcomes {
        writeln!(out, "{:<26}{}", run_scenario.name, run_scenario.results.join("  ")).unwrap();
        run_scenario.readers.iter().for_each(|reader| *readers.entry(reader).or_default() += 1);
    }
    let by_perf = outcomes.iter().filter(|run_scenario| run_scenario.has_perf).count();
    let accepted = outcomes.iter().filter(|run_scenario| run_scenario.is_accepted).count();
    let percents: usize = outcomes.iter().map(|run_scenario| run_scenario.percents).sum();
    let texts: usize = outcomes.iter().map(|run_scenario| run_scenario.texts).sum();
    let what = format!("{percents} percents of perf report and {texts} texts of perf compared");
    writeln!(out, "scenarios by readers: {readers:?}; perf reads {accepted} of {by_perf} without messages; {what}")
        .unwrap();
    let failures: Vec<_> = outcomes.into_iter().flat_map(|run_scenario| run_scenario.failures).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(
        accepted * 100 >= by_perf * MIN_ACCEPTED_PERCENT,
        "perf reads only {accepted} of {by_perf} without messages"
    );
    assert!(readers["linux-perf-data"] >= 40 && readers["check"] >= 40);
    assert!(by_perf == 0 || (percents >= 20 && texts >= 60));
}
