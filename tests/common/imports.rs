//! Profiles as inputs, and recordings converted from them.

use crate::common::program::{self, perfconv, run_other, succeed, with_time_limit};
use perfconv::formats::pprof::proto::{Profile, Sample};
use std::path::{Path, PathBuf};

/// Recordings whose profiles do not round-trip. Of the first two, samples in files not mapped at their time, or of threads
/// without a name at their time; of the third, kernel addresses outside of any mapping.
pub(crate) const EXCEPTIONS: [(&str, &str); 6] = [
    ("perf_with_trace_offcpu.data", "mappings of a process depend on its parent"),
    ("perf.data.systemwide.1-3.8", "a thread has its name before its COMM record"),
    ("perf.data.lost_samples-4.4", "kernel addresses are in no mapping"),
    ("overwrite-ev.data.script.zst", "not printed in time order"),
    ("shim-nosampleid.data.script.zst", "not printed in time order"),
    ("attrs-mixed-time.data.script.zst", "some samples have no time"),
];

pub(crate) fn exception(name: &str) -> Option<&'static str> {
    EXCEPTIONS.iter().find(|(end, _)| name.ends_with(end)).map(|(_, why)| *why)
}

/// The path of a profile that another program wrote.
pub(crate) fn profile_path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/profiles").join(name)
}

/// Converts a profile of allocations to a recording in a directory; returns it with the sizes that are labels, in ascending order.
pub(crate) fn recording_of_allocations(directory: &Path) -> (PathBuf, Vec<i64>) {
    let output = directory.join("out.data");
    succeed(perfconv().arg(profile_path("mem.pprof")).args(["-q", "-o"]).arg(&output));
    let original = program::profile(&profile_path("mem.pprof"));
    let is_counted = |sample: &&Sample| sample.value[1] > 0;
    let mut sizes: Vec<_> = original.sample.iter().filter(is_counted).map(|sample| sample.label[0].num).collect();
    sizes.sort_unstable();
    (output, sizes)
}

pub(crate) fn text(profile: &Profile, index: i64) -> &str {
    &profile.string_table[index as usize]
}

/// The output of perf script, with times in microseconds, or nanoseconds if `nanoseconds` is set.
pub(crate) fn perf_script(
    recording: &Path,
    images: Option<&Path>,
    fields: Option<&str>,
    nanoseconds: bool,
    home: &Path,
) -> Option<String> {
    let mut perf = with_time_limit("perf");
    if let Some(images) = images {
        perf.arg("--buildid-dir").arg(images);
    }
    perf.args(["script", "--force", "--no-inline", "--no-demangle", "-i"]).arg(recording);
    if nanoseconds {
        perf.arg("--ns");
    }
    if let Some(fields) = fields {
        perf.args(["-F", fields]);
    }
    let run = run_other(perf.env("LC_ALL", "C").env("HOME", home).env_remove("DEBUGINFOD_URLS"));
    (run.status == 0).then(|| String::from_utf8_lossy(&run.stdout).into_owned())
}
