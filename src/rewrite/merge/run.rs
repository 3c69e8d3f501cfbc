//! Drives a merge: pre-scans all recordings, merges their metadata, then merges their records.

use super::member::Member;
use super::options::{MergeOptions, PID_STEP};
use super::remap::RecordRemapper;
use super::streams::{self, MergePart};
use super::{clock, compatibility, duplicates, events, features, kernel};
use crate::rewrite::framework::rounds::Rounds;
use perf_data::abi::record::RecordType;
use perf_data::abi::record::descriptor::RecordFlags;
use perf_data::container::read::input::Input;
use perf_data::container::read::{Container, ReadOptions};
use perf_data::error::{Error, Result};
use perf_data::stream::Sink;
use perf_data::stream::ledger::Ledger;
use perf_data::stream::meta::Meta;
use perf_data::stream::stage::Before;
use perf_data::threads::in_order;
use std::thread;

/// Recordings that can be merged, with their merged metadata.
#[derive(Debug)]
pub struct Merge {
    members: Vec<Member>,
    remappers: Vec<RecordRemapper>,
    shifts: Vec<u64>,
    options: MergeOptions,
    meta: Meta,
    notes: Vec<String>,
}

impl Merge {
    /// Pre-scans recordings and checks that they can be merged.
    ///
    /// # Errors
    /// Fails if a recording cannot be read, or the recordings cannot be merged.
    pub fn open(inputs: Vec<Input>, read: &ReadOptions, options: MergeOptions) -> Result<Self> {
        let mut members = scan(&inputs, read)?;
        let Some(first) = members.first() else { return Err(Error::invalid("nothing to merge")) };
        let (endian, name) = (first.meta.endian, first.name.clone());
        members = members.into_iter().map(|member| member.in_order(endian, &name, read)).collect::<Result<_>>()?;
        compatibility::check(&members, &options)?;
        let shifts = clock::shifts(&members, options.align_wall)?;
        kernel::check(&members, options.kernel_from)?;
        let events = events::merge(&members, &options)?;
        let remapper = |(number, (plan, &shift)): (usize, (&events::Plan, &u64))| {
            let pids = options.offset_pids.then_some(PID_STEP * number as u32);
            RecordRemapper::new(plan.clone(), shift, pids)
        };
        let remappers: Vec<_> = events.plans.iter().zip(&shifts).enumerate().map(remapper).collect();
        let features = features::merge(&members, &remappers, &events, &shifts, &options)?;
        let mut meta = members[0].meta.with(events.attrs(), features.features, members[0].meta.event_types.list());
        (meta.container, meta.directory) = (Container::File, None);
        meta.files = members.iter().flat_map(|member| member.meta.files.clone()).collect();
        // They are in the merged BUILD_ID feature.
        meta.build_id_records.clear();
        let mut notes = duplicates::warnings(&members, read);
        notes.extend(features.notes);
        Ok(Self { members, remappers, shifts, options, meta, notes })
    }

    /// The metadata of the result.
    pub fn meta(&self) -> &Meta {
        &self.meta
    }

    /// Streams all records in time order. It can be called several times.
    ///
    /// # Errors
    /// Fails if a recording cannot be read, a record cannot be remapped, or the sink fails.
    pub fn run(&self, read: &ReadOptions, mut sink: &mut dyn Sink) -> Result<(Meta, Ledger)> {
        sink.begin(&self.meta)?;
        let mut rounds = Before::new(Rounds::default(), &mut sink);
        let mut ledger = streams::run(&self.members, self.parts(), read, &self.meta, &mut rounds)?;
        let marks = rounds.stage.marks();
        sink.end(&self.meta)?;
        let kinds: Vec<_> = ledger.entries().keys().copied().collect();
        // These are not copied: the result has a header of its own, uncompressed records, and rounds in its own order.
        for kind in kinds {
            if kind.is_frame() || kind.is_header() || kind == RecordType::FINISHED_ROUND {
                let count = ledger.counts(kind).unaccounted();
                ledger.consumed(kind, count);
            }
        }
        if marks > 0 {
            ledger.added(RecordType::FINISHED_ROUND, marks);
        }
        self.notes.iter().for_each(|note| ledger.note(note.clone()));
        Ok((self.meta.clone(), ledger))
    }

    fn parts(&self) -> Vec<MergePart> {
        let Self { members, options, .. } = self;
        let mut source = 0;
        let mut parts = Vec::new();
        for (number, member) in members.iter().enumerate() {
            // perf expects some types once: only those of the first recording that has them are kept.
            let is_redundant = |kind: &RecordType| {
                // It converts the hardware clock to the recorded clock, not to the wall clock.
                let is_obsolete = *kind == RecordType::TIME_CONV && options.align_wall;
                let has_kind = |other: &Member| other.scan.counts.count(*kind) > 0;
                is_obsolete || kind.has(RecordFlags::ONCE) && members[..number].iter().any(has_kind)
            };
            let kinds = member.scan.counts.iter().map(|(kind, _)| kind);
            parts.push(MergePart {
                remapper: self.remappers[number].clone(),
                without_kernel: options.kernel_from.is_some_and(|chosen| chosen != number),
                without: kinds.filter(is_redundant).collect(),
                first: member.scan.first.map_or(0, |first| first.wrapping_add(self.shifts[number])),
                source,
            });
            source += member.meta.files.len() as u32;
        }
        parts
    }
}

/// Pre-scans all recordings in parallel; returns the error of the first one that fails, by position.
fn scan(inputs: &[Input], read: &ReadOptions) -> Result<Vec<Member>> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let mut members = Vec::new();
    in_order(threads, inputs, |input| Member::open(input.clone(), read), |member| members.push(member));
    members.into_iter().collect()
}
