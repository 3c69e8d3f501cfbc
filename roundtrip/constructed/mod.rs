//! Recordings that no recorder at hand has written, put together byte by byte. They go the way of the real ones; and here
//! what is read of them is compared with what was put into them, and with what perf shows of them.
//!
//! What a scenario can say, and perf shows, is a scenario: what was written by the definitions that read it is proved by
//! another reader then. Here is what no scenario can say (version 1, machines of 32 bits, structures of sizes that are not
//! written, records at the edge), what perf 6.1 does not show or not all of (event counts of branches, CALLCHAIN_DEFERRED, flags of
//! AUX records, all forms of errors), and what hardware wrote of which the bytes are made here (SPE, BTS, CPUM_SF, PTT, VPA).

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
use perfconv::abi::Endian;
use read::Read;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::{fs, panic};

/// A recording, what has to be read from it, and what perf has to show of it.
pub struct Recording {
    pub name: &'static str,
    pub endian: Endian,
    pub bytes: Vec<u8>,
    /// Compares what was read with what was put in.
    pub expect: fn(&Read),
    pub perf: Perf,
}

impl Recording {
    fn file_name(&self) -> String {
        let order = if self.endian == Endian::Big { "big" } else { "little" };
        format!("{} ({order})", self.name)
    }
}

/// What has to be constructed or made up, since no real file has it, and the recordings and scenarios that have it.
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

/// The recordings as files.
pub fn all() -> &'static [PathBuf] {
    static ALL: OnceLock<Vec<PathBuf>> = OnceLock::new();
    ALL.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("constructed");
        fs::create_dir_all(&folder).expect("a folder can be made");
        let write = |recording: Recording| {
            let path = folder.join(format!("{}.data", recording.file_name()));
            // Another run of the tests may have it open.
            if fs::read(&path).ok().as_ref() != Some(&recording.bytes) {
                fs::write(&path, &recording.bytes).expect("a file can be written");
            }
            path
        };
        recordings().into_iter().map(write).collect()
    })
}

#[test]
fn what_is_read_is_what_was_put_in() {
    let (mut lines, mut failed) = (Vec::new(), Vec::new());
    for (recording, path) in recordings().iter().zip(all()) {
        let name = recording.file_name();
        let proved = panic::catch_unwind(|| {
            let read = Read::all(path);
            (recording.expect)(&read);
            let findings = read::findings(path);
            assert!(findings.is_empty(), "{}", findings.join("\n"));
            (read.records.len(), recording.perf.compare(path))
        });
        match proved {
            Ok((records, shown)) => {
                lines.push(format!("{name:34}{records:>8}{:>9}  {shown}", recording.bytes.len()));
            }
            Err(_) => failed.push(name),
        }
    }
    println!("{:34}{:>8}{:>9}  perf\n{}", "constructed", "records", "bytes", lines.join("\n"));
    assert!(failed.is_empty(), "what is wrong is told above: {}", failed.join(", "));
}

/// What a recorder of one byte order would have written is what comes of the other's recording, to the byte.
#[test]
fn each_byte_order_is_written_as_a_recorder_of_it_would() {
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
    println!("{compared} recordings written in the other byte order");
    assert!(differing.is_empty(), "{}", differing.join("\n"));
    assert!(compared > 30);
}

#[test]
fn whatever_no_real_file_has_is_constructed() {
    let recordings = recordings();
    let names: Vec<_> = recordings.iter().map(|recording| recording.name).collect();
    let scenarios: Vec<_> = scenarios::all().iter().map(|made| format!("scenario {}", made.name)).collect();
    let is_there = |name: &&str| names.contains(name) || scenarios.iter().any(|scenario| scenario == name);
    for (what, covering) in COVERED {
        println!("{what}: {}", covering.join(", "));
        assert!(covering.iter().all(is_there), "{what} is covered by {covering:?}");
    }
    let covering = |name: &&str| COVERED.iter().any(|(_, covering)| covering.contains(name));
    assert!(names.iter().all(covering), "of {names:?} some cover nothing");
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus/README.md");
    let Ok(told) = fs::read_to_string(corpus) else { return };
    let told = told.split_once("must be constructed").expect("it has a section of that name").1;
    let told = told.split("##").next().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
    let missing: Vec<_> = COVERED.iter().filter(|(what, _)| !told.contains(what)).collect();
    assert!(missing.is_empty(), "not asked for: {missing:?}");
    let left = COVERED.iter().fold(told, |left, (what, _)| left.replace(what, ""));
    let (before, after) = left.split_once('(').expect("it tells in brackets what version 1 is");
    let left = [before, after.split_once(')').unwrap_or_default().1].concat();
    assert!(!left.contains(char::is_alphanumeric), "not covered: {left}");
}
