//! Frames decompressed on a thread of its own, while the records of those before are used.

use super::frames::Decompressor;
use crate::threads::returned;
use bytes::Bytes;
use std::collections::VecDeque;
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};

/// How many pieces may wait, of which half go from thread to thread at a time: to wake one takes longer than to decompress a
/// small frame.
const PIECES: usize = 32;

/// Bytes of a piece that has a room of its own, and of those that others are left empty for.
const LARGE: usize = 1 << 20;

/// Decompresses frames in the order in which they are given.
pub struct Ahead {
    frames: Sender<Bytes>,
    /// Room for pieces, which goes back and forth: memory that one thread takes and the other frees comes from the system and
    /// back to it each time.
    rooms: Sender<Vec<u8>>,
    /// Rooms that are to go back.
    empty: Vec<Vec<u8>>,
    made: Receiver<Vec<Made>>,
    /// What has come.
    ready: VecDeque<Made>,
    thread: Option<JoinHandle<Decompressor>>,
    /// How many frames were given and have not been taken to their ends.
    waiting: usize,
    /// The end of a frame, of which the last piece has been taken.
    end: Option<io::Result<()>>,
}

/// A piece of a frame, and behind the last one what ended the frame.
struct Made {
    piece: Vec<u8>,
    end: Option<io::Result<()>>,
    /// Rooms that stay empty beside a piece of their size: so few pieces wait that have a record of megabytes.
    beside: Vec<Vec<u8>>,
}

impl Ahead {
    /// Takes the decompressor of a file.
    ///
    /// # Errors
    /// Where there can be no more threads.
    pub fn new(decompressor: Decompressor) -> io::Result<Self> {
        let (frames, given) = channel();
        let (rooms, free) = channel();
        let (making, made) = channel();
        let thread =
            Builder::new().name("frames".to_owned()).spawn(move || work(decompressor, &given, &free, &making))?;
        let empty = vec![Vec::new(); PIECES];
        let (ready, thread) = (VecDeque::new(), Some(thread));
        let mut this = Self { frames, rooms, empty, made, ready, thread, waiting: 0, end: None };
        this.free();
        Ok(this)
    }

    /// Gives the rooms back, several at a time.
    fn free(&mut self) {
        if self.empty.len() >= PIECES / 2 {
            // A thread that is gone is found by who takes the pieces.
            self.empty.drain(..).for_each(|room| drop(self.rooms.send(room)));
        }
    }

    /// Gives the next frame.
    pub fn give(&mut self, compressed: Bytes) {
        self.waiting += 1;
        let _ = self.frames.send(compressed);
    }

    /// The next piece of the frame that was given first of those that are here; none at its end, nor if there is no frame.
    ///
    /// # Errors
    /// As [`Pieces::piece`](super::frames::Pieces::piece), at the end of the frame.
    pub fn piece(&mut self) -> io::Result<Option<Bytes>> {
        if self.waiting == 0 {
            return Ok(None);
        }
        if self.end.is_none() {
            if self.ready.is_empty() {
                self.ready = self.made.recv().unwrap_or_default().into();
            }
            let Some(made) = self.ready.pop_front() else {
                self.waiting = 0;
                self.thread.take().map(|thread| returned(thread.join()));
                return Ok(None);
            };
            self.end = made.end;
            let piece = (!made.piece.is_empty()).then(|| Bytes::copy_from_slice(&made.piece));
            // What is large goes back to the system.
            self.empty.push(if made.beside.is_empty() { made.piece } else { Vec::new() });
            self.empty.extend(made.beside);
            self.free();
            if piece.is_some() {
                return Ok(piece);
            }
        }
        self.waiting -= 1;
        self.end.take().map_or(Ok(None), |end| end.map(|()| None))
    }

    /// Bytes of a record that never ended, now that no more frames come.
    pub fn rest(self) -> usize {
        let Self { frames, rooms, thread, .. } = self;
        // So that the thread ends, whatever it waits for.
        drop((frames, rooms));
        thread.map_or(0, |thread| returned(thread.join()).rest())
    }
}

/// Decompresses until no more frames come, or nobody takes what is made.
fn work(
    mut decompressor: Decompressor,
    given: &Receiver<Bytes>,
    free: &Receiver<Vec<u8>>,
    making: &Sender<Vec<Made>>,
) -> Decompressor {
    let mut batch = Vec::new();
    while let Some(frame) = next(given, &mut batch, making) {
        let mut pieces = decompressor.frame(&frame);
        let mut is_end = false;
        while !is_end {
            let Some(mut piece) = next(free, &mut batch, making) else { return decompressor };
            let end = match pieces.piece(&mut piece) {
                Ok(true) if !pieces.is_at_end() => None,
                Ok(_) => Some(Ok(())),
                Err(e) => Some(Err(e)),
            };
            is_end = end.is_some();
            let mut beside = Vec::new();
            for _ in 0..(piece.len() / LARGE).min(PIECES / 2 - 1) {
                let Some(room) = next(free, &mut batch, making) else { return decompressor };
                beside.push(room);
            }
            batch.push(Made { piece, end, beside });
        }
    }
    decompressor
}

/// The next of these. What has been made is passed on when it is much, and before this thread has to wait.
fn next<T>(from: &Receiver<T>, batch: &mut Vec<Made>, making: &Sender<Vec<Made>>) -> Option<T> {
    let next = if batch.len() < PIECES / 2 { from.try_recv().ok() } else { None };
    next.or_else(|| {
        if !batch.is_empty() {
            making.send(std::mem::take(batch)).ok()?;
        }
        from.recv().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::Endian;
    use crate::container::limits::Limits;

    /// Records of 64 bytes, each of another number, as a frame by itself.
    fn frame(numbers: std::ops::Range<u64>) -> (Bytes, Vec<u8>) {
        let mut plain = Vec::new();
        for number in numbers {
            plain.extend([9, 0, 0, 0, 0, 0, 64, 0]);
            plain.extend(number.to_le_bytes());
            plain.resize(plain.len() + 48, 0);
        }
        (zstd::bulk::compress(&plain, 1).unwrap().into(), plain)
    }

    fn taken(ahead: &mut Ahead) -> (Vec<u8>, io::Result<()>) {
        let mut all = Vec::new();
        loop {
            match ahead.piece() {
                Ok(Some(piece)) => all.extend_from_slice(&piece),
                Ok(None) => return (all, Ok(())),
                Err(e) => return (all, Err(e)),
            }
        }
    }

    #[test]
    fn frames_come_in_their_order_with_what_ends_them() {
        let made = || Ahead::new(Decompressor::new(Endian::Little, Limits::default()).unwrap()).unwrap();
        let mut ahead = made();
        let frames: Vec<_> =
            (0..200_u64).map(|i| frame(i * 1000..i * 1000 + if i % 10 == 3 { 20_000 } else { i })).collect();
        for (some, (compressed, plain)) in frames.iter().enumerate() {
            // Up to ten are there before the first is taken.
            if some % 10 == 0 {
                frames[some..some + 10].iter().for_each(|(compressed, _)| ahead.give(compressed.clone()));
            }
            let (all, end) = taken(&mut ahead);
            assert!(all == *plain && end.is_ok(), "frame {some} of {} bytes", compressed.len());
        }
        assert!(taken(&mut ahead).0.is_empty());
        // Behind what cannot be read goes what can.
        let (sound, plain) = &frames[5];
        [Bytes::from_static(b"no frame at all"), sound.slice(..sound.len() / 2), sound.clone()]
            .into_iter()
            .for_each(|frame| ahead.give(frame));
        assert!(taken(&mut ahead).1.is_err());
        let (half, _) = taken(&mut ahead);
        assert!(half.len() < plain.len());
        drop(ahead);

        // Nobody takes what is made.
        let mut ahead = made();
        frames.iter().for_each(|(compressed, _)| ahead.give(compressed.clone()));
        assert!(ahead.piece().unwrap().is_none(), "the first frame is empty");
        assert_eq!(ahead.rest(), 0);
    }
}
