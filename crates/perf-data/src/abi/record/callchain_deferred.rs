//! `PERF_RECORD_CALLCHAIN_DEFERRED`.

use super::RecordType;
use super::descriptor::RecordDescriptor;
use crate::abi::counted;
use crate::abi::serde::readable;
use crate::roles;
use binrw::binrw;
use serde::{Deserialize, Serialize};

/// Deferred user call chain of earlier samples of the same thread: those whose chain ends with
/// [`Context::USER_DEFERRED`](crate::abi::sample::callchain::Context::USER_DEFERRED) and this cookie. Since Linux 6.19.
///
/// ```c
/// u64 cookie; u64 nr; u64 ips[nr];
/// ```
#[binrw]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallchainDeferred {
    /// Cookie in the samples.
    pub cookie: u64,
    #[br(temp)]
    #[bw(calc = ips.len() as u64)]
    nr: u64,
    /// Context markers and addresses, leaf first.
    #[br(parse_with = counted::u64s, args(nr))]
    #[serde(serialize_with = "readable::hex")]
    pub ips: Vec<u64>,
}

/// Descriptor of CALLCHAIN_DEFERRED.
pub const CALLCHAIN_DEFERRED: RecordDescriptor = RecordDescriptor::event(RecordType::CALLCHAIN_DEFERRED, (6, 19), 16);

roles! { CallchainDeferred { cookie: number, ips: callchain(USER) } }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::testing::both_orders;

    #[test]
    fn bytes() {
        both_orders(
            &CallchainDeferred { cookie: 0xc0de, ips: vec![512_u64.wrapping_neg(), 0x40_1000] },
            (),
            "dec0000000000000 0200000000000000 00feffffffffffff 0010400000000000",
            "000000000000c0de 0000000000000002 fffffffffffffe00 0000000000401000",
        );
    }
}
