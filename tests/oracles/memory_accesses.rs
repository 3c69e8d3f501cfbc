//! Rows of memory accesses of `perf report --mem-mode` and `perf mem report`, compared with those of perf 6.1.

use super::perf_commands::{ReportDirectory, has_perf, scenario_recordings};
use crate::common::files::{Recording, recordings};
use crate::common::program::{for_each, perfconv, run, run_other, with_time_limit};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Scenarios with memory accesses.
const SCENARIOS: [&str; 2] = ["scenarios/memory.toml", "tests/suite/perf_report/memory.toml"];

/// Recordings of the corpus with data sources that perf 6.1 reads.
const CORPUS: [&str; 4] = [
    "wild/numatop-old.data",
    "guest-bookworm-arm64/faults.data",
    "guest-bookworm-s390x/faults.data",
    "guest-bookworm-amd64/sys-a-all.data",
];

/// Keys to compare.
const KEYS: [&str; 12] = [
    "mem",
    "snoop",
    "tlb",
    "locked",
    "blocked",
    "local_weight",
    "weight",
    "symbol_daddr",
    "dso_daddr",
    "phys_daddr",
    "comm,mem,snoop",
    "local_weight,mem,tlb,dso_daddr",
];

#[test]
fn rows_of_memory_accesses_equal_those_of_perf() {
    if !has_perf() {
        return;
    }
    let directory = ReportDirectory::new();
    let list = accesses(directory.path());
    let symfs = directory.path().join("symfs");
    let commands = KEYS.iter().map(|keys| vec!["report", "--mem-mode", "--sort", keys]).chain([vec!["mem", "report"]]);
    let (mut compared, mut different) = (0, Vec::new());
    for command in commands {
        let results = for_each(&list, |recording| {
            let arguments = ["--stdio", "--no-inline", "-g", "none", "--force", "-i"];
            let mut theirs = with_time_limit("perf");
            theirs.env("HOME", directory.path()).args(&command).arg("--symfs").arg(&symfs);
            let theirs = run_other(theirs.args(arguments).arg(&recording.path));
            let mut ours = perfconv();
            // Both would use objects in the cache of the user.
            ours.env("HOME", directory.path()).arg("perf").args(&command).arg("--symfs").arg(&symfs);
            let ours = run(ours.args(arguments).arg(&recording.path));
            assert_eq!((theirs.status, ours.status), (0, 0), "{command:?} {}: {}", recording.name, ours.stderr);
            let [theirs, ours] = [theirs.stdout, ours.stdout].map(|text| rows(&String::from_utf8_lossy(&text)));
            (theirs.values().sum::<usize>(), theirs == ours)
        });
        for ((rows, is_equal), recording) in results.into_iter().zip(&list) {
            compared += rows;
            if !is_equal {
                different.push(format!("{command:?} {}", recording.name));
            }
        }
    }
    println!("{compared} rows of {} recordings", list.len());
    assert!(different.is_empty(), "{different:#?}");
    assert!(compared >= 250, "only {compared} rows compared");
}

/// The data of a program of which a page was accessed first.
const PROGRAM: &str = "int table[1 << 16] = {1}; char names[1 << 15] = {2}; const int limits[1 << 15] = {3};
int main(void) {
    long sum = 0;
    for (int i = 0; i < 1 << 16; i += 1024) { table[i] = i; sum += table[i]; }
    for (int i = 0; i < 1 << 15; i += 4096) names[i] = i;
    for (int i = 0; i < 1 << 15; i += 1024) sum += limits[i];
    return sum == 1;
}";

#[test]
fn data_has_the_names_of_perf() {
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str| directory.path().join(name);
    fs::write(file("data.c"), PROGRAM).unwrap();
    let built = run_other(with_time_limit("cc").args(["-O0", "-o"]).arg(file("data")).arg(file("data.c")));
    let record = ["record", "-q", "-e", "page-faults:u", "-c", "1", "-d", "-W", "-o"];
    let recorded = run_other(with_time_limit("perf").args(record).arg(file("perf.data")).arg(file("data")));
    if built.status != 0 || recorded.status != 0 {
        note!("data symbols: no C compiler, or perf cannot record here");
        return;
    }
    let arguments = ["report", "--mem-mode", "--stdio", "-q", "-g", "none", "--sort", "dso_daddr,symbol_daddr", "-i"];
    let theirs = run_other(with_time_limit("perf").args(arguments).arg(file("perf.data")));
    let ours = run(perfconv().arg("perf").args(arguments).arg(file("perf.data")));
    let [theirs, ours] = [theirs.stdout, ours.stdout].map(|text| {
        let mut rows = rows(&String::from_utf8_lossy(&text));
        // Of functions that are accessed as data, perf prints no offset.
        rows.retain(|row, _| ["table+", "names+", "limits+"].iter().any(|name| row.contains(name)));
        rows
    });
    assert!(theirs.len() > 50, "{theirs:#?}");
    assert_eq!(ours, theirs);
}

/// The report for people has the totals of `perf mem report` by level.
#[test]
fn levels_have_the_weight_of_perf() {
    if !has_perf() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let mut levels = 0;
    for recording in accesses(directory.path()) {
        let arguments =
            ["report", "--mem-mode", "--sort", "mem", "--stdio", "-t", ";", "-q", "-g", "none", "--force", "-i"];
        let theirs = run_other(with_time_limit("perf").args(arguments).arg(&recording.path));
        let ours = run(perfconv().args(["report", "--mem", "--sort", "mem", "-q"]).arg(&recording.path));
        let text = String::from_utf8_lossy(&theirs.stdout).into_owned();
        let theirs = text.lines().filter_map(|line| line.split_once(';'));
        let theirs: BTreeSet<_> = theirs.map(|(share, level)| (level.trim(), share.trim())).collect();
        // "89.29%   89.29%       100  Local RAM hit".
        let text = String::from_utf8_lossy(&ours.stdout).into_owned();
        let ours = text.lines().filter(|line| line.trim_start().starts_with(|c: char| c.is_ascii_digit()));
        let ours: BTreeSet<_> = ours
            .filter_map(|line| {
                let (share, rest) = line.trim_start().split_once(' ')?;
                let (_, rest) = rest.trim_start().split_once(' ')?;
                let (_, level) = rest.trim_start().split_once(' ')?;
                Some((level.trim(), share))
            })
            .collect();
        // perf cuts long levels.
        let is_equal = |(own, perf): (&(&str, &str), &(&str, &str))| own.0.starts_with(perf.0) && own.1 == perf.1;
        let are_equal = ours.len() == theirs.len() && ours.iter().zip(&theirs).all(is_equal);
        assert!(are_equal, "{}: {ours:?} {theirs:?}", recording.name);
        levels += theirs.len();
        assert!(!theirs.is_empty(), "{}", recording.name);
    }
    note!("{levels} levels have perf's shares");
    assert!(levels >= 9, "{levels}");
}

/// A scenario of two threads on two nodes with random accesses to a few cache lines of a program.
fn sharing(seed: u64) -> String {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut pick = |list: &[u64]| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        list[(state >> 33) as usize % list.len()]
    };
    let mut threads = String::new();
    for (tid, cpu) in [(7, 0), (8, 2)] {
        let stack = |_| {
            let address = 0x5555_0000_1000 + pick(&[0, 64, 128, 192]) + pick(&[0, 8, 16]);
            let (op, level, snoop) = match pick(&[0, 1, 2]) {
                // Stores that hit or miss the first level.
                0 => (4, pick(&[0x0a, 0x0c]), 1),
                1 => (2, pick(&[0x0a, 0x12, 0x22, 0x42, 0x82]), pick(&[2, 4, 16])),
                // perf omits others of remote caches from the loads of a line.
                _ => (2, pick(&[0x402, 0x802]), pick(&[4, 16])),
            };
            let (extended, latency) = (pick(&[0, 0, 2]), pick(&[4, 90, 300]));
            format!(
                "{{ percent = 10, frames = [\"main\"], sample = {{ addr = {address}, data_src = {{ MEM_OP = {op}, MEM_LVL = {level}, \
                 MEM_SNOOP = {snoop}, MEM_SNOOPX = {extended}, MEM_DTLB = 26, MEM_LOCK = 1 }}, weight = {{ VAR1_DW = {latency} }} }} }}"
            )
        };
        let stacks: Vec<_> = (0..10).map(stack).collect();
        threads += &format!("[[process.thread]]\ntid = {tid}\ncpu = {cpu}\nstack = [{}]\n", stacks.join(",\n"));
    }
    let base = fs::read_to_string(SHARING).expect("a scenario");
    let (head, _) = base.split_once("[[process.thread]]").expect("threads");
    format!("{head}{threads}")
}

/// A scenario with the topology that perf c2c needs.
const SHARING: &str = "tests/suite/perf_report/cache-lines.toml";

/// Totals and lines with loads of modified data are those of `perf c2c report`.
#[test]
fn shared_cache_lines_are_those_of_perf() {
    if !has_perf() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let (mut lines, mut totals) = (0, 0);
    for seed in 0..10 {
        let (scenario, path) = (directory.path().join("lines.toml"), directory.path().join("lines.data"));
        let text = if seed == 0 { fs::read_to_string(SHARING).unwrap() } else { sharing(seed) };
        fs::write(&scenario, text).unwrap();
        run(perfconv().arg("synth").arg(&scenario).args(["-f", "-q", "-o"]).arg(&path));
        let mut perf = with_time_limit("perf");
        perf.env("HOME", directory.path()).args(["c2c", "report", "--stdio", "-i"]).arg(&path);
        // perf 6.1 crashes in some runs, and prints the same in the others.
        let mut attempts = (0..20).map(|_| run_other(&mut perf));
        let theirs = attempts.find(|run| run.status >= 0).expect("a run of perf without a crash");
        let problem = theirs.stderr.lines().rfind(|line| !line.starts_with("addr2line"));
        assert_eq!(theirs.status, 0, "seed {seed}: {problem:?}");
        let theirs = String::from_utf8_lossy(&theirs.stdout).into_owned();
        let ours = run(perfconv().arg("report").arg(&path).args(["--c2c", "--json", "-q"]));
        let ours: serde_json::Value = serde_json::from_slice(&ours.stdout).unwrap();
        let total = |name: &str| {
            let line = theirs.lines().find(|line| line.trim().starts_with(name));
            line.and_then(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).unwrap_or_else(|| panic!("{name}"))
        };
        let peers = total("Load HIT Local Peer") + total("Load HIT Remote Peer");
        let expected = [
            ("loads", total("Load Operations")),
            ("stores", total("Store Operations")),
            ("local_hitm", total("Load Local HITM")),
            ("remote_hitm", total("Load Remote HITM")),
            ("peer", peers),
        ];
        for (name, expected) in expected {
            assert_eq!(ours["counts"][name].as_u64(), Some(expected), "seed {seed}: {name}");
            totals += 1;
        }
        // Index, address, node, number of physical addresses, share, HITM: all, local, remote; records, loads, stores.
        let table = theirs.split("Shared Data Cache Line Table").nth(1);
        let table = table.and_then(|text| text.split("Shared Cache Line Distribution").next());
        let rows = table.unwrap_or_default().lines().filter(|line| line.contains(" 0x"));
        let theirs: BTreeSet<Vec<String>> = rows
            .map(|row| {
                let words: Vec<_> = row.split_whitespace().collect();
                [1, 6, 7, 9, 10].map(|column| words[column].trim_start_matches("0x").to_owned()).to_vec()
            })
            .collect();
        let entries = ours["entries"].as_array().unwrap().iter();
        let number = |line: &serde_json::Value, name: &str| line["counts"][name].as_u64().unwrap();
        let ours: BTreeSet<_> = entries
            .filter(|line| number(line, "local_hitm") + number(line, "remote_hitm") > 0)
            .map(|line| {
                let address = line["address"].as_str().unwrap().trim_start_matches("0x").to_owned();
                let numbers =
                    ["local_hitm", "remote_hitm", "loads", "stores"].map(|name| number(line, name).to_string());
                [vec![address], numbers.to_vec()].concat()
            })
            .collect();
        assert_eq!(ours, theirs, "seed {seed}");
        lines += ours.len();
    }
    note!("{totals} totals and {lines} cache lines are those of perf c2c");
    assert!(lines >= 20, "{lines}");
}

/// The rows of a report with their numbers, in any order: perf orders equal ones by where it has objects in memory.
fn rows(text: &str) -> BTreeMap<String, usize> {
    let mut rows = BTreeMap::new();
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    lines.for_each(|line| *rows.entry(line.trim_end().to_owned()).or_default() += 1);
    rows
}

/// Recordings from scenarios, and of the corpus.
fn accesses(directory: &Path) -> Vec<Recording> {
    let mut list = scenario_recordings(&SCENARIOS, directory);
    let of_corpus = |recording: &Recording| CORPUS.iter().any(|name| recording.name.ends_with(name));
    list.extend(recordings().into_iter().filter(of_corpus));
    list
}
