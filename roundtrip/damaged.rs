//! Recordings that are cut, and recordings of which bytes are changed: each is read or refused, in bounded time and memory; what is
//! read is copied as it is; and what is cut is found to be.
//!
//! A share of all places is tried, the same each time; `PERFCONV_TEST_ALL=1` tries all of them.

use crate::recordings;
use allocation_counter::measure;
use perfconv::container::block::Origin;
use perfconv::container::read::{Container, ReadOptions, input::Input};
use perfconv::convert::profile;
use perfconv::error::Result;
use perfconv::inspect::check::check;
use perfconv::profile::options::ProfileOptions;
use perfconv::stream::Sink;
use perfconv::stream::meta::Meta;
use perfconv::stream::raw::Raw;
use perfconv::stream::source::Source;
use perfconv::stream::write::verbatim::Verbatim;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::Duration;
use std::{env, fs, thread};
use tempfile::TempDir;

/// Every byte up to here is a place to cut, and so many behind it.
const EVERY: usize = 4096;
const CUTS_BEHIND: usize = 500;

/// How many bytes are changed, one at a time.
const FLIPS: usize = 1000;

/// Of how many places one is tried, where not all are.
const SHARE: usize = 7;

/// How long one place may take: far longer than any does.
const TIME: Duration = Duration::from_secs(20);

/// Memory, as `limits` has it: so much for each byte, and for what is there for every recording.
const LARGER: u64 = 40;
const OVERHEAD: u64 = 16 << 20;

fn tries_all() -> bool {
    env::var_os("PERFCONV_TEST_ALL").is_some()
}

/// A file of a recording.
struct Original {
    name: String,
    bytes: Vec<u8>,
    place: Place,
    /// Where cutting it leaves a recording that is whole: behind the records of what has no end mark.
    ends: BTreeSet<usize>,
}

/// Where a file is read.
#[derive(Clone)]
enum Place {
    Memory,
    /// A copy of the folder that it is in, and which of the files it is.
    Folder(Arc<TempDir>, usize),
}

impl Place {
    /// A recording with these bytes for the file's.
    fn input(&self, bytes: &[u8]) -> Input {
        match self {
            Self::Memory => Input::Bytes { name: "damaged".into(), bytes: bytes.to_vec().into() },
            Self::Folder(folder, number) => {
                fs::write(folder.path().join(part(*number)), bytes).expect("a file can be written");
                Input::Path(folder.path().to_owned())
            }
        }
    }

    /// Which of the files of a copy is to be the file.
    fn number(&self) -> usize {
        if let Self::Folder(_, number) = self { *number } else { 0 }
    }
}

/// What a file of a folder is called.
fn part(number: usize) -> String {
    number.checked_sub(1).map_or("data".to_owned(), |number| format!("data.{number}"))
}

/// The files of all fixtures, and where all is tried those of all that is constructed.
fn originals() -> Vec<Original> {
    let is_constructed = |path: &Path| !path.starts_with(env!("CARGO_MANIFEST_DIR"));
    let mut originals = Vec::new();
    for path in recordings::fixtures().into_iter().filter(|path| tries_all() || !is_constructed(path)) {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if !path.is_dir() {
            originals.push(Original::new(name, fs::read(&path).expect("a fixture can be read"), Place::Memory));
            continue;
        }
        let files = (0..).map(|number| path.join(part(number))).take_while(|file| file.is_file());
        let files: Vec<_> = files.map(|file| fs::read(file).expect("a fixture can be read")).collect();
        for (number, bytes) in files.iter().enumerate() {
            let folder = tempfile::tempdir().expect("there is room for a folder");
            for (number, bytes) in files.iter().enumerate() {
                fs::write(folder.path().join(part(number)), bytes).expect("a file can be written");
            }
            let (name, place) = (format!("{name}/{}", part(number)), Place::Folder(folder.into(), number));
            originals.push(Original::new(name, bytes.clone(), place));
        }
    }
    originals
}

impl Original {
    fn new(name: String, bytes: Vec<u8>, place: Place) -> Self {
        let mut ends = Ends { source: place.number() as u32, ends: BTreeSet::new() };
        if let Ok(source) = Source::open(place.input(&bytes), ReadOptions::default()) {
            let _ = source.run(&mut ends);
        }
        Self { name, bytes, place, ends: ends.ends }
    }
}

/// Finds where records end, in what has no end mark: pipes, and the files of folders but the main one.
struct Ends {
    source: u32,
    ends: BTreeSet<usize>,
}

impl Sink for Ends {
    fn begin(&mut self, _: &Meta) -> Result<()> {
        self.ends.extend((self.source > 0).then_some(0));
        Ok(())
    }

    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        let is_bare = meta.container == Container::Pipe || raw.block().source > 0;
        if is_bare && raw.block().source == self.source && raw.block().origin != Origin::Frame {
            self.ends.insert(raw.offset() as usize + raw.bytes().len() + raw.payload().len());
        }
        Ok(())
    }
}

/// What came of a damaged recording.
#[derive(Clone, Copy, Default)]
struct Outcome {
    /// Whether it could be read.
    is_read: bool,
    /// Whether a check finds fault with it, or it is refused.
    is_found: bool,
    /// The most memory that it took.
    memory: u64,
}

/// Copies, checks and converts a recording.
fn try_it(bytes: &[u8], place: &Place) -> Outcome {
    let mut outcome = Outcome::default();
    let mut judge = |what: &str, run: &mut dyn FnMut()| {
        let memory = measure(run).bytes_max;
        assert!(memory < LARGER * bytes.len() as u64 + OVERHEAD, "{what}: {memory} bytes");
        outcome.memory = outcome.memory.max(memory);
    };
    let mut copied = None;
    let input = place.input(bytes);
    judge("copy", &mut || {
        let mut copy = None;
        let done = Source::open(input.clone(), ReadOptions::default()).and_then(|source| {
            let to = copy.insert(Verbatim::new(vec![Vec::new(); source.meta().files.len()]));
            source.run(to)
        });
        let copy = copy.map(|copy| copy.into_inner().swap_remove(place.number()));
        copied = Some(done.map(|_| assert!(copy.is_some_and(|copy| copy == bytes), "the copy is another")).is_ok());
    });
    let mut found = None;
    judge("check", &mut || {
        let checked = check(input.clone(), ReadOptions::default(), &mut |_| {});
        found = Some(checked.map_or((false, true), |checked| (true, !checked.is_sound())));
    });
    let mut converted = None;
    judge("profile", &mut || {
        let source = Source::open(input.clone(), ReadOptions::default());
        converted = Some(source.and_then(|source| profile(source, &ProfileOptions::default())));
    });
    let (is_checked, is_found) = found.expect("it was checked");
    assert_eq!(copied, Some(is_checked), "what is copied is checked");
    let converted = converted.expect("it was converted");
    assert_eq!(converted.is_ok(), is_checked, "what is checked is converted");
    for (kind, entry) in converted.iter().flat_map(|(_, ledger)| ledger.entries()) {
        let told = entry.emitted + entry.consumed + entry.not_applicable + entry.left_out() + entry.dropped();
        assert_eq!(entry.read + entry.added, told, "{kind}: {entry:?}");
    }
    Outcome { is_read: is_checked, is_found, ..outcome }
}

/// Tries each of the damaged recordings that the function makes, and hands each outcome to the other one.
fn try_all(
    original: &Original,
    damaged: impl IntoIterator<Item = (String, Vec<u8>)> + Send + 'static,
    mut judge: impl FnMut(&str, Outcome),
) {
    let (sender, receiver) = mpsc::sync_channel::<(String, Option<Outcome>)>(2);
    let place = original.place.clone();
    let worker = thread::spawn(move || {
        for (what, bytes) in damaged {
            let begun = sender.send((what.clone(), None));
            let outcome = catch_unwind(AssertUnwindSafe(|| try_it(&bytes, &place)));
            let Ok(outcome) = outcome else { panic!("{what}: it panics, as told above") };
            if begun.and_then(|()| sender.send((what, Some(outcome)))).is_err() {
                return;
            }
        }
    });
    let mut last = String::new();
    loop {
        match receiver.recv_timeout(TIME) {
            Ok((what, None)) => last = what,
            Ok((what, Some(outcome))) => judge(&what, outcome),
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
            Err(mpsc::RecvTimeoutError::Timeout) => panic!("{}: {last}: it takes more than {TIME:?}", original.name),
        }
    }
    assert!(worker.join().is_ok(), "{}: {last}", original.name);
}

/// How many were tried, and what came of it.
#[derive(Default)]
struct Told {
    files: usize,
    tried: usize,
    read: usize,
    whole: usize,
    memory: u64,
}

impl Told {
    fn add(&mut self, outcome: Outcome) {
        self.tried += 1;
        self.read += usize::from(outcome.is_read);
        self.memory = self.memory.max(outcome.memory);
    }

    fn say(&self, what: &str) {
        let Self { files, tried, read, whole, memory } = self;
        // Not through the macros, whose output the test harness hides when the test passes.
        let mut out = io::stderr();
        let line = format!(
            "{what} {tried} times in {files} files: {read} read, {} refused, {whole} of them whole; at most {} KB of memory",
            tried - read,
            memory >> 10
        );
        writeln!(out, "{line}").expect("standard error can be written to");
    }
}

fn is_tried(number: usize) -> bool {
    tries_all() || number.is_multiple_of(SHARE)
}

#[test]
fn what_is_cut_anywhere_is_read_or_refused_and_found_to_be_cut() {
    let mut told = Told::default();
    for original in originals() {
        told.files += 1;
        let len = original.bytes.len();
        let mut random = Xoshiro256PlusPlus::seed_from_u64(len as u64);
        let behind = len.saturating_sub(EVERY) as u64;
        let random: Vec<usize> =
            (0..CUTS_BEHIND).filter(|_| behind > 0).map(|_| EVERY + (random.next_u64() % behind) as usize).collect();
        let cuts = (0..len.min(EVERY)).chain(random);
        let cuts: Vec<usize> = cuts.enumerate().filter(|(number, _)| is_tried(*number)).map(|(_, cut)| cut).collect();
        let bytes = original.bytes.clone();
        let damaged = cuts.into_iter().map(move |cut| (format!("cut at {cut}"), bytes[..cut].to_vec()));
        try_all(&original, damaged, |what, outcome| {
            told.add(outcome);
            let cut: usize = what["cut at ".len()..].parse().expect("a place");
            if original.ends.contains(&cut) {
                told.whole += 1;
            } else {
                assert!(outcome.is_found, "{} {what}: nothing is found", original.name);
            }
        });
    }
    told.say("cut");
    assert!(told.files >= 20 && told.tried > 10_000 && told.read > 1000, "too few");
}

#[test]
fn what_is_changed_anywhere_is_read_or_refused_and_copied_as_it_is() {
    let mut told = Told::default();
    for original in originals() {
        told.files += 1;
        let mut random = Xoshiro256PlusPlus::seed_from_u64(original.bytes.len() as u64);
        let bytes = original.bytes.clone();
        let flips = (0..FLIPS).filter(|number| is_tried(*number)).map(move |_| {
            let (at, value) = ((random.next_u64() % bytes.len() as u64) as usize, 1 + (random.next_u64() % 255) as u8);
            let mut bytes = bytes.clone();
            bytes[at] ^= value;
            (format!("byte {at} changed by {value}"), bytes)
        });
        try_all(&original, flips, |_, outcome| told.add(outcome));
    }
    told.say("changed");
    assert!(told.files >= 20 && told.tried > 2000 && told.read > 1000, "too few");
}
