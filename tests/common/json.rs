//! Recordings as JSON Lines.

use crate::common::program::{perfconv, succeed};
use std::path::Path;

/// Exports a recording to JSON Lines.
pub(crate) fn to_json(recording: &Path, args: &[&str]) -> String {
    let to_json = succeed(perfconv().arg(recording).args(["-t", "jsonl", "-q", "-o", "-"]).args(args));
    String::from_utf8(to_json.stdout).expect("JSON should be UTF-8")
}
