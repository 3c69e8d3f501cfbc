//! Synthetic stack dumps of each architecture, unwound by CFI of generated images.

use gimli::write::{
    Address, CallFrameInstruction, CommonInformationEntry, EhFrame, EndianVec, FrameDescriptionEntry, FrameTable,
};
use gimli::{Encoding, Format, Register, RunTimeEndian};
use perf_data::abi::jitdump::header::JitDumpHeader;
use perf_data::abi::jitdump::record::{CodeLoad, RecordHeader, RecordKind, Terminated, UnwindingInfo};
use perf_data::abi::record::callchain_deferred::CallchainDeferred;
use perf_data::abi::record::{Body, CpuMode};
use perf_data::abi::sample::branch::{BranchEntry, BranchFlags, BranchStack};
use perf_data::abi::sample::callchain::Context;
use perf_data::abi::sample::regs::{Regs, RegsAbi};
use perf_data::abi::sample::{Callchain, Sample, StackUser};
use perf_data::abi::sample_type::{BranchSampleType, SampleType};
use perf_data::abi::{self, Endian};
use perf_symbols::object::image::{Image, ImageFunction, ImageTarget};
use perfconv::Recording;
use perfconv::recording::SymbolOptions;
use perfconv::synth::{Event, Map, Stamp};
use std::num::NonZeroUsize;

/// An architecture: registers by perf's numbers, and columns by its ABI.
#[derive(Clone, Copy)]
pub(super) struct Arch {
    /// As of `uname -m`.
    pub name: &'static str,
    pub machine: u16,
    pub is_64: bool,
    pub endian: Endian,
    pub ip: u32,
    pub sp: u32,
    /// The link register; calls push the return address if there is none.
    pub link: Option<u32>,
    pub sp_column: u16,
    pub return_column: u16,
    pub frame_column: u16,
    /// Distance from the caller's stack pointer to the frame address.
    pub bias: u64,
}

pub(super) const X86_64: Arch = Arch {
    name: "x86_64",
    machine: 62,
    is_64: true,
    endian: Endian::Little,
    ip: 8,
    sp: 7,
    link: None,
    sp_column: 7,
    return_column: 16,
    frame_column: 6,
    bias: 0,
};

pub(super) const AARCH64: Arch = Arch {
    name: "aarch64",
    machine: 183,
    ip: 32,
    sp: 31,
    link: Some(30),
    sp_column: 31,
    return_column: 30,
    frame_column: 29,
    ..X86_64
};

pub(super) const ALL: [Arch; 11] = [
    X86_64,
    I386,
    Arch { name: "i686", ..I386 },
    AARCH64,
    ARM,
    Arch { name: "armv7l", ..ARM },
    Arch {
        name: "riscv64",
        machine: 243,
        ip: 0,
        sp: 2,
        link: Some(1),
        sp_column: 2,
        return_column: 1,
        frame_column: 8,
        ..X86_64
    },
    Arch {
        name: "s390x",
        machine: 22,
        endian: Endian::Big,
        ip: 33,
        sp: 15,
        link: Some(14),
        sp_column: 15,
        return_column: 14,
        frame_column: 11,
        bias: 160,
        ..X86_64
    },
    Arch {
        name: "ppc64le",
        machine: 21,
        ip: 32,
        sp: 1,
        link: Some(36),
        sp_column: 1,
        return_column: 65,
        frame_column: 31,
        ..X86_64
    },
    Arch {
        name: "loongarch64",
        machine: 258,
        ip: 0,
        sp: 3,
        link: Some(1),
        sp_column: 3,
        return_column: 1,
        frame_column: 22,
        ..X86_64
    },
    Arch {
        name: "mips64",
        machine: 8,
        endian: Endian::Big,
        ip: 0,
        sp: 27,
        link: Some(29),
        sp_column: 29,
        return_column: 31,
        frame_column: 30,
        ..X86_64
    },
];

/// A 32-bit program on a 64-bit kernel.
const I386: Arch = Arch { machine: 3, is_64: false, sp_column: 4, return_column: 8, frame_column: 5, ..X86_64 };

pub(super) const ARM: Arch = Arch {
    machine: 40,
    is_64: false,
    ip: 15,
    sp: 13,
    link: Some(14),
    sp_column: 13,
    return_column: 14,
    frame_column: 11,
    ..AARCH64
};

/// Size of each function.
const SIZE: u64 = 32;

/// Address of the image in the process.
pub(super) const BASE: u64 = 0x2000_0000;

/// Size of the frame of `work` in words.
const WORK: u64 = 6;

impl Arch {
    fn word(self) -> u64 {
        if self.is_64 { 8 } else { 4 }
    }

    /// CFI of a function after whose code it follows.
    fn eh_frame(self, instructions: impl Fn(&mut FrameDescriptionEntry)) -> Vec<u8> {
        let word = self.word();
        let encoding = Encoding { format: Format::Dwarf32, version: 1, address_size: word as u8 };
        let mut cie = CommonInformationEntry::new(encoding, 1, -(word as i8), Register(self.return_column));
        cie.fde_address_encoding = gimli::DW_EH_PE_pcrel | gimli::DW_EH_PE_sdata4;
        let mut table = FrameTable::default();
        let cie = table.add_cie(cie);
        let start = SIZE.next_multiple_of(word).wrapping_neg();
        let mut fde = FrameDescriptionEntry::new(Address::Constant(start), SIZE as u32);
        instructions(&mut fde);
        table.add_fde(cie, fde);
        let endian = if self.endian == Endian::Big { RunTimeEndian::Big } else { RunTimeEndian::Little };
        let mut section = EhFrame(EndianVec::new(endian));
        table.write_eh_frame(&mut section).unwrap();
        section.0.into_vec()
    }

    /// `leaf` saves the frame register, by which `work` finds its frame; `main` is the outermost function.
    fn functions(self) -> [ImageFunction; 3] {
        use CallFrameInstruction::{Cfa, Offset, Undefined};
        let (word, bias) = (self.word() as i32, self.bias as i32);
        let [sp, frame, returns] = [self.sp_column, self.frame_column, self.return_column].map(Register);
        let leaf = self.eh_frame(|fde| {
            fde.add_instruction(0, Cfa(sp, 2 * word + bias));
            fde.add_instruction(0, Offset(frame, -2 * word - bias));
            if self.link.is_none() {
                fde.add_instruction(0, Offset(returns, -word));
            }
        });
        let work = self.eh_frame(|fde| {
            // The rule after the call differs.
            fde.add_instruction(0, Cfa(frame, bias));
            fde.add_instruction(0, Offset(returns, -word - bias));
            fde.add_instruction(24, Cfa(sp, 4));
        });
        let main = self.eh_frame(|fde| {
            fde.add_instruction(0, Cfa(sp, 4 * word + bias));
            fde.add_instruction(0, Undefined(returns));
        });
        [("leaf", leaf), ("work", work), ("main", main)].map(|(name, eh_frame)| {
            let code = vec![0x90; SIZE as usize].into();
            ImageFunction { name: name.into(), size: SIZE, code, eh_frame: eh_frame.into(), ..ImageFunction::default() }
        })
    }

    /// An object with the functions, and their addresses.
    pub(super) fn image(self) -> (Vec<u8>, [u64; 3]) {
        let mut image = Image::new(ImageTarget { machine: self.machine, is_64: self.is_64, endian: self.endian });
        let places = self.functions().map(|function| image.push(function).unwrap());
        let mut file = Vec::new();
        image.write(&mut file).unwrap();
        (file, places)
    }

    /// A jitdump with the functions at these addresses of the image.
    fn jit_dump(self, places: [u64; 3]) -> Vec<u8> {
        let (magic, version, total_size) = (JitDumpHeader::MAGIC, JitDumpHeader::VERSION, JitDumpHeader::SIZE as u32);
        let elf_mach = self.machine.into();
        let header = JitDumpHeader { magic, version, total_size, elf_mach, pad1: 0, pid: 7, timestamp: 0, flags: 0 };
        let mut dump = abi::to_bytes(&header, self.endian).unwrap();
        let mut record = |kind, parts: &[&[u8]]| {
            let total_size = (RecordHeader::SIZE + parts.concat().len()) as u32;
            dump.extend(abi::to_bytes(&RecordHeader { kind, total_size, timestamp: 0 }, self.endian).unwrap());
            dump.extend(parts.concat());
        };
        for (index, (function, place)) in self.functions().into_iter().zip(places).enumerate() {
            let unwinding_size = function.eh_frame.len() as u64;
            let info = UnwindingInfo { unwinding_size, eh_frame_hdr_size: 0, mapped_size: 0 };
            let info = abi::to_bytes(&info, self.endian).unwrap();
            record(RecordKind::CODE_UNWINDING_INFO, &[&info, &function.eh_frame]);
            let (vma, name) = (BASE + place, Terminated::new(&function.name));
            let load =
                CodeLoad { pid: 7, tid: 7, vma, code_addr: vma, code_size: SIZE, code_index: index as u64, name };
            record(RecordKind::CODE_LOAD, &[&abi::to_bytes(&load, self.endian).unwrap(), &function.code]);
        }
        dump
    }

    fn bytes(self, value: u64) -> Vec<u8> {
        let bytes = if self.endian == Endian::Big { value.to_be_bytes() } else { value.to_le_bytes() };
        match (self.is_64, self.endian) {
            (true, _) => bytes.to_vec(),
            (false, Endian::Big) => bytes[4..].to_vec(),
            (false, Endian::Little) => bytes[..4].to_vec(),
        }
    }
}

/// A function of the image.
#[derive(Clone, Copy)]
enum Place {
    Leaf,
    Work,
    Main,
}

/// A call: caller, offset of the instruction, callee.
type Call = (Place, u64, Place);

/// A stack in `leaf` that `work` called, which `main` called.
struct Scene {
    arch: Arch,
    /// Bits of return addresses that are no part of the address.
    ignored: u64,
    /// Number of valid bytes of the dump; all if `None`.
    dumped: Option<u64>,
    /// Registers of the mask.
    has_ip: bool,
    kernel_frames: Vec<u64>,
    /// Whether a call chain by frame pointers was recorded as well.
    has_chain: bool,
    /// Whether the code is not in a file, but in a jitdump.
    is_jit: bool,
    /// A branch call stack that was recorded as well: calls by function and offset, newest first.
    calls: &'static [Call],
    /// Whether the call chain refers to a deferred one that was recorded as well.
    has_deferred: bool,
    options: fn(SymbolOptions) -> SymbolOptions,
}

impl Scene {
    fn new(arch: Arch) -> Self {
        Self {
            arch,
            ignored: 0,
            dumped: None,
            has_ip: true,
            kernel_frames: Vec::new(),
            has_chain: false,
            is_jit: false,
            calls: &[],
            has_deferred: false,
            options: |options| options,
        }
    }

    /// The frames as `function+offset`, leaf first, and the messages.
    fn frames(&self) -> (Vec<String>, String) {
        let Self { arch, .. } = *self;
        let (image, [leaf, work, main]) = arch.image();
        let directory = tempfile::tempdir().unwrap();
        if self.is_jit {
            std::fs::write(directory.path().join("jit-7.dump"), arch.jit_dump([leaf, work, main])).unwrap();
        } else {
            std::fs::write(directory.path().join("app"), &image).unwrap();
        }
        let at = |place: u64, offset: u64| BASE + place + offset;
        let (word, sp) = (arch.word(), 0x3000_0000);
        let into_work = at(work, 8) | self.ignored;
        let into_main = at(main, 8) | self.ignored;
        let work_sp = sp + 2 * word;
        let work_end = work_sp + WORK * word;
        // Of `leaf`: the frame register of `work`, and the return address or padding.
        let mut stack = vec![work_end, into_work];
        stack.extend((1..WORK).map(|filler| filler * 0x1111));
        stack.push(into_main);
        stack.extend([0; 8]);
        let data: Vec<u8> = stack.iter().flat_map(|&value| arch.bytes(value)).collect();
        let mut values = vec![(arch.sp, sp)];
        values.extend(arch.link.map(|link| (link, into_work)));
        values.extend(self.has_ip.then_some((arch.ip, at(leaf, 4))));
        values.sort_unstable();
        let mask = values.iter().fold(0, |mask, (register, _)| mask | 1_u64 << register);

        let mut recording = Recording::builder();
        recording.metadata.endian = arch.endian;
        arch.name.clone_into(&mut recording.metadata.machine.as_mut().unwrap().arch);
        let fields = SampleType::IP | SampleType::CALLCHAIN;
        let mut event = Event::named("cycles").unwrap().with(fields).user_stack(mask, data.len() as u32);
        if !self.calls.is_empty() {
            event = event.with(SampleType::BRANCH_STACK);
            event.attr.branch_sample_type = BranchSampleType::USER | BranchSampleType::CALL_STACK;
        }
        let event = recording.event(event);
        let name = if self.is_jit { "//anon" } else { "/bin/app" };
        recording.process(7, "app").map(7, Map::new(name, BASE, 0x10000));
        if self.is_jit {
            recording.map(7, Map::new("/tmp/jit-7.dump", BASE + 0x20000, 0x1000));
        }
        let abi = if arch.is_64 { RegsAbi::ABI_64 } else { RegsAbi::ABI_32 };
        let mut ips = match &self.kernel_frames[..] {
            [] => Vec::new(),
            frames => [&[Context::KERNEL.0], frames].concat(),
        };
        if self.has_chain {
            ips.extend([Context::USER.0, at(leaf, 4), into_work, into_main]);
        }
        if self.has_deferred {
            ips.extend([Context::USER_DEFERRED.0, 0xc0de]);
        }
        let place = |function| [leaf, work, main][function as usize];
        let entry = |&(caller, offset, callee): &Call| BranchEntry {
            from: at(place(caller), offset),
            to: at(place(callee), 0),
            flags: BranchFlags::default(),
        };
        recording.sample(
            event,
            Sample {
                ip: Some(self.kernel_frames.first().copied().unwrap_or(at(leaf, 4))),
                task: Some((7, 7)),
                time: Some(5),
                callchain: Some(Callchain { ips }),
                regs_user: Some(Regs { abi, regs: values.iter().map(|(_, value)| *value).collect() }),
                branch_stack: (!self.calls.is_empty()).then(|| BranchStack {
                    hw_idx: None,
                    entries: self.calls.iter().map(entry).collect(),
                    counters: Vec::new(),
                }),
                stack_user: Some(StackUser { dyn_size: self.dumped.unwrap_or(data.len() as u64), data }),
                ..Sample::default()
            },
        );
        if self.has_deferred {
            let chain = CallchainDeferred { cookie: 0xc0de, ips: vec![Context::USER.0, at(leaf, 4), into_main] };
            recording.record(CpuMode::USER, Body::CallchainDeferred(chain), Stamp::at(6, 7, 7));
        }
        let symbols = (self.options)(SymbolOptions::default().symfs(directory.path()));
        let recording = Recording::from_bytes("synthetic.data", recording.to_bytes().unwrap()).unwrap();
        let mut samples = recording.with_symbols(symbols).samples().unwrap();
        let sample = samples.next().unwrap().unwrap();
        let frames = sample.frames().map(|frame| {
            let offset = frame.address().wrapping_sub(BASE);
            let starts = [(leaf, "leaf"), (work, "work"), (main, "main")];
            let start = starts.iter().find(|(_, name)| frame.function() == Some(name));
            start.map_or(format!("{:#x}", frame.address()), |(start, name)| format!("{name}+{}", offset - start))
        });
        let frames = frames.collect();
        assert!(samples.next().unwrap().is_none());
        let ledger = samples.ledger().unwrap();
        (frames, format!("{:?} {:?}", ledger.notes(), ledger.missing_notes()))
    }
}

const COMPLETE: [&str; 3] = ["leaf+4", "work+7", "main+7"];

#[test]
fn each_architecture_unwinds_through_its_registers() {
    let unwound: Vec<_> = ALL.iter().map(|&arch| (arch.name, arch.is_64, Scene::new(arch).frames())).collect();
    let is_complete = |frames: &[String], messages: &str| frames == COMPLETE && messages == "[] []";
    let failed: Vec<_> = unwound.iter().filter(|(.., (frames, messages))| !is_complete(frames, messages)).collect();
    assert!(failed.is_empty(), "{failed:#?}");
    note!("{} architectures", ALL.len());
}

#[test]
fn code_of_jitdumps_is_unwound_by_its_unwinding_information() {
    for arch in ALL {
        let (frames, messages) = Scene { is_jit: true, ..Scene::new(arch) }.frames();
        assert_eq!(frames, COMPLETE, "{} {messages}", arch.name);
        assert_eq!(messages, "[] []", "{}", arch.name);
    }
}

#[test]
fn authentication_codes_and_instruction_sets_are_no_part_of_addresses() {
    for (arch, ignored) in [(AARCH64, 0x2a << 48), (ARM, 1)] {
        let (frames, messages) = Scene { ignored, ..Scene::new(arch) }.frames();
        assert_eq!(frames, COMPLETE, "{} {messages}", arch.name);
    }
}

#[test]
fn a_stack_ends_where_its_dump_ends() {
    for arch in ALL {
        let dumped = Some((WORK + 1) * arch.word());
        let (frames, messages) = Scene { dumped, ..Scene::new(arch) }.frames();
        assert_eq!(frames, COMPLETE[..2], "{}", arch.name);
        assert!(messages.contains("longer than their dumps: 1 of 1"), "{messages}");
    }
}

#[test]
fn a_recorded_call_chain_continues_a_truncated_stack_unless_disabled() {
    let kernel_frames = vec![0xffff_ffff_8100_0010];
    let scene = || Scene { dumped: Some((WORK + 1) * 8), has_chain: true, ..Scene::new(X86_64) };
    let (frames, messages) = Scene { kernel_frames: kernel_frames.clone(), ..scene() }.frames();
    assert_eq!(frames, [&["0xffffffff81000010"], &COMPLETE[..]].concat());
    assert!(messages.contains("continue with their recorded call chain: 1 of 1"), "{messages}");
    let options = |options: SymbolOptions| options.without_splicing();
    let (frames, messages) = Scene { options, ..scene() }.frames();
    assert_eq!(frames, COMPLETE[..2]);
    assert!(messages.contains("longer than their dumps: 1 of 1"), "{messages}");
    // A complete stack is not changed.
    let (frames, messages) = Scene { dumped: None, ..scene() }.frames();
    assert_eq!((&frames[..], &*messages), (&COMPLETE.map(str::to_owned)[..], "[] []"));
}

#[test]
fn frames_are_limited() {
    let options = |options: SymbolOptions| options.max_stack(NonZeroUsize::new(2).unwrap());
    let (frames, messages) = Scene { options, ..Scene::new(X86_64) }.frames();
    assert_eq!(frames, COMPLETE[..2]);
    assert!(messages.contains("longer than the limit: 1 of 1"), "{messages}");
    let options = |options: SymbolOptions| options.without_unwinding();
    let (frames, messages) = Scene { options, ..Scene::new(X86_64) }.frames();
    assert_eq!(frames, COMPLETE[..1]);
    assert!(messages.contains("dumps are not unwound"), "{messages}");
}

#[test]
fn kernel_frames_precede_unwound_ones() {
    let kernel_frames = vec![0xffff_ffff_8100_0010, 0xffff_ffff_8100_0200];
    let (frames, _) = Scene { kernel_frames, ..Scene::new(X86_64) }.frames();
    assert_eq!(frames, ["0xffffffff81000010", "0xffffffff810001ff", "leaf+4", "work+7", "main+7"]);
}

#[test]
fn a_dump_takes_precedence_over_a_branch_call_stack() {
    let scene = || Scene { calls: &[(Place::Main, 7, Place::Work)], ..Scene::new(X86_64) };
    let (frames, messages) = scene().frames();
    assert_eq!((&frames[..], &*messages), (&COMPLETE.map(str::to_owned)[..], "[] []"));
    let options = |options: SymbolOptions| options.without_unwinding();
    let (frames, _) = Scene { options, ..scene() }.frames();
    assert_eq!(frames, ["leaf+4", "main+7"]);
}

#[test]
fn a_branch_call_stack_continues_a_truncated_stack_unless_disabled() {
    use Place::{Leaf, Main, Work};
    // Calls of 5 bytes; `main` has one more caller than the dump would have.
    let calls: &[Call] = &[(Work, 3, Leaf), (Main, 3, Work), (Leaf, 9, Main)];
    for (dumped, kernel_frames) in
        [((WORK + 1) * 8, vec![]), (0, vec![]), ((WORK + 1) * 8, vec![0xffff_ffff_8100_0010])]
    {
        let scene =
            || Scene { dumped: Some(dumped.max(8)), calls, kernel_frames: kernel_frames.clone(), ..Scene::new(X86_64) };
        let (frames, messages) = scene().frames();
        let of_dump: &[_] = if dumped == 0 { &["leaf+4", "work+3"] } else { &COMPLETE[..2] };
        let kernel: &[_] = if kernel_frames.is_empty() { &[] } else { &["0xffffffff81000010"] };
        assert_eq!(frames, [kernel, of_dump, &["main+3", "leaf+9"]].concat());
        assert!(messages.contains("continue with their recorded call chain: 1 of 1"), "{messages}");
        let options = |options: SymbolOptions| options.without_splicing();
        let (frames, messages) = Scene { options, ..scene() }.frames();
        assert_eq!(frames, [kernel, &COMPLETE[..if dumped == 0 { 1 } else { 2 }]].concat());
        assert!(messages.contains("longer than their dumps: 1 of 1"), "{messages}");
    }
    // Without the call into its last function, a stack is not continued.
    let (frames, messages) = Scene { dumped: Some((WORK + 1) * 8), calls: &calls[1..], ..Scene::new(X86_64) }.frames();
    assert_eq!(frames, COMPLETE[..2]);
    assert!(messages.contains("longer than their dumps: 1 of 1"), "{messages}");
}

#[test]
fn a_dump_takes_precedence_over_a_deferred_call_chain() {
    let kernel_frames = vec![0xffff_ffff_8100_0010];
    let scene = || Scene { has_deferred: true, kernel_frames: kernel_frames.clone(), ..Scene::new(X86_64) };
    let (frames, messages) = scene().frames();
    let of_kernel = "0xffffffff81000010";
    let expected = [&[of_kernel][..], &COMPLETE].concat();
    assert_eq!((frames.iter().map(String::as_str).collect::<Vec<_>>(), &*messages), (expected, "[] []"));
    let options = |options: SymbolOptions| options.without_unwinding();
    let (frames, _) = Scene { options, ..scene() }.frames();
    assert_eq!(frames, [of_kernel, "leaf+4", "main+7"]);
}

#[test]
fn a_dump_without_needed_registers_is_reported() {
    let (frames, messages) = Scene { has_ip: false, ..Scene::new(X86_64) }.frames();
    assert_eq!(frames, COMPLETE[..1]);
    assert!(messages.contains("cannot be unwound: 1"), "{messages}");
    let (frames, messages) = Scene::new(Arch { name: "alpha", ..X86_64 }).frames();
    assert_eq!(frames, COMPLETE[..1]);
    assert!(messages.contains("cannot be unwound: 1"), "{messages}");
}
