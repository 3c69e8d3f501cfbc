//! Hardware traces of any bytes, through the decoders of packets, records and metadata.

use perf_data::abi::record::time_conv::{TimeConv, TimeConvShort};
use perf_data::trace::bts::{BtsRecord, bts_records};
use perf_data::trace::clock::nanoseconds;
use perf_data::trace::spe::data_source::data_source;
use perf_data::trace::spe::details::SpeDetails;
use perf_data::trace::spe::metadata::SpeMetadata;
use perf_data::trace::spe::packet::SpePackets;
use perf_data::trace::spe::record::SpeRecords;

/// Models of CPUs with numbers of data sources: Neoverse N1, AmpereOne, HIP12.
const MODELS: [u64; 3] = [0x413f_d0c1, 0xc00f_ac41, 0x480f_d061];

/// Decodes bytes as a trace of Arm SPE: every byte is that of a packet or an error, and of a record, padding or damage.
pub fn trace(bytes: &[u8]) {
    let mut packets = SpePackets::new(bytes);
    let mut offset = 0;
    while let Some(packet) = packets.next() {
        assert!(packets.offset() > offset && packets.offset() <= bytes.len());
        offset = packets.offset();
        let text = packet.map_or_else(|error| error.to_string(), |packet| packet.to_string());
        assert!(!text.is_empty() && text.len() < 600, "{text}");
    }
    assert_eq!(offset, bytes.len());

    // Also a part of them, as of a snapshot that repeats the end of another.
    for start in [0, bytes.len() / 2] {
        let mut records = SpeRecords::at(bytes, start);
        let mut count = 0;
        for record in records.by_ref() {
            count += 1;
            let details = SpeDetails::from(&record);
            assert_eq!(SpeDetails::decode(&details.encode()), Some(details));
            for midr in MODELS.map(Some).into_iter().chain([None]) {
                let source = data_source(&record, midr);
                let is_access = record.operation.is_some_and(|operation| operation.is_memory_access());
                assert_eq!(source.0 != 0, is_access);
            }
        }
        let coverage = records.coverage();
        assert_eq!(coverage.bytes(), (bytes.len() - start) as u64);
        assert_eq!(coverage.records, count);
    }

    let (branches, rest) = bts_records(bytes);
    assert_eq!(branches.len() * BtsRecord::SIZE + rest, bytes.len());
    assert!(branches.into_iter().all(|branch| branch.to_string().len() < 100));

    let words: Vec<_> =
        bytes.chunks_exact(8).filter_map(|word| Some(u64::from_le_bytes(word.try_into().ok()?))).collect();
    let metadata = SpeMetadata::parse(&words);
    assert!(metadata.midr.len() <= words.len());
    if let [time_shift, time_mult, time_zero, time_cycles, time_mask, ticks, ..] = words[..] {
        let short = TimeConvShort {
            time_cycles,
            time_mask,
            cap_user_time_zero: 1,
            cap_user_time_short: ticks as u8 & 1,
            reserved: [0; 6],
        };
        nanoseconds(&TimeConv { time_shift, time_mult, time_zero, short: Some(short) }, ticks);
    }
}
