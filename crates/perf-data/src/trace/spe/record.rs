//! Records: the packets up to one that ends a record.

use super::packet::{
    ADDRESS_BITS, SpeEvents, SpeOperation, SpePacket, SpePacketError, SpePackets, code_address, data_address,
};

/// A sampled operation. What its packets did not have is `None` or empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpeRecord {
    /// Address of the instruction.
    pub pc: u64,
    /// What happened to it.
    pub events: SpeEvents,
    /// The kind of operation.
    pub operation: Option<SpeOperation>,
    /// Cycles from dispatch to completion.
    pub total_latency: Option<u16>,
    /// Cycles from dispatch to issue.
    pub issue_latency: Option<u16>,
    /// Cycles of the address translation.
    pub translation_latency: Option<u16>,
    /// Target of a branch.
    pub branch_target: Option<u64>,
    /// Target of the branch taken before.
    pub previous_branch_target: Option<u64>,
    /// Virtual address of data.
    pub data_address: Option<u64>,
    /// Physical address of data.
    pub physical_address: Option<u64>,
    /// Where data came from, numbered by the model of the CPU.
    pub data_source: Option<u16>,
    /// Thread ID, if the kernel stores it for the CPU.
    pub context: Option<u32>,
    /// Time in units of the generic timer.
    pub time: Option<u64>,
}

/// What the bytes of traces were. The sum of the bytes is their size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpeCoverage {
    /// Number of records.
    pub records: u64,
    /// Their bytes.
    pub decoded: u64,
    /// Bytes of padding.
    pub padding: u64,
    /// Number of records that were dropped: with a bad packet, cut off, or without an address.
    pub damaged_records: u64,
    /// Their bytes.
    pub damaged: u64,
}

impl SpeCoverage {
    /// Number of all bytes.
    pub fn bytes(&self) -> u64 {
        self.decoded + self.padding + self.damaged
    }

    /// Adds those of other traces.
    pub fn add(&mut self, other: &Self) {
        self.records += other.records;
        self.decoded += other.decoded;
        self.padding += other.padding;
        self.damaged_records += other.damaged_records;
        self.damaged += other.damaged;
    }
}

/// The records of a trace.
///
/// A record with a bad packet is dropped as a whole: what follows a bad byte may be the rest of a payload, which looks like other
/// packets. Where the records before it ended with times, only a time ends it.
pub struct SpeRecords<'a> {
    packets: SpePackets<'a>,
    /// Whether the latest record ended with a time.
    has_times: bool,
    coverage: SpeCoverage,
}

impl<'a> SpeRecords<'a> {
    /// The records of the payload of an AUXTRACE record.
    pub fn new(trace: &'a [u8]) -> Self {
        Self::at(trace, 0)
    }

    /// Those from an offset of the payload on.
    pub fn at(trace: &'a [u8], offset: usize) -> Self {
        Self { packets: SpePackets::at(trace, offset), has_times: false, coverage: SpeCoverage::default() }
    }

    /// What the bytes were so far.
    pub fn coverage(&self) -> SpeCoverage {
        self.coverage
    }

    /// Where the next record begins.
    pub fn offset(&self) -> usize {
        self.packets.offset()
    }
}

impl Iterator for SpeRecords<'_> {
    type Item = SpeRecord;

    fn next(&mut self) -> Option<SpeRecord> {
        let mut record = SpeRecord::default();
        let (mut has_pc, mut is_damaged, mut bytes) = (false, false, 0);
        loop {
            let start = self.packets.offset();
            let Some(packet) = self.packets.next() else { break };
            let len = (self.packets.offset() - start) as u64;
            if let Ok(SpePacket::Padding(_)) = packet {
                self.coverage.padding += len;
                continue;
            }
            bytes += len;
            let packet = match packet {
                Ok(packet) => packet,
                Err(SpePacketError::UnknownHeader(_) | SpePacketError::Truncated) => {
                    is_damaged = true;
                    continue;
                }
            };
            has_pc |= matches!(packet, SpePacket::Address { index: SpePacket::PC, .. });
            record.set(packet);
            let is_end = packet.ends_record() && !(is_damaged && self.has_times && packet == SpePacket::End);
            if !is_end {
                continue;
            }
            if has_pc && !is_damaged {
                self.has_times = packet != SpePacket::End;
                self.coverage.records += 1;
                self.coverage.decoded += bytes;
                return Some(record);
            }
            self.drop_record(bytes);
            (record, has_pc, is_damaged, bytes) = (SpeRecord::default(), false, false, 0);
        }
        if bytes > 0 {
            self.drop_record(bytes);
        }
        None
    }
}

impl SpeRecords<'_> {
    fn drop_record(&mut self, bytes: u64) {
        self.coverage.damaged_records += 1;
        self.coverage.damaged += bytes;
    }
}

impl SpeRecord {
    /// Adds a packet. Of several of a kind, the last one counts.
    #[inline]
    fn set(&mut self, packet: SpePacket) {
        match packet {
            SpePacket::Padding(_) | SpePacket::End => {}
            // The timer is 0 where the kernel does not let users read it.
            SpePacket::Timestamp(time) => self.time = Some(time).filter(|&time| time > 0),
            SpePacket::Events(events) => self.events = events,
            SpePacket::DataSource(source) => self.data_source = Some(source),
            SpePacket::Context { id, .. } => self.context = Some(id),
            SpePacket::Operation(operation) => self.operation = Some(operation),
            SpePacket::Address { index, payload } => match index {
                SpePacket::PC => self.pc = code_address(payload),
                SpePacket::BRANCH_TARGET => self.branch_target = Some(code_address(payload)),
                SpePacket::DATA_ADDRESS => self.data_address = Some(data_address(payload)),
                SpePacket::PHYSICAL_ADDRESS => self.physical_address = Some(payload & ADDRESS_BITS),
                SpePacket::PREVIOUS_BRANCH_TARGET => self.previous_branch_target = Some(code_address(payload)),
                _ => {}
            },
            SpePacket::Counter { index, cycles } => match index {
                SpePacket::TOTAL_LATENCY => self.total_latency = Some(cycles),
                SpePacket::ISSUE_LATENCY => self.issue_latency = Some(cycles),
                SpePacket::TRANSLATION_LATENCY => self.translation_latency = Some(cycles),
                _ => {}
            },
        }
    }

    /// Whether the instruction is one of a kernel.
    pub fn is_in_kernel(&self) -> bool {
        self.pc >> 63 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PC: [u8; 9] = [0xb0, 0x10, 0, 0x40, 0, 0, 0, 0, 0x80];
    const TIME: [u8; 9] = [0x71, 7, 0, 0, 0, 0, 0, 0, 0];

    fn decode(parts: &[&[u8]]) -> (Vec<SpeRecord>, SpeCoverage) {
        let trace = parts.concat();
        let mut records = SpeRecords::new(&trace);
        let list: Vec<_> = records.by_ref().collect();
        assert_eq!(records.coverage().bytes(), trace.len() as u64);
        (list, records.coverage())
    }

    #[test]
    fn a_record_has_what_its_packets_have() {
        let (list, coverage) = decode(&[
            &PC,
            &[0x64, 9, 0, 0, 0, 0x49, 1, 0x52, 2, 4, 0x99, 5, 0, 0x98, 6, 0, 0x9a, 7, 0, 0x43, 0xe],
            &[0xb2, 8, 0, 0, 0, 0, 0, 0xf0, 0x55, 0xb3, 8, 0, 0, 0, 0, 0, 0, 0x80],
            &[0xb1, 8, 0, 0, 0, 0, 0, 0xff, 0xa0, 0, 0],
            &TIME,
        ]);
        let record = SpeRecord {
            pc: 0x40_0010,
            events: SpeEvents::RETIRED | SpeEvents::REMOTE,
            operation: Some(SpeOperation { class: 1, subclass: 1 }),
            total_latency: Some(6),
            issue_latency: Some(5),
            translation_latency: Some(7),
            branch_target: Some(0xffff_0000_0000_0008),
            previous_branch_target: None,
            data_address: Some(0xfff0_0000_0000_0008),
            physical_address: Some(8),
            data_source: Some(0xe),
            context: Some(9),
            time: Some(7),
        };
        assert_eq!(list, [record]);
        assert_eq!((coverage.records, coverage.padding, coverage.damaged_records), (1, 2, 0));
    }

    #[test]
    fn damaged_records_are_dropped_and_counted() {
        let (list, coverage) = decode(&[&PC, &TIME, &PC, &[0xff, 0x01, 0xff], &TIME, &PC, &TIME, &PC, &[0x98]]);
        assert_eq!((list.len(), coverage.records, coverage.damaged_records), (2, 2, 2));
        assert_eq!((coverage.decoded, coverage.damaged), (36, 31));
        let (list, coverage) = decode(&[&PC, &[1], &[1], &[0x42, 2, 1], &[0; 40]]);
        assert_eq!((list.len(), coverage.damaged_records, coverage.damaged, coverage.padding), (1, 2, 4, 40));
    }
}
