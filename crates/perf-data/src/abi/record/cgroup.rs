//! `PERF_RECORD_CGROUP`.

use super::RecordType;
use super::descriptor::RecordDescriptor;
use crate::abi::text::PaddedStr;
use crate::roles;
use binrw::binrw;
use serde::{Deserialize, Serialize};

/// A cgroup, created or existing at the start. Since Linux 5.7.
///
/// ```c
/// u64 id; char path[];
/// ```
#[binrw]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cgroup {
    /// ID, from the file handle of its directory.
    pub id: u64,
    /// Path below the mount point.
    pub path: PaddedStr,
}

/// Descriptor of CGROUP.
pub const CGROUP: RecordDescriptor = RecordDescriptor::state(RecordType::CGROUP, (5, 7), 17);

roles! { Cgroup { id: cgroup_id, path: text(Cgroup) } }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::testing::both_orders;

    #[test]
    fn bytes() {
        both_orders(
            &Cgroup { id: 0x77, path: PaddedStr::new(b"/sys", 8) },
            (),
            "7700000000000000 '/sys' 00000000",
            "0000000000000077 '/sys' 00000000",
        );
    }
}
