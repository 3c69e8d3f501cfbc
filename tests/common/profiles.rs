//! Profiles with options.

use super::pprof::validate;
use crate::common::files::fixture;
use crate::common::program::{self, perfconv, succeed};
use perfconv::formats::pprof::proto::Profile;

/// Fixtures whose samples have each label.
pub(crate) const LABELS_BY_FIXTURE: &[(&str, &[&str])] = &[
    (
        "system-wide.data",
        &[
            "pid",
            "tid",
            "comm",
            "thread_comm",
            "thread_name",
            "cpu",
            "socket",
            "time",
            "timestamp_ns",
            "execution_mode",
        ],
    ),
    ("weight.data", &["data_src", "weight", "cache_latency", "total_latency"]),
    ("page-sizes.data", &["code_page_size", "data_page_size"]),
    ("cgroup.data", &["cgroup"]),
    ("tracepoints.data", &["trace"]),
    ("two-events.data", &["thread_pool"]),
];

pub(crate) fn convert(input: &str, options: &[&str]) -> Profile {
    let dir = tempfile::tempdir().unwrap();
    let output = dir.path().join("out.pb.gz");
    succeed(perfconv().arg(fixture(input)).args(options).arg("-o").arg(&output));
    let profile = program::profile(&output);
    validate(&profile).unwrap_or_else(|error| panic!("{input} {options:?}: {error}"));
    profile
}
