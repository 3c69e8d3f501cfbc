//! A template for samples that differ only in address and time.

use perf_data::abi::Endian;
use perf_data::abi::bytes::Integer;
use perf_data::abi::record::RecordHeader;

/// An encoded SAMPLE record with the offsets of its address and time words.
#[derive(Clone, Debug)]
pub struct Template {
    pub(super) header: RecordHeader,
    bytes: Vec<u8>,
    /// Offsets of the words.
    ip: Vec<usize>,
    time: Vec<usize>,
}

impl Template {
    /// Two pairs of marker values that locate the words. No two of the values are equal.
    pub(super) const VALUES: [[u64; 2]; 2] =
        [[0x1357_9bdf_0246_8ace, 0x0123_4567_89ab_cdef], [0x2468_ace0_1357_9bdf, 0x0fed_cba9_8765_4321]];

    /// Compares a record encoded with the first [values](Self::VALUES) to one encoded with the second.
    pub(super) fn new(header: RecordHeader, bytes: Vec<u8>, other: &[u8], endian: Endian) -> Self {
        let (mut ip, mut time) = (Vec::new(), Vec::new());
        let (words, _) = bytes.as_chunks::<8>();
        for (number, (word, other)) in words.iter().zip(other.as_chunks::<8>().0).enumerate() {
            let [was_ip, was_time] = Self::VALUES[0].map(|value| value.to_bytes(endian));
            match word {
                _ if word == other => {}
                word if *word == was_ip => ip.push(8 * number),
                word if *word == was_time => time.push(8 * number),
                _ => {}
            }
        }
        Self { header, bytes, ip, time }
    }

    /// Appends the record with an address and a time.
    pub(super) fn write(&self, ip: u64, time: u64, endian: Endian, out: &mut Vec<u8>) {
        let at = out.len();
        out.extend_from_slice(&self.bytes);
        for (offsets, value) in [(&self.ip, ip), (&self.time, time)] {
            for offset in offsets {
                out[at + offset..at + offset + 8].copy_from_slice(&value.to_bytes(endian));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perf_data::abi::record::{Misc, RecordType};

    #[test]
    fn locates_changing_words() {
        for endian in [Endian::Little, Endian::Big] {
            let record = |[ip, time]: [u64; 2]| [7, ip, 8, time, ip].map(|word| word.to_bytes(endian)).concat();
            let header = RecordHeader { kind: RecordType::SAMPLE, misc: Misc::empty(), size: 40 };
            let template = Template::new(header, record(Template::VALUES[0]), &record(Template::VALUES[1]), endian);
            let mut out = vec![1];
            template.write(5, 6, endian, &mut out);
            assert_eq!(out[1..], record([5, 6]));
        }
    }
}
