//! The bytes of a file: mapped, or read by ranges where files cannot be mapped.
//!
//! WebAssembly maps no files and addresses 4 GB, so a large recording cannot be in memory as a whole. Its header and features are
//! read when they are needed, and its records as a stream.

use crate::container::spool::map;
use bytes::Bytes;
use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::ops::Range;
use std::sync::Arc;

/// All bytes of a file. Clones share them.
#[derive(Clone, Debug)]
pub enum FileBytes {
    /// Mapped or in memory.
    Whole(Bytes),
    /// A file of this size, whose bytes are read when they are needed.
    Unmapped(Arc<File>, u64),
}

impl FileBytes {
    /// Maps a file, if the system can.
    ///
    /// # Errors
    /// I/O errors.
    pub fn open(file: File) -> io::Result<Self> {
        if cfg!(target_family = "wasm") { Self::unmapped(file) } else { map(&file).map(Self::Whole) }
    }

    /// A file whose bytes are read when they are needed.
    pub(crate) fn unmapped(file: File) -> io::Result<Self> {
        let size = file.metadata()?.len();
        Ok(Self::Unmapped(Arc::new(file), size))
    }

    /// Number of bytes.
    pub fn size(&self) -> u64 {
        match self {
            Self::Whole(bytes) => bytes.len() as u64,
            Self::Unmapped(_, size) => *size,
        }
    }

    /// The first bytes, at most `limit`.
    ///
    /// # Errors
    /// I/O errors.
    pub fn start(&self, limit: u64) -> io::Result<Bytes> {
        self.read(0..limit.min(self.size()))
    }

    /// The bytes of a range; `None` if they are not all in the file, or cannot be read.
    pub fn slice(&self, range: Range<u64>) -> Option<Bytes> {
        let is_inside = range.start <= range.end && range.end <= self.size();
        let bytes = is_inside.then(|| self.read(range.clone()).ok())??;
        (bytes.len() as u64 == range.end - range.start).then_some(bytes)
    }

    fn read(&self, range: Range<u64>) -> io::Result<Bytes> {
        match self {
            Self::Whole(bytes) => Ok(bytes.slice(range.start as usize..range.end as usize)),
            Self::Unmapped(..) => {
                let mut bytes = Vec::new();
                let size = usize::try_from(range.end - range.start).map_err(|_| io::ErrorKind::FileTooLarge)?;
                bytes.try_reserve_exact(size)?;
                self.reader(range).read_to_end(&mut bytes)?;
                Ok(bytes.into())
            }
        }
    }

    /// Whether two files have the same bytes. Those of files that are not mapped are compared in parts.
    pub fn equals(&self, other: &Self) -> bool {
        const PART: usize = 1 << 20;
        let size = self.size();
        size == other.size()
            && (0..size).step_by(PART).all(|at| {
                let range = at..(at + PART as u64).min(size);
                self.slice(range.clone()).is_some_and(|bytes| Some(bytes) == other.slice(range))
            })
    }

    /// A range within the file as a stream.
    pub fn reader(&self, range: Range<u64>) -> Box<dyn Read + Send> {
        match self {
            Self::Whole(bytes) => Box::new(Cursor::new(bytes.slice(range.start as usize..range.end as usize))),
            Self::Unmapped(file, _) => Box::new(RangeReader { file: file.clone(), range }),
        }
    }

    /// All bytes as a stream.
    pub fn into_reader(self) -> Box<dyn Read + Send> {
        self.reader(0..self.size())
    }
}

impl From<Bytes> for FileBytes {
    fn from(bytes: Bytes) -> Self {
        Self::Whole(bytes)
    }
}

/// Reads the rest of a range. The position of the file is shared with other readers.
struct RangeReader {
    file: Arc<File>,
    range: Range<u64>,
}

impl Read for RangeReader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let mut file = &*self.file;
        file.seek(SeekFrom::Start(self.range.start))?;
        let read = file.take(self.range.end - self.range.start).read(out)?;
        self.range.start += read as u64;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::Endian;
    use crate::abi::attr::Attr;
    use crate::abi::feature::FeatureId;
    use crate::container::read::file::FileAttr;
    use crate::container::read::{ContainerReader, ReadOptions};
    use crate::container::write::file::FileWriter;
    use std::collections::BTreeMap;
    use std::io::Write;

    #[test]
    fn ranges_of_an_unmapped_file_are_those_of_its_bytes() {
        let content: Vec<u8> = (0..100_000_u32).map(|n| (n % 251) as u8).collect();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&content).unwrap();
        let (whole, unmapped) = (FileBytes::from(Bytes::from(content.clone())), FileBytes::unmapped(file).unwrap());
        assert_eq!(unmapped.size(), 100_000);
        for range in [0..0, 0..104, 99_990..100_000, 5..90_000, 100_000..100_000] {
            assert_eq!(unmapped.slice(range.clone()), whole.slice(range.clone()), "{range:?}");
            assert!(unmapped.slice(range).is_some());
        }
        #[expect(clippy::reversed_empty_ranges, reason = "sections of corrupt files")]
        for range in [0..100_001, 200_000..200_001, 9..8] {
            assert_eq!((unmapped.slice(range.clone()), whole.slice(range)), (None, None));
        }
        assert_eq!(unmapped.start(200_000).unwrap(), content);
        assert!(unmapped.equals(&whole) && !unmapped.equals(&Bytes::from(vec![0; content.len()]).into()));
        // Two readers in turn.
        let (mut one, mut other) = (unmapped.reader(10..50_000), unmapped.reader(20..60_000));
        let mut read = [const { Vec::<u8>::new() }; 2];
        loop {
            let (mut first, mut second) = ([0; 999], [0; 333]);
            let (first_len, second_len) = (one.read(&mut first).unwrap(), other.read(&mut second).unwrap());
            read[0].extend(&first[..first_len]);
            read[1].extend(&second[..second_len]);
            if first_len + second_len == 0 {
                break;
            }
        }
        assert_eq!(read, [&content[10..50_000], &content[20..60_000]]);
    }

    /// Everything that a reader gives of a file; the records as one piece.
    fn contents(bytes: FileBytes) -> (Vec<u8>, usize, impl PartialEq + std::fmt::Debug) {
        let mut reader = ContainerReader::from_bytes("test", bytes, ReadOptions::default()).unwrap();
        let (mut records, mut blocks) = (Vec::new(), 0);
        while let Some(block) = reader.next_block().unwrap() {
            assert_eq!(block.offset(0), (reader.image.before.len() + records.len()) as u64);
            records.extend_from_slice(&block.bytes);
            blocks += 1;
        }
        let image = (reader.image.before.clone(), reader.image.behind.clone(), reader.image.data);
        (records, blocks, (reader.attrs.clone(), reader.features.clone(), image, reader.damage.clone()))
    }

    #[test]
    fn a_recording_is_the_same_mapped_and_by_ranges() {
        let record = |n: u32| [[9, 0, 0, 0], [0, 0, 24, 0], n.to_le_bytes(), [0; 4], [7; 4], [0; 4]].concat();
        let records: Vec<u8> = (0..200_000).flat_map(record).collect();
        let mut attr = Attr::read(&[0; 128], Endian::Little).unwrap();
        attr.size = 128;
        let events = [FileAttr { attr, ids: vec![3, 4] }];
        let mut writer = FileWriter::begin(Cursor::new(Vec::new()), Endian::Little, &events, &[]).unwrap();
        writer.write_all(&records).unwrap();
        let features = BTreeMap::from([(FeatureId::ARCH, vec![1; 5]), (FeatureId(200), vec![2; 9])]);
        let complete = writer.finish(&events, &[], &features).unwrap().into_inner();
        let mut interrupted = complete.clone();
        interrupted[48..56].fill(0);
        for file in [&complete[..], &complete[..3_000_001], &interrupted[..4_000_000]] {
            let mut unmapped = tempfile::tempfile().unwrap();
            unmapped.write_all(file).unwrap();
            let whole = contents(Bytes::copy_from_slice(file).into());
            let by_ranges = contents(FileBytes::unmapped(unmapped).unwrap());
            assert!(whole.0 == by_ranges.0 && whole.0.len() > 2_000_000);
            assert_eq!(whole.2, by_ranges.2);
            assert!(whole.1 == 1 && by_ranges.1 > 2, "{} blocks", by_ranges.1);
        }
    }
}
