//! Sorts recordings, and checks the order of their records.

use crate::common::program::{perfconv, run};
use perf_data::abi::record::RecordType;
use perf_data::container::read::{ReadOptions, input::Input};
use perf_data::stream::Sink;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use perf_data::stream::source::Source;
use std::path::Path;

/// Times in file order, and records with their times.
#[derive(Default)]
pub(crate) struct Records {
    pub(crate) times: Vec<u64>,
    pub(crate) all: Vec<(u64, Vec<u8>)>,
    pub(crate) rounds: usize,
}

impl Sink for Records {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> perfconv::Result<()> {
        if matches!(raw.header().kind, RecordType::COMPRESSED | RecordType::COMPRESSED2) {
            return Ok(());
        }
        let time = meta.events.time(raw);
        self.times.extend(time);
        self.rounds += usize::from(raw.header().kind == RecordType::FINISHED_ROUND);
        self.all.push((time.unwrap_or_default(), [raw.bytes(), raw.payload()].concat()));
        Ok(())
    }
}

pub(crate) fn records(path: &Path) -> perfconv::Result<Records> {
    let mut records = Records::default();
    let (_, ledger) = Source::open(Input::Path(path.to_owned()), ReadOptions::default())?.run(&mut records)?;
    assert!(ledger.messages().len() < 1000);
    Ok(records)
}

pub(crate) enum SortResult {
    Same { records: usize, was_sorted: bool, is_printed: bool },
    Differs(String),
}

/// Sorts a recording, checks the order, and compares what another program prints of it before and after.
pub(crate) fn sort(input: &Path, print: Option<fn(&Path) -> Option<String>>) -> Option<SortResult> {
    let before = records(input).ok()?;
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (output, plain) = (dir.path().join("sorted.data"), dir.path().join("plain.data"));
    for (path, args) in [(&output, &["--sort"][..]), (&plain, &["--decompress"])] {
        let args = [args, &["--container", "file", "-q", "-o"]].concat();
        let run = run(perfconv().arg("rewrite").arg(input).args(args).arg(path));
        if run.status != 0 {
            return Some(SortResult::Differs(run.stderr));
        }
    }
    let (plain_records, mut after) = (records(&plain).ok()?, records(&output).ok()?);
    if !after.times.is_sorted() {
        return Some(SortResult::Differs("not in time order".to_owned()));
    }
    let untimed = |records: &Records| -> Vec<Vec<u8>> {
        records.all.iter().filter(|(time, _)| *time == 0).map(|(_, bytes)| bytes.clone()).collect()
    };
    if untimed(&plain_records) != untimed(&after) || plain_records.rounds != after.rounds {
        return Some(SortResult::Differs("the order of records without a time changed".to_owned()));
    }
    let mut all = plain_records.all;
    // The sort must be stable: records with equal times keep their order.
    all.sort_by_key(|(time, _)| *time);
    after.all.sort_by_key(|(time, _)| *time);
    if all != after.all {
        return Some(SortResult::Differs("records or their order differ".to_owned()));
    }
    let (was_sorted, records) = (before.times.is_sorted(), all.len());
    let [printed, sorted] = [&plain, &output].map(|path| print.and_then(|print| print(path)));
    let is_printed = printed.is_some();
    if is_printed && printed != sorted {
        return Some(SortResult::Differs("the printed text differs".to_owned()));
    }
    Some(SortResult::Same { records, was_sorted, is_printed })
}
