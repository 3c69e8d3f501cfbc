//! Feature EVENT_DESC.

use super::FeatureId;
use super::descriptor::{FeatureDescriptor, FeatureFlags};
use super::string::PerfStr;
use crate::abi::attr::Attr;
use crate::abi::fields::{EventRef, FieldVisitor, TextField, TextRole, VisitFields};
use crate::abi::{self, Endian, counted};
use binrw::binrw;
use serde::{Deserialize, Serialize};

/// Descriptions of the events. Since perf 3.2.
///
/// ```c
/// u32 nr, attr_size;
/// struct { perf_event_attr attr; u32 nr_ids; string name; u64 ids[nr_ids]; } events[nr];
/// ```
#[binrw]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventDescs {
    #[br(temp)]
    #[bw(calc = events.len() as u32)]
    nr: u32,
    /// Size of each attr.
    pub attr_size: u32,
    /// The events.
    #[br(parse_with = counted::items_with, args(nr.into(), attr_size as usize))]
    pub events: Vec<EventDesc>,
}

/// Description of an event.
#[binrw]
#[br(import_raw(attr_size: usize))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventDesc {
    /// The attr that it was opened with.
    #[br(args_raw = attr_size)]
    pub attr: Attr,
    #[br(temp)]
    #[bw(calc = ids.len() as u32)]
    nr_ids: u32,
    /// Name, as passed to perf, with modifiers.
    pub name: PerfStr,
    /// IDs, one for each CPU or thread.
    #[br(parse_with = counted::u64s, args(nr_ids.into()))]
    pub ids: Vec<u64>,
}

/// Decodes the section; `None` if its counts do not fit its size.
pub fn read(bytes: &[u8], endian: Endian) -> Option<Vec<EventDesc>> {
    abi::parse::<EventDescs>(bytes, endian, ()).ok().map(|(descs, _)| descs.events)
}

/// Descriptor of EVENT_DESC.
pub const EVENT_DESC: FeatureDescriptor =
    FeatureDescriptor::recording(FeatureId::EVENT_DESC, (3, 2)).with(FeatureFlags::DERIVED);

impl VisitFields for EventDescs {
    fn visit_fields(&mut self, visitor: &mut dyn FieldVisitor) {
        let Self { attr_size, events } = self;
        events.visit_fields(visitor);
        // All attrs have the same size.
        match events.first() {
            Some(event) => *attr_size = event.attr.stored_size() as u32,
            None => visitor.opaque(attr_size),
        }
    }
}

impl VisitFields for EventDesc {
    fn visit_fields(&mut self, visitor: &mut dyn FieldVisitor) {
        let Self { attr, name, ids } = self;
        visitor.text(TextRole::Event(EventRef::Attr(attr)), TextField::new("name", name));
        visitor.attr(attr);
        ids.iter_mut().for_each(|id| visitor.event_id(id));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::testing::{hex, to_bytes};

    #[test]
    fn bytes() {
        for (endian, front, ids) in [
            (Endian::Little, "01000000 40000000 01000000 40000000", "02000000 04000000 'cpu' 00 07 00 *7 08 00 *7"),
            (Endian::Big, "00000001 00000040 00000001 00000040", "00000002 00000004 'cpu' 00 00 *7 07 00 *7 08"),
        ] {
            let bytes = hex(&format!("{front} 00 *56 {ids}"));
            let (descs, used): (EventDescs, usize) = abi::parse(&bytes, endian, ()).unwrap();
            let event = &descs.events[0];
            assert_eq!((event.attr.kind.0, event.attr.size, event.name.text()), (1, 64, &b"cpu"[..]));
            assert_eq!((&event.ids[..], used), (&[7, 8][..], bytes.len()));
            assert_eq!(to_bytes(&descs, endian), bytes);
            assert_eq!(read(&bytes[..bytes.len() - 1], endian), None);
        }
    }
}
