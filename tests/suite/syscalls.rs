//! `report --syscalls`: system calls of recordings whose calls are known.

use crate::common::files::fixture;
use crate::common::program::{perfconv, run, succeed};
use perf_data::abi::Endian;
use perf_data::abi::sample::{Raw, Sample};
use perfconv::synth::{Event, RecordingBuilder, Tracepoint};
use std::fs;
use std::path::{Path, PathBuf};

/// Numbers on x86-64, and one that no system call has.
const READ: i64 = 0;
const OPENAT: i64 = 257;
const NONE: i64 = 9999;

const ENOENT: i64 = 2;

/// Entries and exits: microseconds, thread, system call, what an exit returns.
const EVENTS: [(u64, u32, i64, Option<i64>); 13] = [
    // Began before the recording.
    (1, 8, READ, Some(100)),
    (2, 7, OPENAT, None),
    (4, 7, OPENAT, Some(3)),
    (5, 7, READ, None),
    (6, 8, NONE, None),
    (7, 8, NONE, Some(0)),
    // Addresses are no errors.
    (9, 7, READ, Some(i64::MIN)),
    (10, 7, OPENAT, None),
    (16, 7, OPENAT, Some(-ENOENT)),
    // Its exit is lost.
    (17, 7, READ, None),
    (20, 7, OPENAT, None),
    (21, 7, OPENAT, Some(-ENOENT)),
    // Does not return.
    (22, 8, READ, None),
];

/// A recording of these with the events of `perf trace record`, or, with `has_names`, with those of single system calls.
fn recording(directory: &Path, has_names: bool) -> PathBuf {
    let mut recording = RecordingBuilder::new();
    let mut event = |group: &str, name: &str, field: &str| {
        let mut format = Tracepoint::new(group, name);
        if !has_names {
            format = format.field("long id", 8, true);
        }
        recording.event(Event::named(&format!("{group}:{name}")).unwrap().formatted(format.field(field, 8, true)))
    };
    let calls = [(READ, "read"), (OPENAT, "openat"), (NONE, "none")];
    let events = calls.map(|(_, name)| {
        [("sys_enter", "long flags"), ("sys_exit", "long ret")].map(|(kind, field)| match has_names {
            true => event("syscalls", &format!("{kind}_{name}"), field),
            false => event("raw_syscalls", kind, field),
        })
    });
    recording.thread(7, 7, "app").thread(7, 8, "worker");
    for (time, tid, number, result) in EVENTS {
        let id = if has_names { vec![] } else { number.to_le_bytes().to_vec() };
        let own = [id, result.unwrap_or(0).to_le_bytes().to_vec()].concat();
        let raw = Some(Raw { data: Tracepoint::raw(1, tid, &own, Endian::Little) });
        let (task, time) = (Some((7, tid)), Some(1_000_000 + 1000 * time));
        let call = calls.iter().position(|&(other, _)| other == number).unwrap();
        let event = events[call][usize::from(result.is_some())];
        recording.sample(event, Sample { ip: Some(0x1000), task, time, raw, ..Sample::default() });
    }
    let path = directory.join("in.data");
    fs::write(&path, recording.to_bytes().unwrap()).unwrap();
    path
}

#[test]
fn calls_have_their_times_and_errors() {
    let directory = tempfile::tempdir().unwrap();
    for (has_names, number) in [(false, "9999"), (true, "none")] {
        let input = recording(directory.path(), has_names);
        let report = |args: &[&str]| {
            let run = succeed(perfconv().arg("report").arg(&input).arg("--syscalls").args(args));
            (String::from_utf8(run.stdout).unwrap(), run.stderr)
        };
        let (table, messages) = report(&["--csv"]);
        let expected = format!(
            "comm,pid,tid,syscall,calls,errors,total_ns,min_ns,mean_ns,max_ns\n\
             app,7,7,openat,3,2,9000,1000,3000,6000\n\
             app,7,7,read,1,0,4000,4000,4000,4000\n\
             worker,7,8,{number},1,0,1000,1000,1000,1000\n\
             worker,7,8,read,1,0,,,,\n"
        );
        assert_eq!(table, expected, "{messages}");
        for message in [
            "system calls: 1 began before the recording, or while events were lost, and have no time\n",
            "system calls: 2 did not return in the recording, or while events were lost, and are not counted\n",
            "13 samples in",
        ] {
            assert!(messages.contains(message), "{message}: {messages}");
        }
        let (text, _) = report(&["-q", "--comm", "app"]);
        let expected = "\
app 7/7: 4 system calls, 0.013 ms
     calls   errors     total us       min us      mean us       max us      +-%  system call
         3        2        9.000        1.000        3.000        6.000    50.92  openat
         1        0        4.000        4.000        4.000        4.000     0.00  read
";
        assert_eq!(text, expected);
        let (text, _) = report(&["-q", "--limit", "1"]);
        assert!(text.contains("1 more; choose another limit with --limit\n"), "{text}");
        let json: serde_json::Value = serde_json::from_str(&report(&["-q", "--json"]).0).unwrap();
        assert_eq!((&json["entries"][0]["syscall"], &json["entries"][3]["total_ns"]), (&"openat".into(), &().into()));
    }
}

#[test]
fn recordings_without_exits_are_refused() {
    let run = run(perfconv().arg("report").arg(fixture("callgraph.data")).arg("--syscalls"));
    assert!(run.status == 1 && run.stderr.contains("perf trace record"), "{}", run.stderr);
}
