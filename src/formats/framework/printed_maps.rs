//! Mappings as perf script prints them.

use perf_data::session::kernel_names::ListedKernel;
use perf_data::session::map::{Map, MapId};

/// Mappings as perf script prints them, each determined once: most frames are in a mapping that had one before.
#[derive(Debug, Default)]
pub(crate) struct PrintedMaps {
    /// By ID.
    list: Vec<Option<PrintedMap>>,
}

/// A mapping as perf script prints it.
#[derive(Debug)]
pub(crate) struct PrintedMap {
    /// Its file.
    pub file: Box<str>,
    /// Wrapping offset from an address to that of the file.
    offset: u64,
}

impl PrintedMap {
    /// An address, as one of the mapped file.
    #[inline]
    pub(crate) fn address(&self, address: u64) -> u64 {
        address.wrapping_add(self.offset)
    }
}

impl PrintedMaps {
    /// A mapping of a recording, whose kernel modules may have names in a table.
    #[inline]
    pub(crate) fn map(&mut self, id: MapId, map: &Map, listed: Option<&ListedKernel>) -> &PrintedMap {
        let index = id.0 as usize;
        if self.list.len() <= index {
            self.list.resize_with(index + 1, || None);
        }
        self.list[index].get_or_insert_with(|| PrintedMap {
            file: ListedKernel::printed_file(listed, map).into(),
            offset: map.printed_address(map.start).wrapping_sub(map.start),
        })
    }
}
