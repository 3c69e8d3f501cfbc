//! What perfs newer than the one that is installed here, and perfs of other machines, say of the corpus' recordings, and
//! what is decoded of them here: all that they print is compared.

mod dump;
mod dumped;
mod dumped_sample;
mod header;
mod script;
mod scripted;

pub use dump::{agreement, order_agreement};

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs;
use std::io::{self, Read, Write};
use std::path::PathBuf;

use flate2::read::GzDecoder;

use super::files::{self, Recording};
use super::program;

/// What one of perf's views of a recording says.
struct Golden {
    text: String,
    /// Whose it is.
    by: &'static str,
}

/// As much is to be compared of these machines. Little less than there is, so that reasons to skip some do not come to hold
/// for more of it unseen.
struct Enough {
    machines: fn(&str) -> bool,
    recordings: usize,
    records: usize,
}

/// How a recording compares with a golden of it.
enum Verdict {
    /// It is said the same of so many records, and in them of so many values.
    Same { by: &'static str, records: usize, values: usize },
    /// Why it cannot be compared.
    Skipped(String),
    /// What is different.
    Differs(String),
}

/// The corpus' recordings that were made for it.
fn own(view: &str) -> Vec<Recording> {
    files::has_corpus(&format!("goldens of {view}"));
    files::corpus().into_iter().filter(|recording| recording.name.starts_with("own/")).collect()
}

/// Compares the recordings, says what was compared by the machine and the perf that recorded it, and holds it to be enough.
fn compare(view: &str, recordings: &[Recording], judge: fn(&Recording) -> Option<Verdict>, enough: &[Enough]) {
    if recordings.is_empty() {
        return;
    }
    let verdicts = program::for_each(recordings, judge);
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
            None => *skipped.entry((tag(recording), "there is no golden")).or_default() += 1,
        }
    }
    // Not through the macros, whose output the test harness hides when the test passes.
    let mut out = io::stderr().lock();
    writeln!(out, "{view}: recordings, records and values in them that are the same:").unwrap();
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
            "{view}: only {records} records of {recordings} recordings were compared, not {} of {}",
            enough.records,
            enough.recordings
        );
    }
}

/// Whatever machine recorded it.
fn any(_tag: &str) -> bool {
    true
}

/// Whether the recordings of this folder are of a big-endian machine.
fn is_big_endian(tag: &str) -> bool {
    tag.ends_with("-s390x")
}

/// The machine and the perf that recorded it, or how it came about.
fn tag(recording: &Recording) -> &str {
    recording.name.split('/').nth(1).unwrap_or("fixtures")
}

impl Golden {
    /// What the newest perf that reads the recording says.
    fn newest(recording: &Recording, kind: &str) -> Option<Self> {
        let (own, tag, name) = place(recording);
        let path = own.join("golden").join(tag).join(format!("{}.{kind}.zst", name.replace('/', "__")));
        let text = zstd::decode_all(fs::File::open(path).ok()?).expect("goldens can be decompressed");
        Some(Self { text: String::from_utf8_lossy(&text).into_owned(), by: "the newest perf that reads it" })
    }

    /// What the perf of the recording machine says.
    fn native(recording: &Recording, kind: &str) -> Option<Self> {
        let (own, tag, name) = place(recording);
        let path = own.join(tag).join("native-golden").join(format!("{name}.{kind}"));
        let mut bytes = fs::read(path).ok()?;
        if kind.ends_with(".gz") {
            let mut plain = Vec::new();
            GzDecoder::new(&bytes[..]).read_to_end(&mut plain).expect("goldens can be decompressed");
            bytes = plain;
        }
        Some(Self { text: String::from_utf8_lossy(&bytes).into_owned(), by: "the recording machine's perf" })
    }
}

/// The folder of all own recordings, that of the recording in it, and its path there.
fn place(recording: &Recording) -> (PathBuf, &str, &str) {
    let (_, path) = recording.name.split_once('/').expect("names have a folder");
    let (tag, name) = path.split_once('/').expect("recordings are in a folder");
    let own = recording.path.ancestors().nth(path.split('/').count()).expect("the path ends with the name");
    (own.to_path_buf(), tag, name)
}

/// Compares what a golden says of each record with what is decoded of each, in whatever order.
fn judged(by: &'static str, theirs: &[String], ours: &[String]) -> Verdict {
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
        "{} of {} records said by {by} are not ours:{}\n  {} of {} are only ours:{}",
        only_theirs.len(),
        theirs.len(),
        some(&only_theirs),
        only_ours.len(),
        ours.len(),
        some(&only_ours),
    ))
}

/// What of the first sorted list is not in the second one.
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

/// One blank between words.
fn words(text: impl Display) -> String {
    text.to_string().split_whitespace().collect::<Vec<_>>().join(" ")
}
