//! Complete recordings.

use super::plausible;
use super::streams::corrupted;
use arbitrary::Unstructured;
use perf_data::container::read::{ReadOptions, input::Input};
use perf_data::error::Result;
use perf_data::stream::Sink;
use perf_data::stream::meta::Meta;
use perf_data::stream::order::Order;
use perf_data::stream::raw::Raw;
use perf_data::stream::source::Source;
use perf_data::stream::write::directory::ToDirectory;
use perf_data::stream::write::form::Form;
use perfconv::inspect::check::{Rule, check};
use std::fs;
use std::path::Path;

/// Any bytes as a recording: it is read or rejected, in time order and in file order alike, and what is read is copied unchanged.
pub fn open(bytes: &[u8]) {
    let bytes = bytes::Bytes::copy_from_slice(bytes);
    read(&Input::Bytes { name: "fuzzed".to_owned(), bytes });
}

/// Same, for a directory, any file of which may be corrupt or truncated.
pub fn directory(bytes: &[u8]) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    if files(&mut Unstructured::new(bytes), directory.path()).is_ok() {
        read(&Input::Path(directory.path().to_owned()));
    }
}

/// Writes the files of a directory: a recording of one event, with timed records in several files.
fn files(from: &mut Unstructured<'_>, directory: &Path) -> arbitrary::Result<()> {
    let recording = Input::Bytes { name: "plausible".to_owned(), bytes: plausible::recording(from)?.into() };
    let source = Source::open(recording, ReadOptions::default()).expect("the output should be a recording");
    // A pipe may have nothing to write.
    source.run(&mut ToDirectory::new(directory, Form::default())).map_err(|_| arbitrary::Error::IncorrectFormat)?;
    let bytes = |name: &str| fs::read(directory.join(name)).expect("the file should have been written");
    let (main, mut timed) = (bytes("data"), bytes("data.0"));
    let rest = timed.split_off(from.int_in_range(0..=timed.len() / 8)? * 8);
    for (name, bytes) in [("data", main), ("data.0", timed), ("data.1", rest)] {
        let bytes = if from.arbitrary()? { bytes } else { corrupted(bytes, from) };
        fs::write(directory.join(name), bytes).expect("a temporary file");
    }
    Ok(())
}

fn read(input: &Input) {
    let ordered = Source::open(input.clone(), ReadOptions::default())
        .and_then(|source| source.run(&mut Order::new(Count::default(), ReadOptions::default())));
    let mut reproduced = true;
    let mut on_finding = |finding: perfconv::inspect::check::Finding| reproduced &= finding.rule != Rule::NotReproduced;
    let checked = check(input.clone(), ReadOptions::default(), &mut on_finding);
    assert_eq!(ordered.is_ok(), checked.is_ok(), "time order and check should agree on readability");
    assert!(reproduced, "copying should preserve all bytes");
    if let (Ok((_, ledger)), Ok(checked)) = (ordered, checked) {
        let read: u64 = ledger.entries().values().map(|entry| entry.read).sum();
        assert_eq!(read, checked.records, "time order and check should count the same records");
    }
}

/// Counts records.
#[derive(Default)]
struct Count(u64);

impl Sink for Count {
    fn record(&mut self, _: &Meta, _: &Raw<'_>) -> Result<()> {
        self.0 += 1;
        Ok(())
    }
}
