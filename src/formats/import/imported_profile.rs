//! Data of a profile that is preserved in addition to the recording.

use super::labels::LabelFields;
use super::placement::{FramePlacement, Placement};
use super::source::{SourceEvent, SourceFrame, SourceFunction, SourceMapping, SourceProfile, SourceSample};
use super::values::Values;
use crate::profile::imported::{ImportedLabel, ImportedProfile, ImportedSize, ImportedSymbols, SampleType};
use crate::profile::labels::Label;
use crate::profile::symbolize::symbols::{FrameSymbol, Function, Line, Origin};
use crate::synth::Metadata;
use perf_data::session::map::Map;
use perf_data::session::names::{NameId, Names};

/// Collects the data to preserve of a profile.
pub(super) fn imported(
    source: &mut SourceProfile,
    placed: &Placement,
    labels: &LabelFields,
    metadata: &Metadata,
    values: Values,
) -> ImportedProfile {
    let ids = metadata.events().into_iter().map(|event| event.ids.first().copied().unwrap_or_default());
    let types = source.events.iter().map(|event| event.sample_types.clone());
    let sample_types = ids.zip(types).filter_map(|(id, types)| Some((id, types?))).collect();
    let is_printed = source.events.iter().any(|event| event.is_printed);
    let label = |(key, size): (u32, u64)| {
        let (name, unit) = source.labels.keys.list()[key as usize];
        let text = |name: u32| String::from_utf8_lossy(source.names.get(name)).into_owned();
        ImportedLabel { key: text(name), unit: unit.map(text), size: size as usize }
    };
    ImportedProfile {
        sample_types,
        // The text of printed events is a tracepoint field in the recording, but no label.
        labels: if is_printed { Vec::new() } else { labels.sizes().map(label).collect() },
        default_labels: source.header.is_some().then(|| default_labels(source)),
        size: size(source, values),
        symbols: symbols(source, placed),
        header: source.header.take(),
    }
}

/// The labels that samples have.
fn default_labels(source: &SourceProfile) -> Vec<Label> {
    let has = |field: fn(&SourceSample) -> bool| source.samples.iter().any(|sample| field(&sample));
    [
        (Label::Pid, has(|sample| sample.pid.is_some())),
        (Label::Tid, has(|sample| sample.tid.is_some())),
        (Label::Comm, has(|sample| sample.comm.is_some())),
        (Label::ThreadComm, has(|sample| sample.thread_comm.is_some())),
        (Label::Cpu, has(|sample| sample.cpu.is_some())),
        (Label::TimestampNs, has(|sample| sample.time.is_some())),
        (Label::ExecutionMode, source.has_execution_modes),
        (Label::Cgroup, has(|sample| sample.cgroup.is_some())),
    ]
    .into_iter()
    .filter_map(|(label, has)| has.then_some(label))
    .collect()
}

fn size(source: &SourceProfile, values: Values) -> ImportedSize {
    let counts_samples = match values {
        Values::Counted => source.samples.iter().all(|sample| sample.count.is_some()),
        Values::Spread => true,
        Values::Single => false,
    };
    let mut sums = vec![0_u64; source.events.len()];
    for sample in source.samples.iter() {
        let sum = &mut sums[sample.event as usize];
        *sum = sum.saturating_add(sample.value);
    }
    let total =
        |(event, sum): (&SourceEvent, u64)| (SampleType { kind: event.name.clone(), unit: event.unit.clone() }, sum);
    let times = || source.samples.iter().filter_map(|sample| sample.time);
    ImportedSize {
        values: source.samples.len() as u64,
        counts_samples,
        stacks: source.stacks.iter().len() as u64,
        frames: source.frames.len() as u64,
        mappings: source.mappings.len() as u64,
        totals: source.events.iter().zip(sums).map(total).collect(),
        times: times().min().zip(times().max()),
    }
}

/// The functions, by the addresses of frames in the recording.
fn symbols(source: &mut SourceProfile, placed: &Placement) -> ImportedSymbols {
    let mut names = Names::from(std::mem::take(&mut source.names));
    let empty = names.id(b"");
    let function = |function: &SourceFunction| Function {
        name: NameId(function.name),
        system_name: function.system_name.map_or(empty, NameId),
        file: function.file.map_or(empty, NameId),
        start_line: function.start_line,
    };
    let functions = source.functions.list().iter().map(function).collect();
    let mut symbols = ImportedSymbols::new(names, functions, source.mappings.iter().map(map).collect());
    let maps: Vec<Map> = placed.maps.iter().map(map).collect();
    let frames = source.frames.iter().zip(&placed.frames);
    let frame_symbol = |(frame, placement): (&SourceFrame, &FramePlacement)| {
        let FramePlacement { address, map: Some(map), is_kernel } = *placement else { return None };
        // Frames that moved to another address or mapping keep the original one for profiles.
        let own = frame.mapping.map(|mapping| &source.mappings[mapping as usize]);
        let is_same = frame.mapping == Some(map) && own == Some(&placed.maps[map as usize]);
        let has_moved = !is_same || frame.address != Some(address);
        let origin = Origin { mapping: frame.mapping, address: frame.address.unwrap_or(0) };
        let origin = (has_moved && source.header.is_some()).then_some(origin);
        let line = frame.function.map(|function| Line { function, line: frame.line, column: frame.column });
        Some((map, address, is_kernel, FrameSymbol { line, is_inlined: frame.is_inlined, origin }))
    };
    for (map, address, is_kernel, symbol) in frames.clone().filter_map(frame_symbol) {
        symbols.add(&maps[map as usize], address, is_kernel, symbol);
    }
    if source.as_recorded {
        // Callers have return addresses, which are looked up at the preceding byte.
        for (map, address, is_kernel, symbol) in frames.filter_map(frame_symbol).filter(|(_, address, ..)| *address > 0)
        {
            symbols.add(&maps[map as usize], address - 1, is_kernel, symbol);
        }
    }
    symbols
}

fn map(mapping: &SourceMapping) -> Map {
    let len = mapping.limit.saturating_sub(mapping.start);
    Map::new(mapping.start, len, mapping.pgoff, &mapping.path, mapping.build_id.as_deref())
}
