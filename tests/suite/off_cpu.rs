//! Samples of `perf record --off-cpu`.

use crate::common::program::{column, decode, perfconv, run, succeed};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A recording of perf 6.16 and newer: the raw data of `offcpu-time` describes the waits, the fields the thread that ran next.
fn direct() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("roundtrip/reports/offcpu-direct/off.jsonl")
}

/// The output of a conversion to standard output.
fn bytes(input: &Path, args: &[&str]) -> Vec<u8> {
    let run = succeed(perfconv().arg(input).args(args).args(["-o", "-"]).env("HOME", "/nonexistent"));
    run.stdout
}

fn converted(input: &Path, args: &[&str]) -> String {
    String::from_utf8(bytes(input, args)).unwrap()
}

/// Writes a recording to a file of the directory.
fn recording(directory: &Path, command: &mut Command) -> PathBuf {
    let path = directory.join("off.data");
    succeed(command.arg("-o").arg(&path));
    path
}

const WAITS: [&str; 4] = ["-t", "folded", "--event", "offcpu-time"];

/// The sum of folded counts, and whether all stacks start with this.
fn folded(text: &str, start: &str) -> (u64, bool) {
    let counts = text.lines().map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap());
    (counts.sum(), text.lines().all(|line| line.starts_with(start)))
}

#[test]
fn waits_replace_the_fields_of_direct_samples() {
    let dir = tempfile::tempdir().unwrap();
    let data = recording(dir.path(), perfconv().arg(direct()));
    assert_eq!(folded(&converted(&data, &WAITS), "app;"), (2_000_000_000, true));
    let json = converted(&data, &["-t", "perf-json", "--event", "offcpu-time"]);
    assert_eq!(json.matches("\"period\":200000000").count(), 10, "{json}");
    let text = converted(&data, &["-t", "perf-script", "--event", "offcpu-time", "-F", "comm,pid,tid,period,event,ip"]);
    assert_eq!(text.matches("app   100/100    200000000 offcpu-time:").count(), 10, "{text}");
    // Filters and splits see the same fields.
    for (args, expected) in [(["--pid", "100"], 2_000_000_000), (["--comm", "swapper"], 0)] {
        let filtered = dir.path().join("filtered.data");
        let run = run(perfconv().arg(&data).args(args).arg("-o").arg(&filtered).arg("-f"));
        assert!(run.status == 0 || expected == 0, "{args:?}: {}", run.stderr);
        if run.status == 0 {
            assert_eq!(folded(&converted(&filtered, &WAITS), "app;").0, expected, "{args:?}");
        }
    }
    // Lossless outputs keep the recorded bytes.
    let json = converted(&data, &["-t", "jsonl"]);
    let recorded = fs::read_to_string(direct()).unwrap();
    assert!(json == recorded.replace("\": ", "\":").replace(", ", ","), "other fields than recorded");
}

#[test]
fn anonymized_recordings_keep_waits_in_plain_fields() {
    let dir = tempfile::tempdir().unwrap();
    let data = recording(dir.path(), perfconv().arg(direct()).arg("--anonymize"));
    assert!(!converted(&data, &["-t", "jsonl"]).contains("\"RAW\""));
    let text = converted(&data, &WAITS);
    assert_eq!((folded(&text, "").0, text.contains("swapper")), (2_000_000_000, false), "{text}");
}

#[test]
fn samples_with_malformed_raw_data_are_used_as_recorded() {
    let dir = tempfile::tempdir().unwrap();
    let input = dir.path().join("off.jsonl");
    let text = fs::read_to_string(direct()).unwrap();
    let (before, after) = text.split_once("\"raw\": {\"data\": \"").unwrap();
    let rest = after.split_once('"').unwrap().1;
    // Only the process and the thread of the first wait.
    fs::write(&input, format!("{before}\"raw\": {{\"data\": \"ZAAAAGQAAAA=\"{rest}")).unwrap();
    let data = recording(dir.path(), perfconv().arg(&input));
    let run = run(perfconv().arg(&data).args(WAITS).args(["-o", "-"]));
    assert_eq!(folded(&String::from_utf8_lossy(&run.stdout), "").0, 1_800_000_001);
    assert!(
        run.stderr.contains("raw data of an off-CPU sample is malformed; the sample is used as recorded"),
        "{}",
        run.stderr
    );
}

/// Of perf 6.0 to 6.15, whose samples have no raw data.
#[test]
fn periods_of_waits_are_nanoseconds_in_every_format() {
    let dir = tempfile::tempdir().unwrap();
    let scenario = dir.path().join("off.toml");
    let text = "about = \"waits\"\nseed = 1\nduration = \"2s\"\n[[event]]\nname = \"cycles:P\"\nrate = 50\n[[event]]\nname = \"offcpu-time\"\nrate = 5\n\
                period = 200000000\nattr = { kind = 1, config = 10 }\n\
                [[program]]\npath = \"/bin/app\"\nfunctions = [\"main\"]\n\
                [[process]]\npid = 100\ncomm = \"app\"\nprograms = [\"/bin/app\"]\n[[process.thread]]\ncpu = 0\nstack = [{ percent = 100, frames = [\"main\"] }]\n";
    fs::write(&scenario, text).unwrap();
    let data = recording(dir.path(), perfconv().arg("synth").arg(&scenario));
    for (format, expected) in
        [("firefox", "\"weightType\":\"tracing-ms\""), ("speedscope", "\"unit\":\"nanoseconds\""), ("report", " ns")]
    {
        let text = converted(&data, &["-t", format, "--event", "offcpu-time"]);
        assert!(text.contains(expected), "{format}: {text}");
    }
    let profile = decode(&bytes(&data, &["-t", "pprof", "--event", "offcpu-time"]));
    let types: Vec<_> = profile.sample_type.iter().map(|of| column(&profile, of)).collect();
    assert_eq!(types, [("samples", "count"), ("offcpu-time", "nanoseconds")]);
}
