//! Reads a recording in several ways: all give the same records.

use super::plausible;
use arbitrary::Unstructured;
use perf_data::container::limits::Limits;
use perf_data::container::read::{ContainerReader, ReadOptions, input::Input};
use perf_data::error::Result;
use perf_data::stream::Sink;
use perf_data::stream::ledger::Ledger;
use perf_data::stream::meta::Meta;
use perf_data::stream::order::Order;
use perf_data::stream::raw::{Gap, Raw};
use perf_data::stream::source::Source;
use std::io::{self, Read};

/// Any bytes as a recording, or an intact one that is corrupted; read from memory and from a stream in pieces.
pub fn stream(bytes: &[u8]) {
    let mut from = Unstructured::new(bytes);
    let Ok(seed) = from.arbitrary::<u32>() else { return };
    let recording = match from.arbitrary() {
        Ok(true) => match plausible::recording(&mut from) {
            Ok(recording) => corrupted(recording, &mut from),
            Err(_) => return,
        },
        Ok(false) => from.take_rest().to_vec(),
        Err(_) => return,
    };
    let mapped = |options| {
        let input = Input::Bytes { name: "streamed".to_owned(), bytes: recording.clone().into() };
        Source::open(input, options)
    };
    let in_pieces = |options| {
        let stream = Pieces { bytes: recording.clone(), at: 0, seed };
        ContainerReader::from_stream("streamed", Box::new(stream), options).map(Source::new)
    };
    // In corrupt compressed data, the amount that can be decompressed depends on the size of each read.
    let is_compressed = [&[0x28, 0xb5, 0x2f, 0xfd][..], &[0x1f, 0x8b]].iter().any(|magic| recording.starts_with(magic));
    let default = ReadOptions::default;
    let limited = |set: fn(&mut Limits)| {
        let mut limits = Limits::default();
        set(&mut limits);
        default().with_limits(limits)
    };
    // Also with low limits for frames and records: they decide how much is recovered after corruption, and apply in both ways.
    let low = || limited(|limits| (limits.piece, limits.record) = (512, 1024));
    for options in [&default as &dyn Fn() -> ReadOptions, &low] {
        let from_memory = receive(mapped(options()), Received::default());
        let from_stream = receive(in_pieces(options()), Received::default());
        assert!(
            is_compressed || from_memory == from_stream,
            "from memory {from_memory:?}, from a stream {from_stream:?}"
        );
    }
    // In time order, with low limits for buffered records, which must not matter.
    let waiting = limited(|limits| (limits.waiting, limits.waiting_bytes) = (8, 256));
    let from_memory = receive(mapped(default()), Order::new(Received::default(), default()));
    let from_stream = receive(in_pieces(waiting.clone()), Order::new(Received::default(), waiting));
    let [from_memory, from_stream] = [from_memory, from_stream].map(|outcome| outcome.map(|(received, ..)| received));
    assert!(
        is_compressed || from_memory == from_stream,
        "in time order, from memory {from_memory:?}, from a stream {from_stream:?}"
    );
}

/// Changes some bytes and truncates the recording, or does neither.
pub fn corrupted(mut recording: Vec<u8>, from: &mut Unstructured<'_>) -> Vec<u8> {
    let max = if recording.is_empty() { 0 } else { 6 };
    for _ in 0..from.int_in_range(0..=max).unwrap_or_default() {
        let at = from.choose_index(recording.len()).unwrap_or_default();
        recording[at] = from.arbitrary().unwrap_or_default();
    }
    if let Ok(true) = from.ratio(1, 4) {
        recording.truncate(from.choose_index(recording.len()).unwrap_or_default());
    }
    recording
}

/// The records and gaps that a sink received, with their offsets.
#[derive(Default, PartialEq, Debug)]
struct Received {
    records: Vec<(u64, Vec<u8>)>,
    gaps: Vec<(u64, Vec<u8>)>,
}

impl Sink for Received {
    fn record(&mut self, _: &Meta, raw: &Raw<'_>) -> Result<()> {
        self.records.push((raw.offset(), [raw.bytes(), raw.payload()].concat()));
        Ok(())
    }

    fn gap(&mut self, _: &Meta, gap: &Gap<'_>) -> Result<()> {
        let Gap { block, at, len } = *gap;
        let bytes = &block.bytes[at..at + len];
        let offset = block.offset(at);
        // A long gap may arrive in several pieces.
        match self.gaps.last_mut().filter(|(before, gap)| before + gap.len() as u64 == offset) {
            Some((_, gap)) => gap.extend_from_slice(bytes),
            None => self.gaps.push((offset, bytes.to_vec())),
        }
        Ok(())
    }
}

/// The result of reading: records and gaps, counts by type (read, dropped), and the number of messages.
type Outcome = std::result::Result<(Received, Vec<(u32, u64, u64)>, usize), String>;

trait IntoReceived {
    fn into_received(self) -> Received;
}

impl IntoReceived for Received {
    fn into_received(self) -> Received {
        self
    }
}

impl IntoReceived for Order<Received> {
    fn into_received(self) -> Received {
        self.into_inner()
    }
}

fn receive<S: Sink + IntoReceived>(source: Result<Source>, mut sink: S) -> Outcome {
    let run = |source: Source| source.run(&mut sink);
    let (_, ledger): (Meta, Ledger) = source.and_then(run).map_err(|error| error.to_string())?;
    let counts = ledger.entries().iter().map(|(kind, entry)| (kind.0, entry.read, entry.dropped()));
    Ok((sink.into_received(), counts.collect(), ledger.messages().len()))
}

/// A stream that returns a few bytes at a time, of varying number.
struct Pieces {
    bytes: Vec<u8>,
    at: usize,
    seed: u32,
}

impl Read for Pieces {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.seed = self.seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        if self.seed >> 28 == 0 {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let len = (1 + (self.seed >> 20) as usize % 300).min(out.len()).min(self.bytes.len() - self.at);
        out[..len].copy_from_slice(&self.bytes[self.at..self.at + len]);
        self.at += len;
        Ok(len)
    }
}
