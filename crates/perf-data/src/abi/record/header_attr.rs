//! `PERF_RECORD_HEADER_ATTR` and `PERF_RECORD_HEADER_EVENT_TYPE`: events, in a pipe.

use super::RecordType;
use super::descriptor::{RecordDescriptor, RecordFlags};
use crate::abi::attr::Attr;
use crate::abi::counted;
use crate::abi::fields::{FieldVisitor, TextField, TextPlace, TextRole, VisitFields};
use crate::abi::text::PaddedStr;
use crate::roles;
use binrw::binrw;
use serde::{Deserialize, Serialize};

/// An event with its IDs, as in the attrs section of a file.
///
/// ```c
/// struct perf_event_attr attr; u64 id[];
/// ```
#[binrw]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeaderAttr {
    /// `type` and `size` of the attr, decoded in advance.
    #[br(temp, restore_position)]
    #[bw(ignore)]
    front: [u32; 2],
    /// The attr, with the length of its size field.
    #[br(args_raw = Attr::size_or_default(front[1]))]
    pub attr: Attr,
    /// IDs, one for each CPU or thread.
    #[br(parse_with = counted::u64s_to_end)]
    pub ids: Vec<u64>,
}

/// Name of a tracepoint, in a very old pipe.
///
/// ```c
/// u64 event_id; char name[];
/// ```
#[binrw]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeaderEventType {
    /// The `config` of the event.
    pub event_id: u64,
    /// Name.
    pub name: PaddedStr,
}

/// Alignment of names in perf.
const NAME_ALIGN: usize = 64;

/// Descriptor of HEADER_ATTR.
pub const HEADER_ATTR: RecordDescriptor =
    RecordDescriptor::state(RecordType::HEADER_ATTR, (2, 6), 72).with(RecordFlags::HEADER);

/// Descriptor of HEADER_EVENT_TYPE.
pub const HEADER_EVENT_TYPE: RecordDescriptor =
    RecordDescriptor::state(RecordType::HEADER_EVENT_TYPE, (2, 6), 8).with(RecordFlags::HEADER);

roles! { HeaderAttr { attr: attr, ids: event_ids } }

impl VisitFields for HeaderEventType {
    fn visit_fields(&mut self, visitor: &mut dyn FieldVisitor) {
        let Self { event_id: _, name } = self;
        visitor.text(TextRole::Tracepoint, TextField::new("name", TextPlace::Padded(name, NAME_ALIGN)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::testing::{both_orders, hex, to_bytes};
    use crate::abi::{self, Endian};

    #[test]
    fn bytes() {
        let name = PaddedStr::new(b"cycles", 8);
        both_orders(
            &HeaderEventType { event_id: 2, name },
            (),
            "0200000000000000 'cycles' 0000",
            "0000000000000002 'cycles' 0000",
        );
    }

    #[test]
    fn the_length_of_the_attr_is_its_size_field() {
        for (endian, front, size, id) in [
            (Endian::Little, "01000000 00000000 0300000000000000", 64, "0900000000000000"),
            (Endian::Little, "01000000 48000000 0300000000000000", 72, "0900000000000000"),
            (Endian::Big, "00000001 00000048 0000000000000003", 72, "0000000000000009"),
        ] {
            let bytes = hex(&format!("{front} 00 *{} {id}", size - 16));
            let (record, used): (HeaderAttr, usize) = abi::parse(&bytes, endian, ()).unwrap();
            assert_eq!((record.attr.config, &record.ids[..], used), (3, &[9][..], bytes.len()));
            assert_eq!(to_bytes(&record, endian), bytes);
        }
        let too_small = hex("01000000 3f000000 00 *100");
        assert!(abi::parse::<HeaderAttr>(&too_small, Endian::Little, ()).is_err());
        let too_large = hex("01000000 ffffffff 00 *100");
        assert!(abi::parse::<HeaderAttr>(&too_large, Endian::Little, ()).is_err());
    }
}
