//! Recordings that are made up: each scenario in `scenarios/` says what readers are to see, and they do.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::consumers::{linux_perf_data, perfparser};
use super::program::{perfconv, run, run_other, with_time_limit};
use perfconv::synth::Scenario;

/// How many of a hundred scenarios perf has to read without a complaint.
const ACCEPTED: usize = 60;

/// The committed scenarios.
fn scenarios() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    let mut found: Vec<_> =
        fs::read_dir(folder).expect("scenarios").map(|entry| entry.expect("a file").path()).collect();
    found.sort();
    assert!(found.len() >= 6, "only {} scenarios were found", found.len());
    found
}

fn scenario(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios").join(name)
}

fn synth(scenario: &Path, output: &Path, args: &[&str]) {
    let run = run(perfconv().arg("synth").arg(scenario).arg("-o").arg(output).args(args));
    assert_eq!(run.status, 0, "{scenario:?} {args:?}: {}", run.stderr);
}

/// What perf script says of samples: by event, by name of the thread, by function; and else.
#[derive(Debug, Default)]
struct Scripted {
    samples: u64,
    events: BTreeMap<String, u64>,
    comms: BTreeMap<String, u64>,
    functions: BTreeMap<String, u64>,
    status: i32,
    complaint: String,
}

/// `None` where there is no perf.
fn perf_script(recording: &Path, images: &Path, home: &Path) -> Option<Scripted> {
    let mut perf = with_time_limit("perf");
    perf.args(["script", "--force", "-G", "-F", "comm,event,ip,sym", "--symfs"]).arg(images).arg("-i").arg(recording);
    let run = run_other(perf.env("LC_ALL", "C").env("HOME", home));
    if run.status == 127 {
        return None;
    }
    let mut scripted = Scripted { status: run.status, complaint: run.stderr.clone(), ..Scripted::default() };
    for line in String::from_utf8_lossy(&run.stdout).lines() {
        let words: Vec<_> = line.split_whitespace().collect();
        let [comm, event, _, function, ..] = words[..] else { continue };
        scripted.samples += 1;
        *scripted.events.entry(event.trim_end_matches(':').to_owned()).or_default() += 1;
        *scripted.comms.entry(comm.to_owned()).or_default() += 1;
        *scripted.functions.entry(function.to_owned()).or_default() += 1;
    }
    Some(scripted)
}

/// How many branches perf shows in all samples.
fn perf_branches(recording: &Path, home: &Path) -> u64 {
    let mut perf = with_time_limit("perf");
    perf.args(["script", "--force", "-F", "brstack", "-i"]).arg(recording);
    let run = run_other(perf.env("LC_ALL", "C").env("HOME", home));
    String::from_utf8_lossy(&run.stdout).split_whitespace().filter(|word| word.starts_with("0x")).count() as u64
}

#[test]
fn readers_see_what_scenarios_say() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (mut accepted, mut by_perf, mut compared) = (0, 0, BTreeMap::<&str, u64>::new());
    let (mut table, mut wrong) = (String::new(), Vec::new());
    let mut demand = |holds: bool, otherwise: String| wrong.extend((!holds).then_some(otherwise));
    for path in scenarios() {
        let name = path.file_stem().and_then(|name| name.to_str()).expect("a name");
        let text = fs::read_to_string(&path).expect("a scenario");
        let Scenario { expect, .. } = Scenario::parse(name, &text).expect("a scenario");
        assert!(expect.samples > 0, "{name} expects nothing");
        let output = folder.path().join(format!("{name}.data"));
        let images = folder.path().join(name);
        synth(&path, &output, &["--images", images.to_str().expect("a path")]);
        let mut counts = Vec::new();
        if let Some(scripted) = perf_script(&output, &images, folder.path()) {
            by_perf += 1;
            accepted += usize::from(scripted.complaint.is_empty());
            let warns = expect.perf_warns.as_deref().unwrap_or_default();
            if scripted.status == 0 {
                let told = (&scripted.events, &scripted.comms, &scripted.functions);
                let wanted = (&expect.events, &expect.comms, &expect.functions);
                demand(told == wanted, format!("{name}: perf script shows {told:?}, not {wanted:?}"));
                let branches = if expect.branches > 0 { perf_branches(&output, folder.path()) } else { 0 };
                demand(branches == expect.branches, format!("{name}: perf shows {branches} branches"));
                let is_warned = scripted.complaint.contains(warns) && scripted.complaint.is_empty() == warns.is_empty();
                demand(is_warned, format!("{name}: perf says {:?}, not {warns:?}", scripted.complaint));
            }
            counts.push((
                "perf",
                Some(if scripted.status == 0 { Ok(scripted.samples) } else { Err(scripted.complaint) }),
            ));
            let mut perf = with_time_limit("perf");
            perf.args(["report", "--force", "--header-only", "-i"]).arg(&output).env("HOME", folder.path());
            let header = run_other(&mut perf);
            let is_told = String::from_utf8_lossy(&header.stdout).contains("# cmdline : perf record");
            demand(header.status == 0 && is_told, format!("{name}: perf report --header-only: {}", header.stderr));
        }
        counts.push(("linux-perf-data", linux_perf_data(&output)));
        counts.push(("perfparser", perfparser(&output)));
        let check = run(perfconv().arg("check").arg(&output));
        let findings = String::from_utf8_lossy(&check.stdout).into_owned() + &check.stderr;
        counts.push(("check", Some(if check.status == 0 { Ok(expect.samples) } else { Err(findings) })));
        table += &format!("{name:<20}");
        for (reader, found) in counts {
            let Some(found) = found else { continue };
            *compared.entry(reader).or_default() += 1;
            let (expected, told) = match (expect.rejected.get(reader), &found) {
                (None, found) => (*found == Ok(expect.samples), format!("  {reader}: {}", expect.samples)),
                (Some(part), Err(message)) => (message.contains(part), format!("  {reader}: rejected")),
                (Some(_), Ok(_)) => (false, String::new()),
            };
            demand(expected, format!("{name}: {reader}: {found:?}"));
            table += &told;
        }
        table.push('\n');
    }
    let mut out = io::stderr().lock();
    writeln!(out, "{table}scenarios by readers: {compared:?}; perf reads {accepted} of {by_perf} without a complaint")
        .unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(accepted * 100 >= by_perf * ACCEPTED, "perf reads only {accepted} of {by_perf}");
    assert!(compared["linux-perf-data"] >= 6 && compared["check"] >= 6);
}

#[test]
fn a_scenario_can_be_in_any_form_and_is_always_the_same() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = |name: &str| folder.path().join(name);
    let path = scenario("callgraph.toml");
    synth(&path, &file("one.data"), &["--images", file("images").to_str().expect("a path")]);
    synth(&path, &file("same.data"), &[]);
    synth(&path, &file("other.data"), &["--seed", "2"]);
    synth(&path, &file("twice.data"), &["--scale", "2"]);
    let bytes = |name: &str| fs::read(file(name)).expect("a recording");
    assert!(bytes("one.data") == bytes("same.data") && bytes("one.data") != bytes("other.data"));
    let Some(plain) = perf_script(&file("one.data"), &file("images"), folder.path()) else {
        return writeln!(io::stderr(), "scenarios: there is no perf, forms are not compared").unwrap();
    };
    let mut compared = 0;
    let forms: [&[&str]; 5] = [
        &["--container", "pipe"],
        &["--container", "dir"],
        &["--compress"],
        &["--endian", "big"],
        &["--container", "pipe", "--compress"],
    ];
    for (number, form) in forms.iter().enumerate() {
        let output = file(&format!("form-{number}"));
        synth(&path, &output, form);
        let told = perf_script(&output, &file("images"), folder.path()).expect("perf is there");
        assert_eq!((&told.events, &told.comms, &told.complaint[..]), (&plain.events, &plain.comms, ""), "{form:?}");
        compared += told.samples;
    }
    let twice = perf_script(&file("twice.data"), &file("images"), folder.path()).expect("perf is there");
    assert_eq!(twice.samples, 2 * plain.samples);
    writeln!(io::stderr(), "scenarios: {compared} samples in {} forms compared with perf script", forms.len()).unwrap();
    assert_eq!(compared, 5 * 3200);
}

#[test]
fn what_is_wrong_in_a_scenario_is_told_and_nothing_is_written() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = |name: &str| folder.path().join(name);
    let good = fs::read_to_string(scenario("callgraph.toml")).expect("a scenario");
    for (from, to, message) in [
        ("rate = 1000", "ratio = 1000", "unknown field `ratio`"),
        ("\"parse\"] }", "\"pars\"] }", "process.thread.stack.frames: there is no function \"pars\""),
        ("percent = 60", "percent = 61", "are 101 together, not 100"),
        ("\"2s\"", "\"-2s\"", "duration: \"-2s\" is no time"),
    ] {
        let text = good.replacen(from, to, 1);
        assert_ne!(text, good);
        fs::write(file("wrong.toml"), &text).expect("a scenario");
        let command = &mut perfconv();
        let run = run(command.arg("synth").arg(file("wrong.toml")).arg("-o").arg(file("out.data")));
        let line = text.lines().position(|line| line.contains(to)).expect("the line") + 1;
        let failure = run.failure().expect("it fails");
        assert!(failure.contains(&format!("wrong.toml:{line}: ")) && failure.contains(message), "{failure}");
        let left = fs::read_dir(folder.path()).expect("a folder").count();
        assert_eq!(left, 1, "only the scenario is there");
    }
    synth(&scenario("callgraph.toml"), &file("out.data"), &["--images", file("images").to_str().expect("a path")]);
    let command = &mut perfconv();
    command.arg("synth").arg(scenario("callgraph.toml")).arg("-o").arg(file("new.data"));
    let again = run(command.arg("--images").arg(file("images")));
    assert!(again.status == 1 && again.stderr.contains("images") && !file("new.data").exists(), "{again:?}");
}
