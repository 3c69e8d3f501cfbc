//! What the unwinder knows about the code at an address, cached by address space and address.

use super::rule::Rule;
use perf_data::session::map::{Map, MapId};
use perf_data::session::space::Space;
use perf_data::session::{Session, ViewId};
use std::sync::Arc;

/// How to unwind from an address.
#[derive(Clone, Debug)]
pub enum Code {
    /// By a rule of an object.
    Rule(Arc<Rule>),
    /// A signal trampoline, by the kernel's frame.
    Trampoline,
    /// The function has no caller.
    Outermost,
    /// There is no rule in this mapping.
    NoRule(MapId),
    /// There is no code.
    Unmapped,
}

/// The address space of a process at the time of a sample.
#[derive(Clone, Copy)]
pub struct AddressSpace<'a> {
    /// The mappings.
    pub session: &'a Session,
    /// The process.
    pub pid: u32,
    /// Version of its mappings.
    pub view: ViewId,
}

impl<'a> AddressSpace<'a> {
    /// The mapping of an address.
    pub fn map_at(&self, address: u64) -> Option<(MapId, &'a Map)> {
        let id = self.session.map_at(self.pid, Space::User, address)?;
        Some((id, self.session.map(id)))
    }
}

/// An address in a version of an address space, and whether it was interrupted there instead of calling.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CodeAddress {
    /// The version.
    pub view: ViewId,
    /// The address; for a call, its last byte.
    pub address: u64,
    /// Whether the next address, to which a call returns, is a different one.
    pub is_call: bool,
}

/// A direct-mapped cache: most frames of a stack are also in other stacks.
pub struct RecentCode {
    slots: Box<[(CodeAddress, Code)]>,
}

impl Default for RecentCode {
    fn default() -> Self {
        // No version is 0, so this address is never looked up.
        Self { slots: vec![(CodeAddress::default(), Code::Unmapped); 1 << Self::BITS].into() }
    }
}

impl RecentCode {
    const BITS: u32 = 14;

    /// The cached result of an address.
    #[inline]
    pub fn get(&self, code_address: CodeAddress) -> Option<&Code> {
        let (cached, code) = &self.slots[Self::slot(code_address)];
        (*cached == code_address).then_some(code)
    }

    /// Looks up an address unless it is cached. Returns its slot.
    #[inline]
    pub fn find(&mut self, code_address: CodeAddress, look_up: impl FnOnce() -> Code) -> usize {
        let slot = Self::slot(code_address);
        let cached = &mut self.slots[slot];
        if cached.0 != code_address {
            *cached = (code_address, look_up());
        }
        slot
    }

    /// The result in a slot that [`find`](Self::find) returned.
    #[inline]
    pub fn at(&self, slot: usize) -> &Code {
        &self.slots[slot].1
    }

    fn slot(code_address: CodeAddress) -> usize {
        // An odd number without a pattern spreads the bits to the highest.
        const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
        let mixed = (code_address.address ^ code_address.view.rotate_left(32)).wrapping_mul(SPREAD);
        (mixed >> (64 - Self::BITS)) as usize
    }
}
