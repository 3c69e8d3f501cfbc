//! Anonymization: no identifying string of a recording, in any field, occurs in the anonymized output.

use crate::common::anonymize::{Contents, json, key, lossy, may_be_preserved, vocabulary};
use crate::common::files::{Recording, corpus, fixture, has_corpus, share};
use crate::common::program::rewrite;
use crate::common::program::{for_each, perfconv, run, succeed};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use memchr::memmem;
use perf_data::abi::attr::Attr;
use perf_data::abi::feature::FeatureId;
use perf_data::container::read::{ReadOptions, input::Input};
use perf_data::stream::write::file::ToFile;
use perf_data::stream::write::form::Form;
use perfconv::rewrite::framework::pass::Pass;
use perfconv::rewrite::framework::passes::Passes;
use perfconv::rewrite::header::Header;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The minimum length of strings to search for; shorter ones are compared field by field.
const MIN_LEN: usize = 5;

/// Reads all bytes of a recording, of all files of a directory.
fn bytes(path: &Path) -> Vec<u8> {
    if !path.is_dir() {
        return fs::read(path).expect("the recording should be readable");
    }
    let mut files: Vec<_> =
        fs::read_dir(path).expect("a directory").map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    files.iter().flat_map(|file| bytes(file)).collect()
}

/// The strings of a recording that no anonymized output may contain, of at least the minimum length.
pub(super) fn secrets(recording: &Path) -> BTreeSet<Vec<u8>> {
    let contents = Contents::read(&json(recording).unwrap());
    let vocabulary = vocabulary();
    let words = contents.fields.values().flatten().filter(|word| word.len() >= MIN_LEN).chain(&contents.pieces);
    words.filter(|word| !may_be_preserved(word, &vocabulary, &contents.preserved)).cloned().collect()
}

/// Results of searching a recording and its anonymized output.
#[derive(Default)]
struct Scan {
    /// Number of strings and printable runs searched for.
    strings: usize,
    /// Number of shorter strings compared field by field.
    shorter: usize,
    addresses: usize,
    /// Words that may be preserved.
    preserved: BTreeSet<String>,
    /// Failures.
    failures: Vec<String>,
}

fn scan(recording: &Recording) -> Result<Scan, String> {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (plain, anonymous) = (dir.path().join("plain"), dir.path().join("anonymous"));
    rewrite(&recording.path, &plain, &["--decompress"])?;
    let before = Contents::read(&json(&recording.path)?);
    let key = key(dir.path(), 7);
    rewrite(&recording.path, &anonymous, &["--anonymize", "--key", key.to_str().unwrap()])
        .map_err(|error| format!("cannot be anonymized: {error}"))?;
    let after = Contents::read(&json(&anonymous)?);
    let (original, output) = (bytes(&plain), bytes(&anonymous));
    let mut scan = Scan::default();

    let vocabulary = vocabulary();
    let preserved = &before.preserved;
    let pieces = before.pieces.iter().map(Vec::as_slice);
    let mut strings: BTreeSet<&[u8]> =
        pieces.filter(|piece| !may_be_preserved(piece, &vocabulary, preserved)).collect();
    let words_after: Vec<_> = after.fields.values().flatten().chain(&after.pieces).collect();
    for (path, words) in &before.fields {
        for word in words {
            if may_be_preserved(word, &vocabulary, preserved) {
                scan.preserved.insert(lossy(word));
            } else {
                if after.fields.get(path).is_some_and(|after| after.contains(word)) {
                    scan.failures.push(format!("{path} still contains {}", lossy(word)));
                }
                scan.shorter += usize::from(word.len() < MIN_LEN);
                strings.extend((word.len() >= MIN_LEN).then_some(&word[..]));
            }
        }
    }
    for &word in &strings {
        scan.strings += 1;
        let finder = memmem::Finder::new(word);
        if finder.find(&original).is_none() && !before.pieces.contains(word) {
            scan.failures.push(format!("{} should occur in the original", lossy(word)));
        }
        if finder.find(&output).is_some() || words_after.iter().any(|contents| finder.find(contents).is_some()) {
            scan.failures.push(format!("{} still occurs", lossy(word)));
        }
    }
    for &address in &before.addresses {
        scan.addresses += 1;
        let [little, big] = [address.to_le_bytes(), address.to_be_bytes()];
        let is_in = |bytes: &[u8]| memmem::find(bytes, &little).is_some() || memmem::find(bytes, &big).is_some();
        if !is_in(&original) {
            scan.failures.push(format!("{address:#x} should occur in the original"));
        }
        if is_in(&output) {
            scan.failures.push(format!("{address:#x} still occurs"));
        }
    }
    Ok(scan)
}

#[test]
fn anonymized_output_contains_no_string_or_address_of_the_recording() {
    let all = share(4);
    let (mut files, mut strings, mut shorter, mut addresses) = (0, 0, 0, 0);
    let (mut preserved, mut skipped, mut failures) = (BTreeSet::new(), BTreeMap::new(), Vec::new());
    for (recording, scan) in all.iter().zip(for_each(&all, scan)) {
        match scan {
            Ok(scan) => {
                files += 1;
                (strings, shorter, addresses) =
                    (strings + scan.strings, shorter + scan.shorter, addresses + scan.addresses);
                preserved.extend(scan.preserved);
                failures.extend(scan.failures.into_iter().map(|what| format!("{}: {what}", recording.name)));
            }
            Err(error) if error.contains("cannot be anonymized") => {
                failures.push(format!("{}: {error}", recording.name))
            }
            Err(error) => {
                let reason =
                    error.lines().next().unwrap_or_default().rsplit(": ").next().unwrap_or_default().to_owned();
                *skipped.entry(reason).or_insert(0) += 1;
            }
        }
    }
    note!(
        "anonymize: {files} of {} recordings: searched for {strings} strings and {addresses} addresses, compared {shorter} shorter strings field by field",
        all.len()
    );
    note!(
        "anonymize: vocabulary and preserved strings, not searched for: {}",
        preserved.into_iter().collect::<Vec<_>>().join(" ")
    );
    skipped.iter().for_each(|(reason, count)| note!("anonymize: skipped {count}: {reason}"));
    assert!(failures.is_empty(), "{}:\n{}", failures.len(), failures.join("\n"));
    let (enough, many) = if has_corpus("anonymize") { (100, 5000) } else { (20, 500) };
    assert!(files >= enough && strings >= many && addresses >= many / 5, "too few strings or addresses");
}

#[test]
fn replacements_depend_on_the_key() {
    let dir = tempfile::tempdir().unwrap();
    let anonymize = |name: &str, input: &str, key: &Path| {
        let output = dir.path().join(name);
        rewrite(&fixture(input), &output, &["--anonymize", "--key", key.to_str().unwrap()]).unwrap();
        output
    };
    let names = |path: &Path| {
        let contents = Contents::read(&json(path).unwrap());
        contents.fields.get("MMAP2.body.filename").cloned().unwrap_or_default()
    };
    let keys = [key(dir.path(), 1), key(dir.path(), 2)];
    let [one, repeated] = ["one", "repeated"].map(|name| anonymize(name, "callgraph.data", &keys[0]));
    assert_eq!(fs::read(&one).unwrap(), fs::read(&repeated).unwrap());
    let (plain, other) = (anonymize("plain", "plain.data", &keys[0]), anonymize("other", "callgraph.data", &keys[1]));
    let is_name = |name: &&Vec<u8>| name.len() >= 12;
    let shared = names(&one).intersection(&names(&plain)).filter(is_name).count();
    assert!(shared >= 3, "only {shared} equal replacements of the same names");
    assert_eq!(names(&one).intersection(&names(&other)).filter(is_name).count(), 0);
    let random = [0, 1].map(|run| {
        let output = dir.path().join(format!("random{run}"));
        rewrite(&fixture("plain.data"), &output, &["--anonymize"]).unwrap();
        names(&output)
    });
    assert_eq!(random[0].intersection(&random[1]).filter(is_name).count(), 0);
}

#[test]
fn keep_and_replace_select_categories() {
    let dir = tempfile::tempdir().unwrap();
    let contents = |input: &str, args: &[&str]| {
        let output = dir.path().join("out");
        rewrite(&fixture(input), &output, &[&["--anonymize"], args].concat()).unwrap();
        let text = json(&output).unwrap();
        (Contents::read(&text), String::from_utf8(text).unwrap())
    };
    let has = |contents: &Contents, path: &str, word: &str| {
        contents.fields.get(path).is_some_and(|words| words.contains(word.as_bytes()))
    };
    for (input, what, path, word) in [
        ("plain.data", "paths", "MMAP2.body.filename", "libc.so.6"),
        ("plain.data", "comms", "COMM.body.comm", "loop-pie"),
        ("plain.data", "host", "HOSTNAME.content", "vm"),
        ("plain.data", "cmdline", "CMDLINE.content.strings", "loop"),
        ("cgroup.data", "cgroups", "CGROUP.body.path", "demo"),
        ("pipe-grouped.data", "events", "EVENT_DESC.content.events.name", "pf"),
    ] {
        let before = Contents::read(&json(&fixture(input)).unwrap());
        let occurs = |contents: &Contents| {
            let words = contents.fields.get(path).into_iter().flatten();
            words.filter(|found| memmem::find(found, word.as_bytes()).is_some()).count() > 0
        };
        assert!(
            occurs(&before),
            "{path} {word}: {:?}",
            before.fields.get(path).map(|words| words.iter().map(|word| lossy(word)).collect::<Vec<_>>())
        );
        assert!(!has(&contents(input, &[]).0, path, word), "{path} {word}");
        assert!(occurs(&contents(input, &["--keep", what]).0), "{path} {word}");
    }
    // Sample fields.
    let dwarf = corpus().into_iter().find(|recording| recording.name == "own/p61/dwarf.data");
    let dwarf = dwarf.map(|recording| recording.path);
    let fields = [
        (Some(fixture("tracepoints.data")), "raw", "field:pid_t old_pid"),
        (dwarf.clone(), "registers", "\"regs_user\":"),
        (dwarf, "stacks", "\"stack_user\":"),
    ];
    for (input, what, field) in fields.into_iter().filter_map(|(input, what, field)| Some((input?, what, field))) {
        let output = dir.path().join("out");
        let occurs = |path: &Path| memmem::find(&json(path).unwrap(), field.as_bytes()).is_some();
        assert!(occurs(&input), "{field}");
        for (args, is_preserved) in [(&["--anonymize"][..], false), (&["--anonymize", "--keep", what], true)] {
            rewrite(&input, &output, args).unwrap();
            assert_eq!(occurs(&output), is_preserved, "{field} {args:?}");
        }
    }
    // Categories that are preserved by default.
    let before = String::from_utf8(json(&fixture("plain.data")).unwrap()).unwrap();
    let time = before.lines().rfind(|line| line.contains("\"SAMPLE\"")).unwrap();
    let time = &time[time.find("\"time\":").unwrap()..][..20];
    assert!(
        contents("plain.data", &[]).1.contains(time)
            && !contents("plain.data", &["--replace", "times"]).1.contains(time)
    );
    assert!(
        contents("plain.data", &[]).1.contains("CPUDESC")
            && !contents("plain.data", &["--replace", "machine"]).1.contains("CPUDESC")
    );
    let pid = &before[before.find("\"pid\":").unwrap()..][..11];
    let pid = before
        .match_indices("\"tid\":")
        .map(|(at, _)| &before[at..at + 10])
        .find(|pid| pid.as_bytes()[6] != b'0')
        .unwrap_or(pid);
    assert!(
        contents("plain.data", &[]).1.contains(pid) && !contents("plain.data", &["--replace", "pids"]).1.contains(pid),
        "{pid}"
    );
}

#[test]
fn rejects_bad_options_before_writing() {
    let dir = tempfile::tempdir().unwrap();
    let (output, short) = (dir.path().join("out.data"), dir.path().join("short"));
    fs::write(&short, "secret\n").unwrap();
    let short = short.to_str().unwrap();
    for (args, expected) in [
        (&["--anonymize", "--key", short][..], "a key of 7 bytes is too short"),
        (&["--anonymize", "--key", "/nonexistent"], "cannot read the key"),
        (&["--anonymize", "--keep", "everything"], "unknown category 'everything'; expected one of: paths"),
        (&["--anonymize", "--keep", "times", "--replace", "times"], "times is given to both --keep and --replace"),
        (&["--keep", "comms"], "--keep requires --anonymize"),
        (&["--key", "/dev/null"], "too short"),
    ] {
        let run = run(perfconv().arg("rewrite").arg(fixture("plain.data")).arg("-o").arg(&output).args(args));
        assert_eq!(run.status, 2, "{args:?}: {}", run.stderr);
        assert!(run.stderr.contains(expected), "{args:?}: {}", run.stderr);
        assert!(!output.exists(), "{args:?}");
    }
}

#[test]
fn every_output_format_is_anonymized_and_reports_it() {
    let dir = tempfile::tempdir().unwrap();
    let secrets = [&b"forky"[..], b"libc.so", b"x86_64-linux-gnu"];
    for (name, args) in [
        ("out.pb", &[][..]),
        ("out.jsonl", &[]),
        ("out.json", &["--decode", "tracepoints"]),
        ("out.pb_data", &[]),
        ("out.perf.json", &["-t", "perf-json"]),
        ("out.csv", &["-t", "csv"]),
        ("pipe.data", &["--container", "pipe"]),
        ("dir.data", &["--container", "dir"]),
        ("sorted.data", &["--sort", "--compress"]),
        ("filtered.data", &["--comm", "forky"]),
    ] {
        for input in ["forks.data", "pipe.data"] {
            let output = dir.path().join(format!("{input}.{name}"));
            let converted =
                succeed(perfconv().arg(fixture(input)).arg("-o").arg(&output).args(args).arg("--anonymize"));
            let read = if name == "sorted.data" {
                let plain = dir.path().join("plain");
                rewrite(&output, &plain, &["--decompress"]).unwrap();
                bytes(&plain)
            } else {
                bytes(&output)
            };
            let original = bytes(&fixture(input));
            for secret in secrets {
                assert!(memmem::find(&original, secret).is_some(), "{input} {}", lossy(secret));
                assert!(memmem::find(&read, secret).is_none(), "{name}: {}", lossy(secret));
            }
            let contents = &converted.stderr;
            for part in [
                "anonymized: replaced file paths (",
                "thread names (",
                "anonymized: kept build IDs, process and thread IDs, times",
            ] {
                assert!(contents.contains(part), "{name}: {contents}");
            }
        }
    }
}

#[test]
fn anonymized_perf_json_omits_the_capture_time() {
    let dir = tempfile::tempdir().unwrap();
    let anonymize = |args: &[&str]| {
        let output = dir.path().join("out.json");
        succeed(
            perfconv().arg(fixture("plain.data")).args(["-f", "-q", "-t", "perf-json", "-o"]).arg(&output).args(args),
        );
        fs::read_to_string(output).unwrap()
    };
    assert!(anonymize(&[]).contains("captured-on"));
    for args in [&["--anonymize"][..], &["--anonymize", "--replace", "times"]] {
        let contents = anonymize(args);
        assert!(contents.contains("header-version") && !contents.contains("captured-on"), "{args:?}: {contents}");
    }
}

#[test]
fn replaces_command_line_words_and_shifts_clocks_with_times() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    let text = String::from_utf8(json(&fixture("plain.data")).unwrap()).unwrap();
    let mut lines = Vec::new();
    let (command, clock) =
        ("alice 4111111111111111 0xdeadbeef rca11ab1e net:sekret-host time=12345678", 5_000_000_000_000_u64);
    for line in text.lines() {
        let mut object: Value = serde_json::from_str(line).unwrap();
        if object["feature"] == "CMDLINE" {
            let words = ["perf", "record", "-F", "99", "-e", "sched:sched_switch", "--"];
            let words: Vec<_> = words.into_iter().chain(command.split(' ')).collect();
            object["content"]["strings"] = serde_json::json!(words);
        } else if object["feature"] == "EVENT_DESC" {
            object["content"]["events"][0]["name"] = "sched:sekret".into();
        }
        if object["record"] == "COMM" && object["body"]["comm"] != "perf-exec" {
            object["body"]["comm"] = ":87654321".into();
        }
        lines.push(object.to_string());
        if object["record"] == "COMM" {
            let conv = serde_json::json!({ "time_shift": 31, "time_mult": 1, "time_zero": clock });
            lines.push(serde_json::json!({ "record": "TIME_CONV", "body": conv }).to_string());
        }
    }
    let (edited, input, output) = (path("e.jsonl"), path("e.data"), path("out.data"));
    fs::write(&edited, lines.join("\n")).unwrap();
    succeed(perfconv().arg(&edited).arg("-o").arg(&input));
    rewrite(&input, &output, &["--anonymize", "--replace", "times,machine"]).unwrap();
    let [before, after] = [&input, &output].map(|path| String::from_utf8(json(path).unwrap()).unwrap());
    for word in command.split(' ').chain(["sched:sekret", ":87654321"]) {
        assert!(before.contains(word) && !after.contains(word), "{word}");
    }
    assert!(after.contains(r#"["perf","record","-F","99","-e","sched:sched_switch","--","#), "{after}");
    let profile = path("out.pb");
    succeed(perfconv().arg(&input).arg("--anonymize").arg("-o").arg(&profile));
    for word in command.split(' ').chain(["sched:sekret"]) {
        assert!(memmem::find(&bytes(&profile), word.as_bytes()).is_none(), "{word} is in the profile");
    }
    // The distance between the first sample's time and the clock's zero.
    let distance = |text: &str| {
        let number = |kind: &str, of: &dyn Fn(&Value) -> Option<i64>| {
            let mut objects = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
            objects.find(|object| object["record"] == kind).and_then(|object| of(&object["body"])).expect("a number")
        };
        let zero = number("TIME_CONV", &|body| body["time_zero"].as_u64().map(u64::cast_signed));
        (number("SAMPLE", &|body| body["time"].as_i64()).wrapping_sub(zero), zero)
    };
    let ((before, zero), (after, shifted)) = (distance(&before), distance(&after));
    assert!(before == after && zero == clock.cast_signed() && shifted != zero, "{before} {after} {shifted}");
}

#[test]
fn drops_unknown_records_features_and_padding() {
    let dir = tempfile::tempdir().unwrap();
    let hidden = "HIDDEN-SECRET-TEXT";
    let text = String::from_utf8(json(&fixture("plain.data")).unwrap()).unwrap();
    let mut lines: Vec<String> = Vec::new();
    let mut padded = 0;
    for line in text.lines() {
        let mut object: Value = serde_json::from_str(line).unwrap();
        if object["record"] == "COMM" {
            let comm = object["body"]["comm"].as_str().unwrap().to_owned();
            let mut padding = vec![0];
            padding.extend(hidden.bytes());
            padding.resize(40 - comm.len(), 0);
            object["body"]["comm"] =
                serde_json::json!({ "text": comm, "room": 40, "padding": STANDARD.encode(padding) });
            padded += 1;
        }
        lines.push(object.to_string());
        if object["record"] == "COMM" {
            lines.push(format!("{{\"record\":201,\"raw\":\"{}\"}}", STANDARD.encode(format!("{hidden:<24}"))));
        }
    }
    let path = |name: &str| dir.path().join(name);
    let (edited, records, data, anonymous) = (path("e.jsonl"), path("e.data"), path("all.data"), path("a.data"));
    fs::write(&edited, lines.join("\n")).unwrap();
    succeed(perfconv().arg(&edited).arg("-o").arg(&records));
    let mut passes = Passes::default();
    passes.push(Hide(hidden.as_bytes()));
    let mut sink = ToFile::new(fs::File::create(&data).unwrap(), Form::default());
    passes.run(Input::Path(records), &ReadOptions::default(), &mut sink).unwrap();
    let count = |path: &Path| memmem::find_iter(&bytes(path), hidden).count();
    assert_eq!(
        count(&data),
        2 * padded + 4,
        "in padding of names, tails of features and attrs (stored twice), unknown records and features"
    );
    let converted = run(perfconv().args(["rewrite", "--anonymize"]).arg(&data).arg("-o").arg(&anonymous));
    assert_eq!((converted.status, count(&anonymous)), (0, 0), "{}", converted.stderr);
    for dropped in ["201 records (", "the feature 60 ("] {
        assert!(converted.stderr.contains(dropped), "{}", converted.stderr);
    }
}

#[test]
fn event_ids_of_a_corrupt_size_do_not_leak_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let (input, output) = (dir.path().join("in.data"), dir.path().join("out.data"));
    let mut corrupted = fs::read(fixture("plain.data")).unwrap();
    let word = |bytes: &[u8], at: usize| u64::from_le_bytes(*bytes[at..].first_chunk().unwrap());
    // A corrupt size extends the IDs to the end of the file, over the records and features.
    let size_at = (word(&corrupted, 24) + word(&corrupted, 16)) as usize - 8;
    let size = (corrupted.len() as u64 - word(&corrupted, size_at - 8)) / 8 * 8;
    corrupted[size_at..size_at + 8].copy_from_slice(&size.to_le_bytes());
    fs::write(&input, &corrupted).unwrap();
    rewrite(&input, &output, &["--anonymize"]).unwrap();
    let anonymized = bytes(&output);
    assert!(anonymized.len() as u64 > size, "the IDs should be preserved in number");
    for secret in [&b"/usr/lib/"[..], b"/libc.so", b"loop-pie"] {
        assert!(memmem::find(&corrupted, secret).is_some(), "{}", lossy(secret));
        // Replacement works on 8-byte words, so check whole words for strings that are not aligned.
        let words = memmem::find_iter(&corrupted, secret).map(|at| &corrupted[at.next_multiple_of(8)..][..8]);
        for word in words.filter(|word| word.iter().all(u8::is_ascii_graphic)).chain([secret]) {
            assert!(memmem::find(&anonymized, word).is_none(), "{}", lossy(word));
        }
    }
}

#[test]
fn event_ids_are_replaced_consistently() {
    let dir = tempfile::tempdir().unwrap();
    let output = dir.path().join("out.data");
    for (input, min) in
        [("two-events.data", 2), ("group-read.data", 2), ("pipe-grouped.data", 4), ("tracepoints.data", 4)]
    {
        rewrite(&fixture(input), &output, &["--anonymize"]).unwrap();
        let [before, after] = [&fixture(input), &output].map(|path| {
            let text = json(path).unwrap();
            let (mut declared, mut used) = (BTreeSet::new(), BTreeMap::new());
            for line in text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
                let object: Value = serde_json::from_slice(line).unwrap();
                let is_declared = ["HEADER_ATTR", "ID_INDEX"].iter().any(|kind| object["record"] == *kind)
                    || object["attr"].is_object()
                    || object["feature"] == "EVENT_DESC";
                ids_in("", &object, &mut |id| {
                    if is_declared {
                        declared.insert(id);
                    } else {
                        *used.entry(id).or_insert(0) += 1;
                    }
                });
            }
            used.remove(&0);
            (declared, used)
        });
        let counts = |used: &BTreeMap<u64, usize>| {
            let mut counts: Vec<_> = used.values().copied().collect();
            counts.sort_unstable();
            counts
        };
        assert!(before.0.len() >= min && !before.1.is_empty(), "{input}: {before:?}");
        assert_eq!((before.0.len(), counts(&before.1)), (after.0.len(), counts(&after.1)), "{input}");
        assert!(after.1.keys().all(|id| after.0.contains(id)), "{input}: {after:?}");
        assert!(before.0.is_disjoint(&after.0), "{input}");
    }
}

/// Visits all event IDs in a line of JSON.
fn ids_in(key: &str, value: &Value, visit: &mut impl FnMut(u64)) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(key, value)| ids_in(key, value, visit)),
        Value::Array(items) => items.iter().for_each(|item| ids_in(key, item, visit)),
        Value::Number(number) if ["id", "ids", "identifier", "stream_id"].contains(&key) => {
            visit(number.as_u64().expect("an ID"));
        }
        _ => {}
    }
}

/// Hides text in an unknown feature, after the end of a known feature, and in the tail of an attr.
struct Hide(&'static [u8]);

impl Pass for Hide {
    fn name(&self) -> String {
        "hide".to_owned()
    }

    fn changes_records(&self) -> bool {
        false
    }

    fn edits(&self) -> bool {
        true
    }

    fn edit(&mut self, header: &mut Header) -> perfconv::Result<()> {
        header.features.insert(FeatureId(60), self.0.into());
        let nr_cpus = header.features[&FeatureId::NRCPUS].to_vec();
        header.features.insert(FeatureId::NRCPUS, [&nr_cpus, self.0].concat().into());
        let event = header.events[0].as_mut().expect("an event");
        event.attr = event.attr.resized(Attr::SIZE_KNOWN + 24);
        event.attr.size = event.attr.stored_size() as u32;
        event.attr.tail = format!("{:<24}", String::from_utf8_lossy(self.0)).into_bytes();
        Ok(())
    }
}
