//! The fast path and the general path are equivalent.

use super::{ORDINARY, append, scan};
use crate::formats::json::field_error::read;
use crate::formats::json::item::{InFrame, JsonItem};
use crate::formats::json::object::ParsedObject;
use crate::formats::json::render::{RecordInfo, any_record};
use crate::formats::json::render_queue::Decoding;
use binrw::BinWrite;
use perf_data::abi::Endian;
use perf_data::abi::record::{Misc, RecordContext, RecordHeader, RecordType};
use perf_data::abi::sample::layout::SampleLayout;
use perf_data::abi::sample_type::SampleType;
use perf_data::container::block::{Block, Origin};
use perf_data::stream::raw::Raw;
use proptest::collection::vec;
use proptest::prelude::*;
use std::io::Cursor;

/// A SAMPLE record of an event of that type, whose counts mostly fit.
#[derive(Clone, Debug)]
struct Written {
    bytes: Vec<u8>,
    info: RecordInfo,
}

impl Written {
    /// Its object by the fast path, if that supports it, and by the general path.
    fn rendered(&self) -> (Option<Vec<u8>>, Vec<u8>) {
        let endian = self.info.context.endian;
        let block = Block {
            bytes: self.bytes.clone().into(),
            source: 0,
            base: 0,
            origin: Origin::File,
            in_memory: true,
            serial: 0,
        };
        let header = RecordHeader::peek(&self.bytes, endian).expect("it has a header");
        let raw = Raw::new(header, endian, &block, 0, 0).expect("the record is the block");
        let (mut short, mut long) = (Vec::new(), Vec::new());
        let is_short = append(&mut short, &raw, &self.info);
        any_record(&mut long, &raw, &self.info, &Decoding::default()).expect("it is a record");
        assert!(is_short || short.is_empty());
        (is_short.then_some(short), long)
    }
}

prop_compose! {
    fn sample()(
        fields in 0..1_u64 << 25,
        other in any::<bool>(),
        misc in prop_oneof![0..6_u16, (0..8_u16).prop_map(|mode| mode | Misc::EXACT_IP.bits()), any::<u16>()],
        words in vec(prop_oneof![0..9_u64, any::<u64>(), (any::<u64>(), 0..64).prop_map(|(word, by)| word >> by)], 24),
        chain in vec(any::<u64>(), 0..5),
        data in vec(any::<u8>(), 0..5),
        tail in prop_oneof![9 => Just(0), 1 => 1..9_usize],
        frame in any::<Option<u64>>(),
        big: bool,
    ) -> Written {
        let endian = if big { Endian::Big } else { Endian::Little };
        let ordinary = SampleType::from_bits_retain(fields & ORDINARY.bits());
        let sample_type = if other { SampleType::from_bits_retain(fields) } else { ordinary };
        let put = |word: u64| if big { word.to_be_bytes() } else { word.to_le_bytes() };
        let lists = SampleType::CALLCHAIN | SampleType::RAW;
        let count = (ordinary.bits() & !lists.bits()).count_ones() as usize;
        let mut body: Vec<u8> = words[..count].iter().flat_map(|&word| put(word)).collect();
        if ordinary.contains(SampleType::CALLCHAIN) {
            body.extend(put(chain.len() as u64));
            chain.iter().for_each(|&ip| body.extend(put(ip)));
        }
        if ordinary.contains(SampleType::RAW) {
            let size = data.len() as u32;
            body.extend(if big { size.to_be_bytes() } else { size.to_le_bytes() });
            body.extend(&data);
        }
        body.resize(body.len() + tail, 1);
        let header = RecordHeader { kind: RecordType::SAMPLE, misc: Misc::from_bits_retain(misc), size: 0 };
        let header = header.with_len(RecordHeader::SIZE + body.len()).expect("it is short");
        let mut bytes = Cursor::new(Vec::new());
        header.write_options(&mut bytes, endian, ()).expect("it is written to memory");
        let layout = SampleLayout::new(sample_type);
        let context = RecordContext { endian, layout, sample_id_all: true };
        let info = RecordInfo { context, nr: None, frame, tracepoint: None, stack: None, ibs: None };
        Written { bytes: [bytes.into_inner(), body].concat(), info }
    }
}

/// Parses an object by the general path.
fn by_definition(json: &str, endian: Endian) -> Option<(JsonItem, Vec<u8>)> {
    let mut bytes = Vec::new();
    let object: ParsedObject<'_> = read(json).ok()?;
    JsonItem::from_object(object, Some(endian), &mut bytes).ok().map(|item| (item, bytes))
}

/// Whether `scan` accepts an object; if so, it must equal the result of the general path.
fn is_same(json: &str, endian: Endian) -> Result<bool, TestCaseError> {
    let mut bytes = vec![7];
    let Some(scanned) = scan(json.as_bytes(), endian, &mut bytes) else {
        prop_assert_eq!(bytes, [7]);
        return Ok(false);
    };
    let (item, expected) =
        by_definition(&json[..scanned.len], endian).expect("the general path accepts what scan accepts");
    prop_assert_eq!(&bytes[1..], &expected);
    let JsonItem::Record { frame, described, .. } = item else { panic!("expected a record") };
    prop_assert_eq!(scanned.is_in_frame, frame == InFrame::Inside);
    let described = described.expect("the record has fields");
    prop_assert_eq!((scanned.fields, true), (described.fields, described.is_all));
    Ok(true)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2048))]

    #[test]
    fn fast_path_matches_the_general_path(sample in sample()) {
        let (short, long) = sample.rendered();
        if let Some(short) = &short {
            prop_assert_eq!(String::from_utf8_lossy(short), String::from_utf8_lossy(&long));
        }
        let json = String::from_utf8(long).expect("JSON is UTF-8");
        let is_read = is_same(&json, sample.info.context.endian)?;
        prop_assert!(is_read || short.is_none(), "the fast path writes {} but does not read it", json);
    }

    #[test]
    fn fast_path_rejects_or_reads_edited_objects_like_the_general_path(
        sample in sample(),
        at: prop::sample::Index,
        len in 0..3_usize,
        by in "[\\[\\]{}:,\"a-f0-9x\\\\u .eE-]{0,2}",
    ) {
        let (_, long) = sample.rendered();
        let mut json = String::from_utf8(long).expect("JSON is UTF-8");
        let at = at.index(json.len());
        json.replace_range(at..(at + len).min(json.len()), &by);
        is_same(&json, sample.info.context.endian)?;
    }
}

#[test]
fn ordinary_samples_take_the_fast_path() {
    let line = r#"{"record":"SAMPLE","frame":3,"cpumode":"USER","misc":["EXACT_IP"],"body":{"identifier":"18446744073709551615","ip":"0x7f","task":{"pid":1,"tid":2},"time":5,"addr":"0x0","id":6,"stream_id":7,"cpu":{"cpu":0,"res":0},"period":1,"callchain":{"ips":["0xfffffffffffffe00","0x7f"]},"raw":{"data":"AQIDBA=="}}}"#;
    let mut bytes = Vec::new();
    let scanned = scan(line.as_bytes(), Endian::Little, &mut bytes).expect("it is ordinary");
    assert_eq!((scanned.len, scanned.fields, scanned.is_in_frame), (line.len(), ORDINARY, true));
    let layout = SampleLayout::new(ORDINARY);
    let context = RecordContext { endian: Endian::Little, layout, sample_id_all: true };
    let info = RecordInfo { context, nr: None, frame: Some(3), tracepoint: None, stack: None, ibs: None };
    let (short, _) = Written { bytes, info }.rendered();
    assert_eq!(String::from_utf8(short.expect("it is ordinary")).unwrap(), line);
    for error in [
        "",
        "{\"record\":\"SAMPLE\",",
        &line[..line.len() - 1],
        &line.replace("0x7f", "0x7F"),
        &line.replace(":5", ":05"),
    ] {
        assert_eq!(scan(error.as_bytes(), Endian::Little, &mut Vec::new()), None, "{error}");
    }
}
