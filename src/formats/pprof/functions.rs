//! Functions that are made up, until there are symbols, so that no consumer shows an empty page: `libc.so.6+0x2a1b0`.
//!
//! A mapping does not say that it has functions: pprof finds the real ones where the binaries are.

use super::proto;
use super::strings::Strings;
use crate::profile::{Frame, Place, Tables};
use crate::session::map::Map;
use crate::session::space::Space;
use hashbrown::HashMap;
use std::fmt::Write as _;

/// The functions, each once.
#[derive(Default)]
pub struct Functions {
    /// By name and file.
    ids: HashMap<(i64, i64), u64>,
    name: String,
}

impl Functions {
    /// The number of a frame's function; with the function itself where it is new.
    pub fn id(&mut self, frame: Frame, tables: &Tables, strings: &mut Strings) -> (u64, Option<proto::Function>) {
        self.name.clear();
        let filename = match frame.place {
            Place::In(mapping) => {
                let map = &tables.mappings[mapping as usize];
                write_name(&mut self.name, map, frame.address);
                strings.id(&String::from_utf8_lossy(&map.filename))
            }
            Place::Outside(space) => {
                let _ = write!(self.name, "{}+{:#x}", name_of(space), frame.address);
                0
            }
        };
        let name = strings.id(&self.name);
        let new = self.ids.len() as u64 + 1;
        let id = *self.ids.entry((name, filename)).or_insert(new);
        let function = proto::Function { id, name, system_name: name, filename, start_line: 0 };
        (id, (id == new).then_some(function))
    }
}

/// The last part of the file's name, and how far into the file the address is.
fn write_name(name: &mut String, map: &Map, address: u64) {
    let file = map.filename.rsplit(|&byte| byte == b'/').next().filter(|last| !last.is_empty());
    name.push_str(&String::from_utf8_lossy(file.unwrap_or(&map.filename)));
    let into = address - map.start;
    // What the kernel has in the place of a file offset is an address.
    let offset = if map.is_kernel() { into } else { into.wrapping_add(map.pgoff) };
    if map.limit - map.start > 1 {
        let _ = write!(name, "+{offset:#x}");
    }
}

/// What to call where nothing is known to be mapped.
fn name_of(space: Space) -> &'static str {
    match space {
        Space::Unknown | Space::User => "[unknown]",
        Space::Kernel => "[kernel]",
        Space::Hypervisor => "[hypervisor]",
        Space::GuestKernel => "[guest.kernel]",
        Space::GuestUser => "[guest.user]",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_the_file_and_how_far_into_it() {
        let name = |map: Map, address| {
            let mut name = String::new();
            write_name(&mut name, &map, address);
            name
        };
        assert_eq!(name(Map::new(0x7000, 0x1000, 0x2000, b"/lib/libc.so.6", None), 0x7010), "libc.so.6+0x2010");
        let kernel = Map::new(0x8000, 0x1000, 0xffff_ffff_8100_0000, b"[kernel.kallsyms]_text", None);
        assert_eq!(name(kernel, 0x8020), "[kernel.kallsyms]_text+0x20");
        assert_eq!(name(Map::new(9 << 60, 1, 0, b"[lost]", None), 9 << 60), "[lost]");
        assert_eq!(name(Map::new(0, 0x100, 0, b"/", None), 1), "/+0x1");
    }
}
