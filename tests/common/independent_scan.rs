//! An independent oracle: a scan of a recording's records that shares no code with the crate under test.

use std::fs;
use std::path::Path;

use zstd::stream::raw::{Decoder, InBuffer, Operation, OutBuffer};

const SAMPLE: u32 = 9;
const HEADER_ATTR: u32 = 64;
const HEADER_TRACING_DATA: u32 = 66;
const TRACING: &[u8] = b"\x17\x08\x44tracing";
const AUXTRACE: u32 = 71;
const COMPRESSED: u32 = 81;
const COMPRESSED2: u32 = 83;
/// The first type of simpleperf's own records, which may be longer than 64 KiB.
const SIMPLEPERF: u32 = 32768;

/// The results of a scan.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    /// All records, including those in compressed ones.
    pub records: u64,
    pub samples: u64,
    /// Whether samples of an event have READ with the values of its group: such a sample counts for several events.
    pub group_reads: bool,
    /// The first problem found.
    pub damage: Option<String>,
    big_endian: bool,
}

impl Scan {
    /// Scans a file or a directory.
    pub(crate) fn read(path: &Path) -> Scan {
        let mut scan = Scan::default();
        let read = |path: &Path| fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        if !path.is_dir() {
            scan.file(&read(path));
            return scan;
        }
        scan.file(&read(&path.join("data")));
        for entry in fs::read_dir(path).expect("a readable directory") {
            let stream = entry.expect("a readable directory").path();
            if stream.file_name().is_some_and(|name| name.to_string_lossy().starts_with("data.")) {
                scan.stream(&read(&stream));
            }
        }
        scan
    }

    fn file(&mut self, bytes: &[u8]) {
        match bytes.get(..8) {
            Some(b"PERFILE2") => self.big_endian = false,
            Some(b"2ELIFREP") => self.big_endian = true,
            _ => return self.report_damage("no magic number"),
        }
        if self.u64(bytes, 8) == Some(16) {
            return self.stream(&bytes[16..]);
        }
        let header: Vec<u64> = (2..7).filter_map(|word| self.u64(bytes, word * 8)).collect();
        let &[attr_size, attrs, attrs_size, data, data_size] = &header[..] else {
            return self.report_damage("truncated header");
        };
        let (Some(attrs), true) = (section(bytes, attrs, attrs_size), attr_size >= 80) else {
            return self.report_damage("attrs outside of the file");
        };
        attrs.chunks(attr_size as usize).for_each(|attr| self.attr(attr));
        // An interrupted recorder did not write the size.
        let data_size = if data_size == 0 { u64::MAX } else { data_size };
        let Some(rest) = bytes.get(data as usize..) else {
            return self.report_damage("data outside of the file");
        };
        self.stream(&rest[..rest.len().min(data_size.try_into().unwrap_or(usize::MAX))]);
    }

    /// Scans records up to the end of the bytes, with one zstd stream for all compressed records.
    fn stream(&mut self, bytes: &[u8]) {
        let mut frames = Frames { decoder: Decoder::new().expect("zstd should start"), rest: Vec::new() };
        let mut at = self.scan(bytes, &mut frames);
        while at != bytes.len() {
            self.report_damage(&format!("no complete record at offset {at} of the stream"));
            at = (at + 1..bytes.len()).find(|&at| self.looks_valid(&bytes[at..])).unwrap_or(bytes.len());
            at += self.scan(&bytes[at..], &mut frames);
        }
        if !frames.rest.is_empty() {
            self.report_damage("no complete record at the end of the compressed stream");
        }
    }

    /// Counts the complete records in the bytes, and returns the end of the last one.
    fn scan(&mut self, bytes: &[u8], frames: &mut Frames) -> usize {
        let mut at = 0;
        while let Some(record) = self.record(&bytes[at..]) {
            self.records += 1;
            at += record.len();
            match self.u32(record, 0) {
                Some(SAMPLE) => self.samples += 1,
                Some(HEADER_ATTR) => self.attr(&record[8..]),
                // The payload is in the record with simpleperf, after it with perf, and before it with perf inject.
                Some(HEADER_TRACING_DATA) if record.len() <= 16 && bytes[at..].starts_with(TRACING) => {
                    at += self.u32(record, 8).map_or(0, |size| size.next_multiple_of(8) as usize);
                }
                Some(AUXTRACE) => at = at.saturating_add(self.u64(record, 8).unwrap_or(0) as usize),
                Some(COMPRESSED) => self.frame(Some(&record[8..]), frames),
                Some(COMPRESSED2) => {
                    let size = self.u64(record, 8).unwrap_or(0);
                    self.frame(section(record, 16, size), frames);
                }
                _ => {}
            }
            if at > bytes.len() {
                self.report_damage("truncated payload");
                return bytes.len();
            }
        }
        at
    }

    /// The record at the start of the bytes, if it is complete.
    fn record<'a>(&self, bytes: &'a [u8]) -> Option<&'a [u8]> {
        let size = self.u16(bytes, 6)? as usize;
        let high = if self.u32(bytes, 0)? >= SIMPLEPERF { self.u16(bytes, 4)? as usize } else { 0 };
        bytes.get(..high << 16 | size).filter(|record| record.len() >= 8)
    }

    /// Whether scanning can resume here after corruption: with ten valid records, or several up to the end.
    fn looks_valid(&self, mut bytes: &[u8]) -> bool {
        for seen in 0..10 {
            if bytes.is_empty() {
                return seen > 1;
            }
            let Some(record) = self.record(bytes) else { return false };
            let is_known = match self.u32(record, 0) {
                Some(1..=22) => record.len() % 8 == 0,
                kind => matches!(kind, Some(64..=86)),
            };
            if !is_known {
                return false;
            }
            bytes = &bytes[record.len()..];
        }
        true
    }

    fn frame(&mut self, payload: Option<&[u8]>, frames: &mut Frames) {
        let Some(payload) = payload else {
            return self.report_damage("a compressed payload exceeds its record");
        };
        if let Err(error) = frames.inflate(payload) {
            self.report_damage(&error.to_string());
        }
        let bytes = std::mem::take(&mut frames.rest);
        let end = self.scan(&bytes, frames);
        // A record may continue in a later frame.
        frames.rest = bytes[end..].to_vec();
    }

    fn attr(&mut self, attr: &[u8]) {
        let has = |offset, bit: u32| self.u64(attr, offset).is_some_and(|word| word >> bit & 1 == 1);
        let (sample_reads, whole_group) = (has(24, 4), has(32, 3));
        self.group_reads |= sample_reads && whole_group;
    }

    fn report_damage(&mut self, what: &str) {
        self.damage.get_or_insert_with(|| what.into());
    }

    fn u16(&self, bytes: &[u8], at: usize) -> Option<u16> {
        let bytes = bytes.get(at..)?.first_chunk().copied()?;
        Some(if self.big_endian { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) })
    }

    fn u32(&self, bytes: &[u8], at: usize) -> Option<u32> {
        let bytes = bytes.get(at..)?.first_chunk().copied()?;
        Some(if self.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
    }

    fn u64(&self, bytes: &[u8], at: usize) -> Option<u64> {
        let bytes = bytes.get(at..)?.first_chunk().copied()?;
        Some(if self.big_endian { u64::from_be_bytes(bytes) } else { u64::from_le_bytes(bytes) })
    }
}

fn section(bytes: &[u8], offset: u64, size: u64) -> Option<&[u8]> {
    bytes.get(offset.try_into().ok()?..offset.checked_add(size)?.try_into().ok()?)
}

/// The zstd stream of all compressed records.
struct Frames {
    decoder: Decoder<'static>,
    /// Decompressed bytes of an incomplete record.
    rest: Vec<u8>,
}

impl Frames {
    fn inflate(&mut self, payload: &[u8]) -> std::io::Result<()> {
        let mut input = InBuffer::around(payload);
        let mut block = vec![0; 1 << 16];
        loop {
            let mut output = OutBuffer::around(&mut block[..]);
            self.decoder.run(&mut input, &mut output)?;
            self.rest.extend_from_slice(output.as_slice());
            if input.pos() == payload.len() && output.pos() < output.capacity() {
                return Ok(());
            }
        }
    }
}
