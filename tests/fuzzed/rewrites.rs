//! Rewrites intact recordings: whatever the options, the output is intact and the ledger matches it.

use super::metadata::TRACEPOINTS;
use super::plausible;
use arbitrary::{Result, Unstructured};
use perf_data::abi::Endian;
use perf_data::abi::feature::FeatureId;
use perf_data::abi::record::RecordType;
use perf_data::abi::version::PerfVersion;
use perf_data::container::read::{Container, ReadOptions, input::Input};
use perf_data::container::write::frames::{FrameKind, FrameOptions};
use perf_data::stream::Sink;
use perf_data::stream::counts::Counts;
use perf_data::stream::ledger::Ledger;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use perf_data::stream::source::Source;
use perf_data::stream::write::directory::ToDirectory;
use perf_data::stream::write::file::ToFile;
use perf_data::stream::write::form::{CompressedFrames, Form};
use perf_data::stream::write::pipe::ToPipe;
use perfconv::conversion::convert_records;
use perfconv::formats::framework::converter::ConvertOptions;
use perfconv::formats::framework::output::RecordFormat;
use perfconv::formats::import::{Import, ImportOptions, import};
use perfconv::formats::json::{self, JsonDocument, JsonLines};
use perfconv::formats::quipper::{self, QuipperProto};
use perfconv::rewrite::anonymize::category::{Category, KeptCategories};
use perfconv::rewrite::anonymize::key::Key;
use perfconv::rewrite::anonymize::pass::AnonymizePass;
use perfconv::rewrite::build_ids::find::FindOptions;
use perfconv::rewrite::build_ids::maps::BuildIdMapsPass;
use perfconv::rewrite::build_ids::objects::Scope;
use perfconv::rewrite::build_ids::table::BuildIdTablePass;
use perfconv::rewrite::endian::EndianPass;
use perfconv::rewrite::filter::comm::CommFilter;
use perfconv::rewrite::filter::cpu::CpuFilter;
use perfconv::rewrite::filter::dso::DsoFilter;
use perfconv::rewrite::filter::event::EventPass;
use perfconv::rewrite::filter::head::HeadFilter;
use perfconv::rewrite::filter::kind::TypePass;
use perfconv::rewrite::filter::pass::{Filter, FilterPass};
use perfconv::rewrite::filter::sample_every::EveryFilter;
use perfconv::rewrite::filter::task::{TaskFilter, TaskNumber};
use perfconv::rewrite::filter::time::TimeFilter;
use perfconv::rewrite::framework::pass::Pass;
use perfconv::rewrite::framework::passes::Passes;
use perfconv::rewrite::header::edits::{FeatureValue, HeaderEdit};
use perfconv::rewrite::merge::options::MergeOptions;
use perfconv::rewrite::merge::run::Merge;
use perfconv::rewrite::perf_version::PerfVersionPass;
use perfconv::rewrite::quipper::Quipper;
use perfconv::rewrite::repair::RepairPass;
use perfconv::rewrite::sched_stat::SchedStatPass;
use perfconv::rewrite::sort::{SortPass, Untimed};
use perfconv::rewrite::split::criterion::By;
use perfconv::rewrite::split::run::{SplitOptions, split};
use perfconv::rewrite::strip_user_stack::StripUserStackPass;
use std::io::{self, Cursor, Seek, SeekFrom, Write};
use std::num::NonZeroU64;
use std::sync::{Arc, Mutex};

/// Generates one or two recordings and rewrites them in one of several ways.
pub fn rewrite(bytes: &[u8]) {
    let _ = rewrite_any(&mut Unstructured::new(bytes));
}

fn rewrite_any(from: &mut Unstructured<'_>) -> Result<()> {
    let what = from.int_in_range(0..=10)?;
    let recording = plausible::recording(from)?;
    if read(&recording).is_none() {
        // No record could be generated.
        return Ok(());
    }
    match what {
        0 => merge_two(recording, plausible::recording(from)?, from),
        1 => split_parts(recording, from),
        2 => lossless_round_trip(&recording, &JsonLines::default(), json::import),
        3 => lossless_round_trip(&recording, &JsonDocument::default(), json::import),
        4 => lossless_round_trip(&recording, &QuipperProto::default(), quipper::import),
        5 => to_directory(&recording, from),
        _ => run_passes(recording, from),
    }
}

fn input(bytes: &[u8]) -> Input {
    Input::Bytes { name: "plausible".to_owned(), bytes: bytes.to_vec().into() }
}

/// Counts records.
#[derive(Default)]
struct Count(Counts);

impl Sink for Count {
    fn record(&mut self, _: &Meta, raw: &Raw<'_>) -> perfconv::Result<()> {
        self.0.add(raw.header().kind);
        Ok(())
    }
}

/// Counts the records of an intact recording by type; `None` if there are none.
fn read(bytes: &[u8]) -> Option<Counts> {
    let mut count = Count::default();
    let source = Source::open(input(bytes), ReadOptions::default()).expect("the output should be a recording");
    let is_pipe = source.meta().container == Container::Pipe;
    match source.run(&mut count) {
        Ok((_, ledger)) => assert_eq!(ledger.messages(), [], "the recording should be intact"),
        Err(error) => assert!(is_pipe && count.0.total() == 0, "{error}"),
    }
    (count.0.total() > 0).then_some(count.0)
}

/// Asserts that the ledger is balanced, and that its emitted records are those of the output.
fn assert_balanced(ledger: &Ledger, bytes: &[u8]) {
    for (kind, entry) in ledger.entries() {
        let sum = entry.emitted + entry.consumed + entry.not_applicable + entry.removed() + entry.dropped();
        assert_eq!(entry.read + entry.added, sum, "{kind}: {entry:?}");
    }
    let write_to = read(bytes).unwrap_or_default();
    for (kind, entry) in ledger.entries().iter().filter(|(kind, _)| is_counted(**kind)) {
        assert_eq!(entry.emitted, write_to.count(*kind), "{kind} in the output: {entry:?}");
    }
    for (kind, count) in write_to.iter().filter(|(kind, _)| is_counted(*kind)) {
        assert_eq!(count, ledger.counts(kind).emitted, "{kind} in the output");
    }
}

/// Whether every container has records of a type: frames depend on compression, and files store header records otherwise.
fn is_counted(kind: RecordType) -> bool {
    !kind.is_frame() && !kind.is_header()
}

fn form(from: &mut Unstructured<'_>) -> Result<Form> {
    let kind = *from.choose(&[FrameKind::Compressed, FrameKind::Compressed2])?;
    let frames = if from.ratio(1, 4)? {
        CompressedFrames::Compressed(FrameOptions { kind, level: 1 })
    } else {
        CompressedFrames::Plain
    };
    Ok(Form { frames, ..Form::default() })
}

/// Writes a stream to a file or a pipe. `None` if that fails, which is legitimate for some inputs.
fn write_to(
    is_file: bool,
    form: Form,
    stream: impl FnOnce(&mut dyn Sink) -> perfconv::Result<(Meta, Ledger)>,
) -> Option<(Vec<u8>, Ledger)> {
    let (bytes, (meta, mut ledger)) = if is_file {
        let mut file = ToFile::new(Cursor::new(Vec::new()), form);
        let streamed = stream(&mut file).ok()?;
        (file.into_inner().expect("the file should be complete").into_inner(), streamed)
    } else {
        let mut pipe = ToPipe::new(Vec::new(), form);
        let streamed = stream(&mut pipe).ok()?;
        (pipe.into_inner(), streamed)
    };
    form.account(&meta, &mut ledger);
    Some((bytes, ledger))
}

fn run_passes(recording: Vec<u8>, from: &mut Unstructured<'_>) -> Result<()> {
    let read = ReadOptions::default();
    let mut passes = Passes::default();
    for _ in 0..from.int_in_range(1..=3)? {
        passes.push_boxed(pass(from, &read)?);
    }
    let (is_file, mut form) = (from.arbitrary()?, form(from)?);
    if from.ratio(1, 4)? {
        let endian = *from.choose(&[Endian::Little, Endian::Big])?;
        passes.push(EndianPass::new(endian, from.ratio(3, 4)?));
        form.endian = Some(endian);
    }
    let done = write_to(is_file, form, |sink| passes.run(input(&recording), &read, sink));
    if let Some((bytes, ledger)) = done {
        assert_balanced(&ledger, &bytes);
    }
    Ok(())
}

/// Writes a directory, and compares its records with the ledger.
fn to_directory(recording: &[u8], from: &mut Unstructured<'_>) -> Result<()> {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (read, form) = (ReadOptions::default(), form(from)?);
    let source = Source::open(input(recording), read.clone()).expect("the output should be a recording");
    let mut out = ToDirectory::new(dir.path(), form);
    // A pipe may have nothing but metadata.
    let Ok((meta, mut ledger)) = source.run(&mut out) else { return Ok(()) };
    out.account(&meta, &mut ledger);
    let mut count = Count::default();
    let source = Source::open(Input::Path(dir.path().to_owned()), read).expect("the output should be a recording");
    let (_, reread) = source.run(&mut count).expect("the output should be readable");
    assert_eq!(reread.messages(), [], "the directory should be intact");
    for (kind, entry) in ledger.entries().iter().filter(|(kind, _)| is_counted(**kind)) {
        assert_eq!(entry.emitted, count.0.count(*kind), "{kind} in the dir: {entry:?}");
    }
    Ok(())
}

/// Chooses any pass that needs no other files.
fn pass(from: &mut Unstructured<'_>, read: &ReadOptions) -> Result<Box<dyn Pass>> {
    let name = |from: &mut Unstructured<'_>| from.choose(&plausible::NAMES).map(|name| (*name).to_owned());
    let scope = *from.choose(&[Scope::Hit, Scope::All])?;
    // Ignore the files of this machine.
    let find = FindOptions { symfs: Some("/nowhere".into()), ..FindOptions::default() };
    let number = from.int_in_range(0..=3)?;
    Ok(match from.int_in_range(0..=25)? {
        0 => Quipper::Sort.build(read),
        1 => Quipper::HugePages { with_started: true }.build(read),
        2 => Quipper::Combine.build(read),
        3 => Quipper::Remap.build(read),
        4 => Quipper::DiscardUnused.build(read),
        5 => Box::new(RepairPass::default()),
        6 => Box::new(SortPass::new(Untimed::InPlace, read.clone())),
        7 => Box::new(HeaderEdit::Set(FeatureId::HOSTNAME, FeatureValue::Text(name(from)?))),
        8 => Box::new(HeaderEdit::Add(FeatureId::CMDLINE, FeatureValue::Words(vec!["perf".to_owned(), name(from)?]))),
        9 => Box::new(HeaderEdit::Drop(*from.choose(&[FeatureId::HOSTNAME, FeatureId::BUILD_ID])?)),
        10 => Box::new(PerfVersionPass::new(PerfVersion(5 + number % 3, from.int_in_range(1..=19)?), read.clone())),
        11 => filter(TimeFilter::new(times(from)?.parse().expect("times")), read),
        12 => filter(TaskFilter::new(*from.choose(&[TaskNumber::Pid, TaskNumber::Tid])?, [number]), read),
        13 => filter(CommFilter::new(vec![name(from)?]), read),
        14 => filter(CpuFilter::new(vec![number.to_string().parse().expect("a CPU")]), read),
        15 => Box::new(EventPass::for_event(number)),
        16 => filter(DsoFilter::new(vec![name(from)?]), read),
        17 => {
            Box::new(TypePass::new(vec![*from.choose(&[RecordType::SAMPLE, RecordType::COMM, RecordType::MMAP2])?]))
        }
        18 => filter(EveryFilter::new(NonZeroU64::MIN.saturating_add(number.into())), read),
        19 => filter(HeadFilter::new(number.into()), read),
        20 => Box::new(SchedStatPass { options: read.clone() }),
        21 => Box::new(StripUserStackPass::default()),
        22 => Box::new(BuildIdTablePass::new(scope, find)),
        23 => Box::new(BuildIdMapsPass::new(scope, find)),
        24 => Box::new(EventPass::new(vec![event(from)?], from.arbitrary()?)),
        _ => {
            let some = |from: &mut Unstructured<'_>| -> Result<Vec<Category>> {
                Ok(Category::NAMED
                    .iter()
                    .map(|(what, _)| *what)
                    .filter(|_| from.ratio(1, 3).unwrap_or(false))
                    .collect())
            };
            let kept = KeptCategories::new(&some(from)?, &some(from)?);
            Box::new(AnonymizePass::new(Key::new(&from.arbitrary::<[u8; 32]>()?).expect("a key of 32 bytes"), kept))
        }
    })
}

/// The name of an event that may or may not exist.
fn event(from: &mut Unstructured<'_>) -> Result<String> {
    Ok(format!("sched:{}", from.choose(&[&TRACEPOINTS[..], &["nothing"]].concat())?))
}

/// A time range, in seconds or in percent of the recording.
fn times(from: &mut Unstructured<'_>) -> Result<String> {
    let mut at = [from.int_in_range(0..=99)?, from.int_in_range(0..=99)?];
    at.sort_unstable();
    let [begin, end] = at;
    Ok(match from.int_in_range(0..=3)? {
        0 => format!(",1.{begin:02}"),
        1 => format!("1.{begin:02},"),
        2 => format!("1.{begin:02},1.{end:02}"),
        _ => format!("{begin}%-{end}%"),
    })
}

fn filter(filter: impl Filter + 'static, read: &ReadOptions) -> Box<dyn Pass> {
    Box::new(FilterPass::new(filter, read.clone(), false))
}

fn merge_two(one: Vec<u8>, other: Vec<u8>, from: &mut Unstructured<'_>) -> Result<()> {
    if read(&other).is_none() {
        return Ok(());
    }
    let read = ReadOptions::default();
    let options = MergeOptions {
        align_wall: from.ratio(1, 8)?,
        offset_pids: from.arbitrary()?,
        features_from: *from.choose(&[None, Some(0), Some(1)])?,
        kernel_from: *from.choose(&[None, Some(0), Some(1)])?,
    };
    let Ok(merge) = Merge::open(vec![input(&one), input(&other)], &read, options) else { return Ok(()) };
    let done = write_to(from.arbitrary()?, form(from)?, |sink| merge.run(&read, sink));
    if let Some((bytes, ledger)) = done {
        assert_balanced(&ledger, &bytes);
    }
    Ok(())
}

/// A file in memory that can be inspected after its writer was dropped.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Cursor<Vec<u8>>>>);

impl Shared {
    fn file(&self) -> std::sync::MutexGuard<'_, Cursor<Vec<u8>>> {
        self.0.lock().expect("no thread should panic while it holds the lock")
    }
}

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for Shared {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file().seek(to)
    }
}

fn split_parts(recording: Vec<u8>, from: &mut Unstructured<'_>) -> Result<()> {
    let by =
        [By::Time(300_000_000), By::Share(0.3), By::Size(300), By::Samples(3), By::Pid, By::Tid, By::Comm, By::Cpu];
    let by = if from.ratio(1, 9)? { By::Event } else { *from.choose(&by)? };
    let options = SplitOptions { by, max_parts: 100, at_once: from.int_in_range(1..=4)? };
    let (form, mut split_parts) = (form(from)?, Vec::new());
    let mut make = |_: &str, _| {
        split_parts.push(Shared::default());
        Ok(Box::new(ToFile::new(split_parts[split_parts.len() - 1].clone(), form)) as Box<dyn Sink>)
    };
    let samples = read(&recording).unwrap_or_default().count(RecordType::SAMPLE);
    let Ok((count, ledger)) = split(input(&recording), &ReadOptions::default(), options, &mut make) else {
        return Ok(());
    };
    assert_eq!(count, split_parts.len());
    let mut in_parts = 0;
    for part in &split_parts {
        in_parts += read(part.file().get_ref()).unwrap_or_default().count(RecordType::SAMPLE);
    }
    let entry = ledger.counts(RecordType::SAMPLE);
    assert_eq!(in_parts, entry.emitted, "samples in all parts: {entry:?}");
    assert!(in_parts <= samples);
    Ok(())
}

/// Converts a recording to another format and back.
fn lossless_round_trip(recording: &[u8], format: &dyn RecordFormat, importer: Import) -> Result<()> {
    let (read, mut exported) = (ReadOptions::default(), Vec::new());
    let (ledger, _) = convert_records(
        input(recording),
        &read,
        &ConvertOptions::default(),
        &mut Passes::default(),
        format,
        &mut exported,
    )
    .expect("an intact recording should export");
    let all: u64 = ledger.entries().values().map(|entry| entry.read).sum();
    assert!(all > 0);
    let imported = import(importer, input(&exported), &ImportOptions::from(&read)).expect("the export should import");
    let Input::Bytes { bytes, .. } = imported.input() else { panic!("expected one file") };
    assert!(bytes == recording, "{} bytes differ after the round trip, {} bytes", recording.len(), bytes.len());
    Ok(())
}
