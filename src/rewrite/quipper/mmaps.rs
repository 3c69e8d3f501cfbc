//! Rewrites mappings. Needs a pre-scan, because the change to a mapping depends on later ones.

use crate::rewrite::framework::mmap::{Mmap, Names};
use crate::rewrite::framework::pass::{Pass, PreScan};
use crate::rewrite::framework::replacement::RecordBuffer;
use hashbrown::HashMap;
use perf_data::abi::record::{Body, Misc, Record};
use perf_data::abi::text::PaddedStr;
use perf_data::container::write::encoded;
use perf_data::error::Result;
use perf_data::stream::Sink;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use perf_data::stream::stage::{Before, Stage};

/// A pass that rewrites mappings.
#[derive(Debug)]
pub(super) struct MmapsPass {
    name: &'static str,
    /// Maps all mappings to their replacements.
    rewrite: fn(Vec<Mmap>) -> Vec<Option<Mmap>>,
    scan: MmapScan,
    plan: Option<Plan>,
}

impl MmapsPass {
    /// Creates a pass. `rewrite` returns one element for each mapping, `None` to remove it.
    pub(super) fn new(name: &'static str, rewrite: fn(Vec<Mmap>) -> Vec<Option<Mmap>>) -> Self {
        Self { name, rewrite, scan: MmapScan::default(), plan: None }
    }
}

impl Pass for MmapsPass {
    fn name(&self) -> String {
        self.name.to_owned()
    }

    fn pre_scan(&mut self) -> Option<PreScan<'_>> {
        Some(PreScan::in_file_order(&mut self.scan))
    }

    fn before<'a>(&'a mut self, sink: Box<dyn Sink + 'a>) -> Box<dyn Sink + 'a> {
        let plan = self.plan.get_or_insert_with(|| Plan::new(std::mem::take(&mut self.scan.mmaps), self.rewrite));
        Box::new(Before::new(ChangeMmaps::new(plan), sink))
    }
}

/// The first pass: collects all mappings.
#[derive(Debug, Default)]
pub(super) struct MmapScan {
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

/// Decodes the mapping of a record, if quipper uses it.
pub(super) fn counted(meta: &Meta, raw: &Raw<'_>, names: &mut Names) -> Option<Mmap> {
    let mmap = Mmap::is_mmap(raw.header().kind).then(|| Mmap::read(meta, raw, names));
    mmap.flatten().filter(|mmap| mmap.counts(raw.header().misc))
}

/// The changed mappings, by number in the recording.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// `None` if the mapping was merged into another.
    changes: HashMap<u64, Option<Mmap>>,
}

impl Plan {
    fn new(mmaps: Vec<Mmap>, rewrite: fn(Vec<Mmap>) -> Vec<Option<Mmap>>) -> Self {
        let after = rewrite(mmaps.clone()).into_iter();
        let changes = (0..).zip(after.zip(mmaps)).filter(|(_, (after, before))| after.as_ref() != Some(before));
        Self { changes: changes.map(|(number, (after, _))| (number, after)).collect() }
    }
}

/// Applies a plan to the mapping records.
pub(super) struct ChangeMmaps<'a> {
    plan: &'a Plan,
    /// Number of mappings so far.
    count: u64,
    names: Names,
    changed: RecordBuffer,
}

impl<'a> ChangeMmaps<'a> {
    /// Creates the stage for a plan.
    pub(super) fn new(plan: &'a Plan) -> Self {
        Self { plan, count: 0, names: Names::default(), changed: RecordBuffer::default() }
    }
}

/// Encodes a record with the changed mapping.
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
        self.count += 1;
        match self.plan.changes.get(&(self.count - 1)) {
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
