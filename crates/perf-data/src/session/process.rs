//! Processes and threads.

use super::map::MapId;
use super::maps::Maps;
use super::names::NameId;
use super::{Generations, ViewId};
use std::sync::Arc;

/// The mappings of a process. A clone shares them.
#[derive(Clone, Debug, Default)]
pub(super) struct ProcessMaps {
    current: Maps,
    /// Mappings before the last exec: user frames belong to the old program until exec returns.
    before_exec: Option<Arc<Maps>>,
}

impl ProcessMaps {
    /// The mapping at an address.
    #[inline]
    pub(super) fn find(&self, address: u64) -> Option<MapId> {
        self.current.find(address).or_else(|| self.before_exec.as_ref()?.find(address))
    }
}

/// State of a process.
#[derive(Debug, Default)]
pub struct Process {
    /// Name of its main thread.
    pub comm: Option<NameId>,
    /// The mapping of its main program.
    pub main_map: Option<MapId>,
    maps: ProcessMaps,
    /// Whether its main thread has exited and no later record mentions it.
    pub(super) has_exited: bool,
    /// The last view from the process, with its generations.
    pub(super) latest_view: (Generations, ViewId),
}

impl Process {
    /// A process without mappings.
    pub(super) fn named(comm: Option<NameId>) -> Self {
        Self { comm, ..Self::default() }
    }

    /// The mapping at an address.
    pub fn find(&self, address: u64) -> Option<MapId> {
        self.maps.find(address)
    }

    /// Equal numbers mean that [`find`](Self::find) returns equal results.
    pub fn generation(&self) -> [u64; 2] {
        let ProcessMaps { current, before_exec } = &self.maps;
        [current.generation(), before_exec.as_ref().map_or(0, |maps| maps.generation())]
    }

    /// Applies an exec, after which the new program has no mappings yet.
    pub(super) fn exec(&mut self) {
        self.main_map = None;
        self.maps.before_exec = Some(Arc::new(std::mem::take(&mut self.maps.current)));
    }

    pub(super) fn maps(&self) -> &ProcessMaps {
        &self.maps
    }

    pub(super) fn maps_mut(&mut self) -> &mut Maps {
        &mut self.maps.current
    }

    /// A child with the state of this process.
    pub(super) fn fork(&self) -> Self {
        Self {
            comm: self.comm,
            main_map: self.main_map,
            maps: self.maps.clone(),
            has_exited: false,
            latest_view: self.latest_view,
        }
    }
}

/// State of a thread.
#[derive(Clone, Copy, Debug)]
pub struct SessionThread {
    /// Its process.
    pub pid: u32,
    /// Its name.
    pub comm: Option<NameId>,
}
