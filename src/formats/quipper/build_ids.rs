//! Build IDs from records, as opposed to those of the feature BUILD_ID.

use super::features::{self, without_zeros};
use super::proto::perf_data_proto::{PerfBuildId, PerfEvent};
use super::text::md5_prefix;
use hashbrown::HashMap;
use perf_data::abi::hex::from_hex;
use perf_data::abi::record::{Body, Record, RecordType};
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;

/// Position of a record: index of the recording's file, and offset in it.
type RecordKey = (u32, u64);

/// Build IDs of BUILD_ID records, and of MMAP2 records one per file.
#[derive(Default)]
pub(super) struct SeenBuildIds {
    list: Vec<(RecordKey, PerfBuildId)>,
    /// Index in the list by mapped file.
    mapped: HashMap<Vec<u8>, usize>,
}

impl SeenBuildIds {
    /// Adds the build ID of an MMAP2 record, if it has one. Of several records of a file, the first in the recording
    /// counts, regardless of the order of the calls.
    pub(super) fn add_mapped(&mut self, event: &PerfEvent, raw: &Raw<'_>) {
        let Some(map) = &event.mmap_event else { return };
        let (Some(build_id), Some(filename)) = (&map.build_id, &map.filename) else { return };
        let key = (raw.block().source, raw.offset());
        let index = self.mapped.get(filename).copied();
        if index.is_some_and(|at| self.list[at].0 <= key) {
            return;
        }
        let build_id = from_hex(build_id).unwrap_or_default();
        let message = PerfBuildId {
            misc: event.header.as_ref().and_then(|header| header.misc),
            pid: Some(u32::MAX),
            build_id_hash: Some(without_zeros(&build_id).to_vec()),
            filename: Some(filename.clone()),
            filename_md5_prefix: Some(md5_prefix(filename)),
            ..PerfBuildId::default()
        };
        match index {
            Some(at) => self.list[at] = (key, message),
            None => {
                self.mapped.insert(filename.clone(), self.list.len());
                self.list.push((key, message));
            }
        }
    }

    /// Adds the build ID of a HEADER_BUILD_ID record of a pipe.
    pub(super) fn add_record(&mut self, meta: &Meta, raw: &Raw<'_>) {
        if raw.header().kind == RecordType::HEADER_BUILD_ID
            && let Some(Record { body: Body::HeaderBuildId(build_id), .. }) =
                Record::read(raw.bytes(), &meta.context(raw))
        {
            let message = features::build_id(raw.header().misc, &build_id);
            self.list.push(((raw.block().source, raw.offset()), message));
        }
    }

    /// Returns all of them in the order of the recording.
    pub(super) fn in_file_order(&mut self) -> impl Iterator<Item = PerfBuildId> {
        let mut list = std::mem::take(self).list;
        list.sort_by_key(|(key, _)| *key);
        list.into_iter().map(|(_, message)| message)
    }
}
