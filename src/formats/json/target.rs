//! The files that records are written to.

use super::frames::Places;
use crate::container::spool::Spool;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};

/// A file that is being written.
pub struct Out {
    pub file: BufWriter<Target>,
    /// Where the next byte goes.
    pub at: u64,
    /// Places of AUXTRACE records by their number.
    pub auxtrace: HashMap<u64, u64>,
}

/// Where a file is written.
pub enum Target {
    /// A temporary one.
    Spool(Spool),
    /// One of a folder.
    File(File),
}

impl Write for Target {
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

impl Seek for Target {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match self {
            Self::Spool(spool) => spool.seek(to),
            Self::File(file) => file.seek(to),
        }
    }
}

impl Out {
    /// Begins a file.
    pub fn new(file: Target) -> Self {
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

impl Places for Out {
    fn auxtrace(&mut self, nr: u64) {
        self.auxtrace.insert(nr, self.at);
    }
}
