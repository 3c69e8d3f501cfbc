//! Frames of compressed records: COMPRESSED and COMPRESSED2.
//!
//! perf compresses the records of a file as one zstd stream and cuts what comes out into frames, so that a frame can only
//! be read after those before it, and a record may begin in one frame and end in the next.

use crate::abi::Endian;
use crate::container::limits::Limits;
use crate::container::walk::{Step, complete};
use std::io;
use zstd::stream::raw::{Decoder, InBuffer, Operation, OutBuffer};

/// Decompresses the frames of one file, in order.
pub struct Decompressor {
    decoder: Decoder<'static>,
    /// Beginning of a record whose end is in the next frame.
    rest: Vec<u8>,
    /// How many bytes of it were searched for a record in vain.
    searched: usize,
    /// Bytes of all frames so far, compressed and plain.
    given: u64,
    made: u64,
    stream: Stream,
    endian: Endian,
    limits: Limits,
}

impl Decompressor {
    /// A decompressor for a file with no frame read yet.
    ///
    /// # Errors
    /// Where zstd cannot get memory.
    pub fn new(endian: Endian, limits: Limits) -> io::Result<Self> {
        let (decoder, rest, stream) = (Decoder::new()?, Vec::new(), Stream::Ended);
        Ok(Self { decoder, rest, searched: 0, given: 0, made: 0, stream, endian, limits })
    }

    /// Starts decompressing a frame.
    pub fn frame<'a>(&'a mut self, compressed: &'a [u8]) -> Pieces<'a> {
        self.given += compressed.len() as u64;
        let all = self.limits.unpacked.max(self.given.saturating_mul(RATIO));
        let left = all.saturating_sub(self.made);
        let of_frame = self.limits.frame;
        let (room, limit) = if left < of_frame {
            (left, ("all frames up to it hold", all))
        } else {
            (of_frame, ("it holds", of_frame))
        };
        let failure = (left == 0).then(|| beyond(limit));
        let input = InBuffer::around(compressed);
        Pieces { decompressor: self, input, room, limit, ended: failure.is_some(), failure }
    }

    /// Where in zstd's stream the last frame ended.
    pub fn stream(&self) -> Stream {
        self.stream
    }

    /// Bytes of a record that never ended.
    pub fn rest(&self) -> usize {
        self.rest.len()
    }
}

/// How many times their size frames may hold. Recordings hold fifty times theirs at most.
const RATIO: u64 = 1000;

/// Bytes that are searched for a record each time; more of them only when there is an eighth more.
const FEW: usize = 4096;

/// Where in zstd's stream a frame ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// The stream has ended, or has not begun.
    Ended,
    /// The next block would follow.
    BetweenBlocks,
    /// A block goes on.
    InBlock,
}

impl Stream {
    /// By how many bytes the decoder would like to have next.
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

/// The records of one frame, in pieces that hold whole records.
pub struct Pieces<'a> {
    decompressor: &'a mut Decompressor,
    input: InBuffer<'a>,
    /// How many more plain bytes it may hold.
    room: u64,
    /// What holds more, and than how many, if it does.
    limit: (&'static str, u64),
    ended: bool,
    failure: Option<io::Error>,
}

impl Pieces<'_> {
    /// The next piece, in a room that may be used again: other memory for each would cost as much as decompressing. False at
    /// the end. An error comes after all that could be read before it; the stream is lost then: only a frame that begins one
    /// of its own can be read.
    ///
    /// # Errors
    /// What zstd says about damaged bytes.
    pub fn piece(&mut self, room: &mut Vec<u8>) -> io::Result<bool> {
        room.clear();
        // A record of megabytes, if there is one, comes once.
        room.shrink_to(2 * self.decompressor.limits.piece);
        while !self.ended {
            let Decompressor { rest, limits, .. } = &mut *self.decompressor;
            // What is much longer than all records but those with AUX areas is not copied each time.
            let much = limits.piece / 4;
            if room.is_empty() && rest.len() > much {
                std::mem::swap(room, rest);
            }
            // Always the same, whatever is left of the frame before.
            room.reserve_exact((rest.len() + limits.piece).next_multiple_of(much.max(1)));
            room.append(rest);
            self.decompress(room);
            // What is no record is passed on too, if no record comes soon: whoever walks the records says so.
            let Decompressor { rest, searched, limits, endian, .. } = &mut *self.decompressor;
            let is_searched = *searched > FEW && room.len() < limits.piece.min(*searched + *searched / 8);
            let (whole, may_wait) = if is_searched {
                (0, true)
            } else {
                *searched = 0;
                let (whole, end) = complete(room, *endian);
                let may_wait = match end {
                    Step::Garbage { .. } if room.len() - whole < limits.piece => {
                        *searched = room.len() - whole;
                        true
                    }
                    Step::Cut { needed } => limits.holds(needed),
                    _ => false,
                };
                (whole, may_wait)
            };
            if may_wait && whole == 0 && room.len() > much {
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

    /// Whether nothing follows, nor an error.
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
        let made = (output.pos() - start) as u64;
        self.decompressor.made += made;
        match self.room.checked_sub(made) {
            Some(room) => self.room = room,
            None => {
                self.ended = true;
                self.failure = Some(beyond(self.limit));
            }
        }
    }
}

fn beyond((what, limit): (&str, u64)) -> io::Error {
    io::Error::other(format!("{what} more than {limit} bytes"))
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

    /// Compresses as perf does: one stream, flushed after each frame.
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
    fn a_record_belongs_to_the_frame_it_ends_in() {
        let records = [record(40, 1), record(800, 2), record(16, 3)].concat();
        let frames = frames(&[&records[..100], &records[100..]]);
        let mut decompressor = Decompressor::new(Endian::Little, Limits::default()).unwrap();
        assert_eq!(decompress(&mut decompressor, &frames[0]).unwrap(), records[..40]);
        assert_eq!(decompressor.rest(), 60);
        assert_eq!(decompress(&mut decompressor, &frames[1]).unwrap(), records[40..]);
        assert_eq!(decompressor.rest(), 0);
    }

    #[test]
    fn a_bomb_comes_in_pieces() {
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
    fn a_record_of_megabytes_comes_whole_in_however_many_frames_it_is() {
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
                    assert!(matches!(complete(&piece, Endian::Little), (whole, Step::End) if whole == piece.len()));
                    all.extend_from_slice(&piece);
                }
            }
            assert!(all == records && decompressor.rest() == 0, "{} frames", parts.len());
        }
    }

    #[test]
    fn behind_garbage_an_independent_frame_is_read_again() {
        let mut decompressor = Decompressor::new(Endian::Little, Limits::default()).unwrap();
        assert!(decompress(&mut decompressor, b"garbage, not a frame").is_err());
        assert_eq!(decompressor.rest(), 0);
        let records = record(40, 1);
        assert_eq!(decompress(&mut decompressor, &frames(&[&records])[0]).unwrap(), records);
    }

    /// A zstd frame with one block, of its bytes as they are or of one byte many times.
    fn block(kind: u32, size: u32, bytes: &[u8]) -> Vec<u8> {
        let header = 1 | kind << 1 | size << 3;
        // With a window of 128 KB, as no block may be larger.
        [&[0x28, 0xb5, 0x2f, 0xfd, 0, 0x38], &header.to_le_bytes()[..3], bytes].concat()
    }

    #[test]
    fn what_is_no_record_is_not_searched_again_for_each_frame() {
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
        // Behind what was passed on all is new.
        let zeros = zstd::bulk::compress(&[0; 256 << 10], 1).unwrap();
        assert_eq!(decompress(&mut decompressor, &zeros).unwrap().len(), 256 << 10);
        assert_eq!(decompress(&mut decompressor, &zstd::bulk::compress(&sound, 1).unwrap()).unwrap(), sound);
    }

    #[test]
    fn all_frames_together_hold_no_more_than_a_thousand_times_their_bytes() {
        let limits = Limits { unpacked: 1 << 20, ..Limits::default() };
        let mut decompressor = Decompressor::new(Endian::Little, limits).unwrap();
        let bomb = block(1, 1 << 17, &[0]);
        let read: Vec<_> = (0..50).map(|_| decompress(&mut decompressor, &bomb)).collect();
        let failed = read.iter().find_map(|read| read.as_ref().err()).unwrap();
        assert_eq!(failed.to_string(), "all frames up to it hold more than 1048576 bytes");
        assert!(decompressor.made <= (1 << 20) + (1 << 17), "{} bytes", decompressor.made);
        // What is not so dense makes room for itself.
        let sound = record(40, 1);
        let frame = zstd::bulk::compress(&sound, 1).unwrap();
        assert!((0..20_000).any(|_| decompress(&mut decompressor, &frame).is_ok_and(|all| all == sound)));
    }
}
