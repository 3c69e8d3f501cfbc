//! Throughput of per-record operations, next to their lower bounds: reading the file, and zstd alone.
//!
//! `cargo bench` grows a fixture to 256 MB; `PERFCONV_BENCH_BASE` names another recording to grow, `PERFCONV_BENCH_MB` another
//! size. `examples/grow` describes which recordings can be grown.

#[path = "../examples/grow/grow.rs"]
mod grow;
#[path = "../examples/grow/output.rs"]
mod output;
#[path = "../examples/grow/recording.rs"]
mod recording;
#[path = "../examples/grow/shift.rs"]
mod shift;

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use linux_perf_data::linux_perf_event_reader::EventRecord;
use linux_perf_data::{PerfFileReader, PerfFileRecord};
use perf_data::abi::record::compressed::compressed_bytes;
use perf_data::abi::record::{Record, RecordType};
use perf_data::abi::sample::view::SampleView;
use perf_data::container::read::{ReadOptions, input::Input};
use perf_data::container::write::frames::FrameOptions;
use perf_data::error::Result;
use perf_data::stream::Sink;
use perf_data::stream::meta::Meta;
use perf_data::stream::order::Order;
use perf_data::stream::raw::Raw;
use perf_data::stream::source::Source;
use perf_data::stream::write::file::ToFile;
use perf_data::stream::write::form::{CompressedFrames, Form};
use perf_data::stream::write::verbatim::Verbatim;
use perfconv::conversion::{convert_records, profile};
use perfconv::formats::framework::converter::ConvertOptions;
use perfconv::formats::import::ImportOptions;
use perfconv::formats::json::{self, JsonLines};
use perfconv::formats::pprof;
use perfconv::formats::quipper::QuipperProto;
use perfconv::profile::options::ProfileOptions;
use perfconv::rewrite::framework::passes::Passes;
use perfconv::rewrite::sort::{SortPass, Untimed};
use std::env;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::thread;
use tempfile::TempDir;
use zstd::stream::raw::{Decoder, InBuffer, Operation, OutBuffer};

fn main() {
    let inputs = inputs();
    println!("{} bytes, {} of them compressed", inputs.len, inputs.compressed_len);
    divan::main();
}

/// The input recordings.
struct Inputs {
    dir: TempDir,
    len: u64,
    compressed_len: u64,
}

impl Inputs {
    fn plain(&self) -> PathBuf {
        self.dir.path().join("plain.data")
    }

    fn pipe(&self) -> PathBuf {
        self.dir.path().join("pipe.data")
    }

    fn json(&self) -> PathBuf {
        self.dir.path().join("plain.jsonl")
    }

    fn compressed(&self) -> PathBuf {
        self.dir.path().join("compressed.data")
    }
}

fn inputs() -> &'static Inputs {
    static INPUTS: OnceLock<Inputs> = OnceLock::new();
    INPUTS.get_or_init(|| {
        let base = env::var_os("PERFCONV_BENCH_BASE").map_or("roundtrip/fixtures/callgraph.data".into(), PathBuf::from);
        let megabytes = env::var("PERFCONV_BENCH_MB").map_or(256, |mb| mb.parse().expect("a number of megabytes"));
        let base = fs::read(base).expect("the base recording should be readable");
        let base = recording::Recording::parse(base).expect("the base recording should be one that can be grown");
        let inputs = Inputs { dir: tempfile::tempdir().expect("a directory"), len: 0, compressed_len: 0 };
        let kinds = [(inputs.plain(), false, false), (inputs.pipe(), true, false), (inputs.compressed(), false, true)];
        for (path, pipe, compress) in kinds {
            let output = output::Output::create(&path, &base, pipe, compress).expect("writing should succeed");
            grow::grow(&base, output, megabytes << 20, false).expect("writing should succeed");
        }
        let len = |path| fs::metadata(path).expect("the file should have been written").len();
        Inputs { len: len(inputs.plain()), compressed_len: len(inputs.compressed()), ..inputs }
    })
}

fn open(path: PathBuf) -> Source {
    Source::open(Input::Path(path), ReadOptions::default()).expect("a recording")
}

/// Benchmarks an operation on a file; throughput counts its uncompressed bytes.
fn bench(bencher: Bencher, work: impl Fn(&Inputs) + Sync) {
    let inputs = inputs();
    bencher.counter(BytesCount::new(inputs.len)).bench(|| work(inputs));
}

/// Receives records and discards them.
struct Scan;

impl Sink for Scan {
    fn record(&mut self, _: &Meta, raw: &Raw<'_>) -> Result<()> {
        black_box(raw.header());
        Ok(())
    }
}

/// Decodes every record as a conversion does: samples in place, all others into values.
struct Decode;

impl Sink for Decode {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        match (raw.header().kind, meta.events.find(raw)) {
            (RecordType::SAMPLE, Some((_, event))) => {
                let mut view = SampleView::default();
                view.fill(raw.body(), &event.layout, raw.endian()).expect("a sample");
                black_box(&view);
            }
            _ => drop(black_box(Record::read(raw.bytes(), &meta.context(raw)))),
        }
        Ok(())
    }
}

/// Decodes every record and encodes it again.
struct Reencode;

impl Sink for Reencode {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        let record = Record::read(raw.bytes(), &meta.context(raw)).expect("a record");
        black_box(record.to_bytes(raw.endian())).expect("writing should succeed");
        Ok(())
    }
}

/// Collects the payloads of compressed records, which form one zstd stream.
struct Payloads(Vec<u8>);

impl Sink for Payloads {
    fn record(&mut self, _: &Meta, raw: &Raw<'_>) -> Result<()> {
        self.0.extend_from_slice(compressed_bytes(raw.bytes(), raw.endian()).unwrap_or_default());
        Ok(())
    }
}

#[divan::bench(sample_count = 10)]
fn cat(bencher: Bencher) {
    bench(bencher, |inputs| {
        let mut file = File::open(inputs.plain()).expect("the file should have been written");
        let mut buffer = vec![0; 1 << 17];
        while file.read(&mut buffer).expect("reading should succeed") > 0 {}
    });
}

#[divan::bench(sample_count = 10)]
fn scan(bencher: Bencher) {
    bench(bencher, |inputs| drop(open(inputs.plain()).run(&mut Scan).expect("a recording")));
}

#[divan::bench(sample_count = 10)]
fn decode(bencher: Bencher) {
    bench(bencher, |inputs| drop(open(inputs.plain()).run(&mut Decode).expect("a recording")));
}

#[divan::bench(sample_count = 10)]
fn decode_in_time_order(bencher: Bencher) {
    bench(bencher, |inputs| {
        let mut sink = Order::new(Decode, ReadOptions::default());
        open(inputs.plain()).run(&mut sink).expect("a recording");
    });
}

/// Same, from a pipe that another thread fills as fast as it can.
#[divan::bench(sample_count = 10)]
fn decode_in_time_order_from_a_pipe(bencher: Bencher) {
    bench(bencher, |inputs| {
        let (reader, mut writer) = io::pipe().expect("a pipe");
        thread::scope(|scope| {
            scope.spawn(move || {
                let mut file = File::open(inputs.pipe()).expect("the file should have been written");
                let mut buffer = vec![0; 1 << 17];
                while let Some(len) = file.read(&mut buffer).ok().filter(|&len| len > 0) {
                    writer.write_all(&buffer[..len]).expect("it should be read to its end");
                }
            });
            let mut sink = Order::new(Decode, ReadOptions::default());
            let path = format!("/dev/fd/{}", reader.as_raw_fd());
            open(path.into()).run(&mut sink).expect("a recording");
        });
    });
}

/// The crate linux-perf-data, for comparison: every record in time order, samples with their frames.
#[divan::bench(sample_count = 5)]
fn linux_perf_data(bencher: Bencher) {
    bench(bencher, |inputs| {
        let file =
            BufReader::with_capacity(1 << 20, File::open(inputs.plain()).expect("the file should have been written"));
        let PerfFileReader { mut perf_file, mut record_iter } = PerfFileReader::parse_file(file).expect("a recording");
        while let Some(record) = record_iter.next_record(&mut perf_file).expect("a record") {
            let PerfFileRecord::EventRecord { record, .. } = record else { continue };
            if let EventRecord::Sample(sample) = record.parse().expect("a record")
                && let Some(frames) = sample.callchain
            {
                black_box((0..frames.len()).filter_map(|index| frames.get(index)).fold(0, u64::wrapping_add));
            }
        }
    });
}

#[divan::bench(sample_count = 10)]
fn copy_verbatim(bencher: Bencher) {
    bench(bencher, |inputs| {
        let out = File::create(inputs.dir.path().join("copy.data")).expect("the file should be creatable");
        open(inputs.plain()).run(&mut Verbatim::new(vec![out])).expect("a recording");
    });
}

#[divan::bench(sample_count = 5)]
fn reencode(bencher: Bencher) {
    bench(bencher, |inputs| drop(open(inputs.plain()).run(&mut Reencode).expect("a recording")));
}

#[divan::bench(sample_count = 5)]
fn compress(bencher: Bencher) {
    bench(bencher, |inputs| {
        let out = File::create(inputs.dir.path().join("copy.data")).expect("the file should be creatable");
        let form = Form { frames: CompressedFrames::Compressed(FrameOptions::default()), ..Form::default() };
        let mut sink = ToFile::new(BufWriter::with_capacity(1 << 17, out), form);
        open(inputs.plain()).run(&mut sink).expect("a recording");
    });
}

/// A copy through the rewrite passes: without any, and with one that reorders all records.
#[divan::bench(args = ["none", "--sort"], sample_count = 5)]
fn rewrite(bencher: Bencher, pass: &str) {
    bench(bencher, |inputs| {
        let read = ReadOptions::default();
        let mut passes = Passes::default();
        if pass == "--sort" {
            passes.push(SortPass::new(Untimed::InPlace, read.clone()));
        }
        let out = File::create(inputs.dir.path().join("copy.data")).expect("the file should be creatable");
        let form = Form { frames: CompressedFrames::Plain, ..Form::default() };
        let mut sink = ToFile::new(BufWriter::with_capacity(1 << 17, out), form);
        passes.run(Input::Path(inputs.plain()), &read, &mut sink).expect("a recording");
    });
}

#[divan::bench(sample_count = 5)]
fn decompress_with_zstd_alone(bencher: Bencher) {
    let mut payloads = Payloads(Vec::new());
    open(inputs().compressed()).run(&mut payloads).expect("a recording");
    bench(bencher, |_| {
        let mut decoder = Decoder::new().expect("zstd should work");
        let (mut input, mut plain) = (InBuffer::around(&payloads.0), vec![0; 256 << 10]);
        while input.pos() < payloads.0.len() {
            decoder.run(&mut input, &mut OutBuffer::around(&mut plain)).expect("a zstd stream");
        }
    });
}

#[divan::bench(sample_count = 5)]
fn scan_compressed(bencher: Bencher) {
    bench(bencher, |inputs| drop(open(inputs.compressed()).run(&mut Scan).expect("a recording")));
}

#[divan::bench(sample_count = 5)]
fn pprof(bencher: Bencher) {
    bench(bencher, |inputs| {
        let (profile, _) = profile(open(inputs.plain()), &ProfileOptions::default()).expect("a recording");
        pprof::write(&profile, &mut io::sink()).expect("writing should succeed");
    });
}

fn to_json_lines(inputs: &Inputs) {
    let mut out = File::create(inputs.json()).expect("the file should be creatable");
    let (read, options) = (ReadOptions::default(), ConvertOptions::default());
    convert_records(
        Input::Path(inputs.plain()),
        &read,
        &options,
        &mut Passes::default(),
        &JsonLines::default(),
        &mut out,
    )
    .expect("a recording");
}

#[divan::bench(sample_count = 5)]
fn quipper(bencher: Bencher) {
    bench(bencher, |inputs| {
        let (read, options) = (ReadOptions::default(), ConvertOptions::default());
        convert_records(
            Input::Path(inputs.plain()),
            &read,
            &options,
            &mut Passes::default(),
            &QuipperProto::default(),
            &mut io::sink(),
        )
        .expect("a recording");
    });
}

#[divan::bench(sample_count = 5)]
fn json_lines(bencher: Bencher) {
    bench(bencher, to_json_lines);
}

#[divan::bench(sample_count = 5)]
fn from_json_lines(bencher: Bencher) {
    to_json_lines(inputs());
    bench(bencher, |inputs| {
        let mut lines = File::open(inputs.json()).expect("the file should have been written");
        drop(json::import(&mut lines, "json", &ImportOptions::default()).expect("a recording"));
    });
}
