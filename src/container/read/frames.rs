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
        Ok(Self { decoder: Decoder::new()?, rest: Vec::new(), stream: Stream::Ended, endian, limits })
    }

    /// Starts decompressing a frame.
    pub fn frame<'a>(&'a mut self, compressed: &'a [u8]) -> Pieces<'a> {
        let room = self.limits.frame;
        Pieces { decompressor: self, input: InBuffer::around(compressed), room, ended: false, failure: None }
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
            let (whole, end) = complete(room, self.decompressor.endian);
            let Decompressor { rest, limits, .. } = &mut *self.decompressor;
            let may_wait = match end {
                Step::Garbage { .. } => room.len() - whole < limits.piece,
                Step::Cut { needed } => limits.holds(needed),
                _ => false,
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
        match self.room.checked_sub(made) {
            Some(room) => self.room = room,
            None => {
                self.ended = true;
                let limit = self.decompressor.limits.frame;
                self.failure = Some(io::Error::other(format!("it holds more than {limit} bytes")));
            }
        }
    }
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
}
