//! Maps told otherwise than they were: the recording is looked at twice, as what becomes of a map depends on later ones.

use crate::abi::record::{Body, Misc, Record};
use crate::abi::text::PaddedStr;
use crate::container::write::encoded;
use crate::error::Result;
use crate::rewrite::mmap::{Mmap, Names};
use crate::rewrite::pass::{Pass, PreScan};
use crate::rewrite::replacement::RecordBuffer;
use crate::stream::Sink;
use crate::stream::meta::Meta;
use crate::stream::raw::Raw;
use crate::stream::stage::{Before, Stage};
use hashbrown::HashMap;

/// A pass that tells maps otherwise.
#[derive(Debug)]
pub struct MmapsPass {
    name: &'static str,
    /// What becomes of all maps.
    retell: fn(Vec<Mmap>) -> Vec<Option<Mmap>>,
    look: MmapScan,
    plan: Option<Plan>,
}

impl MmapsPass {
    /// A pass of that name, by what becomes of all maps, as many as there were; of one that goes nothing.
    pub fn new(name: &'static str, retell: fn(Vec<Mmap>) -> Vec<Option<Mmap>>) -> Self {
        Self { name, retell, look: MmapScan::default(), plan: None }
    }
}

impl Pass for MmapsPass {
    fn name(&self) -> String {
        self.name.to_owned()
    }

    fn pre_scan(&mut self) -> Option<PreScan<'_>> {
        Some(PreScan::in_file_order(&mut self.look))
    }

    fn before<'a>(&'a mut self, sink: Box<dyn Sink + 'a>) -> Box<dyn Sink + 'a> {
        let plan = self.plan.get_or_insert_with(|| Plan::new(std::mem::take(&mut self.look.mmaps), self.retell));
        Box::new(Before::new(ChangeMmaps::new(plan), sink))
    }
}

/// The first look: all maps.
#[derive(Debug, Default)]
pub struct MmapScan {
    mmaps: Vec<Mmap>,
    names: Names,
}

impl Sink for MmapScan {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        if let Some(mmap) = counted(meta, raw, &mut self.names) {
            self.mmaps.push(mmap);
        }
        Ok(())
    }
}

/// The map that a record tells, if it tells one that counts.
pub fn counted(meta: &Meta, raw: &Raw<'_>, names: &mut Names) -> Option<Mmap> {
    let mmap = Mmap::is_mmap(raw.header().kind).then(|| Mmap::read(meta, raw, names));
    mmap.flatten().filter(|mmap| mmap.counts(raw.header().misc))
}

/// What becomes of maps, by their number in the recording; of most nothing.
#[derive(Debug, Default)]
pub struct Plan {
    /// `None` where another one is told to reach as far.
    changes: HashMap<u64, Option<Mmap>>,
}

impl Plan {
    fn new(mmaps: Vec<Mmap>, retell: fn(Vec<Mmap>) -> Vec<Option<Mmap>>) -> Self {
        let after = retell(mmaps.clone()).into_iter();
        let changes = (0..).zip(after.zip(mmaps)).filter(|(_, (after, before))| after.as_ref() != Some(before));
        Self { changes: changes.map(|(number, (after, _))| (number, after)).collect() }
    }
}

/// Passes records on with their maps as planned.
pub struct ChangeMmaps<'a> {
    plan: &'a Plan,
    /// How many maps there were.
    at: u64,
    names: Names,
    changed: RecordBuffer,
}

impl<'a> ChangeMmaps<'a> {
    /// By a plan.
    pub fn new(plan: &'a Plan) -> Self {
        Self { plan, at: 0, names: Names::default(), changed: RecordBuffer::default() }
    }
}

/// The record that tells a map otherwise.
fn rewritten(meta: &Meta, raw: &Raw<'_>, mmap: &Mmap) -> Result<Option<Vec<u8>>> {
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
    encoded(record.to_bytes(raw.endian())).map(Some)
}

impl<S: Sink + ?Sized> Stage<S> for ChangeMmaps<'_> {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>, sink: &mut S) -> Result<()> {
        if self.plan.changes.is_empty() || counted(meta, raw, &mut self.names).is_none() {
            return sink.record(meta, raw);
        }
        self.at += 1;
        match self.plan.changes.get(&(self.at - 1)) {
            None => sink.record(meta, raw),
            Some(None) => Ok(()),
            Some(Some(mmap)) => match rewritten(meta, raw, mmap)? {
                None => sink.record(meta, raw),
                Some(record) => {
                    self.changed.record = record;
                    self.changed.pass(sink, meta, raw)
                }
            },
        }
    }
}
