//! `PERF_CONTEXT_*`: marks in a call chain that say in which address space the frames behind them are.

use crate::open_enum;

open_enum! {
    /// A mark in a call chain. Values at or above [`Context::MAX`] are marks, all others are addresses.
    Context: u64 {
        /// Hypervisor.
        HV = 32_u64.wrapping_neg(),
        /// Kernel of the host.
        KERNEL = 128_u64.wrapping_neg(),
        /// User space of the host.
        USER = 512_u64.wrapping_neg(),
        /// The user frames come later, in a CALLCHAIN_DEFERRED record; the word behind this mark is its cookie. Since
        /// Linux 6.19.
        USER_DEFERRED = 640_u64.wrapping_neg(),
        /// A guest.
        GUEST = 2048_u64.wrapping_neg(),
        /// Kernel of a guest.
        GUEST_KERNEL = 2176_u64.wrapping_neg(),
        /// User space of a guest.
        GUEST_USER = 2560_u64.wrapping_neg(),
        /// The lowest value that is a mark.
        MAX = 4095_u64.wrapping_neg(),
    }
}

impl Context {
    /// The word as a mark, or `None` where it is an address.
    #[inline]
    pub fn of(word: u64) -> Option<Self> {
        (word >= Self::MAX.0).then_some(Self(word))
    }
}
