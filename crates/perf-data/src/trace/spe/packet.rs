//! Packets: a header, which has the kind and the size, and a payload in little-endian order.
//!
//! | header | packet | payload in bytes |
//! |---|---|---|
//! | 00 | padding | |
//! | 01 | end of a record without a time | |
//! | 71 | time, which ends a record | 8 |
//! | 42, 52, 62, 72 | events | 1, 2, 4, 8 |
//! | 43, 53, 63, 73 | data source | 1, 2, 4, 8 |
//! | 64 to 67 | context | 4 |
//! | 48 to 4b | kind of operation | 1 |
//! | b0 to b7 | address | 8 |
//! | 98 to 9f | counter | 2 |
//! | 20 to 23, header | the same with a higher index | |
//! | 20 to 23, 00 | alignment | up to a multiple of 2 to 16 bytes |
//!
//! The source is the Arm Architecture Reference Manual, chapter "Statistical Profiling Extension Sample Record Specification".

use crate::abi::bit_set::bit_set;
use std::fmt;

/// A packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpePacket {
    /// A number of bytes of padding.
    Padding(usize),
    /// The end of a record without a time.
    End,
    /// The time in units of the generic timer, 0 if unavailable; ends a record.
    Timestamp(u64),
    /// What happened to the operation.
    Events(SpeEvents),
    /// Where data came from, numbered by the model of the CPU.
    DataSource(u16),
    /// `CONTEXTIDR` of an exception level: the thread ID, if the kernel stores it there.
    Context {
        /// Exception level: 0 for EL1, 1 for EL2.
        index: u8,
        /// Its value.
        id: u32,
    },
    /// The kind of operation.
    Operation(SpeOperation),
    /// An address.
    Address {
        /// Which one: one of [`SpePacket::PC`] and the following.
        index: u8,
        /// The payload, of which the highest byte is not part of the address.
        payload: u64,
    },
    /// A counter of cycles.
    Counter {
        /// Which one: one of [`SpePacket::TOTAL_LATENCY`] and the following.
        index: u8,
        /// Its value.
        cycles: u16,
    },
}

impl SpePacket {
    /// Index of the address of the instruction.
    pub const PC: u8 = 0;
    /// Index of the address of the target of a branch.
    pub const BRANCH_TARGET: u8 = 1;
    /// Index of the virtual address of data.
    pub const DATA_ADDRESS: u8 = 2;
    /// Index of the physical address of data.
    pub const PHYSICAL_ADDRESS: u8 = 3;
    /// Index of the address of the target of the branch before.
    pub const PREVIOUS_BRANCH_TARGET: u8 = 4;

    /// Index of the cycles from dispatch to completion.
    pub const TOTAL_LATENCY: u8 = 0;
    /// Index of the cycles from dispatch to issue.
    pub const ISSUE_LATENCY: u8 = 1;
    /// Index of the cycles of the address translation.
    pub const TRANSLATION_LATENCY: u8 = 2;

    /// Whether the packet ends a record.
    pub fn ends_record(self) -> bool {
        matches!(self, Self::End | Self::Timestamp(_))
    }
}

bit_set! {
    /// What happened to an operation.
    SpeEvents: u64 {
        /// An exception was taken.
        EXCEPTION = 1 << 0,
        /// It was retired.
        RETIRED = 1 << 1,
        /// The level 1 data cache was accessed.
        L1D_ACCESS = 1 << 2,
        /// The level 1 data cache was refilled.
        L1D_REFILL = 1 << 3,
        /// The TLB was accessed.
        TLB_ACCESS = 1 << 4,
        /// The page table was walked.
        TLB_WALK = 1 << 5,
        /// A conditional branch was not taken.
        NOT_TAKEN = 1 << 6,
        /// A branch was mispredicted.
        MISPREDICTED = 1 << 7,
        /// The last-level cache was accessed.
        LLC_ACCESS = 1 << 8,
        /// The last-level cache missed.
        LLC_MISS = 1 << 9,
        /// Another socket was accessed.
        REMOTE = 1 << 10,
        /// The access was misaligned.
        MISALIGNED = 1 << 11,
        /// The operation was in a transaction.
        TRANSACTION = 1 << 16,
        /// The predicate was partial.
        PARTIAL_PREDICATE = 1 << 17,
        /// The predicate was empty.
        EMPTY_PREDICATE = 1 << 18,
        /// The level 2 cache was accessed.
        L2_ACCESS = 1 << 19,
        /// The level 2 cache missed.
        L2_MISS = 1 << 20,
        /// Another cache had modified data.
        MODIFIED = 1 << 21,
        /// The data was recently fetched.
        RECENTLY_FETCHED = 1 << 22,
        /// Data of another cache was snooped.
        SNOOPED = 1 << 23,
        /// In streaming SVE mode.
        STREAMING_SVE = 1 << 24,
        /// By the unit shared between CPUs.
        SMCU = 1 << 25,
    }
}

/// The kind of operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpeOperation {
    /// 0 other, 1 load, store or atomic, 2 branch or exception return.
    pub class: u8,
    /// What it is in its class.
    pub subclass: u8,
}

impl SpeOperation {
    /// Whether it accesses memory.
    pub fn is_memory_access(self) -> bool {
        self.class == 1
    }

    /// Whether it is a branch or an exception return.
    pub fn is_branch(self) -> bool {
        self.class == 2
    }

    /// Whether it is a store; meaningless unless it accesses memory.
    pub fn is_store(self) -> bool {
        self.subclass & 1 != 0
    }

    /// Whether it accesses memory by instructions with more than one operation: atomic, exclusive, acquire or release.
    fn is_extended(self) -> bool {
        self.is_memory_access() && self.subclass & 0xe2 == 0x02
    }

    /// Whether it is an atomic operation, which loads and stores.
    pub fn is_atomic(self) -> bool {
        self.is_extended() && self.subclass & 0x04 != 0
    }

    /// Whether it accesses memory with SVE or SME.
    pub fn is_vector_access(self) -> bool {
        self.is_memory_access() && self.subclass & 0x0a == 0x08
    }

    /// Whether it accesses the registers of SIMD and floating point.
    pub fn is_simd(self) -> bool {
        match self.class {
            0 => self.is_vector() || self.subclass & 0xf8 == 0 && self.subclass & 0x06 != 0,
            1 => self.is_vector_access() || self.subclass >> 1 == 2,
            _ => false,
        }
    }

    /// Whether it is another operation of SVE or SME.
    fn is_vector(self) -> bool {
        self.class == 0 && matches!(self.subclass & 0x89, 0x08 | 0x88)
    }

    /// What it does, in a word.
    pub fn kind(self) -> &'static str {
        match self.class {
            1 if self.is_atomic() => "atomic",
            1 if self.is_store() => "store",
            1 => "load",
            2 if self.is_call() => "call",
            2 if self.is_return() => "return",
            2 => "branch",
            _ if self.is_simd() => "simd",
            _ => "other",
        }
    }

    /// Whether a branch is conditional.
    pub fn is_conditional(self) -> bool {
        self.is_branch() && self.subclass & 0x01 != 0
    }

    /// Whether a branch is indirect.
    pub fn is_indirect(self) -> bool {
        self.is_branch() && self.subclass & 0x02 != 0
    }

    /// Whether a branch is a call. Only newer CPUs say so.
    pub fn is_call(self) -> bool {
        self.is_branch() && self.subclass >> 3 & 3 == 1
    }

    /// Whether a branch is a return. Only newer CPUs say so.
    pub fn is_return(self) -> bool {
        self.is_branch() && self.subclass >> 3 & 3 == 2
    }
}

/// What it is, in words: `load atomic acquire-release`.
impl fmt::Display for SpeOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = self.subclass;
        let flags: &[(bool, &str)] = match self.class {
            0 if bits & 0x89 == 0x08 => &[(true, "other"), (true, "sve"), (bits & 4 != 0, "predicated")],
            0 if bits & 0x89 == 0x88 => &[(true, "other"), (true, "sme")],
            0 => &[(true, "other"), (bits & 1 != 0, "conditional"), (bits & 2 != 0, "fp"), (bits & 4 != 0, "ase")],
            1 => {
                let is_vector = self.is_vector_access();
                let is_extended = self.is_extended();
                &[
                    (true, if self.is_store() { "store" } else { "load" }),
                    (bits >> 1 == 0, "general"),
                    (bits >> 1 == 2, "simd"),
                    (bits >> 1 == 8, "unspecified"),
                    (bits >> 1 == 0x18, "nv-sysreg"),
                    (bits >> 1 == 0x0a, "mte-tag"),
                    (bits >> 1 == 0x10, "memcpy"),
                    (bits == 0x25, "memset"),
                    (is_extended && bits & 0x04 != 0, "atomic"),
                    (is_extended && bits & 0x08 != 0, "exclusive"),
                    (is_extended && bits & 0x10 != 0, "acquire-release"),
                    (is_vector, "sve"),
                    (is_vector && bits & 0x04 != 0, "predicated"),
                    (is_vector && bits & 0x80 != 0, "gather-scatter"),
                    (bits & 0xfa == 0x40, "gcs"),
                ]
            }
            2 => &[
                (true, "branch"),
                (self.is_conditional(), "conditional"),
                (self.is_indirect(), "indirect"),
                (bits & 4 != 0, "gcs"),
                (self.is_call(), "call"),
                (self.is_return(), "return"),
            ],
            _ => &[(true, "unknown")],
        };
        let words: Vec<_> = flags.iter().filter(|(is_set, _)| *is_set).map(|(_, word)| *word).collect();
        f.write_str(&words.join(" "))
    }
}

/// Why there is no packet at a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpePacketError {
    /// No packet begins with this byte.
    UnknownHeader(u8),
    /// The packet is longer than the rest of the trace.
    Truncated,
}

impl fmt::Display for SpePacketError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownHeader(byte) => write!(f, "no packet begins with {byte:#04x}"),
            Self::Truncated => f.write_str("packet is truncated"),
        }
    }
}

/// Decodes the packet at an offset of a trace, from whose start alignment counts. Returns it with its size, which is at least 1.
///
/// # Errors
/// If there is none, or the trace ends at the offset or in the packet.
#[inline]
pub fn packet_at(trace: &[u8], at: usize) -> Result<(SpePacket, usize), SpePacketError> {
    let bytes = trace.get(at..).unwrap_or_default();
    let (&first, rest) = bytes.split_first().ok_or(SpePacketError::Truncated)?;
    // An extended header has the higher bits of the index in its first byte.
    let (header, high, prefix) = match first & 0xfc {
        0x20 => (*rest.first().ok_or(SpePacketError::Truncated)?, (first & 3) << 3, 2),
        _ => (first, 0, 1),
    };
    let payload = || -> Result<(u64, usize), SpePacketError> {
        let size = 1 << (header >> 4 & 3);
        let payload = bytes.get(prefix..prefix + size).ok_or(SpePacketError::Truncated)?;
        let mut word = [0; 8];
        word[..size].copy_from_slice(payload);
        Ok((u64::from_le_bytes(word), prefix + size))
    };
    let index = high | header & 7;
    match header {
        0x00 if prefix == 2 => {
            let unit = 2 << (first & 3);
            let len = (at / unit + 1) * unit - at;
            // A unit that ends between the two bytes of this packet is not the one that follows it.
            let len = if len < prefix { len + unit } else { len };
            Ok((SpePacket::Padding(len.min(bytes.len())), len.min(bytes.len())))
        }
        _ if header & 0xf8 == 0xb0 => payload().map(|(payload, len)| (SpePacket::Address { index, payload }, len)),
        _ if header & 0xf8 == 0x98 => {
            payload().map(|(cycles, len)| (SpePacket::Counter { index, cycles: cycles as u16 }, len))
        }
        _ if prefix == 2 => Err(SpePacketError::UnknownHeader(first)),
        0x00 => {
            let len = padding_len(bytes);
            Ok((SpePacket::Padding(len), len))
        }
        0x01 => Ok((SpePacket::End, 1)),
        0x71 => payload().map(|(time, len)| (SpePacket::Timestamp(time), len)),
        _ if header & 0xcf == 0x42 => {
            payload().map(|(bits, len)| (SpePacket::Events(SpeEvents::from_bits_retain(bits)), len))
        }
        _ if header & 0xcf == 0x43 => payload().map(|(source, len)| (SpePacket::DataSource(source as u16), len)),
        _ if header & 0xfc == 0x64 => {
            payload().map(|(id, len)| (SpePacket::Context { index: header & 3, id: id as u32 }, len))
        }
        _ if header & 0xfc == 0x48 => payload().map(|(subclass, len)| {
            (SpePacket::Operation(SpeOperation { class: header & 3, subclass: subclass as u8 }), len)
        }),
        _ => Err(SpePacketError::UnknownHeader(first)),
    }
}

/// Number of zeros at the start: records are padded to 16, 32 or 64 bytes, and the kernel pads what the hardware did not write.
fn padding_len(bytes: &[u8]) -> usize {
    let words = bytes.chunks_exact(8).take_while(|word| **word == [0; 8]).count() * 8;
    words + bytes[words..].iter().take_while(|&&byte| byte == 0).count()
}

/// The fields of a packet, in a line.
impl fmt::Display for SpePacket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Padding(len) => write!(f, "PAD {len}"),
            Self::End => f.write_str("END"),
            Self::Timestamp(time) => write!(f, "TS {time}"),
            Self::Events(events) if events.is_empty() => f.write_str("EVENTS none"),
            Self::Events(events) => {
                f.write_str("EVENTS ")?;
                bitflags::parser::to_writer(&events, f)
            }
            Self::DataSource(source) => write!(f, "DATA-SOURCE {source}"),
            Self::Context { index, id } => write!(f, "CONTEXT EL{} {id:#x}", index + 1),
            Self::Operation(operation) => write!(f, "OP {operation}"),
            Self::Address { index, payload } => {
                let (code, top) = (code_address(payload), payload >> 56);
                let (level, security) = (top >> 5 & 3, if top >> 7 == 1 { " NS" } else { "" });
                match index {
                    Self::PC => write!(f, "PC {code:#x} EL{level}{security}"),
                    Self::BRANCH_TARGET => write!(f, "TARGET {code:#x} EL{level}{security}"),
                    Self::DATA_ADDRESS => write!(f, "VA {:#x}", data_address(payload)),
                    Self::PHYSICAL_ADDRESS => write!(f, "PA {:#x}{security}", payload & ADDRESS_BITS),
                    Self::PREVIOUS_BRANCH_TARGET => write!(f, "PREVIOUS-TARGET {code:#x} EL{level}{security}"),
                    _ => write!(f, "ADDRESS{index} {payload:#x}"),
                }
            }
            Self::Counter { index, cycles } => match index {
                Self::TOTAL_LATENCY => write!(f, "LATENCY total {cycles}"),
                Self::ISSUE_LATENCY => write!(f, "LATENCY issue {cycles}"),
                Self::TRANSLATION_LATENCY => write!(f, "LATENCY translation {cycles}"),
                _ => write!(f, "COUNTER{index} {cycles}"),
            },
        }
    }
}

/// The bits of an address in the payload of its packet.
pub(super) const ADDRESS_BITS: u64 = (1 << 56) - 1;

/// An address of code: its highest byte is the exception level, whose upper half of addresses EL1 and EL2 use.
pub(super) fn code_address(payload: u64) -> u64 {
    let (is_non_secure, level) = (payload >> 63 == 1, payload >> 61 & 3);
    let address = payload & ADDRESS_BITS;
    if is_non_secure && matches!(level, 1 | 2) { address | !ADDRESS_BITS } else { address }
}

/// An address of data: its highest byte is a tag.
pub(super) fn data_address(payload: u64) -> u64 {
    let address = payload & ADDRESS_BITS;
    if address >> 52 == 0xf { address | !ADDRESS_BITS } else { address }
}

/// The packets of a trace with their offsets. After an error, decoding goes on at the next byte.
pub struct SpePackets<'a> {
    trace: &'a [u8],
    at: usize,
}

impl<'a> SpePackets<'a> {
    /// The packets of the payload of an AUXTRACE record.
    pub fn new(trace: &'a [u8]) -> Self {
        Self::at(trace, 0)
    }

    /// Those from an offset on. Alignment counts from the start of the payload.
    pub fn at(trace: &'a [u8], offset: usize) -> Self {
        Self { trace, at: offset }
    }

    /// Where the next packet begins.
    pub fn offset(&self) -> usize {
        self.at
    }
}

impl Iterator for SpePackets<'_> {
    type Item = Result<SpePacket, SpePacketError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.trace.len() {
            return None;
        }
        match packet_at(self.trace, self.at) {
            Ok((packet, len)) => {
                self.at += len;
                Some(Ok(packet))
            }
            Err(error) => {
                self.at = if error == SpePacketError::Truncated { self.trace.len() } else { self.at + 1 };
                Some(Err(error))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(trace: &[u8]) -> Vec<String> {
        let text = |packet: Result<SpePacket, SpePacketError>| {
            packet.map_or_else(|error| error.to_string(), |packet| packet.to_string())
        };
        SpePackets::new(trace).map(text).collect()
    }

    #[test]
    fn decodes_each_kind() {
        let cases: &[(&[u8], &str)] = &[
            (&[0; 21], "PAD 21"),
            (&[1], "END"),
            (&[0x71, 1, 2, 0, 0, 0, 0, 0, 0], "TS 513"),
            (&[0x42, 0x12], "EVENTS RETIRED | TLB_ACCESS"),
            (&[0x52, 0x02, 0x04], "EVENTS RETIRED | REMOTE"),
            (&[0x43, 0x0e], "DATA-SOURCE 14"),
            (&[0x53, 1, 1], "DATA-SOURCE 257"),
            (&[0x65, 1, 1, 0, 0], "CONTEXT EL2 0x101"),
            (&[0x48, 0x03], "OP other conditional fp"),
            (&[0x48, 0x0c], "OP other sve predicated"),
            (&[0x49, 0x00], "OP load general"),
            (&[0x49, 0x01], "OP store general"),
            (&[0x49, 0x04], "OP load simd"),
            (&[0x49, 0x16], "OP load atomic acquire-release"),
            (&[0x49, 0x2c], "OP load sve predicated"),
            (&[0x49, 0x25], "OP store memset"),
            (&[0x4a, 0x03], "OP branch conditional indirect"),
            (&[0x4a, 0x12], "OP branch indirect return"),
            (&[0xb0, 0x10, 0, 0x40, 0, 0, 0, 0, 0x80], "PC 0x400010 EL0 NS"),
            (&[0xb1, 0x10, 0, 0x40, 0, 0, 0, 0, 0xa0], "TARGET 0xff00000000400010 EL1 NS"),
            (&[0xb2, 0x10, 0, 0x40, 0, 0, 0, 0, 0], "VA 0x400010"),
            (&[0x98, 0x10, 1], "LATENCY total 272"),
            (&[0x20, 0x9a, 7, 0], "LATENCY translation 7"),
            (&[0x21, 0x9a, 7, 0], "COUNTER10 7"),
        ];
        for (bytes, text) in cases {
            assert_eq!(texts(bytes), [*text], "{bytes:02x?}");
        }
    }

    #[test]
    fn alignment_counts_from_the_start_of_the_trace() {
        assert_eq!(texts(&[1, 0x23, 0, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 1]), ["END", "PAD 15", "END"]);
        assert_eq!(texts(&[1, 0x20, 0, 9, 1]), ["END", "PAD 3", "END"]);
        assert_eq!(texts(&[0x23, 0]), ["PAD 2"]);
    }

    #[test]
    fn bad_bytes_are_skipped_one_by_one_and_a_truncated_packet_is_the_last() {
        assert_eq!(texts(&[0xff, 1]), ["no packet begins with 0xff", "END"]);
        assert_eq!(texts(&[0x20, 0x42]), ["no packet begins with 0x20", "packet is truncated"]);
        for cut in [&[0x71, 1][..], &[0x20], &[0xb0, 0, 0, 0, 0, 0, 0, 0]] {
            assert_eq!(texts(cut), ["packet is truncated"]);
        }
    }
}
