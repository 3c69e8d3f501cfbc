//! Text of perf script, where it differs from that of perf.

use crate::common::program::{perfconv, run};
use perf_data::abi::sample::{Callchain, Sample};
use perf_data::abi::sample_type::SampleType;
use perfconv::synth::{Event, Map, RecordingBuilder};

/// PERF_CONTEXT_USER.
const USER: u64 = -512_i64 as u64;

/// Text of a recording with one sample, without symbols.
fn text_of_recording(recording: &RecordingBuilder, fields: &str) -> String {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("perf.data");
    std::fs::write(&path, recording.to_bytes().unwrap()).unwrap();
    let mut command = perfconv();
    command.arg(&path).args(["-t", "perf-script", "-q", "-o", "-", "--symbols", "no", "-F", fields]);
    String::from_utf8_lossy(&run(&mut command).stdout).into_owned()
}

#[test]
fn a_chain_without_the_instruction_pointer_is_printed_as_recorded() {
    let mut recording = RecordingBuilder::new();
    let event = recording.event(Event::named("cycles").unwrap().period(1000).with(SampleType::CALLCHAIN));
    recording.map(7, Map::new("/bin/a", 0x1000, 0x1000));
    // As with --user-callchains: the sample is of the kernel.
    let callchain = Some(Callchain { ips: vec![USER, 0x1100, 0x1200] });
    let (task, time) = (Some((7, 7)), Some(1000));
    let ip = Some(0xffff_ffff_8100_0000);
    recording.sample(event, Sample { ip, task, time, callchain, ..Sample::default() });
    let text = text_of_recording(&recording, "ip,dso");
    assert_eq!(text.lines().map(str::trim).collect::<Vec<_>>(), ["", "100 (/bin/a)", "200 (/bin/a)", ""]);
}

#[test]
fn addresses_of_memory_without_a_file_are_printed_as_they_are() {
    for name in ["[stack]", "[heap]", "/SYSV00000000 (deleted)"] {
        let mut recording = RecordingBuilder::new();
        let event = recording.event(Event::named("cycles").unwrap().period(1000).with(SampleType::CALLCHAIN));
        recording.map(7, Map::new(name, 0x1000, 0x1000));
        let callchain = Some(Callchain { ips: vec![USER, 0x1100] });
        let (task, time) = (Some((7, 7)), Some(1000));
        recording.sample(event, Sample { ip: Some(0x1100), task, time, callchain, ..Sample::default() });
        let text = text_of_recording(&recording, "ip,dso");
        assert_eq!(text.trim(), format!("1100 ({name})"));
    }
}

#[test]
fn an_option_of_perf_that_is_missing_names_the_command_to_use() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/roundtrip/fixtures/plain.data");
    let run = run(perfconv().args([path, "-t", "perf-script", "--show-round-events", "-o", "-"]));
    assert!(
        run.status == 2 && run.stderr.contains("use 'perfconv dump --type SAMPLE,FINISHED_ROUND'"),
        "{}",
        run.stderr
    );
}
