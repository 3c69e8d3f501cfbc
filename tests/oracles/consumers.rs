//! Readers that support few or no containers other than plain files read recordings converted to plain files.

use crate::common::consumers::{Reader, linux_perf_data};
use crate::common::files::{self, fixture};
use crate::common::oracle::note_missing_oracle;
use crate::common::program::{perfconv, run_other, succeed, with_time_limit};
use perf_data::abi::Endian;
use perf_data::abi::record::RecordType;
use perf_data::abi::sample_type::SampleType;
use perf_data::container::read::input::Input;
use perf_data::container::read::{Container, ReadOptions};
use perf_data::stream::Sink;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use perf_data::stream::source::Source;
use std::collections::BTreeMap;
use std::fs::{self};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

pub(super) const READERS: &[(&str, Reader)] = &[
    ("perf", perf),
    ("linux-perf-data", linux_perf_data),
    ("hotspot-perfparser", perfparser),
    ("perf_data_converter's conditions", perf_data_converter),
];

/// Compressed recordings, pipes, directories, and combinations of these.
const INPUTS: &[&str] = &[
    "compressed.data",
    "compressed2.data",
    "pipe.data",
    "pipe-compressed.data",
    "threads.dir",
    "threads-compressed.dir",
];

#[test]
fn other_readers_find_all_samples_in_plain_files() {
    let recordings = files::fixtures();
    let dir = tempfile::tempdir().unwrap();
    let mut counts: BTreeMap<&str, (usize, u64)> = BTreeMap::new();
    let (mut failures, mut missing) = (Vec::new(), Vec::new());
    for &input in INPUTS {
        let listed =
            recordings.iter().find(|recording| recording.name == input).and_then(|recording| recording.listed_samples);
        let output = dir.path().join(format!("{input}.plain.data"));
        // perf 6.1 accepts no attrs larger than its own.
        let args = ["-q", "--decompress", "--container", "file", "--perf-version", "6.1", "-o"];
        succeed(perfconv().arg("rewrite").arg(fixture(input)).args(args).arg(&output));
        for (name, read) in READERS {
            match read(&output) {
                Some(Ok(samples)) if Some(samples) == listed && samples > 0 => {
                    let (files, all) = counts.entry(name).or_default();
                    (*files, *all) = (*files + 1, *all + samples);
                }
                Some(counted) => {
                    failures.push(format!("{name} with {input}: {counted:?}, expected {listed:?} samples"))
                }
                None if missing.contains(name) => {}
                None => missing.push(name),
            }
        }
    }
    // Not with the print macros, whose output the test harness captures.
    let mut out = io::stderr().lock();
    for (name, (files, samples)) in &counts {
        writeln!(out, "{name}: all {samples} samples of {files} recordings converted to plain files").unwrap();
    }
    missing.iter().for_each(|name| writeln!(out, "{name}: skipped: not installed").unwrap());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    for (name, _) in READERS.iter().filter(|(name, _)| !missing.contains(name)) {
        assert_eq!(counts.get(name).map(|(files, _)| *files), Some(INPUTS.len()), "{name} read too few recordings");
    }
    assert!(!missing.contains(&"linux-perf-data") && missing.len() <= 2, "too few readers installed: {counts:?}");
}

fn perf(path: &Path) -> Option<Result<u64, String>> {
    let mut perf = with_time_limit("perf");
    perf.args(["script", "--force", "-F", "tid,event", "-i"]).arg(path).env("LC_ALL", "C");
    let run = run_other(&mut perf);
    match run.status {
        127 => None,
        0 => {
            Some(Ok(String::from_utf8_lossy(&run.stdout).lines().filter(|line| !line.trim().is_empty()).count() as u64))
        }
        _ => Some(Err(run.stderr)),
    }
}

pub(super) fn perfparser(path: &Path) -> Option<Result<u64, String>> {
    let mut shell = with_time_limit("sh");
    // It reads an interrupted recording until its memory ends: 20 GB after 4 minutes.
    let perfparser = shell.args(["-c", "ulimit -v 4000000; exec \"$0\" \"$@\""]).arg(find_perfparser()?);
    let run = run_other(perfparser.arg("--print-stats").arg("--input").arg(path));
    let said = String::from_utf8_lossy(&run.stdout).into_owned() + &run.stderr;
    let samples = said.lines().find_map(|line| line.strip_prefix("samples: ")?.trim().parse().ok());
    Some(samples.filter(|_| run.status == 0).ok_or(said))
}

/// Finds Debian's hotspot-perfparser, in a directory of the machine's architecture.
pub(super) fn find_perfparser() -> Option<PathBuf> {
    let dirs = fs::read_dir("/usr/lib").ok()?.flatten();
    let program = dirs.map(|dir| dir.path().join("libexec/hotspot-perfparser")).find(|path| path.is_file());
    if program.is_none() {
        note_missing_oracle("hotspot-perfparser");
    }
    program
}

/// Conditions under which perf_data_converter rejects a recording or skips records.
#[derive(Default)]
struct Conditions {
    samples: u64,
    violation: Option<&'static str>,
}

impl Conditions {
    fn require(&mut self, holds: bool, otherwise: &'static str) {
        self.violation = self.violation.or((!holds).then_some(otherwise));
    }
}

impl Sink for Conditions {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> perfconv::Result<()> {
        match raw.header().kind {
            RecordType::SAMPLE => {
                self.samples += 1;
                let has_event = meta.events.list().len() == 1 || meta.events.find(raw).is_some();
                self.require(has_event, "samples of no event");
            }
            RecordType::COMPRESSED | RecordType::COMPRESSED2 => self.require(false, "compressed records"),
            RecordType::MMAP | RecordType::MMAP2 => {
                let start = raw.body().get(8..16).and_then(|word| Some(u64::from_le_bytes(word.try_into().ok()?)));
                self.require(start.is_some_and(|start| start % 4096 == 0), "mappings that do not start at a page");
            }
            _ => {}
        }
        Ok(())
    }
}

/// Sample fields for which perf_data_converter rejects a file. It also rejects all newer than CODE_PAGE_SIZE but WEIGHT_STRUCT.
const REJECTED_FIELDS: SampleType =
    SampleType::REGS_USER.union(SampleType::STACK_USER).union(SampleType::REGS_INTR).union(SampleType::AUX);

fn perf_data_converter(path: &Path) -> Option<Result<u64, String>> {
    let mut conditions = Conditions::default();
    let read = Source::open(Input::Path(path.to_owned()), ReadOptions::default())
        .and_then(|source| source.run(&mut conditions))
        .map_err(|error| error.to_string());
    let (meta, ledger) = match read {
        Ok(read) => read,
        Err(error) => return Some(Err(error)),
    };
    conditions.require(meta.container == Container::File, "no file container");
    conditions.require(meta.endian == Endian::Little, "big-endian features");
    conditions.require(ledger.messages().is_empty(), "corruption, or no data size");
    for event in meta.events.list() {
        let fields = event.attr.sample_type;
        conditions.require(!fields.intersects(REJECTED_FIELDS), "registers, stacks or AUX areas in samples");
        conditions.require(fields.bits() < 1 << 25, "unknown sample fields");
    }
    Some(conditions.violation.map_or(Ok(conditions.samples), |violation| Err(violation.to_owned())))
}
