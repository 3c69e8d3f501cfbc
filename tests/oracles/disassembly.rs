//! Instructions compared with those of objdump.

use crate::common::oracle::{is_on_path, note_missing_oracle};
use crate::common::program::run_other;
use object::elf;
use perf_symbols::disassembly::{Disassembler, InstructionClass};
use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// Code that is compared.
enum CodeUnderTest {
    /// Files of Debian's packages, and of the repository.
    Files(&'static [&'static str]),
    /// Words, and the options with which objdump reads them.
    Words(fn() -> Vec<u8>, &'static [&'static str]),
}

/// Programs of an architecture.
struct Case {
    name: &'static str,
    machine: elf::Machine,
    is_64: bool,
    objdump: &'static str,
    /// The code.
    code: CodeUnderTest,
    /// Share of instructions in percent whose texts must be equal.
    equal: f64,
    /// Mnemonics of calls.
    calls: &'static [&'static str],
}

const CASES: [Case; 6] = [
    Case {
        name: "x86-64",
        machine: elf::EM_X86_64,
        is_64: true,
        objdump: "objdump",
        code: CodeUnderTest::Files(&[
            "/usr/lib/x86_64-linux-gnu/libc.so.6",
            "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
            "roundtrip/symbols/files/srv/sym/bin/foundry-fp",
        ]),
        equal: 99.99,
        calls: &["call"],
    },
    Case {
        name: "i386",
        machine: elf::EM_386,
        is_64: false,
        objdump: "objdump",
        code: CodeUnderTest::Files(&["roundtrip/symbols/files/srv/sym/bin/witness-i386"]),
        equal: 100.0,
        calls: &["call"],
    },
    Case {
        name: "aarch64",
        machine: elf::EM_AARCH64,
        is_64: true,
        objdump: "aarch64-linux-gnu-objdump",
        code: CodeUnderTest::Files(&[
            "/usr/aarch64-linux-gnu/lib/libc.so.6",
            "/usr/aarch64-linux-gnu/lib/libstdc++.so.6",
        ]),
        equal: 99.99,
        calls: &["bl", "blr"],
    },
    Case {
        name: "SVE",
        machine: elf::EM_AARCH64,
        is_64: true,
        objdump: "aarch64-linux-gnu-objdump",
        code: CodeUnderTest::Words(words_of_vectors, &["-D", "-b", "binary", "-m", "aarch64"]),
        // objdump 2.40 reads words of SVE 2.1, such as `whilegt` of predicate counters, as `psel`: 0.9 %.
        equal: 99.0,
        calls: &[],
    },
    Case {
        name: "RVC",
        machine: elf::EM_RISCV,
        is_64: true,
        objdump: "riscv64-linux-gnu-objdump",
        code: CodeUnderTest::Words(compressed_words, &["-D", "-b", "binary", "-m", "riscv:rv64"]),
        equal: 99.0,
        calls: &["jalr"],
    },
    Case {
        name: "riscv64",
        machine: elf::EM_RISCV,
        is_64: true,
        objdump: "riscv64-linux-gnu-objdump",
        code: CodeUnderTest::Files(&[
            "/usr/riscv64-linux-gnu/lib/libc.so.6",
            "/usr/riscv64-linux-gnu/lib/libstdc++.so.6",
        ]),
        equal: 99.5,
        calls: &["jal", "jalr"],
    },
];

/// Random words of the encodings of SVE and SVE2.
fn words_of_vectors() -> Vec<u8> {
    let mut state = 5_u64;
    let mut word = || {
        // A linear congruential generator, whose high bits are random.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 32) as u32
    };
    (0..100_000).flat_map(|_| (word() & !(0xf << 25) | 0b0010 << 25).to_le_bytes()).collect()
}

/// All words of compressed instructions.
fn compressed_words() -> Vec<u8> {
    (0..=u16::MAX).filter(|word| word & 3 != 3).flat_map(u16::to_le_bytes).collect()
}

/// RISC-V instructions with a constant, which objdump names as those without.
const WITH_CONSTANT: [(&str, &str); 13] = [
    ("addi", "add"),
    ("andi", "and"),
    ("ori", "or"),
    ("xori", "xor"),
    ("slli", "sll"),
    ("srli", "srl"),
    ("srai", "sra"),
    ("addiw", "addw"),
    ("slliw", "sllw"),
    ("srliw", "srlw"),
    ("sraiw", "sraw"),
    ("slti", "slt"),
    ("sltiu", "sltu"),
];

/// The text of an instruction without what two disassemblers write differently.
///
/// * names of targets and comments, spaces, and `0x` of addresses,
/// * x86: prefixes of padding, sizes of operands of calls, jumps and pushes, scales of 1, indexes that are none, the implied operands of
///   shifts, string instructions, multiplications and of the x87, `repz`,
/// * AArch64: two names of conditions, hexadecimal constants,
/// * RISC-V: `addi` or `add` with a constant.
pub(super) fn normalized(text: &str) -> String {
    let text = text.split('<').next().unwrap_or_default();
    let text = text.split("# ").next().unwrap_or_default().split("//").next().unwrap_or_default();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ").replace(", ", ",");
    let mut text = &*text;
    while let Some(rest) = text.strip_prefix("data16 ").or(text.strip_prefix("rex.W ")) {
        text = rest;
    }
    text = text.strip_prefix("cs ").filter(|rest| rest.starts_with("nop")).unwrap_or(text);
    let (name, operands) = text.split_once(' ').unwrap_or((text, ""));
    let mut name = match name {
        "callq" | "calll" | "jmpq" | "jmpl" | "pushq" | "pushl" | "popq" | "retq" => &name[..name.len() - 1],
        "repz" => "rep",
        "b.hs" => "b.cs",
        "b.lo" => "b.cc",
        name => name,
    };
    name = WITH_CONSTANT.iter().find(|(long, _)| *long == name).map_or(name, |(_, short)| short);
    let operands = decimal_constants(operands);
    let is_shift = ["sar", "shr", "shl", "rol", "ror", "rcr", "rcl"].iter().any(|shift| name.starts_with(shift));
    let mut operands = operands
        .replace(",1)", ")")
        .replace(",%eiz)", ")")
        .replace("%es:(%rdi)", "(%rdi)")
        .replace("%ds:(%rsi)", "(%rsi)");
    if is_shift {
        operands = operands.trim_start_matches("$0x1,").to_owned();
    }
    if name.starts_with('f') && operands.contains("%st") {
        operands.clear();
    }
    if let Some((constant, registers)) = operands.split_once(',').filter(|_| name == "imul")
        && let Some((first, second)) = registers.split_once(',')
        && first == second
    {
        operands = format!("{constant},{first}");
    }
    for (long, short) in [(",hs", ",cs"), (",lo", ",cc")] {
        if let Some(rest) = operands.strip_suffix(long) {
            operands = format!("{rest}{short}");
        }
    }
    let last = operands.rsplit([',', ' ']).next().unwrap_or_default();
    if let Some(digits) = last.strip_prefix("0x").filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit())) {
        operands = format!("{}{digits}", &operands[..operands.len() - last.len()]);
    }
    if name == "rep" && operands == "ret" {
        name = "repz";
    }
    format!("{name} {operands}").trim_end().to_owned()
}

/// Operands with the constants of AArch64, which begin with `#`, as decimal numbers.
fn decimal_constants(operands: &str) -> String {
    let mut parts = operands.split('#');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|char: char| !(char.is_ascii_alphanumeric() || char == '-')).unwrap_or(part.len());
        let (number, rest) = part.split_at(end);
        let (sign, digits) = number.strip_prefix('-').map_or(("", number), |digits| ("-", digits));
        let hexadecimal = digits.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok());
        text += &format!("#{sign}{}{rest}", hexadecimal.map_or(digits.to_owned(), |value| value.to_string()));
    }
    text
}

/// The address, bytes and text of a line of objdump.
fn parsed(line: &str, unit: usize) -> Option<(u64, Vec<u8>, &str)> {
    let mut parts = line.splitn(3, '\t');
    let address = u64::from_str_radix(parts.next()?.trim().strip_suffix(':')?, 16).ok()?;
    let digits: Vec<&str> = parts.next()?.split_whitespace().collect();
    let text = parts.next()?;
    let mut bytes = Vec::new();
    for word in digits {
        let mut word: Vec<u8> = (0..word.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(word.get(at..at + 2)?, 16).ok())
            .collect::<Option<_>>()?;
        if unit > 1 {
            word.reverse();
        }
        bytes.extend(word);
    }
    Some((address, bytes, text))
}

#[test]
fn instructions_equal_those_of_objdump() {
    let mut failures = Vec::new();
    let directory = tempfile::tempdir().expect("a temporary directory");
    for Case { name, machine, is_64, objdump, code, equal, calls } in CASES {
        if !is_on_path(objdump) {
            note_missing_oracle(objdump);
            continue;
        }
        let disassembler = Disassembler::new(machine.0, is_64).expect("a disassembler");
        let (mut count, mut same, mut lengths, mut classes) = (0_u64, 0_u64, 0, 0);
        let mut others: HashMap<String, (u64, String)> = HashMap::new();
        let (files, options) = match code {
            CodeUnderTest::Files(files) => (files.iter().map(PathBuf::from).collect(), &["-d"][..]),
            CodeUnderTest::Words(words, options) => {
                let path = directory.path().join(name);
                fs::write(&path, words()).expect("a file");
                (vec![path], options)
            }
        };
        for file in files.iter().filter(|file| file.is_file()) {
            let listing = run_other(Command::new(objdump).args(options).args(["-w", "--show-raw-insn"]).arg(file));
            for line in String::from_utf8_lossy(&listing.stdout).lines() {
                let Some((address, bytes, text)) = parsed(line, disassembler.alignment().into()) else { continue };
                // Data in code.
                let is_data = [".word", ".short", ".byte", ".inst", "(bad)", "unimp", ".2byte", ".4byte", "..."];
                if is_data.iter().any(|data| text.trim_start().starts_with(data)) {
                    continue;
                }
                count += 1;
                let mut own = String::new();
                let decoded = disassembler.decode_text(&bytes, address, &mut own);
                lengths += u64::from(decoded.is_none_or(|decoded| usize::from(decoded.len) != bytes.len()));
                let expected = normalized(text);
                let mnemonic = expected.split(' ').next().unwrap_or_default().to_owned();
                // Other registers than these do not have the return address, by RISC-V's calling convention.
                let is_link =
                    !expected.starts_with("jalr") || !expected.contains(',') || expected.starts_with("jalr t0,");
                let is_call = calls.contains(&&*mnemonic) && is_link;
                let is_decoded_call = decoded.is_some_and(|decoded| decoded.class == InstructionClass::Call);
                // `jal zero` and `jalr zero` are jumps, which objdump names j and jr.
                classes += u64::from(is_call != is_decoded_call);
                if normalized(&own) == expected {
                    same += 1;
                } else {
                    let example = format!("{line}: {}", normalized(&own));
                    others.entry(mnemonic).or_insert((0, example)).0 += 1;
                }
            }
        }
        let share = same as f64 * 100.0 / count.max(1) as f64;
        println!(
            "{name:8} {count:8} instructions, {share:.3} % with equal text; {lengths} lengths and {classes} calls differ"
        );
        let mut others: Vec<_> = others.into_values().collect();
        others.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
        others.iter().take(20).for_each(|(count, example)| println!("  {count:6} {example}"));
        if lengths > 0 || classes > 0 || share < equal {
            failures.push(name);
        }
    }
    assert!(failures.is_empty(), "{failures:?}");
}
