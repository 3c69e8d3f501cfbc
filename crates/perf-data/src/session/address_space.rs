//! The mappings that a process sees at a time.

use super::map::{Map, MapId};
use super::maps::Maps;
use super::process::ProcessMaps;
use super::space::Space;
use std::sync::{Arc, PoisonError, RwLock};

/// The mappings that a process sees, and those of the kernel, at a time. It shares them with the
/// [`Session`](super::Session), which leaves them as they are, so that another thread can resolve addresses of earlier samples.
#[derive(Clone, Debug, Default)]
pub struct AddressSpace {
    pub(super) process: Option<ProcessMaps>,
    pub(super) kernel: Maps,
    pub(super) guest_kernel: Maps,
    pub(super) maps: SharedMaps,
}

/// All mappings of a session so far, by their IDs, which others read while the session adds to them.
#[derive(Clone, Debug, Default)]
pub(super) struct SharedMaps(Arc<RwLock<Vec<Arc<Map>>>>);

impl SharedMaps {
    pub(super) fn push(&self, map: Arc<Map>) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).push(map);
    }

    fn get(&self, id: MapId) -> Arc<Map> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner)[id.0 as usize])
    }
}

impl AddressSpace {
    /// The mapping at an address of a space.
    #[inline]
    pub fn map_at(&self, space: Space, address: u64) -> Option<MapId> {
        map_at(self.process.as_ref(), [&self.kernel, &self.guest_kernel], space, address)
    }

    /// A mapping by ID. Waits while the session adds one.
    pub fn map(&self, id: MapId) -> Arc<Map> {
        self.maps.get(id)
    }

    /// Changes with the kernel mappings, which all processes share.
    #[inline]
    pub fn kernel_generation(&self) -> u64 {
        self.kernel.generation()
    }
}

/// The mapping at an address of a space, as a process sees it, with the kernel and that of guests.
#[inline]
pub(super) fn map_at(
    process: Option<&ProcessMaps>,
    [kernel, guest_kernel]: [&Maps; 2],
    space: Space,
    address: u64,
) -> Option<MapId> {
    match space {
        Space::Kernel => kernel.find(address),
        Space::User => process?.find(address),
        Space::GuestKernel => guest_kernel.find(address),
        Space::Unknown => process.and_then(|process| process.find(address)).or_else(|| kernel.find(address)),
        Space::Hypervisor | Space::GuestUser => None,
    }
}
