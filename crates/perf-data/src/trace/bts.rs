//! Branch Trace Store (BTS) of Intel: an array of the branches that a thread or a CPU took.
//!
//! ```c
//! u64 from, to;                   // 0 where tracing began or ended
//! u64 flags;                      // bit 4: predicted
//! ```
//! Without times. The source is the Intel 64 and IA-32 Architectures Software Developer's Manual, section "BTS and DS Save Area".

use std::fmt;

/// A branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BtsRecord {
    /// Address of the branch.
    pub from: u64,
    /// Its target.
    pub to: u64,
    /// Flags.
    pub flags: u64,
}

impl BtsRecord {
    /// Number of bytes.
    pub const SIZE: usize = 24;

    /// Whether the target was predicted.
    pub fn is_predicted(self) -> bool {
        self.flags & 1 << 4 != 0
    }
}

/// The branch in words: `0x400100 -> 0x400200 predicted`.
impl fmt::Display for BtsRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prediction = if self.is_predicted() { "predicted" } else { "mispredicted" };
        write!(f, "{:#x} -> {:#x} {prediction}", self.from, self.to)
    }
}

/// The branches of a trace, and the number of bytes of a truncated one at its end.
pub fn bts_records(trace: &[u8]) -> (impl ExactSizeIterator<Item = BtsRecord>, usize) {
    let (records, rest) = trace.as_chunks::<{ BtsRecord::SIZE }>();
    let record = |bytes: &[u8; BtsRecord::SIZE]| {
        let (words, _) = bytes.as_chunks();
        BtsRecord {
            from: u64::from_le_bytes(words[0]),
            to: u64::from_le_bytes(words[1]),
            flags: u64::from_le_bytes(words[2]),
        }
    };
    (records.iter().map(record), rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_those_of_the_array() {
        let words: [u64; 6] = [0x40_0100, 0x40_0200, 0x10, 0x40_0210, 0, 0];
        let mut trace: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        trace.extend([1; 7]);
        let (records, rest) = bts_records(&trace);
        let texts: Vec<_> = records.map(|record| record.to_string()).collect();
        assert_eq!(texts, ["0x400100 -> 0x400200 predicted", "0x400210 -> 0x0 mispredicted"]);
        assert_eq!((rest, bts_records(&[]).1, bts_records(&[0; 24]).0.len()), (7, 0, 1));
    }
}
