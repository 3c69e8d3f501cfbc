//! The process and the event that a record describes, for filters. Found by the roles of fields, so that it works for each record
//! type.

use perf_data::abi::fields::{FieldVisitor, InWorkspace, TaskField, ignore_roles};
use perf_data::abi::record::Body;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;

/// The IDs of the process and the event that a record other than a sample describes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OwnIds {
    /// The process.
    pub process: Option<u32>,
    /// The ID of the event, from the body of the record.
    pub event: Option<u64>,
}

impl OwnIds {
    /// Decodes the IDs. A malformed record has none.
    pub(crate) fn read(meta: &Meta, raw: &Raw<'_>) -> Self {
        let (body, _) = meta.events.split(raw);
        let (mut body, _) = Body::read(raw.header().kind, raw.header().misc, body, &meta.context(raw));
        let mut ids = Self::default();
        body.visit_fields(&mut ids);
        ids
    }
}

impl InWorkspace for OwnIds {}

impl FieldVisitor for OwnIds {
    fn own_process(&mut self, process: TaskField<'_>) {
        self.process = self.process.or(process.get());
    }

    fn own_event_id(&mut self, id: &mut u64) {
        self.event = self.event.or(Some(*id));
    }

    ignore_roles! {
        task, guest, time, elapsed, clock_origin, event_id, attr, text, command_line, mapping, address, code, callchain, inode, namespace, build_id, file_build_id, cgroup_id, bpf_tag, feature, tracing_data, opaque, unknown
    }
}
