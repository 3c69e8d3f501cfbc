//! Recordings with a main program.

use perf_data::abi::feature::string::{PerfStr, StrList};
use perf_data::abi::feature::{Feature, FeatureId};
use perf_data::abi::record::comm::Comm;
use perf_data::abi::record::thread_map::{ThreadMap, ThreadMapEntry};
use perf_data::abi::record::{Body, CpuMode, Misc};
use perf_data::abi::sample::Sample;
use perf_data::abi::text::{FixedStr, PaddedStr};
use perfconv::synth::{Event, Map, RecordingBuilder, Stamp};

pub(crate) const ADDRESS: u64 = 0x5555_0000_1000;

/// A process: its ID, its executable, and its number of samples.
pub(crate) type Process<'a> = (u32, &'a str, u64);

/// A recording with this perf command line. Processes run one after the other; a repeated process ID executes another program.
pub(crate) fn recording(command: &str, thread: Option<i64>, processes: &[Process<'_>]) -> RecordingBuilder {
    let mut recording = RecordingBuilder::new();
    let cycles = recording.event(Event::named("cycles").expect("an event that perf knows").period(1000));
    let words = command.split(' ').map(|word| PerfStr::new(word.as_bytes())).collect();
    recording.metadata.set(FeatureId::CMDLINE, Feature::Cmdline(StrList { strings: words }));
    if let Some(pid) = thread {
        let entries = vec![ThreadMapEntry { pid, comm: FixedStr::new(b"") }];
        recording.record(Misc::empty(), Body::ThreadMap(ThreadMap { entries }), Stamp::default());
    }
    let mut time = 1;
    for &(pid, executable, samples) in processes {
        let stamp = Stamp::at(time, pid, pid);
        let name = executable.rsplit('/').next().unwrap_or_default();
        let comm = Comm { pid, tid: pid, comm: PaddedStr::new(name.as_bytes(), 8) };
        recording.record(Misc::COMM_EXEC, Body::Comm(comm), stamp);
        recording.mmap(CpuMode::USER, stamp, Map::new(executable, ADDRESS, 0x1000));
        for _ in 0..samples {
            time += 1;
            let sample =
                Sample { ip: Some(ADDRESS + 1), task: Some((pid, pid)), time: Some(time), ..Sample::default() };
            recording.sample(cycles, sample);
        }
    }
    recording
}

pub(crate) const SHIM: [Process<'_>; 2] = [(7, "/usr/bin/bash", 30), (7, "/usr/bin/python3.11", 70)];
