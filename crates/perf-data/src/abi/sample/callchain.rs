//! `PERF_SAMPLE_CALLCHAIN`: call chains, and their context markers (`PERF_CONTEXT_*`).

use super::field::FieldKind;
use super::value::FieldValue;
use crate::abi::bytes::{ByteReader, ByteWriter, Integer, Words};
use crate::abi::counted;
use crate::abi::open_enum::open_enum;
use crate::abi::record::CpuMode;
use crate::abi::serde::readable;
use crate::roles;
use binrw::binrw;
use serde::{Deserialize, Serialize};

open_enum! {
    /// A context marker: the address space of the frames after it. Values from [`Context::MAX`] on are markers, others are
    /// addresses.
    Context: u64 {
        /// Hypervisor.
        HV = 32_u64.wrapping_neg(),
        /// Kernel of the host.
        KERNEL = 128_u64.wrapping_neg(),
        /// User space of the host.
        USER = 512_u64.wrapping_neg(),
        /// The user frames follow in a CALLCHAIN_DEFERRED record; the next word is its cookie. Since Linux 6.19.
        USER_DEFERRED = 640_u64.wrapping_neg(),
        /// A guest.
        GUEST = 2048_u64.wrapping_neg(),
        /// Kernel of a guest.
        GUEST_KERNEL = 2176_u64.wrapping_neg(),
        /// User space of a guest.
        GUEST_USER = 2560_u64.wrapping_neg(),
        /// The lowest marker.
        MAX = 4095_u64.wrapping_neg(),
    }
}

impl Context {
    /// Interprets a word of a call chain; `None` if it is an address.
    #[inline]
    pub fn of(word: u64) -> Option<Self> {
        (word >= Self::MAX.0).then_some(Self(word))
    }

    /// The CPU mode of the addresses after it, if it is known.
    pub fn cpu_mode(self) -> Option<CpuMode> {
        Some(match self {
            Self::KERNEL => CpuMode::KERNEL,
            Self::USER | Self::USER_DEFERRED => CpuMode::USER,
            Self::HV => CpuMode::HYPERVISOR,
            Self::GUEST_KERNEL => CpuMode::GUEST_KERNEL,
            Self::GUEST_USER => CpuMode::GUEST_USER,
            _ => return None,
        })
    }
}

/// The cookie of the CALLCHAIN_DEFERRED record that has the user frames of a call chain: its last word, after
/// [`Context::USER_DEFERRED`].
#[inline]
pub fn deferred_cookie(chain: Words<'_>) -> Option<u64> {
    let last = chain.as_chunks().last_chunk::<2>()?;
    let [marker, cookie] = last.map(|word| u64::from_bytes(word, chain.endian()));
    (marker == Context::USER_DEFERRED.0).then_some(cookie)
}

/// A call chain: `u64 nr; u64 ips[nr]`.
#[binrw]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Callchain {
    #[br(temp)]
    #[bw(calc = ips.len() as u64)]
    nr: u64,
    /// Addresses and context markers ([`Context`]), leaf first.
    #[br(parse_with = counted::u64s, args(nr))]
    #[serde(serialize_with = "readable::hex")]
    pub ips: Vec<u64>,
}

roles! { Callchain { ips: callchain(UNKNOWN) } }

impl FieldValue for Callchain {
    const KIND: FieldKind = FieldKind::Variable;
    type View<'a> = Words<'a>;
    type Args = ();

    #[inline]
    fn take<'a>(reader: &mut ByteReader<'a>, (): ()) -> Option<Words<'a>> {
        let nr = reader.u64()?;
        reader.words(nr)
    }

    fn encode(view: Option<Words<'_>>, (): (), out: &mut ByteWriter<'_>) {
        out.put(view.map_or(0, |chain| chain.len() as u64));
        out.out.extend_from_slice(view.map_or(&[], |chain| chain.as_bytes()));
    }
}
