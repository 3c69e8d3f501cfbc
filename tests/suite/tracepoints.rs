//! Tracepoints in anonymized recordings.

use crate::common::files::{self};
use crate::common::program::{perfconv, run};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value as Json;

#[test]
fn anonymized_payloads_have_only_common_fields() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("anonymous.data");
    let input = files::fixture("tracepoints.data");
    run(perfconv().arg("rewrite").arg(&input).args(["--anonymize", "--replace", "pids", "-q", "-o"]).arg(&path));
    let lines = run(perfconv().arg(&path).args(["-t", "jsonl", "-q", "-o", "-"])).stdout;
    let mut payloads = 0;
    for line in lines.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
        let record: Json = serde_json::from_slice(line).expect("a line of JSON");
        let Some(raw) = record["body"]["raw"]["data"].as_str() else { continue };
        let raw = STANDARD.decode(raw).expect("base64");
        let tid = record["body"]["task"]["tid"].as_u64().expect("a thread ID") as u32;
        assert_eq!(
            (raw.len(), &raw[2..4], &raw[4..8], &raw[8..]),
            (12, &[0; 2][..], &tid.to_le_bytes()[..], &[0; 4][..])
        );
        payloads += 1;
    }
    assert_eq!(payloads, 23);
}
