//! Writer samples in time order, with the state of their threads.

use super::EXACT;
use super::headers::headers;
use super::objects::Objects;
use super::text::{field, key, number, write_value};
use crate::abi;
use crate::abi::attr::AttrType;
use crate::abi::bytes::Words;
use crate::abi::feature::FeatureId;
use crate::abi::record::{CpuMode, RecordType};
use crate::abi::sample::{Sample, SampleArgs};
use crate::abi::sample_type::SampleType;
use crate::abi::sample_view::SampleView;
use crate::abi::tokens::Unsupported;
use crate::error::{Error, Result};
use crate::formats::converter::{ConvertOptions, Converter};
use crate::formats::json::{append, append_hex};
use crate::formats::named_frames::{NamedFrames, TextFrame};
use crate::profile::deferred::{UserFrames, Waiting};
use crate::profile::dispatch::{DecodedSample, SampleConsumer, dispatch};
use crate::profile::event::ProfileEvent;
use crate::profile::frames::walk_chain;
use crate::profile::symbols::Symbols;
use crate::profile::weights::Weights;
use crate::session::Session;
use crate::session::space::Space;
use crate::stream::Sink;
use crate::stream::events::{Event, EventIndex};
use crate::stream::ledger::Ledger;
use crate::stream::meta::Meta;
use crate::stream::raw::Raw;
use crate::tracepoint::tracepoints::Tracepoints;
use std::io::{self, Write};

type Written = std::result::Result<(), Unsupported>;

/// Writer samples as JSON.
pub struct Export<W> {
    out: W,
    is_exact: bool,
    with_time: bool,
    /// The text, if functions of frames are looked up.
    named: Option<NamedFrames>,
    session: Session,
    ledger: Ledger,
    /// Read at the first sample of a tracepoint.
    tracepoints: Option<Tracepoints>,
    /// Files of frames; created at the first sample, when build IDs are known.
    objects: Option<Objects>,
    /// Event names as JSON.
    events: Vec<Vec<u8>>,
    weights: Weights,
    waiting: Waiting<Incomplete>,
    samples: u64,
    /// Scratch buffers: JSON of the current sample, a value in it, and the events that it counts for.
    line: Vec<u8>,
    text: String,
    found: Vec<(EventIndex, u64)>,
}

/// A sample that waits for its user frames.
struct Incomplete {
    /// JSON up to the frames that it has.
    before: Vec<u8>,
    /// JSON after its frames.
    behind: Vec<u8>,
    /// The process.
    pid: u32,
}

impl<W: Write> Export<W> {
    /// Creates the sink. The time when the file was written is omitted from anonymized recordings.
    pub fn new(out: W, options: &ConvertOptions) -> Self {
        Self {
            out,
            is_exact: options.values.is_given(&EXACT),
            with_time: !options.passes.anonymize,
            named: NamedFrames::new(&options.symbols).filter(|_| !options.values.is_given(&EXACT)),
            session: Session::default(),
            ledger: Ledger::default(),
            tracepoints: None,
            objects: None,
            events: Vec::new(),
            weights: Weights::default(),
            waiting: Waiting::default(),
            samples: 0,
            line: Vec::new(),
            text: String::new(),
            found: Vec::new(),
        }
    }

    /// Writer everything before the first sample.
    fn write_headers(&mut self, meta: &Meta) -> Result<()> {
        let mut out = b"{\"linux-perf-json-version\":1,\n\"headers\":{".to_vec();
        headers(&mut out, meta, self.with_time).map_err(failed)?;
        out.extend_from_slice(b"},\n\"samples\":[");
        self.write(meta, &out)
    }

    fn write(&mut self, meta: &Meta, text: &[u8]) -> Result<()> {
        match &mut self.named {
            Some(named) => named.add(text, (meta, &self.session), &mut self.out, named_frame),
            None => self.out.write_all(text).map_err(Error::Output),
        }
    }

    /// Writer the current sample.
    fn write_line(&mut self, meta: &Meta) -> Result<()> {
        if self.samples == 0 {
            self.write_headers(meta)?;
        }
        let separator = if self.samples == 0 { "\n" } else { ",\n" };
        self.samples += 1;
        self.write(meta, separator.as_bytes())?;
        let line = std::mem::take(&mut self.line);
        let written = self.write(meta, &line);
        self.line = line;
        written
    }

    /// Writer time, IDs and comm. As in perf, unknown values are -1.
    fn thread_fields(&mut self, meta: &Meta, view: &SampleView<'_>) -> Written {
        let has_cpu = |event: &Event| event.attr.sample_type.contains(SampleType::CPU);
        let out = &mut self.line;
        let (pid, tid) = view.task.unwrap_or((u32::MAX, u32::MAX));
        number(out, "timestamp", view.time.unwrap_or(u64::MAX) as i64);
        number(out, "pid", (pid as i32).into());
        number(out, "tid", (tid as i32).into());
        // If one event records it, perf writes it for all.
        let cpu = view.cpu.map(|(cpu, _)| cpu).or_else(|| meta.events.list().iter().any(has_cpu).then_some(u32::MAX));
        if let Some(cpu) = cpu {
            number(out, "cpu", (cpu as i32).into());
        }
        let comm = self.session.thread(tid).and_then(|thread| thread.comm);
        match comm {
            Some(comm) => field(out, "comm", &String::from_utf8_lossy(self.session.names.name(comm))),
            None if tid == 0 => field(out, "comm", &"swapper"),
            None => field(out, "comm", &format_args!(":{}", tid as i32)),
        }
    }

    /// Writer the call chain without context markers, or else the instruction pointer, up to where further frames can
    /// follow. Returns the cookie of deferred user frames, if any.
    fn stack(&mut self, raw: &Raw<'_>, view: &SampleView<'_>) -> Option<u64> {
        let pid = view.task.map_or(u32::MAX, |(pid, _)| pid);
        let space = raw.header().misc.cpu_mode().into();
        key(&mut self.line, "callchain");
        self.line.push(b'[');
        match view.callchain {
            Some(chain) => self.chain(pid, space, view.ip, chain, raw.call_chain().is_some()),
            None => {
                let ip = view.ip.unwrap_or(0);
                self.frame(pid, space, ip, ip);
                None
            }
        }
    }

    /// As in perf, callers in unwound chains have the address of their call.
    fn chain(&mut self, pid: u32, space: Space, ip: Option<u64>, chain: Words<'_>, is_unwound: bool) -> Option<u64> {
        let ip = ip.filter(|_| !self.is_exact);
        walk_chain(ip, chain, space, |ip, at, space| {
            let ip = if is_unwound && space == Space::User { at } else { ip };
            self.frame(pid, space, ip, at);
        })
    }

    /// Writer a frame by its recorded address and the address to symbolize.
    fn frame(&mut self, pid: u32, space: Space, ip: u64, at: u64) {
        let Self { line, named, objects, session, .. } = self;
        if line.last() != Some(&b'[') {
            line.push(b',');
        }
        let mut start = b"{\"ip\":\"".to_vec();
        append_hex(&mut start, ip);
        start.push(b'"');
        let map = if self.is_exact { None } else { session.map_at(pid, space, ip) };
        match (named, map) {
            (Some(named), Some(map)) => named.begin_frame(line, &start, map, session.map(map), at),
            _ => line.extend_from_slice(&start),
        }
        if let Some((map, objects)) = map.zip(objects.as_mut()) {
            line.extend_from_slice(objects.of(map, session));
        }
        line.push(b'}');
        if self.named.is_some() && map.is_some() {
            NamedFrames::end_frame(line);
        }
    }

    /// Writer the fields that perf omits, for the event that the sample counts for.
    fn extra_fields(
        &mut self,
        meta: &Meta,
        raw: &Raw<'_>,
        event: &Event,
        (of, period): (EventIndex, Option<u64>),
    ) -> Written {
        let known = self.events.len();
        for event in meta.events.list().iter().skip(known) {
            let mut name = Vec::new();
            append(&mut name, &ProfileEvent::from(event).name)?;
            self.events.push(name);
        }
        let out = &mut self.line;
        key(out, "event");
        out.extend_from_slice(&self.events[of as usize]);
        let mode = raw.header().misc.cpu_mode();
        if mode != CpuMode::UNKNOWN {
            field(out, "cpumode", &mode)?;
        }
        if let Some(period) = period {
            field(out, "period", &period)?;
        }
        let has = |fields| event.layout.sample_type().intersects(fields);
        let extra = SampleType::ADDR | SampleType::WEIGHT | SampleType::WEIGHT_STRUCT | SampleType::DATA_SRC;
        if !has(extra | SampleType::BRANCH_STACK) {
            return Ok(());
        }
        let args = SampleArgs::new(raw.body(), &event.layout, raw.endian());
        let Ok((sample, _)) = abi::parse::<Sample>(raw.body(), raw.endian(), args) else { return Ok(()) };
        if let Some(addr) = sample.addr {
            field(out, "addr", &format_args!("{addr:#x}"))?;
        }
        if let Some(weight) = &sample.weight {
            field(out, "weight", weight)?;
        }
        if let Some(data_src) = &sample.data_src {
            field(out, "data_src", data_src)?;
        }
        if let Some(stack) = &sample.branch_stack {
            field(out, "branch_stack", stack)?;
        }
        Ok(())
    }

    /// Writer the fields of the tracepoint.
    fn tracepoint(&mut self, meta: &Meta, event: &Event, view: &SampleView<'_>) -> Written {
        let tracepoints = self.tracepoints.get_or_insert_with(|| {
            let data = meta.features.get(&FeatureId::TRACING_DATA);
            data.map(|data| Tracepoints::read(data)).unwrap_or_default()
        });
        let (Some(tracepoint), Some(payload)) = (tracepoints.get(event.attr.config), view.raw) else { return Ok(()) };
        const SAMPLE_FIELDS: [&str; 13] = [
            "timestamp",
            "pid",
            "tid",
            "cpu",
            "comm",
            "callchain",
            "event",
            "cpumode",
            "period",
            "addr",
            "weight",
            "data_src",
            "branch_stack",
        ];
        for (found, value) in tracepoint.values(payload) {
            write_value(&mut self.text, &value);
            if !self.is_exact && SAMPLE_FIELDS.contains(&&*found.name) {
                field(&mut self.line, &format!("_{}", found.name), &self.text)?;
            } else {
                field(&mut self.line, &found.name, &self.text)?;
            }
        }
        Ok(())
    }
}

/// Writer a frame for each function at its address, innermost first.
fn named_frame(out: &mut Vec<u8>, frame: TextFrame<'_>, symbols: &Symbols) {
    let lines = symbols.lines(frame.id);
    if lines.is_empty() {
        out.extend_from_slice(frame.before);
        out.extend_from_slice(frame.after);
    }
    for (index, line) in lines.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        out.extend_from_slice(frame.before);
        if let Some(function) = symbols.function(line.function) {
            for (key, name) in [("symbol", function.name), ("file", function.file)] {
                let name = symbols.name(name);
                if !name.is_empty() {
                    // Serializing strings cannot fail.
                    let _ = field(out, key, &String::from_utf8_lossy(name));
                }
            }
        }
        if line.line > 0 {
            number(out, "line", line.line);
        }
        if index + 1 < lines.len() {
            let _ = field(out, "inlined", &true);
        }
        out.extend_from_slice(frame.after);
    }
}

fn failed(error: Unsupported) -> Error {
    Error::Output(io::Error::other(error))
}

impl<W: Write> Converter for Export<W> {
    fn account(&self, ledger: &mut Ledger) {
        ledger.account_for_stream();
        ledger.merge(self.ledger.clone());
    }
}

impl<W: Write> SampleConsumer for Export<W> {
    fn state(&mut self) -> (&mut Session, &mut Ledger) {
        (&mut self.session, &mut self.ledger)
    }

    fn sample(&mut self, sample: DecodedSample<'_>) -> Result<()> {
        let DecodedSample { meta, raw, index, event, view } = sample;
        self.objects.get_or_insert_with(|| Objects::new(meta));
        // As in perf, counter values count as a sample of each event whose counter increased.
        self.found.clear();
        self.weights.of(view, index, &meta.events, &mut self.found);
        if self.found.is_empty() {
            self.ledger.not_applicable(RecordType::SAMPLE, 1);
            return Ok(());
        }
        for (of, added) in std::mem::take(&mut self.found) {
            self.line.clear();
            self.line.push(b'{');
            self.thread_fields(meta, view).map_err(failed)?;
            let cookie = self.stack(raw, view);
            let start = self.line.len();
            self.line.push(b']');
            if !self.is_exact {
                self.extra_fields(meta, raw, event, (of, view.period.map(|_| added))).map_err(failed)?;
            }
            if event.attr.kind == AttrType::TRACEPOINT {
                self.tracepoint(meta, event, view).map_err(failed)?;
            }
            self.line.push(b'}');
            match (cookie, view.task) {
                (Some(cookie), Some((pid, tid))) => {
                    let behind = self.line.split_off(start);
                    let before = std::mem::take(&mut self.line);
                    self.waiting.add(tid, cookie, Incomplete { before, behind, pid });
                }
                _ => self.write_line(meta)?,
            }
        }
        self.ledger.emitted(RecordType::SAMPLE, 1);
        Ok(())
    }

    fn user_frames(&mut self, meta: &Meta, frames: UserFrames<'_>) -> Result<()> {
        let UserFrames { cookie, tid, chain, .. } = frames;
        for sample in self.waiting.take(tid, cookie) {
            self.line = sample.before;
            self.chain(sample.pid, Space::User, None, chain, false);
            self.line.extend_from_slice(&sample.behind);
            self.write_line(meta)?;
        }
        Ok(())
    }
}

impl<W: Write> Sink for Export<W> {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        dispatch(self, meta, raw)
    }

    fn end(&mut self, meta: &Meta) -> Result<()> {
        // Samples whose user frames never came.
        for sample in self.waiting.take_all() {
            self.line = [sample.before, sample.behind].concat();
            self.write_line(meta)?;
        }
        if self.samples == 0 {
            self.write_headers(meta)?;
        }
        self.write(meta, b"\n]}\n")?;
        if let Some(named) = &mut self.named {
            named.write((meta, &self.session), &mut self.out, named_frame)?;
        }
        self.out.flush().map_err(Error::Output)
    }
}
