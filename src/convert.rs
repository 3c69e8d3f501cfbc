//! The main job in one call: a recording to profiles.

use crate::container::read::directory::is_part;
use crate::container::read::input::Input;
use crate::container::read::{Container, ReadOptions};
use crate::error::Result;
use crate::formats::BeginStreamed;
use crate::formats::carry::{BeginCarry, BeginFolder, Carry, CarryOptions};
use crate::profile::Profile;
use crate::profile::collector::Collector;
use crate::profile::event::ProfileEvent;
use crate::profile::options::ProfileOptions;
use crate::profile::pre_scan::SampleScan;
use crate::profile::sample_sink::{TakeSamples, TakenSample};
use crate::profile::unnamed::Unnamed;
use crate::rewrite::passes::Passes;
use crate::stream::ledger::Ledger;
use crate::stream::meta::Meta;
use crate::stream::order::Order;
use crate::stream::source::Source;
use std::io::Write;
use std::path::Path;

/// Reads a recording, in time order, into a profile. What waits for its turn and is too much for memory goes to temporary
/// files.
///
/// # Errors
/// Where there is not a single record that can be read, or no event or label that was asked for. What is wrong in parts is
/// told by the ledger.
pub fn profile(source: Source, options: &ProfileOptions) -> Result<(Profile, Ledger)> {
    let (profiles, ledger) = profiles(source, &ProfileOptions { split: None, ..options.clone() })?;
    Ok((profiles.into_iter().next().unwrap_or_default(), ledger))
}

/// Reads a recording into the profiles that it is [split](ProfileOptions::split) into.
///
/// # Errors
/// As [`profile`].
pub fn profiles(source: Source, options: &ProfileOptions) -> Result<(Vec<Profile>, Ledger)> {
    let read = source.options().clone();
    collected(Collector::new(options), read, |sink| source.run(sink))
}

/// The same of a recording whose records go through passes first.
///
/// # Errors
/// As [`profile`], and where a pass cannot do what was asked of it.
pub fn passed_profiles(
    input: Input,
    read: &ReadOptions,
    passes: &mut Passes,
    options: &ProfileOptions,
) -> Result<(Vec<Profile>, Ledger)> {
    collected(Collector::new(options), read.clone(), |sink| passes.run(input, read, sink))
}

fn collected<'a>(
    collector: Collector<'a>,
    read: ReadOptions,
    run: impl FnOnce(&mut Order<Collector<'a>>) -> Result<(Meta, Ledger)>,
) -> Result<(Vec<Profile>, Ledger)> {
    let mut ordered = Order::new(collector, read);
    let (meta, mut ledger) = run(&mut ordered)?;
    let (profiles, collected) = ordered.into_inner().finish(&meta)?;
    ledger.account_for_stream();
    ledger.merge(collected);
    Ok((profiles, ledger))
}

/// Writes a recording, through passes, to a format that takes samples one by one, for profiles of which hardly two samples are
/// equal. The recording is read twice: which events have samples must be known before the first. Returns how many samples have
/// frames without function names, too.
///
/// # Errors
/// As [`passed_profiles`], and what `out` says.
pub fn streamed(
    input: Input,
    read: &ReadOptions,
    passes: &mut Passes,
    options: &ProfileOptions,
    begin: BeginStreamed,
    out: &mut dyn Write,
) -> Result<(Ledger, Unnamed)> {
    let (input, damage) = input.repeatable(read)?;
    let mut look = SampleScan::default();
    let (meta, _) = passes.stream(input.clone(), read, &mut look)?;
    let events: Vec<_> = meta.events.list().iter().map(ProfileEvent::from).collect();
    let mut writer = begin(out, &events, &look.has_samples(options, &meta));
    let mut counted = CountedStacks { sink: &mut *writer, samples: Vec::new() };
    let collector = Collector::new(options).passing_samples_to(&mut counted);
    let (profiles, mut ledger) = collected(collector, read.clone(), |sink| passes.run(input, read, sink))?;
    damage.into_iter().for_each(|damage| ledger.damage(damage));
    let samples = counted.samples;
    let profile = profiles.into_iter().next().unwrap_or_default();
    let mut unnamed = Unnamed::default();
    unnamed.add_stacks(&profile.tables, (0..).zip(samples));
    writer.finish(&profile)?;
    Ok((ledger, unnamed))
}

/// Counts the samples of each stack on their way to where they are written.
struct CountedStacks<'a> {
    sink: &'a mut dyn TakeSamples,
    /// By the number of the stack.
    samples: Vec<u64>,
}

impl TakeSamples for CountedStacks<'_> {
    fn take(&mut self, sample: &TakenSample<'_>) -> Result<()> {
        let stack = sample.stack as usize;
        self.samples.resize(self.samples.len().max(stack + 1), 0);
        self.samples[stack] += sample.samples * sample.weights.len() as u64;
        self.sink.take(sample)
    }
}

/// Writes the records of a recording, through passes, to a format that carries them.
///
/// # Errors
/// Where the recording cannot be read, and what `out` says.
pub fn carry(
    input: Input,
    read: &ReadOptions,
    options: &CarryOptions,
    passes: &mut Passes,
    begin: BeginCarry,
    out: &mut dyn Write,
) -> Result<Ledger> {
    carry_by(input, read, passes, &mut *begin(out, options))
}

/// Writes the records of a recording to the files of a format that has several, in a folder that is there and empty.
///
/// # Errors
/// As [`carry`].
pub fn carry_to_folder(
    input: Input,
    read: &ReadOptions,
    options: &CarryOptions,
    passes: &mut Passes,
    begin: BeginFolder,
    folder: &Path,
) -> Result<Ledger> {
    carry_by(input, read, passes, &mut *begin(folder, options)?)
}

fn carry_by(input: Input, read: &ReadOptions, passes: &mut Passes, carrier: &mut dyn Carry) -> Result<Ledger> {
    let (meta, mut ledger) = passes.run(input, read, &mut *carrier)?;
    carrier.account(&mut ledger);
    let others = if carrier.carries_others() { Vec::new() } else { others(&meta) };
    if !others.is_empty() {
        ledger
            .missing(format!("what the folder holds beside the recording is not in the output: {}", others.join(", ")));
    }
    Ok(ledger)
}

/// What a folder holds that is no part of the recording, such as the `kcore_dir` of `perf record --kcore`.
fn others(meta: &Meta) -> Vec<String> {
    if meta.container != Container::Directory {
        return Vec::new();
    }
    let folder = meta.folder.as_ref().and_then(|folder| folder.read_dir().ok());
    let names = folder.into_iter().flatten().flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<_> = names.filter(|name| !is_part(name)).collect();
    names.sort();
    names
}
