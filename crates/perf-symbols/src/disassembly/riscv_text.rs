//! RISC-V text in the notation of objdump: registers by their names in the calling convention, and short forms of instructions.

/// Names of the integer registers.
const INTEGER: [&str; 32] = [
    "zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "s2",
    "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4", "t5", "t6",
];

/// Names of the floating-point registers.
const FLOAT: [&str; 32] = [
    "ft0", "ft1", "ft2", "ft3", "ft4", "ft5", "ft6", "ft7", "fs0", "fs1", "fa0", "fa1", "fa2", "fa3", "fa4", "fa5",
    "fa6", "fa7", "fs2", "fs3", "fs4", "fs5", "fs6", "fs7", "fs8", "fs9", "fs10", "fs11", "ft8", "ft9", "ft10", "ft11",
];

/// The text of an instruction, with the address of its target instead of an offset.
pub(super) fn objdump_text(text: &str, target: Option<u64>) -> String {
    let (name, operands) = text.split_once(' ').unwrap_or((text, ""));
    let mut operands: Vec<String> = operands.split(", ").filter(|part| !part.is_empty()).map(operand).collect();
    if let (Some(target), Some(last)) = (target, operands.last_mut()) {
        *last = format!("{target:#x}");
    }
    if matches!(name, "lui" | "auipc")
        && let Some(Ok(pages)) = operands.get(1).map(|pages| pages.parse::<i64>())
    {
        operands[1] = format!("{:#x}", pages & 0xf_ffff);
    }
    if matches!(name, "slli" | "srli" | "srai" | "slliw" | "srliw" | "sraiw")
        && let Some(Ok(amount)) = operands.get(2).map(|amount| amount.parse::<u8>())
    {
        operands[2] = format!("{amount:#x}");
    }
    let list: Vec<&str> = operands.iter().map(String::as_str).collect();
    let (name, list): (&str, Vec<&str>) = match (name, &list[..]) {
        ("addi", ["zero", "zero", "0"]) => ("nop", vec![]),
        ("addi", [to, "zero", value]) => ("li", vec![to, value]),
        ("addi", [to, from, "0"]) | ("add", [to, "zero", from]) => ("mv", vec![to, from]),
        ("addiw", [to, from, "0"]) => ("sext.w", vec![to, from]),
        ("sub", [to, "zero", from]) => ("neg", vec![to, from]),
        ("subw", [to, "zero", from]) => ("negw", vec![to, from]),
        ("xori", [to, from, "-1"]) => ("not", vec![to, from]),
        ("andi", [to, from, "255"]) => ("zext.b", vec![to, from]),
        ("sltiu", [to, from, "1"]) => ("seqz", vec![to, from]),
        ("sltu", [to, "zero", from]) => ("snez", vec![to, from]),
        ("slt", [to, from, "zero"]) => ("sltz", vec![to, from]),
        ("slt", [to, "zero", from]) => ("sgtz", vec![to, from]),
        ("jal", ["zero", target]) => ("j", vec![target]),
        ("jal", ["ra", target]) => ("jal", vec![target]),
        ("jalr", ["zero", "0(ra)"]) => ("ret", vec![]),
        ("jalr", ["zero", to]) => ("jr", vec![without_zero(to)]),
        ("jalr", ["ra", to]) => ("jalr", vec![without_zero(to)]),
        ("jalr", [link, to]) => ("jalr", vec![link, without_zero(to)]),
        ("beq", [register, "zero", target]) => ("beqz", vec![register, target]),
        ("bne", [register, "zero", target]) => ("bnez", vec![register, target]),
        ("bge", ["zero", register, target]) => ("blez", vec![register, target]),
        ("bge", [register, "zero", target]) => ("bgez", vec![register, target]),
        ("blt", ["zero", register, target]) => ("bgtz", vec![register, target]),
        ("blt", [register, "zero", target]) => ("bltz", vec![register, target]),
        ("fence", ["iorw", "iorw"]) => ("fence", vec![]),
        ("csrrs", [to, "1", "zero"]) => ("frflags", vec![to]),
        ("csrrs", [to, "2", "zero"]) => ("frrm", vec![to]),
        ("csrrs", [to, "3", "zero"]) => ("frcsr", vec![to]),
        ("csrrw", ["zero", "1", from]) => ("fsflags", vec![from]),
        ("csrrw", ["zero", "2", from]) => ("fsrm", vec![from]),
        ("csrrw", ["zero", "3", from]) => ("fscsr", vec![from]),
        ("csrrs", ["zero", "1", from]) => ("csrs", vec!["fflags", from]),
        ("csrrs", [to, register, "zero"]) => ("csrr", vec![to, register]),
        ("csrrw", ["zero", register, from]) => ("csrw", vec![register, from]),
        ("fsgnj.s" | "fsgnj.d" | "fsgnjn.s" | "fsgnjn.d" | "fsgnjx.s" | "fsgnjx.d", [to, from, same])
            if from == same =>
        {
            let short = match name {
                "fsgnj.s" => "fmv.s",
                "fsgnj.d" => "fmv.d",
                "fsgnjn.s" => "fneg.s",
                "fsgnjn.d" => "fneg.d",
                "fsgnjx.s" => "fabs.s",
                _ => "fabs.d",
            };
            (short, vec![to, from])
        }
        (name, _) => (name, list),
    };
    if list.is_empty() { name.to_owned() } else { format!("{name} {}", list.join(",")) }
}

/// The register of an address without an offset.
fn without_zero(address: &str) -> &str {
    address.strip_prefix("0(").and_then(|register| register.strip_suffix(')')).unwrap_or(address)
}

/// An operand with the name of its register.
fn operand(text: &str) -> String {
    if let Some((offset, register)) = text.strip_suffix(')').and_then(|text| text.split_once('(')) {
        return format!("{offset}({})", operand(register));
    }
    let names = match text.as_bytes().first() {
        Some(b'x') => &INTEGER,
        Some(b'f') => &FLOAT,
        _ => return text.to_owned(),
    };
    let name = text[1..].parse::<usize>().ok().and_then(|number| names.get(number));
    name.map_or(text.to_owned(), |&name| name.to_owned())
}
