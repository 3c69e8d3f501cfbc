//! Build ids that records tell, apart from the feature's.

use super::features::{self, without_zeros};
use super::proto::perf_data_proto::{PerfBuildId, PerfEvent};
use super::text::md5_prefix;
use crate::abi::hex::from_hex;
use crate::abi::record::{Body, Record, RecordType};
use crate::stream::meta::Meta;
use crate::stream::raw::Raw;
use hashbrown::HashMap;

/// Where a record is: in which of the recording's files, and where there.
type Place = (u32, u64);

/// Those of BUILD_ID records, and of MMAP2 records one for each file.
#[derive(Default)]
pub struct SeenBuildIds {
    list: Vec<(Place, PerfBuildId)>,
    /// Where in the list that of a mapped file is.
    mapped: HashMap<Vec<u8>, usize>,
}

impl SeenBuildIds {
    /// Takes the build id that a mapping tells, if it does: of each file that of the record which is first in the recording,
    /// whatever order they come in.
    pub fn take_mapped(&mut self, event: &PerfEvent, raw: &Raw<'_>) {
        let Some(map) = &event.mmap_event else { return };
        let (Some(build_id), Some(filename)) = (&map.build_id, &map.filename) else { return };
        let place = (raw.block().source, raw.offset());
        let told = self.mapped.get(filename).copied();
        if told.is_some_and(|at| self.list[at].0 <= place) {
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
        match told {
            Some(at) => self.list[at] = (place, message),
            None => {
                self.mapped.insert(filename.clone(), self.list.len());
                self.list.push((place, message));
            }
        }
    }

    /// Takes the build id that a record of a pipe tells, if it does.
    pub fn take_record(&mut self, meta: &Meta, raw: &Raw<'_>) {
        if raw.header().kind == RecordType::HEADER_BUILD_ID
            && let Some(Record { body: Body::HeaderBuildId(build_id), .. }) =
                Record::read(raw.bytes(), &meta.context(raw))
        {
            let message = features::build_id(raw.header().misc, &build_id);
            self.list.push(((raw.block().source, raw.offset()), message));
        }
    }

    /// All of them, as they are in the recording.
    pub fn in_file_order(&mut self) -> impl Iterator<Item = PerfBuildId> {
        let mut list = std::mem::take(self).list;
        list.sort_by_key(|(place, _)| *place);
        list.into_iter().map(|(_, message)| message)
    }
}
