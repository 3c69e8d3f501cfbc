//! What readers see in each scenario is what it says.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

use super::super::consumers::{linux_perf_data, perfparser};
use super::super::program::{Run, for_each, perfconv, run, run_other, with_time_limit};
use super::{name, scenarios, synth};
use perfconv::synth::Scenario;
use perfconv::synth::scenario::file::expect::Expect;

/// How many of a hundred scenarios perf has to read without a complaint.
const ACCEPTED: usize = 60;

/// What perf script says of samples: by event, by name of the thread, by function; and else.
#[derive(Debug, Default)]
pub struct Scripted {
    pub samples: u64,
    pub events: BTreeMap<String, u64>,
    pub comms: BTreeMap<String, u64>,
    pub functions: BTreeMap<String, u64>,
    pub status: i32,
    pub complaint: String,
}

/// perf with a recording, and the images of its programs. What a scenario says in the place of the images is their folder.
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

/// `None` where there is no perf.
pub fn perf_script(recording: &Path, images: &Path, home: &Path) -> Option<Scripted> {
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
    let mut scripted = Scripted { status: run.status, complaint: run.stderr.clone(), ..Scripted::default() };
    for line in String::from_utf8_lossy(&run.stdout).lines() {
        let words: Vec<_> = line.split_whitespace().collect();
        let Some(at) = words.iter().position(|word| word.ends_with(':')) else { continue };
        let [_, function, ..] = words[at + 1..] else { continue };
        scripted.samples += 1;
        *scripted.events.entry(words[at].trim_end_matches(':').to_owned()).or_default() += 1;
        *scripted.comms.entry(words[..at].join(" ")).or_default() += 1;
        *scripted.functions.entry(function.to_owned()).or_default() += 1;
    }
    Some(scripted)
}

/// How many branches perf shows in all samples.
fn perf_branches(recording: &Path, images: &Path, home: &Path) -> u64 {
    let run = perf(&["script", "-F", "brstack"], recording, images, home);
    String::from_utf8_lossy(&run.stdout).split_whitespace().filter(|word| word.starts_with("0x")).count() as u64
}

/// The percents that perf report has of functions, where all samples are of one event.
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
    let told = lines.filter_map(|words| match words[..] {
        [percent, _, function] if percent.ends_with('%') => Some((function.to_owned(), percent.to_owned())),
        _ => None,
    });
    told.collect()
}

/// What came of one scenario.
#[derive(Default)]
struct Outcome {
    name: String,
    /// What each reader told.
    told: Vec<String>,
    wrong: Vec<String>,
    readers: Vec<&'static str>,
    has_perf: bool,
    is_accepted: bool,
    percents: usize,
    texts: usize,
}

impl Outcome {
    fn demand(&mut self, holds: bool, otherwise: impl FnOnce() -> String) {
        if !holds {
            self.wrong.push(format!("{}: {}", self.name, otherwise()));
        }
    }

    /// Compares how many samples a reader found, or why it found none.
    fn compare(&mut self, reader: &'static str, expect: &Expect, found: Option<Result<u64, String>>) {
        let Some(found) = found else { return };
        self.readers.push(reader);
        let wanted = expect.reads.get(reader).copied().unwrap_or(expect.samples);
        let (holds, told) = match (expect.rejected.get(reader), &found) {
            (None, found) => (*found == Ok(wanted), wanted.to_string()),
            (Some(part), Err(message)) => (message.contains(part), "rejected".to_owned()),
            (Some(_), Ok(_)) => (false, String::new()),
        };
        self.demand(holds, || format!("{reader}: {found:?}"));
        self.told.push(format!("{reader}: {told}"));
    }

    fn perf(&mut self, scenario: &Scenario, output: &Path, images: &Path, home: &Path) {
        let Some(scripted) = perf_script(output, images, home) else { return };
        let expect = &scenario.expect;
        (self.has_perf, self.is_accepted) = (true, scripted.status == 0 && scripted.complaint.is_empty());
        if scripted.status == 0 && !expect.rejected.contains_key("perf") {
            let told = (&scripted.events, &scripted.comms, &scripted.functions);
            let wanted = (&expect.events, &expect.comms, &expect.functions);
            let is_partial = expect.reads.contains_key("perf") || expect.events.is_empty();
            self.demand(is_partial || told == wanted, || format!("perf script shows {told:?}, not {wanted:?}"));
            let branches = if expect.branches > 0 { perf_branches(output, images, home) } else { 0 };
            self.demand(branches == expect.branches, || format!("perf shows {branches} branches"));
            let warns = expect.perf_warns.as_deref().unwrap_or_default();
            let is_warned = scripted.complaint.contains(warns) && scripted.complaint.is_empty() == warns.is_empty();
            self.demand(is_warned, || format!("perf says {:?}, not {warns:?}", scripted.complaint));
            // Where functions have no names, their addresses are told.
            if expect.events.len() == 1 && !is_partial && !expect.functions.contains_key("[unknown]") {
                let percent = |count: u64| format!("{:.2}%", 100.0 * count as f64 / expect.samples as f64);
                let wanted = expect.functions.iter().map(|(name, count)| (name.clone(), percent(*count)));
                let wanted: BTreeMap<_, _> = wanted.collect();
                let told = perf_percents(output, images, home);
                self.demand(told == wanted, || format!("perf report has {told:?}, not {wanted:?}"));
                self.percents += wanted.len();
            }
            let header = perf(&["report", "--header-only"], output, images, home);
            let header = blanks(&header.stdout);
            let machine = scenario.about.machine.as_ref().expect("a machine");
            let wanted = ["# cmdline : perf record".to_owned(), format!("# hostname : {}", machine.hostname)];
            self.demand(wanted.iter().all(|text| header.contains(text)), || format!("the header is {header}"));
        }
        let found = if scripted.status == 0 { Ok(scripted.samples) } else { Err(scripted.complaint) };
        self.compare("perf", expect, Some(found));
        for shown in &expect.perf {
            let args: Vec<_> = shown.args.iter().map(String::as_str).collect();
            let run = perf(&args, output, images, home);
            let text = blanks(&run.stdout);
            let mut rest = &text[..];
            for text in &shown.shows {
                let found = rest.find(text);
                self.demand(found.is_some(), || {
                    format!("perf {args:?} does not show {text:?} in {rest:.3000}{:.300}", run.stderr)
                });
                rest = found.map_or("", |at| &rest[at + text.len()..]);
                self.texts += 1;
            }
        }
    }
}

fn blanks(output: &[u8]) -> String {
    String::from_utf8_lossy(output).split_whitespace().collect::<Vec<_>>().join(" ")
}

fn outcome(path: &Path, folder: &Path) -> Outcome {
    let name = name(path);
    let text = fs::read_to_string(path).expect("a scenario");
    let scenario = Scenario::parse(path.to_str().expect("a path"), &text).expect("a scenario");
    let expect = &scenario.expect;
    let mut outcome = Outcome { name: name.to_owned(), ..Outcome::default() };
    outcome.demand(expect.samples > 0 || !expect.perf.is_empty(), || "it expects nothing".to_owned());
    let (output, images) = (folder.join(format!("{name}.data")), folder.join(name));
    synth(path, &output, &["--images", images.to_str().expect("a path")]);
    outcome.perf(&scenario, &output, &images, folder);
    outcome.compare("linux-perf-data", expect, linux_perf_data(&output));
    outcome.compare("perfparser", expect, perfparser(&output));
    let check = run(perfconv().arg("check").arg(&output));
    let findings = String::from_utf8_lossy(&check.stdout).into_owned() + &check.stderr;
    outcome.compare("check", expect, Some(if check.status == 0 { Ok(expect.samples) } else { Err(findings) }));
    outcome
}

#[test]
fn readers_see_what_scenarios_say() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let outcomes = for_each(&scenarios(), |path| outcome(path, folder.path()));
    let mut out = io::stderr().lock();
    let mut readers = BTreeMap::<&str, u64>::new();
    for outcome in &outcomes {
        writeln!(out, "{:<26}{}", outcome.name, outcome.told.join("  ")).unwrap();
        outcome.readers.iter().for_each(|reader| *readers.entry(reader).or_default() += 1);
    }
    let by_perf = outcomes.iter().filter(|outcome| outcome.has_perf).count();
    let accepted = outcomes.iter().filter(|outcome| outcome.is_accepted).count();
    let percents: usize = outcomes.iter().map(|outcome| outcome.percents).sum();
    let texts: usize = outcomes.iter().map(|outcome| outcome.texts).sum();
    let what = format!("{percents} percents of perf report and {texts} texts of perf compared");
    writeln!(out, "scenarios by readers: {readers:?}; perf reads {accepted} of {by_perf} without a complaint; {what}")
        .unwrap();
    let wrong: Vec<_> = outcomes.into_iter().flat_map(|outcome| outcome.wrong).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(accepted * 100 >= by_perf * ACCEPTED, "perf reads only {accepted} of {by_perf}");
    assert!(readers["linux-perf-data"] >= 40 && readers["check"] >= 40);
    assert!(by_perf == 0 || (percents >= 20 && texts >= 60));
}
