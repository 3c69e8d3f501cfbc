//! The scenarios cover the whole format: records, sample fields, features, containers, kinds of corruption.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};

use crate::common::scenarios::{name, scenarios};
use perf_data::abi::feature::FeatureId;
use perf_data::abi::record::RecordType;
use perf_data::abi::sample_type::SampleType;
use perf_data::container::read::input::Input;
use perf_data::container::read::{Container, ReadOptions};
use perf_data::container::write::frames::FrameOptions;
use perf_data::stream::Sink;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use perf_data::stream::source::Source;
use perf_data::stream::write::directory::ToDirectory;
use perf_data::stream::write::form::{CompressedFrames, Form};
use perfconv::synth::Scenario;

/// What no scenario covers, and why.
const EXCEPTIONS: &[(&str, &str)] = &[];

/// Record types and sample fields of a recording.
#[derive(Default)]
struct Coverage {
    records: BTreeMap<RecordType, u64>,
    fields: SampleType,
}

impl Sink for Coverage {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> perfconv::Result<()> {
        *self.records.entry(raw.header().kind).or_default() += 1;
        if raw.header().kind == RecordType::SAMPLE {
            let event = meta.events.find(raw).map(|(_, event)| event).or_else(|| meta.events.list().first());
            self.fields |= event.map_or(SampleType::empty(), |event| event.attr.sample_type);
        }
        Ok(())
    }
}

/// Reads the recording of a scenario, without its intended corruption.
fn coverage(scenario: &Scenario, dir: &std::path::Path) -> (Coverage, Meta) {
    let frames = scenario
        .compress
        .map_or(CompressedFrames::Kept, |kind| CompressedFrames::Compressed(FrameOptions { kind, level: 3 }));
    let form = Form { frames, ..Form::default() };
    let input = if scenario.container == Container::Directory {
        fs::create_dir(dir).expect("a directory");
        scenario.run(1, &mut ToDirectory::new(dir, form)).expect("a recording");
        Input::Path(dir.to_owned())
    } else {
        let mut intact = scenario.clone();
        intact.damage = None;
        let (bytes, ..) = intact.to_bytes(1, intact.container, form).expect("a recording");
        Input::Bytes { name: "synth".to_owned(), bytes: bytes.into() }
    };
    let mut coverage = Coverage::default();
    let source = Source::open(input, ReadOptions::default()).expect("a recording");
    let (meta, _) = source.run(&mut coverage).expect("reading should succeed");
    (coverage, meta)
}

#[test]
fn scenarios_cover_the_whole_format() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    // The scenarios that cover each item.
    let mut covering: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let record = |name: &str| format!("record {name}");
    let field = |name: &str| format!("field {name}");
    let feature = |name: &str| format!("feature {name}");
    let containers = ["container file", "container pipe", "container dir", "container compressed", "big-endian"];
    let damages = ["unfinished", "empty_record", "header", "flip", "cut"].map(|name| format!("damage {name}"));
    let all = RecordType::NAMED.iter().map(|(_, name)| record(name));
    let all = all.chain(SampleType::KNOWN.iter_names().map(|(name, _)| field(name)));
    let all = all.chain(FeatureId::NAMED.iter().map(|(_, name)| feature(name)));
    let all = all.chain(containers.map(str::to_owned)).chain(damages);
    covering.extend(all.map(|what| (what, Vec::new())));
    let kinds = covering.len();
    for path in scenarios() {
        let text = fs::read_to_string(&path).expect("a scenario");
        let scenario = Scenario::parse(path.to_str().expect("a path"), &text).expect("a scenario");
        let (coverage, meta) = coverage(&scenario, &dir.path().join(name(&path)));
        let mut add = |what: String| covering.entry(what).or_default().push(name(&path).to_owned());
        coverage.records.keys().for_each(|kind| add(record(&kind.to_string())));
        coverage.fields.iter_names().for_each(|(name, _)| add(field(name)));
        meta.features.keys().for_each(|id| add(feature(&id.to_string())));
        add(match scenario.container {
            Container::File => "container file".to_owned(),
            Container::Pipe => "container pipe".to_owned(),
            Container::Directory => "container dir".to_owned(),
        });
        if scenario.compress.is_some() {
            add("container compressed".to_owned());
        }
        if scenario.metadata.endian == perf_data::abi::Endian::Big {
            add("big-endian".to_owned());
        }
        if let Some(damage) = &scenario.damage {
            let done = [
                (damage.unfinished, "unfinished"),
                (damage.empty_record.is_some(), "empty_record"),
                (!damage.header.is_empty(), "header"),
                (!damage.flip.is_empty(), "flip"),
                (damage.cut.is_some(), "cut"),
            ];
            done.into_iter().filter(|(is_done, _)| *is_done).for_each(|(_, name)| add(format!("damage {name}")));
        }
    }
    let mut out = io::stderr().lock();
    for (what, scenarios) in &covering {
        let first: Vec<_> = scenarios.iter().take(3).map(String::as_str).collect();
        writeln!(out, "{what:<32}{:>4}  {}", scenarios.len(), first.join(", ")).unwrap();
    }
    assert_eq!(covering.len(), kinds, "scenarios cover an item that is not listed");
    let lacking: Vec<_> = covering.iter().filter(|(_, scenarios)| scenarios.is_empty()).map(|(what, _)| what).collect();
    let exceptions: Vec<_> = EXCEPTIONS.iter().map(|(what, _)| (*what).to_owned()).collect();
    EXCEPTIONS.iter().for_each(|(what, why)| writeln!(out, "{what}: in no scenario: {why}").unwrap());
    assert_eq!(lacking, exceptions.iter().collect::<Vec<_>>(), "items without a scenario");
}
