//! Passes of quipper, applied to recordings.

use crate::common::program::{perfconv, run};
use perfconv::formats::quipper::proto::PerfDataProto;
use std::fs;
use std::path::Path;

pub(crate) fn convert(input: &Path, output: &Path, args: &[&str]) -> Result<Vec<u8>, String> {
    let run = run(perfconv().arg(input).args(["-f", "-q", "-o"]).arg(output).args(args));
    match run.status {
        0 => Ok(fs::read(output).unwrap_or_default()),
        _ => Err(run.stderr),
    }
}

/// The addresses of all samples.
pub(crate) fn addresses(message: &PerfDataProto) -> Vec<(u64, Vec<u64>)> {
    let samples = message.events.iter().filter_map(|event| event.sample_event.as_ref());
    samples.map(|sample| (sample.ip(), sample.callchain.clone())).collect()
}
