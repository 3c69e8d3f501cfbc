//! Conversion of a recording to profiles.

use super::hardware_trace::decode_trace;
use crate::formats::framework::output::BeginStreamed;
use crate::profile::Profile;
use crate::profile::collect::collector::Collector;
use crate::profile::collect::merged_events::MergedEvents;
use crate::profile::collect::pre_scan::SampleScan;
use crate::profile::collect::sample_sink::{ResolvedSample, SampleSink};
use crate::profile::event::ProfileEvent;
use crate::profile::options::ProfileOptions;
use crate::profile::symbolize::SymbolSources;
use crate::profile::symbolize::unsymbolized::Unsymbolized;
use crate::profile::unwind::unwinding::{Unwinding, Unwound};
use crate::rewrite::framework::disclosure::Disclosure;
use crate::rewrite::framework::passes::Passes;
use crate::rewrite::itrace::TraceEvents;
use perf_data::container::read::ReadOptions;
use perf_data::container::read::input::Input;
use perf_data::error::Result;
use perf_data::stream::events::EventIndex;
use perf_data::stream::ledger::Ledger;
use perf_data::stream::meta::Meta;
use perf_data::stream::source::Source;
use perf_data::stream::stage::Before;
use std::io::Write;

/// Converts a recording, in time order, to a profile. Records that must wait are spilled to temporary files beyond a
/// memory budget.
///
/// # Errors
/// If no record is readable, or a requested event or label does not exist. The ledger reports corrupt parts.
pub fn profile(source: Source, options: &ProfileOptions) -> Result<(Profile, Ledger)> {
    let (profiles, ledger) = profiles(source, &ProfileOptions { split: None, ..options.clone() })?;
    Ok((profiles.into_iter().next().unwrap_or_default(), ledger))
}

/// Converts a recording to the profiles that it is [split](ProfileOptions::split) into.
///
/// # Errors
/// Those of [`profile`].
pub fn profiles(source: Source, options: &ProfileOptions) -> Result<(Vec<Profile>, Ledger)> {
    let read = source.options().clone();
    collected(Collector::new(options), &options.symbols, read, Disclosure::Everything, |sink| source.run(sink))
}

/// Converts a recording to profiles, with the samples of its trace, if that is decoded by default.
///
/// # Errors
/// Those of [`profile`].
pub fn decoded_profiles(input: Input, read: &ReadOptions, options: &ProfileOptions) -> Result<(Vec<Profile>, Ledger)> {
    let mut passes = Passes::default();
    let input = decode_trace(input, read, &mut passes, &TraceEvents::default())?;
    passed_profiles(input, read, &mut passes, options)
}

/// Converts a recording to profiles after applying passes.
///
/// # Errors
/// Those of [`profile`], and of the passes.
pub fn passed_profiles(
    input: Input,
    read: &ReadOptions,
    passes: &mut Passes,
    options: &ProfileOptions,
) -> Result<(Vec<Profile>, Ledger)> {
    let disclosure = passes.disclosure();
    let file = disclosure.bypassing(Some(input.name()));
    let (mut profiles, ledger) =
        collected(Collector::new(options), &options.symbols, read.clone(), disclosure, |sink| {
            passes.run(input, read, sink)
        })?;
    profiles.iter_mut().for_each(|profile| profile.file.clone_from(&file));
    Ok((profiles, ledger))
}

fn collected<'a>(
    collector: Collector<'a>,
    symbols: &SymbolSources,
    read: ReadOptions,
    disclosure: Disclosure,
    run: impl FnOnce(&mut Unwound<Collector<'a>>) -> Result<(Meta, Ledger)>,
) -> Result<(Vec<Profile>, Ledger)> {
    let mut ordered = Unwinding::in_time_order(symbols, collector, read);
    let (meta, mut ledger) = run(&mut ordered)?;
    let Before { stage, sink } = ordered.into_inner();
    let (profiles, collected) = sink.finish(&meta)?;
    ledger.account_for_stream();
    ledger.merge(collected);
    stage.note(&mut ledger);
    let warnings = disclosure.warnings(&ledger);
    let profiles = profiles.into_iter().map(|profile| Profile { warnings: warnings.clone(), ..profile });
    Ok((profiles.collect(), ledger))
}

/// Applies passes to a recording, and writes it to a format that takes samples one by one, for profiles with mostly
/// unique stacks. The recording is read twice, since the output begins with the events that have samples. Also
/// returns how many samples have frames without function names.
///
/// # Errors
/// Those of [`passed_profiles`], and errors of `out`.
pub(super) fn streamed(
    input: Input,
    read: &ReadOptions,
    passes: &mut Passes,
    options: &ProfileOptions,
    begin: BeginStreamed,
    out: &mut dyn Write,
) -> Result<(Ledger, Unsymbolized)> {
    let (input, damage) = input.repeatable(read)?;
    let mut scan = SampleScan::default();
    let (meta, _) = passes.stream(input.clone(), read, &mut scan)?;
    let mut events: Vec<_> = meta.events.list().iter().map(ProfileEvent::from).collect();
    let has_samples = scan.has_samples(options, &meta);
    let merged = MergedEvents::new(meta.events.list(), &events, &has_samples);
    merged.rename(&mut events);
    let mut writer = begin(out, &events, &merged.merged(&has_samples));
    let mut counted = CountedStacks { sink: &mut *writer, samples: Vec::new(), merged: &merged, weights: Vec::new() };
    let collector = Collector::new(options).with_sample_sink(&mut counted);
    let disclosure = passes.disclosure();
    let run = |sink: &mut Unwound<_>| passes.run(input, read, sink);
    let (profiles, mut ledger) = collected(collector, &options.symbols, read.clone(), disclosure, run)?;
    damage.into_iter().for_each(|damage| ledger.damage(damage));
    merged.messages(meta.events.list()).for_each(|message| ledger.change(message));
    let samples = counted.samples;
    let profile = profiles.into_iter().next().unwrap_or_default();
    let mut unsymbolized = Unsymbolized::default();
    unsymbolized.add_stacks(&profile.tables, (0..).zip(samples));
    writer.finish(&profile)?;
    Ok((ledger, unsymbolized))
}

/// Counts the samples of each stack, and forwards them with the events that are added up.
struct CountedStacks<'a> {
    sink: &'a mut dyn SampleSink,
    /// By stack number.
    samples: Vec<u64>,
    merged: &'a MergedEvents,
    /// Values of the current sample (scratch buffer).
    weights: Vec<(EventIndex, u64)>,
}

impl SampleSink for CountedStacks<'_> {
    fn sample(&mut self, sample: &ResolvedSample<'_>) -> Result<()> {
        let stack = sample.stack as usize;
        self.samples.resize(self.samples.len().max(stack + 1), 0);
        self.samples[stack] += sample.samples * sample.weights.len() as u64;
        if self.merged.is_empty() {
            return self.sink.sample(sample);
        }
        self.weights.clear();
        self.weights.extend(sample.weights.iter().map(|&(event, value)| (self.merged.representative(event), value)));
        self.sink.sample(&ResolvedSample { weights: &self.weights, ..*sample })
    }
}
