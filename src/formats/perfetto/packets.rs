//! The packets of a trace, written one by one.

use super::proto::TracePacket;
use perf_data::error::{Error, Result};
use std::io::{BufWriter, Write};

/// Sequence of the packets that do not refer to interned data.
pub(super) const SEQUENCE: u32 = 1;

/// Field number of `Trace.packet`.
const PACKET: u32 = 1;

/// Writes packets.
pub(super) struct Packets<'a> {
    out: BufWriter<&'a mut dyn Write>,
    buffer: Vec<u8>,
    /// Clock of the timestamps.
    clock: u32,
}

impl<'a> Packets<'a> {
    /// Writes packets with times of this clock to `out`.
    pub(super) fn new(out: &'a mut dyn Write, clock: u32) -> Self {
        Self { out: BufWriter::with_capacity(1 << 17, out), buffer: Vec::new(), clock }
    }

    /// Writes a packet.
    ///
    /// # Errors
    /// Errors of the output.
    pub(super) fn add(&mut self, packet: &TracePacket) -> Result<()> {
        self.buffer.clear();
        prost::encoding::message::encode(PACKET, packet, &mut self.buffer);
        self.out.write_all(&self.buffer).map_err(Error::Output)
    }

    /// Writes a packet that does not refer to interned data.
    ///
    /// # Errors
    /// Errors of the output.
    pub(super) fn add_independent(&mut self, time: Option<u64>, packet: TracePacket) -> Result<()> {
        self.add(&TracePacket {
            timestamp: time,
            timestamp_clock_id: time.map(|_| self.clock),
            trusted_packet_sequence_id: Some(SEQUENCE),
            ..packet
        })
    }

    /// Writes what is buffered.
    ///
    /// # Errors
    /// Errors of the output.
    pub(super) fn finish(mut self) -> Result<()> {
        self.out.flush().map_err(Error::Output)
    }
}
