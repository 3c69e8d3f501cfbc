//! Converts records in perf_to_profile's order to the contents of its profile.

use super::build_ids::BuildIds;
use super::events::Events;
use super::processes::{Mapping, Processes};
use super::profile::CompatProfile;
use super::stack::{CompatFrame, SampledStack, Space, is_address};
use crate::profile::intern::new_stacks::NewStacks;
use crate::profile::intern::recent::{Recent, RecentKey};
use crate::profile::intern::stack_cache::{Cached, StackCache, StackCacheKey};
use crate::rewrite::framework::mmap::Mmap;
use crate::rewrite::quipper::combine::combine;
use crate::rewrite::quipper::huge_pages::deduce_huge_pages;
use hashbrown::HashMap;
use perf_data::abi;
use perf_data::abi::feature::FeatureId;
use perf_data::abi::record::comm::Comm;
use perf_data::abi::record::ksymbol::Ksymbol;
use perf_data::abi::record::lost::{Lost, LostSamples};
use perf_data::abi::record::mmap2::MappedFile;
use perf_data::abi::record::task::Task;
use perf_data::abi::record::{CpuMode, Misc, RecordType};
use perf_data::abi::sample::view::SampleView;
use perf_data::error::Result;
use perf_data::session::map::MapId;
use perf_data::stream::Sink;
use perf_data::stream::ledger::{Ledger, Reason};
use perf_data::stream::losses::ReportedLosses;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use std::sync::Arc;
use std::vec;

/// Where perf_to_profile places lost samples: an address that nothing else can have.
const LOST_ADDRESS: u64 = 9 << 60;

/// Number of samples that wait at most.
const MAX_WAITING: usize = 4096;

/// Builds perf_to_profile's profile.
#[derive(Default)]
pub(super) struct Builder {
    processes: Processes,
    build_ids: BuildIds,
    /// Maps after the passes, whose records are yet to come.
    mmaps: vec::IntoIter<Option<Mmap>>,
    /// Whether lost samples are counted by LOST_SAMPLES rather than LOST.
    counts_lost_samples: bool,
    lost: Option<MapId>,
    profile: CompatProfile,
    /// Resolved stacks by epochs of process and kernel, and length of the call chain in the key.
    resolved: StackCache<3>,
    /// Stacks of locations that `resolved` has, but not yet the profile.
    new_stacks: NewStacks,
    /// Samples that are not yet in the profile: stack, event, period.
    waiting: Vec<(Cached, u32, Option<u64>)>,
    samples: u64,
    /// Samples with a stack dump instead of a call chain.
    stack_dumps: u64,
    ledger: Ledger,
    /// Locations of recent addresses; `None` if they are not in the stack.
    recent: Recent<Query, Option<u32>>,
    /// Scratch buffers: addresses, and the key of the stack.
    addresses: Vec<(Space, CompatFrame)>,
    key: Vec<[u8; 8]>,
}

impl Builder {
    /// Takes the results of the pre-scan. The maps are in the order of their records.
    pub(super) fn start(
        &mut self,
        meta: &Meta,
        mut maps: Vec<Mmap>,
        build_ids: HashMap<Arc<[u8]>, (Misc, MappedFile)>,
    ) {
        deduce_huge_pages(&mut maps);
        self.mmaps = combine(maps).into_iter();
        self.build_ids = BuildIds::new(meta, build_ids);
        self.profile.events = Events::new(meta);
        let version = meta.string(FeatureId::VERSION);
        self.counts_lost_samples = meta.counts_lost_samples();
        let command = meta.cmdline().map(|tokens| tokens.join(" "));
        let comments = [("perf-version:", version), ("perf-command:", command)];
        self.profile.comments =
            comments.into_iter().filter_map(|(prefix, text)| Some(format!("{prefix}{}", text?))).collect();
    }

    fn sample(&mut self, meta: &Meta, raw: &Raw<'_>) -> std::result::Result<(), Reason> {
        let (_, event) = meta.events.find(raw).ok_or(Reason::UnknownEvent)?;
        let mut view = SampleView::default();
        view.fill(raw.body(), &event.layout, raw.endian()).map_err(|field| {
            let problem = format!("SAMPLE record skipped: field {} does not fit its size", field.name());
            self.ledger.damage(meta.damage(raw.block(), raw.at(), problem));
            Reason::Damaged
        })?;
        self.ledger.used_in_part(view.is_partial.into());
        self.ledger.traces.add(view.aux.map_or(0, |trace| trace.len() as u64));
        let event = self.profile.events.find(view.identifier.or(view.id)).ok_or(Reason::UnknownEvent)?;
        let pid = view.task.map_or(0, |(pid, _)| pid);
        let mode = raw.header().misc.cpu_mode();
        self.stack_dumps += u64::from(view.stack_user.is_some_and(|stack| stack.dyn_size > 0));
        if self.profile.mappings.is_empty() {
            let main = self.processes.main(pid, mode == CpuMode::KERNEL);
            self.add_first_mapping(pid, main);
        }
        let stack = self.stack(pid, mode, &view);
        self.waiting.push((stack, event, view.period));
        if self.new_stacks.is_full() || self.waiting.len() >= MAX_WAITING {
            self.add_waiting();
        }
        Ok(())
    }

    /// Adds the first mapping, by the first sample: the main mapping of its process, or an unnamed one.
    fn add_first_mapping(&mut self, pid: u32, main: Option<MapId>) {
        match main {
            Some(main) => drop(self.mapping_number(pid, main)),
            None => {
                let (filename, build_id) = Default::default();
                self.profile.mappings.push(Mapping { start: 0, limit: 1, pgoff: 0, filename, build_id });
            }
        }
    }

    /// Adds the waiting samples to the profile.
    fn add_waiting(&mut self) {
        let Self { profile, resolved, new_stacks, waiting, .. } = self;
        new_stacks.intern(&mut profile.stacks, |cached, stack| resolved.set_stack(cached, stack));
        for (cached, event, period) in waiting.drain(..) {
            profile.add(resolved.stack(cached), event, 1, period);
        }
    }

    /// Finds the stack of a sample in the cache, or adds it to the cache and the new stacks. It has the same stack as an earlier one with
    /// the same maps.
    fn stack(&mut self, pid: u32, mode: CpuMode, view: &SampleView<'_>) -> Cached {
        let [process, kernel] = self.processes.epochs(pid);
        let chain = view.callchain.map(|chain| chain.as_chunks()).unwrap_or_default();
        let branches = view.branch_stack.map(|stack| stack.entries);
        let mut key = StackCacheKey { view: [process, kernel, chain.len() as u64], ip: view.ip, mode, chain };
        let mut both = std::mem::take(&mut self.key);
        // Branches replace callers in user mode, so that they are part of the key.
        if let Some(branches) = branches.filter(|branches| !branches.is_empty()) {
            both.clear();
            both.extend_from_slice(chain);
            both.extend_from_slice(branches.as_chunks());
            key.chain = &both;
        }
        let cached = self.resolved.find(&key).unwrap_or_else(|| {
            if !self.resolved.has_room(&key) {
                // Waiting samples refer to stacks of the cache, which is cleared.
                self.add_waiting();
                self.resolved.clear();
            }
            let ip = view.ip.unwrap_or(0);
            self.resolve(pid, SampledStack { ip, mode, callchain: view.callchain, branches });
            let cached = self.resolved.insert(&key);
            self.new_stacks.end(cached);
            cached
        });
        self.key = both;
        cached
    }

    /// Adds the locations of a stack to the new stacks.
    fn resolve(&mut self, pid: u32, sampled: SampledStack<'_>) {
        let mut addresses = std::mem::take(&mut self.addresses);
        addresses.clear();
        sampled.for_each(|space, frame| addresses.push((space, frame)));
        let epochs = self.processes.epochs(pid);
        for &(space, frame) in &addresses {
            let query = Query { epochs, space, frame };
            let location = self.recent.get(query).unwrap_or_else(|| {
                let location = self.frame_location(pid, space, frame);
                self.recent.put(query, location);
                location
            });
            self.new_stacks.frames.extend(location);
        }
        self.addresses = addresses;
    }

    /// The location of a frame, if the stack has it.
    fn frame_location(&mut self, pid: u32, space: Space, frame: CompatFrame) -> Option<u32> {
        let processes = &self.processes;
        let find = |address| {
            let is_searchable = space != Space::Other && is_address(address);
            if is_searchable { processes.find(pid, address, space != Space::User) } else { None }
        };
        let (address, map) = match frame {
            CompatFrame::Leaf(ip) => find(ip).map_or((0, None), |map| (ip, Some(map))),
            CompatFrame::Return(ip) => {
                // The first address of a map has no call before it.
                let map = find(ip).filter(|&map| ip > processes.mapping(map).start)?;
                (ip - 1, Some(map))
            }
            CompatFrame::Branch(from) => (from, Some(find(from)?)),
        };
        Some(self.location(pid, address, map))
    }

    /// Returns the number of a location. It is kept per process and address until something is mapped there.
    fn location(&mut self, pid: u32, address: u64, map: Option<MapId>) -> u32 {
        if let Some(&number) = self.processes.process(pid).locations.get(&address) {
            return number;
        }
        let mapping = map.map(|map| self.mapping_number(pid, map));
        self.profile.locations.push((address, mapping));
        let number = self.profile.locations.len() as u32 - 1;
        self.processes.process(pid).locations.insert(address, number);
        number
    }

    /// Returns the number of a mapping, which differs for each process.
    fn mapping_number(&mut self, pid: u32, map: MapId) -> u32 {
        if let Some(&number) = self.processes.process(pid).emitted.get(&map) {
            return number;
        }
        self.profile.mappings.push(self.processes.mapping(map).clone());
        let number = self.profile.mappings.len() as u32 - 1;
        self.processes.process(pid).emitted.insert(map, number);
        number
    }

    /// Adds lost samples or events as samples in the mapping `[lost]`.
    fn lost(&mut self, meta: &Meta, raw: &Raw<'_>) -> std::result::Result<(), Reason> {
        let (body, trailer) = meta.events.split(raw);
        self.ledger.lost(ReportedLosses::decode(meta, raw).ok_or(Reason::Damaged)?);
        let is_lost_samples = raw.header().kind == RecordType::LOST_SAMPLES;
        let trailer = trailer.unwrap_or_default();
        let trailer_id = trailer.identifier.or(trailer.id);
        let (id, lost) = if is_lost_samples {
            let (record, _) = abi::parse::<LostSamples>(body, raw.endian(), ()).map_err(|_| Reason::Damaged)?;
            (trailer_id, record.lost)
        } else {
            let (record, _) = abi::parse::<Lost>(body, raw.endian(), ()).map_err(|_| Reason::Damaged)?;
            (Some(record.id), record.lost)
        };
        if is_lost_samples != self.counts_lost_samples || lost == 0 {
            return Ok(());
        }
        let event = self.profile.events.find(id).ok_or(Reason::UnknownEvent)?;
        let pid = trailer.task.map_or(0, |(pid, _)| pid);
        if self.profile.mappings.is_empty() {
            // Lost samples have no main mapping, even if their process has mappings.
            self.add_first_mapping(pid, None);
        }
        // The stacks are in the order of the samples.
        self.add_waiting();
        let Self { processes, .. } = self;
        let map = *self.lost.get_or_insert_with(|| {
            let (filename, build_id) = (Arc::from(&b"[lost]"[..]), Arc::default());
            processes.add(Mapping { start: LOST_ADDRESS, limit: LOST_ADDRESS + 1, pgoff: 0, filename, build_id })
        });
        let location = self.location(pid, LOST_ADDRESS, Some(map));
        let stack = self.profile.stacks.stack_id(&[location]);
        self.profile.add(stack, event, lost, None);
        Ok(())
    }

    /// Updates the processes.
    fn state(&mut self, meta: &Meta, raw: &Raw<'_>) -> binrw::BinResult<()> {
        let (body, _) = meta.events.split(raw);
        match raw.header().kind {
            RecordType::COMM => {
                let (comm, _) = abi::parse::<Comm>(body, raw.endian(), ())?;
                let is_exec = raw.header().misc.contains(Misc::COMM_EXEC) || !self.profile.events.has_comm_exec;
                self.processes.comm(&comm, is_exec);
            }
            RecordType::FORK => {
                let (task, _) = abi::parse::<Task>(body, raw.endian(), ())?;
                self.processes.fork(&task);
            }
            RecordType::KSYMBOL => {
                let (symbol, _) = abi::parse::<Ksymbol>(body, raw.endian(), ())?;
                self.processes.ksymbol(&symbol);
            }
            _ => {
                if let Some(mmap) = self.mmaps.next().flatten() {
                    self.processes.mmap(&mmap, &self.build_ids);
                }
            }
        }
        Ok(())
    }

    /// Returns the profile, and the ledger of the records.
    pub(super) fn finish(mut self) -> (CompatProfile, Ledger) {
        self.add_waiting();
        self.ledger.emitted(RecordType::SAMPLE, self.samples);
        if self.stack_dumps > 0 {
            self.ledger.missing(format!(
                "samples with a user stack dump (--call-graph dwarf): {}; perf_to_profile does not unwind, so their user \
                 callers are missing",
                self.stack_dumps
            ));
        }
        (self.profile, self.ledger)
    }
}

/// Everything that determines the location of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Query {
    /// Of the process and of the kernel.
    epochs: [u64; 2],
    space: Space,
    frame: CompatFrame,
}

impl RecentKey for Query {
    #[inline]
    fn number(&self) -> u64 {
        let (CompatFrame::Leaf(address) | CompatFrame::Return(address) | CompatFrame::Branch(address)) = self.frame;
        address ^ self.epochs[0].rotate_left(32)
    }
}

impl Sink for Builder {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        let kind = raw.header().kind;
        let result = match kind {
            RecordType::SAMPLE => {
                let result = self.sample(meta, raw);
                self.samples += u64::from(result.is_ok());
                result.map_err(|reason| self.ledger.dropped(kind, reason)).ok();
                return Ok(());
            }
            RecordType::LOST | RecordType::LOST_SAMPLES => self.lost(meta, raw),
            _ => self.state(meta, raw).map_err(|_| Reason::Damaged),
        };
        self.ledger.traces.record(meta, raw);
        match result {
            Ok(()) => self.ledger.consumed(kind, 1),
            Err(reason) => {
                if reason == Reason::Damaged {
                    let problem = format!("{kind} record skipped: its fields do not fit its size");
                    self.ledger.damage(meta.damage(raw.block(), raw.at(), problem));
                }
                self.ledger.dropped(kind, reason);
            }
        }
        Ok(())
    }
}
