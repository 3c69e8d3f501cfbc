//! `PERF_RECORD_NAMESPACES`.

use super::RecordType;
use super::descriptor::RecordDescriptor;
use crate::abi::counted;
use crate::abi::fields::{FieldVisitor, VisitFields};
use crate::roles;
use binrw::binrw;
use serde::{Deserialize, Serialize};

/// Namespaces of a thread, after creation or a change. Since Linux 4.12.
///
/// ```c
/// u32 pid, tid; u64 nr; struct { u64 dev, ino; } link_info[nr];
/// ```
#[binrw]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Namespaces {
    /// Process ID.
    pub pid: u32,
    /// Thread ID.
    pub tid: u32,
    #[br(temp)]
    #[bw(calc = link_info.len() as u64)]
    nr: u64,
    /// The namespaces, indexed by the constants of [`Namespace`].
    #[br(parse_with = counted::items, args(nr))]
    pub link_info: Vec<Namespace>,
}

/// Identification of a namespace.
#[binrw]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Namespace {
    /// Device of its file in `/proc/PID/ns`.
    pub dev: u64,
    /// Inode of that file.
    pub ino: u64,
}

impl Namespace {
    /// Index of the network namespace.
    pub const NET: usize = 0;
    /// Index of the UTS namespace.
    pub const UTS: usize = 1;
    /// Index of the IPC namespace.
    pub const IPC: usize = 2;
    /// Index of the PID namespace.
    pub const PID: usize = 3;
    /// Index of the user namespace.
    pub const USER: usize = 4;
    /// Index of the mount namespace.
    pub const MNT: usize = 5;
    /// Index of the cgroup namespace.
    pub const CGROUP: usize = 6;
}

/// Descriptor of NAMESPACES.
pub const NAMESPACES: RecordDescriptor = RecordDescriptor::state(RecordType::NAMESPACES, (4, 12), 24);

roles! { Namespaces { pid: own_process, tid: task, link_info: fields } }

impl VisitFields for Namespace {
    fn visit_fields(&mut self, visitor: &mut dyn FieldVisitor) {
        let Self { dev, ino } = self;
        visitor.namespace(dev, ino);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::testing::both_orders;

    #[test]
    fn bytes() {
        let link_info = vec![Namespace { dev: 3, ino: 0xf000_0000 }, Namespace { dev: 3, ino: 4 }];
        both_orders(
            &Namespaces { pid: 1, tid: 2, link_info },
            (),
            "01000000 02000000 0200000000000000 0300000000000000 000000f000000000 0300000000000000 0400000000000000",
            "00000001 00000002 0000000000000002 0000000000000003 00000000f0000000 0000000000000003 0000000000000004",
        );
    }
}
