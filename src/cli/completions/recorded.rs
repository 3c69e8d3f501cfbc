//! What the beginning of a recording contains, for completions.

use super::input;
use super::shell_word::is_value;
use perf_data::abi::bytes::Integer;
use perf_data::abi::feature::FeatureId;
use perf_data::abi::record::body::Body;
use perf_data::abi::record::{Record, RecordType};
use perf_data::container::read::ReadOptions;
use perf_data::container::read::input::Input;
use perf_data::error::{Error, Result};
use perf_data::stream::Sink;
use perf_data::stream::event_name::event_name;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use perf_data::stream::source::Source;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::time::{Duration, Instant};

/// How long a recording is read: users wait for completions.
const TIME: Duration = Duration::from_millis(250);

/// Names and numbers in a recording.
#[derive(Debug)]
pub(super) struct Recorded {
    /// Names of events.
    pub events: BTreeSet<String>,
    /// IDs of features.
    pub features: BTreeSet<FeatureId>,
    /// Names of threads.
    pub comms: BTreeSet<String>,
    /// Processes with a name.
    pub processes: BTreeMap<u32, String>,
    /// Threads with a name.
    pub threads: BTreeMap<u32, String>,
    /// Mapped files.
    pub objects: BTreeSet<String>,
    /// Number of CPUs.
    pub cpus: u32,
    until: Instant,
}

impl Recorded {
    /// Reads the recording on the command line for a quarter of a second; `None` if it cannot be opened.
    pub(super) fn at_hand() -> Option<Self> {
        let source = Source::open(Input::Path(input::recording()), ReadOptions::default()).ok()?;
        let mut recorded = Self {
            events: BTreeSet::new(),
            features: BTreeSet::new(),
            comms: BTreeSet::new(),
            processes: BTreeMap::new(),
            threads: BTreeMap::new(),
            objects: BTreeSet::new(),
            cpus: 0,
            until: Instant::now() + TIME,
        };
        recorded.note(source.meta());
        // Ends early, by the error below, or with an incomplete recording.
        let _ = source.run(&mut recorded);
        Some(recorded)
    }

    /// Adds the events and features known by now: in a pipe they are records.
    fn note(&mut self, meta: &Meta) {
        if self.events.len() < meta.events.list().len() {
            self.events.extend(meta.events.list().iter().map(event_name).filter(|name| is_value(name)));
        }
        if self.features.len() < meta.features.len() {
            self.features.extend(meta.features.keys());
            let cpus = meta.features.get(&FeatureId::NRCPUS).and_then(|bytes| bytes.get(..4)?.try_into().ok());
            self.cpus = cpus.map_or(0, |bytes| u32::from_bytes(bytes, meta.endian));
        }
    }

    fn object(&mut self, path: &[u8]) {
        self.objects.extend(text(path));
    }
}

impl Sink for Recorded {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        self.note(meta);
        let kind = raw.header().kind;
        if ![RecordType::COMM, RecordType::MMAP, RecordType::MMAP2].contains(&kind) {
            let is_over = Instant::now() >= self.until;
            return if is_over { Err(Error::Output(io::ErrorKind::TimedOut.into())) } else { Ok(()) };
        }
        let Some(record) = Record::read(raw.bytes(), &meta.context(raw)) else { return Ok(()) };
        match record.body {
            Body::Comm(comm) => {
                let Some(name) = text(comm.comm.text()) else { return Ok(()) };
                self.comms.insert(name.clone());
                self.threads.insert(comm.tid, name.clone());
                if comm.pid == comm.tid {
                    self.processes.insert(comm.pid, name);
                }
            }
            Body::Mmap(map) => self.object(map.filename.text()),
            Body::Mmap2(map) => self.object(map.filename.text()),
            _ => {}
        }
        Ok(())
    }
}

/// A name that can be typed. With bytes that are not UTF-8, it would be taken for another name.
fn text(bytes: &[u8]) -> Option<String> {
    str::from_utf8(bytes).ok().filter(|name| is_value(name)).map(str::to_owned)
}
