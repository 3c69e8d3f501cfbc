//! The rules that records have to keep together: rounds, frames, the AUXTRACE index.

use crate::abi::feature::auxtrace::AuxtraceIndexEntry;
use std::collections::BTreeMap;

/// Follows FINISHED_ROUND records. What one lets pass is at most as new as the newest record of the round before it, and
/// what comes behind it has to be newer than that.
#[derive(Default)]
pub struct Rounds {
    newest: u64,
    newest_of_finished: u64,
    passed_on: u64,
}

impl Rounds {
    /// Takes a record's time, and says by how many nanoseconds it comes too late.
    pub fn record(&mut self, time: u64) -> Option<u64> {
        self.newest = self.newest.max(time);
        self.passed_on.checked_sub(time).filter(|&late| late > 0)
    }

    /// Takes the end of a round.
    pub fn finish(&mut self) {
        self.passed_on = self.newest_of_finished;
        self.newest_of_finished = self.newest;
    }
}

/// Measures what is in each frame.
#[derive(Default)]
pub struct Frame {
    /// Bytes in the frame, without the record that may have begun in one before it.
    bytes: usize,
    begun: bool,
}

impl Frame {
    /// Takes a record in the frame, and says how much there is where that is beyond `mmap_len` for the first time.
    pub fn record(&mut self, len: usize, mmap_len: u32) -> Option<usize> {
        let before = self.bytes;
        if self.begun {
            self.bytes += len;
        }
        self.begun = true;
        let limit = mmap_len as usize;
        (self.bytes > limit && before <= limit).then_some(self.bytes)
    }
}

/// The AUXTRACE records that were read, by their offset: the size of each.
#[derive(Default)]
pub struct AuxtraceRecords(BTreeMap<u64, u64>);

impl AuxtraceRecords {
    /// Takes a record.
    pub fn add(&mut self, offset: u64, size: u64) {
        self.0.insert(offset, size);
    }

    /// What of an index does not agree with the records, with the offset that it is about.
    pub fn compare(mut self, index: &[AuxtraceIndexEntry], mut report: impl FnMut(u64, String)) {
        for entry in index {
            match self.0.remove(&entry.file_offset) {
                Some(size) if size == entry.sz => {}
                Some(size) => report(
                    entry.file_offset,
                    format!("the index gives the AUXTRACE record here {} bytes, it has {size}", entry.sz),
                ),
                None => report(entry.file_offset, "the index tells an AUXTRACE record here, there is none".into()),
            }
        }
        for offset in self.0.into_keys() {
            report(offset, "the index does not tell the AUXTRACE record here".into());
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
        assert_eq!(rounds.record(50), None, "in a round any order will do");
        rounds.finish();
        assert_eq!((rounds.record(90), rounds.record(200)), (None, None), "the first round lets nothing pass");
        rounds.finish();
        assert_eq!((rounds.record(100), rounds.record(97)), (None, Some(3)));
    }

    #[test]
    fn an_index_has_to_tell_all_records_and_no_others() {
        let mut records = AuxtraceRecords::default();
        [(100, 48), (300, 48), (500, 48)].into_iter().for_each(|(offset, size)| records.add(offset, size));
        let index = [(100, 48), (200, 48), (300, 56)];
        let index = index.map(|(file_offset, sz)| AuxtraceIndexEntry { file_offset, sz });
        let mut told = Vec::new();
        records.compare(&index, |offset, _| told.push(offset));
        assert_eq!(told, [200, 300, 500]);
    }
}
