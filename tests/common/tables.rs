//! Tables for query engines.

use crate::common::files::{files_in, fixture, is_temporary};
use crate::common::program::{perfconv, succeed, try_run};
use perfconv::formats::dataset::table;
use std::path::{Path, PathBuf};

/// Converts a recording to a dataset.
pub(crate) fn convert(recording: &Path, dataset: &Path, args: &[&str]) -> Result<(), String> {
    try_run(perfconv().arg(recording).args(["-t", "parquet", "-f", "-q", "-o"]).arg(dataset).args(args)).map(drop)
}

/// Tables of a recording without tracepoints: all but theirs and that of records, which is optional.
pub(crate) const TABLES: usize = table::ALL.len() - 2;

/// Paths of the files of a dataset, without those of unfinished parts.
pub(crate) fn paths(dataset: &Path) -> Vec<String> {
    let files = files_in(dataset).into_keys();
    files.filter(|path| path.ends_with(".parquet") && !is_temporary(path)).collect()
}

/// Merges fixtures into recordings that differ, as if of several machines.
pub(crate) fn recordings(directory: &Path, count: usize) -> Vec<PathBuf> {
    let create = |number: usize| {
        let path = directory.join(format!("{number}.data"));
        let host = format!("hostname=host-{number}");
        succeed(perfconv().arg("rewrite").arg(fixture("callgraph.data")).args(["-q", "--set", &host, "-o"]).arg(&path));
        path
    };
    (0..count).map(create).collect()
}
