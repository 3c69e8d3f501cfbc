//! `perfconv dump` shows every record, and of each whatever was asked for.

use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use perfconv::abi::record::RecordType;
use perfconv::container::read::ReadOptions;
use perfconv::container::read::input::Input;
use perfconv::stream::Sink;
use perfconv::stream::meta::Meta;
use perfconv::stream::raw::Raw;
use perfconv::stream::source::Source;
use tempfile::tempdir;

use super::files::{self, Recording, fixture};
use super::program::{self, perfconv, run};

fn dump(name: &str, arguments: &[&str]) -> String {
    let run = run(perfconv().arg("dump").arg(fixture(name)).args(arguments));
    assert_eq!(run.status, 0, "{}", run.stderr);
    String::from_utf8(run.stdout).expect("what is shown is UTF-8")
}

/// The lines that begin records.
fn heads(text: &str) -> Vec<&str> {
    text.lines().filter(|line| !line.starts_with(' ')).collect()
}

/// Place, type and size of each record, as the library streams them.
#[derive(Default)]
struct Records(Vec<(u64, RecordType, usize)>);

impl Sink for Records {
    fn record(&mut self, _: &Meta, raw: &Raw<'_>) -> perfconv::Result<()> {
        self.0.push((raw.offset(), raw.header().kind, raw.header().len()));
        Ok(())
    }
}

/// How many records were compared; nothing where none can be read.
fn judge(recording: &Recording) -> Result<Option<usize>, String> {
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
    let mut shown = heads(&text).into_iter().filter(|head| !head.contains("(no record)"));
    for (offset, kind, size) in &records.0 {
        let Some(head) = shown.next() else { return Err(format!("there is no {kind} at {offset:#x}")) };
        let mut words = head.split(' ');
        let place = words.next().unwrap_or_default().rsplit(':').next().unwrap_or_default().trim_end_matches('+');
        let expected = (format!("{offset:#x}"), format!("{kind}"), format!("size={size}"));
        let found = (place.to_owned(), words.next().unwrap_or_default().to_owned(), words.next().unwrap_or_default());
        if found != (expected.0, expected.1, &expected.2) {
            return Err(format!("{head} is shown for the {kind} of {size} bytes at {offset:#x}"));
        }
    }
    if let Some(more) = shown.next() {
        return Err(format!("{more} is shown, and is no record"));
    }
    Ok(Some(records.0.len()))
}

#[test]
fn every_record_is_shown_where_it_is() {
    let recordings = files::recordings();
    let results = program::for_each(&recordings, judge);
    let (mut shown, mut records, mut failures) = (0, 0, Vec::new());
    for (recording, result) in recordings.iter().zip(results) {
        match result {
            Ok(Some(all)) => (shown, records) = (shown + 1, records + all),
            Ok(None) => {}
            Err(what) => failures.push(format!("{}: {what}", recording.name)),
        }
    }
    // Not through the macros, whose output the test harness hides when the test passes.
    let mut out = io::stderr().lock();
    writeln!(out, "dump: {records} records of {shown} of {} recordings; the others cannot be read", recordings.len())
        .unwrap();
    assert!(failures.is_empty(), "{} differ:\n{}", failures.len(), failures.join("\n"));
    let enough = if files::has_corpus("dump") { 500 } else { 20 };
    assert!(shown >= enough, "only {shown} of {enough} recordings were shown");
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
fn all_bytes_are_beside_the_fields() {
    let bytes = fs::read(fixture("plain.data")).unwrap();
    let text = dump("plain.data", &["--raw"]);
    let mut records = 0;
    let mut shown: Vec<u8> = Vec::new();
    let mut place = None;
    let mut compare = |place: Option<usize>, shown: &mut Vec<u8>| {
        if let Some(at) = place {
            assert_eq!(bytes[at..at + shown.len()], shown[..], "at {at:#x}");
            assert!(shown.len() >= 8);
            records += 1;
        }
        shown.clear();
    };
    for line in text.lines() {
        if let Some(hex) = line.strip_prefix("  | ") {
            let hex = hex[4..].trim_start().split("  ").next().unwrap();
            shown.extend(hex.split(' ').map(|byte| u8::from_str_radix(byte, 16).unwrap()));
        } else if !line.starts_with(' ') {
            compare(place, &mut shown);
            place = line.strip_prefix("0x").map(|at| usize::from_str_radix(at.split(' ').next().unwrap(), 16).unwrap());
        }
    }
    compare(place, &mut shown);
    assert_eq!(records, heads(&text).len());
}

#[test]
fn it_begins_with_the_record_that_a_byte_is_in_and_ends_where_it_is_told() {
    for offset in ["0x1f8", "0x1ff", "504", "0x227"] {
        let text = dump("callgraph.data", &["--offset", offset, "--head", "2"]);
        let heads: Vec<_> = heads(&text).iter().map(|head| head.split(' ').next().unwrap().to_owned()).collect();
        assert_eq!(heads, ["0x1f8", "0x228"], "{offset}");
    }
    assert!(dump("callgraph.data", &["--offset", "0xffffff"]).is_empty());
    let nothing = run(perfconv().arg("dump").arg(fixture("callgraph.data")).args(["--type", "READ"]));
    assert!(nothing.status == 0 && nothing.stderr.contains("no record"), "{}", nothing.stderr);
    for wrong in [["--type", "NO_SUCH"], ["--offset", "x"], ["--order", "size"]] {
        assert_eq!(run(perfconv().arg("dump").arg(fixture("callgraph.data")).args(wrong)).status, 2, "{wrong:?}");
    }
}

#[test]
fn records_are_shown_in_the_order_of_time() {
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
fn a_closed_pipe_ends_it_quietly() {
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
fn after_the_last_record_that_is_asked_for_nothing_is_read() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("cut.data");
    let bytes = fs::read(fixture("pipe-compressed.data")).unwrap();
    fs::write(&path, &bytes[..bytes.len() - 7]).unwrap();
    let whole = run(perfconv().arg("dump").arg(&path));
    assert!(whole.stderr.contains("warning"), "{}", whole.stderr);
    let head = run(perfconv().arg("dump").arg(&path).args(["--head", "40"]));
    assert_eq!((head.status, &*head.stderr), (0, ""));
    assert_eq!(heads(&String::from_utf8_lossy(&head.stdout)).len(), 40);
}

#[test]
fn an_offset_in_a_folder_is_one_of_a_file() {
    let all = dump("threads.dir", &[]);
    let of_one: Vec<&str> = heads(&all).into_iter().filter(|head| head.starts_with("data.0:")).collect();
    let from = of_one[of_one.len() / 2].split(' ').next().expect("it begins with a place");
    let shown = dump("threads.dir", &["--offset", from]);
    assert_eq!(heads(&shown), of_one[of_one.len() / 2..]);
    for (offset, what) in
        [("100", "say data:N"), ("data.77:100", "there is no file data.77"), ("data:x", "is no number")]
    {
        let refused = run(perfconv().arg("dump").arg(fixture("threads.dir")).args(["--offset", offset]));
        assert!(refused.status == 2 && refused.stderr.contains(what), "{offset}: {}", refused.stderr);
    }
}
