//! Names of the type-specific `misc` bits.

use super::{Misc, RecordType};
use serde::ser::{Serialize, SerializeSeq, Serializer};

/// The bits of `misc` except the CPU mode, serialized as a list of their names for the type, with unnamed bits as one number.
pub struct NamedMisc {
    /// The type.
    pub kind: RecordType,
    /// The bits.
    pub misc: Misc,
}

impl NamedMisc {
    /// Names by type: types use the same bits for different purposes.
    fn names(&self) -> &'static [(Misc, &'static str)] {
        const MMAP_DATA: (Misc, &str) = (Misc::MMAP_DATA, "MMAP_DATA");
        const PARSE_TIMEOUT: (Misc, &str) = (Misc::PROC_MAP_PARSE_TIMEOUT, "PROC_MAP_PARSE_TIMEOUT");
        match self.kind {
            RecordType::MMAP => &[MMAP_DATA, PARSE_TIMEOUT],
            RecordType::MMAP2 => &[MMAP_DATA, PARSE_TIMEOUT, (Misc::MMAP_BUILD_ID, "MMAP_BUILD_ID")],
            RecordType::COMM => &[(Misc::COMM_EXEC, "COMM_EXEC")],
            RecordType::FORK => &[(Misc::FORK_EXEC, "FORK_EXEC")],
            RecordType::SWITCH | RecordType::SWITCH_CPU_WIDE => {
                &[(Misc::SWITCH_OUT, "SWITCH_OUT"), (Misc::SWITCH_OUT_PREEMPT, "SWITCH_OUT_PREEMPT")]
            }
            RecordType::SAMPLE => &[(Misc::EXACT_IP, "EXACT_IP")],
            RecordType::HEADER_BUILD_ID => &[(Misc::BUILD_ID_SIZE, "BUILD_ID_SIZE")],
            RecordType::LOST_SAMPLES => &[(Misc::LOST_SAMPLES_BPF, "LOST_SAMPLES_BPF")],
            _ => &[],
        }
    }
}

impl Serialize for NamedMisc {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        let mut rest = self.misc;
        for &(bit, name) in self.names().iter().filter(|(bit, _)| self.misc.contains(*bit)) {
            list.serialize_element(name)?;
            rest = Misc::from_bits_retain(rest.bits() & !bit.bits());
        }
        if rest.bits() != 0 {
            list.serialize_element(&format_args!("{:#x}", rest.bits()))?;
        }
        list.end()
    }
}
