//! Replaces addresses so that they do not reveal the address space layout: the mappings of a process are packed from 0 on.
//!
//! File names, build IDs, raw data and physical addresses are kept, and may still contain secrets.

use super::address_spaces::{AddressSpaces, KERNEL, Placement};
use super::mmaps::counted;
use crate::rewrite::framework::mmap::{Mmap, Names};
use crate::rewrite::framework::pass::Pass;
use crate::rewrite::framework::replacement::RecordBuffer;
use perf_data::abi::Endian;
use perf_data::abi::bytes::{ByteReader, Integer, Words};
use perf_data::abi::record::{RecordHeader, RecordType};
use perf_data::abi::sample::branch::BranchStackView;
use perf_data::abi::sample::callchain::Context;
use perf_data::abi::sample::field::SampleField;
use perf_data::abi::sample::layout::SampleLayout;
use perf_data::abi::sample::view::SampleView;
use perf_data::error::Result;
use perf_data::stream::Sink;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use perf_data::stream::stage::{Before, Stage};

/// Offsets of `addr`, `len` and `pgoff` in MMAP and MMAP2 records.
const MMAP_WORDS: [usize; 3] = [RecordHeader::SIZE + 8, RecordHeader::SIZE + 16, RecordHeader::SIZE + 24];

/// Size of an address.
const WORD: usize = 8;

/// Replaces the addresses of records. Unmapped addresses keep their value except for the highest bits, which mark them.
pub(crate) struct Remap {
    spaces: AddressSpaces,
    names: Names,
    changed: RecordBuffer,
    /// Scratch buffer: offsets of the addresses in a record.
    offsets: Vec<usize>,
}

/// The pass that replaces addresses.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RemapPass;

impl Pass for RemapPass {
    fn name(&self) -> String {
        "remap".to_owned()
    }

    fn replaces_addresses(&self) -> bool {
        true
    }

    fn before<'a>(&'a mut self, sink: Box<dyn Sink + 'a>) -> Box<dyn Sink + 'a> {
        Box::new(Before::new(Remap::new(), sink))
    }
}

impl Remap {
    fn new() -> Self {
        let spaces = AddressSpaces::new(true);
        Self { spaces, names: Names::default(), changed: RecordBuffer::default(), offsets: Vec::new() }
    }

    fn mmap(&mut self, mmap: &Mmap, raw: &Raw<'_>) -> Option<()> {
        let Placement { start, len, shift } = self.spaces.map(mmap.pid, mmap.start, mmap.len, mmap.pgoff)?;
        self.changed.copy(raw);
        // The kernel's `pgoff` is an address, not an offset.
        let pgoff = if mmap.pid == KERNEL { 0 } else { mmap.pgoff };
        for (at, number) in MMAP_WORDS.into_iter().zip([start.wrapping_add(shift), len, pgoff]) {
            put(&mut self.changed.record, at, number, raw.endian())?;
        }
        Some(())
    }

    fn sample(&mut self, meta: &Meta, raw: &Raw<'_>) -> Option<()> {
        let (_, event) = meta.events.find(raw)?;
        let view = SampleView::read(raw.body(), &event.layout, raw.endian()).ok()?;
        let pid = view.task.map_or(0, |(pid, _)| pid);
        collect_offsets(&view, &event.layout, raw, &mut self.offsets);
        self.changed.copy(raw);
        for &at in &self.offsets {
            let address = get(&self.changed.record, at, raw.endian())?;
            if Context::of(address).is_some() {
                continue;
            }
            let to = self.spaces.find(pid, address).map(|mapping| address.wrapping_add(mapping.shift));
            put(&mut self.changed.record, at, to.unwrap_or_else(|| unmapped(address)), raw.endian())?;
        }
        Some(())
    }
}

/// Marks an unmapped address.
fn unmapped(address: u64) -> u64 {
    address & !(0xf << 60) | 0x8 << 60
}

/// Sources and targets of branches, up to the first empty entry.
pub(crate) fn branches(stack: &BranchStackView<'_>) -> impl Iterator<Item = [u64; 2]> {
    let mut words = stack.entries.iter();
    let entries = std::iter::from_fn(move || {
        let (from, to, _flags) = (words.next()?, words.next()?, words.next()?);
        Some([from, to])
    });
    entries.take_while(|ends| !ends.contains(&0))
}

/// Collects the offsets of the addresses of a sample in its record.
fn collect_offsets(view: &SampleView<'_>, layout: &SampleLayout, raw: &Raw<'_>, offsets: &mut Vec<usize>) {
    offsets.clear();
    let words = [SampleField::Ip, SampleField::Addr].into_iter().filter_map(|field| layout.word_at(field));
    offsets.extend(words.map(|word| RecordHeader::SIZE + word * WORD));
    // The words are borrowed from the record: their address gives their offset.
    let start = |words: &Words<'_>| words.as_bytes().as_ptr() as usize - raw.bytes().as_ptr() as usize;
    if let Some(chain) = &view.callchain {
        offsets.extend((0..chain.len()).map(|index| start(chain) + index * WORD));
    }
    if let Some(stack) = &view.branch_stack {
        let ends = (0..branches(stack).count()).flat_map(|branch| [3 * branch, 3 * branch + 1]);
        offsets.extend(ends.map(|index| start(&stack.entries) + index * WORD));
    }
}

fn get(record: &[u8], at: usize, endian: Endian) -> Option<u64> {
    ByteReader::new(record.get(at..)?, endian).u64()
}

fn put(record: &mut [u8], at: usize, number: u64, endian: Endian) -> Option<()> {
    record.get_mut(at..at + WORD)?.copy_from_slice(&number.to_bytes(endian));
    Some(())
}

impl<S: Sink + ?Sized> Stage<S> for Remap {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>, sink: &mut S) -> Result<()> {
        let is_changed = match raw.header().kind {
            RecordType::SAMPLE => self.sample(meta, raw).is_some(),
            RecordType::FORK | RecordType::COMM => {
                self.spaces.apply(meta, raw);
                false
            }
            _ => counted(meta, raw, &mut self.names).and_then(|mmap| self.mmap(&mmap, raw)).is_some(),
        };
        if is_changed { self.changed.pass(sink, meta, raw) } else { sink.record(meta, raw) }
    }
}
