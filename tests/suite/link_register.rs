//! Call chains by frame pointers, completed from the sampled link register.

use super::unwind_architectures::{AARCH64, ALL, ARM, Arch, BASE, X86_64};
use crate::common::program::{perfconv, succeed};
use perf_data::abi::sample::callchain::Context;
use perf_data::abi::sample::regs::{Regs, RegsAbi};
use perf_data::abi::sample::{Callchain, Sample};
use perf_data::abi::sample_type::SampleType;
use perfconv::Recording;
use perfconv::recording::SymbolOptions;
use perfconv::synth::{Event, Map};
use std::path::Path;

/// A sample of a program whose `leaf` has its return address in the link register, `work` on the stack, and `main` none.
#[derive(Clone)]
struct Scene {
    arch: Arch,
    has_arch: bool,
    has_objects: bool,
    abi: RegsAbi,
    kernel: &'static [u64],
    /// Functions and offsets of the recorded user frames.
    chain: &'static [(usize, u64)],
    /// That of the link register.
    link: (usize, u64),
    /// Bits of the link register that are not part of the address.
    ignored: u64,
}

const LEAF: usize = 0;
const WORK: usize = 1;
const MAIN: usize = 2;
/// Not a function.
const NOTHING: usize = 3;

impl Scene {
    /// Interrupted in `leaf`, whose caller `work` is in the link register only.
    fn new(arch: Arch) -> Self {
        let abi = if arch.is_64 { RegsAbi::ABI_64 } else { RegsAbi::ABI_32 };
        let (chain, link) = (&[(LEAF, 4), (MAIN, 8)], (WORK, 8));
        Self { arch, has_arch: true, has_objects: true, abi, kernel: &[], chain, link, ignored: 0 }
    }

    /// The user frames as `function+offset`, leaf first, and the messages.
    fn frames(&self) -> (Vec<String>, String) {
        let directory = tempfile::tempdir().unwrap();
        let recording = self.recording(directory.path());
        let symbols = SymbolOptions::default().symfs(directory.path());
        self.frames_of(Recording::from_bytes("synthetic.data", recording).unwrap().with_symbols(symbols))
    }

    /// The bytes of the recording, whose program is in a directory.
    fn recording(&self, directory: &Path) -> Vec<u8> {
        let Self { arch, .. } = *self;
        let (image, [leaf, work, main]) = arch.image();
        if self.has_objects {
            std::fs::write(directory.join("app"), &image).unwrap();
        }
        let at = |(function, offset): (usize, u64)| BASE + [leaf, work, main, 0x10_0000][function] + offset;
        let mut recording = Recording::builder();
        recording.metadata.endian = arch.endian;
        if self.has_arch {
            arch.name.clone_into(&mut recording.metadata.machine.as_mut().unwrap().arch);
        } else {
            recording.metadata.machine = None;
        }
        let fields = SampleType::IP | SampleType::CALLCHAIN | SampleType::REGS_USER;
        let mut event = Event::named("cycles").unwrap().with(fields);
        event.attr.sample_regs_user = 1 << arch.link.unwrap_or(7);
        let event = recording.event(event);
        recording.process(7, "app").map(7, Map::new("/bin/app", BASE, 0x10000));
        let mut ips = if self.kernel.is_empty() { Vec::new() } else { [&[Context::KERNEL.0], self.kernel].concat() };
        ips.push(Context::USER.0);
        ips.extend(self.chain.iter().map(|&place| at(place)));
        let ip = self.kernel.first().copied().unwrap_or(at(self.chain[0]));
        let regs = if self.abi == RegsAbi::NONE { Vec::new() } else { vec![at(self.link) | self.ignored] };
        recording.sample(
            event,
            Sample {
                ip: Some(ip),
                task: Some((7, 7)),
                time: Some(5),
                callchain: Some(Callchain { ips }),
                regs_user: Some(Regs { abi: self.abi, regs }),
                ..Sample::default()
            },
        );
        recording.to_bytes().unwrap()
    }

    fn frames_of(&self, recording: Recording) -> (Vec<String>, String) {
        let (_, [leaf, work, main]) = self.arch.image();
        let mut samples = recording.samples().unwrap();
        let sample = samples.next().unwrap().unwrap();
        let frames = sample.frames().filter(|frame| frame.address() < 1 << 63).map(|frame| {
            let offset = frame.address().wrapping_sub(BASE);
            let starts = [(leaf, "leaf"), (work, "work"), (main, "main")];
            let function = starts.iter().rev().find(|(start, _)| *start <= offset);
            function.map_or(format!("{:#x}", frame.address()), |(start, name)| format!("{name}+{}", offset - start))
        });
        let frames = frames.collect();
        assert!(samples.next().unwrap().is_none());
        let ledger = samples.ledger().unwrap();
        (frames, format!("{:?} {:?}", ledger.notes(), ledger.missing_notes()))
    }

    #[track_caller]
    fn assert_frames(&self, expected: &[&str]) {
        let (frames, messages) = self.frames();
        assert_eq!((frames.iter().map(String::as_str).collect::<Vec<_>>(), &*messages), (expected.to_vec(), "[] []"));
    }
}

const COMPLETED: &[&str] = &["leaf+4", "work+7", "main+7"];
const RECORDED: &[&str] = &["leaf+4", "main+7"];

#[test]
fn the_caller_of_a_leaf_is_taken_from_the_link_register_of_each_architecture() {
    let with_link = ALL.into_iter().filter(|arch| arch.link.is_some());
    let count = with_link.inspect(|&arch| Scene::new(arch).assert_frames(COMPLETED)).count();
    note!("{count} architectures");
    assert!(count >= 8);
}

#[test]
fn a_rewritten_recording_has_the_caller_without_the_program() {
    let directory = tempfile::tempdir().unwrap();
    let [files, none] = ["files", "none"].map(|name| directory.path().join(name));
    [&files, &none].into_iter().for_each(|path| std::fs::create_dir(path).unwrap());
    let [input, output] = ["in.data", "out.data"].map(|name| directory.path().join(name));
    for has_arch in [true, false] {
        let scene = Scene { has_arch, ..Scene::new(AARCH64) };
        std::fs::write(&input, scene.recording(&files)).unwrap();
        for options in [&[][..], &["--keep-user-stack"]] {
            let mut command = perfconv();
            command.arg("rewrite").arg(&input).args(["--unwind", "-f", "-q"]).args(options);
            succeed(command.arg("--symfs").arg(&files).arg("-o").arg(&output));
            let rewritten = Recording::open(&output).unwrap();
            let (frames, _) = scene.frames_of(rewritten.with_symbols(SymbolOptions::default().symfs(&none)));
            assert_eq!(frames, COMPLETED, "{options:?}");
        }
    }
}

#[test]
fn a_leaf_interrupted_in_the_kernel_has_its_caller() {
    let kernel = &[0xffff_8000_1000_0010, 0xffff_8000_1000_0100];
    Scene { kernel, ..Scene::new(AARCH64) }.assert_frames(COMPLETED);
}

#[test]
fn signatures_and_instruction_sets_are_not_part_of_the_caller() {
    Scene { ignored: 0x00a5 << 48, ..Scene::new(AARCH64) }.assert_frames(COMPLETED);
    Scene { ignored: 1, ..Scene::new(ARM) }.assert_frames(COMPLETED);
}

#[test]
fn the_only_caller_can_be_in_the_link_register() {
    Scene { chain: &[(LEAF, 4)], ..Scene::new(AARCH64) }.assert_frames(&["leaf+4", "work+7"]);
}

#[test]
fn a_link_register_that_is_no_return_address_is_not_a_caller() {
    // `work` has saved it, and the register is what its last call left there.
    let chain: &[_] = &[(WORK, 8), (MAIN, 8)];
    Scene { chain, link: (WORK, 4), ..Scene::new(AARCH64) }.assert_frames(&["work+8", "main+7"]);
    // `main` has no caller.
    Scene { chain: &[(MAIN, 8)], ..Scene::new(AARCH64) }.assert_frames(&["main+8"]);
    Scene { link: (NOTHING, 8), ..Scene::new(AARCH64) }.assert_frames(RECORDED);
}

#[test]
fn a_caller_that_the_chain_has_is_not_repeated() {
    Scene { link: (MAIN, 8), ..Scene::new(AARCH64) }.assert_frames(RECORDED);
    Scene { link: (MAIN, 8), ignored: 0x00a5 << 48, ..Scene::new(AARCH64) }.assert_frames(RECORDED);
}

#[test]
fn the_architecture_follows_from_the_program_if_the_recording_does_not_name_it() {
    Scene { has_arch: false, ..Scene::new(AARCH64) }.assert_frames(COMPLETED);
}

#[test]
fn chains_are_as_recorded_without_a_link_register() {
    Scene { abi: RegsAbi::NONE, ..Scene::new(AARCH64) }.assert_frames(RECORDED);
    Scene::new(X86_64).assert_frames(RECORDED);
}

#[test]
fn chains_are_as_recorded_without_unwind_information_and_the_ledger_says_so() {
    let (frames, messages) = Scene { has_objects: false, ..Scene::new(AARCH64) }.frames();
    assert_eq!(frames, RECORDED);
    assert!(messages.contains("may lack the caller of the interrupted function"), "{messages}");
    assert!(messages.contains("1 of 1"), "{messages}");
}
