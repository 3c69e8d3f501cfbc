//! Looking into a recording: what its header tells, its events and build ids, and how much of what is in it.
//!
//! Words and layout are those of `perf report --header-only -I`, `perf evlist` and `perf buildid-list`. Texts are as the
//! recording has them: who shows them on a terminal spells out control characters.

mod bpf;
pub mod build_ids;
pub mod counters;
mod cpus;
mod date;
pub mod events;
pub mod header;
pub mod imported;
mod machine;
pub mod stats;
pub mod summary;
mod topology;

use crate::abi::feature::FeatureId;
use crate::container::read::Container;
use crate::error::{Error, Result};
use crate::stream::Sink;
use crate::stream::ledger::Ledger;
use crate::stream::meta::Meta;
use crate::stream::raw::Raw;
use crate::stream::source::Source;
use build_ids::{FileId, Mapped};
use stats::{Counter, Stats};

/// What is to be told of a recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// Header and features.
    pub header: bool,
    /// How the events were opened, and their groups.
    pub events: bool,
    /// Build ids of files.
    pub build_ids: bool,
    /// How much of what is in it.
    pub stats: bool,
}

/// What is told of a recording.
pub struct Info {
    /// What was asked for.
    pub parts: Parts,
    /// What is known about the recording.
    pub meta: Meta,
    /// What was noticed on the way through the records, where these were looked at.
    pub ledger: Ledger,
    /// Build ids of files: those of the table, or of records, and without a table those that mapped files have.
    pub build_ids: Vec<FileId>,
    /// How much of what is in it.
    pub stats: Option<Stats>,
    /// Why the records could not be looked at. What the header tells is there nonetheless.
    pub failure: Option<Error>,
}

/// Looks into a recording. The records are looked at where what was asked for needs it: of a file's header all is known
/// without.
///
/// # Errors
/// Where the header cannot be read.
pub fn read_info(source: Source, parts: Parts) -> Result<Info> {
    let meta = source.meta().clone();
    let build_ids = build_ids::listed(&meta);
    let mut info = Info { parts, meta, ledger: Ledger::default(), build_ids, stats: None, failure: None };
    let needs_mapped = parts.build_ids && !info.meta.features.contains_key(&FeatureId::BUILD_ID);
    let is_pipe = info.meta.container == Container::Pipe;
    if !parts.stats && !needs_mapped && !is_pipe {
        return Ok(info);
    }
    let mut walk = Walk { counter: parts.stats.then(Counter::default), mapped: needs_mapped.then(Mapped::default) };
    match source.run(&mut walk) {
        Ok((meta, ledger)) => (info.meta, info.ledger) = (meta, ledger),
        Err(error) => info.failure = Some(error),
    }
    info.build_ids = build_ids::listed(&info.meta);
    if let Some(mapped) = walk.mapped {
        info.build_ids = mapped.behind(info.build_ids);
    }
    info.stats = walk.counter.map(|counter| counter.stats(&info.meta)).filter(|_| info.failure.is_none());
    Ok(info)
}

impl Info {
    /// What was asked for, line by line.
    pub fn lines(&self) -> Vec<String> {
        let mut parts = Vec::new();
        if self.parts.header {
            parts.push(header::lines(&self.meta));
        }
        if self.parts.events {
            parts.push(events::lines(&self.meta));
            let groups = events::groups(&self.meta);
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

/// Looks at what is asked for.
struct Walk {
    counter: Option<Counter>,
    mapped: Option<Mapped>,
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
