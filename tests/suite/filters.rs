//! Filters: which records they keep, and what they reject.

use crate::common::files::{corpus, fixture, has_corpus};
use crate::common::filters::{Records, broken_rules, of_type, records};
use crate::common::perf_script::script_by_perfconv;
use crate::common::program::rewrite;
use crate::common::program::{perfconv, profile, run, succeed};
use perf_data::abi::feature::FeatureId;
use perf_data::abi::record::RecordType;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

#[test]
fn events_are_given_as_a_list() {
    let dir = tempfile::tempdir().expect("a directory");
    let filter_events = |options: &[&str]| {
        let output = dir.path().join("out.data");
        succeed(perfconv().arg(fixture("tracepoints.data")).args(options).args(["-f", "-o"]).arg(&output));
        fs::read(output).expect("the file should have been written")
    };
    let list = filter_events(&["--event", "sched:sched_switch, sched:sched_wakeup"]);
    assert_eq!(list, filter_events(&["--event", "sched:sched_switch", "--event", "sched:sched_wakeup"]));
    assert!(list != filter_events(&["--event", "sched:sched_switch"]) && list != filter_events(&[]));
    let rejected = run(perfconv().arg(fixture("tracepoints.data")).args(["--event", "a,", "-o", "x.data"]));
    assert!(rejected.status == 2 && rejected.stderr.contains("empty event name"), "{}", rejected.stderr);
}

#[test]
fn filters_work_in_every_container_and_format() {
    let cases = [
        ("callgraph.data", "--time", "10%/2"),
        ("pipe.data", "--time", "0%-50%"),
        ("compressed.data", "--time", "20%-40%"),
        ("pipe-compressed.data", "--head", "7"),
        ("big-endian.data", "--head", "3"),
        ("big-endian.data", "--sample-every", "2"),
        ("threads.dir", "--sample-every", "3"),
        ("threads-compressed.dir", "--head", "9"),
        ("two-events.data", "--event", "task-clock"),
        ("system-wide.data", "--cpu", "0"),
        ("pipe-tracepoints.data", "--sample-every", "5"),
        ("forks.data", "--head", "4"),
        ("killed.data", "--head", "5"),
    ];
    for (name, option, value) in cases {
        let dir = tempfile::tempdir().unwrap();
        let samples = |label: &str, ending: &str, args: &[&str]| {
            let output = dir.path().join(format!("{label}{ending}"));
            let args = [&[option, value, "-o"][..], args].concat();
            let converted = run(perfconv().arg(fixture(name)).args(args).arg(&output));
            // The last -o of the arguments takes effect.
            assert_eq!(converted.status, 0, "{name} {label}: {}", converted.stderr);
            let restored = dir.path().join(format!("{label}.restored.data"));
            rewrite(&output, &restored, &["--decompress"]).unwrap_or_else(|e| panic!("{name} {label}: {e}"));
            let (_, all) = records(&restored).unwrap_or_else(|e| panic!("{name} {label}: {e}"));
            of_type(&all, RecordType::SAMPLE).into_iter().map(<[u8]>::to_vec).collect::<Vec<_>>()
        };
        let filtered = samples("here", ".data", &[]);
        let (_, before) = records(&fixture(name)).unwrap();
        let before = of_type(&before, RecordType::SAMPLE).len();
        assert!(!filtered.is_empty() && filtered.len() < before, "{name}: {} of {before} samples", filtered.len());
        for ending in [".pb_data", ".jsonl", ".json"] {
            assert!(samples("format", ending, &[]) == filtered, "{name}{ending}: other samples");
        }
    }
    note!("{} filters of fixtures give the same samples as perf.data, PerfDataProto, JSON Lines and JSON", cases.len());
}

#[test]
fn aux_areas_are_kept_with_a_valid_index_or_dropped_with_their_event() {
    if !has_corpus("AUX areas") {
        return;
    }
    let trace = corpus().into_iter().find(|recording| recording.name.ends_with("perf.data.intel_pt-4.14"));
    let trace = trace.expect("it should be listed").path;
    let dir = tempfile::tempdir().unwrap();
    let restored = dir.path().join("restored.data");
    for (args, pieces) in [(["--event", "intel_pt"], 2), (["--event", "cycles"], 0), (["--head", "3"], 2)] {
        for ending in [".data", ".pb_data", ".jsonl"] {
            let output = dir.path().join(format!("out{ending}"));
            succeed(perfconv().arg(&trace).args(["-f", "-q", "-o"]).arg(&output).args(args));
            rewrite(&output, &restored, &[]).unwrap();
            let (meta, records) = records(&restored).unwrap();
            assert_eq!(of_type(&records, RecordType::AUXTRACE).len(), pieces, "{args:?} {ending}");
            assert_eq!(meta.features.contains_key(&FeatureId::AUXTRACE), pieces > 0, "{args:?} {ending}");
            assert_eq!(broken_rules(&restored), BTreeSet::new(), "{args:?} {ending}");
        }
    }
}

#[test]
fn profile_with_filters_equals_profile_of_filtered_recording() {
    let dir = tempfile::tempdir().unwrap();
    let (data, through, of_filtered) =
        (dir.path().join("x.data"), dir.path().join("a.pb.gz"), dir.path().join("b.pb.gz"));
    for (name, args) in [
        ("callgraph.data", &["--time", "10%/2"][..]),
        ("forks.data", &["--sample-every", "2"]),
        ("pipe.data", &["--head", "5"]),
        ("callgraph.data", &["--head", "50", "--labels", "timestamp_ns"]),
    ] {
        let to_profile = |input: &Path, output: &Path, args: &[&str]| {
            succeed(perfconv().arg(input).args(["-f", "-q", "-o"]).arg(output).args(args));
            profile(output)
        };
        rewrite(&fixture(name), &data, &args[..2]).unwrap();
        let ours = to_profile(&fixture(name), &through, args);
        let theirs = to_profile(&data, &of_filtered, &args[2..]);
        assert!(!ours.sample.is_empty(), "{name}");
        assert!(ours == theirs, "{name}: profiles differ");
    }
    // Each filter sees the output of those before it, including event filters.
    for (args, out) in [
        (&["--event", "task-clock", "--head", "4"][..], " in, 4 out, 0 dropped"),
        (&["--head", "4", "--event", "task-clock"], " in, 2 out, 0 dropped"),
    ] {
        let run = run(perfconv().arg(fixture("two-events.data")).args(["-f", "-o"]).arg(&through).args(args));
        assert!(run.stderr.contains(out), "{args:?}: {}", run.stderr);
    }
    for args in [&["--type", "SAMPLE"][..], &["--event", "cpu-clock", "--keep-attrs"], &["--sort"]] {
        let run = run(perfconv().arg(fixture("callgraph.data")).args(["-f", "-o"]).arg(&through).args(args));
        assert_eq!((run.status, run.stderr.contains("cannot be used with format pprof")), (2, true), "{}", run.stderr);
    }
}

#[test]
fn type_filter_keeps_those_types_and_metadata() {
    let dir = tempfile::tempdir().unwrap();
    let output = dir.path().join("out.data");
    rewrite(&fixture("lost.data"), &output, &["--type", "SAMPLE", "--type", "LOST"]).unwrap();
    let (before, after) = (records(&fixture("lost.data")).unwrap().1, records(&output).unwrap().1);
    for kind in [RecordType::SAMPLE, RecordType::LOST, RecordType::FINISHED_ROUND] {
        assert!(!of_type(&after, kind).is_empty(), "{kind}");
        assert_eq!(of_type(&before, kind), of_type(&after, kind), "{kind}");
    }
    for kind in [RecordType::MMAP, RecordType::MMAP2, RecordType::COMM] {
        assert!(of_type(&after, kind).is_empty(), "{kind}");
    }
}

#[test]
fn rejects_unmatched_filters_before_writing() {
    let dir = tempfile::tempdir().unwrap();
    let output = dir.path().join("out.data");
    for (name, args, expected) in [
        (
            "callgraph.data",
            &["--pid", "1"][..],
            "callgraph.data: --pid: no samples of process 1; all samples are of process ",
        ),
        ("pipe.data", &["--tid", "1"], "--tid: no samples of thread 1; "),
        (
            "callgraph.data",
            &["--comm", "nobody"],
            "--comm: no samples of thread name 'nobody'; all samples are of thread name 'loop-pie",
        ),
        ("system-wide.data", &["--cpu", "900"], "--cpu: no samples of CPU 900; "),
        ("callgraph.data", &["--cpu", "0"], "callgraph.data: --cpu: 377 samples do not record a CPU"),
        (
            "callgraph.data",
            &["--dso", "nothing.so"],
            "--dso: no samples of file 'nothing.so'; there are samples of 3 files: '",
        ),
        (
            "two-events.data",
            &["--event", "cycles"],
            "--event: unknown event 'cycles'; expected one of: cpu-clock, task-clock",
        ),
        ("callgraph.data", &["--type", "LOST"], "--type: the recording has no LOST records; its types are: MMAP, COMM"),
        ("callgraph.data", &["--strip-user-stack"], "no event samples user stacks"),
        ("callgraph.data", &["--sched-stat"], "the recording has no sched:sched_switch; its events are: cpu-clock"),
        (
            "forks.data",
            &["--head", "1", "--sample-every", "2", "--tid", "1"],
            "--tid: no samples of thread 1; all samples are of thread ",
        ),
    ] {
        let run = run(perfconv().arg(fixture(name)).arg("-o").arg(&output).args(args));
        assert_eq!((run.status, run.stderr.contains(expected)), (1, true), "{args:?}: {}", run.stderr);
        assert!(!output.exists(), "{args:?}: an output was written");
    }
    let late = run(perfconv().arg(fixture("callgraph.data")).arg("-o").arg(&output).args(["--time", "1,2", "-f"]));
    let warning = "perfconv: warning: --time: no samples from 1 to 2; samples are from ";
    assert!(late.status == 0 && late.stderr.starts_with(warning), "{}", late.stderr);
    fs::remove_file(&output).unwrap();
    for (args, expected) in [
        (&["--time", "2,1"][..], "ends before it starts"),
        (&["--time", "1"], "'1' is not START,STOP"),
        (&["--time", "90%-110%"], "not between 0% and 100%"),
        (&["--time", "1,2", "--time", "3,4"], "cannot be used multiple times"),
        (&["--cpu", "3-1"], "3 is greater than 1"),
        (&["--pid", "x"], "'x' is not a process or thread ID"),
        (&["--sample-every", "0"], "expected a number of at least 1"),
        (&["--head", "0"], "expected a number of at least 1"),
        (&["--keep-attrs"], "--event"),
        (&["--type", "SAMPEL"], "unknown record type 'SAMPEL'; did you mean 'SAMPLE'? expected one of: "),
    ] {
        let run = run(perfconv().arg(fixture("callgraph.data")).arg("-o").arg(&output).args(args));
        assert_eq!((run.status, run.stderr.contains(expected)), (2, true), "{args:?}: {}", run.stderr);
    }
}

#[test]
fn pid_filter_drops_records_of_other_processes() {
    let dir = tempfile::tempdir().unwrap();
    let output = dir.path().join("out.data");
    let pids = tasks(&fixture("system-wide.data"), "pid");
    let wanted = pids.iter().find(|pid| *pid != "0" && *pid != "-1").expect("a process");
    rewrite(&fixture("system-wide.data"), &output, &["--pid", wanted]).unwrap();
    let (before, after) = (records(&fixture("system-wide.data")).unwrap().1, records(&output).unwrap().1);
    let pid_of = |record: &&[u8]| u32::from_le_bytes(record[8..12].try_into().unwrap());
    let comms = |records: &Records| of_type(records, RecordType::COMM).iter().map(pid_of).collect::<BTreeSet<_>>();
    let (all, filter_events) = (comms(&before), comms(&after));
    assert!(
        filter_events.len() < all.len() && filter_events.contains(&wanted.parse().unwrap()),
        "{filter_events:?} of {all:?}"
    );
    let kernel_maps = |records: &Records| of_type(records, RecordType::MMAP).len();
    assert_eq!(kernel_maps(&before), kernel_maps(&after), "kernel mappings should be kept");
    let (before, after) =
        (fs::metadata(fixture("system-wide.data")).unwrap().len(), fs::metadata(&output).unwrap().len());
    assert!(after < before * 3 / 4, "{after} bytes of {before}");
}

#[test]
fn repeated_options_accumulate_values() {
    let dir = tempfile::tempdir().unwrap();
    let [once, twice] = ["once.data", "twice.data"].map(|name| dir.path().join(name));
    let tids = tasks(&fixture("system-wide.data"), "tid");
    let [first, second] = [0, 1].map(|nth| tids.iter().nth(nth).expect("two threads").as_str());
    rewrite(&fixture("system-wide.data"), &once, &["--tid", &format!("{first},{second}")]).unwrap();
    rewrite(&fixture("system-wide.data"), &twice, &["--tid", first, "--tid", second]).unwrap();
    assert!(fs::read(once).unwrap() == fs::read(twice).unwrap());
}

/// The processes or threads of the samples of a recording: `pid` or `tid`.
fn tasks(path: &Path, field: &str) -> BTreeSet<String> {
    let samples = script_by_perfconv(path, &format!("{field},time")).expect("samples");
    samples.iter().map(|sample| sample.line.split_whitespace().next().expect("an ID").to_owned()).collect()
}
