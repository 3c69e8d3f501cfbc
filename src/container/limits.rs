//! How far a recording is trusted.

/// What a recording may cause to be held in memory at once, beyond what is unique in it.
///
/// Counts and sizes that a recording tells are always compared with the bytes that are there before anything is reserved
/// for them. These limits are for what bytes alone do not bound: frames that hold a thousand times their size, streams of
/// which the end is not known, records that wait for others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes that an input which is compressed as a whole, or all frames of compressed records together, may unpack to in any
    /// case; more are read up to a thousand times their size, and what is missing is told.
    pub unpacked: u64,
    /// Plain bytes in one frame of compressed records. perf fills a frame from one ring buffer; a frame that holds more is
    /// read up to here, and what is missing is told.
    pub frame: u64,
    /// Plain bytes that a frame is unpacked to at a time.
    pub piece: usize,
    /// Bytes of all records that tell about the recording itself (its events, features, build ids): those beyond are left
    /// out, which is told.
    pub about: u64,
    /// Bytes of a record with the AUX area behind it. One of a stream that takes more goes to a temporary file, one in a
    /// frame is no record. What the size of 16 bits can tell is always waited for.
    pub record: u64,
    /// How many bytes of a stream are searched for the next sound record before damage is passed on.
    pub damage: usize,
    /// Times and places of records that wait for their turn; more go to temporary files.
    pub waiting: usize,
    /// Bytes of records that wait for their turn; more go to temporary files. Those of mapped files do not count.
    pub waiting_bytes: usize,
}

impl Limits {
    /// Whether a record of this size is held in memory until all of it is there.
    pub fn holds(&self, record: u64) -> bool {
        record <= self.record.max(u16::MAX.into())
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            unpacked: 256 << 20,
            frame: 256 << 20,
            piece: 256 << 10,
            about: 256 << 20,
            record: 16 << 20,
            damage: 4 << 20,
            waiting: 2 << 20,
            waiting_bytes: 48 << 20,
        }
    }
}
