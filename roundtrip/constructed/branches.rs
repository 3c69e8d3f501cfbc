//! Branch stacks with event counts between the branches.

use super::Recording;
use super::bytes::Bytes;
use super::perf::{DUMP, Perf};
use super::read::Read;
use super::recording::{BRANCH_STACK, Event, File, IDENTIFIER, IP, REGS_INTR, TID, TIME, record};
use perf_data::abi::Endian;
use perf_data::abi::sample::branch::{BranchEntry, BranchFlags, BranchType};

const ANY: u64 = 1 << 3;
const COUNTERS: u64 = 1 << 19;
const FEATURE_BRANCH_STACK: u32 = 15;

/// Branch flags in the order of `struct perf_branch_entry`.
struct Flags {
    mispred: u64,
    predicted: u64,
    in_tx: u64,
    abort: u64,
    cycles: u64,
    kind: u64,
    spec: u64,
    new_type: u64,
    privilege: u64,
}

const BRANCHES: [(u64, u64, Flags); 2] = [
    (
        0x40_0100,
        0x40_0200,
        Flags {
            mispred: 0,
            predicted: 1,
            in_tx: 1,
            abort: 0,
            cycles: 0x1234,
            kind: 5,
            spec: 2,
            new_type: 0,
            privilege: 1,
        },
    ),
    (
        0xffff_ffff_8100_0100,
        0x40_0300,
        Flags { mispred: 1, predicted: 0, in_tx: 0, abort: 1, cycles: 3, kind: 15, spec: 3, new_type: 2, privilege: 2 },
    ),
];

fn entries(bytes: Bytes) -> Bytes {
    BRANCHES.iter().fold(bytes, |bytes, (from, to, flags)| {
        bytes.u64(*from).u64(*to).bit_fields(&[
            (flags.mispred, 1),
            (flags.predicted, 1),
            (flags.in_tx, 1),
            (flags.abort, 1),
            (flags.cycles, 16),
            (flags.kind, 4),
            (flags.spec, 2),
            (flags.new_type, 4),
            (flags.privilege, 3),
        ])
    })
}

fn sample(endian: Endian, id: u64) -> Bytes {
    Bytes::new(endian).u64(id).u64(0x40_0123).u32(100).u32(101).u64(7)
}

fn expect_entries(entries: &[BranchEntry]) {
    assert_eq!(entries.len(), BRANCHES.len());
    for (entry, (from, to, flags)) in entries.iter().zip(&BRANCHES) {
        assert_eq!((entry.from, entry.to), (*from, *to));
        for (field, value) in [
            (BranchFlags::MISPRED, flags.mispred),
            (BranchFlags::PREDICTED, flags.predicted),
            (BranchFlags::IN_TX, flags.in_tx),
            (BranchFlags::ABORT, flags.abort),
            (BranchFlags::CYCLES, flags.cycles),
            (BranchFlags::TYPE, flags.kind),
            (BranchFlags::SPEC, flags.spec),
            (BranchFlags::NEW_TYPE, flags.new_type),
            (BranchFlags::PRIV, flags.privilege),
            (BranchFlags::RESERVED, 0),
        ] {
            assert_eq!(entry.flags.get(field), value, "{field:?}");
        }
    }
    assert_eq!(entries[0].flags.branch_type(), BranchType::IND_CALL);
    assert_eq!(entries[1].flags.branch_type(), BranchType::EXTEND_ABI);
}

/// The kernel writes counters for all samples of a group if one event asks for them. Registers follow them.
fn counted(endian: Endian) -> Vec<u8> {
    let mut leader = Event::cpu_clock(IDENTIFIER | IP | TID | TIME | BRANCH_STACK | REGS_INTR);
    (leader.kind, leader.branch_sample_type, leader.ids) = (0, ANY, vec![71]);
    leader.sample_regs_intr = 0b101;
    let member = Event { config: 1, branch_sample_type: ANY | COUNTERS, ids: vec![72], ..leader.clone() };
    let of = |id| entries(sample(endian, id).u64(2)).u64s(&[0x0102, 0x0304]).u64(2).u64s(&[0x11, 0x22]);
    let records = vec![record(9, 2, of(72), endian), record(9, 2, of(71), endian)];
    let mut file = File::new(endian, vec![leader, member], records);
    file.feature(FEATURE_BRANCH_STACK, Bytes::new(endian));
    file.feature(GROUP_DESC, Bytes::new(endian).u32(1).string("{anon_group}").u32(0).u32(2));
    file.into_bytes()
}

const GROUP_DESC: u32 = 17;

fn expect_counted(read: &Read) {
    assert_eq!(read.samples().len(), 2);
    for sample in read.samples() {
        let stack = sample.branch_stack.as_ref().unwrap();
        expect_entries(&stack.entries);
        assert_eq!(stack.counters, [0x0102, 0x0304]);
        assert_eq!(sample.regs_intr.as_ref().unwrap().regs, [0x11, 0x22]);
    }
}

pub(super) fn recordings(endian: Endian) -> Vec<Recording> {
    // perf 6.1 takes the counters for the registers that follow them.
    let counted_perf =
        Perf::shows(DUMP, &["... branch stack: nr:2", "..... 1: ffffffff81000100 -> 0000000000400300 3 cycles"]);
    vec![Recording {
        name: "branches with counters",
        endian,
        bytes: counted(endian),
        expect: expect_counted,
        perf: counted_perf,
    }]
}
