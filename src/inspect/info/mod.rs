//! Information on a recording: header, events, build IDs and statistics.
//!
//! Wording and layout are those of `perf report --header-only -I`, `perf evlist` and `perf buildid-list`. Texts are those of the
//! recording; callers escape control characters for terminals.

mod bpf;
pub mod build_ids;
pub mod counters;
mod date;
pub mod events;
pub mod header;
pub mod hit_files;
pub mod imported_profile;
mod machine;
mod number_ranges;
pub mod stats;
pub mod summary;
mod topology;
pub mod trace_buffers;

use build_ids::{FileId, MappedBuildIds};
use perf_data::abi::feature::FeatureId;
use perf_data::container::read::Container;
use perf_data::error::{Error, Result};
use perf_data::stream::Sink;
use perf_data::stream::ledger::Ledger;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use perf_data::stream::source::Source;
use stats::{Counter, Stats};

/// The parts of the information to produce.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// Header and features.
    pub header: bool,
    /// Attributes and groups of the events.
    pub events: bool,
    /// Build IDs of files.
    pub build_ids: bool,
    /// Statistics of the records.
    pub stats: bool,
}

impl Parts {
    /// All parts.
    pub const ALL: Self = Self { header: true, events: true, build_ids: true, stats: true };
}

/// Information on a recording.
pub struct Info {
    /// The requested parts.
    pub parts: Parts,
    /// Header, events and features of the recording.
    pub meta: Meta,
    /// Ledger of the records, if they were read.
    pub ledger: Ledger,
    /// Build IDs from the table or from records; without a table also those of mapped files.
    pub build_ids: Vec<FileId>,
    /// Statistics of the records.
    pub stats: Option<Stats>,
    /// Why the records could not be read. The information from the header is available all the same.
    pub failure: Option<Error>,
}

/// Reads the information on a recording. The records are read only if the parts need them; everything about a file's header is
/// known without.
///
/// # Errors
/// If the header cannot be read.
pub fn read_info(source: Source, parts: Parts) -> Result<Info> {
    let meta = source.meta().clone();
    let build_ids = build_ids::listed(&meta);
    let mut info = Info { parts, meta, ledger: Ledger::default(), build_ids, stats: None, failure: None };
    let needs_mapped = parts.build_ids && !info.meta.features.contains_key(&FeatureId::BUILD_ID);
    let is_pipe = info.meta.container == Container::Pipe;
    if !parts.stats && !needs_mapped && !is_pipe {
        return Ok(info);
    }
    let mut walk =
        Walk { counter: parts.stats.then(Counter::default), mapped: needs_mapped.then(MappedBuildIds::default) };
    match source.run(&mut walk) {
        Ok((meta, ledger)) => (info.meta, info.ledger) = (meta, ledger),
        Err(error) => info.failure = Some(error),
    }
    info.build_ids = build_ids::listed(&info.meta);
    if let Some(mapped) = walk.mapped {
        info.build_ids = mapped.append_to(info.build_ids);
    }
    info.stats = walk.counter.map(|counter| counter.stats(&info.meta)).filter(|_| info.failure.is_none());
    Ok(info)
}

impl Info {
    /// The requested parts, line by line.
    pub fn lines(&self) -> Vec<String> {
        let mut parts = Vec::new();
        if self.parts.header {
            parts.push(header::lines(&self.meta));
        }
        if self.parts.events {
            parts.push(events::lines(&self.meta, events::EventNames::Recorded));
            let groups = events::groups(&self.meta, events::EventNames::Recorded);
            if groups.len() < self.meta.events.list().len() {
                parts.push(groups);
            }
        }
        if self.parts.build_ids {
            parts.push(self.build_ids.iter().map(FileId::to_string).collect());
        }
        parts.extend(self.stats.iter().map(Stats::lines));
        parts.join(&String::new())
    }
}

/// Passes records to the collectors that are needed.
struct Walk {
    counter: Option<Counter>,
    mapped: Option<MappedBuildIds>,
}

impl Sink for Walk {
    #[inline]
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        if let Some(counter) = &mut self.counter {
            counter.record(meta, raw)?;
        }
        match &mut self.mapped {
            Some(mapped) => mapped.record(meta, raw),
            None => Ok(()),
        }
    }
}
