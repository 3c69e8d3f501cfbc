//! Shifts records: to later times, other processes and other user addresses.

use crate::recording::{Recording, kind, word};

const IP: u64 = 1 << 0;
const TID: u64 = 1 << 1;
const TIME: u64 = 1 << 2;
const ADDR: u64 = 1 << 3;
const READ: u64 = 1 << 4;
const CALLCHAIN: u64 = 1 << 5;
const ID: u64 = 1 << 6;
const CPU: u64 = 1 << 7;
const PERIOD: u64 = 1 << 8;
const STREAM_ID: u64 = 1 << 9;
const IDENTIFIER: u64 = 1 << 16;

/// Distance between two copies. Small enough that a thousand copies stay in user space, and a multiple of every page size.
const ADDRESSES: u64 = 1 << 28;
/// User addresses below are shifted up, those above down, so that neither end of user space is crossed.
const MIDDLE: u64 = 1 << 46;
const KERNEL: u64 = 1 << 63;

/// The distance between two copies, and the layout of the fields to shift.
pub(crate) struct Shift {
    time: u64,
    pids: u32,
    sample_type: u64,
    sample_id_all: bool,
}

impl Shift {
    /// Chooses distances large enough that neither times nor processes of two copies overlap.
    pub(crate) fn of(recording: &Recording) -> Shift {
        let Recording { sample_type, sample_id_all, .. } = *recording;
        let mut shift = Shift { time: 0, pids: 0, sample_type, sample_id_all };
        let (mut first, mut last, mut pids) = (u64::MAX, 0, 0);
        for record in recording.records().filter(|record| kind(record) < kind::FIRST_USER) {
            if let Some(time) = shift.time_of(record).filter(|time| is_time(*time)) {
                (first, last) = (first.min(time), last.max(time));
            }
            if matches!(kind(record), kind::COMM | kind::FORK | kind::MMAP2) {
                let words = [8, 12].map(|at| half(record, at)).into_iter().flatten();
                pids = words.filter(|pid| *pid != u32::MAX).fold(pids, u32::max);
            }
        }
        shift.time = last.saturating_sub(first) + 1_000_000;
        shift.pids = pids + 1;
        shift
    }

    /// Shifts a record for a copy. Returns false if only the first copy should contain it, as it is about the kernel.
    pub(crate) fn apply(&self, record: &mut [u8], copy: u32) -> bool {
        match kind(record) {
            kind::MMAP | kind::MMAP2 => {
                if half(record, 8) == Some(u32::MAX) {
                    return copy == 0;
                }
                self.pids(record, 8, 2, copy);
                address(record, 16, copy);
            }
            kind::KSYMBOL | kind::BPF_EVENT => return copy == 0,
            kind::COMM | kind::READ | kind::ITRACE_START | kind::SWITCH_CPU_WIDE | kind::NAMESPACES => {
                self.pids(record, 8, 2, copy);
            }
            kind::FORK | kind::EXIT => {
                self.pids(record, 8, 4, copy);
                self.time(record, 24, copy);
            }
            kind::THROTTLE | kind::UNTHROTTLE => self.time(record, 8, copy),
            kind::SAMPLE => {
                self.sample(record, copy);
                return true;
            }
            _ => {}
        }
        if self.sample_id_all {
            let trailer = record.len()
                - 8 * (self.sample_type & (TID | TIME | ID | STREAM_ID | CPU | IDENTIFIER)).count_ones() as usize;
            if self.sample_type & TID != 0 {
                self.pids(record, trailer, 2, copy);
            }
            if self.sample_type & TIME != 0 {
                self.time(record, trailer + 8 * usize::from(self.sample_type & TID != 0), copy);
            }
        }
        true
    }

    fn sample(&self, record: &mut [u8], copy: u32) {
        if let Some(at) = self.field(IP) {
            address(record, at, copy);
        }
        if let Some(at) = self.field(TID) {
            self.pids(record, at, 2, copy);
        }
        if let Some(at) = self.field(TIME) {
            self.time(record, at, copy);
        }
        if let Some(at) = self.field(ADDR) {
            address(record, at, copy);
        }
        // The length of READ is unknown without other fields of the attr.
        if let Some(at) = self.field(CALLCHAIN).filter(|_| self.sample_type & READ == 0) {
            let entries = word(record, at).unwrap_or(0) as usize;
            let room = record.len().saturating_sub(at + 8) / 8;
            (0..entries.min(room)).for_each(|entry| address(record, at + 8 + 8 * entry, copy));
        }
    }

    /// The offset of a field in a sample, if present. All fields before the call chain are one word long.
    fn field(&self, field: u64) -> Option<usize> {
        let order = [IDENTIFIER, IP, TID, TIME, ADDR, ID, STREAM_ID, CPU, PERIOD, CALLCHAIN];
        let before = order.iter().take_while(|other| **other != field).filter(|other| self.sample_type & **other != 0);
        (self.sample_type & field != 0).then(|| 8 + 8 * before.count())
    }

    fn time_of(&self, record: &[u8]) -> Option<u64> {
        if kind(record) == kind::SAMPLE { word(record, self.field(TIME)?) } else { None }
    }

    fn pids(&self, record: &mut [u8], at: usize, count: usize, copy: u32) {
        for at in (at..).step_by(4).take(count) {
            // 0 is the idle task and -1 is no task; both stay the same.
            if let Some(pid) = half(record, at).filter(|pid| ![0, u32::MAX].contains(pid)) {
                record[at..at + 4].copy_from_slice(&(pid + copy * self.pids).to_le_bytes());
            }
        }
    }

    fn time(&self, record: &mut [u8], at: usize, copy: u32) {
        if let Some(time) = word(record, at).filter(|time| is_time(*time)) {
            record[at..at + 8].copy_from_slice(&(time + u64::from(copy) * self.time).to_le_bytes());
        }
    }
}

/// Whether a time is valid: 0 and -1 mean that the record has none.
fn is_time(time: u64) -> bool {
    time != 0 && time != u64::MAX
}

fn address(record: &mut [u8], at: usize, copy: u32) {
    if let Some(address) = word(record, at).filter(|address| *address != 0 && *address < KERNEL) {
        let distance = u64::from(copy) * ADDRESSES;
        let shifted = if address < MIDDLE { address + distance } else { address - distance };
        record[at..at + 8].copy_from_slice(&shifted.to_le_bytes());
    }
}

fn half(record: &[u8], at: usize) -> Option<u32> {
    record.get(at..)?.first_chunk().copied().map(u32::from_le_bytes)
}
