//! Datasets of several recordings.

use crate::common::files::fixture;
use crate::common::tables::convert;
use crate::common::tables::{TABLES, paths};
use std::fs;
use std::os::unix::fs::PermissionsExt;

#[test]
fn tables_of_a_private_recording_are_private() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (input, dataset) = (directory.path().join("perf.data"), directory.path().join("out"));
    fs::copy(fixture("tracepoints.data"), &input).unwrap();
    fs::set_permissions(&input, fs::Permissions::from_mode(0o600)).unwrap();
    convert(&fixture("callgraph.data"), &dataset, &["--symbols", "no"]).unwrap();
    let public = paths(&dataset);
    convert(&input, &dataset, &["--symbols", "no", "--append"]).unwrap();
    let is_private = |path: &String| fs::metadata(dataset.join(path)).unwrap().permissions().mode() & 0o077 == 0;
    let (private, others): (Vec<_>, Vec<_>) = paths(&dataset).into_iter().partition(is_private);
    assert_eq!(others, public);
    assert!(private.len() > TABLES, "{private:?}");
}
