//! Pages and flame graphs of profiles whose names try to become a part of the page.

use arbitrary::{Result, Unstructured};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::ZlibDecoder;
use perf_data::container::read::ReadOptions;
use perf_data::printable::is_unsafe;
use perf_data::stream::source::Source;
use perfconv::conversion;
use perfconv::formats::flamegraph::Flamegraph;
use perfconv::formats::framework::output::ProfileFormat;
use perfconv::formats::html::{Embed, Html};
use perfconv::formats::import::ImportOptions;
use perfconv::formats::pprof;
use perfconv::formats::pprof::proto::{self, Function, Line, Location, Mapping, Profile, Sample, ValueType};
use perfconv::profile::labels::Label;
use perfconv::profile::options::ProfileOptions;
use prost::Message;
use quick_xml::XmlVersion;
use quick_xml::events::Event;
use serde_json::Value;
use std::io::Read;

/// Parts of names that end an element, a script, a string or a line somewhere.
const PARTS: [&str; 16] = [
    "main",
    "</script>",
    "<script>alert(1)",
    "<!--",
    "]]>",
    "&lt;",
    "\"",
    "'",
    "\\",
    "\u{2028}",
    "\n",
    "\u{202e}",
    "\0",
    ";",
    "</title>",
    "${x}`",
];

/// What the page shows of samples beside their stacks.
const LABELS: &[Label] = &[Label::Tid, Label::ThreadComm, Label::TimestampNs];

/// Names in the places of a profile: the page and the image contain them as text only.
pub fn page(bytes: &[u8]) {
    let mut from = Unstructured::new(bytes);
    let Ok((profile, title)) = profile(&mut from).and_then(|profile| Ok((profile, name(&mut from)?))) else { return };
    let bytes = profile.encode_to_vec();
    let Ok(imported) = pprof::import(&mut &bytes[..], "fuzzed", &ImportOptions::default()) else { return };
    let source = Source::open(imported.input(), ReadOptions::default()).expect("an imported recording");
    let options = ProfileOptions { required_labels: LABELS.to_vec(), timeline: true, ..ProfileOptions::default() };
    let Ok((profile, _)) = conversion::profile(source, &options) else { return };
    let (mut html, mut graph) = (Html::default(), Flamegraph::default());
    (html.title, graph.title) = (Some(title.clone()), Some(title));
    let mut page = Vec::new();
    html.write(&profile, &mut page).expect("writing to memory should succeed");
    assert_page(str::from_utf8(&page).expect("a page is UTF-8"));
    html.embed = vec![Embed::Source, Embed::Code];
    page.clear();
    html.write(&profile, &mut page).expect("writing to memory should succeed");
    assert_page(str::from_utf8(&page).expect("a page is UTF-8"));
    let mut image = Vec::new();
    if graph.write(&profile, &mut image).is_ok() {
        assert_image(str::from_utf8(&image).expect("an image is UTF-8"));
    }
}

/// The page has its own two scripts and nothing else that runs, and its data can be read.
fn assert_page(page: &str) {
    for tag in ["<script", "</script>", "<title>", "</title>", "<style>", "</style>"] {
        let expected = if tag.contains("script") { 2 } else { 1 };
        // The program of the page contains none of them.
        assert_eq!(page.matches(tag).count(), expected, "{tag}");
    }
    let (_, rest) = page.split_once("<title>").expect("a title");
    let (title, rest) = rest.split_once("</title>").expect("a title");
    assert!(!title.contains(['<', '>']) && !title.contains(is_unsafe), "{title:?}");
    let (_, rest) = rest.split_once("id=\"data\">").expect("a block of data");
    let (data, _) = rest.split_once("</script>").expect("a block of data");
    let mut bytes = Vec::new();
    ZlibDecoder::new(&STANDARD.decode(data).expect("base64")[..]).read_to_end(&mut bytes).expect("compressed data");
    let mut rest = &bytes[..];
    let mut block = || {
        let (size, bytes) = rest.split_first_chunk()?;
        let (block, others) = bytes.split_at(u32::from_le_bytes(*size) as usize);
        rest = others;
        Some(block)
    };
    let header: Value = serde_json::from_slice(block().expect("an object")).expect("JSON");
    let columns: Vec<Vec<u64>> = std::iter::from_fn(block).map(numbers).collect();
    let [
        names,
        short_names,
        objects,
        _,
        functions,
        files,
        _,
        _,
        steps,
        places,
        comms,
        _,
        programs,
        _,
        _,
        nodes,
        events,
        threads,
        _,
        _,
        samples,
        values,
        waiting,
        reasons,
        _,
        lengths,
        waited,
        code @ ..,
    ] = &columns[..]
    else {
        panic!("{} columns", columns.len())
    };
    let count = |name: &str| header[name].as_array().map_or(0, Vec::len) as u64;
    assert!(names.iter().chain(short_names).chain(objects).chain(files).all(|&name| name < count("strings")));
    // 0 stands for an unknown name.
    assert!(comms.iter().chain(programs).all(|&name| name <= count("strings")));
    assert!(functions.iter().all(|&function| function < names.len() as u64));
    assert!(steps.len() == places.len() && places.iter().all(|&place| place < functions.len() as u64));
    // Node 0 is the root, which has no place.
    assert!(nodes.iter().sum::<u64>() <= places.len() as u64);
    assert!(events.iter().all(|&event| event < count("events")));
    assert!(threads.iter().all(|&thread| thread < comms.len() as u64));
    assert!(samples.len() == nodes.len() && values.len() == nodes.len());
    assert!(waiting.iter().all(|&thread| thread < comms.len() as u64));
    assert!(reasons.iter().all(|&reason| reason < count("states")));
    assert!([reasons, lengths, waited].iter().all(|column| column.len() == waiting.len()));
    assert_code(code, &header, count("strings"));
    assert_printable(&header);
}

/// Code refers to instructions, positions, texts and events that exist.
fn assert_code(columns: &[Vec<u64>], header: &Value, strings: u64) {
    let Some(functions) = header["code"]["functions"].as_array() else {
        return assert!(columns.is_empty() && header.get("code").is_none());
    };
    let [steps, texts, positions, described, samples] = columns else { panic!("{} columns", columns.len()) };
    let counts: u64 = functions.iter().filter_map(|function| function["count"].as_u64()).sum();
    assert!(counts == steps.len() as u64 && texts.len() == steps.len() && positions.len() == steps.len());
    assert!(texts.iter().all(|&text| text <= strings));
    let (mut rest, mut count) = (&described[..], 0);
    while let [file, _, text, inlined, others @ ..] = rest {
        let (names, others) = others.split_at(*inlined as usize);
        assert!(*file <= strings && *text <= strings && names.iter().all(|&name| name < strings));
        (rest, count) = (others, count + 1);
    }
    assert!(rest.is_empty() && positions.iter().all(|&position| position < count));
    let events = header["events"].as_array().map_or(0, Vec::len) as u64;
    let (samples, []) = samples.as_chunks::<6>() else { panic!("{} numbers", samples.len()) };
    assert!(samples.iter().all(|[_, event, ..]| *event < events));
    assert!(samples.iter().map(|[step, ..]| step).sum::<u64>() < steps.len().max(1) as u64);
}

/// No text reverses or ends a line.
fn assert_printable(value: &Value) {
    match value {
        Value::String(text) => assert!(!text.contains(is_unsafe), "{text:?}"),
        Value::Array(values) => values.iter().for_each(assert_printable),
        Value::Object(fields) => fields.values().for_each(assert_printable),
        _ => {}
    }
}

fn numbers(bytes: &[u8]) -> Vec<u64> {
    let groups = bytes.split_inclusive(|byte| byte & 0x80 == 0);
    groups.map(|group| group.iter().rev().fold(0, |value, byte| value << 7 | u64::from(byte & 0x7f))).collect()
}

/// The image is well-formed, with the one script of the drawing.
fn assert_image(image: &str) {
    let mut reader = quick_xml::Reader::from_str(image);
    let mut scripts = 0;
    loop {
        match reader.read_event().unwrap_or_else(|error| panic!("{error}: {image}")) {
            Event::Eof => break,
            Event::Start(element) | Event::Empty(element) => {
                scripts += usize::from(element.name().as_ref() == b"script");
                for attribute in element.attributes() {
                    let attribute = attribute.expect("an attribute");
                    attribute.normalized_value(XmlVersion::Implicit1_0).expect("text");
                }
            }
            Event::Text(text) => _ = text.decode().expect("text"),
            _ => {}
        }
    }
    assert_eq!(scripts, 1);
}

/// A profile of pprof with some functions, files and threads.
fn profile(from: &mut Unstructured<'_>) -> Result<Profile> {
    let mut names = vec![String::new()];
    for _ in 0..12 {
        names.push(name(from)?);
    }
    let labels = names.len() as i64;
    names.extend(["thread", "tid", "timestamp_ns", "nanoseconds"].map(str::to_owned));
    let name = |from: &mut Unstructured<'_>| from.int_in_range(0..=labels - 1);
    let mut profile =
        Profile { sample_type: vec![ValueType { r#type: name(from)?, unit: name(from)? }], ..Profile::default() };
    for id in 1..=4 {
        let start = id << 20;
        let (memory_start, memory_limit) = (start, start + 0x10000);
        profile.mapping.push(Mapping {
            id,
            memory_start,
            memory_limit,
            filename: name(from)?,
            build_id: name(from)?,
            ..Mapping::default()
        });
        profile.function.push(Function {
            id,
            name: name(from)?,
            system_name: name(from)?,
            filename: name(from)?,
            ..Function::default()
        });
        let lines = (0..from.int_in_range(0..=2)?).map(|_| {
            Ok(Line { function_id: from.int_in_range(1..=4)?, line: from.int_in_range(0..=9)?, ..Line::default() })
        });
        let line = lines.collect::<Result<_>>()?;
        profile.location.push(Location { id, mapping_id: id, address: start + 16, line, ..Location::default() });
    }
    for _ in 0..from.int_in_range(1..=6)? {
        let frames = (0..from.int_in_range(0..=6)?).map(|_| from.int_in_range(1..=4));
        let location_id = frames.collect::<Result<_>>()?;
        let mut label = vec![proto::Label { key: labels, str: name(from)?, ..proto::Label::default() }];
        label.push(proto::Label { key: labels + 1, num: from.int_in_range(0..=3)?, ..proto::Label::default() });
        if from.arbitrary()? {
            label.push(proto::Label {
                key: labels + 2,
                num: from.arbitrary()?,
                num_unit: labels + 3,
                ..proto::Label::default()
            });
        }
        profile.sample.push(Sample { location_id, value: vec![from.int_in_range(0..=1 << 40)?], label });
    }
    profile.string_table = names;
    Ok(profile)
}

/// A name of some parts.
fn name(from: &mut Unstructured<'_>) -> Result<String> {
    let parts = (0..from.int_in_range(0..=3)?).map(|_| match from.arbitrary()? {
        true => from.arbitrary::<&str>(),
        false => from.choose(&PARTS).copied(),
    });
    Ok(parts.collect::<Result<Vec<_>>>()?.concat())
}
