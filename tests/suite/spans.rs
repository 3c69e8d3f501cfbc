//! `--span`: times between two events, of recordings whose spans are known.

use crate::common::program::{column, decode, perfconv, run, succeed};
use perf_data::abi::Endian;
use perf_data::abi::sample::{Raw, Sample};
use perfconv::synth::{Event, Map, RecordingBuilder, Tracepoint};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// Requests of block I/O, which another thread can complete: microseconds, whether it is the begin, thread, sector.
const REQUESTS: [(u64, bool, u32, u64); 8] = [
    (1, false, 7, 64),
    (2, true, 7, 8),
    (3, true, 8, 16),
    (7, false, 9, 8),
    // Issued again before it was completed.
    (9, true, 7, 32),
    (10, true, 7, 32),
    (13, false, 8, 16),
    (14, false, 7, 32),
];

fn recording(directory: &Path, requests: &[(u64, bool, u32, u64)]) -> PathBuf {
    let mut recording = RecordingBuilder::new();
    let events = ["block_rq_complete", "block_rq_issue"].map(|name| {
        let format = Tracepoint::new("block", name).field("sector_t sector", 8, false);
        recording.event(Event::named(&format!("block:{name}")).unwrap().formatted(format))
    });
    for tid in [7, 8, 9] {
        recording.thread(7, tid, &format!("io{tid}"));
    }
    recording.map(7, Map::new("/bin/app", 0x1000, 0x1000)).map(7, Map::new("/lib/libc.so", 0x9000, 0x1000));
    for &(time, is_begin, tid, sector) in requests {
        let raw = Some(Raw { data: Tracepoint::raw(1, tid, &sector.to_le_bytes(), Endian::Little) });
        let ip = Some(if is_begin { 0x1000 } else { 0x9000 });
        let (task, time) = (Some((7, tid)), Some(1_000_000 + 1000 * time));
        recording.sample(events[usize::from(is_begin)], Sample { ip, task, time, raw, ..Sample::default() });
    }
    let path = directory.join("in.data");
    fs::write(&path, recording.to_bytes().unwrap()).unwrap();
    path
}

fn folded(input: &Path, span: &str) -> (String, String) {
    let args = ["-t", "folded", "--symbols", "no", "-o", "-", "--span", span];
    let run = succeed(perfconv().arg(input).args(args));
    (String::from_utf8(run.stdout).unwrap(), run.stderr)
}

#[test]
fn spans_by_a_field_have_the_stack_of_their_begin() {
    let directory = tempfile::tempdir().unwrap();
    let input = recording(directory.path(), &REQUESTS);
    let span = "block:block_rq_issue..block:block_rq_complete,by=sector";
    let (text, messages) = folded(&input, span);
    assert_eq!(text, "io7;[app] 9000\nio8;[app] 10000\n", "{messages}");
    for message in [
        "3 spans: min 4.000, median 4.992, 99 % 9.984, max 10.000 us\n",
        "in no span: 1 begins without an end, 1 ends without a begin\n",
        "8 samples in, 3 out, 0 dropped",
    ] {
        assert!(messages.contains(message), "{message}: {messages}");
    }
    let profile = decode(&succeed(perfconv().arg(&input).args(["-t", "pprof", "-o", "-", "--span", span])).stdout);
    let types: Vec<_> = profile.sample_type.iter().map(|kind| column(&profile, kind)).collect();
    assert_eq!(types, [("samples", "count"), ("span", "nanoseconds")]);
}

/// Another thread completes the request.
#[test]
fn filters_select_spans_by_their_begin() {
    let directory = tempfile::tempdir().unwrap();
    let input = recording(directory.path(), &REQUESTS);
    let span = "block:block_rq_issue..block:block_rq_complete,by=sector";
    let args = ["-t", "folded", "--symbols", "no", "-o", "-", "--span", span, "--tid", "7"];
    let run = succeed(perfconv().arg(&input).args(args));
    assert_eq!(String::from_utf8(run.stdout).unwrap(), "io7;[app] 9000\n", "{}", run.stderr);
}

#[test]
fn spans_are_of_a_thread_by_default() {
    let directory = tempfile::tempdir().unwrap();
    let input = recording(directory.path(), &REQUESTS);
    let (text, messages) = folded(&input, "block:block_rq_issue..block:block_rq_complete");
    // Thread 7: from 10 to 14, the begins at 2 and 9 have none; thread 8: from 3 to 13.
    assert_eq!(text, "io7;[app] 4000\nio8;[app] 10000\n", "{messages}");
    assert!(messages.contains("in no span: 2 begins without an end, 2 ends without a begin"), "{messages}");
    // From one occurrence to the next.
    let (text, messages) = folded(&input, "block:block_rq_issue..block:block_rq_issue");
    assert_eq!(text, "io7;[app] 8000\n", "{messages}");
}

#[test]
fn unknown_events_and_fields_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let input = recording(directory.path(), &REQUESTS);
    for (span, message) in [
        ("block:block_rq_issue", "expected BEGIN..END, BEGIN..END,by=FIELD or BEGIN..END,arg=FIELD"),
        ("block:block_rq_issue..block:block_rq_complete,arg=size", "'block:block_rq_issue' with a field 'size'"),
        ("block:block_rq_issue..net:x", "the recording has no event 'net:x'; its events are: block:block_rq_complete"),
        ("block:block_rq_issue..block:block_rq_complete,by=size", "'block:block_rq_issue' with a numeric field 'size'"),
    ] {
        let run = run(perfconv().arg(&input).args(["-t", "folded", "-o", "-", "--span", span]));
        assert!(run.status != 0 && run.stderr.contains(message), "{span}: {} {}", run.status, run.stderr);
    }
}

/// The intervals of a Chrome trace: thread, name, begin, length or `None` if it is asynchronous, and fields.
fn chrome_slices(input: &Path, args: &[&str]) -> Vec<(u64, String, f64, Option<f64>, Value)> {
    let args: Vec<&str> = ["-t", "chrome", "--symbols", "no", "-o", "-"].iter().chain(args).copied().collect();
    let run = succeed(perfconv().arg(input).args(args));
    let trace: Value = serde_json::from_slice(&run.stdout).unwrap();
    let slices = trace["traceEvents"].as_array().unwrap().iter();
    let slices = slices.filter(|event| ["X", "b"].iter().any(|phase| event["ph"] == *phase));
    let slice = |event: &Value| {
        let (tid, name) = (event["tid"].as_u64().unwrap(), event["name"].as_str().unwrap().to_owned());
        (tid, name, event["ts"].as_f64().unwrap(), event["dur"].as_f64(), event["args"].clone())
    };
    slices.map(slice).collect()
}

#[test]
fn chrome_traces_have_spans_as_slices() {
    let directory = tempfile::tempdir().unwrap();
    let span = "block:block_rq_issue..block:block_rq_complete";
    let field = |sector: u64| json!({ "sector": sector.to_string() });
    let input = recording(directory.path(), &REQUESTS);
    let name = || span.to_owned();
    assert_eq!(
        chrome_slices(&input, &["--span", &format!("{span},by=sector")]),
        [
            (7, name(), 1002.0, Some(5.0), field(8)),
            (7, name(), 1010.0, Some(4.0), field(32)),
            (8, name(), 1003.0, Some(10.0), field(16)),
        ]
    );
    // One that overlaps the other is asynchronous.
    let input = recording(directory.path(), &[(1, true, 7, 8), (2, true, 7, 9), (3, false, 7, 8), (4, false, 7, 9)]);
    assert_eq!(
        chrome_slices(&input, &["--span", &format!("{span},by=sector")]),
        [(7, name(), 1001.0, Some(2.0), field(8)), (7, name(), 1002.0, None, field(9))]
    );
}

#[test]
fn firefox_profiles_have_spans_as_markers() {
    let directory = tempfile::tempdir().unwrap();
    let input = recording(directory.path(), &REQUESTS);
    let span = "block:block_rq_issue..block:block_rq_complete,by=sector";
    let args = ["-t", "firefox", "--symbols", "no", "-o", "-", "--span", span];
    let profile: Value = serde_json::from_slice(&succeed(perfconv().arg(&input).args(args)).stdout).unwrap();
    let strings = &profile["shared"]["stringArray"];
    let markers = |thread: &Value| {
        let markers = &thread["markers"];
        let times = |column: &str| markers[column].as_array().unwrap().iter().map(|time| time.as_f64().unwrap());
        let name = strings[markers["name"][0].as_u64().unwrap() as usize].as_str().unwrap().to_owned();
        let data = markers["data"].as_array().unwrap().iter();
        let fields: Vec<_> = data.map(|data| data["fields"].as_str().unwrap().to_owned()).collect();
        let lengths = times("endTime").zip(times("startTime")).map(|(end, start)| ((end - start) * 1e6).round() as u64);
        (thread["tid"].as_u64().unwrap(), name, lengths.collect::<Vec<_>>(), fields)
    };
    let threads: Vec<_> = profile["threads"].as_array().unwrap().iter().map(markers).collect();
    let name = || span.replace(",by=sector", "");
    let fields = |sectors: &[u64]| sectors.iter().map(|sector| format!("sector={sector}")).collect::<Vec<_>>();
    assert_eq!(threads, [(7, name(), vec![5000, 4000], fields(&[8, 32])), (8, name(), vec![10000], fields(&[16]))]);
}

/// The output of `report` with these arguments, without messages.
fn report(input: &Path, args: &[&str]) -> String {
    let run = succeed(perfconv().arg("report").arg(input).args(["-q", "--symbols", "no"]).args(args));
    String::from_utf8(run.stdout).unwrap()
}

#[test]
fn reports_have_lengths_by_stack_thread_and_argument() {
    let directory = tempfile::tempdir().unwrap();
    let input = recording(directory.path(), &REQUESTS);
    let span = "block:block_rq_issue..block:block_rq_complete,by=sector,arg=sector";
    let text = report(&input, &["--span", span, "--sort", "thread"]);
    let expected = "\
span: 3 samples, 19000 ns
  total     self   samples       min us   median us     99 % us      max us  thread
 52.63%   52.63%         1       10.000      10.000      10.000      10.000  io8 (8)
 47.37%   47.37%         2        4.000       4.000       4.992       5.000  io7 (7)

    from us       spans
      2.048           1  ####################
      4.096           1  ####################
      8.192           1  ####################
";
    let bars = text.replace(&"#".repeat(40), &"#".repeat(20));
    assert_eq!(bars, expected);
    let csv = report(&input, &["--span", span, "--sort", "argument,sym", "--csv"]);
    let lines: Vec<_> = csv.lines().map(|line| line.replace(",[app],", ",app,")).collect();
    assert_eq!(
        lines,
        [
            "of_event,argument,sym,total_samples,total_value,self_samples,self_value,min_ns,median_ns,p99_ns,max_ns",
            "span,16,app,1,10000,1,10000,10000,10000,10000,10000",
            "span,8,app,1,5000,1,5000,5000,5000,5000,5000",
            "span,32,app,1,4000,1,4000,4000,4000,4000,4000",
        ]
    );
    let json: Value = serde_json::from_str(&report(&input, &["--span", span, "--sort", "tid", "--json"])).unwrap();
    let histogram = [(2048, 1), (4096, 1), (8192, 1)].map(|(from, count)| json!({ "from_ns": from, "count": count }));
    let lengths = |min, median, p99, max| json!({ "min_ns": min, "median_ns": median, "p99_ns": p99, "max_ns": max });
    let mut expected = lengths(4000, 4992, 9984, 10000);
    expected["histogram"] = json!(histogram);
    assert_eq!(json["events"][0]["lengths"], expected);
    assert_eq!(json["entries"][1]["lengths"]["histogram"], json!(histogram[..2]));
    // Other reports have none.
    assert!(!report(&input, &["--sort", "thread"]).contains("median"));
}

#[test]
fn samples_have_the_argument_as_a_label() {
    let directory = tempfile::tempdir().unwrap();
    let input = recording(directory.path(), &REQUESTS);
    let span = "block:block_rq_issue..block:block_rq_complete,by=sector,arg=sector";
    let (text, _) = folded(&input, span);
    assert_eq!(text, "io7;argument 32;[app] 4000\nio7;argument 8;[app] 5000\nio8;argument 16;[app] 10000\n");
    let args = ["-t", "folded", "--symbols", "no", "-o", "-", "--labels", "argument", "--span", span];
    let run = succeed(perfconv().arg(&input).args(args));
    assert_eq!(
        String::from_utf8(run.stdout).unwrap(),
        "argument 16;[app] 10000\nargument 32;[app] 4000\nargument 8;[app] 5000\n"
    );
}
