//! Stack dumps with registers and an object file.

use perf_data::abi::Endian;
use perf_data::abi::sample::regs::{Regs, RegsAbi};
use perf_data::abi::sample::{Callchain, Sample, StackUser};
use perf_data::abi::sample_type::SampleType;
use perfconv::Recording;
use perfconv::recording::SymbolOptions;
use perfconv::synth::{Event, Map};
use std::fs;

/// Architectures: name, whether pointers have 8 bytes, byte order, perf's numbers of the instruction and stack pointers, and the
/// number of registers.
const ARCHES: [(&str, bool, Endian, usize, usize, usize); 9] = [
    ("x86_64", true, Endian::Little, 8, 7, 24),
    ("x86_64", false, Endian::Little, 8, 7, 9),
    ("aarch64", true, Endian::Little, 32, 31, 33),
    ("aarch64", false, Endian::Little, 15, 13, 16),
    ("riscv64", true, Endian::Little, 0, 2, 32),
    ("s390x", true, Endian::Big, 33, 15, 34),
    ("ppc64le", true, Endian::Little, 32, 1, 37),
    ("loongarch64", true, Endian::Little, 0, 3, 32),
    ("mips64", true, Endian::Big, 0, 27, 30),
];

/// Size of the head: `u8 arch; u64 ip, sp, others; u16 size of the dump`, little-endian. The dump and the object follow.
const HEAD: usize = 27;

/// Address of the object in the process.
const BASE: u64 = 0x2000_0000;

/// Maximum number of frames by default.
const MAX_FRAMES: usize = 127;

/// Any bytes as a dump and an object: the stack begins at the instruction pointer, is limited, and is the same when the rules of
/// the object are known.
pub fn unwind(bytes: &[u8]) {
    let Some((head, rest)) = bytes.split_first_chunk::<HEAD>() else { return };
    let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| head[at + byte]));
    let (ip, sp, others) = (word(1), word(9), word(17));
    let size = usize::from(u16::from_le_bytes([head[25], head[26]])).min(rest.len());
    let (dump, object) = rest.split_at(size);
    let (name, is_64, endian, ip_number, sp_number, count) = ARCHES[usize::from(head[0]) % ARCHES.len()];

    let directory = tempfile::tempdir().expect("a temporary directory");
    fs::write(directory.path().join("app"), object).expect("a temporary file");
    let mut recording = Recording::builder();
    recording.metadata.endian = endian;
    if let Some(machine) = &mut recording.metadata.machine {
        name.clone_into(&mut machine.arch);
    }
    let data = dump[..dump.len() / 8 * 8].to_vec();
    let event = Event::named("cycles").expect("an event").with(SampleType::CALLCHAIN | SampleType::IP);
    let event = recording.event(event.user_stack((1 << count) - 1, data.len() as u32));
    recording.process(7, "app").map(7, Map::new("/app", BASE, 1 << 20));
    let mut regs = vec![others; count];
    (regs[ip_number], regs[sp_number]) = (ip, sp);
    let abi = if is_64 { RegsAbi::ABI_64 } else { RegsAbi::ABI_32 };
    for time in 1..3 {
        recording.sample(
            event,
            Sample {
                ip: Some(1),
                task: Some((7, 7)),
                time: Some(time),
                callchain: Some(Callchain { ips: Vec::new() }),
                regs_user: Some(Regs { abi, regs: regs.clone() }),
                stack_user: Some(StackUser { dyn_size: data.len() as u64, data: data.clone() }),
                ..Sample::default()
            },
        );
    }
    let Ok(bytes) = recording.to_bytes() else { return };
    let options = SymbolOptions::default().symfs(directory.path());
    let recording = Recording::from_bytes("fuzzed", bytes).expect("a recording").with_symbols(options);
    let mut samples = recording.samples().expect("samples");
    let mut stacks = Vec::new();
    while let Some(sample) = samples.next().expect("a sample") {
        stacks.push(sample.frames().map(|frame| frame.address()).collect::<Vec<_>>());
    }
    let [first, second] = &stacks[..] else { panic!("{} samples", stacks.len()) };
    assert_eq!(first, second);
    assert!(!first.is_empty() && first.len() <= MAX_FRAMES, "{} frames", first.len());
}
