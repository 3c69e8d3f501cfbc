//! Frames of compressed records: COMPRESSED and COMPRESSED2.
//!
//! perf compresses the records of a file as one zstd stream and splits its output into frames. A frame can therefore only be
//! decompressed after its predecessors, and a record may begin in one frame and end in the next.

use crate::abi::Endian;
use crate::container::limits::Limits;
use crate::container::walk::{WalkStep, complete};
use std::io;
use zstd::stream::raw::{Decoder, InBuffer, Operation, OutBuffer};

/// Decompresses the frames of one file, in order.
pub struct Decompressor {
    decoder: Decoder<'static>,
    /// Beginning of a record that ends in the next frame.
    rest: Vec<u8>,
    /// Number of bytes of `rest` already searched for a record without success.
    searched: usize,
    /// Bytes of all frames so far, compressed and decompressed.
    compressed_total: u64,
    plain_total: u64,
    stream: Stream,
    endian: Endian,
    limits: Limits,
}

impl Decompressor {
    /// Creates a decompressor for a file, before its first frame.
    ///
    /// # Errors
    /// If zstd cannot allocate memory.
    pub fn new(endian: Endian, limits: Limits) -> io::Result<Self> {
        let (decoder, rest, stream) = (Decoder::new()?, Vec::new(), Stream::Ended);
        Ok(Self { decoder, rest, searched: 0, compressed_total: 0, plain_total: 0, stream, endian, limits })
    }

    /// Starts decompressing a frame.
    pub fn frame<'a>(&'a mut self, compressed: &'a [u8]) -> Pieces<'a> {
        self.compressed_total += compressed.len() as u64;
        let all = self.limits.unpacked.max(self.compressed_total.saturating_mul(RATIO));
        let left = all.saturating_sub(self.plain_total);
        let of_frame = self.limits.frame;
        let (room, limit) = if left < of_frame {
            (left, ("all frames up to it hold", all))
        } else {
            (of_frame, ("it holds", of_frame))
        };
        let failure = (left == 0).then(|| limit_exceeded(limit));
        let input = InBuffer::around(compressed);
        Pieces { decompressor: self, input, room, limit, ended: failure.is_some(), failure }
    }

    /// State of the zstd stream after the last frame.
    pub fn stream(&self) -> Stream {
        self.stream
    }

    /// Number of bytes of an incomplete record, after the last frame.
    pub fn rest(&self) -> usize {
        self.rest.len()
    }
}

/// Limit of the expansion by frames. Recordings reach a factor of fifty.
const RATIO: u64 = 1000;

/// Size of `rest` from which it is searched for a record only each time it has grown by an eighth, to avoid quadratic time.
const SEARCH_EVERY_PIECE_UP_TO: usize = 4096;

/// State of the zstd stream at the end of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// The stream has ended or has not begun.
    Ended,
    /// The next bytes are a block header.
    BetweenBlocks,
    /// The next bytes belong to the current block.
    InBlock,
}

impl Stream {
    /// Derives the state from the number of bytes that the decoder asks for.
    fn by_hint(hint: usize) -> Self {
        /// Size of a block's header.
        const HEADER: usize = 3;
        match hint {
            0 => Self::Ended,
            HEADER => Self::BetweenBlocks,
            _ => Self::InBlock,
        }
    }
}

/// The records of one frame, in pieces of complete records.
pub struct Pieces<'a> {
    decompressor: &'a mut Decompressor,
    input: InBuffer<'a>,
    /// How many more bytes the frame may decompress to.
    room: u64,
    /// What reached its limit, and the limit, for the message.
    limit: (&'static str, u64),
    ended: bool,
    failure: Option<io::Error>,
}

impl Pieces<'_> {
    /// Decompresses the next piece into `room`, a buffer reused between pieces: allocating one for each would cost as much as
    /// decompressing. Returns false at the end. An error follows everything that was decompressed before it. After an error the
    /// stream is lost: only a frame that begins a new stream can be decompressed.
    ///
    /// # Errors
    /// The error of zstd if the bytes are corrupt, or a limit.
    pub fn piece(&mut self, room: &mut Vec<u8>) -> io::Result<bool> {
        room.clear();
        // Records of megabytes are rare: shrink after one.
        room.shrink_to(2 * self.decompressor.limits.piece);
        while !self.ended {
            let Decompressor { rest, limits, .. } = &mut *self.decompressor;
            // `rest` longer than all records but those with AUX payloads is swapped instead of copied.
            let large_rest = limits.piece / 4;
            if room.is_empty() && rest.len() > large_rest {
                std::mem::swap(room, rest);
            }
            // A constant capacity, independent of the bytes left over from the last frame.
            room.reserve_exact((rest.len() + limits.piece).next_multiple_of(large_rest.max(1)));
            room.append(rest);
            self.decompress(room);
            // Bytes that are not followed by a record soon are passed on. The reader of the records reports them.
            let Decompressor { rest, searched, limits, endian, .. } = &mut *self.decompressor;
            let is_searched =
                *searched > SEARCH_EVERY_PIECE_UP_TO && room.len() < limits.piece.min(*searched + *searched / 8);
            let (whole, may_wait) = if is_searched {
                (0, true)
            } else {
                *searched = 0;
                let (whole, end) = complete(room, *endian);
                let may_wait = match end {
                    WalkStep::Garbage { .. } if room.len() - whole < limits.piece => {
                        *searched = room.len() - whole;
                        true
                    }
                    WalkStep::Cut { needed } => limits.holds(needed),
                    _ => false,
                };
                (whole, may_wait)
            };
            if may_wait && whole == 0 && room.len() > large_rest {
                if !self.ended {
                    continue;
                }
                std::mem::swap(room, rest);
            } else if may_wait {
                rest.extend(room.drain(whole..));
            }
            if !room.is_empty() {
                return Ok(true);
            }
        }
        let Some(failure) = self.failure.take() else { return Ok(false) };
        self.decompressor.rest.clear();
        self.decompressor.searched = 0;
        self.decompressor.decoder.reinit()?;
        self.decompressor.stream = Stream::Ended;
        Err(failure)
    }

    /// Whether the frame has ended without an error.
    pub fn is_at_end(&self) -> bool {
        self.ended && self.failure.is_none()
    }

    fn decompress(&mut self, bytes: &mut Vec<u8>) {
        let start = bytes.len();
        let mut output = OutBuffer::around_pos(bytes, start);
        while output.pos() < output.capacity() {
            let before = (self.input.pos(), output.pos());
            let run = self.decompressor.decoder.run(&mut self.input, &mut output);
            let stuck = (self.input.pos(), output.pos()) == before;
            match run {
                Ok(hint) if !stuck => self.decompressor.stream = Stream::by_hint(hint),
                run => self.failure = run.err(),
            }
            let room_left = output.pos() < output.capacity();
            if self.failure.is_some() || stuck || (room_left && self.input.pos() == self.input.src.len()) {
                self.ended = true;
                break;
            }
        }
        let decompressed = (output.pos() - start) as u64;
        self.decompressor.plain_total += decompressed;
        match self.room.checked_sub(decompressed) {
            Some(room) => self.room = room,
            None => {
                self.ended = true;
                self.failure = Some(limit_exceeded(self.limit));
            }
        }
    }
}

fn limit_exceeded((limited, limit): (&str, u64)) -> io::Error {
    io::Error::other(format!("{limited} more than {limit} bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use zstd::stream::raw::Encoder;

    fn record(len: u16, fill: u8) -> Vec<u8> {
        let mut bytes = vec![9, 0, 0, 0, 0, 0, len as u8, (len >> 8) as u8];
        bytes.resize(len.into(), fill);
        bytes
    }

    /// Compresses the way perf does: one stream, flushed after each frame.
    fn frames(parts: &[&[u8]]) -> Vec<Vec<u8>> {
        let mut encoder = Encoder::new(1).unwrap();
        let mut frame = |part: &[u8]| {
            let mut out = vec![0; part.len() + 1000];
            let mut input = InBuffer::around(part);
            let mut output = OutBuffer::around(&mut out);
            while input.pos() < part.len() {
                encoder.run(&mut input, &mut output).unwrap();
            }
            while encoder.flush(&mut output).unwrap() > 0 {}
            let len = output.pos();
            out.truncate(len);
            out
        };
        parts.iter().map(|part| frame(part)).collect()
    }

    fn decompress(decompressor: &mut Decompressor, frame: &[u8]) -> io::Result<Vec<u8>> {
        let (mut all, mut piece) = (Vec::new(), Vec::new());
        let mut pieces = decompressor.frame(frame);
        while pieces.piece(&mut piece)? {
            all.extend_from_slice(&piece);
        }
        Ok(all)
    }

    #[test]
    fn a_record_split_across_frames_is_returned_with_the_second() {
        let records = [record(40, 1), record(800, 2), record(16, 3)].concat();
        let frames = frames(&[&records[..100], &records[100..]]);
        let mut decompressor = Decompressor::new(Endian::Little, Limits::default()).unwrap();
        assert_eq!(decompress(&mut decompressor, &frames[0]).unwrap(), records[..40]);
        assert_eq!(decompressor.rest(), 60);
        assert_eq!(decompress(&mut decompressor, &frames[1]).unwrap(), records[40..]);
        assert_eq!(decompressor.rest(), 0);
    }

    #[test]
    fn a_decompression_bomb_is_split_into_pieces() {
        let records = record(64, 0).repeat(400_000);
        let frames = frames(&[&records]);
        assert!(frames[0].len() < records.len() / 10, "{} bytes", frames[0].len());
        let mut decompressor = Decompressor::new(Endian::Little, Limits::default()).unwrap();
        let mut pieces = decompressor.frame(&frames[0]);
        let (mut len, mut piece) = (0, Vec::new());
        while pieces.piece(&mut piece).unwrap() {
            assert!(piece.len() <= Limits::default().piece + 64);
            len += piece.len();
        }
        assert_eq!(len, records.len());
    }

    #[test]
    fn a_large_record_is_not_split_whatever_the_number_of_frames() {
        let mut large = vec![71, 0, 0, 0, 0, 0, 48, 0];
        large.extend((3_u64 << 20).to_le_bytes());
        large.resize(48 + (3 << 20), 7);
        let records = [record(40, 1), large.clone(), record(800, 2), large, record(16, 3)].concat();
        for cuts in [vec![], vec![100], vec![1 << 20, 2 << 20, 4 << 20], (1..90).map(|cut| cut * 70_000).collect()] {
            let ends = cuts.iter().copied().chain([records.len()]);
            let parts: Vec<_> = ends.scan(0, |from, to| Some(&records[std::mem::replace(from, to)..to])).collect();
            let mut decompressor = Decompressor::new(Endian::Little, Limits::default()).unwrap();
            let (mut all, mut piece) = (Vec::new(), Vec::new());
            for frame in frames(&parts) {
                let mut pieces = decompressor.frame(&frame);
                while pieces.piece(&mut piece).unwrap() {
                    assert!(matches!(complete(&piece, Endian::Little), (whole, WalkStep::End) if whole == piece.len()));
                    all.extend_from_slice(&piece);
                }
            }
            assert!(all == records && decompressor.rest() == 0, "{} frames", parts.len());
        }
    }

    #[test]
    fn an_independent_frame_after_garbage_is_decompressed() {
        let mut decompressor = Decompressor::new(Endian::Little, Limits::default()).unwrap();
        assert!(decompress(&mut decompressor, b"garbage, not a frame").is_err());
        assert_eq!(decompressor.rest(), 0);
        let records = record(40, 1);
        assert_eq!(decompress(&mut decompressor, &frames(&[&records])[0]).unwrap(), records);
    }

    /// A zstd frame of one block: raw bytes (`kind` 0) or one repeated byte (1).
    fn block(kind: u32, size: u32, bytes: &[u8]) -> Vec<u8> {
        let header = 1 | kind << 1 | size << 3;
        // The window is 128 KB, the maximum size of a block.
        [&[0x28, 0xb5, 0x2f, 0xfd, 0, 0x38], &header.to_le_bytes()[..3], bytes].concat()
    }

    #[test]
    fn garbage_is_not_searched_again_for_each_frame() {
        let mut decompressor = Decompressor::new(Endian::Little, Limits::default()).unwrap();
        let zeros = zstd::bulk::compress(&[0; 255 << 10], 1).unwrap();
        assert!(decompress(&mut decompressor, &zeros).unwrap().is_empty());
        let empty = block(0, 0, b"");
        for _ in 0..300_000 {
            assert!(decompress(&mut decompressor, &empty).unwrap().is_empty());
        }
        assert_eq!(decompressor.rest(), 255 << 10);
        let sound = record(40, 1).repeat(1000);
        let all = decompress(&mut decompressor, &zstd::bulk::compress(&sound, 1).unwrap()).unwrap();
        assert!(all.len() == (255 << 10) + sound.len() && all.ends_with(&sound));
        // After the bytes were passed on, the search starts over.
        let zeros = zstd::bulk::compress(&[0; 256 << 10], 1).unwrap();
        assert_eq!(decompress(&mut decompressor, &zeros).unwrap().len(), 256 << 10);
        assert_eq!(decompress(&mut decompressor, &zstd::bulk::compress(&sound, 1).unwrap()).unwrap(), sound);
    }

    #[test]
    fn total_expansion_is_limited_to_a_thousand_times() {
        let limits = Limits { unpacked: 1 << 20, ..Limits::default() };
        let mut decompressor = Decompressor::new(Endian::Little, limits).unwrap();
        let bomb = block(1, 1 << 17, &[0]);
        let read: Vec<_> = (0..50).map(|_| decompress(&mut decompressor, &bomb)).collect();
        let failed = read.iter().find_map(|read| read.as_ref().err()).unwrap();
        assert_eq!(failed.to_string(), "all frames up to it hold more than 1048576 bytes");
        assert!(decompressor.plain_total <= (1 << 20) + (1 << 17), "{} bytes", decompressor.plain_total);
        // Less dense data raises the limit.
        let sound = record(40, 1);
        let frame = zstd::bulk::compress(&sound, 1).unwrap();
        assert!((0..20_000).any(|_| decompress(&mut decompressor, &frame).is_ok_and(|all| all == sound)));
    }
}
