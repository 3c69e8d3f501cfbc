//! Repairs recordings, and checks what is repaired.

use crate::common::program::{perfconv, run, try_run};
use perf_data::abi::record::RecordType;
use perf_data::container::read::{ReadOptions, input::Input};
use perf_data::stream::Sink;
use perf_data::stream::ledger::Ledger;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use perf_data::stream::source::Source;
use std::path::Path;

struct Nothing;

impl Sink for Nothing {
    fn record(&mut self, _: &Meta, _: &Raw<'_>) -> perfconv::Result<()> {
        Ok(())
    }
}

pub(crate) fn read(path: &Path) -> perfconv::Result<(Meta, Ledger)> {
    Source::open(Input::Path(path.to_owned()), ReadOptions::default())?.run(&mut Nothing)
}

fn for_perf_6_1(input: &Path, output: &Path) -> Result<(), String> {
    try_run(perfconv().arg("rewrite").arg(input).args(["-q", "--perf-version", "6.1", "-o"]).arg(output)).map(drop)
}

pub(crate) struct RepairResult {
    pub(crate) samples: u64,
    /// The number of samples that the other program prints.
    pub(crate) printed: Option<u64>,
    pub(crate) failure: Option<String>,
}

/// Repairs a recording, and counts what another program prints of it; `None` if it is intact.
pub(crate) fn repair(input: &Path, print: Option<fn(&Path) -> u64>) -> Option<RepairResult> {
    let (_, before) = read(input).ok()?;
    if before.messages().is_empty() {
        return None;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    let output = dir.path().join("repaired.data");
    let run = run(perfconv().arg("repair").arg(input).args(["-q", "--container", "file", "-o"]).arg(&output));
    let samples = before.counts(RecordType::SAMPLE).read;
    let fail = |what: String| Some(RepairResult { samples, printed: None, failure: Some(what) });
    if run.status != 0 {
        return fail(run.stderr);
    }
    let after = match read(&output) {
        Ok((_, after)) => after,
        Err(error) => return fail(error.to_string()),
    };
    if let Some(damage) = after.messages().first() {
        return fail(format!("still corrupt: {damage}"));
    }
    if after.counts(RecordType::SAMPLE).read != samples {
        return fail("samples differ".to_owned());
    }
    let mut printed = None;
    if let Some(print) = print {
        // perf 6.1 accepts no attrs larger than its own.
        let for_perf = dir.path().join("for-6.1.data");
        if let Err(error) = for_perf_6_1(&output, &for_perf) {
            return fail(error);
        }
        printed = Some(print(&for_perf));
    }
    Some(RepairResult { samples, printed, failure: None })
}
