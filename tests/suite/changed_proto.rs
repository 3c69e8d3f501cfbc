//! A PerfDataProto that someone else changed: events that are no records, fields that are not known, events taken out.

use crate::suite::files::fixture;
use crate::suite::program::{perfconv, run};
use crate::suite::quipper::{scratch, strict};
use perfconv::formats::quipper::proto::PerfDataProto;
use perfconv::formats::quipper::proto::perf_data_proto::PerfEvent;
use prost::Message;
use prost::encoding::{WireType, decode_key, decode_varint, encode_key, encode_varint};
use std::fs;
use std::path::Path;

#[test]
fn events_that_are_no_records_are_told_by_their_number_and_the_others_are_kept() {
    let good = strict(&fixture("callgraph.data"), &scratch("odd.of")).expect("it is readable");
    let good = PerfDataProto::decode(&good[..]).expect("a PerfDataProto");
    let sample = good.events.iter().position(|event| event.sample_event.is_some()).expect("a sample");
    let odd = |change: fn(&mut PerfEvent)| {
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
            odd(|e| e.header.as_mut().expect("one").r#type = Some(200)),
            format!("events {sample}: it does not tell"),
            1,
        ),
        (
            "other kind",
            odd(|e| e.header.as_mut().expect("one").r#type = Some(3)),
            format!("events {sample}: it does not tell"),
            1,
        ),
        ("no header", odd(|e| e.header = None), format!("events {sample}: it has no header"), 1),
        (
            "too long",
            odd(|e| e.sample_event.as_mut().expect("one").callchain = vec![7; 9000]),
            format!("events {sample}: it would be"),
            1,
        ),
        ("size", odd(|e| e.header.as_mut().expect("one").size = Some(3)), String::new(), 0),
        ("field", with_field_99, "fields that are not known".to_owned(), 0),
    ];
    for (name, bytes, what, lost) in &cases {
        let (input, output) = (scratch(&format!("odd-{name}.pb_data")), scratch(&format!("odd-{name}.data")));
        fs::write(&input, bytes).expect("a file can be written");
        let run = run(perfconv().arg(&input).args(["-f", "-o"]).arg(&output));
        let ledger = run.ledger().unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(ledger.samples_out as usize, 377 - lost, "{name}");
        assert!(what.is_empty() == run.warnings().is_empty() && run.stderr.contains(what), "{name}: {}", run.stderr);
    }
}

#[test]
fn a_file_of_a_folder_that_would_not_be_read_again_is_refused() {
    let (lossless, output) = (scratch("parts.pb_data"), scratch("parts.data"));
    let written = run(perfconv().arg(fixture("threads.dir")).args(["-q", "-f", "-o"]).arg(&lossless));
    assert_eq!(written.status, 0, "{}", written.stderr);
    let good = PerfDataProto::decode(&fs::read(&lossless).expect("it was written")[..]).expect("a PerfDataProto");
    for name in ["data.01", "data.+1", "data", "../data.1"] {
        let mut message = good.clone();
        let file = message.layout.as_mut().and_then(|layout| layout.files.first_mut()).expect("a further file");
        file.name = Some(name.as_bytes().to_vec());
        fs::write(&lossless, message.encode_to_vec()).expect("a file can be written");
        let refused = run(perfconv().arg(&lossless).args(["-f", "-o"]).arg(&output));
        let sentence = refused.failure().unwrap_or_else(|wrong| panic!("{name}: {wrong}"));
        assert!(sentence.contains("is no name of a recording's file"), "{name}: {sentence}");
    }
}

#[test]
fn fields_that_are_not_known_are_kept() {
    let lossless = scratch("known.pb_data");
    let args = ["-q", "-f", "-o"];
    assert_eq!(run(perfconv().arg(fixture("callgraph.data")).args(args).arg(&lossless)).status, 0);
    let known = fs::read(&lossless).expect("it was written");
    let schemas = [0x92, 0x01, 3, b'n', b'e', b'w'];
    let others = [0xea, 0x3e, 1, b'x'];
    let (input, output) = (scratch("unknown.pb_data"), scratch("unknown-again.pb_data"));
    fs::write(&input, [&known[..], &schemas, &others].concat()).expect("a file can be written");
    assert_eq!(run(perfconv().arg(&input).args(args).arg(&output)).status, 0);
    let again = fs::read(&output).expect("it was written");
    let holds = |bytes: &[u8], part: &[u8]| bytes.windows(part.len()).any(|window| window == part);
    assert_eq!(again.len(), known.len() + schemas.len() + others.len());
    assert!(holds(&again, &[&schemas[..], &others].concat()));
    let strict = strict(&input, &scratch("unknown-strict.pb_data")).expect("it is readable");
    assert!(holds(&strict, &schemas) && !holds(&strict, &others), "the strict form holds fields of the schema alone");
    let data = run(perfconv().arg(&input).args(["-f", "-o"]).arg(scratch("unknown.data")));
    assert!(data.stderr.contains("fields that are not known"), "{}", data.stderr);
}

/// A message with more bytes in the nth message that is there by a field's number; inside `path` of that, where it goes on.
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
        let (value, behind) = rest.split_at(len);
        rest = behind;
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
    assert!(seen > nth, "there is no field {wanted}, {nth}");
    out
}

#[test]
fn fields_that_are_not_known_are_kept_in_every_message() {
    let (field_99, field_2000) = ([0x98, 0x06, 7], [0x80, 0x7d, 1]);
    for name in ["callgraph.data", "compressed.data", "pipe.data", "threads.dir"] {
        let told = scratch(&format!("{name}.known.pb_data"));
        let args = ["-q", "-f", "-o"];
        assert_eq!(run(perfconv().arg(fixture(name)).args(args).arg(&told)).status, 0);
        let mut bytes = fs::read(&told).expect("it was written");
        let events = PerfDataProto::decode(&bytes[..]).expect("a PerfDataProto").events;
        let sample = events.iter().position(|event| event.sample_event.is_some()).expect("a sample");
        // An event, its sample, its header; the last event; an attr and what is in it.
        bytes = with_more(&bytes, &[(2, sample)], &field_99);
        bytes = with_more(&bytes, &[(2, sample), (3, 0)], &field_2000);
        bytes = with_more(&bytes, &[(2, sample), (1, 0)], &field_99);
        bytes = with_more(&bytes, &[(2, events.len() - 1)], &field_2000);
        bytes = with_more(&bytes, &[(1, 0), (1, 0)], &field_99);
        let (input, output) = (scratch(&format!("{name}.more.pb_data")), scratch(&format!("{name}.again.pb_data")));
        fs::write(&input, &bytes).expect("a file can be written");
        let run_to =
            |output: &Path, more: &[&str]| run(perfconv().arg(&input).args(more).args(["-f", "-o"]).arg(output));
        assert_eq!(run_to(&output, &["--strict"]).status, 0, "{name}");
        assert!(fs::read(&output).expect("it was written") == bytes, "{name}: the same bytes");
        // In another order nobody knows whose they are, and elsewhere there is no place for them.
        let sorted = run_to(&output, &["--strict", "--pass", "sort"]);
        assert!(sorted.status == 3 && sorted.stderr.contains("had fields that are not known: 2"), "{}", sorted.stderr);
        let lines = run_to(&scratch("unknown.jsonl"), &["--strict"]);
        assert!(lines.status == 3 && lines.stderr.contains("fields that are not known"), "{}", lines.stderr);
    }
}

#[test]
fn a_changed_message_keeps_what_the_schema_has_no_place_for() {
    for name in ["callgraph.data", "compressed.data", "big-endian.data"] {
        let told = scratch(&format!("{name}.to-change.pb_data"));
        assert_eq!(run(perfconv().arg(fixture(name)).args(["-q", "-f", "-o"]).arg(&told)).status, 0);
        let mut message =
            PerfDataProto::decode(&fs::read(&told).expect("it was written")[..]).expect("a PerfDataProto");
        let sample = message.events.iter().position(|event| event.sample_event.is_some()).expect("a sample");
        message.events.remove(sample);
        let (changed, data) = (scratch(&format!("{name}.changed.pb_data")), scratch(&format!("{name}.changed.data")));
        fs::write(&changed, message.encode_to_vec()).expect("a file can be written");
        let of = |path: &Path| run(perfconv().arg(path).args(["-v", "-f", "-o"]).arg(scratch("changed.jsonl"))).stderr;
        assert_eq!(run(perfconv().arg(&changed).args(["-q", "-f", "-o"]).arg(&data)).status, 0, "{name}");
        let count = |told: &str, kind: &str| {
            let line = told.lines().find(|line| line.split(' ').next() == Some(kind)).map(str::to_owned);
            line.map_or(0, |line| line.split_whitespace().nth(1).and_then(|n| n.parse::<u64>().ok()).expect("a count"))
        };
        let (before, after) = (of(&fixture(name)), of(&data));
        assert_eq!(count(&after, "SAMPLE"), count(&before, "SAMPLE") - 1, "{name}");
        for kind in ["EVENT_UPDATE", "CPU_MAP", "READ", "FINISHED_INIT", "BPF_EVENT"] {
            assert_eq!(count(&after, kind), count(&before, kind), "{name}: {kind}");
        }
        assert!(count(&before, "EVENT_UPDATE") + count(&before, "CPU_MAP") > 0, "{name}: nothing is without a place");
        let checked = run(perfconv().arg("check").arg(&data));
        assert_eq!(checked.status, 0, "{name}: {}", String::from_utf8_lossy(&checked.stdout));
    }
}
