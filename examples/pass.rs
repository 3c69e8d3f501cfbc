//! A custom rewrite pass: drops samples of idle CPUs, and notes this in the recorded command line.
//!
//! `cargo run --release --example pass -- IN OUT`

use perf_data::abi::feature::FeatureId;
use perf_data::abi::feature::string::{PerfStr, StrList};
use perf_data::abi::record::RecordType;
use perf_data::abi::sample::view::SampleView;
use perf_data::stream::Sink;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use perfconv::Recording;
use perfconv::rewrite::framework::pass::Pass;
use perfconv::rewrite::framework::record_function::RecordFunction;
use perfconv::rewrite::header::Header;
use std::env;
use std::error::Error;

/// Drops samples of pid 0, the idle task.
struct WithoutIdle;

impl Pass for WithoutIdle {
    fn name(&self) -> String {
        "without idle".into()
    }

    // The command line is a header feature in a file and a record in a pipe; the driver of the passes handles both.
    fn edits(&self) -> bool {
        true
    }

    fn edit(&mut self, header: &mut Header) -> perfconv::Result<()> {
        let Some(words) = header.feature(FeatureId::CMDLINE) else { return Ok(()) };
        let perf_data::abi::feature::Feature::Cmdline(StrList { mut strings }) = words.feature else { return Ok(()) };
        strings.push(PerfStr::new(b"(without idle)"));
        header.set(FeatureId::CMDLINE, &StrList { strings })
    }

    fn before<'a>(&'a mut self, sink: Box<dyn Sink + 'a>) -> Box<dyn Sink + 'a> {
        Box::new(RecordFunction::new(sink, |meta, raw, sink| match is_idle(meta, raw) {
            Some(true) => Ok(()),
            Some(false) | None => sink.record(meta, raw),
        }))
    }
}

/// Whether a record is a sample of an idle CPU; `None` if it is no sample or has no pid.
fn is_idle(meta: &Meta, raw: &Raw<'_>) -> Option<bool> {
    if raw.header().kind != RecordType::SAMPLE {
        return None;
    }
    let (_, event) = meta.events.find(raw)?;
    let (pid, _) = SampleView::read(raw.body(), &event.layout, raw.endian()).ok()?.task?;
    Some(pid == 0)
}

fn main() -> Result<(), Box<dyn Error>> {
    let [_, input, output] = &env::args().collect::<Vec<_>>()[..] else { return Err("usage: pass IN OUT".into()) };
    let ledger = Recording::open(input)?.rewrite().pass(WithoutIdle).write(output)?;
    println!("{ledger}");
    Ok(())
}
