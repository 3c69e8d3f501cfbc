//! Compares decoded recordings of the corpus with the complete output of other perf versions than the installed one, and of
//! perf on other machines.

mod dump;
mod dump_printer;
mod dump_sample_printer;
mod header;
mod script;

use crate::common::files::{self, Recording};
use crate::common::program;
use flate2::read::GzDecoder;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs;
use std::io::{self, Read, Write};
use std::path::PathBuf;

/// The output of a perf command for a recording.
struct Golden {
    text: String,
    /// The perf version that printed it.
    by: &'static str,
}

/// The minimum numbers of compared recordings and records, by machine. Close to the actual numbers, so that reasons to skip do
/// not silently apply to more recordings.
struct Enough {
    machines: fn(&str) -> bool,
    recordings: usize,
    records: usize,
}

/// The result of comparing a recording with a golden.
enum Verdict {
    /// The numbers of equal records and of values in them.
    Same { by: &'static str, records: usize, values: usize },
    /// Why it cannot be compared.
    Skipped(String),
    /// The differences.
    Differs(String),
}

/// The recordings that were recorded for the corpus.
fn own(view: &str) -> Vec<Recording> {
    files::has_corpus(&format!("goldens of {view}"));
    files::corpus().into_iter().filter(|recording| recording.name.starts_with("own/")).collect()
}

/// Compares recordings, prints totals by machine and perf version, and asserts the minimum numbers.
fn compare(view: &str, recordings: &[Recording], compare_one: fn(&Recording) -> Option<Verdict>, enough: &[Enough]) {
    if recordings.is_empty() {
        return;
    }
    let verdicts = program::for_each(recordings, compare_one);
    let mut same: BTreeMap<(&str, &str), [usize; 3]> = BTreeMap::new();
    let mut skipped: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let mut failures = Vec::new();
    for (recording, verdict) in recordings.iter().zip(&verdicts) {
        match verdict {
            Some(Verdict::Same { by, records, values }) => {
                let sums = same.entry((tag(recording), by)).or_default();
                sums.iter_mut().zip([1, *records, *values]).for_each(|(sum, count)| *sum += count);
            }
            Some(Verdict::Skipped(reason)) => *skipped.entry((tag(recording), reason)).or_default() += 1,
            Some(Verdict::Differs(what)) => failures.push(format!("{}: {what}", recording.name)),
            None => *skipped.entry((tag(recording), "no golden")).or_default() += 1,
        }
    }
    // Not with the print macros, whose output the test harness captures.
    let mut out = io::stderr().lock();
    writeln!(out, "{view}: equal recordings, records and values:").unwrap();
    for ((tag, by), [recordings, records, values]) in &same {
        writeln!(out, "{recordings:6} {records:7} {values:8}  {tag}: {by}").unwrap();
    }
    skipped
        .iter()
        .for_each(|((tag, reason), count)| writeln!(out, "{count:6} {:16}  {tag}: skipped: {reason}", "").unwrap());
    assert!(failures.is_empty(), "{} recordings differ:\n{}", failures.len(), failures.join("\n"));
    let sum = |of: fn(&str) -> bool, index: usize| -> usize {
        same.iter().filter(|((tag, _), _)| of(tag)).map(|(_, sums)| sums[index]).sum()
    };
    for enough in enough {
        let (recordings, records) = (sum(enough.machines, 0), sum(enough.machines, 1));
        assert!(
            recordings >= enough.recordings && records >= enough.records,
            "{view}: compared only {records} records of {recordings} recordings, expected {} of {}",
            enough.records,
            enough.recordings
        );
    }
}

/// Matches any machine.
fn any(_tag: &str) -> bool {
    true
}

/// Whether a tag is of a big-endian machine.
fn is_big_endian(tag: &str) -> bool {
    tag.ends_with("-s390x")
}

/// The machine and perf version that recorded it, or its origin.
fn tag(recording: &Recording) -> &str {
    recording.name.split('/').nth(1).unwrap_or("fixtures")
}

impl Golden {
    /// The output of the newest perf version that reads the recording.
    fn newest(recording: &Recording, kind: &str) -> Option<Self> {
        let (own, tag, name) = split_path(recording);
        let path = own.join("golden").join(tag).join(format!("{}.{kind}.zst", name.replace('/', "__")));
        let text = zstd::decode_all(fs::File::open(path).ok()?).expect("goldens should decompress");
        Some(Self { text: String::from_utf8_lossy(&text).into_owned(), by: "the newest perf that reads it" })
    }

    /// The output of perf on the recording machine.
    fn native(recording: &Recording, kind: &str) -> Option<Self> {
        let (own, tag, name) = split_path(recording);
        let path = own.join(tag).join("native-golden").join(format!("{name}.{kind}"));
        let mut bytes = fs::read(path).ok()?;
        if kind.ends_with(".gz") {
            let mut plain = Vec::new();
            GzDecoder::new(&bytes[..]).read_to_end(&mut plain).expect("goldens should decompress");
            bytes = plain;
        }
        Some(Self { text: String::from_utf8_lossy(&bytes).into_owned(), by: "the recording machine's perf" })
    }
}

/// Splits a path: the directory `own` of the corpus, the subdirectory of the recording, and the rest.
fn split_path(recording: &Recording) -> (PathBuf, &str, &str) {
    let (_, path) = recording.name.split_once('/').expect("a name should have a parent directory");
    let (tag, name) = path.split_once('/').expect("a recording should have a parent directory");
    let own = recording.path.ancestors().nth(path.split('/').count()).expect("the path should end with the name");
    (own.to_path_buf(), tag, name)
}

/// Compares a golden with decoded records, regardless of order.
fn compare_records(by: &'static str, theirs: &[String], ours: &[String]) -> Verdict {
    let sorted = |list: &[String]| {
        let mut list = list.to_vec();
        list.sort_unstable();
        list
    };
    let (theirs, ours) = (sorted(theirs), sorted(ours));
    let (only_theirs, only_ours) = (without(&theirs, &ours), without(&ours, &theirs));
    if only_theirs.is_empty() && only_ours.is_empty() {
        let is_value = |word: &&str| word.contains(|c: char| c.is_ascii_digit());
        let values = theirs.iter().map(|text| text.split(' ').filter(is_value).count()).sum();
        return Verdict::Same { by, records: theirs.len(), values };
    }
    let some = |lines: &[&str]| lines.iter().take(2).map(|line| format!("\n    {line:.700}")).collect::<String>();
    Verdict::Differs(format!(
        "{} of {} records are only in {by}:{}\n  {} of {} records are only in perfconv:{}",
        only_theirs.len(),
        theirs.len(),
        some(&only_theirs),
        only_ours.len(),
        ours.len(),
        some(&only_ours),
    ))
}

/// Returns the texts of the first sorted list that are not in the second one.
fn without<'a>(list: &'a [String], other: &[String]) -> Vec<&'a str> {
    let mut other = other.iter().peekable();
    let mut left = Vec::new();
    for text in list {
        while other.next_if(|next| *next < text).is_some() {}
        if other.next_if(|next| *next == text).is_none() {
            left.push(&**text);
        }
    }
    left
}

/// Collapses whitespace to single spaces.
fn words(text: impl Display) -> String {
    text.to_string().split_whitespace().collect::<Vec<_>>().join(" ")
}
