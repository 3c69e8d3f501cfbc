//! Text of tracepoints with helpers of the kernel.

use crate::common::program::{perfconv, run};
use perf_data::abi::feature::tracing_data::{ByteOrder, TraceFile, TraceSystem, TracingData};
use perf_data::abi::feature::{Feature, FeatureId};
use perf_data::abi::sample::{Raw, Sample};
use perf_data::abi::sample_type::SampleType;
use perfconv::synth::{Event, RecordingBuilder};
use std::fmt::Write as _;
use std::fs;

/// The text of a tracepoint with one field of 4 bytes, `value`, and one of 16 bytes, `bytes`.
fn text_of_format(print_fmt: &str, value: i32) -> String {
    let mut text = String::from(
        "name: t\nID: 1000\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n",
    );
    text += "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n";
    text +=
        "\tfield:int value;\toffset:8;\tsize:4;\tsigned:1;\n\tfield:u8 bytes[16];\toffset:12;\tsize:16;\tsigned:0;\n";
    writeln!(text, "\nprint fmt: {print_fmt}").unwrap();
    let format = (TraceFile { text: text.into_bytes() }).format().expect("a format");
    let mut recording = RecordingBuilder::new();
    let mut event = Event::named("s:t").unwrap().with(SampleType::RAW);
    (event.attr.config, event.tracepoint) = (format.id, None);
    let event = recording.event(event);
    let data = [&[0; 8][..], &value.to_le_bytes(), &[127, 0, 0, 1], &[0; 11], &[1]].concat();
    let sample =
        Sample { ip: Some(0), task: Some((7, 7)), time: Some(1000), raw: Some(Raw { data }), ..Sample::default() };
    recording.sample(event, sample);
    let systems = vec![TraceSystem { name: "s".into(), formats: vec![TraceFile::from(&format)] }];
    let data = TracingData::new(ByteOrder(0), 8, 0x1000, systems);
    recording.metadata.set(FeatureId::TRACING_DATA, Feature::TracingData(data));
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("perf.data");
    fs::write(&path, recording.to_bytes().unwrap()).unwrap();
    let run = run(perfconv().arg(&path).args(["-t", "perf-script", "-q", "-o", "-", "-F", "trace"]));
    String::from_utf8_lossy(&run.stdout).trim().to_owned()
}

#[test]
fn text_of_kernel_helpers_is_that_of_perf() {
    for (print_fmt, value, expected) in [
        (r#""value=%d %u", REC->value, REC->value"#, -3, "value=-3 4294967293"),
        (r#""%s", __print_symbolic(REC->value, { -1, "minus one" }, { 2, "two" })"#, -1, "0xffffffff"),
        (r#""%s|", __print_flags(REC->value, "|", { 0, "none" }, { 1, "a" })"#, 0, "|"),
        (r#""zone=%-8s|", __print_symbolic(REC->value, {0, "DMA"}, {1, "DMA32"})"#, 1, "zone=DMA32   |"),
        (r#""zone=%-8s|", __print_symbolic(REC->value, {0, "DMA"}, {1, "DMA32"})"#, 9, "zone=0x9|"),
        (r#""%s", __print_flags(REC->value & (1 | 2 | 4), "|", { 1, "a" }, { 2, "b" }, { 4, "c" })"#, 0, "b|c"),
        (r#""%pI4 %pI6c", REC->bytes, REC->bytes"#, 0, "INVALIDIPv4 7f00:1::1"),
        (r#""%s", __print_hex_str(REC->bytes, 4)"#, 0, "7f000001"),
        (
            r#""0x%lx", __builtin_expect(!!((unsigned long)(void *)(REC->value) >= (unsigned long)-4095), 0) ? 0 : 7"#,
            1,
            "0x7",
        ),
        (r#""%d", REC->value > 0 ? REC->value : 0"#, -1, "-1"),
        (r#""%#06x|%s", REC->value, REC->value ? "yes" : "-""#, 255, "0x00ff|yes"),
        (
            r#""%d", unknown_function(REC->value)"#,
            5,
            "[FAILED TO PARSE] value=5 bytes=ARRAY[7f, 00, 00, 01, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 01]",
        ),
    ] {
        assert_eq!(text_of_format(print_fmt, value), expected, "{print_fmt}");
    }
}
