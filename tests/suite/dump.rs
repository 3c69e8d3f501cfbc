//! `perfconv dump` prints every record, with the requested parts.

use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use perf_data::abi::record::RecordType;
use perf_data::container::read::ReadOptions;
use perf_data::container::read::input::Input;
use perf_data::stream::Sink;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use perf_data::stream::source::Source;
use tempfile::tempdir;

use crate::common::files::{self, Recording, fixture};
use crate::common::program::{self, perfconv, run, succeed};

fn dump(name: &str, arguments: &[&str]) -> String {
    let run = succeed(perfconv().arg("dump").arg(fixture(name)).args(arguments));
    String::from_utf8(run.stdout).expect("the output should be UTF-8")
}

/// The first lines of records.
fn heads(text: &str) -> Vec<&str> {
    text.lines().filter(|line| !line.starts_with(' ')).collect()
}

/// Offset, type and size of each record, as the library streams them.
#[derive(Default)]
struct Records(Vec<(u64, RecordType, usize)>);

impl Sink for Records {
    fn record(&mut self, _: &Meta, raw: &Raw<'_>) -> perfconv::Result<()> {
        self.0.push((raw.offset(), raw.header().kind, raw.header().len()));
        Ok(())
    }
}

/// Compares a dump with the recording. Returns the number of records; `None` if none is readable.
fn check_dump(recording: &Recording) -> Result<Option<usize>, String> {
    let mut records = Records::default();
    let source = Source::open(Input::Path(recording.path.clone()), ReadOptions::default());
    if source.and_then(|source| source.run(&mut records)).is_err() {
        return Ok(None);
    }
    let run = run(perfconv().arg("dump").arg(&recording.path));
    let text = String::from_utf8(run.stdout).map_err(|error| error.to_string())?;
    if run.status != 0 {
        return Err(run.stderr);
    }
    let mut printed = heads(&text).into_iter().filter(|head| !head.contains("(no record)"));
    for (offset, kind, size) in &records.0 {
        let Some(head) = printed.next() else { return Err(format!("no {kind} at {offset:#x}")) };
        let mut words = head.split(' ');
        let offset_text = words.next().unwrap_or_default().rsplit(':').next().unwrap_or_default().trim_end_matches('+');
        let expected = (format!("{offset:#x}"), format!("{kind}"), format!("size={size}"));
        let printed_head =
            (offset_text.to_owned(), words.next().unwrap_or_default().to_owned(), words.next().unwrap_or_default());
        if printed_head != (expected.0, expected.1, &expected.2) {
            return Err(format!("{head} is printed for the {kind} of {size} bytes at {offset:#x}"));
        }
    }
    if let Some(more) = printed.next() {
        return Err(format!("{more} is printed, but is no record"));
    }
    Ok(Some(records.0.len()))
}

#[test]
fn prints_every_record_with_its_offset() {
    let recordings = files::recordings();
    let results = program::for_each(&recordings, check_dump);
    let (mut printed, mut records, mut failures) = (0, 0, Vec::new());
    for (recording, result) in recordings.iter().zip(results) {
        match result {
            Ok(Some(all)) => (printed, records) = (printed + 1, records + all),
            Ok(None) => {}
            Err(what) => failures.push(format!("{}: {what}", recording.name)),
        }
    }
    // Not with the print macros, whose output the test harness captures.
    let mut out = io::stderr().lock();
    writeln!(out, "dump: {records} records of {printed} of {} recordings; the others are unreadable", recordings.len())
        .unwrap();
    assert!(failures.is_empty(), "{} differ:\n{}", failures.len(), failures.join("\n"));
    let enough = if files::has_corpus("dump") { 500 } else { 20 };
    assert!(printed >= enough, "dumped only {printed} recordings, expected {enough}");
}

#[test]
fn fields_have_the_names_of_their_definitions() {
    let text = dump("group-read.data", &["--type", "sample", "--head", "1"]);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[..6],
        [
            "0x780 SAMPLE size=128 cpumode=KERNEL event=cpu-clock",
            "  ip: 0xffffd3ae11307178",
            "  task: {pid: 196, tid: 196}",
            "  time: 34891338944",
            "  id: 67",
            "  period: 10101010",
        ]
    );
    assert!(text.contains("    values: [{value: 11312656, id: 67, lost: 0}, "), "{text}");
    let text = dump("callgraph.data", &["--type", "COMM,PERF_RECORD_MMAP2"]);
    assert!(
        text.contains("\n0x1f8 COMM size=48 misc=[COMM_EXEC]\n  pid: 21998\n  tid: 21998\n  comm: loop-pie\n"),
        "{text}"
    );
    assert!(heads(&text).iter().all(|head| head.contains(" COMM ") || head.contains(" MMAP2 ")), "{text}");
    assert!(dump("pipe.data", &["--type", "80"]).contains("\n  feature: HOSTNAME\n  content: vm\n"));
}

#[test]
fn raw_prints_all_bytes() {
    let bytes = fs::read(fixture("plain.data")).unwrap();
    let text = dump("plain.data", &["--raw"]);
    let mut records = 0;
    let mut printed: Vec<u8> = Vec::new();
    let mut offset_text = None;
    let mut compare = |offset_text: Option<usize>, printed: &mut Vec<u8>| {
        if let Some(at) = offset_text {
            assert_eq!(bytes[at..at + printed.len()], printed[..], "at {at:#x}");
            assert!(printed.len() >= 8);
            records += 1;
        }
        printed.clear();
    };
    for line in text.lines() {
        if let Some(hex) = line.strip_prefix("  | ") {
            let hex = hex[4..].trim_start().split("  ").next().unwrap();
            printed.extend(hex.split(' ').map(|byte| u8::from_str_radix(byte, 16).unwrap()));
        } else if !line.starts_with(' ') {
            compare(offset_text, &mut printed);
            offset_text =
                line.strip_prefix("0x").map(|at| usize::from_str_radix(at.split(' ').next().unwrap(), 16).unwrap());
        }
    }
    compare(offset_text, &mut printed);
    assert_eq!(records, heads(&text).len());
}

#[test]
fn offset_and_head_select_a_range() {
    for offset in ["0x1f8", "0x1ff", "504", "0x227"] {
        let text = dump("callgraph.data", &["--offset", offset, "--head", "2"]);
        let heads: Vec<_> = heads(&text).iter().map(|head| head.split(' ').next().unwrap().to_owned()).collect();
        assert_eq!(heads, ["0x1f8", "0x228"], "{offset}");
    }
    assert!(dump("callgraph.data", &["--offset", "0xffffff"]).is_empty());
    let nothing = run(perfconv().arg("dump").arg(fixture("callgraph.data")).args(["--type", "READ"]));
    assert!(nothing.status == 0 && nothing.stderr.contains("no record"), "{}", nothing.stderr);
    for invalid in [["--type", "NO_SUCH"], ["--offset", "x"], ["--order", "size"]] {
        assert_eq!(run(perfconv().arg("dump").arg(fixture("callgraph.data")).args(invalid)).status, 2, "{invalid:?}");
    }
}

#[test]
fn order_time_sorts_records() {
    for name in ["system-wide.data", "threads.dir", "compressed.data"] {
        let times = |text: &str| -> Vec<u64> {
            text.lines().filter_map(|line| line.strip_prefix("  time: ")?.parse().ok()).collect()
        };
        let (in_file, in_time) =
            (times(&dump(name, &["--type", "SAMPLE"])), times(&dump(name, &["--type", "SAMPLE", "--order", "time"])));
        assert!(in_time.is_sorted() && !in_time.is_empty(), "{name}");
        let mut sorted = in_file;
        sorted.sort_unstable();
        assert_eq!(sorted, in_time, "{name}");
    }
}

#[test]
fn a_broken_pipe_ends_quietly() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_perfconv"));
    let child =
        child.arg("dump").arg(fixture("system-wide.data")).arg("--raw").stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = child.spawn().unwrap();
    let mut line = String::new();
    BufReader::with_capacity(64, child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr), (Some(141), Vec::new()));
    assert!(line.starts_with("0x"), "{line}");
}

#[test]
fn head_stops_reading_after_the_last_record() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("truncated.data");
    let bytes = fs::read(fixture("pipe-compressed.data")).unwrap();
    fs::write(&path, &bytes[..bytes.len() - 7]).unwrap();
    let complete = run(perfconv().arg("dump").arg(&path));
    assert!(complete.stderr.contains("warning"), "{}", complete.stderr);
    let head = run(perfconv().arg("dump").arg(&path).args(["--head", "40"]));
    assert_eq!((head.status, &*head.stderr), (0, ""));
    assert_eq!(heads(&String::from_utf8_lossy(&head.stdout)).len(), 40);
}

#[test]
fn an_offset_in_a_directory_names_a_file() {
    let all = dump("threads.dir", &[]);
    let of_one: Vec<&str> = heads(&all).into_iter().filter(|head| head.starts_with("data.0:")).collect();
    let from = of_one[of_one.len() / 2].split(' ').next().expect("it should begin with an offset");
    let printed = dump("threads.dir", &["--offset", from]);
    assert_eq!(heads(&printed), of_one[of_one.len() / 2..]);
    for (offset, what) in [
        ("100", "name one, such as data:N"),
        ("data.77:100", "unknown file 'data.77'; did you mean"),
        ("data:x", "expected a decimal number"),
    ] {
        let rejected = run(perfconv().arg("dump").arg(fixture("threads.dir")).args(["--offset", offset]));
        assert!(rejected.status == 2 && rejected.stderr.contains(what), "{offset}: {}", rejected.stderr);
    }
}
