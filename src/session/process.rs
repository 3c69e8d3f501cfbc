//! Processes and threads.

use super::map::MapId;
use super::maps::Maps;
use super::names::NameId;
use super::{Generations, ViewId};
use std::sync::Arc;

/// What is known of a process.
#[derive(Debug, Default)]
pub struct Process {
    /// Name of its main thread.
    pub comm: Option<NameId>,
    /// The map of the program that it runs.
    pub main_map: Option<MapId>,
    maps: Maps,
    /// What was mapped before the latest exec: until it returns, user frames are still of the old program.
    before_exec: Option<Arc<Maps>>,
    /// Whether its main thread has ended and nothing was heard of it since.
    pub(super) is_gone: bool,
    /// The latest view of the machine from the process, and the generations of which it is.
    pub(super) latest_view: (Generations, ViewId),
}

impl Process {
    /// A process with nothing mapped.
    pub(super) fn named(comm: Option<NameId>) -> Self {
        Self { comm, ..Self::default() }
    }

    /// The map at an address.
    pub fn find(&self, address: u64) -> Option<MapId> {
        self.maps.find(address).or_else(|| self.before_exec.as_ref()?.find(address))
    }

    /// Numbers that are the same where [`find`](Self::find) finds the same.
    pub fn generation(&self) -> [u64; 2] {
        [self.maps.generation(), self.before_exec.as_ref().map_or(0, |maps| maps.generation())]
    }

    /// The process runs another program, of which nothing is mapped yet.
    pub(super) fn exec(&mut self) {
        self.main_map = None;
        self.before_exec = Some(Arc::new(std::mem::take(&mut self.maps)));
    }

    /// What is mapped, to be changed.
    pub(super) fn maps_mut(&mut self) -> &mut Maps {
        &mut self.maps
    }

    /// A child that goes on from where this process is.
    pub(super) fn fork(&self) -> Self {
        Self {
            comm: self.comm,
            main_map: self.main_map,
            maps: self.maps.clone(),
            before_exec: self.before_exec.clone(),
            is_gone: false,
            latest_view: self.latest_view,
        }
    }
}

/// What is known of a thread.
#[derive(Clone, Copy, Debug)]
pub struct Thread {
    /// Its process.
    pub pid: u32,
    /// Its name.
    pub comm: Option<NameId>,
}
