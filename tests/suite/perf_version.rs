//! `--perf-version`: outputs have no records or features that the version does not know.

use crate::common::files::{fixture, has_corpus};
use crate::common::perf_version::{inspect, recordings_of_perf_7, rewrite_for};
use crate::common::program::{perfconv, run};
use perf_data::abi::attr_flags::AttrFlags;
use perf_data::abi::record::RecordType;
use perf_data::container::read::Container;

#[test]
fn output_has_no_records_or_features_unknown_to_the_version() {
    if !has_corpus("recordings of newer perfs") {
        return;
    }
    let (mut checked, mut with_unknown, mut only_unknown) = (0, 0, 0);
    for (recording, before) in recordings_of_perf_7() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let Ok(path) = rewrite_for("6.1", &recording, dir.path(), &[]) else { continue };
        let is_known = |kind: &RecordType| kind.0 <= 21 || (64..=82).contains(&kind.0);
        if !before.types.keys().any(is_known) {
            only_unknown += 1;
            continue;
        }
        let after = inspect(&path).unwrap_or_else(|e| panic!("{}: {e}", recording.name));
        assert_eq!(after.meta.container, before.meta.container, "{}", recording.name);
        for event in after.meta.events.list() {
            assert!(event.attr.size <= 128 && event.attr.stored_size() <= 128, "{}", recording.name);
            assert!(!event.attr.flags.intersects(AttrFlags::DEFER_CALLCHAIN | AttrFlags::DEFER_OUTPUT));
        }
        assert!(after.meta.features.keys().all(|id| id.0 < 32), "{}", recording.name);
        assert!(after.types.keys().all(is_known), "{}", recording.name);
        let [old, new] = [&before, &after].map(|inspected| inspected.types.get(&RecordType::SAMPLE).copied());
        let is_pipe = before.meta.container == Container::Pipe;
        assert!(
            old == new,
            "{}: {new:?} samples, expected {old:?}{}",
            recording.name,
            if is_pipe { " (pipe)" } else { "" }
        );
        checked += 1;
        with_unknown += usize::from(!before.types.keys().all(is_known));
    }
    note!(
        "{checked} recordings of perf 7 written for 6.1, {with_unknown} of them with records unknown to it; {only_unknown} skipped: no other records"
    );
    assert!(
        checked >= 60 && with_unknown >= 5,
        "checked only {checked} recordings, {with_unknown} with unknown records"
    );
}

#[test]
fn rejects_invalid_versions() {
    let fixture = crate::common::files::fixture("plain.data");
    for version in ["4.19", "six", "6"] {
        let run = run(perfconv().arg(&fixture).args(["-o", "unused.data", "--perf-version", version]));
        assert_eq!(run.status, 2, "{}", run.stderr);
    }
}

#[test]
fn rejects_compression_for_versions_without_it() {
    let dir = tempfile::tempdir().unwrap();
    let output = dir.path().join("out.data");
    let rewrite = |version: &str| {
        let args = ["-f", "-q", "--compress", "--perf-version", version, "-o"];
        run(perfconv().arg("rewrite").arg(fixture("plain.data")).args(args).arg(&output))
    };
    let rejected = rewrite("5.1");
    assert_eq!((rejected.status, output.exists()), (2, false), "{}", rejected.stderr);
    assert!(rejected.stderr.contains("perf 5.1 cannot read compressed records"), "{}", rejected.stderr);
    assert_eq!(rewrite("5.2").status, 0);
}
