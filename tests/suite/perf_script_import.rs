//! Text of perf script as an input: any fields, any comm, and lines that are not part of a sample.

use crate::common::files::fixture;
use crate::common::program::{perfconv, run, succeed};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The number of samples of each folded stack of an input.
fn folded(input: &Path, options: &[&str]) -> (BTreeMap<String, u64>, String) {
    let run = succeed(
        perfconv().arg(input).args(["-t", "folded", "--weight", "samples", "--symbols", "no", "-o", "-"]).args(options),
    );
    let text = String::from_utf8(run.stdout).unwrap();
    let stacks = text.lines().map(|line| line.rsplit_once(' ').unwrap());
    (stacks.map(|(stack, count)| (stack.to_owned(), count.parse().unwrap())).collect(), run.stderr)
}

/// The folded stacks of a text.
fn imported(text: &str) -> (BTreeMap<String, u64>, String) {
    let dir = tempfile::tempdir().unwrap();
    let input = dir.path().join("in.txt");
    fs::write(&input, text).unwrap();
    folded(&input, &["--from", "perf-script"])
}

/// Text of perf script of a recording, with these fields; `None` if its samples do not have one of them.
fn script(recording: &Path, fields: &str) -> Option<String> {
    let mut command = perfconv();
    command.arg(recording).args(["-t", "perf-script", "--symbols", "no", "-q", "-o", "-", "-F", fields]);
    let run = run(&mut command);
    assert!(run.status == 0 || run.stderr.contains(" have no '"), "{fields}: {}", run.stderr);
    (run.status == 0).then(|| String::from_utf8(run.stdout).unwrap())
}

const FIELDS: [&str; 14] = [
    "comm,pid,tid,cpu,time,period,event,ip,sym,dso",
    "comm,tid,time,event,ip,sym,dso",
    "comm,tid,time,period,event,ip",
    "comm,tid,event,ip,sym",
    "comm,pid,tid,event,ip,sym,symoff,dso",
    "comm,time,ip,sym,event",
    "comm,pid,time,ip,sym",
    "comm,tid,cpu,event,ip",
    "pid,tid,time,event,ip,sym",
    "tid,time,period,event,ip,sym,dso",
    "time,event,ip,sym,dso",
    "event,ip,sym,dso",
    "comm,tid,misc,time,event,ip,sym",
    "comm,time,period,event,ip,sym",
];

/// Comms that look like other parts of a line.
const COMMS: [&str; 10] = ["dd", "cc1", "1234", "f", "a b: c", "[003]", "Web Content 12", "7/8", "1.000000:", "K"];

#[test]
fn all_samples_of_a_text_are_read_whatever_its_fields_and_comms() {
    let mut texts = 0;
    for name in ["callgraph.data", "plain.data", "system-wide.data"] {
        let recording = fixture(name);
        let expected: u64 = folded(&recording, &[]).0.values().sum();
        for fields in FIELDS {
            let Some(text) = script(&recording, fields) else { continue };
            let samples: u64 = imported(&text).0.values().sum();
            assert_eq!(samples, expected, "{name}, {fields}");
            texts += 1;
        }
    }
    let recording = fixture("plain.data");
    let samples: u64 = folded(&recording, &[]).0.values().sum();
    let lines = script(&recording, "comm,tid,time,period,event,ip,sym,dso").unwrap();
    let comm = lines.split_whitespace().next().unwrap().to_owned();
    for new in COMMS {
        let text: String = lines.lines().map(|line| format!("{}\n", line.replacen(&comm, new, 1))).collect();
        let (stacks, messages) = imported(&text);
        assert_eq!(stacks.values().sum::<u64>(), samples, "{new}: {messages}");
        // Folded stacks have no spaces in names of threads.
        let name = new.replace(' ', "_");
        let of_comm = stacks.iter().filter(|(stack, _)| stack.split(';').next() == Some(&*name));
        assert!(of_comm.map(|(_, count)| count).sum::<u64>() * 2 > samples, "{new}: {stacks:?}");
        texts += 1;
    }
    note!("{texts} texts");
    assert!(texts >= 40, "{texts}");
}

const SAMPLE: &str = "spin  8011   100.000001:    2004008 cpu-clock: \n\t            1200 leaf+0x5c (/tmp/spin)\n\
                      \t            1300 main+0x1 (/tmp/spin)\n\n";

/// Fields that are printed beside those that identify a sample.
const OTHERS: [&str; 22] = [
    "addr",
    "brstack",
    "brstacksym",
    "brstackoff",
    "bpf-output",
    "callindent",
    "code_page_size",
    "data_page_size",
    "data_src",
    "dso",
    "flags",
    "iregs",
    "ins_lat",
    "period",
    "phys_addr",
    "retire_lat",
    "srcline",
    "synth",
    "trace",
    "uregs",
    "weight",
    "misc",
];

/// The text with those of these fields that the samples have. The others are added to `missing`.
fn script_with_available(recording: &Path, fields: &[&str], missing: &mut Vec<String>) -> String {
    loop {
        let fields: Vec<_> =
            fields.iter().copied().filter(|field| !missing.iter().any(|other| other == field)).collect();
        let mut command = perfconv();
        command.arg(recording).args(["-t", "perf-script", "--symbols", "no", "-q", "-o", "-", "-F", &fields.join(",")]);
        let run = run(&mut command);
        if run.status == 0 {
            return String::from_utf8_lossy(&run.stdout).into_owned();
        }
        let field = run.stderr.split_once(" have no '").and_then(|(_, rest)| rest.split('\'').next());
        let field = field.unwrap_or_else(|| panic!("{}: {fields:?}: {}", recording.display(), run.stderr));
        missing.push(field.to_owned());
    }
}

/// Combinations of fields, with registers, branch stacks, data sources and source lines among them.
#[test]
fn samples_are_read_back_with_any_other_fields() {
    let identifying = [&["comm", "tid"][..], &["tid", "time"], &["comm", "cpu", "time"], &["pid", "tid", "cpu"]];
    let names = ["callgraph.data", "page-sizes.data", "weight.data", "plain.data", "cgroup.data", "big-endian.data"];
    let mut recordings = names.map(fixture).to_vec();
    let symbols = Path::new(env!("CARGO_MANIFEST_DIR")).join("roundtrip/symbols");
    recordings.extend(["dwarf.data", "words.data"].map(|name| symbols.join(name)));
    // Branch stacks, data sources, interrupted and user registers, which only hardware records.
    let directory = tempfile::tempdir().unwrap();
    for scenario in ["lbr", "memory", "registers"] {
        let toml = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios").join(scenario).with_extension("toml");
        let data = directory.path().join(scenario);
        succeed(perfconv().arg("synth").arg(&toml).arg("-o").arg(&data));
        recordings.push(data);
    }
    let (mut texts, mut seed) = (0, 1_u64);
    for recording in &recordings {
        let (expected, _) = folded(recording, &[]);
        let expected: u64 = expected.values().sum();
        let mut missing = Vec::new();
        for identifying in identifying {
            let chosen = OTHERS.iter().filter(|_| {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                seed >> 63 == 1
            });
            let fields: Vec<_> =
                [&["event", "ip", "sym"], identifying].concat().into_iter().chain(chosen.copied()).collect();
            let text = script_with_available(recording, &fields, &mut missing);
            let (read, messages) = imported(&text);
            assert_eq!(read.values().sum::<u64>(), expected, "{}: {fields:?}: {messages}", recording.display());
            texts += 1;
        }
    }
    note!("{texts} texts of {} recordings", recordings.len());
    assert!(texts >= 44, "only {texts} texts");
}

#[test]
fn other_lines_are_skipped_counted_and_reported() {
    for (other, message) in [
        ("Failed to open /tmp/perf-8011.map, continuing without symbols\n", "line 1 is no part of a sample"),
        (
            "Warning:\nProcessed 1000 events and lost 5 chunks!\n\nCheck IO/CPU overload!\n\n",
            "3 such lines are skipped",
        ),
        ("spin  8011   99.000001: PERF_RECORD_COMM: spin:8011/8011\n", "records other than samples are skipped: 1"),
        ("spin  8011   99.000001: PERF_RECORD_FORK(8011:8011):(1:1)\n\n", "records other than samples are skipped: 1"),
        (
            " instruction trace error type 1 time 7.1 cpu 0 pid 1 tid 1 ip 0 code 5: Lost trace data\n",
            "line 1 is no part of a sample",
        ),
        ("a\0b 7 1.000000: cycles: \n", "line 1 is no part of a sample"),
    ] {
        let (stacks, messages) = imported(&format!("{other}{SAMPLE}{other}"));
        assert_eq!(stacks, [("spin;main;leaf".to_owned(), 1)].into(), "{other}: {messages}");
        let doubled = message.replace("skipped: 1", "skipped: 2").replace("3 such", "6 such");
        assert!(messages.contains(&doubled), "{other}: {messages}");
    }
    let with_lines = SAMPLE.replace("(/tmp/spin)\n", "(/tmp/spin)\n  spin.c:8\n");
    assert_eq!(imported(&with_lines).0, [("spin;main;leaf".to_owned(), 1)].into());
    let with_message =
        SAMPLE.replacen("(/tmp/spin)\n", "(/tmp/spin)\naddr2line: DWARF error: mangled line number\n", 1);
    assert_eq!(imported(&with_message).0, [("spin;main;leaf".to_owned(), 1)].into());
}

#[test]
fn a_caller_at_the_start_of_a_page_keeps_its_name() {
    let text = "app 7 1.000000: 1 cycles: \n\t  402010 foo+0x10 (/bin/app)\n\t  401000 main+0x0 (/bin/app)\n\n";
    assert_eq!(imported(text).0, [("app;main;foo".to_owned(), 1)].into());
}

#[test]
fn an_address_before_the_chain_is_no_frame() {
    let text = SAMPLE.replacen("cpu-clock: \n", "cpu-clock:      7ffd12345678 \n", 1);
    assert_eq!(imported(&text).0, [("spin;main;leaf".to_owned(), 1)].into());
    let text = "spin 7 1.000000: 5 cycles:      7ffd12345678           401000 main+0x2 (/bin/a)\n";
    assert_eq!(imported(text).0, [("spin;main".to_owned(), 1)].into());
}
