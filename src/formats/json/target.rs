//! Output files of an import.

use super::frames::RecordOutput;
use perf_data::container::spool::Spool;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};

/// A file being written.
pub(super) struct Out {
    pub file: BufWriter<JsonTarget>,
    /// Offset of the next byte.
    pub at: u64,
    /// Offsets of AUXTRACE records by number.
    pub auxtrace: HashMap<u64, u64>,
}

/// Destination of a file.
pub(super) enum JsonTarget {
    /// A temporary file.
    Spool(Spool),
    /// A file in a directory.
    File(File),
}

impl Write for JsonTarget {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Spool(spool) => spool.write(bytes),
            Self::File(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Spool(spool) => spool.flush(),
            Self::File(file) => file.flush(),
        }
    }
}

impl Seek for JsonTarget {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match self {
            Self::Spool(spool) => spool.seek(to),
            Self::File(file) => file.seek(to),
        }
    }
}

impl Out {
    /// Begins a file.
    pub(super) fn new(file: JsonTarget) -> Self {
        Self { file: BufWriter::with_capacity(1 << 17, file), at: 0, auxtrace: HashMap::new() }
    }
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.at += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl RecordOutput for Out {
    fn auxtrace(&mut self, nr: u64) {
        self.auxtrace.insert(nr, self.at);
    }
}
