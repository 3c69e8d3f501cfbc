//! Rules across records: rounds, compressed frames, the AUXTRACE index.

use perf_data::abi::feature::auxtrace::AuxtraceIndexEntry;
use std::collections::BTreeMap;

/// Tracks FINISHED_ROUND records. At the end of a round perf processes records up to the newest time of the round before it; a
/// later record must not be older than that.
#[derive(Default)]
pub(super) struct Rounds {
    newest: u64,
    newest_of_finished: u64,
    processed: u64,
}

impl Rounds {
    /// Adds the time of a record. Returns by how many nanoseconds it is too late, if it is.
    pub(super) fn record(&mut self, time: u64) -> Option<u64> {
        self.newest = self.newest.max(time);
        self.processed.checked_sub(time).filter(|&late| late > 0)
    }

    /// Ends a round.
    pub(super) fn finish(&mut self) {
        self.processed = self.newest_of_finished;
        self.newest_of_finished = self.newest;
    }
}

/// Size of the contents of a compressed frame.
#[derive(Default)]
pub(super) struct CompressedFrame {
    /// Bytes of the records in the frame, without the first, which may have begun in the frame before.
    bytes: usize,
    begun: bool,
}

impl CompressedFrame {
    /// Adds a record of the frame. Returns the size when it exceeds `mmap_len` for the first time.
    pub(super) fn record(&mut self, len: usize, mmap_len: u32) -> Option<usize> {
        let before = self.bytes;
        if self.begun {
            self.bytes += len;
        }
        self.begun = true;
        let limit = mmap_len as usize;
        (self.bytes > limit && before <= limit).then_some(self.bytes)
    }
}

/// AUXTRACE records that were read: size by offset.
#[derive(Default)]
pub(super) struct AuxtraceRecords(BTreeMap<u64, u64>);

impl AuxtraceRecords {
    /// Adds a record.
    pub(super) fn add(&mut self, offset: u64, size: u64) {
        self.0.insert(offset, size);
    }

    /// Compares an index with the records, and reports each difference with its offset.
    pub(super) fn compare(mut self, index: &[AuxtraceIndexEntry], mut report: impl FnMut(u64, String)) {
        for entry in index {
            match self.0.remove(&entry.file_offset) {
                Some(size) if size == entry.sz => {}
                Some(size) => report(
                    entry.file_offset,
                    format!("the AUXTRACE index gives this record {} bytes, but it has {size}", entry.sz),
                ),
                None => report(entry.file_offset, "the AUXTRACE index lists a record here, but there is none".into()),
            }
        }
        for offset in self.0.into_keys() {
            report(offset, "the AUXTRACE index does not list this record".into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_may_be_older_than_the_last_round_but_not_than_the_one_before() {
        let mut rounds = Rounds::default();
        assert_eq!(rounds.record(100), None);
        assert_eq!(rounds.record(50), None, "any order within a round");
        rounds.finish();
        assert_eq!(
            (rounds.record(90), rounds.record(200)),
            (None, None),
            "perf processes nothing after the first round"
        );
        rounds.finish();
        assert_eq!((rounds.record(100), rounds.record(97)), (None, Some(3)));
    }

    #[test]
    fn an_auxtrace_index_must_list_all_records_and_no_others() {
        let mut records = AuxtraceRecords::default();
        [(100, 48), (300, 48), (500, 48)].into_iter().for_each(|(offset, size)| records.add(offset, size));
        let index = [(100, 48), (200, 48), (300, 56)];
        let index = index.map(|(file_offset, sz)| AuxtraceIndexEntry { file_offset, sz });
        let mut reported = Vec::new();
        records.compare(&index, |offset, _| reported.push(offset));
        assert_eq!(reported, [200, 300, 500]);
    }
}
