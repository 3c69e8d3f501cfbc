//! The functions of a profile. A frame without a symbol has one named after its address, such as `libc.so.6+0x2a1b0`, so that no
//! consumer shows an empty page.
//!
//! A mapping with such a frame does not say that it has functions: pprof finds the real ones where the binaries are.

use super::proto;
use super::strings::Strings;
use crate::profile::symbols::{FunctionId, Symbols};
use crate::profile::{Frame, Place, Tables};
use crate::session::map::{Map, cut_name};
use crate::session::space::Space;
use hashbrown::HashMap;
use std::borrow::Cow;
use std::fmt::Write as _;

/// The functions, each once.
#[derive(Default)]
pub struct Functions {
    ids: HashMap<(Within, u64), u64>,
    /// Numbers of functions that are known, by their numbers among the symbols.
    known: HashMap<FunctionId, u64>,
    /// By the numbers of the mappings.
    files: Vec<Option<File>>,
    name: String,
}

/// What a function is in.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Within {
    /// A file, by the number of its name, which may have no places in it that could be told apart.
    File(i64, bool),
    /// Nothing that is known to be mapped.
    Space(&'static str),
}

/// A file that is mapped.
struct File {
    /// Number of its name.
    filename: i64,
    /// The last part of the name.
    last: String,
}

impl File {
    fn new(map: &Map, strings: &mut Strings) -> Self {
        let last = Self::last_part(&map.filename).into_owned();
        Self { filename: strings.id(&String::from_utf8_lossy(&map.filename)), last }
    }

    fn last_part(path: &[u8]) -> Cow<'_, str> {
        let last = path.rsplit(|&byte| byte == b'/').next().filter(|last| !last.is_empty());
        String::from_utf8_lossy(cut_name(last.unwrap_or(path)))
    }
}

impl Functions {
    /// The number of a frame's function; with the function itself where it is new.
    pub fn id(&mut self, frame: Frame, tables: &Tables, strings: &mut Strings) -> (u64, Option<proto::Function>) {
        let new = self.next_id();
        let Self { ids, files, name, .. } = self;
        let (within, offset, text) = match frame.place {
            Place::In(mapping) => {
                let (index, map) = (mapping as usize, &tables.mappings[mapping as usize]);
                if files.len() <= index {
                    files.resize_with(index + 1, || None);
                }
                let file = files[index].get_or_insert_with(|| File::new(map, strings));
                let offset = offset(map, frame.address);
                (Within::File(file.filename, offset.is_some()), offset, &*file.last)
            }
            Place::Outside(space) => (Within::Space(name_of(space)), Some(frame.address), name_of(space)),
        };
        let id = *ids.entry((within, offset.unwrap_or(0))).or_insert(new);
        if id != new {
            return (id, None);
        }
        write_name(name, text, offset);
        let filename = if let Within::File(filename, _) = within { filename } else { 0 };
        let name = strings.id(name);
        (id, Some(proto::Function { id, name, system_name: name, filename, start_line: 0 }))
    }
}

impl Functions {
    fn next_id(&self) -> u64 {
        (self.ids.len() + self.known.len()) as u64 + 1
    }

    /// The number of a function that is known; with the function itself where it is new.
    pub fn of_symbol(
        &mut self,
        function: FunctionId,
        symbols: &Symbols,
        strings: &mut Strings,
    ) -> (u64, Option<proto::Function>) {
        let new = self.next_id();
        let id = *self.known.entry(function).or_insert(new);
        let Some(function) = symbols.function(function).filter(|_| id == new) else { return (id, None) };
        let mut text = |name| strings.id(&String::from_utf8_lossy(symbols.name(name)));
        let (name, system_name, filename) = (text(function.name), text(function.system_name), text(function.file));
        (id, Some(proto::Function { id, name, system_name, filename, start_line: function.start_line }))
    }
}

/// Whether a name is the one that is made up for an address, and tells no more than that does.
pub fn is_made_up(name: &str, map: Option<&Map>, address: u64) -> bool {
    let mut made_up = String::new();
    let Some(map) = map else {
        let spaces = [Space::Unknown, Space::Kernel, Space::Hypervisor, Space::GuestKernel, Space::GuestUser];
        return spaces.into_iter().any(|space| {
            write_name(&mut made_up, name_of(space), Some(address));
            made_up == name
        });
    };
    let is_inside = (map.start..map.limit).contains(&address);
    is_inside && {
        write_name(&mut made_up, &File::last_part(&map.filename), offset(map, address));
        made_up == name
    }
}

/// How far into its file an address is, where there is more than one place in it.
fn offset(map: &Map, address: u64) -> Option<u64> {
    let into = address - map.start;
    // What the kernel has in the place of a file offset is an address.
    let offset = if map.is_kernel() { into } else { into.wrapping_add(map.pgoff) };
    (map.limit - map.start > 1).then_some(offset)
}

/// What it is in, and how far into that.
fn write_name(name: &mut String, within: &str, offset: Option<u64>) {
    name.clear();
    name.push_str(within);
    if let Some(offset) = offset {
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
            let (mut strings, mut name) = (Strings::default(), String::new());
            write_name(&mut name, &File::new(&map, &mut strings).last, offset(&map, address));
            name
        };
        assert_eq!(name(Map::new(0x7000, 0x1000, 0x2000, b"/lib/libc.so.6", None), 0x7010), "libc.so.6+0x2010");
        let kernel = Map::new(0x8000, 0x1000, 0xffff_ffff_8100_0000, b"[kernel.kallsyms]_text", None);
        assert_eq!(name(kernel, 0x8020), "[kernel.kallsyms]_text+0x20");
        assert_eq!(name(Map::new(9 << 60, 1, 0, b"[lost]", None), 9 << 60), "[lost]");
        assert_eq!(name(Map::new(0, 0x100, 0, b"/", None), 1), "/+0x1");
        assert_eq!(name(Map::new(0, 0x100, 0, &[b'x'; 60_000], None), 1).len(), 512 + 4);
    }
}
