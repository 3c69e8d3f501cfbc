//! Stores build IDs in mapping records: `--mmap2-buildids`, `--mmap2-buildid-all`.

use super::find::FindOptions;
use super::objects::{ObjectScan, PROT_EXEC, Scope, mapped};
use super::resolve::BuildIdLookups;
use crate::rewrite::framework::mmap::{Mmap, Names};
use crate::rewrite::framework::pass::{Pass, PreScan};
#[cfg(feature = "cli")]
use crate::rewrite::framework::pass_options::RequestedPass;
use crate::rewrite::framework::pass_options::{PassContext, PassOptions};
#[cfg(feature = "cli")]
use crate::rewrite::framework::pass_type::PassType;
use crate::rewrite::framework::record_function::RecordFunction;
use crate::rewrite::framework::replacement::RecordBuffer;
#[cfg(feature = "cli")]
use clap::{ArgMatches, FromArgMatches};
use perf_data::abi::record::mmap2::Mmap2;
use perf_data::abi::record::{Body, Misc, Record, RecordType};
use perf_data::container::write::encoded;
use perf_data::error::Result;
use perf_data::stream::Sink;
use perf_data::stream::ledger::Ledger;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use perf_symbols::object::build_id::Id;
#[cfg(feature = "cli")]
use std::sync::Arc;

/// Stores build IDs in MMAP2 records, replacing inodes.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct BuildIdMaps {
    /// Of which files.
    pub scope: Scope,
    /// Where they are searched.
    pub find: FindOptions,
}

impl PassOptions for BuildIdMaps {
    fn pass(&self, _: &PassContext) -> Box<dyn Pass> {
        Box::new(BuildIdMapsPass::new(self.scope, self.find.clone()))
    }
}

#[cfg(feature = "cli")]
impl BuildIdMaps {
    /// `--mmap2-buildids`.
    pub const HIT: PassType = PassType::flag::<FindOptions>(
        "mmap2-buildids",
        "Store build IDs of files with samples in their MMAP2 records, replacing inodes",
        |matches| Self::requested(Scope::Hit, matches),
    )
    .short('B');

    /// `--mmap2-buildid-all`.
    pub const ALL: PassType = PassType::flag::<FindOptions>(
        "mmap2-buildid-all",
        "Store build IDs of all mapped files in their MMAP2 records, replacing inodes",
        |matches| Self::requested(Scope::All, matches),
    );

    fn requested(scope: Scope, matches: &ArgMatches) -> std::result::Result<Vec<RequestedPass>, clap::Error> {
        Ok(vec![Arc::new(Self { scope, find: FindOptions::from_arg_matches(matches)? })])
    }
}

/// The pass that stores build IDs in mapping records, in place of the inode, as `perf record --buildid-mmap` does. Mappings of
/// files without a known build ID are unchanged.
pub struct BuildIdMapsPass {
    options: FindOptions,
    scope: Scope,
    scan: ObjectScan,
    resolved: Option<BuildIdLookups>,
}

impl BuildIdMapsPass {
    /// Creates the pass for these objects.
    pub fn new(scope: Scope, options: FindOptions) -> Self {
        Self { options, scope, scan: ObjectScan::new(scope), resolved: None }
    }
}

impl Pass for BuildIdMapsPass {
    fn name(&self) -> String {
        match self.scope {
            Scope::Hit => "--mmap2-buildids",
            Scope::All => "--mmap2-buildid-all",
        }
        .to_owned()
    }

    fn pre_scan(&mut self) -> Option<PreScan<'_>> {
        Some(self.scan.pre_scan())
    }

    fn before<'a>(&'a mut self, sink: Box<dyn Sink + 'a>) -> Box<dyn Sink + 'a> {
        let resolved = &*self.resolved.get_or_insert_with(|| BuildIdLookups::new(&self.scan, &self.options));
        let (mut names, mut changed) = (Names::default(), RecordBuffer::default());
        Box::new(RecordFunction::new(sink, move |meta, raw, sink| {
            match new_build_id(meta, raw, resolved, &mut names)
                .map(|id| rewritten(meta, raw, id))
                .transpose()?
                .flatten()
            {
                None => sink.record(meta, raw),
                Some(record) => {
                    changed.record = record;
                    changed.pass(sink, meta, raw)
                }
            }
        }))
    }

    fn report(&self, ledger: &mut Ledger) {
        if let Some(resolved) = &self.resolved {
            resolved.report(ledger);
        }
    }
}

/// The build ID to store in a record; `None` if it is not a mapping or already has it.
fn new_build_id(meta: &Meta, raw: &Raw<'_>, resolved: &BuildIdLookups, names: &mut Names) -> Option<Id> {
    if !Mmap::is_mmap(raw.header().kind) {
        return None;
    }
    let mmap = Mmap::read(meta, raw, names)?;
    let (name, key, _) = mapped(&mmap, raw.header().misc)?;
    resolved.build_id(name, &key).filter(|id| key.build_id != Some(*id))
}

/// The record with the build ID; `None` if it would become too large.
fn rewritten(meta: &Meta, raw: &Raw<'_>, id: Id) -> Result<Option<Vec<u8>>> {
    let Some(mut record) = Record::read(raw.bytes(), &meta.context(raw)) else { return Ok(None) };
    record.body = match record.body {
        Body::Mmap2(mmap) => Body::Mmap2(Mmap2 { file: id.into_mapped_file(), ..mmap }),
        Body::Mmap(mmap) => {
            // MMAP has no protection: perf treats mappings without MMAP_DATA as executable.
            let prot = if record.header.misc.contains(Misc::MMAP_DATA) { 0 } else { PROT_EXEC };
            let (pid, tid, filename) = (mmap.pid, mmap.tid, mmap.filename);
            let (addr, len, pgoff) = (mmap.addr, mmap.len, mmap.pgoff);
            Body::Mmap2(Mmap2 { pid, tid, addr, len, pgoff, file: id.into_mapped_file(), prot, flags: 0, filename })
        }
        _ => return Ok(None),
    };
    record.header.kind = RecordType::MMAP2;
    record.header.misc |= Misc::MMAP_BUILD_ID;
    if raw.bytes().len() + size_of::<Mmap2>() > usize::from(u16::MAX) {
        return Ok(None);
    }
    encoded(record.to_bytes(raw.endian())).map(Some)
}
