//! Names that are demangled from C++: their operators and parameters.

use super::brackets::Brackets;

/// Whether a text ends with a word whose parentheses belong to a type: `decltype (...)`, `int __vector(4)`, `_BitInt(8)`.
pub(super) fn ends_with_type_keyword(before: &[u8]) -> bool {
    let before = before.trim_ascii_end();
    [&b"decltype"[..], b"__vector", b"_BitInt"].iter().any(|word| before.ends_with(word))
}

/// What follows the closing parenthesis that belongs to the first one of a text.
pub(super) fn after_parentheses(text: &[u8]) -> &[u8] {
    let mut depth = 0_usize;
    let end = text.iter().position(|&byte| {
        match byte {
            b'(' => depth += 1,
            b')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0
    });
    without_qualifiers(end.map_or(&[][..], |end| &text[end + 1..]))
}

/// A text without the qualifiers of a member function at its start.
pub(super) fn without_qualifiers(text: &[u8]) -> &[u8] {
    const QUALIFIERS: [&[u8]; 4] = [b" const", b" volatile", b" &&", b" &"];
    let rest = QUALIFIERS.iter().find_map(|qualifier| text.strip_prefix(*qualifier));
    rest.map_or(text, without_qualifiers)
}

/// Symbols of operators, before others that they begin with.
const OPERATORS: [&[u8]; 38] = [
    b"()", b"[]", b"<=>", b"->*", b"<<=", b">>=", b"->", b"<<", b">>", b"<=", b">=", b"==", b"!=", b"&&", b"||", b"++",
    b"--", b"+=", b"-=", b"*=", b"/=", b"%=", b"&=", b"|=", b"^=", b"+", b"-", b"*", b"/", b"%", b"^", b"&", b"|",
    b"~", b"!", b"=", b"<", b">",
];

/// What a name of an operator has after the word `operator`.
pub(super) enum OperatorName {
    /// A symbol of this length.
    Symbol(usize),
    /// A type, to which it converts.
    Conversion,
}

/// The operator that the word `operator` begins, if it is at this place in a name.
pub(super) fn operator(name: &[u8], at: usize) -> Option<OperatorName> {
    let is_in_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let rest = name[at..].strip_prefix(b"operator")?;
    // A longer identifier, such as `binary_operator`, only ends with the word.
    if at.checked_sub(1).and_then(|before| name.get(before)).is_some_and(is_in_word) {
        return None;
    }
    if let Some(symbol) = OPERATORS.iter().find(|symbol| rest.starts_with(symbol)) {
        return Some(OperatorName::Symbol(symbol.len()));
    }
    if rest.starts_with(b",") {
        return Some(OperatorName::Symbol(1));
    }
    let word = rest.strip_prefix(b" ")?;
    let is_type = ![&b"new"[..], b"delete", b"co_await"].iter().any(|other| word.starts_with(other));
    is_type.then_some(OperatorName::Conversion)
}

/// The length of the parenthesis and the symbols with which the declarator of a returned pointer or reference to a function or an
/// array begins, as in `int (*f(char))(double)`.
pub(super) fn declarator(before: &[u8], rest: &[u8]) -> Option<usize> {
    if !before.ends_with(b" ") {
        return None;
    }
    let symbols = rest.strip_prefix(b"(")?;
    let class = symbols.iter().take_while(|byte| byte.is_ascii_alphanumeric() || b"_:".contains(byte)).count();
    let class = if symbols[class..].starts_with(b"*") && symbols[..class].ends_with(b"::") { class } else { 0 };
    let mut after = &symbols[class..];
    if !after.starts_with(b"*") && !after.starts_with(b"&") {
        return None;
    }
    const PARTS: [&[u8]; 5] = [b"*", b"&", b" const", b" volatile", b" "];
    while let Some(rest) = PARTS.iter().find_map(|part| after.strip_prefix(*part)) {
        after = rest;
    }
    Some(rest.len() - after.len())
}

/// A function name up to the parentheses of its parameters. `keeps` decides, by the text from them on, about parentheses that may be
/// those of an outer function.
pub(super) fn before_parameters(name: &[u8], keeps: impl Fn(&[u8]) -> bool) -> &[u8] {
    let mut brackets = Brackets::default();
    let (mut start, mut at, mut is_conversion) = (0, 0, false);
    while let Some(&byte) = name.get(at) {
        let rest = &name[at..];
        if byte == b'o'
            && let Some(operator) = operator(name, at)
        {
            at += b"operator".len();
            match operator {
                OperatorName::Symbol(len) => at += len,
                OperatorName::Conversion => is_conversion |= brackets.depth == 0,
            }
            continue;
        }
        match byte {
            b'<' | b'{' | b'[' => brackets.open(byte),
            b'>' if name[..at].ends_with(b"-") => {}
            b'>' | b'}' | b']' | b')' => brackets.close(byte),
            b'(' => {
                if brackets.depth == 0 && at > 0 && !rest.starts_with(b"(anonymous namespace)") {
                    let before = &name[..at];
                    // The parameters of a conversion operator are empty and the last parentheses.
                    let is_last = rest.starts_with(b"()") && !after_parentheses(rest).starts_with(b"(");
                    let belongs_to_type = ends_with_type_keyword(before) || (is_conversion && !is_last);
                    if let Some(len) = declarator(before, rest).filter(|_| !is_conversion) {
                        at += len;
                        start = at;
                        continue;
                    }
                    if !belongs_to_type && !keeps(rest) {
                        return &name[start..at];
                    }
                    is_conversion &= belongs_to_type;
                }
                brackets.open(byte);
            }
            _ => {}
        }
        at += 1;
    }
    &name[start..]
}
