//! Recordings written for older versions of perf.

use crate::common::files::{Recording, corpus};
use crate::common::program::{perfconv, run};
use perf_data::abi::record::RecordType;
use perf_data::container::read::{ReadOptions, input::Input};
use perf_data::stream::Sink;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use perfconv::rewrite::framework::passes::Passes;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub(crate) struct Inspected {
    pub(crate) meta: Meta,
    pub(crate) types: BTreeMap<RecordType, u64>,
}

/// Counts records by type.
#[derive(Default)]
pub(crate) struct Types(pub(crate) BTreeMap<RecordType, u64>);

impl Sink for Types {
    fn record(&mut self, _: &Meta, raw: &Raw<'_>) -> perfconv::Result<()> {
        *self.0.entry(raw.header().kind).or_default() += 1;
        Ok(())
    }
}

pub(crate) fn inspect(path: &Path) -> perfconv::Result<Inspected> {
    let mut types = Types::default();
    let (meta, _) = Passes::default().run(Input::Path(path.to_owned()), &ReadOptions::default(), &mut types)?;
    Ok(Inspected { meta, types: types.0 })
}

/// Recordings of perf 7, with their metadata and record types.
pub(crate) fn recordings_of_perf_7() -> Vec<(Recording, Inspected)> {
    let all = corpus().into_iter().filter_map(|recording| {
        let inspected = inspect(&recording.path).ok()?;
        Some((recording, inspected))
    });
    all.filter(|(_, inspected)| inspected.meta.perf_version() >= Some((7, 0))).collect()
}

pub(crate) fn rewrite_for(version: &str, recording: &Recording, dir: &Path, more: &[&str]) -> Result<PathBuf, String> {
    let path = dir.join(format!("{version}.data"));
    let args = ["-f", "-q", "--perf-version", version, "-o"];
    let run = run(perfconv().arg("rewrite").arg(&recording.path).args(args).arg(&path).args(more));
    if run.status == 0 { Ok(path) } else { Err(run.stderr) }
}
