//! Whole recordings.

use super::plausible;
use super::streamed::damaged;
use arbitrary::Unstructured;
use perfconv::container::read::{ReadOptions, input::Input};
use perfconv::error::Result;
use perfconv::inspect::check::{Rule, check};
use perfconv::stream::Sink;
use perfconv::stream::meta::Meta;
use perfconv::stream::order::Order;
use perfconv::stream::raw::Raw;
use perfconv::stream::source::Source;
use perfconv::stream::write::directory::ToDirectory;
use perfconv::stream::write::form::Form;
use std::fs;
use std::path::Path;

/// Any bytes as a recording: it is read or refused, in time order and in the file's, and what can be read is written as it
/// was.
pub fn open(bytes: &[u8]) {
    let bytes = bytes::Bytes::copy_from_slice(bytes);
    read(&Input::Bytes { name: "fuzzed".to_owned(), bytes });
}

/// The same of a folder, of which any file may be damaged or cut.
pub fn folder(bytes: &[u8]) {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    if files(&mut Unstructured::new(bytes), folder.path()).is_ok() {
        read(&Input::Path(folder.path().to_owned()));
    }
}

/// Writes the files of a folder: a recording of one event, the records that have a time in several files.
fn files(from: &mut Unstructured<'_>, folder: &Path) -> arbitrary::Result<()> {
    let recording = Input::Bytes { name: "plausible".to_owned(), bytes: plausible::recording(from)?.into() };
    let source = Source::open(recording, ReadOptions::default()).expect("what was written is a recording");
    // Of a pipe there may be nothing to be written.
    source.run(&mut ToDirectory::new(folder, Form::default())).map_err(|_| arbitrary::Error::IncorrectFormat)?;
    let bytes = |name: &str| fs::read(folder.join(name)).expect("it was written");
    let (main, mut timed) = (bytes("data"), bytes("data.0"));
    let rest = timed.split_off(from.int_in_range(0..=timed.len() / 8)? * 8);
    for (name, bytes) in [("data", main), ("data.0", timed), ("data.1", rest)] {
        let bytes = if from.arbitrary()? { bytes } else { damaged(bytes, from) };
        fs::write(folder.join(name), bytes).expect("there is room for a file");
    }
    Ok(())
}

fn read(input: &Input) {
    let ordered = Source::open(input.clone(), ReadOptions::default())
        .and_then(|source| source.run(&mut Order::new(Count::default(), ReadOptions::default())));
    let mut reproduced = true;
    let mut found = |finding: perfconv::inspect::check::Finding| reproduced &= finding.rule != Rule::NotReproduced;
    let checked = check(input.clone(), ReadOptions::default(), &mut found);
    assert_eq!(ordered.is_ok(), checked.is_ok(), "both are read or both are refused");
    assert!(reproduced, "everything is written as it was read");
    if let (Ok((_, ledger)), Ok(checked)) = (ordered, checked) {
        let read: u64 = ledger.entries().values().map(|entry| entry.read).sum();
        assert_eq!(read, checked.records, "both read the same records");
    }
}

/// Counts what it is given.
#[derive(Default)]
struct Count(u64);

impl Sink for Count {
    fn record(&mut self, _: &Meta, _: &Raw<'_>) -> Result<()> {
        self.0 += 1;
        Ok(())
    }
}
