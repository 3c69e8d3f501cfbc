//! `--endian`: another byte order, and back to the same bytes; or why not.

use crate::suite::files::{fixture, has_corpus, recordings};
use crate::suite::program::{for_each, perfconv, run, run_other, with_time_limit};
use perfconv::abi::Endian;
use perfconv::container::read::{Container, ReadOptions, input::Input};
use perfconv::stream::source::Source;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

enum Outcome {
    Same(Container),
    /// It has what is the recorder's own, or a record that would not come back.
    Refused,
    Differs(String),
}

fn rewritten(input: &Path, output: &Path, args: &[&str]) -> Result<(), String> {
    let run = run(perfconv().arg("rewrite").arg(input).args(["-f", "-q", "-o"]).arg(output).args(args));
    if run.status == 0 { Ok(()) } else { Err(run.stderr) }
}

/// Writes a recording in the other byte order and back, in the container that it is in.
fn outcome(input: &Path) -> Option<Outcome> {
    let source = Source::open(Input::Path(input.to_owned()), ReadOptions::default()).ok()?;
    let (endian, container) = (source.meta().endian, source.meta().container);
    let (here, there) = if endian == Endian::Little { ("little", "big") } else { ("big", "little") };
    // A recording without a record, or one whose damage is left out, is no measure.
    let ledger = source.run(&mut Nothing).ok()?.1;
    if !ledger.messages().is_empty() {
        return None;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let [swapped, back, once, plain] = ["swapped", "back", "once", "plain"].map(|name| folder.path().join(name));
    if let Err(error) = rewritten(input, &swapped, &["--endian", there]) {
        let is_refused = error.contains("only the recorder knows") || error.contains("would not come back");
        return Some(if is_refused { Outcome::Refused } else { Outcome::Differs(error) });
    }
    let done = rewritten(&swapped, &back, &["--endian", here])
        .and_then(|()| rewritten(input, &once, &["--decompress"]))
        // A second time, as the layout is then ours in both.
        .and_then(|()| rewritten(&once, &plain, &["--decompress"]));
    if let Err(error) = done {
        return Some(Outcome::Differs(error));
    }
    let bytes = |path: &Path| -> Vec<Vec<u8>> {
        let files = ["data", "data.0"].map(|name| path.join(name));
        let files = if path.is_dir() { files.to_vec() } else { vec![path.to_owned()] };
        files.iter().map(|file| fs::read(file).unwrap_or_default()).collect()
    };
    let is_same = bytes(&back) == bytes(&plain);
    Some(if is_same { Outcome::Same(container) } else { Outcome::Differs("other bytes".to_owned()) })
}

struct Nothing;

impl perfconv::stream::Sink for Nothing {
    fn record(&mut self, _: &perfconv::stream::meta::Meta, _: &perfconv::stream::raw::Raw<'_>) -> perfconv::Result<()> {
        Ok(())
    }
}

#[test]
fn another_byte_order_and_back_is_the_same_or_refused() {
    let all = recordings();
    let (mut same, mut refused, mut damaged, mut differing) = ([0; 3], 0, 0, Vec::new());
    for (recording, outcome) in all.iter().zip(for_each(&all, |recording| outcome(&recording.path))) {
        match outcome {
            Some(Outcome::Same(container)) => same[container as usize] += 1,
            Some(Outcome::Refused) => refused += 1,
            Some(Outcome::Differs(what)) => differing.push(format!("{}: {what}", recording.name)),
            None => damaged += 1,
        }
    }
    // Not through the macros, whose output the test harness hides when the test passes.
    let [files, pipes, folders] = same;
    let line = format!(
        "{files} files, {pipes} pipes, {folders} folders in the other byte order and back; refused as they have bytes of the \
         recorder's own: {refused}; not readable or damaged: {damaged}"
    );
    writeln!(io::stderr(), "{line}").unwrap();
    assert!(differing.is_empty(), "{} of {}:\n{}", differing.len(), all.len(), differing.join("\n"));
    let enough = if has_corpus("byte orders") { (250, 80) } else { (12, 2) };
    assert!(same.iter().sum::<usize>() >= enough.0 && refused >= enough.1, "too few: {line}");
}

#[test]
fn perf_reads_every_container_and_origin_in_the_other_byte_order() {
    let folder = tempfile::tempdir().unwrap();
    let fields = "pid,tid,time,period";
    let script = |path: &Path| {
        let perf = run_other(with_time_limit("perf").args(["script", "--force", "-F", fields, "-i"]).arg(path));
        String::from_utf8_lossy(&perf.stdout).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let original = script(&fixture("callgraph.data"));
    if original.is_empty() {
        writeln!(io::stderr(), "there is no perf to show big-endian recordings to").unwrap();
        return;
    }
    let mut compared = 0;
    for carrier in ["data", "pb_data", "jsonl"] {
        let carried = folder.path().join(format!("in.{carrier}"));
        assert_eq!(run(perfconv().arg(fixture("callgraph.data")).arg("-o").arg(&carried)).status, 0);
        for container in ["file", "dir", "pipe"] {
            let output = folder.path().join(format!("{carrier}.{container}"));
            rewritten(&carried, &output, &["--endian", "big", "--container", container]).unwrap();
            // Of foreign pipes perf 6.1 misreads pairs of numbers.
            if container != "pipe" {
                assert_eq!(script(&output), original, "{carrier} as {container}");
            }
            let back = folder.path().join(format!("{carrier}.{container}.back"));
            rewritten(&output, &back, &["--endian", "little", "--container", "file"]).unwrap();
            assert_eq!(script(&back), original, "{carrier} as {container} and back");
            compared += 1;
        }
    }
    assert_eq!(compared, 9);
}

#[test]
fn bytes_of_the_recorders_own_stay_if_that_is_allowed() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("out.data");
    let error = rewritten(&fixture("tracepoints.data"), &output, &["--endian", "big"]).unwrap_err();
    assert!(error.contains("raw data of samples (") && error.contains("--allow-mixed"), "{error}");
    assert!(!output.exists());
    let run =
        run(perfconv().arg(fixture("tracepoints.data")).args(["--endian", "big", "--allow-mixed", "-o"]).arg(&output));
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert!(run.warnings().iter().any(|line| line.contains("byte order of the recorder still")), "{}", run.stderr);
    // To stay in the byte order that it has is nothing.
    rewritten(&fixture("tracepoints.data"), &output, &["--endian", "little"]).unwrap();
    assert!(fs::read(&output).unwrap() == fs::read(fixture("tracepoints.data")).unwrap());
}
