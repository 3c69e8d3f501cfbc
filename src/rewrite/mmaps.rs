//! Maps told otherwise than they were: the recording is looked at twice, as what becomes of a map depends on later ones.

use super::changed::Changed;
use super::combine::combine;
use super::huge_pages::deduce_huge_pages;
use super::mmap::{Mmap, Names};
use crate::abi::record::{Body, Misc, Record, RecordType};
use crate::abi::text::PaddedStr;
use crate::container::write::encoded;
use crate::error::Result;
use crate::stream::Sink;
use crate::stream::meta::Meta;
use crate::stream::raw::{Gap, Raw};
use hashbrown::HashMap;
use std::collections::BTreeMap;

/// The first look: all maps.
#[derive(Debug, Default)]
pub struct LookAtMmaps {
    mmaps: Vec<Mmap>,
    kinds: Vec<RecordType>,
    names: Names,
}

impl Sink for LookAtMmaps {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        if let Some(mmap) = counted(meta, raw, &mut self.names) {
            self.mmaps.push(mmap);
            self.kinds.push(raw.header.kind);
        }
        Ok(())
    }
}

/// The map that a record tells, if it tells one that counts.
pub fn counted(meta: &Meta, raw: &Raw<'_>, names: &mut Names) -> Option<Mmap> {
    let mmap = Mmap::is_told_by(raw.header.kind).then(|| Mmap::read(meta, raw, names));
    mmap.flatten().filter(|mmap| mmap.counts(raw.header.misc))
}

/// What becomes of maps, by their number in the recording; of most nothing.
#[derive(Debug, Default)]
pub struct Plan {
    /// `None` where another one is told to reach as far.
    changes: HashMap<u64, Option<Mmap>>,
    /// How many records of each type are left out.
    pub left_out: BTreeMap<RecordType, u64>,
}

impl LookAtMmaps {
    /// What the passes that are asked for make of the maps.
    pub fn plan(mut self, huge_pages: bool, is_combined: bool) -> Plan {
        let before = self.mmaps.clone();
        if huge_pages {
            deduce_huge_pages(&mut self.mmaps);
        }
        let after = if is_combined { combine(self.mmaps) } else { self.mmaps.into_iter().map(Some).collect() };
        let mut plan = Plan::default();
        for (number, ((after, before), kind)) in (0..).zip(after.into_iter().zip(before).zip(self.kinds)) {
            if after.is_none() {
                *plan.left_out.entry(kind).or_default() += 1;
            }
            if after.as_ref() != Some(&before) {
                plan.changes.insert(number, after);
            }
        }
        plan
    }
}

/// Passes records on with their maps as planned.
pub struct ChangeMmaps<'a, S> {
    sink: S,
    plan: &'a Plan,
    /// How many maps there were.
    at: u64,
    names: Names,
    changed: Changed,
}

impl<'a, S: Sink> ChangeMmaps<'a, S> {
    /// Puts a plan before a sink.
    pub fn new(sink: S, plan: &'a Plan) -> Self {
        Self { sink, plan, at: 0, names: Names::default(), changed: Changed::default() }
    }
}

/// The record that tells a map otherwise.
fn retold(meta: &Meta, raw: &Raw<'_>, mmap: &Mmap) -> Result<Option<Vec<u8>>> {
    let Some(mut record) = Record::read(raw.bytes(), &meta.context(raw)) else { return Ok(None) };
    let (len, pgoff, filename) = match &mut record.body {
        Body::Mmap(body) => (&mut body.len, &mut body.pgoff, &mut body.filename),
        Body::Mmap2(body) => {
            body.file = mmap.file.unwrap_or(body.file);
            record.header.misc.set(Misc::MMAP_BUILD_ID, body.file.build_id().is_some());
            (&mut body.len, &mut body.pgoff, &mut body.filename)
        }
        _ => return Ok(None),
    };
    (*len, *pgoff) = (mmap.len, mmap.pgoff);
    if filename.text() != &*mmap.filename {
        *filename = PaddedStr::new(&mmap.filename, 8);
    }
    encoded(record.to_bytes(raw.endian)).map(Some)
}

impl<S: Sink> Sink for ChangeMmaps<'_, S> {
    fn begin(&mut self, meta: &Meta) -> Result<()> {
        self.sink.begin(meta)
    }

    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        if self.plan.changes.is_empty() || counted(meta, raw, &mut self.names).is_none() {
            return self.sink.record(meta, raw);
        }
        self.at += 1;
        match self.plan.changes.get(&(self.at - 1)) {
            None => self.sink.record(meta, raw),
            Some(None) => Ok(()),
            Some(Some(mmap)) => match retold(meta, raw, mmap)? {
                None => self.sink.record(meta, raw),
                Some(record) => {
                    self.changed.record = record;
                    self.changed.pass(&mut self.sink, meta, raw)
                }
            },
        }
    }

    fn gap(&mut self, meta: &Meta, gap: &Gap<'_>) -> Result<()> {
        self.sink.gap(meta, gap)
    }

    fn end(&mut self, meta: &Meta) -> Result<()> {
        self.sink.end(meta)
    }
}
