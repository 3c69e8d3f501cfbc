//! Writes the samples of a recording to standard output in batches of columns: the half of the npm package's `samples()` that is
//! compiled to WebAssembly. `web/perfconv/samples.js` is the other half, and the only reader.
//!
//! A batch is a line of JSON and the columns, in the order of [`Batch`], as little-endian numbers.

mod batch;

use batch::{Batch, Tables};
use perf_data::error::{Error, Result};
use perf_data::recording::Recording;
use serde_json::json;
use std::env;
use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(path) = env::args().nth(1) else {
        eprintln!("usage: perfconv-samples RECORDING");
        return ExitCode::from(2);
    };
    match write(&path, &mut BufWriter::with_capacity(1 << 20, io::stdout().lock())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // As `perfconv` with PERFCONV_ERRORS=json.
            let (kind, file, offset, record) = (error.kind(), error.file(), error.offset(), error.record());
            let message = error.to_string();
            eprintln!(
                "{}",
                json!({ "kind": kind, "file": file, "offset": offset, "record": record, "message": message })
            );
            ExitCode::FAILURE
        }
    }
}

/// Writes all batches.
fn write(path: &str, out: &mut impl Write) -> Result<()> {
    let (mut tables, mut batch) = (Tables::default(), Batch::default());
    Recording::open(path)?.for_each_sample(|sample| {
        batch.add(sample, &mut tables);
        if batch.is_full() { batch.write(&mut tables, out).map_err(Error::Output) } else { Ok(()) }
    })?;
    batch.write(&mut tables, out).and_then(|()| out.flush()).map_err(Error::Output)
}
