//! What both directions know of the events of a recording. They come to know it by the same bytes, so that they make the same
//! of the same messages.

use crate::abi::Endian;
use crate::abi::attr::Attr;
use crate::abi::bytes::Reader;
use crate::abi::record::{RecordHeader, RecordType};
use crate::container::read::file::FileAttr;
use crate::stream::events::Events;

/// The events of a file: all that its messages tell.
pub fn events_of_file(list: &[FileAttr]) -> Events {
    let mut events = Events::default();
    list.iter().for_each(|event| events.add(event.attr.clone(), event.ids.clone()));
    events
}

/// Takes the event that a record of a pipe tells, if it does.
pub fn take_event(record: &[u8], events: &mut Events, endian: Endian) -> Option<()> {
    let header = RecordHeader::peek(record, endian).filter(|header| header.kind == RecordType::HEADER_ATTR)?;
    let body = record.get(RecordHeader::SIZE..header.len())?;
    let (attr, ids) = body.split_at_checked(Attr::declared_size(body, endian)?)?;
    let attr = Attr::read(attr, endian).ok()?;
    let ids = Reader::new(ids, endian).words(ids.len() as u64 / 8)?.iter().collect();
    events.add_or_extend(attr, ids);
    Some(())
}
