//! Profiles do not depend on the number of threads.

use crate::common::program::{perfconv, run};
use perf_data::abi::record::CpuMode;
use perf_data::abi::sample::callchain::Context;
use perf_data::abi::sample::{Callchain, Sample};
use perf_data::abi::sample_type::SampleType;
use perfconv::synth::{Event, Map, RecordingBuilder, Stamp};

const PROCESSES: u32 = 20;
const SAMPLES: u64 = 16_000;

/// Processes that map the same files at different addresses, and more of them from time to time; mostly unique stacks of up to 11
/// frames, in several events, some without call chain, some with addresses that no mapping holds.
fn recording() -> Vec<u8> {
    let mut recording = RecordingBuilder::new();
    let chained = recording.event(Event::named("cycles").unwrap().period(10).with(SampleType::CALLCHAIN));
    let plain = recording.event(Event::named("instructions").unwrap().period(7));
    recording.map(u32::MAX, Map::new("[kernel.kallsyms]_text", 0xffff_ffff_8100_0000, 0x10_0000));
    let base = |process: u32| 0x1000_0000 * u64::from(process + 1);
    for process in 0..PROCESSES {
        recording.process(process + 1, &format!("app-{}", process % 3));
        recording.map(process + 1, Map::new("/bin/app", base(process), 0x8000));
    }
    let mut random = 1_u64;
    let mut next = |below: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % below
    };
    for number in 0..SAMPLES {
        let process = next(PROCESSES.into()) as u32;
        let (pid, time) = (process + 1, 1000 + number);
        if number % 500 == 0 {
            let file = format!("/lib/lib{}.so", next(5));
            let map = Map::new(file, base(process) + 0x10_000 * (1 + next(9)), 0x4000);
            recording.mmap(CpuMode::USER, Stamp::at(time, pid, pid), map);
        }
        let ip = base(process) + 8 * next(40);
        let mut ips = vec![Context::USER.0, ip];
        ips.extend((0..next(10)).map(|_| base(process) + 0x2000 * next(60) + 8 * next(2)));
        let sample = Sample { ip: Some(ip), task: Some((pid, pid)), time: Some(time), ..Sample::default() };
        match number % 7 {
            0 => recording.sample(plain, sample),
            _ => recording.sample(chained, Sample { callchain: Some(Callchain { ips }), ..sample }),
        };
    }
    recording.to_bytes().unwrap()
}

#[test]
fn profiles_are_the_same_with_any_number_of_threads() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("perf.data");
    std::fs::write(&path, recording()).unwrap();
    let options: [&[&str]; 10] = [
        &["-t", "pprof"],
        &["-t", "pprof", "--unmapped", "keep"],
        &["-t", "pprof", "--labels", "pid,tid,comm"],
        &["-t", "pprof", "--compat", "perf_to_profile"],
        &["-t", "folded", "--event", "cycles"],
        &["-t", "html"],
        &["-t", "firefox"],
        &["-t", "speedscope"],
        &["-t", "callgrind"],
        &["-t", "otlp"],
    ];
    let mut bytes = 0;
    for options in options {
        let output = |jobs: &str| {
            let mut command = perfconv();
            let run = run(command.arg(&path).args(["--symbols", "no", "-J", jobs, "-o", "-"]).args(options));
            assert_eq!(run.status, 0, "{options:?}: {}", run.stderr);
            (run.stdout, run.stderr)
        };
        let one = output("1");
        for jobs in ["2", "5"] {
            assert!(output(jobs) == one, "{options:?} depend on the number of threads: {jobs}");
        }
        bytes += one.0.len();
    }
    note!("{} outputs with 1, 2 and 5 threads are the same {bytes} bytes", options.len());
    assert!(bytes > 1 << 20, "compared only {bytes} bytes");
}
