//! Samples by process, thread, pool of threads, CPU, cgroup and event.

use crate::common::files::fixture;
use crate::common::folded::{convert, stacks};
use crate::common::program::{perfconv, profile, run, succeed};
use std::collections::BTreeSet;
use std::fs;

/// Folded stacks of a fixture.
fn folded(name: &str, args: &[&str]) -> String {
    let run = convert(&fixture(name), &[&["-t", "folded", "--symbols", "no"], args].concat());
    assert_eq!(run.status, 0, "{args:?}: {}", run.stderr);
    String::from_utf8(run.stdout).expect("UTF-8")
}

/// The first frames of the stacks, as many as there are keys.
fn roots(name: &str, keys: &str) -> BTreeSet<String> {
    let text = folded(name, &["--group-by", keys]);
    let count = keys.split(',').count();
    stacks(&text).keys().map(|stack| stack.split(';').take(count).collect::<Vec<_>>().join(";")).collect()
}

#[test]
fn threads_of_a_pool_have_one_label() {
    let pools = folded("two-events.data", &["--labels", "thread_pool", "--event", "cpu-clock"]);
    let pools: BTreeSet<_> =
        stacks(&pools).keys().filter_map(|stack| Some(stack.split_once(';')?.0.to_owned())).collect();
    assert_eq!(Vec::from_iter(pools), ["child_é<N>", "forky", "worker-<N>"]);
}

#[test]
fn reports_group_by_pool_process_and_thread() {
    let report = |keys: &str| {
        let recording = fixture("two-events.data");
        let args = ["--sort", keys, "--symbols", "no", "--csv", "-q", "-i"];
        let run = run(perfconv().arg("report").args(args).arg(recording));
        assert_eq!(run.status, 0, "{}", run.stderr);
        String::from_utf8(run.stdout).expect("UTF-8")
    };
    let pools = report("comm_nodigit");
    assert!(pools.contains("worker-<N>") && !pools.contains("worker-1"), "{pools}");
    assert_eq!(pools, report("pool"));
    let tasks = report("program,process,thread");
    assert!(tasks.contains("forky,forky (203),worker-3 (208)"), "{tasks}");
    let cgroups =
        run(perfconv().arg("report").arg(fixture("cgroup.data")).args(["--sort", "cgroup", "--symbols", "no"]));
    assert!(String::from_utf8_lossy(&cgroups.stdout).contains("/demo"), "{cgroups:?}");
}

#[test]
fn keys_are_the_first_frames() {
    let expected = ["forky;forky (203);worker-<N>;worker-1 (206)", "forky;forky (203);worker-<N>;worker-2 (207)"];
    let tasks = roots("two-events.data", "program,process,pool,thread,event");
    for (task, event) in expected.iter().flat_map(|task| ["cpu-clock", "task-clock"].map(|event| (task, event))) {
        assert!(tasks.contains(&format!("{task};{event}")), "{tasks:?}");
    }
    let numbers = roots("system-wide.data", "cpu,pid,tid");
    assert!(numbers.iter().all(|frames| frames.starts_with("cpu ") && frames.contains(";pid ")), "{numbers:?}");
    assert_eq!(Vec::from_iter(roots("cgroup.data", "cgroup,comm")), ["/;loop", "/demo;loop"]);
    // The default first frame.
    assert_eq!(folded("callgraph.data", &["--group-by", "comm"]), folded("callgraph.data", &[]));
}

#[test]
fn grouped_stacks_have_the_counts_of_all_events() {
    let sum = |text: &str| stacks(text).values().sum::<u64>();
    let events = ["cpu-clock", "task-clock"].map(|event| sum(&folded("two-events.data", &["--event", event])));
    let grouped = folded("two-events.data", &["--group-by", "event"]);
    for (event, expected) in ["cpu-clock", "task-clock"].iter().zip(events) {
        let own: String =
            grouped.lines().filter(|line| line.starts_with(event)).map(|line| format!("{line}\n")).collect();
        assert_eq!(sum(&own), expected);
    }
    assert_eq!(sum(&grouped), events.iter().sum::<u64>());
    let image =
        convert(&fixture("two-events.data"), &["-t", "flamegraph", "--symbols", "no", "--group-by", "event,process"]);
    let image = String::from_utf8(image.stdout).expect("UTF-8");
    assert!(image.contains(">cpu-clock, task-clock<") && image.contains("<title>forky (203) ("), "{image}");
}

#[test]
fn keys_that_stacks_cannot_have_are_rejected() {
    for (args, status, expected) in [
        (&["--group-by", "process"][..], 1, "or a frame for each with --group-by event"),
        (&["--group-by", "event,cgroup"], 1, "samples have no 'cgroup', by which stacks are grouped"),
        (&["--group-by", "event,sym"], 1, "stacks cannot be grouped by 'sym'; expected one of: comm, comm_nodigit"),
        (&["--group-by", "event", "--labels", "pid"], 2, "cannot be used with"),
        (&["--group-by", "color"], 2, "invalid value 'color'"),
    ] {
        for format in ["folded", "flamegraph"] {
            let run = convert(&fixture("two-events.data"), &[&["-t", format], args].concat());
            assert!(run.status == status && run.stderr.contains(expected), "{args:?}: {}", run.stderr);
        }
    }
}

#[test]
fn cgroups_have_the_names_of_a_file() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let file = directory.path().join("names");
    let map = format!("cgroup={}", file.display());
    fs::write(&file, "# by path and by ID\n\n/demo  web server\n1\troot\n").expect("a file");
    let folded = folded("cgroup.data", &["--group-by", "cgroup,comm", "--map", &map]);
    let stacks = stacks(&folded);
    let roots: BTreeSet<_> = stacks.keys().filter_map(|stack| stack.split(';').next()).collect();
    assert_eq!(Vec::from_iter(roots), ["root", "web server"]);
    let report =
        |args: &[&str]| run(perfconv().arg("report").arg(fixture("cgroup.data")).args(["--map", &map]).args(args));
    let sums = report(&["--sort", "cgroup", "--symbols", "no", "-q"]);
    assert!(String::from_utf8_lossy(&sums.stdout).contains("web server"), "{sums:?}");
    let output = directory.path().join("out.pb.gz");
    succeed(perfconv().arg(fixture("cgroup.data")).args(["--labels", "cgroup", "--map", &map, "-o"]).arg(&output));
    assert!(profile(&output).string_table.iter().any(|text| text == "web server"));
    let parts = directory.path().join("parts");
    succeed(
        perfconv()
            .arg(fixture("cgroup.data"))
            .args(["--split-by", "cgroup", "--map", &map, "-t", "folded", "-o"])
            .arg(&parts),
    );
    assert!(parts.join("web server.folded").is_file() || parts.join("web_server.folded").is_file(), "{parts:?}");

    fs::write(&file, "/demo web\n/\n").expect("a file");
    let invalid = report(&[]);
    assert!(
        invalid.status == 1 && invalid.stderr.contains("names: line 2: expected the path or ID of a cgroup"),
        "{invalid:?}"
    );
    for (value, expected) in
        [("cgroup=none", "no such file"), ("cgroup=.", "is a directory"), ("comm=x", "expected cgroup=FILE")]
    {
        let run = run(perfconv().arg("report").arg(fixture("cgroup.data")).args(["--map", value]));
        assert!(run.status == 2 && run.stderr.contains(expected), "{value}: {}", run.stderr);
    }
    let records = convert(&fixture("cgroup.data"), &["-t", "json", "--map", &map]);
    assert!(records.status == 2 && records.stderr.contains("--map does not apply to json"), "{}", records.stderr);
}
