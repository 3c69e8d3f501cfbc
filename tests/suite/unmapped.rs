//! Addresses that no mapping holds: one frame in outputs that add up samples.

use crate::common::folded::stacks;
use crate::common::program::{decode, perfconv, run};
use perf_data::abi::record::CpuMode;
use perf_data::abi::sample::callchain::Context;
use perf_data::abi::sample::{Callchain, Sample};
use perf_data::abi::sample_type::SampleType;
use perfconv::synth::{Event, Map, RecordingBuilder};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A recording of stacks, leaf first, of a process whose program is at 0x1000, in a kernel without mappings.
fn recording(chains: &[&[u64]]) -> (TempDir, PathBuf) {
    let mut recording = RecordingBuilder::new();
    let event = recording.event(Event::named("cycles").unwrap().period(1).with(SampleType::CALLCHAIN));
    recording.process(7, "app");
    recording.map(7, Map::new("/bin/a", 0x1000, 0x1000));
    for (number, chain) in (0..).zip(chains) {
        let (ip, is_kernel) = (Some(chain[1]), chain[0] == Context::KERNEL.0);
        let callchain = Some(Callchain { ips: chain.to_vec() });
        let sample = Sample { ip, task: Some((7, 7)), time: Some(1000 + number), callchain, ..Sample::default() };
        recording.sample_in(if is_kernel { CpuMode::KERNEL } else { CpuMode::USER }, event, sample);
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("perf.data");
    std::fs::write(&path, recording.to_bytes().unwrap()).unwrap();
    (directory, path)
}

const USER: u64 = Context::USER.0;
const KERNEL: u64 = Context::KERNEL.0;

/// Two stacks that differ in addresses between two callers, one with kernel frames, one of such addresses alone.
const CHAINS: [&[u64]; 4] = [
    &[USER, 0x1100, 0xdead_0000, 0xbeef_0000, 0x1200],
    &[USER, 0x1100, 0xcafe_0000, 0x1200],
    &[KERNEL, KERNEL_ADDRESS, KERNEL_ADDRESS + 9, USER, 0xbeef_0000, 0x1200],
    &[USER, 0xdead_0000],
];
const KERNEL_ADDRESS: u64 = 0xffff_ffff_8100_0000;

fn output(path: &Path, args: &[&str]) -> (Vec<u8>, String) {
    let run = run(perfconv().arg(path).args(["--symbols", "no", "-o", "-"]).args(args));
    assert_eq!(run.status, 0, "{args:?}: {}", run.stderr);
    (run.stdout, run.stderr)
}

#[test]
fn a_run_of_them_is_one_frame() {
    let (_directory, path) = recording(&CHAINS);
    let folded = |args: &[&str]| {
        let (text, _) = output(&path, &[&["-t", "folded"], args].concat());
        stacks(&String::from_utf8(text).unwrap()).into_iter().collect::<Vec<_>>()
    };
    let expected = [("app;[a];[unknown];[a]", 2), ("app;[a];[unknown];[unknown]", 1), ("app;[unknown]", 1)];
    let owned = |stacks: &[(&str, u64)]| stacks.iter().map(|&(s, n)| (s.to_owned(), n)).collect::<Vec<_>>();
    assert_eq!(folded(&[]), owned(&expected));
    let kept = [
        ("app;[a];[unknown];[a]", 1),
        ("app;[a];[unknown];[unknown];[a]", 1),
        ("app;[a];[unknown];[unknown];[unknown]", 1),
        ("app;[unknown]", 1),
    ];
    assert_eq!(folded(&["--unmapped", "keep"]), owned(&kept));
}

#[test]
fn pprof_has_one_location_for_those_of_user_space_and_one_for_the_kernel() {
    let (_directory, path) = recording(&CHAINS);
    let profile = |args: &[&str]| decode(&output(&path, &[&["-t", "pprof"], args].concat()).0);
    let addresses = |args: &[&str]| {
        let profile = profile(args);
        let mut addresses: Vec<_> = profile
            .location
            .iter()
            .filter(|location| location.mapping_id == 0)
            .map(|location| location.address)
            .collect();
        addresses.sort_unstable();
        (addresses, profile.sample.len())
    };
    assert_eq!(addresses(&[]), (vec![0, 0], 3));
    let kept = [0xbeef_0000 - 1, 0xbeef_0000, 0xcafe_0000 - 1, 0xdead_0000 - 1, 0xdead_0000];
    let (user, samples) = addresses(&["--unmapped", "keep"]);
    assert_eq!((&user[..5], samples), (&kept[..], 4));
    assert_eq!(user[5..], [KERNEL_ADDRESS, KERNEL_ADDRESS + 8]);
}

#[test]
fn the_message_says_why_there_are_any() {
    let line = |chains: &[&[u64]]| {
        let (_directory, path) = recording(chains);
        let (_, messages) = output(&path, &["-t", "folded"]);
        messages.lines().find(|line| line.contains("in addresses without a mapping")).unwrap_or_default().to_owned()
    };
    assert!(line(&CHAINS[..2]).ends_with("record with --call-graph dwarf or lbr"), "{}", line(&CHAINS[..2]));
    assert!(line(&CHAINS[3..]).contains("their mappings were not recorded"), "{}", line(&CHAINS[3..]));
}

#[test]
fn outputs_of_samples_keep_them() {
    let (_directory, path) = recording(&CHAINS);
    for format in ["perf-script", "perf-json"] {
        let text = String::from_utf8(output(&path, &["-t", format]).0).unwrap();
        assert!(["dead0000", "beef0000", "cafe0000"].iter().all(|address| text.contains(address)), "{format}: {text}");
    }
    let refused = run(perfconv().arg(&path).args(["-t", "perf-script", "--unmapped", "keep", "-o", "-"]));
    assert_eq!((refused.status, &*refused.stderr), (2, "perfconv: --unmapped does not apply to perf-script\n"));
}
