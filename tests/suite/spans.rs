//! `--span`: times between two events, of recordings whose spans are known.

use crate::common::program::{column, decode, perfconv, run, succeed};
use perf_data::abi::Endian;
use perf_data::abi::sample::{Raw, Sample};
use perfconv::synth::{Event, Map, RecordingBuilder, Tracepoint};
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

fn recording(directory: &Path) -> PathBuf {
    let mut recording = RecordingBuilder::new();
    let events = ["block_rq_complete", "block_rq_issue"].map(|name| {
        let format = Tracepoint::new("block", name).field("sector_t sector", 8, false);
        recording.event(Event::named(&format!("block:{name}")).unwrap().formatted(format))
    });
    for tid in [7, 8, 9] {
        recording.thread(7, tid, &format!("io{tid}"));
    }
    recording.map(7, Map::new("/bin/app", 0x1000, 0x1000)).map(7, Map::new("/lib/libc.so", 0x9000, 0x1000));
    for (time, is_begin, tid, sector) in REQUESTS {
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
    let input = recording(directory.path());
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
    let input = recording(directory.path());
    let span = "block:block_rq_issue..block:block_rq_complete,by=sector";
    let args = ["-t", "folded", "--symbols", "no", "-o", "-", "--span", span, "--tid", "7"];
    let run = succeed(perfconv().arg(&input).args(args));
    assert_eq!(String::from_utf8(run.stdout).unwrap(), "io7;[app] 9000\n", "{}", run.stderr);
}

#[test]
fn spans_are_of_a_thread_by_default() {
    let directory = tempfile::tempdir().unwrap();
    let input = recording(directory.path());
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
    let input = recording(directory.path());
    for (span, message) in [
        ("block:block_rq_issue", "expected BEGIN..END or BEGIN..END,by=FIELD"),
        ("block:block_rq_issue..net:x", "the recording has no event 'net:x'; its events are: block:block_rq_complete"),
        ("block:block_rq_issue..block:block_rq_complete,by=size", "'block:block_rq_issue' with a numeric field 'size'"),
    ] {
        let run = run(perfconv().arg(&input).args(["-t", "folded", "-o", "-", "--span", span]));
        assert!(run.status != 0 && run.stderr.contains(message), "{span}: {} {}", run.status, run.stderr);
    }
}
