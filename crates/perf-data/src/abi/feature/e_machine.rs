//! Feature E_MACHINE.

use super::FeatureId;
use super::descriptor::FeatureDescriptor;
use crate::roles;
use binrw::binrw;
use serde::{Deserialize, Serialize};

/// ELF machine of the recording machine. Since perf 7.1.
///
/// ```c
/// u32 e_machine, e_flags;
/// ```
#[binrw]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EMachine {
    /// `EM_*`: ELF machine.
    pub e_machine: u32,
    /// `EF_*`: machine-specific ELF flags.
    pub e_flags: u32,
}

/// Descriptor of E_MACHINE.
pub const E_MACHINE: FeatureDescriptor = FeatureDescriptor::recording(FeatureId::E_MACHINE, (7, 1));

roles! { EMachine { e_machine: number, e_flags: number } }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::testing::both_orders;

    #[test]
    fn bytes() {
        both_orders(&EMachine { e_machine: 62, e_flags: 1 }, (), "3e000000 01000000", "0000003e 00000001");
    }
}
