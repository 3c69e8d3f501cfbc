//! Sound recordings, rewritten: whatever is asked for, what comes out is sound, and the account is of what is in it.

use super::about::TRACEPOINTS;
use super::plausible;
use arbitrary::{Result, Unstructured};
use perfconv::abi::Endian;
use perfconv::abi::feature::FeatureId;
use perfconv::abi::record::RecordType;
use perfconv::container::read::{Container, ReadOptions, input::Input};
use perfconv::container::write::frames::{FrameKind, FrameOptions};
use perfconv::convert::carry;
use perfconv::formats::carry::CarryOptions;
use perfconv::formats::import::{Import, ImportOptions, import};
use perfconv::formats::{carry::BeginCarry, json, quipper};
use perfconv::rewrite::anonymize::category::{Kept, What};
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
use perfconv::rewrite::header::edits::{HeaderEdit, Value};
use perfconv::rewrite::merge::options::MergeOptions;
use perfconv::rewrite::merge::run::Merge;
use perfconv::rewrite::pass::Pass;
use perfconv::rewrite::passes::Passes;
use perfconv::rewrite::perf_version::PerfVersionPass;
use perfconv::rewrite::perf_version::since::PerfVersion;
use perfconv::rewrite::quipper::Quipper;
use perfconv::rewrite::repair::RepairPass;
use perfconv::rewrite::sched_stat::SchedStatPass;
use perfconv::rewrite::sort::{SortPass, Untimed};
use perfconv::rewrite::split::by::By;
use perfconv::rewrite::split::run::{SplitOptions, split};
use perfconv::rewrite::strip_user_stack::StripUserStackPass;
use perfconv::stream::Sink;
use perfconv::stream::counts::Counts;
use perfconv::stream::ledger::Ledger;
use perfconv::stream::meta::{Meta, is_header};
use perfconv::stream::raw::Raw;
use perfconv::stream::source::Source;
use perfconv::stream::write::directory::ToDirectory;
use perfconv::stream::write::file::ToFile;
use perfconv::stream::write::form::{Form, Frames};
use perfconv::stream::write::pipe::ToPipe;
use std::io::{self, Cursor, Seek, SeekFrom, Write};
use std::num::NonZeroU64;
use std::sync::{Arc, Mutex};

/// Values made of any bytes, as a recording or two, with whatever can be done with them.
pub fn rewrite(bytes: &[u8]) {
    let _ = rewritten(&mut Unstructured::new(bytes));
}

fn rewritten(from: &mut Unstructured<'_>) -> Result<()> {
    let what = from.int_in_range(0..=10)?;
    let recording = plausible::recording(from)?;
    if read(&recording).is_none() {
        // Not one of its records could be made.
        return Ok(());
    }
    match what {
        0 => merged(recording, plausible::recording(from)?, from),
        1 => parts(recording, from),
        2 => carried(&recording, json::begin_lines, json::import),
        3 => carried(&recording, json::begin_document, json::import),
        4 => carried(&recording, quipper::begin, quipper::import),
        5 => in_folder(&recording, from),
        _ => passed(recording, from),
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

/// How many records of each type are in a recording without any damage; `None` where there are none.
fn read(bytes: &[u8]) -> Option<Counts> {
    let mut count = Count::default();
    let source = Source::open(input(bytes), ReadOptions::default()).expect("what was written is a recording");
    let is_pipe = source.meta().container == Container::Pipe;
    match source.run(&mut count) {
        Ok((_, ledger)) => assert_eq!(ledger.messages(), [], "nothing is damaged"),
        Err(error) => assert!(is_pipe && count.0.total() == 0, "{error}"),
    }
    (count.0.total() > 0).then_some(count.0)
}

/// Whether all that was read or made is somewhere, and what is told to be in the output is there.
fn adds_up(ledger: &Ledger, bytes: &[u8]) {
    for (kind, entry) in ledger.entries() {
        let told = entry.emitted + entry.consumed + entry.not_applicable + entry.left_out() + entry.dropped();
        assert_eq!(entry.read + entry.added, told, "{kind}: {entry:?}");
    }
    let written = read(bytes).unwrap_or_default();
    for (kind, entry) in ledger.entries().iter().filter(|(kind, _)| is_counted(**kind)) {
        assert_eq!(entry.emitted, written.of(*kind), "{kind} in the output: {entry:?}");
    }
    for (kind, count) in written.iter().filter(|(kind, _)| is_counted(*kind)) {
        assert_eq!(count, ledger.of(kind).emitted, "{kind} in the output");
    }
}

/// Whether records of a type are in every form: frames are not, and files tell what is of the header otherwise.
fn is_counted(kind: RecordType) -> bool {
    !matches!(kind, RecordType::COMPRESSED | RecordType::COMPRESSED2) && !is_header(kind)
}

fn form(from: &mut Unstructured<'_>) -> Result<Form> {
    let kind = *from.choose(&[FrameKind::Compressed, FrameKind::Compressed2])?;
    let frames = if from.ratio(1, 4)? { Frames::Compressed(FrameOptions { kind, level: 1 }) } else { Frames::Plain };
    Ok(Form { frames, ..Form::default() })
}

/// Writes what is streamed as a file or as a pipe. `None` where it cannot be done, for which there may be reasons.
fn written(
    is_file: bool,
    form: Form,
    stream: impl FnOnce(&mut dyn Sink) -> perfconv::Result<(Meta, Ledger)>,
) -> Option<(Vec<u8>, Ledger)> {
    let (bytes, (meta, mut ledger)) = if is_file {
        let mut file = ToFile::new(Cursor::new(Vec::new()), form);
        let streamed = stream(&mut file).ok()?;
        (file.into_inner().expect("it was written to its end").into_inner(), streamed)
    } else {
        let mut pipe = ToPipe::new(Vec::new(), form);
        let streamed = stream(&mut pipe).ok()?;
        (pipe.into_inner(), streamed)
    };
    form.account(&meta, &mut ledger);
    Some((bytes, ledger))
}

fn passed(recording: Vec<u8>, from: &mut Unstructured<'_>) -> Result<()> {
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
    let done = written(is_file, form, |sink| passes.run(input(&recording), &read, sink));
    if let Some((bytes, ledger)) = done {
        adds_up(&ledger, &bytes);
    }
    Ok(())
}

/// As a folder, from which the same records come, and the same file again as from the recording itself.
fn in_folder(recording: &[u8], from: &mut Unstructured<'_>) -> Result<()> {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let (read, form) = (ReadOptions::default(), form(from)?);
    let source = Source::open(input(recording), read.clone()).expect("what was written is a recording");
    let mut out = ToDirectory::new(folder.path(), form);
    // A pipe may have nothing but what it tells of itself.
    let Ok((meta, mut ledger)) = source.run(&mut out) else { return Ok(()) };
    out.account(&meta, &mut ledger);
    let mut count = Count::default();
    let source = Source::open(Input::Path(folder.path().to_owned()), read).expect("what was written is a recording");
    let (_, again) = source.run(&mut count).expect("what was written can be read");
    assert_eq!(again.messages(), [], "nothing is damaged");
    for (kind, entry) in ledger.entries().iter().filter(|(kind, _)| is_counted(**kind)) {
        assert_eq!(entry.emitted, count.0.of(*kind), "{kind} in the folder: {entry:?}");
    }
    Ok(())
}

/// Any pass but those that need other files.
fn pass(from: &mut Unstructured<'_>, read: &ReadOptions) -> Result<Box<dyn Pass>> {
    let name = |from: &mut Unstructured<'_>| from.choose(&plausible::NAMES).map(|name| (*name).to_owned());
    let scope = *from.choose(&[Scope::Hit, Scope::All])?;
    // What is on this machine is none of its business.
    let find = FindOptions { symfs: Some("/nowhere".into()), ..FindOptions::default() };
    let number = from.int_in_range(0..=3)?;
    Ok(match from.int_in_range(0..=25)? {
        0 => Quipper::Sort.pass(read),
        1 => Quipper::HugePages.pass(read),
        2 => Quipper::Combine.pass(read),
        3 => Quipper::Remap.pass(read),
        4 => Quipper::DiscardUnused.pass(read),
        5 => Box::new(RepairPass::default()),
        6 => Box::new(SortPass::new(Untimed::InPlace, read.clone())),
        7 => Box::new(HeaderEdit::Set(FeatureId::HOSTNAME, Value::Text(name(from)?))),
        8 => Box::new(HeaderEdit::Add(FeatureId::CMDLINE, Value::Words(vec!["perf".to_owned(), name(from)?]))),
        9 => Box::new(HeaderEdit::Drop(*from.choose(&[FeatureId::HOSTNAME, FeatureId::BUILD_ID])?)),
        10 => Box::new(PerfVersionPass::new(PerfVersion(5 + number % 3, from.int_in_range(1..=19)?), read.clone())),
        11 => filter(TimeFilter::new(times(from)?.parse().expect("times")), read),
        12 => filter(TaskFilter::new(*from.choose(&[TaskNumber::Pid, TaskNumber::Tid])?, [number]), read),
        13 => filter(CommFilter::new(vec![name(from)?]), read),
        14 => filter(CpuFilter::new(vec![number.to_string().parse().expect("a CPU")]), read),
        15 => Box::new(EventPass::of(number)),
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
            let some = |from: &mut Unstructured<'_>| -> Result<Vec<What>> {
                Ok(What::NAMED.iter().map(|(what, _)| *what).filter(|_| from.ratio(1, 3).unwrap_or(false)).collect())
            };
            let kept = Kept::new(&some(from)?, &some(from)?);
            Box::new(AnonymizePass::new(Key::new(&from.arbitrary::<[u8; 32]>()?).expect("32 bytes are a key"), kept))
        }
    })
}

/// A name of an event that may be there, or is not.
fn event(from: &mut Unstructured<'_>) -> Result<String> {
    Ok(format!("sched:{}", from.choose(&[&TRACEPOINTS[..], &["nothing"]].concat())?))
}

/// A span of time in seconds, or in hundredths of the recording.
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
    Box::new(FilterPass::new(filter, read.clone()))
}

fn merged(one: Vec<u8>, other: Vec<u8>, from: &mut Unstructured<'_>) -> Result<()> {
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
    let done = written(from.arbitrary()?, form(from)?, |sink| merge.run(&read, sink));
    if let Some((bytes, ledger)) = done {
        adds_up(&ledger, &bytes);
    }
    Ok(())
}

/// A file in memory, which is looked at when who wrote it has gone.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Cursor<Vec<u8>>>>);

impl Shared {
    fn file(&self) -> std::sync::MutexGuard<'_, Cursor<Vec<u8>>> {
        self.0.lock().expect("nobody panics with it")
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

fn parts(recording: Vec<u8>, from: &mut Unstructured<'_>) -> Result<()> {
    let by =
        [By::Time(300_000_000), By::Share(0.3), By::Size(300), By::Samples(3), By::Pid, By::Tid, By::Comm, By::Cpu];
    let by = if from.ratio(1, 9)? { By::Event } else { *from.choose(&by)? };
    let options = SplitOptions { by, most: 100, at_once: from.int_in_range(1..=4)? };
    let (form, mut parts) = (form(from)?, Vec::new());
    let mut make = |_: &str, _| {
        parts.push(Shared::default());
        Ok(Box::new(ToFile::new(parts[parts.len() - 1].clone(), form)) as Box<dyn Sink>)
    };
    let samples = read(&recording).unwrap_or_default().of(RecordType::SAMPLE);
    let Ok((count, ledger)) = split(input(&recording), &ReadOptions::default(), options, &mut make) else {
        return Ok(());
    };
    assert_eq!(count, parts.len());
    let mut in_parts = 0;
    for part in &parts {
        in_parts += read(part.file().get_ref()).unwrap_or_default().of(RecordType::SAMPLE);
    }
    let told = ledger.of(RecordType::SAMPLE);
    assert_eq!(in_parts, told.emitted, "samples in all parts: {told:?}");
    assert!(in_parts <= samples);
    Ok(())
}

/// A recording in another format, and back.
fn carried(recording: &[u8], begin: BeginCarry, how: Import) -> Result<()> {
    let (read, mut told) = (ReadOptions::default(), Vec::new());
    let ledger = carry(input(recording), &read, &CarryOptions::default(), &mut Passes::default(), begin, &mut told)
        .expect("a sound recording can be told");
    let all: u64 = ledger.entries().values().map(|entry| entry.read).sum();
    assert!(all > 0);
    let remade = import(how, input(&told), &ImportOptions::from(&read)).expect("what was told can be made again");
    let Input::Bytes { bytes, .. } = remade.input() else { panic!("it is one file") };
    assert!(bytes == recording, "{} bytes are made again as {} others", recording.len(), bytes.len());
    Ok(())
}
