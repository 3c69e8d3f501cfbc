//! Unwound stack dumps of x86-64 compared with those of framehop, another unwinder.

use framehop::x86_64::{CacheX86_64, UnwindRegsX86_64, UnwinderX86_64};
use framehop::{ExplicitModuleSectionInfo, Module, Unwinder};
use object::elf::PF_X;
use object::{Object, ObjectSection, ObjectSegment, SegmentFlags};
use perf_data::abi::record::mmap2::Mmap2;
use perf_data::abi::record::{Body, RecordType};
use perf_data::abi::sample::Sample;
use perf_data::abi::sample::regs::RegsAbi;
use perfconv::Recording;
use perfconv::recording::SymbolOptions;
use std::collections::HashMap;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// perf's numbers of BP, SP and IP.
const REGISTERS: [u32; 3] = [6, 7, 8];

/// Thread and time of a sample, and the addresses of its frames, leaf first; callers by their return addresses.
type Stacks = Vec<((u32, u64), Vec<u64>)>;

/// The module of an executable mapping; `None` if the file is missing or has no CFI.
fn module(mmap: &Mmap2, symfs: &Path) -> Option<Module<Vec<u8>>> {
    let path = String::from_utf8(mmap.filename.text().to_vec()).ok()?;
    let bytes = fs::read(symfs.join(path.strip_prefix('/')?)).ok()?;
    let file = object::File::parse(&*bytes).ok()?;
    let segment = file.segments().find(|segment| {
        let (offset, size) = segment.file_range();
        let is_code = matches!(segment.flags(), SegmentFlags::Elf { p_flags, .. } if p_flags.0 & PF_X.0 != 0);
        is_code && (offset & !0xfff..offset + size).contains(&mmap.pgoff)
    })?;
    let address = segment.address() - segment.file_range().0 + mmap.pgoff;
    let section = |name: &str| file.section_by_name(name);
    let data = |name: &str| Some(section(name)?.uncompressed_data().ok()?.into_owned());
    let range = |name: &str| section(name).map(|section| section.address()..section.address() + section.size());
    let info = ExplicitModuleSectionInfo {
        text_svma: range(".text"),
        text: data(".text"),
        got_svma: range(".got"),
        eh_frame_svma: range(".eh_frame"),
        eh_frame: data(".eh_frame"),
        eh_frame_hdr_svma: range(".eh_frame_hdr"),
        eh_frame_hdr: data(".eh_frame_hdr"),
        debug_frame: data(".debug_frame"),
        ..ExplicitModuleSectionInfo::default()
    };
    Some(Module::new(path, mmap.addr..mmap.addr + mmap.len, mmap.addr.wrapping_sub(address), info))
}

/// The addresses of a stack by framehop.
fn unwound(unwinder: &UnwinderX86_64<Vec<u8>>, sample: &Sample, mask: u64) -> Option<Vec<u64>> {
    let (regs, stack) = (sample.regs_user.as_ref()?, sample.stack_user.as_ref()?);
    if regs.abi != RegsAbi::ABI_64 {
        return None;
    }
    let register = |number: u32| regs.regs.get((mask & ((1 << number) - 1)).count_ones() as usize).copied();
    let [bp, sp, ip] = REGISTERS.map(register);
    let (bp, sp, ip) = (bp?, sp?, ip?);
    let dump = stack.data.get(..stack.dyn_size as usize)?;
    let mut read = |address: u64| {
        let at = usize::try_from(address.checked_sub(sp).ok_or(())?).map_err(drop)?;
        let word = at.checked_add(8).and_then(|end| dump.get(at..end)).ok_or(())?;
        Ok(u64::from_le_bytes(word.try_into().unwrap()))
    };
    let mut cache = CacheX86_64::<_>::new();
    let mut frames = unwinder.iter_frames(ip, UnwindRegsX86_64::new(ip, sp, bp), &mut cache, &mut read);
    let mut addresses = Vec::new();
    while let Ok(Some(frame)) = frames.next() {
        addresses.push(frame.address());
    }
    Some(addresses)
}

/// The stacks of a recording by framehop.
fn theirs(recording: &Recording, symfs: &Path) -> Stacks {
    let mut unwinders: HashMap<u32, UnwinderX86_64<Vec<u8>>> = HashMap::new();
    let mut mapped: HashMap<u32, Vec<Range<u64>>> = HashMap::new();
    let masks: Vec<_> =
        recording.features().unwrap().events().iter().map(|event| event.attr.sample_regs_user).collect();
    let [mask, ..] = masks[..] else { return Vec::new() };
    // A sample can precede the mappings of its time in the file.
    let mut samples = Vec::new();
    let mut records = recording.records().unwrap();
    while let Some(record) = records.next().unwrap() {
        if !matches!(record.record_type(), RecordType::MMAP2 | RecordType::SAMPLE) {
            continue;
        }
        match record.decode().body {
            Body::Mmap2(mmap) => {
                mapped.entry(mmap.pid).or_default().push(mmap.addr..mmap.addr + mmap.len);
                if let Some(module) = module(&mmap, symfs) {
                    unwinders.entry(mmap.pid).or_default().add_module(module);
                }
            }
            Body::Sample(sample) => samples.push(sample),
            _ => {}
        }
    }
    let mut stacks = Vec::new();
    for sample in samples {
        let (Some((pid, tid)), Some(time)) = (sample.task, sample.time) else { continue };
        let Some(unwinder) = unwinders.get(&pid) else { continue };
        let Some(mut stack) = unwound(unwinder, &sample, mask) else { continue };
        // framehop does not know which addresses are mapped.
        let is_mapped = |address: &u64| mapped[&pid].iter().any(|range| range.contains(address));
        stack.truncate(stack.iter().position(|address| !is_mapped(address)).unwrap_or(stack.len()));
        stacks.push(((tid, time), stack));
    }
    stacks
}

/// The user stacks of a recording by perfconv.
fn ours(recording: Recording, symfs: &Path) -> HashMap<(u32, u64), Vec<u64>> {
    let options = SymbolOptions::default().symfs(symfs);
    let mut samples = recording.with_symbols(options).samples().unwrap();
    let mut stacks = HashMap::new();
    while let Some(sample) = samples.next().unwrap() {
        let frames = sample.frames().enumerate();
        // Callers are at the last byte of their call.
        let stack: Vec<_> = frames.map(|(index, frame)| frame.address() + u64::from(index > 0)).collect();
        let user = stack.iter().position(|&address| address < 1 << 63).unwrap_or(stack.len());
        let mut stack = stack[user..].to_vec();
        if let (true, Some(leaf)) = (user > 0, stack.first_mut()) {
            *leaf -= 1;
        }
        stacks.insert((sample.tid().unwrap(), sample.time().unwrap()), stack);
    }
    stacks
}

/// Whether a stack begins with another. Signal trampolines and interrupted functions are not called: their addresses may differ
/// by 1.
fn starts_with(stack: &[u64], other: &[u64]) -> bool {
    stack.len() >= other.len() && stack.iter().zip(other).all(|(a, b)| a.abs_diff(*b) <= 1)
}

#[test]
fn stacks_equal_those_of_framehop_or_are_longer() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let fixtures = root.join("roundtrip/symbols");
    let mut recordings: Vec<(PathBuf, PathBuf)> =
        ["dwarf.data", "both.data"].map(|name| (fixtures.join(name), fixtures.join("files"))).into();
    let corpus = root.join("../shared/symbols");
    if let Ok(entries) = fs::read_dir(corpus.join("rec")) {
        let paths = entries.map(|entry| entry.unwrap().path());
        let is_dump = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with("d-dw-");
        let is_compressed = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "data");
        let mut paths: Vec<_> = paths.filter(|path| is_dump(path) && is_compressed(path)).collect();
        paths.sort();
        recordings.extend(paths.into_iter().map(|path| (path, corpus.join("symfs"))));
    }
    let (mut totals, mut differing, mut compared) = ([0; 5], Vec::new(), 0);
    for (path, symfs) in &recordings {
        let open = || Recording::open(path).unwrap();
        let (ours, mut counts) = (ours(open(), symfs), [0; 5]);
        for (key, theirs) in theirs(&open(), symfs) {
            let Some(ours) = ours.get(&key) else { continue };
            match (starts_with(ours, &theirs), starts_with(&theirs, ours)) {
                (true, true) => counts[0] += 1,
                (true, false) => counts[1] += 1,
                (false, true) => counts[2] += 1,
                // Without CFI, here of the vDSO and of Go in `.debug_frame`, framehop follows frame pointers and misses one or
                // two callers.
                (false, false)
                    if (2..4).any(|at| ours.get(at..).is_some_and(|rest| starts_with(rest, &theirs[1..]))) =>
                {
                    counts[3] += 1;
                }
                (false, false) => {
                    counts[4] += 1;
                    differing.push(format!("{}: {key:?}: {ours:x?} instead of {theirs:x?}", path.display()));
                }
            }
        }
        let name = path.file_name().unwrap().display();
        let [equal, longer, shorter, without_callers, others] = counts;
        note!(
            "{name}: {equal} equal, {longer} longer, {shorter} shorter, {without_callers} lack callers, {others} differ"
        );
        assert!(shorter == 0 && others == 0, "{}", differing.join("\n"));
        compared += usize::from(counts.iter().sum::<usize>() > 20);
        totals.iter_mut().zip(counts).for_each(|(total, count)| *total += count);
    }
    note!("{compared} of {} recordings: {totals:?}, {} differ", recordings.len(), differing.len());
    assert!(compared * 10 >= recordings.len() * 8, "compared too few");
}
