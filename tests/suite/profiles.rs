//! What the options of profiles do: labels, events, splits, what was lost, sample by sample.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use perfconv::formats::pprof::proto::Profile;
use perfconv::profile::labels::Label;

use super::files::fixture;
use super::pprof::{column_sums, report_by, the_real_pprof, valid};
use super::program::{self, Run, perfconv, run};

/// A fixture whose samples tell each label.
const TOLD_BY: &[(&str, &[&str])] = &[
    ("system-wide.data", &["pid", "tid", "comm", "thread_comm", "cpu", "timestamp_ns", "execution_mode"]),
    ("weight.data", &["data_src", "weight", "cache_latency", "total_latency"]),
    ("page-sizes.data", &["code_page_size", "data_page_size"]),
    ("cgroup.data", &["cgroup"]),
];

fn converted(input: &str, options: &[&str]) -> Profile {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("out.pb.gz");
    let run = run(perfconv().arg(fixture(input)).args(options).arg("-o").arg(&output));
    assert_eq!(run.status, 0, "{input} {options:?}: {}", run.stderr);
    let profile = program::profile(&output);
    valid(&profile).unwrap_or_else(|wrong| panic!("{input} {options:?}: {wrong}"));
    profile
}

fn refused(input: &str, options: &[&str]) -> Run {
    let folder = tempfile::tempdir().unwrap();
    let run = run(perfconv().arg(fixture(input)).args(options).arg("-o").arg(folder.path().join("out.pb.gz")));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "a refusal leaves something");
    run
}

fn text(profile: &Profile, index: i64) -> &str {
    &profile.string_table[index as usize]
}

/// The values of a label: texts, or numbers with their unit.
fn label_values(profile: &Profile, key: &str) -> BTreeSet<String> {
    let labels = profile.sample.iter().flat_map(|sample| &sample.label);
    let of_key = labels.filter(|label| text(profile, label.key) == key);
    let shown = of_key.map(|label| match label.str {
        0 => format!("{} {}", label.num, text(profile, label.num_unit)),
        str => text(profile, str).to_owned(),
    });
    shown.collect()
}

#[test]
fn each_label_is_told_and_pprof_shows_it_in_every_view() {
    let pprof = the_real_pprof();
    let mut shown = 0;
    for (input, labels) in TOLD_BY {
        for label in *labels {
            let folder = tempfile::tempdir().unwrap();
            let output = folder.path().join("out.pb.gz");
            let run = run(perfconv().arg(fixture(input)).args(["--labels", label, "-o"]).arg(&output));
            assert_eq!(run.status, 0, "{label}: {}", run.stderr);
            let profile = program::profile(&output);
            valid(&profile).unwrap();
            assert!(!label_values(&profile, label).is_empty(), "{label} of {input}");
            let Ok(pprof) = &pprof else { continue };
            let tags = report_by(pprof, "-tags", &output).unwrap();
            assert!(tags.contains(&format!("{label}:")), "{label} of {input}: {tags}");
            for (view, holds) in [("-top", "flat%"), ("-traces", "-----+----"), ("-raw", "Locations"), ("-proto", "")] {
                let text = report_by(pprof, view, &output).unwrap();
                assert!(text.contains(holds), "{label} of {input}: pprof {view}: {text}");
            }
            shown += 1;
        }
    }
    let mut out = io::stderr();
    match pprof {
        Ok(_) => writeln!(out, "labels: the real pprof shows {shown} of them in 4 views").unwrap(),
        Err(reason) => writeln!(out, "labels: not shown to the real pprof: {reason}").unwrap(),
    }
    let told: BTreeSet<_> = TOLD_BY.iter().flat_map(|(_, labels)| *labels).copied().collect();
    let all: BTreeSet<_> = Label::ALL.iter().map(|label| label.key()).collect();
    // These need more than a fixture: hardware that tells where data came from, a file of names.
    let others: Vec<_> = all.difference(&told).collect();
    assert_eq!(others, [&"snoop_status", &"thread_type"]);
}

#[test]
fn labels_say_what_the_recording_says() {
    let profile = converted("forks.data", &["--labels", "comm,thread_comm,execution_mode"]);
    let comms = label_values(&profile, "comm");
    assert!(comms.contains("forky") && comms.len() > 1, "{comms:?}");
    let modes = label_values(&profile, "execution_mode");
    assert!(modes.iter().all(|mode| mode == "Host Kernel" || mode == "Host User"), "{modes:?}");
    assert_eq!(modes.len(), 2);
    let by_default = converted("forks.data", &[]);
    assert_eq!(label_values(&by_default, "comm"), comms);
    assert!(converted("forks.data", &["--labels", "none"]).sample.iter().all(|sample| sample.label.is_empty()));
    let pages = label_values(&converted("page-sizes.data", &["--labels", "code_page_size"]), "code_page_size");
    assert!(pages.contains("4096 bytes"), "{pages:?}");

    let cgroups = label_values(&converted("cgroup.data", &["--labels", "cgroup"]), "cgroup");
    assert_eq!(Vec::from_iter(cgroups), ["/", "/demo"]);

    let folder = tempfile::tempdir().unwrap();
    let types = folder.path().join("types");
    let tid = label_values(&converted("plain.data", &["--labels", "tid"]), "tid").pop_first().unwrap();
    let tid = tid.split(' ').next().unwrap();
    fs::write(&types, format!("{tid} the one that loops\n")).unwrap();
    let types = types.to_str().unwrap();
    let named = converted("plain.data", &["--labels", "thread_type", "--thread-types", types]);
    assert_eq!(Vec::from_iter(label_values(&named, "thread_type")), ["the one that loops"]);
}

/// No fixture is of hardware that tells where data came from: what it would have told is put in, as a person would.
#[test]
fn where_data_came_from_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let (lines, edited) = (folder.path().join("out.jsonl"), folder.path().join("edited.jsonl"));
    let run = run(perfconv().arg(fixture("weight.data")).arg("-o").arg(&lines));
    assert_eq!(run.status, 0, "{}", run.stderr);
    // PERF_MEM_SNOOP_HIT and PERF_MEM_SNOOP_HITM.
    let mut snooped = [4, 16].iter().cycle();
    let mut count = 0;
    let edit = |line: &str| {
        let mut object: serde_json::Value = serde_json::from_str(line).unwrap();
        if let Some(source) = object.pointer_mut("/body/data_src") {
            *source = serde_json::json!({ "MEM_OP": 2, "MEM_LVL": 10, "MEM_SNOOP": snooped.next() });
            count += 1;
        }
        object.to_string() + "\n"
    };
    let text: String = fs::read_to_string(&lines).unwrap().lines().map(edit).collect();
    assert!(count > 300, "{count}");
    fs::write(&edited, text).unwrap();
    let output = folder.path().join("out.pb.gz");
    let told = program::run(perfconv().arg(&edited).args(["--labels", "data_src,snoop_status", "-o"]).arg(&output));
    assert_eq!(told.status, 0, "{}", told.stderr);
    let profile = program::profile(&output);
    assert_eq!(Vec::from_iter(label_values(&profile, "data_src")), ["L1"]);
    assert_eq!(Vec::from_iter(label_values(&profile, "snoop_status")), ["Hit", "HitM"]);
}

#[test]
fn sample_by_sample_there_is_the_same() {
    for input in ["plain.data", "two-events.data", "group-read.data", "pipe.data", "threads.dir", "compressed2.data"] {
        let folded = converted(input, &["--labels", "pid"]);
        let single = converted(input, &["--labels", "pid,timestamp_ns"]);
        assert_eq!(column_sums(&folded), column_sums(&single), "{input}");
        let times = label_values(&single, "timestamp_ns").len();
        assert!(times >= single.sample.len() / 2 && times > folded.sample.len() / 2, "{input}: {times} times");
    }
    // From a pipe, which comes but once.
    let bytes = fs::read(fixture("pipe.data")).unwrap();
    let mut command = perfconv();
    command.args(["-", "--labels", "timestamp_ns", "-t", "pprof", "-o", "-"]).stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(&bytes).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let piped = program::decode(&output.stdout);
    assert_eq!(column_sums(&piped), column_sums(&converted("pipe.data", &[])));
}

#[test]
fn the_parts_of_a_split_are_the_whole() {
    for (input, what) in [("forks.data", "comm"), ("forks.data", "pid"), ("two-events.data", "event")] {
        let folder = tempfile::tempdir().unwrap();
        let parts = folder.path().join("parts");
        let arguments = ["--split-by", what, "-o"];
        let split = |options: &[&str]| run(perfconv().arg(fixture(input)).args(options).args(arguments).arg(&parts));
        let first = split(&[]);
        assert_eq!(first.status, 0, "{}", first.stderr);
        let files: Vec<_> = fs::read_dir(&parts).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert!(files.len() > 1, "{input} by {what}: {files:?}");
        let whole: i64 = column_sums(&converted(input, &[])).iter().sum();
        let mut sum = 0;
        for file in &files {
            assert!(file.to_string_lossy().ends_with(".pb.gz"), "{file:?}");
            let part = program::profile(file);
            valid(&part).unwrap_or_else(|wrong| panic!("{file:?}: {wrong}"));
            sum += column_sums(&part).iter().sum::<i64>();
        }
        assert_eq!(sum, whole, "{input} by {what}");
        assert_eq!((split(&[]).status, split(&["-f"]).status), (1, 0), "what is there is replaced when asked for");
        fs::write(parts.join("notes.txt"), "mine").unwrap();
        assert_eq!(split(&["-f"]).status, 1, "a folder with other things is never replaced");
    }
}

#[test]
fn events_are_chosen_by_name_and_others_are_left_out() {
    let all = converted("two-events.data", &[]);
    let one = converted("two-events.data", &["--event", "task-clock"]);
    assert_eq!((all.sample_type.len(), one.sample_type.len()), (4, 2));
    let refusal = refused("two-events.data", &["--event", "cycles"]);
    assert_eq!(refusal.status, 1);
    assert!(refusal.stderr.contains("has no event cycles; its events are cpu-clock, task-clock"), "{}", refusal.stderr);
    let refusal = refused("plain.data", &["--labels", "pid,cgroup"]);
    assert_eq!(refusal.status, 1);
    assert!(refusal.stderr.contains("do not tell cgroup; they tell pid, tid, comm"), "{}", refusal.stderr);
    assert_eq!(refused("plain.data", &["--labels", "colour"]).status, 2);
    assert_eq!(refused("plain.data", &["--labels", "pid", "-t", "perf.data"]).status, 2);
    assert_eq!(refused("plain.data", &["--compress"]).status, 2);
    assert_eq!(refused("plain.data", &["--level", "22"]).status, 2, "of gzip");
    let bare = run(perfconv().arg(fixture("plain.data")).args(["--level", "5", "-o", "bare.pb"]));
    assert_eq!((bare.status, bare.stderr.contains("ends in .gz or .zst")), (2, true), "{}", bare.stderr);
    assert_eq!(refused("plain.data", &["--labels", "thread_type"]).status, 2);
    assert_eq!(refused("plain.data", &["--event", ""]).status, 2);
    assert_eq!(refused("plain.data", &["--quipper", "strict"]).status, 2, "of a pprof");
}

#[test]
fn what_was_lost_counts_when_asked_for() {
    let (apart, counted) = (converted("lost.data", &[]), converted("lost.data", &["--lost", "as-samples"]));
    let is_lost = |profile: &Profile, id: u64| {
        let mapping = profile.location[id as usize - 1].mapping_id;
        mapping > 0 && text(profile, profile.mapping[mapping as usize - 1].filename) == "[lost]"
    };
    let lost = |profile: &Profile| -> i64 {
        let of = profile.sample.iter().filter(|sample| sample.location_id.iter().any(|&id| is_lost(profile, id)));
        of.map(|sample| sample.value[0]).sum()
    };
    assert_eq!(lost(&apart), 0);
    assert!(lost(&counted) > 0);
    let run = run(perfconv().arg(fixture("lost.data")).args(["-t", "pprof", "-o", "/dev/null"]));
    let (_, samples) = run.ledger().unwrap().lost.expect("something was lost");
    assert_eq!(lost(&counted) as u64, samples);
    assert_eq!(column_sums(&counted)[0], column_sums(&apart)[0] + samples as i64);
}

#[test]
fn the_real_pprof_finds_the_real_names() {
    let mut out = io::stderr();
    let has = |tool: &str, option: &str| {
        Command::new(tool).arg(option).stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|s| s.success())
    };
    let pprof = match the_real_pprof() {
        Ok(pprof) if has("cc", "--version") && has("addr2line", "--version") && has("perf", "--version") => pprof,
        Ok(_) => return writeln!(out, "real names: cc, addr2line or perf is not installed").unwrap(),
        Err(reason) => return writeln!(out, "real names: {reason}").unwrap(),
    };
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let source = "static volatile long sum;
        __attribute__((noinline)) void spins(void) { for (long i = 0; i < 100000000; i++) sum += i; }
        int main(void) { spins(); return 0; }";
    fs::write(path("spin.c"), source).unwrap();
    let done = |command: &mut Command| command.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap().success();
    assert!(done(Command::new("cc").args(["-O1", "-g", "-o"]).arg(path("spin")).arg(path("spin.c"))));
    let record = ["record", "-q", "-e", "cpu-clock:u", "-F", "999", "-o"];
    if !done(Command::new("perf").args(record).arg(path("perf.data")).arg(path("spin"))) {
        return writeln!(out, "real names: perf may not record here").unwrap();
    }
    let output = path("out.pb.gz");
    assert_eq!(program::convert(&path("perf.data"), &output).status, 0);
    let top = |options: &[&str]| {
        let mut command = program::with_time_limit(&pprof.to_string_lossy());
        command.args(options).arg("-top").arg(&output).env("PPROF_TMPDIR", folder.path()).stdin(Stdio::null());
        String::from_utf8_lossy(&run(&mut command).stdout).into_owned()
    };
    assert!(top(&[]).contains(" spins\n"), "{}", top(&[]));
    let made_up = top(&["-symbolize=none"]);
    assert!(made_up.contains(" spin+0x") && !made_up.contains(" spins\n"), "{made_up}");
    writeln!(out, "real names: pprof finds them in spite of the made-up ones").unwrap();
}

#[test]
fn nothing_to_show_is_an_empty_profile_with_its_columns() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("out.pb.gz");
    let mut bytes = fs::read(fixture("plain.data")).unwrap();
    // Every sample becomes a record of a type that nobody has seen.
    let word = |bytes: &[u8], at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
    let (mut at, end) = (word(&bytes, 40), word(&bytes, 40) + word(&bytes, 48));
    while at < end {
        if bytes[at] == 9 {
            bytes[at] = 50;
        }
        at += usize::from(u16::from_le_bytes([bytes[at + 6], bytes[at + 7]]));
    }
    let input = folder.path().join("in.data");
    fs::write(&input, bytes).unwrap();
    let run = program::convert(&input, &output);
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert!(run.stderr.contains("the recording has no samples"), "{}", run.stderr);
    let profile = program::profile(&output);
    valid(&profile).unwrap();
    assert_eq!((profile.sample.len(), profile.sample_type.len()), (0, 2));
    assert!(Path::new(&output).exists());
}
