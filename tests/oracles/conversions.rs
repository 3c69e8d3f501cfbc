//! perf prints the same for a recording and its conversions: decompressed, recompressed, to a file, a pipe, a directory, and the
//! other byte order.

use crate::common::files::{self, Recording};
use crate::common::oracle::has_program;
use crate::common::program;
use perf_data::abi::Endian;
use perf_data::abi::feature::FeatureId;
use perf_data::abi::record::RecordType;
use perf_data::abi::sample_type::SampleType;
use perf_data::container::read::input::Input;
use perf_data::container::read::{Container, ReadOptions};
use perf_data::stream::Sink;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use perf_data::stream::source::Source;
use perf_data::stream::write::file::ToFile;
use perf_data::stream::write::form::{CompressedFrames, Form};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Conversion {
    File,
    Pipe,
    Directory,
    Compressed,
    CompressedPipe,
    CompressedDirectory,
    OtherByteOrder,
}

/// A perf command, and the conversions for which its output stays the same.
struct View {
    name: &'static str,
    show: fn(&Path) -> Option<String>,
    conversions: &'static [Conversion],
    /// The minimum number of comparisons: with the corpus, and with the fixtures alone. Close to the actual number, so that
    /// reasons to skip do not silently apply to more recordings.
    enough: (usize, usize),
}

/// Conversions within the recording's own byte order.
const SAME_ENDIAN: &[Conversion] = &[
    Conversion::File,
    Conversion::Pipe,
    Conversion::Directory,
    Conversion::Compressed,
    Conversion::CompressedPipe,
    Conversion::CompressedDirectory,
];

const VIEWS: &[View] = &[
    View { name: "perf script", show: script, conversions: SAME_ENDIAN, enough: (1190, 76) },
    View {
        name: "perf script in the other byte order",
        show: plain_script,
        conversions: &[Conversion::OtherByteOrder],
        enough: (192, 11),
    },
    View {
        name: "perf report -D",
        show: dump,
        conversions: &[Conversion::File, Conversion::Pipe, Conversion::Compressed],
        enough: (605, 37),
    },
    View { name: "perf report --header-only", show: header, conversions: &[Conversion::File], enough: (187, 9) },
    View {
        name: "perf evlist -v",
        show: events,
        conversions: &[Conversion::File, Conversion::Pipe],
        enough: (275, 17),
    },
    View { name: "perf buildid-list", show: build_ids, conversions: &[Conversion::File], enough: (173, 9) },
];

/// One in `SHARE` recordings of the corpus is converted: there are several of every kind.
const SHARE: usize = 5;

#[test]
fn perf_output_is_the_same_after_every_conversion() {
    if !has_program("perf") {
        return;
    }
    let recordings = files::share(SHARE);
    let results = program::for_each(&recordings, compare);
    let (mut compared, mut skipped): (BTreeMap<&str, usize>, BTreeMap<&str, usize>) = Default::default();
    let mut failures = Vec::new();
    for (recording, result) in recordings.iter().zip(&results) {
        result.compared.iter().for_each(|view| *compared.entry(view).or_default() += 1);
        result.skipped.iter().for_each(|reason| *skipped.entry(reason).or_default() += 1);
        failures.extend(result.differing.iter().map(|difference| format!("{}: {difference}", recording.name)));
    }
    let mut out = io::stderr().lock();
    writeln!(out, "conversions of {} recordings, compared where perf prints the original:", recordings.len()).unwrap();
    compared.iter().for_each(|(view, count)| writeln!(out, "{count:6} {view}").unwrap());
    skipped.iter().for_each(|(reason, count)| writeln!(out, "{count:6} skipped: {reason}").unwrap());
    assert!(failures.is_empty(), "{} differences:\n{}", failures.len(), failures.join("\n"));
    for view in VIEWS {
        let enough = files::enough("forms", SHARE, view.enough.0, view.enough.1);
        let compared = compared.get(view.name).copied().unwrap_or(0);
        assert!(compared >= enough, "{}: compared only {compared} conversions, expected {enough}", view.name);
    }
}

#[derive(Default)]
struct Comparisons {
    compared: Vec<&'static str>,
    skipped: Vec<&'static str>,
    differing: Vec<String>,
}

fn compare(recording: &Recording) -> Comparisons {
    let mut comparisons = Comparisons::default();
    let Some(facts) = Facts::read(recording) else { return comparisons };
    let dir = tempfile::tempdir().expect("a temporary directory");
    let written: Vec<_> = SAME_ENDIAN
        .iter()
        .chain(&[Conversion::OtherByteOrder])
        .filter_map(|&conversion| Some((conversion, write(recording, conversion, dir.path())?)))
        .collect();
    for view in VIEWS {
        let matching = || written.iter().filter(|(conversion, _)| view.conversions.contains(conversion));
        // For pipes, perf prints some fields that were not requested: compare outputs in files with files.
        let plain_file = written.iter().find(|(conversion, _)| *conversion == Conversion::File).map(|(_, path)| path);
        let is_of_files = view.conversions == [Conversion::OtherByteOrder];
        let original = plain_file.filter(|_| is_of_files).unwrap_or(&recording.path);
        let Some(original) = (view.show)(original).filter(|text| !text.trim().is_empty()) else { continue };
        for (conversion, path) in matching() {
            if let Some(reason) = facts.known_difference(view, *conversion) {
                comparisons.skipped.push(reason);
                continue;
            }
            comparisons.compared.push(view.name);
            let shown = (view.show)(path).unwrap_or_default();
            if shown != original {
                let line = original.lines().zip(shown.lines().chain(std::iter::repeat(""))).find(|(a, b)| a != b);
                comparisons.differing.push(format!("{} of {conversion:?}: {line:.300?}", view.name));
            }
        }
    }
    comparisons
}

/// Properties of a recording that decide whether perf 6.1 can print its conversions.
struct Facts {
    is_pipe: bool,
    is_big_endian: bool,
    is_stat: bool,
    is_complete: bool,
    is_simpleperf: bool,
    has_branches: bool,
    has_auxtrace: bool,
    has_hostname: bool,
    has_text_poke: bool,
    attr_sizes: Vec<u32>,
}

struct Nothing;

impl Sink for Nothing {
    fn record(&mut self, _: &Meta, _: &Raw<'_>) -> perfconv::Result<()> {
        Ok(())
    }
}

/// The size of the attr in perf 6.1.
const PERF_6_1_ATTR: u32 = 128;

impl Facts {
    fn read(recording: &Recording) -> Option<Self> {
        let source = Source::open(Input::Path(recording.path.clone()), ReadOptions::default()).ok()?;
        let (meta, ledger) = source.run(&mut Nothing).ok()?;
        let attrs = || meta.events.list().iter().map(|event| &event.attr);
        Some(Self {
            is_pipe: meta.container == Container::Pipe,
            is_big_endian: meta.endian == Endian::Big,
            is_stat: ledger.counts(RecordType::STAT_CONFIG).read > 0,
            is_complete: ledger.messages().is_empty(),
            is_simpleperf: meta.features.keys().any(|id| id.0 >= 128),
            has_branches: attrs().any(|attr| attr.sample_type.contains(SampleType::BRANCH_STACK)),
            has_auxtrace: ledger.counts(RecordType::AUXTRACE).read > 0,
            has_hostname: meta.features.contains_key(&FeatureId::HOSTNAME),
            has_text_poke: ledger.counts(RecordType::TEXT_POKE).read > 0,
            attr_sizes: attrs().map(|attr| attr.size).collect(),
        })
    }

    /// The reason why perf 6.1 prints something else for an equivalent recording, if any.
    fn known_difference(&self, view: &View, conversion: Conversion) -> Option<&'static str> {
        let is_pipe = matches!(conversion, Conversion::Pipe | Conversion::CompressedPipe);
        let is_dir = matches!(conversion, Conversion::Directory | Conversion::CompressedDirectory);
        let any_size = |differs: fn(u32) -> bool| self.attr_sizes.iter().any(|&size| differs(size));
        let is_events = view.name == "perf evlist -v";
        let of_files = ["perf report --header-only", "perf evlist -v", "perf buildid-list"];
        let is_saved_pipe = is_pipe || self.is_pipe;
        let small = any_size(|size| size < PERF_6_1_ATTR);
        let large = any_size(|size| size > PERF_6_1_ATTR);
        let is_foreign = self.is_big_endian != (conversion == Conversion::OtherByteOrder);
        let reasons = [
            (!self.is_complete, "perf stops in corrupt recordings, or prints garbage"),
            (!is_pipe && self.is_pipe && large, "perf accepts larger attrs in pipes only"),
            (is_pipe && self.is_big_endian, "perf misreads pid/tid pairs in pipes of the other byte order"),
            (is_pipe && self.is_stat, "perf prints pipes of perf stat differently from files"),
            (is_pipe && self.has_branches, "perf prints branch stacks only with a feature that pipes lack"),
            (is_saved_pipe && self.has_auxtrace, "perf cannot skip AUX areas in a saved pipe"),
            (is_dir && self.has_auxtrace, "perf prints the CPUs of AUX events by a feature that directories lack"),
            (is_pipe && self.is_simpleperf, "perf rejects features of simpleperf in a pipe"),
            (is_pipe && is_events && small, "perf reads IDs in pipes as fields of small attrs"),
            (self.is_pipe && of_files.contains(&view.name), "perf prints less for pipes than for files"),
            (is_foreign && !self.has_hostname, "perf detects the word size of foreign feature bits by HOSTNAME"),
            (is_foreign && self.has_text_poke, "perf does not swap KSYMBOL records"),
        ];
        reasons.into_iter().find(|(applies, _)| *applies).map(|(_, reason)| reason)
    }
}

/// Converts a recording; `None` if it cannot be read, or depends on its byte order.
fn write(recording: &Recording, conversion: Conversion, dir: &Path) -> Option<PathBuf> {
    let path = dir.join(format!("{conversion:?}.data"));
    let (container, frames) = match conversion {
        Conversion::File => ("file", "--decompress"),
        Conversion::Pipe => ("pipe", "--decompress"),
        Conversion::Directory => ("dir", "--decompress"),
        Conversion::Compressed => ("file", "--compress"),
        Conversion::CompressedPipe => ("pipe", "--compress=1"),
        Conversion::CompressedDirectory => ("dir", "--compress=19"),
        Conversion::OtherByteOrder => return swap(recording, &path).map(|()| path),
    };
    let mut command = program::perfconv();
    command.arg(&recording.path).args(["--container", container, frames, "-o"]).arg(&path);
    (program::run(&mut command).status == 0).then_some(path)
}

fn swap(recording: &Recording, path: &Path) -> Option<()> {
    let source = Source::open(Input::Path(recording.path.clone()), ReadOptions::default()).ok()?;
    let endian = if source.meta().endian == Endian::Little { Endian::Big } else { Endian::Little };
    let out = BufWriter::new(File::create(path).ok()?);
    let mut sink = ToFile::new(out, Form { frames: CompressedFrames::Plain, endian: Some(endian), ..Form::default() });
    source.run(&mut sink).ok()?;
    sink.into_inner()?.flush().ok()
}

/// The output of perf, if it succeeds, with whitespace collapsed.
fn perf(arguments: &[&str], path: &Path) -> Option<String> {
    let mut perf = program::with_time_limit("perf");
    perf.args(arguments).arg("-i").arg(path).env_remove("DEBUGINFOD_URLS").env("LC_ALL", "C").stdin(Stdio::null());
    let run = program::run_other(&mut perf);
    (run.status == 0).then(|| {
        let text = String::from_utf8_lossy(&run.stdout).into_owned();
        text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ") + "\n").collect()
    })
}

/// Prints samples with the fields that all events have.
fn script(path: &Path) -> Option<String> {
    let fields = [
        "comm,pid,tid,cpu,time,event,ip,sym,dso,period",
        "comm,pid,tid,time,event,ip,sym,dso,period",
        "comm,tid,event",
    ];
    fields.iter().find_map(|fields| perf(&["script", "--force", "--no-inline", "--no-itrace", "-F", fields], path))
}

/// Prints samples without the fields that perf misreads in foreign byte orders.
fn plain_script(path: &Path) -> Option<String> {
    perf(&["script", "--force", "--no-itrace", "-F", "pid,tid,time,period"], path)
}

/// Prints types and contents of the records, without their offsets and types that only some containers have.
fn dump(path: &Path) -> Option<String> {
    let skipped_types = ["ATTR", "FEATURE", "COMPRESSED", "TRACING_DATA", "BUILD_ID", "FINISHED_ROUND", "EVENT_TYPE"];
    let text = perf(&["report", "-D", "--force", "--no-itrace"], path)?;
    let records = text.lines().filter_map(|line| line.split_once("]: PERF_RECORD_").map(|(_, record)| record));
    let records = records
        .filter(|record| !skipped_types.iter().any(|kind| record.trim_start_matches("HEADER_").starts_with(kind)));
    Some(records.map(|record| format!("{record}\n")).collect())
}

fn header(path: &Path) -> Option<String> {
    let of_the_file = [
        "# captured on",
        "# header version",
        "# data offset",
        "# data size",
        "# feat offset",
        "# compressed",
        "# directory",
    ];
    let text = perf(&["report", "--header-only", "-I", "--force"], path)?;
    let lines = text.lines().filter(|line| !of_the_file.iter().any(|start| line.starts_with(start)));
    // Features that depend on the container.
    let of_the_container = ["DIR_FORMAT", "COMPRESSED"];
    let words =
        |line: &str| line.split(' ').filter(|word| !of_the_container.contains(word)).collect::<Vec<_>>().join(" ");
    Some(lines.map(|line| words(line) + "\n").collect())
}

/// Prints the events' fields, without names, which perf evlist does not read from pipes. Names are compared with the samples.
fn events(path: &Path) -> Option<String> {
    let text = perf(&["evlist", "-v", "--force"], path)?;
    let fields = |line: &str| [": type", ": size"].iter().find_map(|start| line.find(start)).unwrap_or(0);
    Some(text.lines().map(|line| format!("{}\n", &line[fields(line)..])).collect())
}

fn build_ids(path: &Path) -> Option<String> {
    perf(&["buildid-list", "--force"], path)
}
