//! `--endian`: perf reads recordings in the other byte order.

use crate::common::files::fixture;
use crate::common::program::rewrite;
use crate::common::program::{perfconv, run_other, succeed, with_time_limit};
use std::path::Path;

#[test]
fn perf_reads_every_container_in_the_other_byte_order() {
    let dir = tempfile::tempdir().unwrap();
    let fields = "pid,tid,time,period";
    let script = |path: &Path| {
        let perf = run_other(with_time_limit("perf").args(["script", "--force", "-F", fields, "-i"]).arg(path));
        String::from_utf8_lossy(&perf.stdout).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let original = script(&fixture("callgraph.data"));
    if original.is_empty() {
        note!("skipped: no perf to read big-endian recordings");
        return;
    }
    let mut compared = 0;
    for carrier in ["data", "pb_data", "jsonl"] {
        let carried = dir.path().join(format!("in.{carrier}"));
        succeed(perfconv().arg(fixture("callgraph.data")).arg("-o").arg(&carried));
        for container in ["file", "dir", "pipe"] {
            let output = dir.path().join(format!("{carrier}.{container}"));
            rewrite(&carried, &output, &["--endian", "big", "--container", container]).unwrap();
            // perf 6.1 misreads pairs of numbers in foreign pipes.
            if container != "pipe" {
                assert_eq!(script(&output), original, "{carrier} as {container}");
            }
            let back = dir.path().join(format!("{carrier}.{container}.back"));
            rewrite(&output, &back, &["--endian", "little", "--container", "file"]).unwrap();
            assert_eq!(script(&back), original, "{carrier} as {container} and back");
            compared += 1;
        }
    }
    assert_eq!(compared, 9);
}
