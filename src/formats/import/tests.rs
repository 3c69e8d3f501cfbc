//! Conversion of unusual profiles.

use super::labels::LabelFields;
use super::placement::Placement;
use super::source::{SourceFrame, SourceFunction, SourceMapping, SourceProfile, SourceSample};
use super::{ImportOptions, ImportedRecording, record};
use crate::formats::import::source::SourceEvent;
use perf_data::error::Result;
use perf_data::session::interned::Interned;

/// A profile with one sample, whose stack has these frames.
fn profile_with_frames(frames: Vec<SourceFrame>) -> SourceProfile {
    let mut source = SourceProfile {
        events: vec![SourceEvent { name: "x".to_owned(), ..SourceEvent::default() }],
        ..SourceProfile::default()
    };
    let stack: Vec<u32> = (0..frames.len() as u32).collect();
    source.frames = frames;
    source.samples.push(SourceSample { stack: source.stacks.id(&stack), value: 1, ..SourceSample::default() });
    source
}

fn recorded(source: SourceProfile) -> Result<ImportedRecording> {
    record("x", source, &ImportOptions::default())
}

#[test]
fn handles_mappings_up_to_the_last_address() {
    let mut source = SourceProfile::default();
    let name = source.names.id(b"foo");
    let foo = source.function(SourceFunction::named(name));
    let vsyscall = SourceMapping { path: "[vsyscall]".into(), limit: u64::MAX, ..SourceMapping::default() };
    let frame = SourceFrame { mapping: Some(0), address: Some(u64::MAX - 1), ..SourceFrame::default() };
    let named = SourceFrame { address: Some(u64::MAX - 2), function: Some(foo), ..frame };
    source = SourceProfile {
        mappings: vec![vsyscall],
        names: source.names,
        functions: source.functions,
        as_recorded: true,
        ..profile_with_frames(vec![frame, named])
    };
    let placed = Placement::new(&source, "x");
    assert_eq!(placed.moved, 1, "the offset exceeds that of any file");
    assert!(placed.maps[1].pgoff >= 1 << 60, "synthetic maps follow all others");
    recorded(source).unwrap();
}

#[test]
fn skips_a_map_copy_that_does_not_fit() {
    let mapping = |path: &'static str| SourceMapping { path: path.into(), limit: u64::MAX, ..SourceMapping::default() };
    let frame = |mapping| SourceFrame { mapping: Some(mapping), address: Some(u64::MAX - 1), ..SourceFrame::default() };
    let source =
        SourceProfile { mappings: vec![mapping("/a"), mapping("/b")], ..profile_with_frames(vec![frame(0), frame(1)]) };
    recorded(source).unwrap();
}

#[test]
fn functions_for_which_the_input_is_too_small_become_one() {
    let limit = super::memory_limit(0) / super::source::FUNCTION_MEMORY;
    let mut source = profile_with_frames(Vec::new());
    for number in 0..limit + 2 {
        let name = source.name(&format!("f{number}"));
        let function = Some(source.function(SourceFunction::named(name)));
        source.frames.push(SourceFrame { function, ..SourceFrame::default() });
    }
    source.input_size = 1 << 20;
    let name = source.name("g");
    source.function(SourceFunction::named(name));
    let name = |function: u32| source.names.get(source.functions.list()[function as usize].name);
    let names = |frame: usize| source.frames[frame].function.map(name);
    assert_eq!(
        [limit - 1, limit, limit + 1].map(names),
        [Some(format!("f{}", limit - 1).as_bytes()), Some(b"[other functions]"), Some(b"[other functions]")]
    );
    assert_eq!(name(limit as u32 + 1), b"g", "the limit grows with the bytes that are read");
    let recording = recorded(source).unwrap();
    assert!(
        recording.missing[0].starts_with(&format!("names are kept of {} functions", limit + 1)),
        "{:?}",
        recording.missing
    );
}

/// Comparing all lines of the function for each frame would take minutes.
#[test]
fn handles_a_function_with_many_lines() {
    const MANY: u32 = 400_000;
    let mut names = perf_data::session::slices::Slices::default();
    let mut functions = Interned::default();
    let (name, file) = (names.id(b"f"), Some(names.id(b"f.c")));
    let function = Some(functions.id(SourceFunction { name, file, ..SourceFunction::default() }));
    let frames = (0..MANY).map(|line| SourceFrame { function, line: line.into(), ..SourceFrame::default() });
    let mut source = profile_with_frames(frames.collect());
    (source.names, source.functions) = (names, functions);
    let placed = Placement::new(&source, "x");
    let addresses: Vec<_> = placed.frames.iter().map(|frame| frame.address).collect();
    assert!(addresses.windows(2).all(|two| two[0] + 4 == two[1]));
}

#[test]
fn rejects_samples_beyond_the_limit() {
    let deep = |count| {
        let mut source =
            profile_with_frames(vec![SourceFrame { address: Some(0x1000), ..SourceFrame::default() }; 8000]);
        source.samples = [SourceSample { count: Some(count), ..source.samples.get(0) }].into_iter().collect();
        source
    };
    recorded(deep(10)).unwrap();
    let refused = recorded(deep(100_000_000)).unwrap_err().to_string();
    assert!(refused.contains("its samples would take more than 12800000000 bytes"), "{refused}");
}

/// Field declarations of the first event's tracepoint, and notes about omitted data.
fn labels(source: &SourceProfile) -> (Vec<String>, Vec<String>) {
    let mut lost = Vec::new();
    let fields = LabelFields::new(source, &mut lost);
    let declarations = fields.tracepoint(0).map(|point| point.fields.iter().map(|field| field.declaration.clone()));
    (declarations.into_iter().flatten().collect(), lost)
}

#[test]
fn labels_become_fields_with_unique_names() {
    let mut source = profile_with_frames(Vec::new());
    let texts = ["short".to_owned(), "long".repeat(1000)].map(|text| source.names.id(text.as_bytes()));
    let all = [("a b", texts[0]), ("a_b", texts[1]), ("a-b", texts[0]), ("a_b_2", texts[0])];
    let long = source.names.id("x".repeat(1000).as_bytes());
    let mut set: Vec<_> = all.map(|(key, text)| (source.names.id(key.as_bytes()), text.into())).to_vec();
    set.push((long, texts[0].into()));
    let set: Vec<_> = set.into_iter().map(|(key, text)| (source.labels.keys.id((key, None)), text)).collect();
    let sample = SourceSample { labels: source.labels.sets.id(&set), ..source.samples.get(0) };
    source.samples = [sample].into_iter().collect();
    let (fields, lost) = labels(&source);
    let long = format!("char {}[8]", "x".repeat(128));
    assert_eq!(fields, ["char a_b[8]", "char a_b_2[1024]", "char a_b_3[8]", "char a_b_2_2[8]", &long]);
    assert_eq!(lost, ["1 label strings are truncated to 1023 bytes"]);
    let (mut raw, own) =
        (Vec::new(), |text: &str, size: usize| [text.as_bytes(), &vec![0; size - text.len()]].concat());
    LabelFields::new(&source, &mut Vec::new()).raw(&source, &source.samples.get(0), 1, &mut raw);
    assert!(raw[8..].starts_with(&own("short", 8)) && raw[1040..].starts_with(&own("short", 8).repeat(3)));
}

/// A linear search per label would take minutes, and all fields in every event gigabytes.
#[test]
fn events_share_the_limit_for_fields() {
    const EVENTS: u32 = 1 << 13;
    let mut source = profile_with_frames(Vec::new());
    source.events = vec![source.events[0].clone(); EVENTS as usize];
    let unit = Some(source.names.id(b"bytes"));
    let keys = (0..400_000_u32).map(|key| source.names.id(&key.to_le_bytes())).collect::<Vec<_>>();
    let set: Vec<_> = keys.into_iter().map(|key| (source.labels.keys.id((key, unit)), 1)).collect();
    let all_labels = source.labels.sets.id(&set);
    let sample = SourceSample { labels: all_labels, ..source.samples.get(0) };
    source.samples = (0..EVENTS).map(|event| SourceSample { event, ..sample }).collect();
    let (fields, lost) = labels(&source);
    assert_eq!(fields.len(), 32);
    assert_eq!(lost, ["399968 label keys are omitted: a sample cannot store them"]);
}
