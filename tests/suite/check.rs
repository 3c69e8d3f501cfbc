//! `perfconv check`: intact recordings have no findings, and each kind of corruption is found.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use perf_data::container::read::{ReadOptions, input::Input};
use perfconv::inspect::check::{Finding, Rule, Severity, check};
use serde_json::Value;

use crate::common::files::{self, Recording, fixture};
use crate::common::program::{Run, for_each, perfconv, run};

/// Fixtures that are truncated or of an interrupted `perf record`.
const CORRUPT: [&str; 2] = ["killed.data", "truncated.data"];

fn checked(path: &Path, options: &[&str]) -> Run {
    run(perfconv().arg("check").arg(path).args(options))
}

/// The path of a recording from a report.
fn report(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("roundtrip/reports").join(name)
}

fn text(run: &Run) -> &str {
    str::from_utf8(&run.stdout).expect("findings should be UTF-8")
}

fn findings(path: &Path) -> Result<Vec<Finding>, String> {
    let mut findings = Vec::new();
    let input = Input::Path(path.to_owned());
    check(input, ReadOptions::default(), &mut |finding| findings.push(finding)).map_err(|error| error.to_string())?;
    Ok(findings)
}

/// The rules that a change breaks, beyond those that the unchanged recording breaks.
fn broken_by(name: &str, change: impl FnOnce(&mut Vec<u8>)) -> Vec<Rule> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("in.data");
    let mut bytes = fs::read(fixture(name)).unwrap();
    fs::write(&path, &bytes).unwrap();
    let before = findings(&path).unwrap();
    change(&mut bytes);
    fs::write(&path, bytes).unwrap();
    let mut rules: Vec<Rule> = findings(&path).unwrap().iter().map(|finding| finding.rule).collect();
    for known in before {
        if let Some(index) = rules.iter().position(|&rule| rule == known.rule) {
            rules.remove(index);
        }
    }
    rules.dedup();
    rules
}

fn put(bytes: &mut [u8], at: usize, word: u64) {
    bytes[at..at + 8].copy_from_slice(&word.to_le_bytes());
}

fn word(bytes: &[u8], at: usize) -> usize {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize
}

/// The offset of the first record of a type in a little-endian file.
fn find(bytes: &[u8], kind: u32) -> usize {
    let mut at = word(bytes, 40);
    while bytes[at..at + 4] != kind.to_le_bytes() {
        at += usize::from(u16::from_le_bytes([bytes[at + 6], bytes[at + 7]]));
    }
    at
}

#[test]
fn intact_fixtures_have_no_errors() {
    for recording in files::fixtures() {
        let run = checked(&recording.path, &["-v"]);
        if CORRUPT.contains(&&recording.name[..]) {
            assert_eq!(run.status, 3, "{}", text(&run));
            assert!(text(&run).contains(": error: container: "), "{}", text(&run));
            continue;
        }
        assert_eq!((run.status, &run.stderr[..]), (0, ""), "{}", text(&run));
        let lines: Vec<&str> = text(&run).lines().collect();
        let (last, notes) = lines.split_last().expect("a last line");
        assert!(last.starts_with(&format!("{}: ok: ", recording.path.display())), "{last}");
        assert!(notes.iter().all(|line| line.contains(": note: ")), "{}", text(&run));
    }
}

#[test]
fn reports_files_that_are_no_recordings_and_checks_the_others() {
    let run = run(perfconv().arg("check").args([fixture("README.md"), fixture("plain.data")]));
    assert_eq!(run.status, 1);
    assert!(run.stderr.starts_with("perfconv: ") && run.stderr.lines().count() == 1, "{}", run.stderr);
    assert!(text(&run).contains("plain.data: ok: 364 records"), "{}", text(&run));
    assert_eq!(checked(Path::new("-"), &[]).status, 1, "standard input is empty");
    assert_eq!(crate::common::program::run(perfconv().arg("check")).status, 2);
}

#[test]
fn json_lists_every_finding() {
    let run = checked(&fixture("truncated.data"), &["--json"]);
    assert_eq!(run.status, 3);
    let objects: Vec<Value> = text(&run).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(objects.len(), 2);
    for object in &objects {
        assert_eq!((&object["severity"], &object["rule"]), (&"error".into(), &"truncated".into()), "{object}");
        assert!(object["offset"].as_u64().is_some_and(|offset| offset > 17_000), "{object}");
    }
    let run = checked(&report("inject-check/ai.data"), &["--json"]);
    assert_eq!(run.status, 0);
    let objects: Vec<Value> = text(&run).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let [object] = &objects[..] else { panic!("{objects:?}") };
    assert_eq!((&object["severity"], &object["rule"]), (&"note".into(), &"build-id-size".into()), "{object}");
    let record = (&object["record"]["index"], &object["record"]["type"]);
    assert_eq!(record, (&14.into(), &"HEADER_BUILD_ID".into()), "{object}");
}

/// `perf inject -b` before perf 6.12 writes records whose size is not a multiple of 8.
#[test]
fn an_output_of_perf_inject_is_ok() {
    let run = checked(&report("inject-check/ai.data"), &[]);
    assert_eq!(run.status, 0, "{}", text(&run));
    assert!(text(&run).contains("ai.data: ok: 50 records, 0 errors, 0 warnings, 1 note"), "{}", text(&run));
}

#[test]
fn similar_findings_are_counted() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("in.data");
    let mut bytes = fs::read(fixture("two-events.data")).unwrap();
    // Another ID for the second event: none of its records has a known event then.
    let ids = word(&bytes, word(&bytes, 24) + word(&bytes, 16) * 2 - 16);
    put(&mut bytes, ids, 1 << 40);
    fs::write(&path, bytes).unwrap();
    let (few, all) = (checked(&path, &[]), checked(&path, &["-v"]));
    assert_eq!((few.status, all.status), (3, 3));
    let errors = |run: &Run| text(run).lines().filter(|line| line.contains(": error: record ")).count();
    assert_eq!(errors(&few), 3);
    let more = format!(": error: {} more of SAMPLE records [unknown-event]; -v shows all", errors(&all) - 3);
    assert!(text(&few).contains(&more), "{}", text(&few));
}

#[test]
fn finds_invalid_sections() {
    assert_eq!(broken_by("plain.data", |bytes| put(bytes, 56, 104)), []);
    let attrs_into_records = broken_by("plain.data", |bytes| {
        let size = word(bytes, 16) as u64;
        let copy = bytes[word(bytes, 24)..][..size as usize].to_vec();
        bytes.extend(copy);
        let at = (bytes.len() as u64) - size;
        put(bytes, 24, at);
    });
    assert_eq!(attrs_into_records, [Rule::Gap], "attrs at the end are valid and leave a gap");
    assert_eq!(broken_by("plain.data", |bytes| put(bytes, 64, 144)), [Rule::Overlap], "event types overlap the attrs");
    let part_of_one = broken_by("plain.data", |bytes| put(bytes, 64, 112));
    assert_eq!(part_of_one, [Rule::Overlap, Rule::MissingSection], "the last event type is truncated");
    let ids_of_another = broken_by("two-events.data", |bytes| {
        let (attrs, stride) = (word(bytes, 24), word(bytes, 16));
        let ids = bytes[attrs + stride - 16..attrs + stride].to_vec();
        bytes[attrs + 2 * stride - 16..attrs + 2 * stride].copy_from_slice(&ids);
    });
    assert!(ids_of_another.contains(&Rule::DuplicateId), "{ids_of_another:?}");
    let attr_size = broken_by("plain.data", |bytes| {
        let at = word(bytes, 24) + 4;
        bytes[at] -= 8;
    });
    assert_eq!(attr_size, [Rule::AttrSize]);
    let unknown_bit = broken_by("plain.data", |bytes| {
        let at = word(bytes, 24) + 45;
        bytes[at] = 1;
    });
    assert_eq!(unknown_bit, [Rule::Unknown]);
}

#[test]
fn finds_invalid_records() {
    let (mmap, comm, exit, compressed) = (1, 3, 4, 81);
    let missing_nul = broken_by("callgraph.data", |bytes| {
        let at = find(bytes, mmap);
        bytes[at + 40 + b"[kernel.kallsyms]_text".len()..at + 64].fill(b'x');
    });
    assert!(missing_nul.contains(&Rule::MissingNul), "{missing_nul:?}");
    let unaligned = broken_by("plain.data", |bytes| {
        let at = find(bytes, comm);
        bytes[at + 6] += 4;
    });
    assert!(unaligned.contains(&Rule::Unaligned), "{unaligned:?}");
    let too_small = broken_by("plain.data", |bytes| {
        let at = find(bytes, comm);
        bytes[at..at + 4].copy_from_slice(&73_u32.to_le_bytes());
        let at = find(bytes, exit);
        bytes[at..at + 4].copy_from_slice(&10_u32.to_le_bytes());
    });
    assert!(too_small.contains(&Rule::TooSmall) && too_small.contains(&Rule::Undecodable), "{too_small:?}");
    let unknown = broken_by("plain.data", |bytes| {
        let at = find(bytes, comm);
        bytes[at..at + 4].copy_from_slice(&200_u32.to_le_bytes());
    });
    assert_eq!(unknown, [Rule::Unknown]);
    let corrupt_frame = broken_by("compressed.data", |bytes| {
        let at = find(bytes, compressed);
        bytes[at + 8] ^= 0xff;
    });
    assert!(corrupt_frame.contains(&Rule::CorruptFrame), "{corrupt_frame:?}");
    let late = broken_by("plain.data", |bytes| {
        // A sample from the far future, then two ends of rounds: the next samples are older than what was already passed on.
        let sample = find(bytes, 9);
        let mut future = bytes[sample..sample + usize::from(bytes[sample + 6])].to_vec();
        put(&mut future, 24, 1 << 62);
        let round = [68, 0, 0, 0, 0, 0, 8, 0];
        let inserted = [&future[..], &round, &round].concat();
        let data_end = word(bytes, 40) + word(bytes, 48);
        // Drop the features, as they would have to move.
        bytes.truncate(data_end);
        bytes[72..104].fill(0);
        let size = (word(bytes, 48) + inserted.len()) as u64;
        put(bytes, 48, size);
        bytes.splice(sample..sample, inserted);
    });
    assert!(late.contains(&Rule::RoundOrder), "{late:?}");
}

#[test]
fn finds_invalid_features() {
    let compressed = 27;
    let unannounced = broken_by("compressed.data", |bytes| {
        bytes[72 + compressed / 8] &= !(1 << (compressed % 8));
    });
    assert!(unannounced.contains(&Rule::CompressionUnannounced), "{unannounced:?}");
    let slot = |bytes: &[u8], feature: usize| {
        let before = (0..feature).filter(|bit| bytes[72 + bit / 8] >> (bit % 8) & 1 == 1).count();
        word(bytes, word(bytes, 40) + word(bytes, 48) + 16 * before)
    };
    let too_large = broken_by("compressed.data", |bytes| {
        let at = slot(bytes, compressed);
        bytes[at + 16..at + 20].copy_from_slice(&500_u32.to_le_bytes());
    });
    assert_eq!(too_large, [Rule::FrameTooLarge]);
    let version = broken_by("plain.data", |bytes| {
        let at = slot(bytes, 20);
        bytes[at] = 9;
    });
    assert_eq!(version, [Rule::Version], "of CACHE");
    let undecodable = broken_by("plain.data", |bytes| {
        let at = slot(bytes, 3);
        bytes[at + 3] = 1;
    });
    assert_eq!(undecodable, [Rule::Undecodable], "the string exceeds HOSTNAME");
    let limit = broken_by("plain.data", |bytes| {
        let at = slot(bytes, 7);
        bytes[at + 4] = 200;
    });
    assert!(limit.contains(&Rule::Limit), "more CPUs online than available: {limit:?}");
}

#[test]
fn reports_tracepoint_formats_that_perf_cannot_parse() {
    for (from, to) in [
        ("print fmt: \"filename", "print fxt: \"filename"),
        ("print fmt: \"filename", "print fmt: _filename"),
        ("name: sched_process_exec", "name: sched process_exec"),
        ("field:pid_t old_pid;", "field:pid_t_old_pid;"),
        ("field: local_t commit;", "field: local_t commix;"),
        ("field:pid_t pid;\toffset:", "field:pid_t pid;\toffsex:"),
        ("ID: 365", "ID: 999"),
    ] {
        let rules = broken_by("tracepoints.data", |bytes| {
            let at = memchr::memmem::find(bytes, from.as_bytes()).unwrap();
            bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
        });
        assert_eq!(rules, [Rule::TracepointFormat], "{to}");
    }
}

#[test]
fn finds_invalid_references() {
    let id = |bytes: &[u8]| word(bytes, word(bytes, word(bytes, 24) + word(bytes, 16) - 16));
    let id_index = |known: bool| {
        broken_by("plain.data", |bytes| {
            let indexed = if known { id(bytes) } else { 0x7777_7777 };
            // Overwrite a large enough record with an ID_INDEX of one entry and a filler record.
            let at = find(bytes, 10);
            let left = usize::from(bytes[at + 6]) - 48;
            bytes[at..at + 8].copy_from_slice(&[69, 0, 0, 0, 0, 0, 48, 0]);
            [1, indexed as u64, 0, 0, 0].iter().enumerate().for_each(|(i, &value)| put(bytes, at + 8 + 8 * i, value));
            bytes[at + 48..at + 56].copy_from_slice(&[82, 0, 0, 0, 0, 0, left as u8, 0]);
            bytes[at + 56..at + 48 + left].fill(0);
        })
    };
    assert_eq!(id_index(true), []);
    assert_eq!(id_index(false), [Rule::Inconsistent]);
    let cpu = broken_by("system-wide.data", |bytes| {
        let slot = |bytes: &[u8], feature: usize| {
            let before = (0..feature).filter(|bit| bytes[72 + bit / 8] >> (bit % 8) & 1 == 1).count();
            word(bytes, word(bytes, 40) + word(bytes, 48) + 16 * before)
        };
        let at = slot(bytes, 7);
        bytes[at..at + 8].fill(0);
    });
    assert!(cpu.contains(&Rule::Inconsistent), "no CPU is available: {cpu:?}");
}

#[test]
fn documentation_explains_each_code() {
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/check.md")).expect("docs/check.md exists");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    let documented: Vec<(&str, &str)> = rows
        .map(|(code, rest)| (code, rest.trim_start_matches(" | ").split(" |").next().unwrap_or_default()))
        .collect();
    let codes: Vec<(&str, String)> = Rule::ALL.iter().map(|rule| (rule.code(), rule.severity().to_string())).collect();
    for (code, severity) in &codes {
        let row = documented.iter().find(|(documented, _)| documented == code);
        assert_eq!(row.map(|(_, severity)| *severity), Some(&**severity), "{code} in docs/check.md");
    }
    for (code, _) in &documented {
        assert!(codes.iter().any(|(known, _)| known == code), "docs/check.md explains {code}, which no rule has");
        let is_kebab_case = code.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
        assert!(is_kebab_case, "{code} is not in kebab case");
    }
    assert_eq!(documented.len(), codes.len(), "docs/check.md explains a code twice");
}

#[test]
fn findings_end_with_their_code() {
    let run = checked(&fixture("truncated.data"), &["-v"]);
    assert!(text(&run).lines().any(|line| line.ends_with("the last 12 bytes are lost [truncated]")), "{run:?}");
}

/// Whether a recording should have no errors: not interrupted, truncated or corrupted by `perf inject`.
fn is_intact(recording: &Recording) -> bool {
    let name = recording.name.rsplit('/').next().unwrap_or_default();
    let is_known = CORRUPT.contains(&name) || recording.name.contains("/trunc/") || name.starts_with("killed");
    // The header of an interrupted recording lacks the size of the data section.
    let is_pipe = |bytes: &[u8]| matches!(bytes.get(8..16), Some([16, 0, .., 0, 0] | [0, 0, .., 0, 16]));
    let is_killed = |bytes: Vec<u8>| !is_pipe(&bytes) && bytes.get(48..56) == Some(&[0; 8]);
    let is_killed = fs::read(&recording.path).is_ok_and(is_killed);
    recording.listed_samples.is_some() && !is_known && !is_killed
}

#[test]
fn intact_recordings_have_no_errors() {
    let recordings = files::recordings();
    let results = for_each(&recordings, |recording| findings(&recording.path));
    let mut kinds: BTreeMap<(Severity, Rule), (u64, u64)> = BTreeMap::new();
    let (mut intact, mut rejected, mut unexpected) = (0, Vec::new(), Vec::new());
    for (recording, result) in recordings.iter().zip(results) {
        intact += u64::from(is_intact(recording));
        let findings = match result {
            Ok(findings) => findings,
            Err(error) => {
                rejected.push(error);
                continue;
            }
        };
        let mut counts: BTreeMap<Rule, u64> = BTreeMap::new();
        findings.iter().for_each(|finding| *counts.entry(finding.rule).or_default() += 1);
        for (rule, count) in counts {
            let (recordings, all) = kinds.entry((rule.severity(), rule)).or_default();
            *recordings += 1;
            *all += count;
        }
        let error = findings.iter().find(|finding| finding.rule.severity() == Severity::Error);
        unexpected.extend(error.filter(|_| is_intact(recording)).map(ToString::to_string));
    }
    note!("{} recordings, {intact} of them intact, {} unreadable:", recordings.len(), rejected.len());
    rejected.iter().for_each(|error| note!("{error}"));
    note!("{:10}{:28}{:>12}{:>12}", "", "", "recordings", "findings");
    for ((severity, rule), (recordings, all)) in kinds {
        note!("{:10}{:28}{recordings:>12}{all:>12}", severity.to_string(), rule.code());
    }
    assert!(intact > 10, "only {intact} intact recordings");
    assert!(unexpected.is_empty(), "{}", unexpected.join("\n"));
}

/// Findings on complete recordings, each with the part of the name of those that have it and the reason: they are defects that
/// make a reader fail, or data that perfconv does not know.
const ALLOWED: &[(Rule, &str, &str)] = &[
    (Rule::BuildIdSize, "/inj-", "perf inject before perf 6.12 wrote sizes at which perf 7.1 and newer stop"),
    (Rule::Undecodable, "2p", "perf inject to a pipe writes tracing data in the wrong place: no perf reads it"),
    (Rule::CorruptRecord, "2p", "as above"),
    (Rule::CorruptRecord, "p510/inj-p2f.data", "perf inject from a pipe to a file writes over its own header"),
    (Rule::Overlap, "p612/inj-p2f.data", "perf inject from a pipe to a file writes over its own header"),
    (Rule::Tail, "p612/inj-p2f.data", "as above"),
    (
        Rule::RoundOrder,
        "p612/overwrite-ev.data",
        "perf record --overwrite writes newer records first, and perf warns of them",
    ),
    (Rule::Unaligned, "piped.header_features-4.16", "a CPU_MAP of 20 bytes, at which perf 7.1 and newer stop"),
    (Rule::CorruptRecord, "corrupted.zero_size_sample", "a record of size 0, made by hand"),
    (Rule::MissingNul, "perf.data.true.v2", "written by another program, whose names take the whole field"),
    (
        Rule::AttrSize,
        "simpleperf/",
        "simpleperf gives attrs another size than the header says: perf reads the IDs wrongly",
    ),
    (Rule::TraceBuffers, "perf_with_missing_aux_data.data", "an example of a recording that lost parts of its trace"),
    (Rule::Unknown, "simpleperf/", "records and features of simpleperf"),
];

#[test]
fn complete_recordings_have_no_findings_but_known_defects() {
    let is_complete = |recording: &Recording| {
        let name = &recording.name;
        // Of the corpus, also two interrupted recordings that others have published.
        let cut = ["/trunc/", "/killed", "wild/ENCE464", "wild/Qu-ART"];
        !CORRUPT.contains(&&**name) && !cut.iter().any(|part| name.contains(part))
    };
    let recordings: Vec<_> = files::recordings().into_iter().filter(is_complete).collect();
    let results = for_each(&recordings, |recording| findings(&recording.path));
    let (mut covered, mut kinds, mut unexpected) = (0, BTreeMap::<Rule, (BTreeSet<&str>, u64)>::new(), Vec::new());
    for (recording, result) in recordings.iter().zip(results) {
        // Some files of the corpus are no recordings.
        let Ok(findings) = result else { continue };
        covered += 1;
        for finding in findings {
            let (names, count) = kinds.entry(finding.rule).or_default();
            names.insert(&recording.name);
            *count += 1;
            let is_allowed =
                |(rule, part, _): &&(Rule, &str, &str)| *rule == finding.rule && recording.name.contains(part);
            if !ALLOWED.iter().any(|allowed| is_allowed(&allowed)) {
                unexpected.push(finding.to_string());
            }
        }
    }
    note!("{covered} of {} recordings", recordings.len());
    for (rule, (names, count)) in &kinds {
        note!("{:20}{count:>6} findings in {} recordings", rule.code(), names.len());
        let reasons =
            ALLOWED.iter().filter(|(allowed, part, _)| allowed == rule && names.iter().any(|name| name.contains(part)));
        reasons.for_each(|(_, part, reason)| note!("    {part}: {reason}"));
    }
    let enough = if files::has_corpus("check of complete recordings") { 500 } else { 18 };
    assert!(covered >= enough, "only {covered} recordings");
    unexpected.truncate(10);
    assert!(unexpected.is_empty(), "{}", unexpected.join("\n"));
}
