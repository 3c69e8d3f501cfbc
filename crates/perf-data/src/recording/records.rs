//! Records in file order.

use super::pull::{Batches, End, Pull};
use crate::abi;
use crate::abi::record::{RecordContext, RecordType};
use crate::container::block::Block;
use crate::container::read::ReadOptions;
use crate::container::read::input::Input;
use crate::error::Result;
use crate::stream::Sink;
use crate::stream::ledger::Ledger;
use crate::stream::losses::ReportedLosses;
use crate::stream::meta::Meta;
use crate::stream::raw::Raw;
use crate::stream::source::Source;
use std::fmt;

/// Maximum number of records in a batch.
const BATCH: usize = 1024;

/// The records of a recording in file order. Records of compressed frames take the place of their frames.
///
/// Uses constant memory.
pub struct Records {
    pull: Pull<Vec<BufferedRecord>>,
    batch: std::vec::IntoIter<BufferedRecord>,
    current: Option<BufferedRecord>,
}

/// A record with its block.
struct BufferedRecord {
    block: Block,
    at: usize,
    len: usize,
    payload: usize,
    kind: RecordType,
    index: u64,
    context: RecordContext,
}

/// A record of a recording.
#[derive(Clone, Copy)]
pub struct Record<'a>(&'a BufferedRecord);

impl Records {
    /// Begins to read.
    ///
    /// # Errors
    /// If the recording cannot be read.
    pub fn open(input: Input, read: ReadOptions) -> Result<Self> {
        let source = Source::open(input, read)?;
        let pull = Pull::new(move |batches| {
            let mut sender = Sender { batches, batch: Vec::new(), index: 0, ledger: Ledger::default() };
            let (meta, mut ledger) = source.run(&mut sender)?;
            ledger.merge(sender.ledger);
            Ok((meta, ledger))
        })?;
        Ok(Self { pull, batch: Vec::new().into_iter(), current: None })
    }

    /// The next record; `None` at the end.
    ///
    /// # Errors
    /// If the recording cannot be read any further. Corrupt records are skipped and [reported](Self::ledger).
    #[expect(clippy::should_implement_trait, reason = "a record borrows the batch that it is in")]
    pub fn next(&mut self) -> Result<Option<Record<'_>>> {
        self.current = self.batch.next();
        if self.current.is_none()
            && let Some(batch) = self.pull.next_batch()?
        {
            self.batch = batch.into_iter();
            self.current = self.batch.next();
        }
        Ok(self.current.as_ref().map(Record))
    }

    /// Counts of records read, lost and dropped; available at the end.
    pub fn ledger(&self) -> Option<&Ledger> {
        self.pull.end().map(|(_, ledger): &End| ledger)
    }
}

impl Record<'_> {
    /// Type of the record.
    pub fn record_type(&self) -> RecordType {
        self.0.kind
    }

    /// Index of the record, from 0.
    pub fn index(&self) -> u64 {
        self.0.index
    }

    /// Offset of the record in the file, or of the compressed frame that contains it.
    pub fn offset(&self) -> u64 {
        self.0.block.offset(self.0.at)
    }

    /// The record, header included.
    pub fn bytes(&self) -> &[u8] {
        &self.0.block.bytes[self.0.at..][..self.0.len]
    }

    /// The payload that follows the record, not counted in its size: AUX area, tracing data.
    pub fn payload(&self) -> &[u8] {
        &self.0.block.bytes[self.0.at + self.0.len..][..self.0.payload]
    }

    /// Decodes the record. Bytes beyond its definition are preserved.
    pub fn decode(&self) -> abi::record::Record {
        abi::record::Record::read(self.bytes(), &self.0.context).expect("record is shorter than its header declares")
    }
}

impl fmt::Debug for Record<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decoded = self.decode();
        f.debug_struct("Record").field("offset", &self.offset()).field("record", &decoded).finish()
    }
}

/// Whether a record is passed on, and counted: all but the frames that other records are in.
pub(super) fn passes_on(meta: &Meta, raw: &Raw<'_>, ledger: &mut Ledger) -> bool {
    let kind = raw.header().kind;
    if kind.is_frame() {
        return false;
    }
    if let Some(losses) = ReportedLosses::decode(meta, raw) {
        ledger.lost(losses);
    }
    ledger.emitted(kind, 1);
    true
}

struct Sender {
    batches: Batches<Vec<BufferedRecord>>,
    batch: Vec<BufferedRecord>,
    index: u64,
    ledger: Ledger,
}

impl Sender {
    fn send(&mut self) -> Result<()> {
        self.batches.send(std::mem::take(&mut self.batch))
    }
}

impl Sink for Sender {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        let kind = raw.header().kind;
        if !passes_on(meta, raw, &mut self.ledger) {
            return Ok(());
        }
        self.batch.push(BufferedRecord {
            block: raw.block().clone(),
            at: raw.at(),
            len: raw.header().len(),
            payload: raw.payload_len(),
            kind,
            index: self.index,
            context: meta.context(raw),
        });
        self.index += 1;
        if self.batch.len() >= BATCH { self.send() } else { Ok(()) }
    }

    fn end(&mut self, _: &Meta) -> Result<()> {
        if self.batch.is_empty() { Ok(()) } else { self.send() }
    }
}
