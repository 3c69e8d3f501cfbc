//! The real perf shows the same of a recording and of its other forms: decompressed, compressed anew, as a file, as a
//! pipe, as a folder, in the other byte order.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use perfconv::abi::Endian;
use perfconv::abi::feature::FeatureId;
use perfconv::abi::record::RecordType;
use perfconv::abi::sample_type::SampleType;
use perfconv::container::read::input::Input;
use perfconv::container::read::{Container, ReadOptions};
use perfconv::stream::Sink;
use perfconv::stream::meta::Meta;
use perfconv::stream::raw::Raw;
use perfconv::stream::source::Source;
use perfconv::stream::write::file::ToFile;
use perfconv::stream::write::form::{Form, Frames};

use super::files::{self, Recording};
use super::program;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Shape {
    File,
    Pipe,
    Folder,
    Compressed,
    CompressedPipe,
    CompressedFolder,
    OtherByteOrder,
}

/// What perf shows, and the shapes of which it shows the same as of the original.
struct View {
    name: &'static str,
    show: fn(&Path) -> Option<String>,
    shapes: &'static [Shape],
    /// As many forms are to be compared: with the corpus, and of the fixtures alone. Little less than there are, so that
    /// reasons to skip some do not come to hold for more of them unseen.
    enough: (usize, usize),
}

/// In the recording's own byte order.
const SHAPES: &[Shape] =
    &[Shape::File, Shape::Pipe, Shape::Folder, Shape::Compressed, Shape::CompressedPipe, Shape::CompressedFolder];

const VIEWS: &[View] = &[
    View { name: "perf script", show: script, shapes: SHAPES, enough: (1190, 76) },
    View {
        name: "perf script in the other byte order",
        show: plain_script,
        shapes: &[Shape::OtherByteOrder],
        enough: (192, 11),
    },
    View {
        name: "perf report -D",
        show: dump,
        shapes: &[Shape::File, Shape::Pipe, Shape::Compressed],
        enough: (605, 37),
    },
    View { name: "perf report --header-only", show: header, shapes: &[Shape::File], enough: (187, 9) },
    View { name: "perf evlist -v", show: events, shapes: &[Shape::File, Shape::Pipe], enough: (275, 17) },
    View { name: "perf buildid-list", show: build_ids, shapes: &[Shape::File], enough: (173, 9) },
];

/// One recording of so many of the corpus is enough: there are several of every kind.
const SHARE: usize = 5;

#[test]
fn perf_shows_the_same_of_every_form() {
    let recordings = files::share(SHARE);
    let results = program::for_each(&recordings, judge);
    let (mut compared, mut skipped): (BTreeMap<&str, usize>, BTreeMap<&str, usize>) = Default::default();
    let mut failures = Vec::new();
    for (recording, result) in recordings.iter().zip(&results) {
        result.compared.iter().for_each(|view| *compared.entry(view).or_default() += 1);
        result.skipped.iter().for_each(|reason| *skipped.entry(reason).or_default() += 1);
        failures.extend(result.differing.iter().map(|wrong| format!("{}: {wrong}", recording.name)));
    }
    let mut out = io::stderr().lock();
    writeln!(out, "other forms of {} recordings; those of which perf shows something were compared:", recordings.len())
        .unwrap();
    compared.iter().for_each(|(view, count)| writeln!(out, "{count:6} {view}").unwrap());
    skipped.iter().for_each(|(reason, count)| writeln!(out, "{count:6} skipped: {reason}").unwrap());
    assert!(failures.is_empty(), "{} differences:\n{}", failures.len(), failures.join("\n"));
    let has_perf = program::run_other(&mut program::with_time_limit("perf")).status != 127;
    for view in VIEWS {
        let enough = files::enough("forms", SHARE, view.enough.0, view.enough.1);
        let compared = compared.get(view.name).copied().unwrap_or(0);
        assert!(!has_perf || compared >= enough, "{}: only {compared} forms of {enough} were compared", view.name);
    }
}

#[derive(Default)]
struct Judged {
    compared: Vec<&'static str>,
    skipped: Vec<&'static str>,
    differing: Vec<String>,
}

fn judge(recording: &Recording) -> Judged {
    let mut judged = Judged::default();
    let Some(facts) = Facts::of(recording) else { return judged };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let written: Vec<_> = SHAPES
        .iter()
        .chain(&[Shape::OtherByteOrder])
        .filter_map(|&shape| Some((shape, write(recording, shape, folder.path())?)))
        .collect();
    for view in VIEWS {
        let forms = || written.iter().filter(|(shape, _)| view.shapes.contains(shape));
        // Of a pipe perf shows some fields that were not asked for: what it shows of files is compared with files.
        let plain_file = written.iter().find(|(shape, _)| *shape == Shape::File).map(|(_, path)| path);
        let is_of_files = view.shapes == [Shape::OtherByteOrder];
        let original = plain_file.filter(|_| is_of_files).unwrap_or(&recording.path);
        let Some(original) = (view.show)(original).filter(|text| !text.trim().is_empty()) else { continue };
        for (shape, path) in forms() {
            if let Some(reason) = facts.shown_otherwise(view, *shape) {
                judged.skipped.push(reason);
                continue;
            }
            judged.compared.push(view.name);
            let shown = (view.show)(path).unwrap_or_default();
            if shown != original {
                let line = original.lines().zip(shown.lines().chain(std::iter::repeat(""))).find(|(a, b)| a != b);
                judged.differing.push(format!("{} of {shape:?}: {line:.300?}", view.name));
            }
        }
    }
    judged
}

/// What of a recording decides whether perf 6.1 can show its other forms.
struct Facts {
    is_pipe: bool,
    is_big_endian: bool,
    is_stat: bool,
    is_whole: bool,
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

/// Size of the attr that perf 6.1 knows.
const PERF_6_1_ATTR: u32 = 128;

impl Facts {
    fn of(recording: &Recording) -> Option<Self> {
        let source = Source::open(Input::Path(recording.path.clone()), ReadOptions::default()).ok()?;
        let (meta, ledger) = source.run(&mut Nothing).ok()?;
        let attrs = || meta.events.list().iter().map(|event| &event.attr);
        Some(Self {
            is_pipe: meta.container == Container::Pipe,
            is_big_endian: meta.endian == Endian::Big,
            is_stat: ledger.of(RecordType::STAT_CONFIG).read > 0,
            is_whole: ledger.messages().is_empty(),
            is_simpleperf: meta.features.keys().any(|id| id.0 >= 128),
            has_branches: attrs().any(|attr| attr.sample_type.contains(SampleType::BRANCH_STACK)),
            has_auxtrace: ledger.of(RecordType::AUXTRACE).read > 0,
            has_hostname: meta.features.contains_key(&FeatureId::HOSTNAME),
            has_text_poke: ledger.of(RecordType::TEXT_POKE).read > 0,
            attr_sizes: attrs().map(|attr| attr.size).collect(),
        })
    }

    /// Why perf 6.1 shows something else though it is the same.
    fn shown_otherwise(&self, view: &View, shape: Shape) -> Option<&'static str> {
        let is_pipe = matches!(shape, Shape::Pipe | Shape::CompressedPipe);
        let is_folder = matches!(shape, Shape::Folder | Shape::CompressedFolder);
        let any_size = |differs: fn(u32) -> bool| self.attr_sizes.iter().any(|&size| differs(size));
        let is_events = view.name == "perf evlist -v";
        let of_files = ["perf report --header-only", "perf evlist -v", "perf buildid-list"];
        let is_saved_pipe = is_pipe || self.is_pipe;
        let small = any_size(|size| size < PERF_6_1_ATTR);
        let large = any_size(|size| size > PERF_6_1_ATTR);
        let is_foreign = self.is_big_endian != (shape == Shape::OtherByteOrder);
        let reasons = [
            (!self.is_whole, "perf stops in damaged recordings, or shows what is not there"),
            (!is_pipe && self.is_pipe && large, "perf takes larger attrs from pipes only"),
            (is_pipe && self.is_big_endian, "perf misreads the pairs of foreign pipes"),
            (is_pipe && self.is_stat, "perf does not show pipes of perf stat as it shows files"),
            (is_pipe && self.has_branches, "perf uses branch stacks only with a feature that pipes do not have"),
            (is_saved_pipe && self.has_auxtrace, "perf does not find its way behind AUX areas in a saved pipe"),
            (is_folder && self.has_auxtrace, "perf shows the CPUs of AUX events by a feature that folders do not have"),
            (is_pipe && self.is_simpleperf, "perf refuses simpleperf's features in a pipe"),
            (is_pipe && is_events && small, "perf takes ids of pipes for fields of small attrs"),
            (self.is_pipe && of_files.contains(&view.name), "perf shows less of pipes than of files"),
            (is_foreign && !self.has_hostname, "perf knows the features of foreign files by their HOSTNAME"),
            (is_foreign && self.has_text_poke, "perf does not swap the KSYMBOL records that come with TEXT_POKE"),
        ];
        reasons.into_iter().find(|(applies, _)| *applies).map(|(_, reason)| reason)
    }
}

/// The recording in another form; `None` where it cannot be read, or has what is bound to its byte order.
fn write(recording: &Recording, shape: Shape, folder: &Path) -> Option<PathBuf> {
    let path = folder.join(format!("{shape:?}.data"));
    let (container, frames) = match shape {
        Shape::File => ("file", "--decompress"),
        Shape::Pipe => ("pipe", "--decompress"),
        Shape::Folder => ("dir", "--decompress"),
        Shape::Compressed => ("file", "--compress"),
        Shape::CompressedPipe => ("pipe", "--compress=1"),
        Shape::CompressedFolder => ("dir", "--compress=19"),
        Shape::OtherByteOrder => return swap(recording, &path).map(|()| path),
    };
    let mut command = program::perfconv();
    command.arg(&recording.path).args(["--container", container, frames, "-o"]).arg(&path);
    (program::run(&mut command).status == 0).then_some(path)
}

fn swap(recording: &Recording, path: &Path) -> Option<()> {
    let source = Source::open(Input::Path(recording.path.clone()), ReadOptions::default()).ok()?;
    let endian = if source.meta().endian == Endian::Little { Endian::Big } else { Endian::Little };
    let out = BufWriter::new(File::create(path).ok()?);
    let mut sink = ToFile::new(out, Form { frames: Frames::Plain, endian: Some(endian), ..Form::default() });
    source.run(&mut sink).ok()?;
    sink.into_inner()?.flush().ok()
}

/// What perf prints, if it succeeds, with runs of blanks made one.
fn perf(arguments: &[&str], path: &Path) -> Option<String> {
    let mut perf = program::with_time_limit("perf");
    perf.args(arguments).arg("-i").arg(path).env_remove("DEBUGINFOD_URLS").env("LC_ALL", "C").stdin(Stdio::null());
    let run = program::run_other(&mut perf);
    (run.status == 0).then(|| {
        let text = String::from_utf8_lossy(&run.stdout).into_owned();
        text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ") + "\n").collect()
    })
}

/// Samples with whatever of these fields the events have.
fn script(path: &Path) -> Option<String> {
    let fields = [
        "comm,pid,tid,cpu,time,event,ip,sym,dso,period",
        "comm,pid,tid,time,event,ip,sym,dso,period",
        "comm,tid,event",
    ];
    fields.iter().find_map(|fields| perf(&["script", "--force", "--no-inline", "--no-itrace", "-F", fields], path))
}

/// Samples without the fields in which perf misreads foreign byte orders.
fn plain_script(path: &Path) -> Option<String> {
    perf(&["script", "--force", "--no-itrace", "-F", "pid,tid,time,period"], path)
}

/// Types and contents of the records, without where they are and what exists only in some containers.
fn dump(path: &Path) -> Option<String> {
    let elsewhere = ["ATTR", "FEATURE", "COMPRESSED", "TRACING_DATA", "BUILD_ID", "FINISHED_ROUND", "EVENT_TYPE"];
    let text = perf(&["report", "-D", "--force", "--no-itrace"], path)?;
    let records = text.lines().filter_map(|line| line.split_once("]: PERF_RECORD_").map(|(_, record)| record));
    let records =
        records.filter(|record| !elsewhere.iter().any(|kind| record.trim_start_matches("HEADER_").starts_with(kind)));
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
    // Which are there depends on the form.
    let of_the_form = ["DIR_FORMAT", "COMPRESSED"];
    let words = |line: &str| line.split(' ').filter(|word| !of_the_form.contains(word)).collect::<Vec<_>>().join(" ");
    Some(lines.map(|line| words(line) + "\n").collect())
}

/// The events' fields. Names are compared with the samples: of a pipe perf evlist does not read them.
fn events(path: &Path) -> Option<String> {
    let text = perf(&["evlist", "-v", "--force"], path)?;
    let fields = |line: &str| [": type", ": size"].iter().find_map(|start| line.find(start)).unwrap_or(0);
    Some(text.lines().map(|line| format!("{}\n", &line[fields(line)..])).collect())
}

fn build_ids(path: &Path) -> Option<String> {
    perf(&["buildid-list", "--force"], path)
}
