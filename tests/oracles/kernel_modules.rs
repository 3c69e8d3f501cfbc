//! Kernel modules, which are relocatable files. Their instructions are compared with those of objdump: references to other sections
//! and to the kernel are unresolved in both. Profiles for compilers are compared with those of a program that has the same code.

use super::disassembly::normalized;
use crate::common::branch_profiles::profile;
use crate::common::oracle::{is_on_path, note_missing_oracle};
use crate::common::program::{perfconv, run_other, succeed};
use perf_data::abi::record::CpuMode;
use perf_data::abi::sample::Sample;
use perf_data::abi::sample::branch::{BranchEntry, BranchFlags, BranchStack};
use perf_data::abi::sample_type::BranchSampleType;
use perf_symbols::object::build_id_note::{self, Elf};
use perfconv::synth::{Event, Map, RecordingBuilder, Stamp};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where a module is loaded.
const START: u64 = 0xffff_ffff_c020_0000;

/// Number of functions of a module that is built for this test.
const FUNCTIONS: usize = 250;

/// Number of modules of installed kernels that are compared.
const INSTALLED: usize = 5;

/// A compiler and disassembler of modules.
struct Toolchain {
    arch: &'static str,
    compiler: &'static [&'static str],
    linker: &'static [&'static str],
    objdump: &'static str,
}

const TOOLCHAINS: [Toolchain; 2] = [
    Toolchain {
        arch: "x86_64",
        compiler: &["gcc", "-mcmodel=kernel", "-mno-sse", "-fno-pic"],
        linker: &["ld", "-r", "--build-id"],
        objdump: "objdump",
    },
    Toolchain {
        arch: "aarch64",
        compiler: &["clang-16", "--target=aarch64-linux-gnu", "-mgeneral-regs-only", "-fno-pic"],
        linker: &["aarch64-linux-gnu-ld", "-r", "--build-id"],
        objdump: "aarch64-linux-gnu-objdump",
    },
];

/// Functions with loops, tables of jumps, cold code, code of the initialization, and calls of each other and of the kernel.
fn source() -> String {
    let mut text = String::from(
        "extern int printed(const char *text, ...);\nextern unsigned long kernel_table[64];\nextern void *allocated(unsigned long);\n\
         static unsigned long state[64];\n",
    );
    for number in 0..FUNCTIONS {
        let called = match number {
            0 => "(int)(long)allocated(n)".to_owned(),
            _ => format!("function_{}(values, n - {number})", number - 1),
        };
        let section = match number % 10 {
            3 => "__attribute__((cold)) ",
            7 => "__attribute__((section(\".init.text\"))) ",
            _ => "",
        };
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "__attribute__((noinline)) {section}int function_{number}(unsigned long *values, int n) {{\n\
             unsigned long sum = {number};\n\
             for (int i = 0; i < n; i++) {{ sum += values[i] * {} ^ state[i & 63]; values[i] = sum >> {}; }}\n\
             switch (sum & 7) {{ case 0: return n; case 1: sum += kernel_table[n & 63]; break; case 2: return {called};\n\
             case 3: printed(\"%lu\", sum); break; case 4: state[{}] = sum; break; case 5: sum /= n | 1; break; default: sum = ~sum; }}\n\
             if (__builtin_expect(sum == {number}, 0)) printed(\"unlikely %d\", n);\n\
             return (int)sum + {called};\n}}",
            2 * number + 1,
            number % 61,
            number % 64,
        );
    }
    text
}

/// A module of this toolchain; `None` if it is not installed.
fn built(toolchain: &Toolchain, directory: &Path) -> Option<PathBuf> {
    let programs = [toolchain.compiler[0], toolchain.linker[0], toolchain.objdump];
    if let Some(missing) = programs.into_iter().find(|program| !is_on_path(program)) {
        note_missing_oracle(missing);
        return None;
    }
    let [source_file, object, module] = ["c", "o", "ko"].map(|end| directory.join(format!("{}.{end}", toolchain.arch)));
    fs::write(&source_file, source()).expect("a file");
    let mut compiler = Command::new(toolchain.compiler[0]);
    compiler.args(&toolchain.compiler[1..]).args(["-O2", "-g", "-ffreestanding", "-c", "-o"]);
    let compiled = run_other(compiler.arg(&object).arg(&source_file));
    assert_eq!(compiled.status, 0, "{}", compiled.stderr);
    let mut linker = Command::new(toolchain.linker[0]);
    let linked = run_other(linker.args(&toolchain.linker[1..]).arg("-o").arg(&module).arg(&object));
    assert_eq!(linked.status, 0, "{}", linked.stderr);
    Some(module)
}

/// Uncompressed modules of installed kernels, the largest first.
fn installed() -> Vec<PathBuf> {
    let (mut modules, mut directories) = (Vec::new(), vec![PathBuf::from("/lib/modules")]);
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let path = entry.path();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => directories.push(path),
                Ok(kind) if kind.is_file() && path.extension() == Some("ko".as_ref()) => modules.push(path),
                _ => {}
            }
        }
    }
    modules.sort_by_key(|path| std::cmp::Reverse(fs::metadata(path).map_or(0, |metadata| metadata.len())));
    modules.truncate(INSTALLED);
    modules
}

/// Instructions: address, text, and whether a relocation completes them.
type Instructions = Vec<(u64, String, bool)>;

/// The functions that objdump lists, by name, and the size of the code. A name that several have is not compared.
fn listed(objdump: &str, module: &Path) -> (BTreeMap<String, Instructions>, u64) {
    let listing = run_other(Command::new(objdump).args(["-d", "-r", "-w", "--no-show-raw-insn"]).arg(module));
    let (mut functions, mut names) = (BTreeMap::<String, Vec<Instructions>>::new(), None);
    for line in String::from_utf8_lossy(&listing.stdout).lines() {
        if let Some(name) = line.strip_suffix(">:").and_then(|line| line.split_once(" <")) {
            functions.entry(name.1.to_owned()).or_default().push(Vec::new());
            names = Some(name.1.to_owned());
        } else if let Some((address, text)) = line.split_once(':')
            && let Ok(address) = u64::from_str_radix(address.trim(), 16)
            && let Some(function) = names.as_ref().and_then(|name| functions.get_mut(name)?.last_mut())
        {
            // With -w, relocations follow in the same line, each as `address: R_TYPE symbol`.
            let (text, is_relocated) = match text.split_once(": R_") {
                Some((text, _)) => (text.rsplit_once('\t').map_or(text, |(text, _)| text), true),
                None => (text, false),
            };
            function.push((address, text.trim_start().to_owned(), is_relocated));
        }
    }
    let size = functions.values().flatten().map(|function| 16 * function.len() as u64).sum();
    let only = |(name, mut lists): (String, Vec<Instructions>)| Some((name, lists.pop().filter(|_| lists.is_empty())?));
    (functions.into_iter().filter_map(only).collect(), size)
}

/// A recording with samples all over the code of a module.
fn recording(module: &Path, arch: &str, size: u64, path: &Path) {
    let Ok(Elf::Id(id)) = build_id_note::read(module) else { panic!("{} has no build ID", module.display()) };
    let mut recording = RecordingBuilder::new();
    arch.clone_into(&mut recording.metadata.machine.as_mut().expect("a machine").arch);
    let event = recording.event(Event::named("cycles").expect("an event"));
    let map = Map::new("/lib/modules/6.1/extra/module.ko", START, size).build_id(id.bytes());
    recording.mmap(CpuMode::KERNEL, Stamp::at(0, u32::MAX, 0), map).process(7, "app");
    for address in (0..size).step_by(8) {
        let sample = Sample { ip: Some(START + address), task: Some((7, 7)), time: Some(address), ..Sample::default() };
        recording.sample(event, sample);
    }
    fs::write(path, recording.to_bytes().expect("a recording")).expect("a file");
}

/// The functions that perfconv lists, by name.
fn annotated(recording: &Path, symfs: &Path) -> BTreeMap<String, Instructions> {
    let mut command = perfconv();
    command.args(["annotate", ".*", "--json", "--no-source", "-q", "-i"]).arg(recording).arg("--symfs").arg(symfs);
    let report: Value = serde_json::from_slice(&succeed(command.env("HOME", "/nonexistent")).stdout).expect("JSON");
    let mut functions = BTreeMap::<String, Instructions>::new();
    for line in report["lines"].as_array().expect("a list") {
        let Some(text) = line["instruction"].as_str() else { continue };
        let address = line["address"].as_str().and_then(|address| address.strip_prefix("0x")).expect("an address");
        let address = u64::from_str_radix(address, 16).expect("a number");
        let name = line["sym"].as_str().expect("a name").to_owned();
        functions.entry(name).or_default().push((address, text.to_owned(), false));
    }
    functions
}

/// A text with addresses in the module relative to `start`.
fn relative(text: &str, start: u64) -> String {
    let text = normalized(text);
    let at = text.rfind([' ', ',']).map_or(0, |at| at + 1);
    let (before, last) = text.split_at(at);
    match u64::from_str_radix(last, 16) {
        Ok(_) if before.starts_with("adrp") => before.to_owned(),
        Ok(address) if !before.is_empty() && !last.starts_with('0') => {
            format!("{before}{:x}", address.wrapping_sub(start))
        }
        _ if last == "0" => format!("{before}{:x}", 0_u64.wrapping_sub(start)),
        _ => text,
    }
}

#[test]
fn instructions_of_modules_equal_those_of_objdump() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut modules = Vec::new();
    for toolchain in &TOOLCHAINS {
        modules.extend(built(toolchain, directory.path()).map(|module| (module, toolchain, 200)));
    }
    modules.extend(installed().into_iter().map(|module| (module, &TOOLCHAINS[0], 1)));
    for (module, Toolchain { arch, objdump, .. }, least) in modules {
        let (expected, size) = listed(objdump, &module);
        let root = directory.path().join("root");
        let copy = root.join("lib/modules/6.1/extra/module.ko");
        fs::create_dir_all(copy.parent().expect("a directory")).expect("a directory");
        fs::copy(&module, &copy).expect("a copy");
        let path = directory.path().join("in.data");
        recording(&module, arch, size, &path);
        let own = annotated(&path, &root);
        let (mut functions, mut instructions, mut unresolved, mut others) = (0, 0, 0, Vec::new());
        for (name, own) in &own {
            let Some(expected) = expected.get(name) else { continue };
            functions += 1;
            let starts = [own, expected].map(|list| list.first().map_or(0, |(address, ..)| *address));
            for (own, expected) in own.iter().zip(expected) {
                instructions += 1;
                let [mut own_text, mut expected_text] = [relative(&own.1, starts[0]), relative(&expected.1, starts[1])];
                // objdump shows what the relocations of AArch64 refer to, instead of the operand.
                if *arch == "aarch64" && expected.2 {
                    unresolved += 1;
                    for text in [&mut own_text, &mut expected_text] {
                        text.truncate(text.find(' ').unwrap_or(0));
                    }
                }
                if own.0 - starts[0] != expected.0 - starts[1] || own_text != expected_text {
                    others.push(format!("{name}: {own_text} not {expected_text}"));
                }
            }
        }
        println!(
            "{}: {instructions} instructions of {functions} functions, {unresolved} of them without a target; {} differ; {} functions are only in objdump's listing",
            module.display(),
            others.len(),
            expected.len() - functions
        );
        others.iter().take(10).for_each(|other| println!("  {other}"));
        assert!(functions >= least && others.len() * 1000 <= instructions, "{functions} functions, {others:#?}");
    }
}

/// Number of samples with branch stacks.
const SAMPLES: usize = 400;

/// Addresses of functions in the section `.text` of a module, or in a program, by name.
fn functions_in_text(file: &Path) -> BTreeMap<String, u64> {
    let listing = run_other(Command::new("objdump").arg("-t").arg(file));
    let functions = String::from_utf8_lossy(&listing.stdout).into_owned();
    let functions = functions.lines().filter_map(|line| {
        let (before, after) = line.split_once(" F .text\t")?;
        let address = u64::from_str_radix(before.split(' ').next()?, 16).ok()?;
        Some((after.split_whitespace().last()?.to_owned(), address))
    });
    functions.collect()
}

/// A recording whose samples have these branches, from and to, newest first.
fn branch_recording(mode: CpuMode, map: Map, stacks: &[Vec<(u64, u64)>], path: &Path) {
    let mut recording = RecordingBuilder::new();
    let event = recording.event(Event::named("cycles").expect("an event").branches(BranchSampleType::ANY));
    let pid = if mode == CpuMode::KERNEL { u32::MAX } else { 7 };
    recording.process(7, "app").mmap(mode, Stamp::at(0, pid, if pid == 7 { 7 } else { 0 }), map);
    for (stack, time) in stacks.iter().zip(1..) {
        let branch = |&(from, to)| BranchEntry { from, to, flags: BranchFlags(BranchFlags::PREDICTED.set(0, 1)) };
        let entries = stack.iter().map(branch).collect();
        let branch_stack = Some(BranchStack { entries, ..BranchStack::default() });
        let ip = stack.first().map(|&(_, to)| to);
        recording.sample(event, Sample { ip, task: Some((7, 7)), time: Some(time), branch_stack, ..Sample::default() });
    }
    fs::write(path, recording.to_bytes().expect("a recording")).expect("a file");
}

#[test]
fn compilers_get_the_same_profile_of_a_module_as_of_a_program_with_its_code() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let Some(built) = built(&TOOLCHAINS[0], directory.path()) else { return };
    let root = directory.path().join("root");
    let [module, program] = ["lib/modules/6.1/extra/module.ko", "opt/app"].map(|path| root.join(path));
    for file in [&module, &program] {
        fs::create_dir_all(file.parent().expect("a directory")).expect("a directory");
    }
    fs::copy(&built, &module).expect("a copy");
    let mut linker = Command::new("ld");
    linker.args([
        "-Ttext-segment=0x400000",
        "-z",
        "noseparate-code",
        "--unresolved-symbols=ignore-all",
        "-e",
        "0",
        "-o",
    ]);
    let linked = run_other(linker.arg(&program).arg(&built));
    assert_eq!(linked.status, 0, "{}", linked.stderr);
    let (instructions, size) = listed("objdump", &built);
    let [in_module, in_program] = [&module, &program].map(|file| functions_in_text(file));
    let functions: Vec<_> = in_module.keys().filter(|name| instructions.contains_key(*name)).collect();
    // Runs of instructions of a function, each entered and left by a branch.
    let mut random = Xoshiro256PlusPlus::seed_from_u64(61);
    let mut below = |end: usize| (random.next_u64() >> 11) as usize % end;
    let mut run = || {
        let name = functions[below(functions.len())];
        let code = &instructions[name];
        let first = below(code.len());
        let last = first + below(code.len() - first);
        let offset = |index: usize| code[index].0 - in_module[name];
        (name, offset(first), offset(last))
    };
    let runs: Vec<Vec<_>> = (0..SAMPLES).map(|_| (0..16).map(|_| run()).collect()).collect();
    let stacks = |start: u64, addresses: &BTreeMap<String, u64>| -> Vec<Vec<(u64, u64)>> {
        let ends = runs.iter().map(|runs| {
            runs.iter().map(|&(name, first, last)| {
                let function = start + addresses[name];
                (function + first, function + last)
            })
        });
        // A branch leads from the end of the older run to the start of the newer one.
        let branches = |ends: Vec<(u64, u64)>| ends.windows(2).map(|two| (two[1].1, two[0].0)).collect();
        ends.map(|ends| branches(ends.collect())).collect()
    };
    let Ok(Elf::Id(id)) = build_id_note::read(&built) else { panic!("{} has no build ID", built.display()) };
    let recorded = |name: &str| directory.path().join(format!("{name}.data"));
    let map = Map::new("/lib/modules/6.1/extra/module.ko", START, size.next_multiple_of(0x1000)).build_id(id.bytes());
    branch_recording(CpuMode::KERNEL, map, &stacks(START, &in_module), &recorded("module"));
    let map = Map::new("/opt/app", 0x40_0000, 1 << 20);
    branch_recording(CpuMode::USER, map, &stacks(0, &in_program), &recorded("program"));
    for format in ["llvm --llvm-format text", "llvm --llvm-format extbinary", "gcc"] {
        let [of_module, of_program] = ["module", "program"].map(|name| {
            let run = profile(&recorded(name), &root, &format!("-t {format}"));
            assert_eq!(run.status, 0, "{name}: {}", run.stderr);
            run.stdout
        });
        assert!(of_module == of_program, "{format} of the module differs");
        println!("{format}: {} equal bytes of {} functions", of_module.len(), functions.len());
        if format.ends_with("text") {
            let lines = of_module.split(|&byte| byte == b'\n').count();
            assert!(lines > functions.len() && functions.len() > 150, "{lines} lines of {} functions", functions.len());
        }
    }
}
