//! Limits on what an untrusted recording can make the program allocate.

/// Limits on memory use at any time, in addition to the memory for unique stacks and names of the recording.
///
/// Counts and sizes stated by a recording are always checked against the bytes that exist before anything is allocated.
/// These limits cover what such checks cannot bound: frames that expand a thousandfold, streams of unknown length, and
/// records that wait to be sorted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Decompressed bytes that are always allowed for an input compressed as a whole, or for all compressed frames together. Above
    /// this size, the limit is a thousand times the compressed size. A warning reports what is dropped.
    pub unpacked: u64,
    /// Decompressed bytes of one frame. perf fills a frame from one ring buffer; a larger frame is read up to this limit, and a
    /// warning reports what is dropped.
    pub frame: u64,
    /// Decompressed bytes produced at a time.
    pub piece: usize,
    /// Bytes of all metadata records (events, features, build IDs). Records beyond the limit are skipped with a warning.
    pub about: u64,
    /// Bytes of a record including its AUX payload. A larger record of a stream is spooled to a temporary file; in a frame it is
    /// not accepted as a record. Sizes that fit the 16-bit size field are always accepted.
    pub record: u64,
    /// Bytes of a stream searched for the next valid record before the corrupt bytes are passed on.
    pub damage: usize,
    /// Number of waiting records whose sort keys (time and location, 16 bytes) are in memory; more are spilled to temporary files.
    pub waiting: usize,
    /// Bytes of waiting records; more are spilled to temporary files. Records of mapped files do not count.
    pub waiting_bytes: usize,
}

impl Limits {
    /// Whether a record of this size is buffered in memory until it is complete.
    pub fn holds(&self, record: u64) -> bool {
        record <= self.record.max(u16::MAX.into())
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            unpacked: 256 << 20,
            // 512 times perf's default ring buffer.
            frame: 256 << 20,
            piece: 256 << 10,
            about: 256 << 20,
            // Four times perf's default AUX buffer, from which a record is filled.
            record: 16 << 20,
            // 64 of the longest records without an AUX payload.
            damage: 4 << 20,
            // Keys of 32 MiB. With the records of 48 MiB, sorting takes less than 100 MB.
            waiting: 2 << 20,
            waiting_bytes: 48 << 20,
        }
    }
}
