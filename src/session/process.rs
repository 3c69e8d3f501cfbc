//! Processes and threads.

use super::map::MapId;
use super::maps::Maps;
use std::sync::Arc;

/// What is known of a process. A clone shares the maps until one of the two changes them.
#[derive(Clone, Debug, Default)]
pub struct Process {
    /// Name of its main thread.
    pub comm: Option<Box<[u8]>>,
    /// The map of the program that it runs.
    pub main_map: Option<MapId>,
    maps: Arc<Maps>,
}

impl Process {
    /// A process with nothing mapped.
    pub(super) fn named(comm: Option<Box<[u8]>>) -> Self {
        Self { comm, ..Self::default() }
    }

    /// What is mapped.
    pub fn maps(&self) -> &Maps {
        &self.maps
    }

    /// What is mapped, to be changed.
    pub(super) fn maps_mut(&mut self) -> &mut Maps {
        Arc::make_mut(&mut self.maps)
    }
}

/// What is known of a thread.
#[derive(Clone, Debug)]
pub struct Thread {
    /// Its process.
    pub pid: u32,
    /// Its name.
    pub comm: Option<Box<[u8]>>,
}
