//! Truncates recordings and changes their bytes: each is read or rejected within limits of time and memory, copied unchanged if
//! it is read, and reported by `check` if it is truncated.
//!
//! By default a fixed share of all offsets is tested; `PERFCONV_TEST_ALL=1` tests all of them.

use crate::recordings;
use allocation_counter::measure;
use perf_data::container::block::Origin;
use perf_data::container::read::{Container, ReadOptions, input::Input};
use perf_data::error::Result;
use perf_data::stream::Sink;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use perf_data::stream::source::Source;
use perf_data::stream::write::verbatim::Verbatim;
use perfconv::conversion::profile;
use perfconv::inspect::check::check;
use perfconv::profile::options::ProfileOptions;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::Duration;
use std::{env, fs, thread};
use tempfile::TempDir;

/// Files are truncated at every byte up to here, and at this many random bytes beyond.
const TRUNCATED_EVERYWHERE: usize = 4096;
const RANDOM_TRUNCATIONS: usize = 500;

/// The number of bytes changed in a file, one at a time.
const FLIPS: usize = 1000;

/// By default, one in `SHARE` offsets is tested.
const SHARE: usize = 97;

/// Time limit of each test, far above what any needs. A process that got less CPU time than that has `MAX_TIMES` this time.
const TIME: Duration = Duration::from_secs(20);
const MAX_TIMES: u32 = 30;

/// Memory limit, as in `limits`: bytes per byte of input, and a constant.
const MEMORY_FACTOR: u64 = 40;
const OVERHEAD: u64 = 16 << 20;

fn tests_all() -> bool {
    env::var_os("PERFCONV_TEST_ALL").is_some()
}

/// A file of a recording.
struct Original {
    name: String,
    bytes: Vec<u8>,
    place: Place,
    /// Lengths at which a truncated file is still complete: ends of records in files without an end mark.
    ends: BTreeSet<usize>,
}

/// How a file is read.
#[derive(Clone)]
enum Place {
    Memory,
    /// A copy of its directory, and the number of the file in it.
    Directory(Arc<TempDir>, usize),
}

impl Place {
    /// Returns the recording as an input, with these bytes as the file.
    fn input(&self, bytes: &[u8]) -> Input {
        match self {
            Self::Memory => Input::Bytes { name: "corrupt".into(), bytes: bytes.to_vec().into() },
            Self::Directory(dir, number) => {
                fs::write(dir.path().join(part(*number)), bytes).expect("the file should be writable");
                Input::Path(dir.path().to_owned())
            }
        }
    }

    /// The number of the file in its recording.
    fn number(&self) -> usize {
        if let Self::Directory(_, number) = self { *number } else { 0 }
    }
}

/// The name of a file in a recording's directory.
fn part(number: usize) -> String {
    number.checked_sub(1).map_or("data".to_owned(), |number| format!("data.{number}"))
}

/// The files of all fixtures, and with `PERFCONV_TEST_ALL` those of constructed recordings too.
fn originals() -> Vec<Original> {
    let is_constructed = |path: &Path| !path.starts_with(env!("CARGO_MANIFEST_DIR"));
    let mut originals = Vec::new();
    for path in recordings::fixtures().into_iter().filter(|path| tests_all() || !is_constructed(path)) {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if !path.is_dir() {
            originals.push(Original::new(
                name,
                fs::read(&path).expect("the fixture should be readable"),
                Place::Memory,
            ));
            continue;
        }
        let files = (0..).map(|number| path.join(part(number))).take_while(|file| file.is_file());
        let files: Vec<_> = files.map(|file| fs::read(file).expect("the fixture should be readable")).collect();
        for (number, bytes) in files.iter().enumerate() {
            let dir = tempfile::tempdir().expect("a temporary directory");
            for (number, bytes) in files.iter().enumerate() {
                fs::write(dir.path().join(part(number)), bytes).expect("the file should be writable");
            }
            let (name, place) = (format!("{name}/{}", part(number)), Place::Directory(dir.into(), number));
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

/// Finds the ends of records in files without an end mark: pipes, and all files of directories but the main one.
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

/// Results of reading a corrupt recording.
#[derive(Clone, Copy, Default)]
struct Outcome {
    /// Whether it was read.
    is_read: bool,
    /// Whether `check` reports a problem, or the recording is rejected.
    is_reported: bool,
    /// Peak memory.
    memory: u64,
}

/// Copies, checks and converts a recording.
fn run_all(bytes: &[u8], place: &Place) -> Outcome {
    let mut outcome = Outcome::default();
    let mut check_outcome = |what: &str, run: &mut dyn FnMut()| {
        let memory = measure(run).bytes_max;
        assert!(memory < MEMORY_FACTOR * bytes.len() as u64 + OVERHEAD, "{what}: {memory} bytes");
        outcome.memory = outcome.memory.max(memory);
    };
    let mut copied = None;
    let input = place.input(bytes);
    check_outcome("copy", &mut || {
        let mut copy = None;
        let done = Source::open(input.clone(), ReadOptions::default()).and_then(|source| {
            let to = copy.insert(Verbatim::new(vec![Vec::new(); source.meta().files.len()]));
            source.run(to)
        });
        let copy = copy.map(|copy| copy.into_inner().swap_remove(place.number()));
        copied = Some(done.map(|_| assert!(copy.is_some_and(|copy| copy == bytes), "the copy differs")).is_ok());
    });
    let mut report = None;
    check_outcome("check", &mut || {
        let checked = check(input.clone(), ReadOptions::default(), &mut |_| {});
        report = Some(checked.map_or((false, true), |checked| (true, !checked.is_valid())));
    });
    let mut converted = None;
    check_outcome("profile", &mut || {
        let source = Source::open(input.clone(), ReadOptions::default());
        converted = Some(source.and_then(|source| profile(source, &ProfileOptions::default())));
    });
    let (is_checked, is_reported) = report.expect("it should have been checked");
    assert_eq!(copied, Some(is_checked), "copy and check should agree on readability");
    let converted = converted.expect("it should have been converted");
    assert_eq!(converted.is_ok(), is_checked, "check and conversion should agree on readability");
    for (kind, entry) in converted.iter().flat_map(|(_, ledger)| ledger.entries()) {
        let sum = entry.emitted + entry.consumed + entry.not_applicable + entry.removed() + entry.dropped();
        assert_eq!(entry.read + entry.added, sum, "{kind}: {entry:?}");
    }
    Outcome { is_read: is_checked, is_reported, ..outcome }
}

/// Runs `run_all` on each corrupt recording, in a thread with a time limit, and passes each outcome to `check_outcome`.
fn run_on_each(
    original: &Original,
    corrupted: impl IntoIterator<Item = (String, Vec<u8>)> + Send + 'static,
    mut check_outcome: impl FnMut(&str, Outcome),
) {
    let (sender, receiver) = mpsc::sync_channel::<(String, Option<Outcome>)>(2);
    let place = original.place.clone();
    let worker = thread::spawn(move || {
        for (what, bytes) in corrupted {
            let begun = sender.send((what.clone(), None));
            let outcome = catch_unwind(AssertUnwindSafe(|| run_all(&bytes, &place)));
            let Ok(outcome) = outcome else { panic!("{what}: panicked, see above") };
            if begun.and_then(|()| sender.send((what, Some(outcome)))).is_err() {
                return;
            }
        }
    });
    let mut last = String::new();
    let (mut begun, mut times) = (cpu_time(), 0);
    loop {
        match receiver.recv_timeout(TIME) {
            Ok((what, None)) => (last, begun, times) = (what, cpu_time(), 0),
            Ok((what, Some(outcome))) => check_outcome(&what, outcome),
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
            Err(mpsc::RecvTimeoutError::Timeout) => {
                times += 1;
                let is_starved = begun.zip(cpu_time()).is_some_and(|(begun, now)| now - begun < TIME);
                assert!(is_starved && times < MAX_TIMES, "{}: {last}: takes more than {TIME:?}", original.name);
            }
        }
    }
    assert!(worker.join().is_ok(), "{}: {last}", original.name);
}

/// CPU time of this process; `None` without the `/proc` of Linux.
fn cpu_time() -> Option<Duration> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the process may contain spaces. User and system time follow it as the 12th and 13th fields, in 1/100 s.
    let (_, fields) = stat.rsplit_once(')')?;
    let ticks: u64 =
        fields.split_ascii_whitespace().skip(11).take(2).map_while(|ticks| ticks.parse::<u64>().ok()).sum();
    Some(Duration::from_millis(10 * ticks))
}

/// Totals of a test.
#[derive(Default)]
struct Totals {
    files: usize,
    tested: usize,
    read: usize,
    complete: usize,
    memory: u64,
}

impl Totals {
    fn add(&mut self, outcome: Outcome) {
        self.tested += 1;
        self.read += usize::from(outcome.is_read);
        self.memory = self.memory.max(outcome.memory);
    }

    fn print(&self, what: &str) {
        let Self { files, tested, read, complete, memory } = self;
        note!(
            "{what}: {tested} tests of {files} files: {read} read, {} rejected, {complete} complete; at most {} KB of memory",
            tested - read,
            memory >> 10
        );
    }
}

fn is_selected(number: usize) -> bool {
    tests_all() || number.is_multiple_of(SHARE)
}

#[test]
fn truncation_at_any_byte_is_reported() {
    let mut totals = Totals::default();
    for original in originals() {
        totals.files += 1;
        let len = original.bytes.len();
        let mut random = Xoshiro256PlusPlus::seed_from_u64(len as u64);
        let beyond = len.saturating_sub(TRUNCATED_EVERYWHERE) as u64;
        let random: Vec<usize> = (0..RANDOM_TRUNCATIONS)
            .filter(|_| beyond > 0)
            .map(|_| TRUNCATED_EVERYWHERE + (random.next_u64() % beyond) as usize)
            .collect();
        let lens = (0..len.min(TRUNCATED_EVERYWHERE)).chain(random);
        let lens: Vec<usize> =
            lens.enumerate().filter(|(number, _)| is_selected(*number)).map(|(_, len)| len).collect();
        let bytes = original.bytes.clone();
        let corrupted = lens.into_iter().map(move |len| (format!("truncated to {len}"), bytes[..len].to_vec()));
        run_on_each(&original, corrupted, |what, outcome| {
            totals.add(outcome);
            let len: usize = what["truncated to ".len()..].parse().expect("an offset");
            if original.ends.contains(&len) {
                totals.complete += 1;
            } else {
                assert!(outcome.is_reported, "{} {what}: no problem is reported", original.name);
            }
        });
    }
    totals.print("truncated");
    assert!(totals.files >= 20 && totals.tested > 300_000 / SHARE && totals.read > totals.tested / 2, "too few tests");
}

#[test]
fn a_changed_byte_is_rejected_or_copied_unchanged() {
    let mut totals = Totals::default();
    for original in originals() {
        totals.files += 1;
        let mut random = Xoshiro256PlusPlus::seed_from_u64(original.bytes.len() as u64);
        let bytes = original.bytes.clone();
        let flips = (0..FLIPS).filter(|number| is_selected(*number)).map(move |_| {
            let (at, value) = ((random.next_u64() % bytes.len() as u64) as usize, 1 + (random.next_u64() % 255) as u8);
            let mut bytes = bytes.clone();
            bytes[at] ^= value;
            (format!("byte {at} changed by {value}"), bytes)
        });
        run_on_each(&original, flips, |_, outcome| totals.add(outcome));
    }
    totals.print("byte changed");
    assert!(totals.files >= 20 && totals.tested > 100_000 / SHARE && totals.read > totals.tested / 2, "too few tests");
}
