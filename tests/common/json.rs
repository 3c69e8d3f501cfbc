//! Recordings as JSON Lines.

use crate::common::program::{perfconv, run};
use std::path::Path;

/// Exports a recording to JSON Lines.
pub(crate) fn to_json(recording: &Path, args: &[&str]) -> String {
    let to_json = run(perfconv().arg(recording).args(["-t", "jsonl", "-q", "-o", "-"]).args(args));
    assert_eq!(to_json.status, 0, "{}", to_json.stderr);
    String::from_utf8(to_json.stdout).expect("JSON should be UTF-8")
}
