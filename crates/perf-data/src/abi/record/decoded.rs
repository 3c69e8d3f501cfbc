//! A decoded record.

use super::build_id::BuildId;
use super::{Body, Misc, RecordHeader, RecordType};
use crate::abi::Endian;
use crate::abi::attr::Attr;
use crate::abi::attr_flags::AttrFlags;
use crate::abi::fields::{FieldVisitor, MappingFields, TextField, TextPlace, TextRole, ignore_roles};
use crate::abi::sample::id::SampleId;
use crate::abi::sample::layout::SampleLayout;
use crate::abi::sample_type::SampleType;
use crate::abi::text::until_nul;
use binrw::{BinResult, BinWrite};
use std::io::Cursor;

/// Context for decoding a record: the byte order, and the properties of its event that determine the layout.
#[derive(Clone, Copy, Debug)]
pub struct RecordContext {
    /// Byte order.
    pub endian: Endian,
    /// Layout of samples and counter values.
    pub layout: SampleLayout,
    /// Whether kernel records other than SAMPLE end with a `sample_id`.
    pub sample_id_all: bool,
}

impl RecordContext {
    /// The context of records of an event.
    pub fn new(attr: &Attr, endian: Endian) -> Self {
        Self { endian, layout: attr.into(), sample_id_all: attr.flags.contains(AttrFlags::SAMPLE_ID_ALL) }
    }

    /// Offset of the `sample_id` in a record's body, if it has one.
    ///
    /// `perf inject -b` appends one to its HEADER_BUILD_ID records since perf 6.12. Zeros after the name are taken for padding.
    ///
    /// Unknown bits of `sample_type` may add a field to it: then it is one only if the other fields of the record end where it
    /// begins.
    pub(crate) fn trailer(&self, kind: RecordType, misc: Misc, body: &[u8]) -> Option<usize> {
        if !self.sample_id_all {
            return None;
        }
        let at = body.len().checked_sub(SampleId::size(self.layout.sample_type()))?;
        let has_one = kind.has_sample_id()
            || kind == RecordType::HEADER_BUILD_ID
                && BuildId::name_end(body) == Some(at)
                && body[at..].iter().any(|&byte| byte != 0);
        let is_certain = SampleType::KNOWN.contains(self.layout.sample_type());
        (has_one && (is_certain || self.fields_end(kind, misc, body) == Some(at))).then_some(at)
    }

    /// The offset in the body at which the fields of a record and their padding to a multiple of 8 end, if it had no `sample_id`.
    fn fields_end(&self, kind: RecordType, misc: Misc, body: &[u8]) -> Option<usize> {
        let (mut fields, tail) = Body::read(kind, misc, body, self);
        if matches!(fields, Body::Opaque(_)) {
            return None;
        }
        let mut padding = Padding(0);
        fields.visit_fields(&mut padding);
        Some((body.len() - tail.len() - padding.0).next_multiple_of(8))
    }
}

/// A decoded record, without loss: bytes beyond the definition are in `tail`, and what no definition covers is
/// [`Body::Opaque`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Header. Its size is that of the decoded record; encoding writes the actual size.
    pub header: RecordHeader,
    /// Its body.
    pub body: Body,
    /// Bytes beyond the definition of the body, mostly padding.
    pub tail: Vec<u8>,
    /// Trailer, with the fields selected by the event.
    pub id: Option<SampleId>,
}

impl Record {
    /// Decodes a record from exactly its bytes; `None` if they do not match its size.
    pub fn read(bytes: &[u8], context: &RecordContext) -> Option<Self> {
        let header = RecordHeader::peek(bytes, context.endian).filter(|header| header.len() == bytes.len())?;
        let mut body = bytes.get(RecordHeader::SIZE..)?;
        let mut id = None;
        if let Some(at) = context.trailer(header.kind, header.misc, body) {
            id = SampleId::read(&body[at..], context.layout.sample_type(), context.endian);
            body = &body[..at];
        }
        let (body, tail) = Body::read(header.kind, header.misc, body, context);
        Some(Self { header, body, tail: tail.to_vec(), id })
    }

    /// Encodes the record. An unchanged one gives the original bytes.
    ///
    /// # Errors
    /// If the record is larger than its header can represent.
    pub fn to_bytes(&self, endian: Endian) -> BinResult<Vec<u8>> {
        let mut out = Cursor::new(vec![0; RecordHeader::SIZE]);
        out.set_position(RecordHeader::SIZE as u64);
        self.body.write(&mut out, endian)?;
        self.tail.write_options(&mut out, endian, ())?;
        self.id.write_options(&mut out, endian, ())?;
        let len = out.get_ref().len();
        let Some(header) = self.header.with_len(len) else {
            let message = format!("a record of {len} bytes is too large for its header");
            return Err(binrw::Error::AssertFail { pos: 0, message });
        };
        out.set_position(0);
        header.write_options(&mut out, endian, ())?;
        Ok(out.into_inner())
    }
}

/// Number of bytes behind the NUL of the last text of a record, which takes all bytes to the end.
struct Padding(usize);

impl crate::abi::fields::InWorkspace for Padding {}

impl FieldVisitor for Padding {
    fn text(&mut self, _: TextRole<'_>, field: TextField<'_>) {
        if let TextPlace::Padded(text, _) = field.place {
            self.0 = text.as_bytes().len().saturating_sub(until_nul(text.as_bytes()).len() + 1);
        }
    }

    fn mapping(&mut self, mapping: MappingFields<'_>) {
        self.text(TextRole::Path, mapping.filename);
    }

    ignore_roles! {
        task, own_process, guest, time, elapsed, clock_origin, own_event_id, event_id, attr, command_line, address, code, callchain, inode, namespace, build_id, file_build_id, cgroup_id, bpf_tag, feature, tracing_data, opaque, unknown
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::sample_type::BranchSampleType;
    use crate::abi::testing::hex;
    use proptest::prelude::*;

    fn context(endian: Endian, sample_type: SampleType) -> RecordContext {
        RecordContext { endian, layout: SampleLayout::new(sample_type), sample_id_all: true }
    }

    #[test]
    fn a_record_is_header_body_tail_and_id() {
        let bytes = hex(
            "14000000 0100 3000 0010000000000000 0100 0200 90 ccc3 00 0000000000000000 01000000 02000000 3412000000000000",
        );
        let context = context(Endian::Little, SampleType::TID | SampleType::TIME | SampleType::IP);
        let mut record = Record::read(&bytes, &context).unwrap();
        assert_eq!((record.header.kind, record.header.misc.bits()), (RecordType::TEXT_POKE, 1));
        assert!(matches!(&record.body, Body::TextPoke(poke) if poke.new == [0xcc, 0xc3]));
        assert_eq!(record.tail, [0; 9]);
        assert_eq!(record.id.unwrap().time, Some(0x1234));
        assert_eq!(record.to_bytes(Endian::Little).unwrap(), bytes);
        record.tail.truncate(1);
        assert_eq!(record.to_bytes(Endian::Little).unwrap()[6..8], [40, 0], "the size follows");
        record.tail = vec![0; 1 << 16];
        assert!(record.to_bytes(Endian::Little).is_err());
    }

    #[test]
    fn a_record_too_short_for_its_trailer_has_none() {
        let bytes = hex("0e000000 0020 0c00 01020304");
        let record = Record::read(&bytes, &context(Endian::Little, SampleType::TID)).unwrap();
        assert_eq!((record.id, &record.tail[..]), (None, &[1, 2, 3, 4][..]));
        assert_eq!(record.to_bytes(Endian::Little).unwrap(), bytes);
        assert_eq!(Record::read(&bytes[..11], &context(Endian::Little, SampleType::TID)), None);
    }

    #[test]
    fn an_unknown_field_of_a_trailer_makes_it_bytes() {
        let known = SampleType::TID | SampleType::TIME;
        let unknown = context(Endian::Little, known | SampleType::from_bits_retain(1 << 25));
        let trailer = "01000000 02000000 0300000000000000";
        for body in ["03000000 01000000 05000000 02000000 0900000000000000", "05000000 06000000 'sh' 00 *6"] {
            let kind = if body.contains("sh") { "03" } else { "04" };
            for (added, is_known) in [("", true), ("0700000000000000", false), ("00 *8", false)] {
                let mut bytes = hex(&format!("{kind}000000 0000 0000 {body} {added} {trailer}"));
                bytes[6] = bytes.len() as u8;
                let record = Record::read(&bytes, &unknown).unwrap();
                assert_eq!(record.id.and_then(|id| id.time), is_known.then_some(3), "{body} {added}");
                assert_eq!(record.to_bytes(Endian::Little).unwrap(), bytes);
                assert!(Record::read(&bytes, &context(Endian::Little, known)).unwrap().id.is_some());
            }
        }
    }

    #[test]
    fn build_ids_of_perf_inject_have_trailers() {
        let context = context(Endian::Little, SampleType::TID | SampleType::TIME);
        for (trailer, is_one) in [("01000000 02000000 0300000000000000", true), ("00 *16", false)] {
            let bytes = hex(&format!("43000000 0280 4000 ffffffff 07 *20 14 00 *3 '/bin/cat.so' 00 {trailer}"));
            let record = Record::read(&bytes, &context).unwrap();
            assert_eq!(record.id.is_some(), is_one);
            assert!(matches!(&record.body, Body::HeaderBuildId(id) if id.filename.text() == b"/bin/cat.so"));
            assert_eq!(record.to_bytes(Endian::Little).unwrap(), bytes);
        }
    }

    #[test]
    fn unknown_types_are_opaque_and_simpleperf_sizes_have_32_bits() {
        let mut bytes = hex("01800000 01001000");
        bytes.resize(0x1_0010, 9);
        let record = Record::read(&bytes, &context(Endian::Little, SampleType::TID)).unwrap();
        assert!(matches!(&record.body, Body::Opaque(bytes) if bytes.len() == 0x1_0008));
        assert_eq!(record.to_bytes(Endian::Little).unwrap(), bytes);
    }

    /// Bytes that are likely to be small counts, lengths and kinds.
    fn body() -> impl Strategy<Value = Vec<u8>> {
        let byte = prop_oneof![6 => Just(0_u8), 2 => 0..=4_u8, 1 => Just(0xff), 1 => any::<u8>()];
        proptest::collection::vec(byte, 0..300)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1024))]

        #[test]
        fn arbitrary_bytes_are_reproduced(
            kind in prop_oneof![1..=22_u32, 64..=86_u32, any::<u32>()],
            misc: u16,
            body in body(),
            big: bool,
            sample_id_all: bool,
            sample_type in prop_oneof![0..1_u64 << 25, any::<u64>()],
            read_format in 0..32_u64,
            branch_sample_type in 0..1_u64 << 20,
            regs in 0..16_u64,
        ) {
            let endian = if big { Endian::Big } else { Endian::Little };
            let header = RecordHeader { kind: RecordType(kind), misc: Misc::from_bits_retain(misc), size: 0 };
            let header = header.with_len(RecordHeader::SIZE + body.len()).unwrap();
            let mut out = Cursor::new(Vec::new());
            header.write_options(&mut out, endian, ()).unwrap();
            let bytes = [out.into_inner(), body].concat();
            let layout = SampleLayout::new(SampleType::from_bits_retain(sample_type))
                .with_read_format(crate::abi::read_format::ReadFormat::from_bits_retain(read_format))
                .with_branch_sample_type(BranchSampleType::from_bits_retain(branch_sample_type))
                .with_regs(regs, regs);
            let record = Record::read(&bytes, &RecordContext { endian, layout, sample_id_all }).unwrap();
            prop_assert_eq!(record.to_bytes(endian).unwrap(), bytes);
        }
    }

    #[test]
    fn hostile_counts_make_a_record_opaque() {
        for kind in (1..=22).chain(64..=86) {
            let mut bytes = hex("00000000 0000 5800 ff *80");
            bytes[0] = kind;
            let context = context(Endian::Little, SampleType::CALLCHAIN);
            let record = Record::read(&bytes, &RecordContext { sample_id_all: false, ..context }).unwrap();
            let counted = [9, 16, 20, 22, 64, 66, 69, 72, 73, 75, 83, 84];
            assert_eq!(matches!(record.body, Body::Opaque(_)), counted.contains(&kind), "{:?}", record.body);
            assert_eq!(record.to_bytes(Endian::Little).unwrap(), bytes);
        }
    }
}
