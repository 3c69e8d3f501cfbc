//! Decompresses frames on a separate thread while earlier records are processed: decompression is a third of the work on a compressed
//! recording.

use super::frames::Decompressor;
use crate::threads::{builder, returned};
use bytes::Bytes;
use std::collections::VecDeque;
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

/// Maximum number of pieces in flight. Half of them are sent at a time: waking a thread takes longer than decompressing a
/// small frame.
const PIECES: usize = 32;

/// A piece reserves one more buffer for each multiple of this size, which bounds the memory in flight.
const LARGE: usize = 1 << 20;

/// Decompresses frames in the order they are submitted.
pub(crate) struct FrameDecoder {
    frames: Sender<Bytes>,
    /// Returns buffers for reuse. Memory allocated on one thread and freed on another would go back to the system each time.
    buffers: Sender<Vec<u8>>,
    /// Buffers to be returned.
    empty: Vec<Vec<u8>>,
    completed: Receiver<Vec<Completed>>,
    /// Pieces received and not yet used.
    decoded: VecDeque<Completed>,
    thread: Option<JoinHandle<Option<Decompressor>>>,
    /// The decompressor, if no thread could be started.
    own: Option<Own>,
    /// Number of frames submitted and not yet read to their ends.
    waiting: usize,
    /// Result of the current frame, once its last piece has been returned.
    end: Option<io::Result<()>>,
}

/// A piece of a frame. The last piece carries the result of the frame.
struct Completed {
    piece: Vec<u8>,
    end: Option<io::Result<()>>,
    /// Empty buffers withheld in proportion to the size of the piece, so that few large pieces are in flight.
    withheld: Vec<Vec<u8>>,
}

impl FrameDecoder {
    /// Takes over the decompressor of a file.
    pub(crate) fn new(decompressor: Decompressor) -> Self {
        let (frames, submitted) = channel();
        let (buffers, free) = channel();
        let (sender, completed) = channel();
        // The thread receives the decompressor only if it could be started.
        let (hand_over, decompressors) = channel();
        let run = move || {
            let decompressor = decompressors.recv().ok()?;
            Some(work(decompressor, &submitted, &free, &sender))
        };
        let thread = builder("frames").spawn(run).ok();
        let own = match &thread {
            Some(_) => {
                // A failed thread is noticed when pieces are received.
                let _ = hand_over.send(decompressor);
                None
            }
            None => Some(Own { decompressor, submitted: VecDeque::new() }),
        };
        let empty = vec![Vec::new(); PIECES];
        let decoded = VecDeque::new();
        let mut this = Self { frames, buffers, empty, completed, decoded, thread, own, waiting: 0, end: None };
        this.free();
        this
    }

    /// Returns buffers, several at a time.
    fn free(&mut self) {
        if self.empty.len() >= PIECES / 2 {
            // A failed thread is noticed when pieces are received.
            self.empty.drain(..).for_each(|buffer| drop(self.buffers.send(buffer)));
        }
    }

    /// Submits the next frame.
    pub(crate) fn submit(&mut self, compressed: Bytes) {
        self.waiting += 1;
        match &mut self.own {
            Some(own) => own.submitted.push_back(compressed),
            None => _ = self.frames.send(compressed),
        }
    }

    /// The next piece of the oldest submitted frame; `None` at its end, or if there is no frame.
    ///
    /// # Errors
    /// As [`Pieces::piece`](super::frames::Pieces::piece), at the end of the frame.
    pub(crate) fn piece(&mut self) -> io::Result<Option<Bytes>> {
        if self.waiting == 0 {
            return Ok(None);
        }
        if self.end.is_none() {
            if self.decoded.is_empty() {
                self.decoded = match &mut self.own {
                    Some(own) => own.decode(),
                    None => self.completed.recv().unwrap_or_default().into(),
                };
            }
            let Some(completed) = self.decoded.pop_front() else {
                self.waiting = 0;
                self.thread.take().map(|thread| returned(thread.join()));
                return Ok(None);
            };
            self.end = completed.end;
            let piece = (!completed.piece.is_empty()).then(|| Bytes::copy_from_slice(&completed.piece));
            // Large buffers are freed.
            self.empty.push(if completed.withheld.is_empty() { completed.piece } else { Vec::new() });
            self.empty.extend(completed.withheld);
            self.free();
            if piece.is_some() {
                return Ok(piece);
            }
        }
        self.waiting -= 1;
        self.end.take().map_or(Ok(None), |end| end.map(|()| None))
    }

    /// Number of bytes of an incomplete record, after the last frame.
    pub(crate) fn rest(self) -> usize {
        let Self { frames, buffers, thread, own, .. } = self;
        // Closing the channels ends the thread, whatever it waits for.
        drop((frames, buffers));
        let decompressor = match own {
            Some(own) => Some(own.decompressor),
            None => thread.and_then(|thread| returned(thread.join())),
        };
        decompressor.map_or(0, |decompressor| decompressor.rest())
    }
}

/// Decompresses where no thread could be started, a whole frame at once.
struct Own {
    decompressor: Decompressor,
    submitted: VecDeque<Bytes>,
}

impl Own {
    fn decode(&mut self) -> VecDeque<Completed> {
        let mut completed = VecDeque::new();
        let Some(frame) = self.submitted.pop_front() else { return completed };
        let mut pieces = self.decompressor.frame(&frame);
        loop {
            let mut piece = Vec::new();
            let end = match pieces.piece(&mut piece) {
                Ok(true) if !pieces.is_at_end() => None,
                Ok(_) => Some(Ok(())),
                Err(e) => Some(Err(e)),
            };
            let is_end = end.is_some();
            completed.push_back(Completed { piece, end, withheld: Vec::new() });
            if is_end {
                return completed;
            }
        }
    }
}

/// Decompresses until no more frames arrive or the receiver is closed.
fn work(
    mut decompressor: Decompressor,
    submitted: &Receiver<Bytes>,
    free: &Receiver<Vec<u8>>,
    sender: &Sender<Vec<Completed>>,
) -> Decompressor {
    let mut batch = Vec::new();
    while let Some(frame) = next(submitted, &mut batch, sender) {
        let mut pieces = decompressor.frame(&frame);
        let mut is_end = false;
        while !is_end {
            let Some(mut piece) = next(free, &mut batch, sender) else { return decompressor };
            let end = match pieces.piece(&mut piece) {
                Ok(true) if !pieces.is_at_end() => None,
                Ok(_) => Some(Ok(())),
                Err(e) => Some(Err(e)),
            };
            is_end = end.is_some();
            let mut withheld = Vec::new();
            for _ in 0..(piece.len() / LARGE).min(PIECES / 2 - 1) {
                let Some(buffer) = next(free, &mut batch, sender) else { return decompressor };
                withheld.push(buffer);
            }
            batch.push(Completed { piece, end, withheld });
        }
    }
    decompressor
}

/// Receives the next item. Completed pieces are sent when half of the maximum has accumulated, and before the thread blocks.
fn next<T>(from: &Receiver<T>, batch: &mut Vec<Completed>, sender: &Sender<Vec<Completed>>) -> Option<T> {
    let next = if batch.len() < PIECES / 2 { from.try_recv().ok() } else { None };
    next.or_else(|| {
        if !batch.is_empty() {
            sender.send(std::mem::take(batch)).ok()?;
        }
        from.recv().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::Endian;
    use crate::container::limits::Limits;
    use crate::threads::testing::without_threads;

    /// Records of 64 bytes, each with a different number, in one frame.
    fn frame(numbers: std::ops::Range<u64>) -> (Bytes, Vec<u8>) {
        let mut plain = Vec::new();
        for number in numbers {
            plain.extend([9, 0, 0, 0, 0, 0, 64, 0]);
            plain.extend(number.to_le_bytes());
            plain.resize(plain.len() + 48, 0);
        }
        (zstd::bulk::compress(&plain, 1).unwrap().into(), plain)
    }

    fn read_frame(decoder: &mut FrameDecoder) -> (Vec<u8>, io::Result<()>) {
        let mut all = Vec::new();
        loop {
            match decoder.piece() {
                Ok(Some(piece)) => all.extend_from_slice(&piece),
                Ok(None) => return (all, Ok(())),
                Err(e) => return (all, Err(e)),
            }
        }
    }

    #[test]
    fn frames_are_decompressed_without_a_thread() {
        without_threads(pieces_arrive_in_order_with_the_result_of_their_frame);
    }

    #[test]
    fn pieces_arrive_in_order_with_the_result_of_their_frame() {
        let new_decoder = || FrameDecoder::new(Decompressor::new(Endian::Little, Limits::default()).unwrap());
        let mut decoder = new_decoder();
        let frames: Vec<_> =
            (0..200_u64).map(|i| frame(i * 1000..i * 1000 + if i % 10 == 3 { 20_000 } else { i })).collect();
        for (some, (compressed, plain)) in frames.iter().enumerate() {
            // Up to ten frames are in flight.
            if some % 10 == 0 {
                frames[some..some + 10].iter().for_each(|(compressed, _)| decoder.submit(compressed.clone()));
            }
            let (all, end) = read_frame(&mut decoder);
            assert!(all == *plain && end.is_ok(), "frame {some} of {} bytes", compressed.len());
        }
        assert!(read_frame(&mut decoder).0.is_empty());
        // Corrupt frames do not affect the valid ones that follow.
        let (sound, plain) = &frames[5];
        [Bytes::from_static(b"no frame at all"), sound.slice(..sound.len() / 2), sound.clone()]
            .into_iter()
            .for_each(|frame| decoder.submit(frame));
        assert!(read_frame(&mut decoder).1.is_err());
        let (half, _) = read_frame(&mut decoder);
        assert!(half.len() < plain.len());
        drop(decoder);

        // The decoder can be dropped with completed pieces unread.
        let mut decoder = new_decoder();
        frames.iter().for_each(|(compressed, _)| decoder.submit(compressed.clone()));
        assert!(decoder.piece().unwrap().is_none(), "the first frame is empty");
        assert_eq!(decoder.rest(), 0);
    }
}
