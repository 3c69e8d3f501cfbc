//! AArch64 text in the notation of objdump, where fARM64 0.1 writes another one or omits something.

/// The text of an instruction.
pub(super) fn objdump_text(text: &str, word: u32) -> String {
    let (name, operands) = text.split_once(' ').unwrap_or((text, ""));
    let operands = ranges_of_registers(operands.trim_start());
    let operands = match name {
        "mov" => without_sign(&operands),
        "fmov" => scientific(&operands),
        // The second source is the list.
        "ext" if operands.contains('{') => operands.replacen("}, z0.b,", "},", 1),
        // The constant counts vectors of 32 bytes.
        "ld1rob" | "ld1roh" | "ld1row" | "ld1rod" if !operands.contains("lsl") => in_bytes(&operands),
        "psel" => with_plain_index(&operands),
        "adr" if operands.ends_with(".d]") => match word >> 22 & 3 {
            0 => operands.replace(']', ", sxtw]"),
            1 => operands.replace(']', ", uxtw]"),
            _ => operands,
        },
        "mrs" | "msr" => operands.replace("s3_3_c0_c0_7", "dczid_el0").replace("s3_3_c0_c0_1", "ctr_el0"),
        _ => operands,
    };
    let name = match name {
        "b.hs" => "b.cs",
        "b.lo" => "b.cc",
        "bc.hs" => "bc.cs",
        "bc.lo" => "bc.cc",
        name => name,
    };
    if operands.is_empty() { name.to_owned() } else { format!("{name} {operands}") }
}

/// Lists of three and more registers, such as `{v0.16b, v1.16b, v2.16b}`, as ranges, unless they continue behind the last register.
fn ranges_of_registers(operands: &str) -> String {
    let Some((before, rest)) = operands.split_once('{') else { return operands.to_owned() };
    let Some((list, after)) = rest.split_once('}') else { return operands.to_owned() };
    let registers: Vec<&str> = list.split(", ").collect();
    let number = |register: &&str| {
        let digits = register.get(1..)?.split('.').next()?;
        digits.parse::<u8>().ok()
    };
    let numbers: Vec<_> = registers.iter().map(number).collect();
    let is_next = |pair: &[Option<u8>]| pair[0].zip(pair[1]).is_some_and(|(first, second)| first + 1 == second);
    match registers[..] {
        [first, _, .., last] if numbers.windows(2).all(is_next) => format!("{before}{{{first}-{last}}}{after}"),
        _ => operands.to_owned(),
    }
}

/// A number with or without `0x`.
fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// A negative constant as the unsigned number that the general register then has.
fn without_sign(operands: &str) -> String {
    let unsigned = || {
        let (register, constant) = operands.split_once(", #-")?;
        let value = number(constant)?.wrapping_neg();
        match register.as_bytes().first()? {
            b'w' => Some(format!("{register}, #{:#x}", value as u32)),
            b'x' | b's' => Some(format!("{register}, #{value:#x}")),
            _ => None,
        }
    };
    unsigned().unwrap_or_else(|| operands.to_owned())
}

/// A floating-point constant with all its digits.
fn scientific(operands: &str) -> String {
    let Some((register, constant)) = operands.split_once('#') else { return operands.to_owned() };
    let Ok(value) = constant.parse::<f64>() else { return operands.to_owned() };
    let text = format!("{value:.18e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |exponent| ('-', exponent));
    format!("{register}#{digits}e{sign}{exponent:0>2}")
}

/// An index of a predicate without `#`.
fn with_plain_index(operands: &str) -> String {
    let plain = || {
        let (before, rest) = operands.split_once('#')?;
        Some(format!("{before}{}]", number(rest.strip_suffix(']')?)?))
    };
    plain().unwrap_or_else(|| operands.to_owned())
}

/// A constant that counts vectors as a number of bytes.
fn in_bytes(operands: &str) -> String {
    let scaled = || {
        let (before, rest) = operands.split_once('#')?;
        let digits = rest.strip_suffix(']')?;
        let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |digits| ("-", digits));
        Some(format!("{before}#{sign}{:#x}]", number(digits)? * 32))
    };
    scaled().unwrap_or_else(|| operands.to_owned())
}
