//! Recordings constructed byte by byte, for which no recorder was available. They take part in all tests of recordings; here
//! their decoded values are compared with the constructed ones and with perf's output.
//!
//! A recording that a scenario can describe and perf can print is a scenario: perf, as an independent reader, then verifies the
//! definitions that wrote it. This module has the rest: what scenarios cannot describe (version 1, 32-bit machines, structures
//! of sizes that perfconv never writes, records of the maximum size), what perf 6.1 does not print completely (branch counters,
//! CALLCHAIN_DEFERRED, flags of AUX records, all kinds of errors), and data of hardware tracers (SPE, BTS, CPUM_SF, PTT, VPA).

mod aux_area;
mod auxtrace;
mod branches;
mod bytes;
mod kernel;
mod perf;
mod read;
mod recording;
mod sizes;
mod v1;

use crate::containers::{open, to_file};
use crate::scenarios;
use perf::Perf;
use perf_data::abi::Endian;
use read::Read;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::{fs, panic};

/// A recording, and the expected results of reading it and of printing it with perf.
pub(crate) struct Recording {
    pub name: &'static str,
    pub endian: Endian,
    pub bytes: Vec<u8>,
    /// Compares decoded values with the constructed ones.
    pub expect: fn(&Read),
    pub perf: Perf,
}

impl Recording {
    fn file_name(&self) -> String {
        let order = if self.endian == Endian::Big { "big" } else { "little" };
        format!("{} ({order})", self.name)
    }
}

/// Features of the format that no real file covers, and the recordings and scenarios that cover them.
const COVERED: &[(&str, &[&str])] = &[
    ("AUX_OUTPUT_HW_ID", &["AUX"]),
    ("the AUX sample field", &["AUX in samples"]),
    ("guest samples", &["scenario guests"]),
    ("ID_INDEX with machine_pid and vcpu", &["scenario guests"]),
    ("AUXTRACE of SPE", &["AUXTRACE of SPE"]),
    ("BTS", &["AUXTRACE of BTS"]),
    ("s390 CPUM_SF", &["AUXTRACE of CPUM_SF"]),
    ("HiSi PTT", &["AUXTRACE of HiSi PTT"]),
    ("VPA", &["AUXTRACE of VPA"]),
    ("AMD IBS raw data", &["scenario ibs", "scenario ibs-fetch"]),
    ("branch TYPE_SAVE", &["scenario branch-kinds"]),
    ("PRIV_SAVE", &["scenario branch-kinds"]),
    ("COUNTERS", &["branches with counters"]),
    ("CPU_MAP with 32-bit masks and the old unaligned form", &["scenario cpu-maps"]),
    ("attr sizes 64 and 104", &["attr of 64 bytes", "attr of 104 bytes"]),
    ("PERFFILE v1", &["v1", "v1 without features", "v1 pipe"]),
    ("also big-endian", &["v1", "v1 without features", "v1 pipe"]),
    ("big-endian forms of the AUX family", &["AUX", "AUX in samples", "AUXTRACE of SPE"]),
    ("TIME_CONV", &["scenario code-changes"]),
    ("TEXT_POKE", &["scenario code-changes"]),
    ("CALLCHAIN_DEFERRED", &["CALLCHAIN_DEFERRED"]),
    ("NUMA_TOPOLOGY", &["scenario machine"]),
    ("MEM_TOPOLOGY", &["scenario machine"]),
    ("HYBRID_TOPOLOGY", &["scenario machine"]),
    ("BRANCH_STACK", &["scenario branch-kinds"]),
    ("32-bit big-endian", &["32-bit", "32-bit without host name"]),
    ("the attr bits sigtrap and aux_output", &["AUX"]),
    ("records at the 64 KiB edge", &["records of 64 KiB"]),
];

fn recordings() -> Vec<Recording> {
    let of: &[fn(Endian) -> Vec<Recording>] = &[
        aux_area::recordings,
        auxtrace::recordings,
        branches::recordings,
        kernel::recordings,
        sizes::recordings,
        v1::recordings,
    ];
    [Endian::Little, Endian::Big].into_iter().flat_map(|endian| of.iter().flat_map(move |of| of(endian))).collect()
}

/// Writes the recordings to files and returns their paths.
pub(crate) fn all() -> &'static [PathBuf] {
    static ALL: OnceLock<Vec<PathBuf>> = OnceLock::new();
    ALL.get_or_init(|| {
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("constructed");
        fs::create_dir_all(&dir).expect("creating the directory should succeed");
        let write = |recording: Recording| {
            let path = dir.join(format!("{}.data", recording.file_name()));
            // Another test process may have the file open.
            if fs::read(&path).ok().as_ref() != Some(&recording.bytes) {
                fs::write(&path, &recording.bytes).expect("the file should be writable");
            }
            path
        };
        recordings().into_iter().map(write).collect()
    })
}

#[test]
fn decoded_values_match_the_constructed_ones() {
    let (mut lines, mut failed) = (Vec::new(), Vec::new());
    for (recording, path) in recordings().iter().zip(all()) {
        let name = recording.file_name();
        let result = panic::catch_unwind(|| {
            let read = Read::all(path);
            (recording.expect)(&read);
            let findings = read::findings(path);
            assert!(findings.is_empty(), "{}", findings.join("\n"));
            (read.records.len(), recording.perf.compare(path))
        });
        match result {
            Ok((records, shown)) => {
                lines.push(format!("{name:34}{records:>8}{:>9}  {shown}", recording.bytes.len()));
            }
            Err(_) => failed.push(name),
        }
    }
    note!("{:34}{:>8}{:>9}  perf\n{}", "constructed", "records", "bytes", lines.join("\n"));
    assert!(failed.is_empty(), "failed, see panics above: {}", failed.join(", "));
}

/// Converting a recording to the other byte order gives the bytes that a recorder of that byte order would write.
#[test]
fn swapping_byte_order_matches_a_native_recording() {
    let recordings: Vec<_> = recordings().into_iter().zip(all()).collect();
    let (little, big): (Vec<_>, Vec<_>) =
        recordings.iter().partition(|(recording, _)| recording.endian == Endian::Little);
    let (mut compared, mut differing) = (0, Vec::new());
    for (recording, little) in little {
        let Some((_, big)) = big.iter().find(|(other, _)| other.name == recording.name) else { continue };
        for (endian, own, other) in [(Endian::Little, *little, *big), (Endian::Big, *big, *little)] {
            let written = |path| to_file(open(path).unwrap(), endian).unwrap();
            compared += 1;
            if written(own) != written(other) {
                differing.push(format!("{} as {endian:?}", recording.name));
            }
        }
    }
    note!("{compared} recordings converted to the other byte order");
    assert!(differing.is_empty(), "{}", differing.join("\n"));
    assert!(compared > 30);
}

#[test]
fn constructed_recordings_cover_what_no_real_file_has() {
    let recordings = recordings();
    let names: Vec<_> = recordings.iter().map(|recording| recording.name).collect();
    let scenarios: Vec<_> = scenarios::all().iter().map(|scenario| format!("scenario {}", scenario.name)).collect();
    let exists = |name: &&str| names.contains(name) || scenarios.iter().any(|scenario| scenario == name);
    for (what, covering) in COVERED {
        note!("{what}: {}", covering.join(", "));
        assert!(covering.iter().all(exists), "{what}: {covering:?} should all exist");
    }
    let covering = |name: &&str| COVERED.iter().any(|(_, covering)| covering.contains(name));
    assert!(names.iter().all(covering), "some of {names:?} cover nothing");
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus/README.md");
    let Ok(list) = fs::read_to_string(corpus) else { return };
    let list = list.split_once("must be constructed").expect("the section should exist").1;
    let list = list.split("##").next().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
    let missing: Vec<_> = COVERED.iter().filter(|(what, _)| !list.contains(what)).collect();
    assert!(missing.is_empty(), "not in the list: {missing:?}");
    let left = COVERED.iter().fold(list, |left, (what, _)| left.replace(what, ""));
    let (before, after) = left.split_once('(').expect("the list should explain version 1 in parentheses");
    let left = [before, after.split_once(')').unwrap_or_default().1].concat();
    assert!(!left.contains(char::is_alphanumeric), "not covered: {left}");
}
