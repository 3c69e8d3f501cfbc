//! Text of tracepoints, compared with that of perf for every format of the running kernel and of recordings, with generated values.

use super::perf_programs::{Perf, installed};
use crate::common::files;
use crate::common::program::{perfconv, run_other, succeed, with_time_limit};
use perf_data::abi::feature::tracepoint_format::FormatField;
use perf_data::abi::feature::tracing_data::{ByteOrder, TraceFile, TraceSystem, TracingData};
use perf_data::abi::feature::{Feature, FeatureId};
use perf_data::abi::sample::{Raw, Sample};
use perf_data::abi::sample_type::SampleType;
use perf_data::abi::{self, Endian};
use perf_data::container::read::ReadOptions;
use perf_data::container::read::input::Input;
use perf_data::stream::Sink;
use perf_data::stream::meta::Meta;
use perf_data::stream::source::Source;
use perfconv::synth::{Event, RecordingBuilder};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

/// Samples of each tracepoint.
const SAMPLES: u64 = 12;

/// Numbers of tracepoints that must be compared, with tracefs and with the recordings alone.
const ENOUGH: [usize; 2] = [300, 20];

/// Parts of formats that are not compared with perf 6.1, with the reason.
const NOT_COMPARED: [(&str, &str); 7] = [
    ("%c", "perf 6.1 prints >c< instead of a character"),
    ("%+", "perf 6.1 prints >+< instead of a number"),
    ("__get_cpumask", "perf 6.1 does not know __get_cpumask"),
    ("__get_sockaddr", "perf 6.1 does not know __get_sockaddr"),
    ("sizeof", "perf 6.1 does not know sizeof"),
    ("_u64(", "perf does not know names of 64-bit values"),
    ("__get_dynamic_array(", "perf takes dynamic arrays in some places for addresses in its own memory"),
];

/// Strings of the kernel by address, to which some fields point.
const STRINGS: &str = "0xffffffff82000000 : \"kernel string\\n\"\n0xffffffff82000100 : \"two\"\n";

/// Formats by system.
type Formats = BTreeMap<String, Vec<Vec<u8>>>;

#[test]
fn text_of_every_tracepoint_equals_that_of_perf() {
    let (formats, has_tracefs) = all_formats();
    for perf in installed("text of tracepoints") {
        compare(&perf, &formats, ENOUGH[usize::from(!has_tracefs)]);
    }
}

/// The formats of tracefs, if it is mounted and readable, and of recordings that have other ones.
fn all_formats() -> (Formats, bool) {
    let mut formats = Formats::new();
    for system in fs::read_dir("/sys/kernel/tracing/events").into_iter().flatten().flatten() {
        let name = system.file_name().to_string_lossy().into_owned();
        // perf does not record those of the function tracer.
        let files = fs::read_dir(system.path()).into_iter().flatten().flatten().filter(|_| name != "ftrace");
        let texts: Vec<_> = files.filter_map(|event| fs::read(event.path().join("format")).ok()).collect();
        if !texts.is_empty() {
            formats.insert(name, texts);
        }
    }
    let has_tracefs = !formats.is_empty();
    for recording in files::recordings() {
        let Ok(source) = Source::open(Input::Path(recording.path.clone()), ReadOptions::default()) else { continue };
        let Ok((meta, _)) = source.run(&mut Ignore) else { continue };
        let Some(data) = meta.features.get(&FeatureId::TRACING_DATA) else { continue };
        let Ok((data, _)) = abi::parse::<TracingData>(data, Endian::Little, ()) else { continue };
        if data.byte_order.is_big() || data.long_size != 8 {
            continue;
        }
        for system in data.files.systems.into_iter().filter(|system| system.name.to_string() != "ftrace") {
            let texts = formats.entry(system.name.to_string()).or_default();
            for format in system.formats {
                if !texts.contains(&format.text) {
                    texts.push(format.text);
                }
            }
        }
    }
    (formats, has_tracefs)
}

/// Ignores records; only the metadata is needed.
struct Ignore;

impl Sink for Ignore {
    fn record(&mut self, _: &Meta, _: &perf_data::stream::raw::Raw<'_>) -> perfconv::Result<()> {
        Ok(())
    }
}

fn compare(perf: &Perf, formats: &Formats, enough: usize) {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("kallsyms"), "").unwrap();
    let (mut equal, mut lines, mut differing) = (0, 0, Vec::new());
    let mut skipped = BTreeMap::<&str, usize>::new();
    for (system, texts) in formats {
        let mut usable = Vec::new();
        for text in texts {
            let whole = String::from_utf8_lossy(text).into_owned();
            match NOT_COMPARED.iter().find(|(part, _)| whole.contains(part)) {
                Some((_, reason)) => *skipped.entry(reason).or_default() += 1,
                None => usable.push(text.clone()),
            }
        }
        let path = directory.path().join("perf.data");
        let names = write_recording(system, &usable, &path);
        let (ours, theirs) = (our_text(&path, perf), text_of(perf, &path, directory.path()));
        let (ours, theirs): (Vec<_>, Vec<_>) = (ours.lines().collect(), theirs.lines().collect());
        if ours.len() != theirs.len() {
            differing.push(format!("{system}: {} lines, perf has {}", ours.len(), theirs.len()));
            continue;
        }
        let different: Vec<_> = ours.iter().zip(&theirs).filter(|(ours, theirs)| ours != theirs).collect();
        lines += ours.len() - different.len();
        equal += if different.is_empty() { names } else { 0 };
        for (ours, theirs) in different {
            differing.push(format!("{system}:\n  ours {ours}\n  perf {theirs}"));
        }
    }
    // Not with the print macros, whose output the test harness captures.
    let mut out = io::stderr().lock();
    let systems = formats.len();
    writeln!(
        out,
        "tracepoint text: {lines} lines of {equal} tracepoints of {systems} systems equal perf {}",
        perf.style
    )
    .unwrap();
    skipped.iter().for_each(|(reason, count)| writeln!(out, "{count:6} skipped: {reason}").unwrap());
    differing.truncate(20);
    assert!(differing.is_empty(), "differing:\n{}", differing.join("\n"));
    assert!(equal >= enough, "compared only {equal} tracepoints, expected {enough}");
}

/// Writes a recording with samples of each format; returns how many formats it has.
fn write_recording(system: &str, texts: &[Vec<u8>], path: &Path) -> usize {
    let mut recording = RecordingBuilder::new();
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let (mut time, mut formats) = (1000, Vec::new());
    recording.process(7, "test");
    for (at, text) in texts.iter().enumerate() {
        let Some(mut format) = (TraceFile { text: text.clone() }).format() else { continue };
        // Formats of several kernels have the same IDs.
        let id = 1000 + at as u64;
        (format.id, format.name) = (id, format!("{}_{at}", format.name));
        let mut event = Event::named(&format!("{system}:{}", format.name)).unwrap().with(SampleType::RAW);
        (event.attr.config, event.tracepoint) = (id, None);
        let event = recording.event(event);
        // perf 6.1 prints 32 bits of a size_t.
        let limit = if format.print_fmt.contains("%z") { 31 } else { 64 };
        for kind in 0..SAMPLES {
            time += 1000;
            let data = payload(id, &format.fields, limit, kind, &mut random);
            let sample = Sample {
                ip: Some(0),
                task: Some((7, 7)),
                time: Some(time),
                raw: Some(Raw { data }),
                ..Sample::default()
            };
            recording.sample(event, sample);
        }
        formats.push(TraceFile::from(&format));
    }
    let count = formats.len();
    let systems = vec![TraceSystem { name: system.into(), formats }];
    let mut data = TracingData::new(ByteOrder(0), 8, 0x1000, systems);
    data.files.printk_formats = STRINGS.into();
    recording.metadata.set(FeatureId::TRACING_DATA, Feature::TracingData(data));
    if count > 0 {
        fs::write(path, recording.to_bytes().unwrap()).unwrap();
    }
    count
}

/// Raw bytes of a sample: zeros, ones, small, large and random numbers, names, empty and short arrays, by the kind.
fn payload(id: u64, fields: &[FormatField], limit: u32, kind: u64, random: &mut u64) -> Vec<u8> {
    let mut next = || {
        *random ^= *random << 13;
        *random ^= *random >> 7;
        *random ^= *random << 17;
        *random
    };
    let end = fields.iter().map(|field| (field.offset + field.size) as usize).max().unwrap_or(8).max(8);
    let mut data = vec![0; end];
    data[..2].copy_from_slice(&(id as u16).to_le_bytes());
    data[4..8].copy_from_slice(&7_u32.to_le_bytes());
    for field in fields {
        let (declaration, offset, size) = (&field.declaration, field.offset as usize, field.size as usize);
        let is_char = declaration.contains("char") && !declaration.contains("unsigned");
        let is_relative = declaration.starts_with("__rel_loc");
        let text: &[u8] = [&b"eth0\0"[..], b"\0", b"a b\0", b"hello\0"][(kind % 4) as usize];
        if is_relative || declaration.starts_with("__data_loc") {
            let bytes: Vec<u8> = match is_char {
                true => text.to_vec(),
                false => (0..8 * (kind % 4)).map(|_| next() as u8).collect(),
            };
            let begin = data.len() - if is_relative { offset + 4 } else { 0 };
            data[offset..offset + 4].copy_from_slice(&((begin | bytes.len() << 16) as u32).to_le_bytes());
            data.extend(bytes);
        } else if declaration.contains('[') {
            for (at, byte) in data[offset..offset + size].iter_mut().enumerate() {
                *byte = match is_char {
                    true => text.get(at).copied().unwrap_or(0),
                    false => next() as u8,
                };
            }
        } else if let 1..=8 = size {
            let bits = limit.min(8 * size as u32);
            let value = match kind % 6 {
                // Lengths of arrays, which perf reads beyond the end of the sample.
                _ if declaration.contains("len") => kind % 3,
                _ if declaration.contains("char *") => {
                    [0xffff_ffff_8200_0000, 0, 0xffff_ffff_8200_0100][(kind % 3) as usize]
                }
                0 => 0,
                1 => 1,
                2 => next(),
                3 => u64::MAX,
                4 => 1 << (next() % u64::from(bits)),
                _ => next() % 200,
            };
            let value = value & (u64::MAX >> (64 - bits));
            data[offset..offset + size].copy_from_slice(&value.to_le_bytes()[..size]);
        }
    }
    // Behind the last field, perf reads zeros.
    data.resize((data.len() + 20).next_multiple_of(8) - 4, 0);
    data
}

const FIELDS: [&str; 2] = ["-F", "comm,time,event,trace"];

fn text_of(perf: &Perf, path: &Path, empty: &Path) -> String {
    let mut command = with_time_limit(&perf.program);
    command.args(["script", "--force", "--symfs"]).arg(empty).args(FIELDS).arg("-i").arg(path);
    command.arg("--kallsyms").arg(empty.join("kallsyms"));
    let run = run_other(command.env("LC_ALL", "C").env("HOME", "/nonexistent"));
    String::from_utf8_lossy(&run.stdout).into_owned()
}

fn our_text(path: &Path, perf: &Perf) -> String {
    let mut command = perfconv();
    command.arg(path).args(["-t", "perf-script", "-q", "-o", "-", "--symbols", "no", "--perf-style", perf.style]);
    let run = succeed(command.args(FIELDS));
    String::from_utf8_lossy(&run.stdout).into_owned()
}
