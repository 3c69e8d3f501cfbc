//! Merges the records of all recordings by time. Each recording is read by its own thread, which sends batches of records. The
//! output does not depend on the speed of the threads.

use super::member::Member;
use super::remap::RecordRemapper;
use crate::rewrite::framework::replacement::serial;
use crate::rewrite::framework::rounds::Rounds;
use crate::rewrite::merge::kernel;
use crate::rewrite::sort::{Sorting, Untimed};
use perf_data::abi::record::{RecordHeader, RecordType};
use perf_data::container::block::{Block, Origin};
use perf_data::container::read::ReadOptions;
use perf_data::error::{Error, Result};
use perf_data::stream::Sink;
use perf_data::stream::counts::Counts;
use perf_data::stream::ledger::Ledger;
use perf_data::stream::meta::Meta;
use perf_data::stream::order::Order;
use perf_data::stream::raw::Raw;
use perf_data::stream::source::Source;
use perf_data::stream::stage::Before;
use perf_data::threads::{builder, returned};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::{mem, thread};

/// Total bytes of all batches. A recording has three: one being filled, one queued, one being merged.
const BATCH_BUDGET: usize = 48 << 20;

/// Minimum and maximum size of a batch.
const BATCH: [usize; 2] = [4 << 10, 512 << 10];

/// What a recording contributes to the result.
#[derive(Debug)]
pub(crate) struct MergePart {
    /// Remaps its records.
    pub remapper: RecordRemapper,
    /// Whether its kernel records are removed.
    pub without_kernel: bool,
    /// Record types that are removed, because an earlier recording has them.
    pub without: Vec<RecordType>,
    /// The earliest time of its records, used as the sort key of records before it that have no time.
    pub first: u64,
    /// Index of its first file in the result.
    pub source: u32,
}

/// Consecutive records of a recording, in time order.
struct MergeBatch {
    block: Block,
    items: Vec<MergeItem>,
}

/// The position of a record in its batch.
#[derive(Clone, Copy)]
struct MergeItem {
    /// Sort key: the latest time up to this record.
    key: u64,
    at: usize,
    payload: usize,
    is_timed: bool,
}

/// Streams the remapped records of all recordings by time; records with equal times are in the order of the recordings. The
/// ledger contains what was read, and why records are missing in the result.
///
/// # Errors
/// Fails if a recording cannot be read or the sink fails.
pub(crate) fn run<S: Sink>(
    members: &[Member],
    parts: Vec<MergePart>,
    read: &ReadOptions,
    meta: &Meta,
    sink: &mut Before<Rounds, S>,
) -> Result<Ledger> {
    let read = share(read, members.len());
    let size = (BATCH_BUDGET / 3 / members.len().max(1)).clamp(BATCH[0], BATCH[1]);
    let read = &read;
    thread::scope(|scope| {
        let mut receivers = Vec::new();
        let mut threads = Vec::new();
        for (member, part) in members.iter().zip(parts) {
            let (sender, receiver) = sync_channel(1);
            receivers.push(receiver);
            let thread = builder("merge").spawn_scoped(scope, move || feed(member, part, read, size, sender));
            let failed = Error::io(
                &member.name,
                "cannot start the thread that reads it; raise the limit of processes (ulimit -u) or merge fewer recordings",
            );
            threads.push(thread.map_err(failed)?);
        }
        let merged = merge(receivers, meta, sink);
        let mut ledger = Ledger::default();
        let mut failed = None;
        for thread in threads {
            match returned(thread.join()) {
                Ok(member_ledger) => ledger.merge(member_ledger),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        merged?;
        failed.map_or(Ok(ledger), Err)
    })
}

/// Divides the memory limits among the recordings.
fn share(read: &ReadOptions, count: usize) -> ReadOptions {
    let mut read = read.clone();
    read.limits.waiting = (read.limits.waiting / count.max(1)).max(1 << 10);
    read.limits.waiting_bytes = (read.limits.waiting_bytes / count.max(1)).max(1 << 16);
    read
}

/// Merges the records of all recordings by time.
fn merge<S: Sink>(receivers: Vec<Receiver<MergeBatch>>, meta: &Meta, sink: &mut Before<Rounds, S>) -> Result<()> {
    let mut heads: Vec<_> =
        receivers.into_iter().map(|receiver| NextRecord { receiver, batch: None, next: 0 }).collect();
    let mut order = BinaryHeap::new();
    for (number, head) in heads.iter_mut().enumerate() {
        order.extend(head.key().map(|key| Reverse((key, number))));
    }
    while let Some(Reverse((_, number))) = order.pop() {
        let limit = order.peek().map(|&Reverse(other)| other);
        while let Some(key) = heads[number].key() {
            if limit.is_some_and(|limit| (key, number) > limit) {
                order.push(Reverse((key, number)));
                break;
            }
            heads[number].pass(meta, sink)?;
        }
        if sink.is_done() {
            return Ok(());
        }
    }
    Ok(())
}

/// The next record of a recording.
struct NextRecord {
    receiver: Receiver<MergeBatch>,
    batch: Option<MergeBatch>,
    next: usize,
}

impl NextRecord {
    /// The sort key of the next record; `None` at the end.
    fn key(&mut self) -> Option<u64> {
        loop {
            if let Some(item) = self.batch.as_ref().and_then(|batch| batch.items.get(self.next)) {
                return Some(item.key);
            }
            self.next = 0;
            // A thread that fails closes its channel, and returns the error when joined.
            self.batch = Some(self.receiver.recv().ok()?);
        }
    }

    fn pass<S: Sink>(&mut self, meta: &Meta, sink: &mut Before<Rounds, S>) -> Result<()> {
        let Some(batch) = &self.batch else { return Ok(()) };
        let MergeItem { at, payload, is_timed, .. } = batch.items[self.next];
        self.next += 1;
        let Some(header) = RecordHeader::peek(&batch.block.bytes[at..], meta.endian) else { return Ok(()) };
        match Raw::new(header, meta.endian, &batch.block, at, payload) {
            Some(raw) => sink.stage.pass(meta, &raw, is_timed, &mut sink.sink),
            None => Ok(()),
        }
    }
}

/// Reads a recording and sends its records in batches.
fn feed(
    member: &Member,
    part: MergePart,
    read: &ReadOptions,
    size: usize,
    sender: SyncSender<MergeBatch>,
) -> Result<Ledger> {
    let is_ordered = member.scan.is_ordered_by_rounds(&member.meta);
    let mut feeder = Feeder {
        key: part.first,
        part,
        size,
        sender,
        bytes: Vec::with_capacity(size),
        items: Vec::new(),
        is_done: false,
        dropped: Ledger::default(),
        other_kernel: Counts::default(),
        redundant: Counts::default(),
    };
    let source = Source::open(member.input.clone(), read.clone())?;
    let (_, mut ledger) = match is_ordered {
        true => source.run(&mut Order::new(&mut feeder, read.clone()))?,
        false => source.run(&mut Sorting::before(&mut feeder, Untimed::InPlace, read.clone()))?,
    };
    member.damage.iter().for_each(|damage| ledger.damage(damage.clone()));
    ledger.name_notes(&member.name);
    ledger.merge(feeder.dropped);
    feeder.other_kernel.iter().for_each(|(kind, count)| ledger.removed(kind, "--kernel-from", count));
    feeder.redundant.iter().for_each(|(kind, count)| ledger.removed(kind, "merge", count));
    Ok(ledger)
}

/// Remaps the records of a recording in time order, and fills batches.
struct Feeder {
    part: MergePart,
    size: usize,
    sender: SyncSender<MergeBatch>,
    bytes: Vec<u8>,
    items: Vec<MergeItem>,
    /// The sort key of the latest record.
    key: u64,
    /// Whether the receiver is closed.
    is_done: bool,
    /// The records that cannot be remapped, and why.
    dropped: Ledger,
    other_kernel: Counts,
    redundant: Counts,
}

impl Feeder {
    fn send(&mut self) {
        if self.items.is_empty() {
            return;
        }
        // The last record of a batch exceeds the size.
        let bytes = mem::replace(&mut self.bytes, Vec::with_capacity(self.size + self.size / 8)).into();
        let (source, serial) = (self.part.source, serial());
        let block = Block { bytes, source, base: 0, origin: Origin::File, in_memory: true, serial };
        let items = mem::take(&mut self.items);
        self.hand_over(MergeBatch { block, items });
    }

    fn hand_over(&mut self, batch: MergeBatch) {
        self.is_done |= self.sender.send(batch).is_err();
    }
}

impl Sink for Feeder {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        let kind = raw.header().kind;
        // The records in frames follow on their own; headers and rounds are generated.
        if kind.is_frame() || kind.is_header() || kind == RecordType::FINISHED_ROUND {
            return Ok(());
        }
        if self.part.without_kernel && kernel::is_about_kernel(raw) {
            self.other_kernel.add(kind);
            return Ok(());
        }
        if self.part.without.contains(&kind) {
            self.redundant.add(kind);
            return Ok(());
        }
        let time = meta.events.time(raw).map(|time| self.part.remapper.time(time));
        let at = self.bytes.len();
        if let Some(reason) = self.part.remapper.append(meta, raw, &mut self.bytes)? {
            self.dropped.dropped(kind, reason);
            return Ok(());
        }
        self.key = self.key.max(time.unwrap_or(0));
        let item = MergeItem { key: self.key, at, payload: raw.payload_len(), is_timed: time.is_some() };
        if raw.payload_len() > self.size && self.bytes[at..] == *raw.bytes() {
            // A large payload is sent without copying.
            self.bytes.truncate(at);
            self.send();
            self.hand_over(MergeBatch { block: raw.block().clone(), items: vec![MergeItem { at: raw.at(), ..item }] });
            return Ok(());
        }
        self.bytes.extend_from_slice(raw.payload());
        self.items.push(item);
        if self.bytes.len() >= self.size {
            self.send();
        }
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.is_done
    }

    fn end(&mut self, _: &Meta) -> Result<()> {
        self.send();
        Ok(())
    }
}
