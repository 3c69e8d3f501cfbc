//! Features that perf rejects: `check` finds them, and rewritten recordings do without them where perf could not read them
//! otherwise. perf itself is the oracle, where it is installed.

use crate::common::files::fixture;
use crate::common::oracle::note_missing_oracle;
use crate::common::program::{perfconv, run, run_other, succeed};
use perf_data::abi::feature::FeatureId;
use perf_data::container::read::{ReadOptions, input::Input};
use perfconv::inspect::check::check;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

const TABLE_ENTRY: usize = 16;

fn word(bytes: &[u8], at: usize) -> usize {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize
}

/// A file with one feature replaced or added.
fn with_feature(bytes: &[u8], id: u32, section: &[u8]) -> Vec<u8> {
    let table = word(bytes, 40) + word(bytes, 48);
    let has = |id: u32| bytes[72 + id as usize / 8] >> (id % 8) & 1 == 1;
    let mut features = BTreeMap::new();
    for (index, id) in (0..256).filter(|&id| has(id)).enumerate() {
        let [at, size] = [0, 8].map(|field| word(bytes, table + TABLE_ENTRY * index + field));
        features.insert(id, bytes[at..at + size].to_vec());
    }
    features.insert(id, section.to_vec());
    let mut file = bytes[..table].to_vec();
    file[72..104].fill(0);
    let mut at = table + TABLE_ENTRY * features.len();
    for (&id, section) in &features {
        file[72 + id as usize / 8] |= 1 << (id % 8);
        file.extend([at as u64, section.len() as u64].iter().flat_map(|word| word.to_le_bytes()));
        at += section.len();
    }
    file.extend(features.into_values().flatten());
    file
}

fn u32s(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn u64s(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn text(text: &str) -> Vec<u8> {
    let len = (text.len() + 1).next_multiple_of(64);
    let mut bytes = u32s(&[len as u32]);
    bytes.extend(text.as_bytes());
    bytes.resize(4 + len, 0);
    bytes
}

fn topology(cpus: u32, places: &[[u32; 2]], dies: Option<u32>) -> Vec<u8> {
    let mut bytes = [u32s(&[1]), text("0-1"), u32s(&[1]), text("0")].concat();
    bytes.extend(places.iter().flat_map(|place| u32s(place)));
    if let Some(die) = dies {
        bytes.extend([u32s(&[1]), text("0-1"), u32s(&[die].repeat(cpus as usize))].concat());
    }
    bytes
}

fn numa(cpus: &str) -> Vec<u8> {
    [u32s(&[1, 0]), u64s(&[1000, 500]), text(cpus)].concat()
}

fn groups(groups: &[(u32, u32)]) -> Vec<u8> {
    let group = |&(leader, members): &(u32, u32)| [text("g"), u32s(&[leader, members])].concat();
    [u32s(&[groups.len() as u32]), groups.iter().flat_map(group).collect()].concat()
}

fn bpf(info_size: u32) -> Vec<u8> {
    [u32s(&[1, info_size, 0]), u64s(&[0]), vec![0; info_size as usize]].concat()
}

/// A feature, and whether all versions of perf reject it.
struct Case {
    name: String,
    id: u32,
    section: Vec<u8>,
    is_rejected: bool,
}

/// As observed with perf 6.1, whose reader of the feature COMPRESSED showed whether it came so far.
fn cases(cpus: u32) -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |name: String, id, section, is_rejected| cases.push(Case { name, id, section, is_rejected });
    for (socket, is_rejected) in [(0, false), (cpus, false), (cpus + 1, true), (1000, true), (u32::MAX, false)] {
        let places = vec![[0, socket]; cpus as usize];
        add(format!("socket {socket}"), 13, topology(cpus, &places, None), is_rejected);
    }
    for id in [cpus + 1, 1000, u32::MAX] {
        add(format!("core {id}"), 13, topology(cpus, &vec![[id, 0]; cpus as usize], None), false);
        add(format!("die {id}"), 13, topology(cpus, &vec![[0, 0]; cpus as usize], Some(id)), false);
    }
    add("no cores".to_owned(), 13, topology(cpus, &[], None), false);
    for list in ["", "0-1", "0-", "0,", "1,0", "0x1"] {
        add(format!("NUMA node {list:?}"), 14, numa(list), false);
    }
    for list in ["x", "0-1,1", "1-0", "0,0", "0-1\n", "2147483647", "0;1", ",0", "-1", "any", "0-1-2"] {
        add(format!("NUMA node {list:?}"), 14, numa(list), true);
    }
    for (list, is_rejected) in [
        (&[][..], false),
        (&[(0, 1)], false),
        (&[(0, 2)], true),
        (&[(1, 1)], true),
        (&[(0, 0)], true),
        (&[(0, 1), (0, 1)], true),
        (&[(0, u32::MAX)], true),
    ] {
        add(format!("groups {list:?}"), 17, groups(list), is_rejected);
    }
    for (version, is_rejected) in [(0, true), (1, false), (2, true)] {
        add(format!("CACHE version {version}"), 20, u32s(&[version, 0]), is_rejected);
        add(format!("MEM_TOPOLOGY version {version}"), 22, u64s(&[version.into(), 1, 0]), is_rejected);
    }
    for (size, is_rejected) in [(104, false), (232, false), (256, true)] {
        add(format!("BPF_PROG_INFO of {size} bytes"), 25, bpf(size), is_rejected);
    }
    add("DIR_FORMAT".to_owned(), 24, u64s(&[1]), true);
    add("CLOCKID".to_owned(), 23, u64s(&[u64::MAX]), false);
    add("SAMPLE_TIME".to_owned(), 21, u64s(&[9, 1]), false);
    add("PMU_MAPPINGS".to_owned(), 16, u32s(&[0]), false);
    cases
}

/// The exit status of perf, and the samples that it prints; `None` if perf 6.1, whose rules these are, is not installed.
fn printed_by_perf(path: &Path) -> Option<(i32, usize)> {
    let Ok(version) = Command::new("perf").arg("--version").output() else {
        note_missing_oracle("perf");
        return None;
    };
    if !version.stdout.starts_with(b"perf version 6.1.") {
        return None;
    }
    let printed = run_other(Command::new("perf").args(["script", "-f", "-F", "comm,ip", "-i"]).arg(path));
    Some((printed.status, printed.stdout.iter().filter(|&&byte| byte == b'\n').count()))
}

#[test]
fn rewritten_recordings_lack_features_that_perf_rejects() {
    let bytes = fs::read(fixture("plain.data")).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let [input, compressed, pipe] = ["in.data", "compressed.data", "pipe.data"].map(|name| dir.path().join(name));
    let table = word(&bytes, 40) + word(&bytes, 48);
    let before = (0..7).filter(|id| bytes[72] >> id & 1 == 1).count();
    let cpus = word(&bytes, table + TABLE_ENTRY * before);
    let cpus = u32::from_le_bytes(bytes[cpus + 4..cpus + 8].try_into().unwrap());
    let expected = printed_by_perf(&fixture("plain.data"));
    let cases = cases(cpus);
    let mut rejected = 0;
    for Case { name, id, section, is_rejected } in &cases {
        rejected += u64::from(*is_rejected);
        fs::write(&input, with_feature(&bytes, *id, section)).unwrap();
        let mut findings = Vec::new();
        let mut add = |finding: perfconv::inspect::check::Finding| findings.push(finding.to_string());
        check(Input::Path(input.clone()), ReadOptions::default(), &mut add).unwrap();
        let is_found = findings.iter().any(|what| what.contains("perf ignores the features behind it"));
        assert_eq!(is_found, *is_rejected, "{name}: {findings:?}");
        for (output, option) in [(&compressed, &["--compress"][..]), (&pipe, &["--container", "pipe"])] {
            let written = succeed(perfconv().arg("rewrite").arg(&input).args(option).args(["-f", "-o"]).arg(output));
            // The writer decides about the directory format anyway.
            let is_reported = written.warnings().iter().any(|what| what.contains("is omitted, because perf"));
            // A pipe has no room for some features, whatever their values.
            let feature = FeatureId(*id).to_string();
            let is_unstorable =
                written.warnings().iter().any(|what| what.contains("a pipe cannot store") && what.contains(&feature));
            let is_expected = *is_rejected && *id != 24 && !is_unstorable;
            assert_eq!(is_reported, is_expected, "{name}, {option:?}: {}", written.stderr);
            let strict =
                run(perfconv().arg("rewrite").arg(&input).args(option).args(["-f", "--strict", "-o"]).arg(output));
            assert!(strict.status == 3 || !is_reported, "{name}, {option:?}: {}", strict.stderr);
            assert_eq!(printed_by_perf(output), expected, "{name}, {option:?}");
        }
        assert_eq!(printed_by_perf(&input), expected, "{name}");
    }
    note!("{} features, {rejected} of them rejected", cases.len());
    assert!(rejected > 20, "{rejected}");
}

/// The oracle of the rules: perf cannot decompress records behind a feature that it rejects.
#[test]
fn perf_stops_at_the_features_that_check_finds() {
    let bytes = fs::read(fixture("compressed.data")).unwrap();
    let Some(expected) = printed_by_perf(&fixture("compressed.data")) else { return };
    if expected.0 != 0 {
        note!("skipped: the installed perf cannot read compressed recordings");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let input = dir.path().join("in.data");
    for Case { name, id, section, is_rejected } in cases(2) {
        fs::write(&input, with_feature(&bytes, id, &section)).unwrap();
        assert_eq!(printed_by_perf(&input) != Some(expected), is_rejected, "{name}");
    }
}
