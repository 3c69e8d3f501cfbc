//! Tables of records other than samples: threads and mappings.

use super::column::{Columns, saturated};
use super::schema::{MappingColumns, ProcessColumns};
use crate::profile::timeline::Timeline;
use arrow_array::RecordBatch;
use perf_data::abi;
use perf_data::abi::hex::to_hex;
use perf_data::abi::record::RecordType;
use perf_data::abi::record::mmap::Mmap;
use perf_data::abi::record::mmap2::Mmap2;
use perf_data::session::Session;
use perf_data::session::thread_name::IDLE;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;

/// Collects threads and mappings.
#[derive(Default)]
pub(super) struct RecordTables {
    threads: Timeline,
    mappings: MappingColumns,
}

impl RecordTables {
    /// Adds a record that the session has applied.
    pub(super) fn add(&mut self, meta: &Meta, raw: &Raw<'_>, session: &Session) {
        self.threads.record_thread(meta, raw, session);
        let (body, endian) = (meta.events.split(raw).0, raw.endian());
        match raw.header().kind {
            RecordType::MMAP => {
                let Ok((map, _)) = abi::parse::<Mmap>(body, endian, ()) else { return };
                self.mapping(meta, raw, (map.pid, map.addr, map.len, map.pgoff), map.filename.text(), None);
            }
            RecordType::MMAP2 => {
                let Ok((map, _)) = abi::parse::<Mmap2>(body, endian, (raw.header().misc,)) else { return };
                let build_id = map.file.build_id();
                self.mapping(meta, raw, (map.pid, map.addr, map.len, map.pgoff), map.filename.text(), build_id);
            }
            _ => {}
        }
    }

    fn mapping(
        &mut self,
        meta: &Meta,
        raw: &Raw<'_>,
        (pid, start, len, offset): (u32, u64, u64, u64),
        dso: &[u8],
        build_id: Option<&[u8]>,
    ) {
        let columns = &mut self.mappings;
        columns.pid.push(Some(pid as i32));
        columns.time.push(meta.events.time(raw).map(saturated));
        columns.start.push(Some(start));
        columns.end.push(Some(start.saturating_add(len)));
        columns.offset.push(Some(offset));
        columns.dso.push_bytes(Some(dso));
        columns.build_id.push(build_id.map(to_hex).as_deref());
    }

    /// Notes the thread of a sample.
    pub(super) fn sample(&mut self, pid: u32, tid: u32) {
        self.threads.thread(pid, tid);
    }

    /// Number of mappings in memory.
    pub(super) fn mappings(&self) -> usize {
        self.mappings.start.len()
    }

    /// Returns the mappings so far, and removes them.
    pub(super) fn take_mappings(&mut self) -> RecordBatch {
        self.mappings.batch()
    }

    /// Returns the threads.
    pub(super) fn threads(&self, session: &Session) -> RecordBatch {
        let mut columns = ProcessColumns::default();
        for thread in &self.threads.threads {
            columns.pid.push(Some(thread.pid as i32));
            columns.tid.push(Some(thread.tid as i32));
            let idle = (thread.tid == 0).then_some(IDLE.as_bytes());
            columns.comm.push_bytes(thread.comm.map(|comm| session.names.name(comm)).or(idle));
            columns.start.push(thread.start.map(saturated));
            columns.end.push(thread.end.map(saturated));
        }
        columns.batch()
    }
}
