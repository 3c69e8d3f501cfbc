//! PerfDataProto: compared with quipper and perf_converter, and exchanged with them.

use crate::common::files::{corpus, fixture, has_corpus};
use crate::common::oracle::has_program;
use crate::common::program::{Run, for_each, perfconv, run_other, succeed};
use crate::common::quipper::{STALE, golden, import_messages, masked, scratch, strict};
use perfconv::formats::quipper::proto::PerfDataProto;
use prost::Message;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

#[test]
fn strict_form_matches_quipper() {
    if !has_corpus("goldens of quipper's reader") {
        return;
    }
    let mut with_golden: Vec<_> =
        corpus().into_iter().filter_map(|recording| Some((golden(&recording, "strict")?, recording))).collect();
    with_golden.dedup_by(|(_, a), (_, b)| a.path == b.path);
    let failures = for_each(&with_golden, |(golden, recording)| {
        let ours = strict(&recording.path, &scratch(&format!("{}.strict", recording.name)));
        match ours {
            Ok(ours) if ours == *golden => None,
            Ok(ours) => Some(format!("{}: {} bytes, expected {}", recording.name, ours.len(), golden.len())),
            Err(e) => Some(format!("{}: {e}", recording.name)),
        }
    });
    let failures: Vec<_> = failures.into_iter().flatten().collect();
    note!("{} recordings compared with quipper's reader; failures {failures:?}", with_golden.len());
    assert!(failures.is_empty(), "{failures:?}");
    assert!(with_golden.len() >= 340, "only {} recordings have a golden", with_golden.len());
}

#[test]
fn strict_form_matches_goldens_of_quipper() {
    if !has_corpus("goldens of quipper's tests") {
        return;
    }
    let (mut compared, mut stale) = (0, 0);
    for recording in corpus() {
        let golden = PathBuf::from(format!("{}.io.out.pb_data.zst", recording.path.display()));
        let Ok(packed) = fs::read(&golden) else { continue };
        if STALE.iter().any(|name| recording.path.ends_with(name)) {
            stale += 1;
            continue;
        }
        let ours = strict(&recording.path, &scratch(&format!("{}.io", recording.name))).expect("it should be readable");
        let golden = zstd::decode_all(&packed[..]).expect("a golden should be zstd");
        assert!(masked(&ours) == masked(&golden), "{}", recording.name);
        compared += 1;
    }
    note!(
        "{compared} recordings equal goldens .io.out.pb_data; {stale} goldens skipped: they lack fields of the schema"
    );
    assert!(compared >= 15, "compared only {compared} recordings");
}

#[test]
fn protoc_decodes_messages_with_our_schema() {
    if !has_program("protoc") {
        return;
    }
    for name in ["callgraph.data", "weight.data", "pipe.data", "compressed.data"] {
        let output = scratch(&format!("{name}.protoc.pb_data"));
        succeed(perfconv().arg(fixture(name)).args(["-q", "-f", "-o"]).arg(&output));
        let decoded = protoc_decodes(&output);
        let text = String::from_utf8_lossy(&decoded.stdout);
        let message = PerfDataProto::decode(&fs::read(&output).expect("the file should have been written")[..])
            .expect("a message");
        assert_eq!(decoded.status, 0, "{name}: {}", decoded.stderr);
        assert_eq!(text.lines().filter(|line| *line == "events {").count(), message.events.len(), "{name}");
        assert!(!has_unknown_field(&text), "{name}: a field is missing in the schema");
    }
    if !has_corpus("messages of quipper") {
        return;
    }
    let mut read = 0;
    for recording in corpus().into_iter().step_by(10) {
        let Some(golden) = golden(&recording, "strict") else { continue };
        let message_path = scratch(&format!("{}.peer", recording.name));
        fs::write(&message_path, golden).expect("the file should be writable");
        let decoded = protoc_decodes(&message_path);
        assert_eq!(decoded.status, 0, "{}: {}", recording.name, decoded.stderr);
        assert!(!has_unknown_field(&String::from_utf8_lossy(&decoded.stdout)), "{}", recording.name);
        read += 1;
    }
    note!("protoc decodes {read} messages of quipper with our schema, all fields included");
    assert!(read >= 20, "only {read} messages of quipper");
}

fn protoc_decodes(message: &Path) -> Run {
    run_other(
        Command::new("protoc")
            .args(["-Iproto", "--decode=quipper.PerfDataProto", "proto/perf_data.proto"])
            .stdin(fs::File::open(message).expect("the file should have been written")),
    )
}

/// Whether a field is missing in the schema.
fn has_unknown_field(text: &str) -> bool {
    text.lines().any(|line| line.trim_start().starts_with(|c: char| c.is_ascii_digit()))
}

#[test]
fn perf_reads_imported_messages_of_quipper() {
    if !has_program("perf") {
        return;
    }
    import_messages(|imported, original| {
        let perf = |path: &Path, args: &[&str]| run_other(Command::new("perf").args(args).arg("-i").arg(path)).status;
        let commands = [&["script", "-f", "-F", "comm,tid,time,event"][..], &["report", "-f", "--header-only"]];
        // Ignore recordings that perf cannot read in their original form either.
        commands.into_iter().filter(|args| perf(imported, args) != 0 && perf(original, args) == 0).collect()
    });
}

#[cfg(feature = "quipper-text")]
#[test]
fn protoc_reads_the_text_form() {
    if !has_program("protoc") {
        return;
    }
    for name in ["callgraph.data", "pipe-tracepoints.data", "group-read.data", "big-endian.data"] {
        let text = scratch(&format!("{name}.strict.pb_text"));
        let args = ["--quipper", "strict", "-q", "-f", "-o"];
        succeed(perfconv().arg(fixture(name)).args(args).arg(&text));
        let encoded = run_other(
            Command::new("protoc")
                .args(["-Iproto", "--encode=quipper.PerfDataProto", "proto/perf_data.proto"])
                .stdin(fs::File::open(&text).expect("the file should have been written")),
        );
        let binary = strict(&fixture(name), &scratch(&format!("{name}.strict"))).expect("it should be readable");
        assert!(encoded.stdout == binary, "{name}: {}", encoded.stderr);
    }
}
