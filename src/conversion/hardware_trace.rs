//! Decoding of hardware traces by default: outputs that show samples have those of the trace.

use crate::rewrite::framework::passes::Passes;
use crate::rewrite::itrace::{ItracePass, TraceEvents};
use perf_data::abi::bytes::ByteReader;
use perf_data::abi::header::{self, PIPE_HEADER_SIZE};
use perf_data::abi::record::auxtrace_info::{AuxtraceInfo, AuxtraceType};
use perf_data::abi::record::{RecordHeader, RecordType};
use perf_data::abi::{self, Endian};
use perf_data::container::read::ReadOptions;
use perf_data::container::read::input::Input;
use perf_data::container::walk::{WalkStep, step};
use perf_data::error::Result;
use perf_data::stream::Sink;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use perf_data::stream::source::Source;
use perf_data::trace::is_decoded;

/// Maximum number of bytes of an input that are examined. In a pipe, formats of tracepoints may come first.
const START: usize = 4 << 20;

/// Maximum number of records of the kernel before the one that describes the trace, which perf writes before all of them.
const MAX_RECORDS: u32 = 64;

/// Puts the decoder of traces to samples of these events before all passes, if the recording has a trace that is decoded by default.
/// Returns the input, of which the beginning has been read if it is a stream.
///
/// # Errors
/// If the input cannot be opened.
pub(crate) fn decode_trace(
    input: Input,
    read: &ReadOptions,
    passes: &mut Passes,
    events: &TraceEvents,
) -> Result<Input> {
    let (input, source) = trace_source(input, read)?;
    if source.is_some_and(is_decoded) {
        passes.insert_first(ItracePass::new(events.clone(), false));
    }
    Ok(input)
}

/// The source of the trace of a recording, if it has one, and the input, of which the beginning has been read if it is a stream.
///
/// # Errors
/// If the input cannot be opened.
pub fn trace_source(input: Input, read: &ReadOptions) -> Result<(Input, Option<AuxtraceType>)> {
    let (input, start) = input.peek(START, |start| source_at_start(start).is_some(), read)?;
    let source = match source_at_start(&start) {
        Some(source) => source,
        None if matches!(input, Input::Stdin | Input::Stream(_)) => None,
        None => {
            let mut scan = TraceScan::default();
            // What cannot be read is reported by the conversion.
            Source::open(input.clone(), read.clone()).and_then(|source| source.run(&mut scan)).ok();
            scan.source
        }
    };
    Ok((input, source))
}

/// What a record says about the trace of a recording.
enum Evidence {
    /// Nothing: the next record may be the one that describes the trace.
    None,
    /// The source of the trace; `None` if there is none.
    Source(Option<AuxtraceType>),
}

/// Looks for the description of the trace, record by record.
#[derive(Default)]
struct Search {
    /// Number of records of the kernel.
    records: u32,
}

impl Search {
    fn next(&mut self, header: RecordHeader, body: &[u8], endian: Endian) -> Evidence {
        match header.kind {
            RecordType::AUXTRACE_INFO => {
                let info = abi::parse::<AuxtraceInfo>(body, endian, ());
                Evidence::Source(info.ok().map(|(info, _)| info.kind))
            }
            RecordType::SAMPLE | RecordType::AUX | RecordType::AUXTRACE | RecordType::FINISHED_ROUND => {
                Evidence::Source(None)
            }
            kind if kind.is_frame() => Evidence::Source(None),
            kind if kind < RecordType::USER_START => {
                self.records += 1;
                if self.records > MAX_RECORDS { Evidence::Source(None) } else { Evidence::None }
            }
            _ => Evidence::None,
        }
    }
}

/// The source of the trace by the first bytes of a recording; `None` if they are too few.
fn source_at_start(start: &[u8]) -> Option<Option<AuxtraceType>> {
    let endian = header::endian(start)?;
    let word = |at: usize| ByteReader::new(start.get(at..)?, endian).u64();
    // The header of a file has the offset of the records.
    let first = if word(8)? == PIPE_HEADER_SIZE { PIPE_HEADER_SIZE } else { word(40)? };
    let mut at = usize::try_from(first).ok().filter(|&at| at <= start.len())?;
    let mut search = Search::default();
    while let WalkStep::Record { header, len, payload } = step(start, at, endian) {
        if let Evidence::Source(source) = search.next(header, &start[at..][RecordHeader::SIZE..len], endian) {
            return Some(source);
        }
        at += len + payload;
    }
    None
}

/// Looks through the records of a recording.
#[derive(Default)]
struct TraceScan {
    search: Search,
    source: Option<AuxtraceType>,
    is_done: bool,
}

impl Sink for TraceScan {
    fn record(&mut self, _: &Meta, raw: &Raw<'_>) -> Result<()> {
        if self.is_done {
            return Ok(());
        }
        if let Evidence::Source(source) = self.search.next(raw.header(), raw.body(), raw.endian()) {
            (self.source, self.is_done) = (source, true);
        }
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.is_done
    }
}
