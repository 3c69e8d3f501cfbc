//! Feature EVENT_DESC.

use super::string::PerfStr;
use crate::abi::Endian;
use crate::abi::attr::Attr;
use crate::abi::bytes::Reader;

/// An event as EVENT_DESC tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventDesc {
    /// How it was opened.
    pub attr: Attr,
    /// Its name, as given to perf, with modifiers.
    pub name: PerfStr,
    /// Its ids, one for each CPU or thread.
    pub ids: Vec<u64>,
}

/// Reads the section.
///
/// ```c
/// u32 nr, attr_size;
/// struct { perf_event_attr attr; u32 nr_ids; string name; u64 ids[nr_ids]; } events[nr];
/// ```
/// `None` where the counts do not fit the bytes.
pub fn read(bytes: &[u8], endian: Endian) -> Option<Vec<EventDesc>> {
    let mut reader = Reader::new(bytes, endian);
    let (nr, attr_size) = (reader.u32()?, reader.u32()?);
    let mut events = Vec::new();
    for _ in 0..nr {
        let attr = Attr::read(reader.take(attr_size as usize)?, endian).ok()?;
        let nr_ids = reader.u32()?;
        let (name, used) = crate::abi::parse::<PerfStr>(reader.rest(), endian, ()).ok()?;
        reader.take(used)?;
        let ids = reader.words(nr_ids.into())?.iter().collect();
        events.push(EventDesc { attr, name, ids });
    }
    Some(events)
}
