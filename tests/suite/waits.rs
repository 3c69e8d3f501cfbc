//! Time off the CPU, latency and fields as values of samples, of recordings whose values are known.

use super::mcp::{answers, question, server, text};
use crate::common::program::{column, decode, perfconv, run, succeed};
use perf_data::abi::Endian;
use perf_data::abi::attr_flags::AttrFlags;
use perf_data::abi::record::Misc;
use perf_data::abi::record::body::Body;
use perf_data::abi::record::lost::Lost;
use perf_data::abi::record::switch::Switch;
use perf_data::abi::sample::weight::Weight;
use perf_data::abi::sample::{Callchain, Raw, Sample};
use perf_data::abi::sample_type::SampleType;
use perfconv::synth::{Event, Map, RecordingBuilder, Stamp, Tracepoint};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// Nanoseconds of the recordings' clock at which they begin.
const BEGIN: u64 = 1_000_000;

/// States of `prev_state`.
const RUNNING: i64 = 0;
const INTERRUPTIBLE: i64 = 1;
const UNINTERRUPTIBLE: i64 = 2;
const DEAD: i64 = 0x10;

/// Addresses in the mappings of the process.
const APP: u64 = 0x40_1000;
const LIBC: u64 = 0x7f00_0000_1000;

fn switch_event() -> Event {
    let format = Tracepoint::new("sched", "sched_switch")
        .field("char prev_comm[16]", 16, false)
        .field("pid_t prev_pid", 4, true)
        .field("int prev_prio", 4, true)
        .field("long prev_state", 8, true)
        .field("char next_comm[16]", 16, false)
        .field("pid_t next_pid", 4, true)
        .field("int next_prio", 4, true);
    Event::named("sched:sched_switch").unwrap().with(SampleType::CALLCHAIN).formatted(format)
}

/// A recording of `sched_switch` on all CPUs, with a process of two threads.
fn traced() -> (RecordingBuilder, usize) {
    let mut recording = RecordingBuilder::new();
    let event = recording.event(switch_event());
    add_process(&mut recording);
    (recording, event)
}

fn add_process(recording: &mut RecordingBuilder) {
    recording.process(100, "app").thread(100, 101, "worker");
    recording.map(100, Map::new("/bin/app", 0x40_0000, 0x1_0000));
    recording.map(100, Map::new("/lib/libc.so", 0x7f00_0000_0000, 0x1_0000));
}

/// Adds a switch on a CPU at a time in microseconds.
fn switch(recording: &mut RecordingBuilder, event: usize, cpu: u32, time: u64, prev: (u32, i64, u64), next: u32) {
    let (tid, state, ip) = prev;
    let mut own = [0; 56];
    own[16..20].copy_from_slice(&tid.to_le_bytes());
    own[24..32].copy_from_slice(&state.to_le_bytes());
    own[48..52].copy_from_slice(&next.to_le_bytes());
    let pid = if tid == 0 { 0 } else { 100 };
    let sample = Sample {
        ip: Some(ip),
        task: Some((pid, tid)),
        time: Some(BEGIN + 1000 * time),
        cpu: Some((cpu, 0)),
        callchain: Some(Callchain { ips: vec![(-512_i64) as u64, ip, APP] }),
        raw: Some(Raw { data: Tracepoint::raw(1, tid, &own, Endian::Little) }),
        ..Sample::default()
    };
    recording.sample(event, sample);
}

pub(super) fn written(directory: &Path, recording: &RecordingBuilder) -> PathBuf {
    let path = directory.join("in.data");
    fs::write(&path, recording.to_bytes().unwrap()).unwrap();
    path
}

/// Folded stacks of the waits, and the messages.
fn folded(input: &Path, args: &[&str]) -> (String, String) {
    let run = succeed(perfconv().arg(input).args(["-t", "folded", "--symbols", "no", "-o", "-"]).args(args));
    (String::from_utf8(run.stdout).unwrap(), run.stderr)
}

/// Thread 100 is blocked for 30 us, preempted for 20 us and in uninterruptible sleep for 5 us; thread 101 waits for 40 us.
pub(super) fn two_threads() -> RecordingBuilder {
    let (mut recording, event) = traced();
    for (cpu, time, prev, next) in [
        (0, 0, (0, RUNNING, APP), 100),
        (1, 5, (0, RUNNING, APP), 101),
        (0, 10, (100, INTERRUPTIBLE, LIBC), 0),
        (1, 20, (101, INTERRUPTIBLE, LIBC), 0),
        (1, 40, (0, RUNNING, APP), 100),
        (1, 50, (100, RUNNING | 0x100, APP), 0),
        (0, 60, (0, RUNNING, APP), 101),
        (1, 70, (0, RUNNING, APP), 100),
        (1, 80, (100, UNINTERRUPTIBLE, LIBC), 0),
        (1, 85, (0, RUNNING, APP), 100),
        (0, 90, (101, INTERRUPTIBLE, LIBC), 0),
        (1, 95, (100, DEAD, APP), 0),
    ] {
        switch(&mut recording, event, cpu, time, prev, next);
    }
    recording
}

/// Adds a switch record of a thread at a time in microseconds.
pub(super) fn record(recording: &mut RecordingBuilder, time: u64, tid: u32, misc: Misc) {
    let stamp = Stamp::at(BEGIN + 1000 * time, 100, tid).on(tid % 2);
    recording.record(misc, Body::Switch(Switch), stamp);
}

/// A recording of CPU samples and switch records, whose event has a period of 1 ms.
pub(super) fn sampled() -> (RecordingBuilder, usize) {
    let mut recording = RecordingBuilder::new();
    let mut event = Event::named("cpu-clock").unwrap().period(1_000_000);
    event.attr.flags |= AttrFlags::CONTEXT_SWITCH;
    let event = recording.event(event);
    add_process(&mut recording);
    (recording, event)
}

pub(super) fn sample(recording: &mut RecordingBuilder, event: usize, time: u64, tid: u32, ip: u64) {
    let time = Some(BEGIN + 1000 * time);
    recording.sample(event, Sample { ip: Some(ip), task: Some((100, tid)), time, ..Sample::default() });
}

#[test]
fn traces_have_waits_as_slices_with_their_state() {
    let directory = tempfile::tempdir().unwrap();
    let input = written(directory.path(), &two_threads());
    let args = ["--off-cpu", "--symbols", "no", "-o", "-"];
    let read = |format| {
        let run = succeed(perfconv().arg(&input).args(["-t", format]).args(args));
        serde_json::from_slice::<Value>(&run.stdout).unwrap()
    };
    let trace = read("chrome");
    let slices = trace["traceEvents"].as_array().unwrap().iter().filter(|event| event["ph"] == "X");
    let slices: Vec<_> = slices.map(|event| json!([event["tid"], event["name"], event["ts"], event["dur"]])).collect();
    let expected = json!([
        [100, "blocked", 1010.0, 30.0],
        [100, "preempted", 1050.0, 20.0],
        [100, "uninterruptible", 1080.0, 5.0],
        [101, "blocked", 1020.0, 40.0],
    ]);
    assert_eq!(json!(slices), expected);
    let profile = read("firefox");
    let name = |id: &Value| profile["shared"]["stringArray"][id.as_u64().unwrap() as usize].clone();
    let threads = profile["threads"].as_array().unwrap().iter();
    let threads = threads.map(|thread| {
        let markers = &thread["markers"];
        let names: Vec<_> = markers["name"].as_array().unwrap().iter().map(name).collect();
        json!([thread["tid"], names, markers["length"], thread["samples"]["length"]])
    });
    let expected = json!([[100, ["blocked", "preempted", "uninterruptible"], 3, 3], [101, ["blocked"], 1, 1]]);
    assert_eq!(json!(threads.collect::<Vec<_>>()), expected);
}

#[test]
fn waits_have_the_stack_and_state_of_the_switch() {
    let directory = tempfile::tempdir().unwrap();
    let input = written(directory.path(), &two_threads());
    let (text, messages) = folded(&input, &["--off-cpu", "--labels", "comm,tid,state"]);
    let expected = "app-?/100;state blocked;[app];[libc.so] 30000\n\
                    app-?/100;state preempted;[app];[app] 20000\n\
                    app-?/100;state uninterruptible;[app];[libc.so] 5000\n\
                    app-?/101;state blocked;[app];[libc.so] 40000\n";
    assert_eq!(text, expected, "{messages}");
    let summary =
        "time off the CPU: 0.000095 s in 4 waits; omitted waits: 2 began before the recording, 1 did not end in it";
    assert!(messages.contains(summary), "{messages}");
    // Without the label, as by default with it.
    let (text, _) = folded(&input, &["--off-cpu", "--labels", "comm"]);
    assert_eq!(text, "app;[app];[app] 20000\napp;[app];[libc.so] 75000\n");
}

#[test]
fn missing_occurrences_are_warned_of() {
    let directory = tempfile::tempdir().unwrap();
    let with_frequency = switch_event().frequency(99).without(SampleType::PERIOD);
    for (event, is_sampled) in [(with_frequency, true), (switch_event().period(2), true), (switch_event(), false)] {
        let mut recording = RecordingBuilder::new();
        let event = recording.event(event);
        add_process(&mut recording);
        switch(&mut recording, event, 0, 10, (100, INTERRUPTIBLE, LIBC), 0);
        switch(&mut recording, event, 0, 60, (0, RUNNING, APP), 100);
        let input = written(directory.path(), &recording);
        let warning = "warning: only some occurrences of sched:sched_switch were recorded";
        for option in ["--off-cpu", "--sched", "--span=sched:sched_switch..sched:sched_switch"] {
            let run = succeed(perfconv().arg("report").arg(&input).args([option, "--symbols", "no"]));
            assert_eq!(run.stderr.contains(warning), is_sampled, "{option}: {}", run.stderr);
        }
    }
}

#[test]
fn every_output_of_stacks_has_waits() {
    let directory = tempfile::tempdir().unwrap();
    let input = written(directory.path(), &two_threads());
    let output = |args: &[&str]| {
        let run = succeed(perfconv().args(args).arg(&input).args(["--off-cpu", "-q", "-o", "-"]));
        run.stdout
    };
    let profile = decode(&output(&["-t", "pprof"]));
    let types: Vec<_> = profile.sample_type.iter().map(|kind| column(&profile, kind)).collect();
    assert_eq!(types, [("samples", "count"), ("off-cpu", "nanoseconds")]);
    let sums = profile
        .sample
        .iter()
        .fold([0, 0], |[samples, time], sample| [samples + sample.value[0], time + sample.value[1]]);
    assert_eq!(sums, [4, 95_000]);
    let text = |args: &[&str]| String::from_utf8(output(args)).unwrap();
    assert!(text(&["report", "--sort", "thread"]).contains("off-cpu"), "{}", text(&["report"]));
    for format in ["firefox", "chrome", "speedscope", "html", "flamegraph", "callgrind", "markdown", "csv"] {
        let args = if format == "csv" { vec!["-t", "report", "--csv"] } else { vec!["-t", format] };
        assert!(!text(&args).is_empty(), "{format}");
    }
}

/// A thread that begins in the recording has not waited before; one that exits while it waits, or whose events were lost, is counted.
#[test]
fn switch_records_use_the_latest_sample() {
    let directory = tempfile::tempdir().unwrap();
    let (mut recording, event) = sampled();
    recording.fork(Stamp::at(BEGIN + 1000, 100, 100), 100, 102);
    record(&mut recording, 2, 102, Misc::empty());
    sample(&mut recording, event, 5, 100, LIBC);
    sample(&mut recording, event, 6, 102, APP);
    record(&mut recording, 10, 100, Misc::SWITCH_OUT);
    record(&mut recording, 15, 102, Misc::SWITCH_OUT | Misc::SWITCH_OUT_PREEMPT);
    record(&mut recording, 25, 100, Misc::empty());
    record(&mut recording, 30, 102, Misc::empty());
    // Not sampled since.
    record(&mut recording, 31, 100, Misc::SWITCH_OUT);
    recording.record(Misc::empty(), Body::Lost(Lost { id: 0, lost: 3 }), Stamp::at(BEGIN + 32_000, 100, 100));
    record(&mut recording, 33, 101, Misc::SWITCH_OUT);
    record(&mut recording, 35, 102, Misc::SWITCH_OUT);
    record(&mut recording, 38, 100, Misc::empty());
    record(&mut recording, 39, 101, Misc::empty());
    recording.exit(Stamp::at(BEGIN + 40_000, 100, 102));
    let input = written(directory.path(), &recording);
    let (text, messages) = folded(&input, &["--off-cpu", "--labels", "comm,state"]);
    let expected = "app;state blocked;[libc.so] 22000\n\
                    app;state blocked;[unknown] 6000\n\
                    app;state preempted;[app] 15000\n";
    assert_eq!(text, expected, "{messages}");
    for message in [
        "time off the CPU: 0.000043 s in 4 waits\n",
        "waits during which events were lost, so that the thread may have run in between: 1 (0.000007 s)",
        "because it was not sampled since it began to run: 1;",
        "waits without a stack, because their thread was not sampled before: 1",
        "2 samples in, 4 out, 0 dropped",
    ] {
        assert!(messages.contains(message), "{message}: {messages}");
    }
}

#[test]
fn recorded_waits_are_used_instead_of_switches() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("off.data");
    let direct = Path::new(env!("CARGO_MANIFEST_DIR")).join("roundtrip/reports/offcpu-direct/off.jsonl");
    succeed(perfconv().arg(direct).arg("-o").arg(&path));
    let (text, _) = folded(&path, &["--off-cpu"]);
    let sum: u64 = text.lines().map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum();
    assert_eq!((sum, text.contains("swapper")), (2_000_000_000, false), "{text}");
}

/// Two threads run from 10 to 20 us, one before and after.
#[test]
fn latency_divides_by_the_running_threads() {
    let directory = tempfile::tempdir().unwrap();
    let (mut recording, event) = sampled();
    record(&mut recording, 0, 100, Misc::empty());
    sample(&mut recording, event, 5, 100, APP);
    record(&mut recording, 10, 101, Misc::empty());
    sample(&mut recording, event, 12, 100, APP);
    sample(&mut recording, event, 15, 101, LIBC);
    record(&mut recording, 20, 101, Misc::SWITCH_OUT);
    sample(&mut recording, event, 25, 100, APP);
    let input = written(directory.path(), &recording);
    let (text, messages) = folded(&input, &["--weight", "latency"]);
    assert_eq!(text, "app;[app] 2500000\nworker;[libc.so] 500000\n", "{messages}");
    assert!(messages.contains("samples by number of running threads: 1: 50.0 %, 2: 50.0 %"), "{messages}");
    let (text, _) = folded(&input, &["--weight", "latency", "--labels", "parallelism"]);
    let expected = "parallelism 1;[app] 2000000\nparallelism 2;[app] 500000\nparallelism 2;[libc.so] 500000\n";
    assert_eq!(text, expected);
    let run = run(perfconv().arg(&input).args(["-t", "folded", "--labels", "parallelism", "-o", "-"]));
    assert!(run.status == 1 && run.stderr.contains("samples have no label 'parallelism'"), "{}", run.stderr);
    let run = succeed(perfconv().arg(&input).args(["-t", "pprof", "--weight", "latency", "-o", "-"]));
    let profile = decode(&run.stdout);
    let types: Vec<_> = profile.sample_type.iter().map(|kind| column(&profile, kind)).collect();
    let expected = [("cpu-clock_samples", "count"), ("cpu-clock", "nanoseconds")];
    assert_eq!(types, [expected, [("latency_samples", "count"), ("latency", "nanoseconds")]].concat());
    let sums = profile.sample.iter().fold([0, 0], |[periods, latency], s| [periods + s.value[1], latency + s.value[3]]);
    assert_eq!(sums, [4_000_000, 3_000_000]);
}

/// In recordings of all CPUs, other processes do not count. Fractions add up.
#[test]
fn latency_from_tracepoints_is_by_process() {
    let directory = tempfile::tempdir().unwrap();
    let mut recording = two_threads();
    let clock = recording.event(Event::named("cpu-clock").unwrap().period(1_000_001));
    recording.process(200, "other");
    for (time, pid, tid, ip) in [(45, 100, 100, APP), (75, 100, 100, APP), (75, 100, 101, LIBC), (76, 200, 200, APP)] {
        let time = Some(BEGIN + 1000 * time);
        recording.sample(clock, Sample { ip: Some(ip), task: Some((pid, tid)), time, ..Sample::default() });
    }
    let input = written(directory.path(), &recording);
    let (text, messages) = folded(&input, &["--weight", "latency", "--event", "cpu-clock"]);
    assert_eq!(text, "app;[app] 1500001\nother;[unknown] 1000001\nworker;[libc.so] 500001\n", "{messages}");
}

/// As [`two_threads`]; thread 100 wakes 101 at 45 us.
#[test]
fn scheduling_of_threads() {
    let directory = tempfile::tempdir().unwrap();
    let mut recording = two_threads();
    let format = Tracepoint::new("sched", "sched_waking").field("char comm[16]", 16, false).field("pid_t pid", 4, true);
    let waking = recording.event(Event::named("sched:sched_waking").unwrap().formatted(format));
    let own = [&[0; 16][..], &101_u32.to_le_bytes()].concat();
    let raw = Some(Raw { data: Tracepoint::raw(2, 100, &own, Endian::Little) });
    let (task, time) = (Some((100, 100)), Some(BEGIN + 45_000));
    recording.sample(waking, Sample { ip: Some(APP), task, time, cpu: Some((1, 0)), raw, ..Sample::default() });
    let input = written(directory.path(), &recording);
    let report = |args: &[&str]| {
        let run = succeed(perfconv().arg("report").arg(&input).args(["--sched", "--symbols", "no", "-q"]).args(args));
        String::from_utf8(run.stdout).unwrap()
    };
    let expected = "\
comm,pid,tid,switches,running_ns,blocked_ns,uninterruptible_ns,preempted_ns,delayed_ns,worst_delay_ns,worst_delay_end_ns
worker,100,101,2,45000,40000,0,0,15000,15000,1060000
app,100,100,4,40000,30000,5000,20000,0,20000,1070000
";
    assert_eq!(report(&["--csv"]), expected);
    let expected = "\
2 threads: 0.085 ms on the CPU in 0.095 ms
  running ms   blocked ms  uninterruptible  preempted ms   delayed ms  switches   worst delay ms at s  thread
       0.045        0.040            0.000         0.000        0.015         2        0.015 0.001060  worker 100/101  in [libc.so] < [app]
       0.040        0.030            0.005         0.020        0.000         4        0.020 0.001070  app 100/100  in [app] < [app]

who woke whom
   wakeups  threads
         1  app 100/100 -> worker 100/101
";
    assert_eq!(report(&[]), expected);
    assert!(report(&["--limit", "1"]).contains("1 more; choose another limit with --limit"));
}

/// The questions `waits` and `scheduling` of an agent.
#[test]
fn agents_ask_where_threads_waited() {
    let directory = tempfile::tempdir().unwrap();
    let input = written(directory.path(), &two_threads());
    let questions = [
        question("waits", json!({})),
        question("waits", json!({ "group_by": "comm,state" })),
        question("scheduling", json!({})),
    ];
    let answers = answers(&mut server(&[&input]), &questions);
    let entries = |index: usize| {
        let (text, is_error) = text(&answers[index]);
        assert!(!is_error && text.len() <= 4000, "{text}");
        let answer: Value = serde_json::from_str(text).expect("JSON");
        answer["entries"].as_array().expect("entries").clone()
    };
    let waits = entries(0);
    let blocked = waits.iter().find(|entry| entry["sym"] == "[libc.so]" && entry["state"] == "blocked");
    assert_eq!(blocked.map(|entry| &entry["self"]["value"]), Some(&json!(70_000)), "{waits:?}");
    assert!(entries(1).iter().any(|entry| entry["comm"] == "app" && entry["state"] == "uninterruptible"));
    assert_eq!((entries(2).len(), &entries(2)[0]["blocked_ns"]), (2, &json!(40_000)));
}

#[test]
fn recordings_without_switches_have_neither_waits_nor_latency() {
    let directory = tempfile::tempdir().unwrap();
    let (mut recording, event) = sampled();
    sample(&mut recording, event, 5, 100, APP);
    let input = written(directory.path(), &recording);
    let report = run(perfconv().arg("report").arg(&input).arg("--sched"));
    assert!(report.status == 1 && report.stderr.contains("does not show when threads wait"), "{}", report.stderr);
    for (args, hint) in [(&["--off-cpu"][..], "perf record --off-cpu"), (&["--weight", "latency"], "--switch-events")] {
        let run = run(perfconv().arg(&input).args(["-t", "folded", "-o", "-"]).args(args));
        assert_eq!(run.status, 1, "{}", run.stderr);
        assert!(run.stderr.contains(hint), "{}", run.stderr);
    }
}

/// Filters select waits by the sample with which they begin; the switches that end them are of other threads, or later.
#[test]
fn filters_select_waits_by_their_begin() {
    let directory = tempfile::tempdir().unwrap();
    let input = written(directory.path(), &two_threads());
    for (filter, expected) in [
        (["--tid", "100"], "app;[app];[app] 20000\napp;[app];[libc.so] 35000\n"),
        (["--comm", "worker"], "app;[app];[libc.so] 40000\n"),
        (["--time", "0.001,0.001045"], "app;[app];[libc.so] 70000\n"),
        (["--cpu", "1"], "app;[app];[app] 20000\napp;[app];[libc.so] 45000\n"),
    ] {
        let (text, messages) = folded(&input, &[&["--off-cpu", "--labels", "comm"][..], &filter].concat());
        assert_eq!(text, expected, "{filter:?}: {messages}");
        assert!(messages.contains("0.000095 s in 4 waits") && messages.contains("of these\n"), "{messages}");
    }
    // The library does the same.
    let folded = perfconv::Recording::open(&input).unwrap();
    let weight = perfconv::profile::weight::SampleWeight::OffCpu;
    let filter = perfconv::rewrite::filter::comm::Comm::new(["worker".to_owned()]);
    let path = directory.path().join("out.folded");
    folded.convert().weight(weight).labels([]).apply(filter).write(&path).unwrap();
    assert_eq!(fs::read_to_string(path).unwrap(), "[app];[libc.so] 40000\n");
    let report = |filter: [&str; 2]| {
        let args = ["--sched", "--csv", "--symbols", "no", "-q"];
        let run = succeed(perfconv().arg("report").arg(&input).args(args).args(filter));
        String::from_utf8(run.stdout).unwrap().lines().skip(1).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(report(["--tid", "101"]), ["worker,100,101,2,45000,40000,0,0,0,,"]);
    // Thread 100 stopped once until then: it ran for 10 us, and was blocked for 30 us.
    let expected = ["worker,100,101,1,15000,40000,0,0,0,,", "app,100,100,1,10000,30000,0,0,0,,"];
    assert_eq!(report(["--time", "0.001,0.001045"]), expected);
}

/// Samples that filters do not select still show what ran.
#[test]
fn filters_keep_the_latency_of_samples() {
    let directory = tempfile::tempdir().unwrap();
    let (mut recording, event) = sampled();
    record(&mut recording, 0, 100, Misc::empty());
    record(&mut recording, 10, 101, Misc::empty());
    sample(&mut recording, event, 12, 100, APP);
    sample(&mut recording, event, 15, 101, LIBC);
    // Of a thread without samples.
    record(&mut recording, 20, 102, Misc::SWITCH_OUT);
    record(&mut recording, 22, 101, Misc::SWITCH_OUT);
    record(&mut recording, 30, 102, Misc::empty());
    record(&mut recording, 32, 101, Misc::empty());
    let input = written(directory.path(), &recording);
    let (text, messages) = folded(&input, &["--weight", "latency", "--comm", "worker"]);
    assert_eq!(text, "worker;[libc.so] 500000\n", "{messages}");
    let (text, messages) = folded(&input, &["--off-cpu", "--tid", "101"]);
    assert_eq!(text, "worker;state blocked;[libc.so] 10000\n", "{messages}");
    assert!(messages.contains("filters do not select 1 of these"), "{messages}");
}

#[test]
fn what_is_measured_excludes_other_options() {
    let recording = crate::common::files::fixture("callgraph.data");
    for other in ["--search=x", "--off-cpu", "--weight=samples"] {
        let run = run(perfconv().arg("report").arg(&recording).args(["--sched", other]));
        assert!(run.status == 2 && run.stderr.contains("cannot be used with"), "{other}: {}", run.stderr);
    }
}

#[test]
fn fields_of_samples_and_tracepoints_are_values() {
    let directory = tempfile::tempdir().unwrap();
    let mut recording = RecordingBuilder::new();
    let format = Tracepoint::new("kmem", "kmalloc").field("size_t bytes_alloc", 8, false).field("long ret", 8, true);
    let event = recording.event(Event::named("kmem:kmalloc").unwrap().formatted(format));
    let loads = recording.event(Event::named("cycles").unwrap().with(SampleType::WEIGHT));
    add_process(&mut recording);
    for (time, ip, bytes, ret) in [(1, APP, 64_u64, 5_i64), (2, LIBC, 4096, -14), (3, APP, 32, 7)] {
        let own = [bytes.to_le_bytes(), ret.to_le_bytes()].concat();
        let raw = Some(Raw { data: Tracepoint::raw(1, 100, &own, Endian::Little) });
        let time = Some(BEGIN + time);
        recording.sample(event, Sample { ip: Some(ip), task: Some((100, 100)), time, raw, ..Sample::default() });
    }
    let weighted = Sample { ip: Some(APP), task: Some((100, 100)), time: Some(BEGIN + 9), ..Sample::default() };
    recording.sample(loads, Sample { weight: Some(Weight(31)), ..weighted });
    let input = written(directory.path(), &recording);
    let (text, messages) = folded(&input, &["--weight", "bytes_alloc"]);
    assert_eq!(text, "app;[app] 96\napp;[libc.so] 4096\n");
    assert!(messages.contains("bytes_alloc: omitted samples of events without it: 1"), "{messages}");
    let (text, messages) = folded(&input, &["--weight", "ret"]);
    assert_eq!(text, "app;[app] 12\n");
    assert!(messages.contains("ret: omitted samples in which it is negative: 1"), "{messages}");
    let (text, _) = folded(&input, &["--weight", "weight"]);
    assert_eq!(text, "app;[app] 31\n");
    let bytes = succeed(perfconv().arg(&input).args(["-t", "pprof", "--weight", "bytes_alloc", "-o", "-"]));
    let profile = decode(&bytes.stdout);
    let types: Vec<_> = profile.sample_type.iter().map(|kind| column(&profile, kind)).collect();
    assert_eq!(types, [("samples", "count"), ("bytes_alloc", "bytes")]);
    let run = run(perfconv().arg(&input).args(["-t", "pprof", "--weight", "colour", "-o", "-"]));
    let message =
        "samples have no numeric field 'colour'; expected one of: period, samples, latency, bytes_alloc, ret, weight";
    assert!(run.status == 1 && run.stderr.contains(message), "{}", run.stderr);
}
