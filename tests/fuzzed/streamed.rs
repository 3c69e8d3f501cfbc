//! One recording, read in several ways: whatever the way, it is the same.

use super::plausible;
use arbitrary::Unstructured;
use perfconv::container::limits::Limits;
use perfconv::container::read::{ReadOptions, Reader, input::Input};
use perfconv::error::Result;
use perfconv::stream::Sink;
use perfconv::stream::ledger::Ledger;
use perfconv::stream::meta::Meta;
use perfconv::stream::order::Order;
use perfconv::stream::raw::{Gap, Raw};
use perfconv::stream::source::Source;
use std::io::{self, Read};

/// Any bytes as a recording, or one that is made of them and damaged; mapped, and from a stream that comes in pieces.
pub fn streamed(bytes: &[u8]) {
    let mut from = Unstructured::new(bytes);
    let Ok(seed) = from.arbitrary::<u32>() else { return };
    let recording = match from.arbitrary() {
        Ok(true) => match plausible::recording(&mut from) {
            Ok(recording) => damaged(recording, &mut from),
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
        Reader::from_stream("streamed", Box::new(stream), options).map(Source::new)
    };
    // Of what is compressed and damaged, how much is found depends on how much is asked for at a time.
    let is_packed = [&[0x28, 0xb5, 0x2f, 0xfd][..], &[0x1f, 0x8b]].iter().any(|magic| recording.starts_with(magic));
    let default = ReadOptions::default;
    let limited = |limits| ReadOptions { limits, ..default() };
    // With little memory for frames and records too. It decides how much is found behind damage, and is the same for both ways.
    let little = || limited(Limits { piece: 512, record: 1024, ..Limits::default() });
    for options in [&default as &dyn Fn() -> ReadOptions, &little] {
        let one = seen(mapped(options()), Seen::default());
        let other = seen(in_pieces(options()), Seen::default());
        assert!(is_packed || one == other, "mapped {one:?}, and as a stream {other:?}");
    }
    // In the order of time, with little memory for what waits, which decides nothing.
    let waiting = limited(Limits { waiting: 8, waiting_bytes: 256, ..Limits::default() });
    let one = seen(mapped(default()), Order::new(Seen::default(), default()));
    let other = seen(in_pieces(waiting.clone()), Order::new(Seen::default(), waiting));
    let [one, other] = [one, other].map(|outcome| outcome.map(|(seen, ..)| seen));
    assert!(is_packed || one == other, "in the order of time, mapped {one:?}, and as a stream {other:?}");
}

/// With some bytes changed and the end cut off, or not.
pub(super) fn damaged(mut recording: Vec<u8>, from: &mut Unstructured<'_>) -> Vec<u8> {
    let most = if recording.is_empty() { 0 } else { 6 };
    for _ in 0..from.int_in_range(0..=most).unwrap_or_default() {
        let at = from.choose_index(recording.len()).unwrap_or_default();
        recording[at] = from.arbitrary().unwrap_or_default();
    }
    if let Ok(true) = from.ratio(1, 4) {
        recording.truncate(from.choose_index(recording.len()).unwrap_or_default());
    }
    recording
}

/// What a sink was given: where, and what.
#[derive(Default, PartialEq, Debug)]
struct Seen {
    records: Vec<(u64, Vec<u8>)>,
    gaps: Vec<(u64, Vec<u8>)>,
}

impl Sink for Seen {
    fn record(&mut self, _: &Meta, raw: &Raw<'_>) -> Result<()> {
        self.records.push((raw.offset(), [raw.bytes(), raw.payload()].concat()));
        Ok(())
    }

    fn gap(&mut self, _: &Meta, gap: &Gap<'_>) -> Result<()> {
        let Gap { block, at, len } = *gap;
        let bytes = &block.bytes[at..at + len];
        let offset = block.offset(at);
        // A long one may come in several pieces.
        match self.gaps.last_mut().filter(|(before, gap)| before + gap.len() as u64 == offset) {
            Some((_, gap)) => gap.extend_from_slice(bytes),
            None => self.gaps.push((offset, bytes.to_vec())),
        }
        Ok(())
    }
}

/// What came of it: what was seen, the records that were read, and what was dropped.
type Outcome = std::result::Result<(Seen, Vec<(u32, u64, u64)>, usize), String>;

trait IntoSeen {
    fn into_seen(self) -> Seen;
}

impl IntoSeen for Seen {
    fn into_seen(self) -> Seen {
        self
    }
}

impl IntoSeen for Order<Seen> {
    fn into_seen(self) -> Seen {
        self.into_inner()
    }
}

fn seen<S: Sink + IntoSeen>(source: Result<Source>, mut sink: S) -> Outcome {
    let run = |source: Source| source.run(&mut sink);
    let (_, ledger): (Meta, Ledger) = source.and_then(run).map_err(|error| error.to_string())?;
    let counts = ledger.entries().iter().map(|(kind, entry)| (kind.0, entry.read, entry.dropped()));
    Ok((sink.into_seen(), counts.collect(), ledger.messages().len()))
}

/// A stream that gives a few bytes at a time, now fewer, now more.
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
