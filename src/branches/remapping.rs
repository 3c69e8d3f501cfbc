//! Code that a program moved to other memory, such as huge pages, at the addresses where its file was mapped.

use perf_data::abi;
use perf_data::abi::record::RecordType;
use perf_data::abi::record::mmap::Mmap;
use perf_data::abi::record::mmap2::Mmap2;
use perf_data::session::Session;
use perf_data::session::map::Map;
use perf_data::session::space::Space;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use std::fmt;
use std::str::FromStr;

/// Memory with this name has the code of this file, where it covers a mapping of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remapping {
    memory: String,
    file: String,
}

impl FromStr for Remapping {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once('=') {
            Some((memory, file)) if !memory.is_empty() && !file.is_empty() => {
                Ok(Self { memory: memory.to_owned(), file: file.to_owned() })
            }
            _ => Err("expected the name of memory and a file: //anon=/usr/bin/app".to_owned()),
        }
    }
}

impl fmt::Display for Remapping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.memory, self.file)
    }
}

impl Remapping {
    /// Whether a record maps the memory over the file. The mapping of the file then still says what the code is.
    pub(super) fn is_over_file(&self, session: &Session, meta: &Meta, raw: &Raw<'_>) -> bool {
        let (body, _) = meta.events.split(raw);
        let misc = raw.header().misc;
        let mapped = match raw.header().kind {
            RecordType::MMAP => {
                abi::parse(body, raw.endian(), ()).map(|(map, _): (Mmap, _)| (map.pid, map.addr, map.filename))
            }
            RecordType::MMAP2 => {
                abi::parse(body, raw.endian(), (misc,)).map(|(map, _): (Mmap2, _)| (map.pid, map.addr, map.filename))
            }
            _ => return false,
        };
        let Ok((pid, address, name)) = mapped else { return false };
        let is_memory = name.text() == self.memory.as_bytes();
        is_memory && session.map_at(pid, Space::User, address).is_some_and(|map| self.is_file(session.map(map)))
    }

    fn is_file(&self, map: &Map) -> bool {
        let path = Map::path_without_deleted(&map.filename);
        let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
        [path, name].contains(&self.file.as_bytes())
    }
}
