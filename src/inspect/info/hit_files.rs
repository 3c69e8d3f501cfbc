//! Files with samples, as `perf buildid-list --with-hits` lists them.

use super::build_ids::{FileId, has_table, listed};
use crate::profile::symbolize::SymbolSources;
use crate::profile::unwind::unwinding::Unwinding;
use perf_data::abi::record::RecordType;
use perf_data::abi::sample::view::SampleView;
use perf_data::container::read::ReadOptions;
use perf_data::error::Result;
use perf_data::session::Session;
use perf_data::session::map::{Map, MapId};
use perf_data::session::space::Space;
use perf_data::stream::Sink;
use perf_data::stream::ledger::Ledger;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use perf_data::stream::source::Source;
use std::collections::BTreeSet;

/// The files that contain instruction pointers of samples, with the build IDs that are known: those of the table first, then
/// the kernel and others as they were mapped.
///
/// # Errors
/// If the recording cannot be read.
pub fn hit_files(source: Source, read: ReadOptions) -> Result<(Vec<FileId>, Ledger)> {
    let mut hits = HitMaps::default();
    let mut sorted = Unwinding::in_time_order(&SymbolSources::default(), &mut hits, read);
    let (meta, ledger) = source.run(&mut sorted)?;
    drop(sorted);
    Ok((files(&meta, &hits), ledger))
}

fn files(meta: &Meta, hits: &HitMaps) -> Vec<FileId> {
    let listed_files = listed(meta);
    let (kernel, others): (Vec<_>, Vec<_>) = hits.maps().partition(|map| map.is_kernel());
    let [kernel, others]: [Vec<FileId>; 2] = [kernel, others].map(|maps| maps.into_iter().map(file).collect());
    let is_hit = |file: &&FileId| kernel.iter().chain(&others).any(|hit| hit.filename == file.filename);
    let hit_and_listed = listed_files.iter().filter(is_hit);
    // perf reads a table before any mapping, but build IDs in records after the kernel's.
    let first = if has_table(meta) { &[] } else { &kernel[..] };
    let mut files: Vec<FileId> = Vec::new();
    for file in first.iter().chain(hit_and_listed).chain(&kernel).chain(&others) {
        if files.iter().all(|other| other.filename != file.filename) {
            files.push(
                listed_files.iter().find(|listed_files| listed_files.filename == file.filename).unwrap_or(file).clone(),
            );
        }
    }
    files
}

fn file(map: &Map) -> FileId {
    FileId::new(map.build_id.as_deref().unwrap_or_default(), &map.printed_file())
}

/// The mappings that contain instruction pointers.
#[derive(Default)]
struct HitMaps {
    session: Session,
    hit: BTreeSet<MapId>,
}

impl HitMaps {
    /// These, in the order in which they were mapped.
    fn maps(&self) -> impl Iterator<Item = &Map> {
        self.hit.iter().map(|id| self.session.map(*id))
    }
}

impl Sink for HitMaps {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        if raw.header().kind != RecordType::SAMPLE {
            self.session.apply(meta, raw);
            return Ok(());
        }
        let Some((_, event)) = meta.events.find(raw) else { return Ok(()) };
        let mut view = SampleView::default();
        if event.fill_sample(&mut view, raw).is_err() {
            return Ok(());
        }
        if let (Some(ip), Some((pid, _))) = (view.ip, view.task) {
            self.hit.extend(self.session.map_at(pid, Space::from(event.cpu_mode(&view, raw)), ip));
        }
        Ok(())
    }
}
