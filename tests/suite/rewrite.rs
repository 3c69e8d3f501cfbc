//! `perfconv rewrite`, `perfconv inject`, `--sort`, and the ledger of rewrite passes.

use crate::suite::files::{fixture, has_corpus, recordings};
use crate::suite::program::{for_each, perfconv, run, run_other, with_time_limit};
use perf_data::abi::record::RecordType;
use perf_data::container::read::{ReadOptions, input::Input};
use perf_data::stream::Sink;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use perf_data::stream::source::Source;
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::Stdio;

/// Times in file order, and records with their times.
#[derive(Default)]
struct Records {
    times: Vec<u64>,
    all: Vec<(u64, Vec<u8>)>,
    rounds: usize,
}

impl Sink for Records {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> perfconv::Result<()> {
        if matches!(raw.header().kind, RecordType::COMPRESSED | RecordType::COMPRESSED2) {
            return Ok(());
        }
        let time = meta.events.time(raw);
        self.times.extend(time);
        self.rounds += usize::from(raw.header().kind == RecordType::FINISHED_ROUND);
        self.all.push((time.unwrap_or_default(), [raw.bytes(), raw.payload()].concat()));
        Ok(())
    }
}

fn records(path: &Path) -> perfconv::Result<Records> {
    let mut records = Records::default();
    let (_, ledger) = Source::open(Input::Path(path.to_owned()), ReadOptions::default())?.run(&mut records)?;
    assert!(ledger.messages().len() < 1000);
    Ok(records)
}

fn script(path: &Path) -> Option<String> {
    let fields = ["comm,pid,tid,cpu,time,event,ip,sym,dso", "comm,pid,tid,time,event,ip,sym,dso"];
    fields.iter().find_map(|fields| {
        let mut perf = with_time_limit("perf");
        perf.args(["script", "--force", "--no-inline", "--no-itrace", "-F", fields, "-i"]).arg(path).env("LC_ALL", "C");
        let run = run_other(&mut perf);
        let text = String::from_utf8_lossy(&run.stdout).into_owned();
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        (run.status == 0 && !text.trim().is_empty()).then(|| text.lines().map(words).collect::<Vec<_>>().join("\n"))
    })
}

enum SortResult {
    Same { records: usize, was_sorted: bool, is_printed: bool },
    Differs(String),
}

fn sort(input: &Path) -> Option<SortResult> {
    let before = records(input).ok()?;
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (output, plain) = (dir.path().join("sorted.data"), dir.path().join("plain.data"));
    for (path, args) in [(&output, &["--sort"][..]), (&plain, &["--decompress"])] {
        let args = [args, &["--container", "file", "-q", "-o"]].concat();
        let run = run(perfconv().arg("rewrite").arg(input).args(args).arg(path));
        if run.status != 0 {
            return Some(SortResult::Differs(run.stderr));
        }
    }
    let (plain_records, mut after) = (records(&plain).ok()?, records(&output).ok()?);
    if !after.times.is_sorted() {
        return Some(SortResult::Differs("not in time order".to_owned()));
    }
    let untimed = |records: &Records| -> Vec<Vec<u8>> {
        records.all.iter().filter(|(time, _)| *time == 0).map(|(_, bytes)| bytes.clone()).collect()
    };
    if untimed(&plain_records) != untimed(&after) || plain_records.rounds != after.rounds {
        return Some(SortResult::Differs("the order of records without a time changed".to_owned()));
    }
    let mut all = plain_records.all;
    // The sort must be stable: records with equal times keep their order.
    all.sort_by_key(|(time, _)| *time);
    after.all.sort_by_key(|(time, _)| *time);
    if all != after.all {
        return Some(SortResult::Differs("records or their order differ".to_owned()));
    }
    let (was_sorted, records) = (before.times.is_sorted(), all.len());
    let is_printed = match (script(&plain), script(&output)) {
        (Some(plain), Some(sorted)) if plain != sorted => {
            return Some(SortResult::Differs("perf script differs".to_owned()));
        }
        (Some(_), _) => true,
        (None, _) => false,
    };
    Some(SortResult::Same { records, was_sorted, is_printed })
}

#[test]
fn sort_puts_records_in_time_order_and_perf_prints_the_same() {
    let all = recordings();
    let (mut compared, mut unsorted, mut printed, mut count, mut differing) = (0, 0, 0, 0, Vec::new());
    for (recording, outcome) in all.iter().zip(for_each(&all, |recording| sort(&recording.path))) {
        match outcome {
            Some(SortResult::Same { records, was_sorted, is_printed }) => {
                (compared, unsorted) = (compared + 1, unsorted + usize::from(!was_sorted));
                (printed, count) = (printed + usize::from(is_printed), count + records);
            }
            Some(SortResult::Differs(what)) => differing.push(format!("{}: {what}", recording.name)),
            None => {}
        }
    }
    print_note(format_args!(
        "sorted {compared} recordings with {count} records, {unsorted} of them unsorted before; perf script prints the same for {printed}"
    ));
    assert!(differing.is_empty(), "{} of {}:\n{}", differing.len(), all.len(), differing.join("\n"));
    let enough = if has_corpus("sorting") { (500, 60) } else { (18, 3) };
    assert!(
        compared >= enough.0 && unsorted >= enough.1,
        "sorted only {compared} recordings, {unsorted} of them unsorted before"
    );
}

#[test]
fn rewrite_without_passes_preserves_all_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let output = dir.path().join("out.pb");
    for name in ["callgraph.data", "pipe-compressed.data", "killed.data", "truncated.data", "big-endian.data"] {
        let run = run(perfconv().arg("rewrite").arg(fixture(name)).args(["-f", "-o"]).arg(&output));
        assert_eq!(run.status, 0, "{name}: {}", run.stderr);
        assert!(fs::read(&output).unwrap() == fs::read(fixture(name)).unwrap(), "{name}: other bytes");
    }
    let other = run(perfconv().arg("rewrite").arg(fixture("plain.data")).args(["-t", "pprof", "-o", "unused"]));
    assert_eq!(
        (other.status, other.stderr.contains("this command writes only perf.data")),
        (2, true),
        "{}",
        other.stderr
    );
}

#[test]
fn inject_accepts_the_inputs_and_outputs_of_perf_inject() {
    let dir = tempfile::tempdir().unwrap();
    let output = dir.path().join("out.data");
    fs::write(&output, "something that is overwritten").unwrap();
    // A pipe written to a named file becomes a file, and standard output is a pipe.
    let named = run(perfconv().args(["inject", "-i"]).arg(fixture("pipe.data")).arg("-o").arg(&output));
    assert_eq!(named.status, 0, "{}", named.stderr);
    assert_eq!(fs::read(&output).unwrap()[8], 104);
    let input = fs::File::open(fixture("callgraph.data")).unwrap();
    let piped = run(perfconv().arg("inject").stdin(Stdio::from(input)));
    assert_eq!((piped.status, piped.stdout.get(8)), (0, Some(&16)), "{}", piped.stderr);
}

#[test]
fn passes_run_in_command_line_order() {
    let dir = tempfile::tempdir().unwrap();
    let output = dir.path().join("out.data");
    let rewrite = |args: &[&str]| {
        let run = run(perfconv().arg(fixture("plain.data")).args(["-f", "-q", "-o"]).arg(&output).args(args));
        (run.status, run.stderr)
    };
    assert_eq!(rewrite(&["--drop-feature", "hostname", "--add-feature", "hostname=x"]).0, 0);
    let (status, said) = rewrite(&["--add-feature", "hostname=x", "--drop-feature", "hostname"]);
    assert_eq!((status, said.contains("--add-feature: the recording already has HOSTNAME")), (1, true), "{said}");
}

#[test]
fn ledger_counts_records_dropped_by_passes() {
    let dir = tempfile::tempdir().unwrap();
    let output = dir.path().join("out.data");
    let args = ["--pass", "discard-unused", "--sort", "-v", "-o"];
    let run = run(perfconv().arg(fixture("callgraph.data")).args(args).arg(&output));
    assert_eq!(run.status, 0, "{}", run.stderr);
    let mut rows = BTreeMap::new();
    for line in run.stderr.lines() {
        let cells: Vec<_> = line.split_whitespace().collect();
        if let [kind, numbers @ ..] = &cells[..]
            && let Ok(numbers) = numbers.iter().map(|cell| cell.parse::<u64>()).collect::<Result<Vec<_>, _>>()
        {
            rows.insert((*kind).to_owned(), numbers);
        }
    }
    // Read, added, out, used, not applicable, left out, dropped.
    assert_eq!(rows["FINISHED_ROUND"], [2, 0, 0, 0, 0, 2, 0]);
    assert_eq!(rows["SAMPLE"], [377, 0, 377, 0, 0, 0, 0]);
    for (kind, row) in &rows {
        assert_eq!(row[0] + row[1], row[2..].iter().sum::<u64>(), "{kind}");
    }
}

/// Prints a line to standard error, not with the print macros, whose output the test harness captures.
fn print_note(line: std::fmt::Arguments<'_>) {
    writeln!(io::stderr(), "{line}").expect("standard error should be writable");
}
