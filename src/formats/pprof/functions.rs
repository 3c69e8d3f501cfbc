//! Functions of a profile. A frame without a symbol has a synthetic function named after its address, such as
//! `libc.so.6+0x2a1b0`, so that every consumer shows a name. All frames outside any mapping share one, `[unknown]`: in libraries
//! without frame pointers they are mostly not code, and differ in each stack.
//!
//! Mappings with only such frames do not set `has_functions`, so that pprof symbolizes them if it has the binaries.

use super::proto;
use super::strings::Strings;
use crate::profile::symbolize::symbols::{FunctionId, Symbols};
use crate::profile::{Frame, Place, Tables};
use hashbrown::HashMap;
use perf_data::session::map::{Map, cut_name};
use perf_data::session::space::Space;
use std::borrow::Cow;
use std::fmt::Write as _;

/// Interns functions.
#[derive(Default)]
pub(super) struct Functions {
    /// IDs of synthetic functions in files, by the string ID of the file's name and the offset; without offset if all addresses
    /// share one function.
    in_files: HashMap<(i64, Option<u64>), u64>,
    /// IDs of those outside any mapping, by name.
    outside: Vec<(&'static str, u64)>,
    /// IDs of symbolized functions.
    symbolized: HashMap<FunctionId, u64>,
    /// By mapping.
    files: Vec<Option<File>>,
    name: String,
}

/// A mapped file.
struct File {
    /// String ID of its name.
    filename: i64,
    /// Last component of the name.
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
    /// Returns the ID of a frame's synthetic function, and the function itself if it is new.
    pub(super) fn id(
        &mut self,
        frame: Frame,
        tables: &Tables,
        strings: &mut Strings,
    ) -> (u64, Option<proto::Function>) {
        let id = self.next_id();
        let Self { in_files, outside, files, name, .. } = self;
        let filename = match frame.place {
            Place::In(mapping) => {
                let (index, map) = (mapping as usize, &tables.mappings[mapping as usize]);
                if files.len() <= index {
                    files.resize_with(index + 1, || None);
                }
                let file = files[index].get_or_insert_with(|| File::new(map, strings));
                let offset = offset(map, frame.address);
                let existing = *in_files.entry((file.filename, offset)).or_insert(id);
                if existing != id {
                    return (existing, None);
                }
                write_name(name, &file.last, offset);
                file.filename
            }
            Place::Outside(space) => {
                let space = space_name(space);
                if let Some(&(_, existing)) = outside.iter().find(|(name, _)| *name == space) {
                    return (existing, None);
                }
                outside.push((space, id));
                write_name(name, space, None);
                0
            }
        };
        let name = strings.id(name);
        (id, Some(proto::Function { id, name, system_name: name, filename, start_line: 0 }))
    }

    fn next_id(&self) -> u64 {
        (self.in_files.len() + self.outside.len() + self.symbolized.len()) as u64 + 1
    }

    /// Returns the ID of a symbolized function, and the function itself if it is new.
    pub(super) fn symbolized_id(
        &mut self,
        function: FunctionId,
        symbols: &Symbols,
        strings: &mut Strings,
    ) -> (u64, Option<proto::Function>) {
        let new = self.next_id();
        let id = *self.symbolized.entry(function).or_insert(new);
        let Some(function) = symbols.function(function).filter(|_| id == new) else { return (id, None) };
        let mut text = |name| strings.id(&String::from_utf8_lossy(symbols.name(name)));
        let (name, system_name, filename) = (text(function.name), text(function.system_name), text(function.file));
        (id, Some(proto::Function { id, name, system_name, filename, start_line: function.start_line }))
    }
}

/// Whether a name is the synthetic one for this address, and thus carries no information.
pub(super) fn is_synthetic(name: &str, map: Option<&Map>, address: u64) -> bool {
    let mut synthetic = String::new();
    let Some(map) = map else {
        let spaces = [Space::Unknown, Space::Kernel, Space::Hypervisor, Space::GuestKernel, Space::GuestUser];
        return spaces.into_iter().any(|space| {
            // Earlier versions appended the address.
            write_name(&mut synthetic, space_name(space), Some(address));
            name == space_name(space) || synthetic == name
        });
    };
    let is_inside = (map.start..map.limit).contains(&address);
    is_inside && {
        write_name(&mut synthetic, &File::last_part(&map.filename), offset(map, address));
        synthetic == name
    }
}

/// Offset of an address in its file; `None` for mappings of one byte, which are placeholders.
fn offset(map: &Map, address: u64) -> Option<u64> {
    let into = address - map.start;
    // For the kernel, pgoff is an address, not a file offset.
    let offset = if map.is_kernel() { into } else { into.wrapping_add(map.pgoff) };
    (map.limit - map.start > 1).then_some(offset)
}

/// Formats a synthetic name: container, and offset in it.
fn write_name(name: &mut String, container: &str, offset: Option<u64>) {
    name.clear();
    name.push_str(container);
    if let Some(offset) = offset {
        let _ = write!(name, "+{offset:#x}");
    }
}

/// Name of an address space outside any mapping.
fn space_name(space: Space) -> &'static str {
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
    fn synthetic_names_are_file_and_offset() {
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
