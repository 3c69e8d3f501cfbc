//! A synthetic recording, as a test of a perf.data reader would build it.
//!
//! `cargo run --release --example synth -- OUT && perf script -i OUT`

use perf_data::abi::record::{Body, Misc, lost::Lost};
use perf_data::abi::sample::{Callchain, Sample};
use perf_data::abi::sample_type::SampleType;
use perfconv::synth::{Event, Map, RecordingBuilder, Stamp};
use std::env;
use std::error::Error;
use std::fs;

fn main() -> Result<(), Box<dyn Error>> {
    let [_, output] = &env::args().collect::<Vec<_>>()[..] else { return Err("usage: synth OUT".into()) };
    let mut recording = RecordingBuilder::new();
    let cycles = recording.event(Event::named("cycles:u")?.period(1_000_000).with(SampleType::CALLCHAIN));
    recording.process(7, "app").thread(7, 8, "worker").map(7, Map::new("/usr/bin/app", 0x400000, 0x3000));
    for number in 0..100 {
        let task = Some((7, 7 + (number % 2) as u32));
        let callchain = Some(Callchain { ips: vec![0x401010 + number, 0x402000] });
        let sample = Sample { ip: Some(0x401010 + number), task, callchain, ..Sample::default() };
        recording.sample(cycles, Sample { time: Some(1_000_000 * (1 + number)), ..sample });
    }
    recording.record(Misc::empty(), Body::Lost(Lost { id: 1, lost: 5 }), Stamp::at(50_000_000, 7, 7));
    fs::write(output, recording.to_bytes()?)?;
    Ok(())
}
