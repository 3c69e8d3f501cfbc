//! Grows a real recording to any size, to measure time and memory.
//!
//! Plain repetition would let time run backwards and add no new processes or addresses. So each copy of the data is shifted: to
//! later times, other process IDs and other user addresses. Kernel addresses stay the same, as there is only one kernel.
//!
//! `cargo run --release --example grow -- IN OUT --size MB [--no-rounds] [--compress] [--pipe]`

mod grow;
mod output;
mod recording;
mod shift;

use std::error::Error;
use std::path::PathBuf;

use output::Output;
use recording::Recording;

const USAGE: &str = "usage: grow IN OUT --size MB [--no-rounds] [--compress] [--pipe]
IN is a little-endian, uncompressed perf.data file whose events all have the same sample_type.";

fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::parse(std::env::args().skip(1)).ok_or(USAGE)?;
    let recording = Recording::parse(std::fs::read(&options.input)?)
        .ok_or("IN cannot be grown: not a little-endian, uncompressed file with one sample_type")?;
    let output = Output::create(&options.output, &recording, options.pipe, options.compress)?;
    grow::grow(&recording, output, options.size, options.without_rounds)?;
    Ok(())
}

struct Options {
    input: PathBuf,
    output: PathBuf,
    /// Size of the records, before compression.
    size: u64,
    without_rounds: bool,
    compress: bool,
    pipe: bool,
}

impl Options {
    fn parse(mut arguments: impl Iterator<Item = String>) -> Option<Options> {
        let (mut paths, mut size) = (Vec::new(), None);
        let (mut without_rounds, mut compress, mut pipe) = (false, false, false);
        while let Some(argument) = arguments.next() {
            match &*argument {
                "--size" => size = Some(arguments.next()?.parse::<u64>().ok()? << 20),
                "--no-rounds" => without_rounds = true,
                "--compress" => compress = true,
                "--pipe" => pipe = true,
                option if option.starts_with('-') => return None,
                path => paths.push(PathBuf::from(path)),
            }
        }
        let [input, output] = paths.try_into().ok()?;
        Some(Options { input, output, size: size?, without_rounds, compress, pipe })
    }
}
