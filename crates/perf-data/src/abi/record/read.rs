//! `PERF_RECORD_READ`.

use super::RecordType;
use super::descriptor::RecordDescriptor;
use crate::abi::fields::{FieldVisitor, VisitFields};
use crate::abi::read_format::{ReadFormat, ReadValues};
use binrw::binrw;
use serde::{Deserialize, Serialize};

/// Counter values of a thread at its exit, with [`AttrFlags::INHERIT_STAT`]. Since Linux 2.6.31.
///
/// ```c
/// u32 pid, tid; struct read_format values;
/// ```
///
/// [`AttrFlags::INHERIT_STAT`]: crate::abi::attr_flags::AttrFlags::INHERIT_STAT
#[binrw]
#[br(import(format: ReadFormat))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Read {
    /// Process ID.
    pub pid: u32,
    /// Thread ID.
    pub tid: u32,
    /// Values, in the layout of the event's `read_format`.
    #[br(args_raw = format)]
    pub values: ReadValues,
}

/// Descriptor of READ.
pub const READ: RecordDescriptor = RecordDescriptor::event(RecordType::READ, (2, 6), 24);

impl VisitFields for Read {
    fn visit_fields(&mut self, visitor: &mut dyn FieldVisitor) {
        let Self { pid, tid, values } = self;
        visitor.own_process(pid.into());
        visitor.task(tid.into());
        values.ids_mut().for_each(|id| visitor.event_id(id));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::testing::both_orders;

    #[test]
    fn bytes() {
        let values =
            ReadValues::Single { value: 9, time_enabled: Some(10), time_running: None, id: Some(3), lost: None };
        both_orders(
            &Read { pid: 1, tid: 2, values },
            (ReadFormat::TOTAL_TIME_ENABLED | ReadFormat::ID,),
            "01000000 02000000 0900000000000000 0a00000000000000 0300000000000000",
            "00000001 00000002 0000000000000009 000000000000000a 0000000000000003",
        );
    }
}
