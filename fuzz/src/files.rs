//! Whole recordings.

use perfconv::check::{Rule, check};
use perfconv::container::read::{ReadOptions, input::Input};
use perfconv::error::Result;
use perfconv::stream::Sink;
use perfconv::stream::meta::Meta;
use perfconv::stream::order::Order;
use perfconv::stream::raw::Raw;
use perfconv::stream::source::Source;

/// Any bytes as a recording: it is read or refused, in time order and in the file's, and what can be read is written as it
/// was.
pub fn open(bytes: &[u8]) {
    let ordered = Source::open(input(bytes), ReadOptions::default())
        .and_then(|source| source.run(&mut Order::new(Count::default(), ReadOptions::default())));
    let mut reproduced = true;
    let mut found = |finding: perfconv::check::Finding| reproduced &= finding.rule != Rule::NotReproduced;
    let checked = check(input(bytes), ReadOptions::default(), &mut found);
    assert_eq!(ordered.is_ok(), checked.is_ok(), "both are read or both are refused");
    assert!(reproduced, "everything is written as it was read");
    if let (Ok((_, ledger)), Ok(checked)) = (ordered, checked) {
        let read: u64 = ledger.entries().values().map(|entry| entry.read).sum();
        assert_eq!(read, checked.records, "both read the same records");
    }
}

fn input(bytes: &[u8]) -> Input {
    Input::Bytes { name: "fuzzed".to_owned(), bytes: bytes::Bytes::copy_from_slice(bytes) }
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
