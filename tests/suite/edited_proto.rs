//! PerfDataProto messages edited by other programs: events that cannot be encoded, unknown fields, removed events.

use crate::common::files::fixture;
use crate::common::program::{perfconv, run, succeed};
use crate::common::quipper::{scratch, strict};
use perfconv::formats::quipper::proto::PerfDataProto;
use perfconv::formats::quipper::proto::perf_data_proto::PerfEvent;
use prost::Message;
use prost::encoding::{WireType, decode_key, decode_varint, encode_key, encode_varint};
use std::fs;
use std::path::Path;

#[test]
fn drops_only_events_that_cannot_be_encoded() {
    let good = strict(&fixture("callgraph.data"), &scratch("invalid.original")).expect("it should be readable");
    let good = PerfDataProto::decode(&good[..]).expect("a PerfDataProto");
    let sample = good.events.iter().position(|event| event.sample_event.is_some()).expect("a sample");
    let edited = |change: fn(&mut PerfEvent)| {
        let mut message = good.clone();
        message.events[sample].timestamp = Some(0);
        change(&mut message.events[sample]);
        message.encode_to_vec()
    };
    let with_field_99 = {
        let mut message = good.clone();
        let event = message.events.remove(sample);
        let event = [event.encode_to_vec(), vec![0x98, 0x06, 1]].concat();
        let mut bytes = message.encode_to_vec();
        encode_key(2, WireType::LengthDelimited, &mut bytes);
        encode_varint(event.len() as u64, &mut bytes);
        bytes.extend(event);
        bytes
    };
    let cases: [(&str, Vec<u8>, String, usize); 6] = [
        (
            "kind",
            edited(|e| e.header.as_mut().expect("a header").r#type = Some(200)),
            format!("events {sample}: it lacks the fields of"),
            1,
        ),
        (
            "other kind",
            edited(|e| e.header.as_mut().expect("a header").r#type = Some(3)),
            format!("events {sample}: it lacks the fields of"),
            1,
        ),
        ("no header", edited(|e| e.header = None), format!("events {sample}: the header is missing"), 1),
        (
            "too long",
            edited(|e| e.sample_event.as_mut().expect("a header").callchain = vec![7; 9000]),
            format!("events {sample}: the record would have"),
            1,
        ),
        ("size", edited(|e| e.header.as_mut().expect("a header").size = Some(3)), String::new(), 0),
        ("field", with_field_99, "unknown fields".to_owned(), 0),
    ];
    for (name, bytes, what, lost) in &cases {
        let (input, output) = (scratch(&format!("invalid-{name}.pb_data")), scratch(&format!("invalid-{name}.data")));
        fs::write(&input, bytes).expect("the file should be writable");
        let run = run(perfconv().arg(&input).args(["-f", "-o"]).arg(&output));
        let ledger = run.ledger().unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(ledger.samples_out as usize, 377 - lost, "{name}");
        assert!(what.is_empty() == run.warnings().is_empty() && run.stderr.contains(what), "{name}: {}", run.stderr);
    }
}

#[test]
fn rejects_invalid_file_names_of_a_directory() {
    let (lossless, output) = (scratch("parts.pb_data"), scratch("parts.data"));
    succeed(perfconv().arg(fixture("threads.dir")).args(["-q", "-f", "-o"]).arg(&lossless));
    let good = PerfDataProto::decode(&fs::read(&lossless).expect("the file should have been written")[..])
        .expect("a PerfDataProto");
    for name in ["data.01", "data.+1", "data", "../data.1"] {
        let mut message = good.clone();
        let file = message.layout.as_mut().and_then(|layout| layout.files.first_mut()).expect("another file");
        file.name = Some(name.as_bytes().to_vec());
        fs::write(&lossless, message.encode_to_vec()).expect("the file should be writable");
        let rejected = run(perfconv().arg(&lossless).args(["-f", "-o"]).arg(&output));
        let sentence = rejected.failure().unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(sentence.contains("is not the name of a file in a directory recording"), "{name}: {sentence}");
    }
}

#[test]
fn preserves_unknown_fields() {
    let lossless = scratch("known.pb_data");
    let args = ["-q", "-f", "-o"];
    succeed(perfconv().arg(fixture("callgraph.data")).args(args).arg(&lossless));
    let known = fs::read(&lossless).expect("the file should have been written");
    let of_schema = [0x92, 0x01, 3, b'n', b'e', b'w'];
    let extension = [0xea, 0x3e, 1, b'x'];
    let (input, output) = (scratch("unknown.pb_data"), scratch("unknown-copy.pb_data"));
    fs::write(&input, [&known[..], &of_schema, &extension].concat()).expect("the file should be writable");
    succeed(perfconv().arg(&input).args(args).arg(&output));
    let copy = fs::read(&output).expect("the file should have been written");
    let contains = |bytes: &[u8], part: &[u8]| bytes.windows(part.len()).any(|window| window == part);
    assert_eq!(copy.len(), known.len() + of_schema.len() + extension.len());
    assert!(contains(&copy, &[&of_schema[..], &extension].concat()));
    let strict = strict(&input, &scratch("unknown-strict.pb_data")).expect("it should be readable");
    assert!(
        contains(&strict, &of_schema) && !contains(&strict, &extension),
        "the strict form should hold fields of the schema only"
    );
    let data = run(perfconv().arg(&input).args(["-f", "-o"]).arg(scratch("unknown.data")));
    assert!(data.stderr.contains("unknown fields"), "{}", data.stderr);
}

/// Appends bytes to a nested message. `path` gives the field number and index of each level.
fn with_more(bytes: &[u8], path: &[(u32, usize)], more: &[u8]) -> Vec<u8> {
    let Some((&(wanted, nth), deeper)) = path.split_first() else { return [bytes, more].concat() };
    let (mut rest, mut out, mut seen) = (bytes, Vec::new(), 0);
    while !rest.is_empty() {
        let start = rest;
        let (number, wire) = decode_key(&mut rest).expect("a field");
        let len = match wire {
            WireType::LengthDelimited => decode_varint(&mut rest).expect("a size") as usize,
            WireType::Varint => decode_varint(&mut rest).map(|_| 0).expect("a number"),
            WireType::SixtyFourBit => 8,
            _ => 4,
        };
        let (value, after) = rest.split_at(len);
        rest = after;
        seen += usize::from(number == wanted);
        if number == wanted && seen == nth + 1 {
            let value = with_more(value, deeper, more);
            encode_key(number, WireType::LengthDelimited, &mut out);
            encode_varint(value.len() as u64, &mut out);
            out.extend(value);
        } else {
            out.extend_from_slice(&start[..start.len() - rest.len()]);
        }
    }
    assert!(seen > nth, "no field {wanted} with index {nth}");
    out
}

#[test]
fn preserves_unknown_fields_in_every_message() {
    let (field_99, field_2000) = ([0x98, 0x06, 7], [0x80, 0x7d, 1]);
    for name in ["callgraph.data", "compressed.data", "pipe.data", "threads.dir"] {
        let exported = scratch(&format!("{name}.known.pb_data"));
        let args = ["-q", "-f", "-o"];
        succeed(perfconv().arg(fixture(name)).args(args).arg(&exported));
        let mut bytes = fs::read(&exported).expect("the file should have been written");
        let events = PerfDataProto::decode(&bytes[..]).expect("a PerfDataProto").events;
        let sample = events.iter().position(|event| event.sample_event.is_some()).expect("a sample");
        // An event, its sample, its header; the last event; an attr and its contents.
        bytes = with_more(&bytes, &[(2, sample)], &field_99);
        bytes = with_more(&bytes, &[(2, sample), (3, 0)], &field_2000);
        bytes = with_more(&bytes, &[(2, sample), (1, 0)], &field_99);
        bytes = with_more(&bytes, &[(2, events.len() - 1)], &field_2000);
        bytes = with_more(&bytes, &[(1, 0), (1, 0)], &field_99);
        let (input, output) = (scratch(&format!("{name}.more.pb_data")), scratch(&format!("{name}.copy.pb_data")));
        fs::write(&input, &bytes).expect("the file should be writable");
        let run_to =
            |output: &Path, more: &[&str]| run(perfconv().arg(&input).args(more).args(["-f", "-o"]).arg(output));
        assert_eq!(run_to(&output, &["--strict"]).status, 0, "{name}");
        assert!(fs::read(&output).expect("the file should have been written") == bytes, "{name}: the output differs");
        // Sorting loses the association of unknown fields with records, and other formats cannot hold them.
        let sorted = run_to(&output, &["--strict", "--pass", "sort"]);
        assert!(
            sorted.status == 3 && sorted.stderr.contains("unknown fields of messages that are not in the output: 2"),
            "{}",
            sorted.stderr
        );
        let lines = run_to(&scratch("unknown.jsonl"), &["--strict"]);
        assert!(lines.status == 3 && lines.stderr.contains("unknown fields"), "{}", lines.stderr);
    }
}

#[test]
fn an_edited_message_keeps_extension_data() {
    for name in ["callgraph.data", "compressed.data", "big-endian.data"] {
        let exported = scratch(&format!("{name}.to-change.pb_data"));
        succeed(perfconv().arg(fixture(name)).args(["-q", "-f", "-o"]).arg(&exported));
        let mut message = PerfDataProto::decode(&fs::read(&exported).expect("the file should have been written")[..])
            .expect("a PerfDataProto");
        let sample = message.events.iter().position(|event| event.sample_event.is_some()).expect("a sample");
        message.events.remove(sample);
        let (edited, data) = (scratch(&format!("{name}.changed.pb_data")), scratch(&format!("{name}.changed.data")));
        fs::write(&edited, message.encode_to_vec()).expect("the file should be writable");
        let ledger_of =
            |path: &Path| run(perfconv().arg(path).args(["-v", "-f", "-o"]).arg(scratch("edited.jsonl"))).stderr;
        succeed(perfconv().arg(&edited).args(["-q", "-f", "-o"]).arg(&data));
        let count = |ledger: &str, kind: &str| {
            let line = ledger.lines().find(|line| line.split(' ').next() == Some(kind)).map(str::to_owned);
            line.map_or(0, |line| line.split_whitespace().nth(1).and_then(|n| n.parse::<u64>().ok()).expect("a count"))
        };
        let (before, after) = (ledger_of(&fixture(name)), ledger_of(&data));
        assert_eq!(count(&after, "SAMPLE"), count(&before, "SAMPLE") - 1, "{name}");
        for kind in ["EVENT_UPDATE", "CPU_MAP", "READ", "FINISHED_INIT", "BPF_EVENT"] {
            assert_eq!(count(&after, kind), count(&before, kind), "{name}: {kind}");
        }
        assert!(
            count(&before, "EVENT_UPDATE") + count(&before, "CPU_MAP") > 0,
            "{name}: should have records without fields in the schema"
        );
        let checked = run(perfconv().arg("check").arg(&data));
        assert_eq!(checked.status, 0, "{name}: {}", String::from_utf8_lossy(&checked.stdout));
    }
}
