//! Profiles that tell what none would.

use super::labels::Fields;
use super::placement::Placed;
use super::source::{SourceFrame, SourceFunction, SourceFunctions, SourceMapping, SourceProfile, SourceSample};
use super::{ImportOptions, ImportedRecording, record};
use crate::error::Result;
use crate::formats::import::source::SourceEvent;

/// A profile of one sample, with a stack of these frames.
fn of_frames(frames: Vec<SourceFrame>) -> SourceProfile {
    let mut told = SourceProfile {
        events: vec![SourceEvent { name: "x".to_owned(), ..SourceEvent::default() }],
        ..SourceProfile::default()
    };
    let stack: Vec<u32> = (0..frames.len() as u32).collect();
    told.frames = frames;
    told.samples.push(SourceSample { stack: told.stacks.id(&stack), value: 1, ..SourceSample::default() });
    told
}

fn made(told: SourceProfile) -> Result<ImportedRecording> {
    record("x", told, &ImportOptions::default())
}

#[test]
fn a_place_at_the_end_of_all_has_nothing_behind_it() {
    let mut told = SourceProfile::default();
    let name = told.names.id(b"foo");
    let foo = told.functions.named(name);
    let vsyscall = SourceMapping { path: "[vsyscall]".into(), limit: u64::MAX, ..SourceMapping::default() };
    let frame = SourceFrame { mapping: Some(0), address: Some(u64::MAX - 1), ..SourceFrame::default() };
    let named = SourceFrame { address: Some(u64::MAX - 2), function: Some(foo), ..frame };
    told = SourceProfile {
        mappings: vec![vsyscall],
        names: told.names,
        functions: told.functions,
        as_recorded: true,
        ..of_frames(vec![frame, named])
    };
    let placed = Placed::new(&told, "x");
    assert_eq!(placed.moved, 1, "no file has room for it");
    assert!(placed.maps[1].pgoff >= 1 << 60, "what is made up is behind all that is told");
    made(told).unwrap();
}

#[test]
fn a_copy_of_a_map_for_which_there_is_no_room_is_not_used() {
    let mapping = |path: &'static str| SourceMapping { path: path.into(), limit: u64::MAX, ..SourceMapping::default() };
    let frame = |mapping| SourceFrame { mapping: Some(mapping), address: Some(u64::MAX - 1), ..SourceFrame::default() };
    let told = SourceProfile { mappings: vec![mapping("/a"), mapping("/b")], ..of_frames(vec![frame(0), frame(1)]) };
    made(told).unwrap();
}

/// If all lines of the function were compared for each of its frames, this would take minutes.
#[test]
fn a_function_has_many_lines() {
    const MANY: u32 = 400_000;
    let mut names = crate::session::slices::Slices::default();
    let mut functions = SourceFunctions::default();
    let (name, file) = (names.id(b"f"), Some(names.id(b"f.c")));
    let function = Some(functions.id(SourceFunction { name, file, ..SourceFunction::default() }));
    let frames = (0..MANY).map(|line| SourceFrame { function, line: line.into(), ..SourceFrame::default() });
    let mut told = of_frames(frames.collect());
    (told.names, told.functions) = (names, functions);
    let placed = Placed::new(&told, "x");
    let addresses: Vec<_> = placed.frames.iter().map(|frame| frame.address).collect();
    assert!(addresses.windows(2).all(|two| two[0] + 4 == two[1]));
}

#[test]
fn samples_take_no_more_than_a_recording_holds() {
    let deep = |count| {
        let mut told = of_frames(vec![SourceFrame { address: Some(0x1000), ..SourceFrame::default() }; 8000]);
        told.samples[0] = SourceSample { count: Some(count), ..told.samples[0] };
        told
    };
    made(deep(10)).unwrap();
    let refused = made(deep(100_000_000)).unwrap_err().to_string();
    assert!(refused.contains("it counts samples of more than 12800000000 bytes"), "{refused}");
}

/// The fields of the tracepoint that the first event is, with what is lost.
fn labels(told: &SourceProfile) -> (Vec<String>, Vec<String>) {
    let mut lost = Vec::new();
    let fields = Fields::new(told, &mut lost);
    let declarations = fields.tracepoint(0).map(|point| point.fields.iter().map(|field| field.declaration.clone()));
    (declarations.into_iter().flatten().collect(), lost)
}

#[test]
fn labels_are_fields_of_names_that_differ() {
    let mut told = of_frames(Vec::new());
    let texts = ["short".to_owned(), "long".repeat(1000)].map(|text| told.names.id(text.as_bytes()));
    let all = [("a b", texts[0]), ("a_b", texts[1]), ("a-b", texts[0]), ("a_b_2", texts[0])];
    let long = told.names.id("x".repeat(1000).as_bytes());
    let mut set: Vec<_> = all.map(|(key, text)| (told.names.id(key.as_bytes()), text.into())).to_vec();
    set.push((long, texts[0].into()));
    let set: Vec<_> = set.into_iter().map(|(key, text)| (told.labels.key(key, None), text)).collect();
    told.samples[0].labels = told.labels.sets.id(&set);
    let (fields, lost) = labels(&told);
    let long = format!("char {}[8]", "x".repeat(128));
    assert_eq!(fields, ["char a_b[8]", "char a_b_2[1024]", "char a_b_3[8]", "char a_b_2_2[8]", &long]);
    assert_eq!(lost, ["1 texts of labels are cut to 1023 bytes"]);
    let (mut raw, own) =
        (Vec::new(), |text: &str, size: usize| [text.as_bytes(), &vec![0; size - text.len()]].concat());
    Fields::new(&told, &mut Vec::new()).raw(&told, &told.samples[0], 1, &mut raw);
    assert!(raw[8..].starts_with(&own("short", 8)) && raw[1040..].starts_with(&own("short", 8).repeat(3)));
}

/// If each label were looked for among all, this would take minutes; if each event had all fields, it would take gigabytes.
#[test]
fn events_share_the_room_for_fields() {
    const EVENTS: u32 = 1 << 13;
    let mut told = of_frames(Vec::new());
    told.events = vec![told.events[0].clone(); EVENTS as usize];
    let unit = Some(told.names.id(b"bytes"));
    let keys = (0..400_000_u32).map(|key| told.names.id(&key.to_le_bytes())).collect::<Vec<_>>();
    let set: Vec<_> = keys.into_iter().map(|key| (told.labels.key(key, unit), 1)).collect();
    let labels_of_all = told.labels.sets.id(&set);
    let sample = SourceSample { labels: labels_of_all, ..told.samples[0] };
    told.samples = (0..EVENTS).map(|event| SourceSample { event, ..sample }).collect();
    let (fields, lost) = labels(&told);
    assert_eq!(fields.len(), 32);
    assert_eq!(lost, ["399968 keys of labels are left out: a sample has no room for them"]);
}
