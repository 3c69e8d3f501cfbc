//! Makes profiles of what was collected.

use super::Collector;
use crate::profile::collect::derived_events::DerivedEvents;
use crate::profile::collect::merged_events::MergedEvents;
use crate::profile::collect::omissions;
use crate::profile::collect::parts::PartKey;
use crate::profile::collect::stack_collector::CollectedStacks;
use crate::profile::event::{EventGroup, ProfileEvent, Unit};
use crate::profile::labels;
use crate::profile::options::SplitBy;
use crate::profile::perf_event_name::perf_event_names;
use crate::profile::symbolize::Symbolization;
use crate::profile::target::RecordTarget;
use crate::profile::weight::sample_weight::SampleWeight;
use crate::profile::{Profile, Row, Tables};
use hashbrown::HashMap;
use perf_data::abi::feature::FeatureId;
use perf_data::abi::record::RecordType;
use perf_data::abi::sample_type::SampleType;
use perf_data::error::{Error, Result};
use perf_data::stream::ledger::Ledger;
use perf_data::stream::meta::Meta;
use std::collections::BTreeSet;
use std::mem;
use std::sync::Arc;

impl Collector<'_> {
    /// Returns one profile for each part, and the ledger.
    ///
    /// # Errors
    /// Fails if the recording lacks a selected event or label.
    pub(crate) fn finish(mut self, meta: &Meta) -> Result<(Vec<Profile>, Ledger)> {
        self.selection.check(meta)?;
        labels::check(&self.selected_labels, meta)?;
        self.accesses.check(meta, self.as_recorded)?;
        if self.branches.is_some() && !self.as_recorded {
            check_branches(meta)?;
        }
        mem::take(&mut self.values).finish(meta, &mut self.ledger)?;
        self.spans.take().map_or(Ok(()), |spans| spans.finish(meta, &mut self.ledger))?;
        let scheduling = self.off_cpu.take().map(|off_cpu| off_cpu.finish(meta, &mut self.ledger)).transpose()?;
        if self.unselected_intervals > 0 {
            self.ledger.change(format!("filters do not select {} of these", self.unselected_intervals));
        }
        let syscalls = self.syscalls.take();
        let syscalls = syscalls.map(|syscalls| syscalls.finish(meta, &self.session, &mut self.ledger)).transpose()?;
        for sample in self.waiting.take_all() {
            // The user frames of these samples never arrived; their kernel frames are kept.
            self.incomplete.deferred += 1;
            let stack = self.stacks.direct.resolver.stacks.stack_id(&sample.frames);
            self.add(&sample.observation, stack, 1)?;
        }
        self.ledger.emitted(RecordType::SAMPLE, self.samples);
        self.incomplete.note(&mut self.ledger);
        let samples = self.ledger.counts(RecordType::SAMPLE);
        if samples.emitted + samples.dropped() == 0 {
            let not_applicable = samples.not_applicable;
            if !matches!(self.weight, SampleWeight::OffCpu | SampleWeight::Span(_)) && syscalls.is_none() {
                omissions::note_empty(meta, not_applicable, &mut self.ledger);
            }
            self.parts.index(PartKey::All);
        }
        let target = RecordTarget::for_part(self.split, self.threads.as_ref(), meta);
        let mut parts: Vec<(Profile, PartKey)> = Vec::new();
        let mut list = mem::take(&mut self.parts).into_list();
        let mut collected = mem::take(&mut self.stacks).finish();
        for (part, counted) in list.iter_mut().zip(collected.take_rows()) {
            part.join(counted, |stack| collected.direct(stack), |sample| collected.sample_stacks[sample as usize]);
        }
        let scheduling = scheduling.flatten().map(|scheduling| scheduling.finish(|stack| collected.direct(stack)));
        let counter = self.branch_ranges.take();
        let branch_ranges = counter.map(|counter| counter.finish(&collected.stacks, |stack| collected.direct(stack)));
        let CollectedStacks { mut stacks, mut mappings, .. } = collected;
        let imported = self.symbols.imported.clone();
        let mut events: Vec<_> =
            meta.events.list().iter().map(|event| ProfileEvent::new(event, imported.as_deref())).collect();
        let mut has_samples = BTreeSet::new();
        if self.split != Some(SplitBy::Event) {
            list.iter().for_each(|part| has_samples.extend(&part.has_samples));
        }
        if self.as_recorded {
            let names = perf_event_names(meta).into_iter();
            events.iter_mut().zip(names).for_each(|(event, name)| event.name = name);
        }
        let merged = match self.as_recorded {
            true => MergedEvents::none(&events),
            false => MergedEvents::new(meta.events.list(), &events, &has_samples),
        };
        merged.rename(&mut events);
        merged.messages(meta.events.list()).for_each(|message| self.ledger.change(message));
        let mut derived_events = DerivedEvents::new(&list, &merged);
        derived_events.append(&mut events, &self.weight);
        let is_empty = list.iter().all(|part| part.has_samples.is_empty());
        for mut part in list.into_iter().filter(|part| is_empty || !part.has_samples.is_empty()) {
            part.merge_events(&merged);
            derived_events.number(&mut part);
            let main_map = part.programs.recorded(&target, &self.session);
            let main_mapping = main_map.map(|id| mappings.number(self.session.map(id)));
            let (rows, occurrences) = part.rows();
            let profile = Profile {
                rows,
                occurrences,
                has_samples: mem::take(&mut part.has_samples),
                main_mapping,
                times: part.times(),
                wall_clock_start: part.wall_clock_start(meta),
                lost_samples: self.ledger.lost_samples,
                has_selected_labels: self.has_selected_labels,
                ..Profile::default()
            };
            parts.push((profile, part.key));
        }
        if self.weight == SampleWeight::Samples {
            count_samples(&mut events, parts.iter_mut().map(|(profile, _)| profile));
        }
        let thread_comms = if self.as_recorded { self.thread_comms() } else { HashMap::new() };
        let mappings = mappings.finish(meta);
        let mut symbolization = Symbolization::new(&self.symbols, meta);
        if self.reads_code {
            symbolization = symbolization.keep_code(meta);
        }
        symbolization.look_up(stacks.frames(), &mappings, self.session.process_files());
        let code = symbolization.code();
        let (symbols, objects) = symbolization.finish();
        if self.cuts.is_any() {
            let profiles = parts.iter_mut().map(|(profile, _)| profile);
            self.ledger.change(self.cuts.apply(&mut stacks, &mappings, &symbols, profiles)?);
        }
        stacks.seal();
        let tables = Arc::new(Tables {
            events,
            counts_branches: self.branches.is_some(),
            counts_latency: self.accesses.counts_weight,
            event_groups: EventGroup::list(meta),
            thread_comms,
            mappings,
            symbols,
            function_names: self.names,
            objects,
            code,
            branch_ranges: branch_ranges.unwrap_or_default(),
            imported,
            stacks,
            labels: self.label_sets,
            scheduling,
            syscalls,
            timeline: self.timeline.map(|timeline| timeline.finish(meta, &self.weight)).unwrap_or_default(),
            names: self.session.names,
            facts: facts(meta),
            perf_version: meta.string(FeatureId::VERSION),
            command: meta.cmdline().map(|arguments| arguments.join(" ")),
        });
        let named = parts.into_iter().map(|(profile, key)| Profile {
            name: key.name(&tables),
            tables: tables.clone(),
            ..profile
        });
        Ok((named.collect(), self.ledger))
    }
}

/// Checks that an event records branch stacks.
///
/// # Errors
/// If none does.
fn check_branches(meta: &Meta) -> Result<()> {
    let events = meta.events.list();
    if events.is_empty() || events.iter().any(|event| event.layout.sample_type().contains(SampleType::BRANCH_STACK)) {
        return Ok(());
    }
    let problem = "samples have no branch stack; record them with 'perf record -b'".to_owned();
    Err(Error::input(&meta.files[0], None, problem))
}

/// Replaces values by numbers of samples, except of events of imported profiles, which may have none.
fn count_samples<'a>(events: &mut [ProfileEvent], profiles: impl Iterator<Item = &'a mut Profile>) {
    for profile in profiles {
        profile.is_by_samples = true;
        let counted = |row: &&mut Row| events.get(row.event as usize).is_some_and(ProfileEvent::counts_samples);
        profile.rows.iter_mut().filter(counted).for_each(|row| row.value = row.samples);
    }
    for event in events.iter_mut().filter(|event| event.counts_samples()) {
        (event.unit, event.is_cpu_time) = (Unit::Count, false);
    }
}

/// Names and values that describe a recording, as far as it has them.
fn facts(meta: &Meta) -> Vec<(&'static str, String)> {
    let command = meta.cmdline().map(|arguments| arguments.join(" "));
    let texts = [
        ("host", FeatureId::HOSTNAME),
        ("kernel", FeatureId::OSRELEASE),
        ("arch", FeatureId::ARCH),
        ("cpu", FeatureId::CPUDESC),
        ("perf", FeatureId::VERSION),
    ];
    let texts = texts.into_iter().filter_map(|(name, id)| Some((name, meta.string(id)?)));
    let facts = command.map(|command| ("command", command)).into_iter().chain(texts);
    facts.filter(|(_, value)| !value.is_empty()).collect()
}
