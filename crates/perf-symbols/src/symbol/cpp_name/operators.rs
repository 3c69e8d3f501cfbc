//! Operators by their codes in mangled names.

/// How the operands of an operator follow it in a mangled name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operands {
    /// Only the name of a function, or parsed by code of its own.
    Other,
    Unary,
    /// Before or after its operand.
    Step,
    Binary,
    /// With the name of a member at the right.
    Member,
}

/// An operator.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Operator {
    pub code: [u8; 2],
    pub text: &'static str,
    pub operands: Operands,
}

const fn operator(code: [u8; 2], text: &'static str, operands: Operands) -> Operator {
    Operator { code, text, operands }
}

/// All operators.
static OPERATORS: [Operator; 59] = {
    use Operands::{Binary, Member, Other, Step, Unary};
    [
        operator(*b"aN", "&=", Binary),
        operator(*b"aS", "=", Binary),
        operator(*b"aa", "&&", Binary),
        operator(*b"ad", "&", Unary),
        operator(*b"an", "&", Binary),
        operator(*b"aw", "co_await ", Unary),
        operator(*b"cl", "()", Other),
        operator(*b"cm", ",", Binary),
        operator(*b"co", "~", Unary),
        operator(*b"dV", "/=", Binary),
        operator(*b"da", "delete[] ", Unary),
        operator(*b"de", "*", Unary),
        operator(*b"dl", "delete ", Unary),
        operator(*b"ds", ".*", Binary),
        operator(*b"dt", ".", Member),
        operator(*b"dv", "/", Binary),
        operator(*b"eO", "^=", Binary),
        operator(*b"eo", "^", Binary),
        operator(*b"eq", "==", Binary),
        operator(*b"ge", ">=", Binary),
        operator(*b"gt", ">", Binary),
        operator(*b"ix", "[]", Other),
        operator(*b"lS", "<<=", Binary),
        operator(*b"le", "<=", Binary),
        operator(*b"ls", "<<", Binary),
        operator(*b"lt", "<", Binary),
        operator(*b"mI", "-=", Binary),
        operator(*b"mL", "*=", Binary),
        operator(*b"mi", "-", Binary),
        operator(*b"ml", "*", Binary),
        operator(*b"mm", "--", Step),
        operator(*b"na", "new[]", Other),
        operator(*b"ne", "!=", Binary),
        operator(*b"ng", "-", Unary),
        operator(*b"nt", "!", Unary),
        operator(*b"nw", "new", Other),
        operator(*b"oR", "|=", Binary),
        operator(*b"oo", "||", Binary),
        operator(*b"or", "|", Binary),
        operator(*b"pL", "+=", Binary),
        operator(*b"pl", "+", Binary),
        operator(*b"pm", "->*", Binary),
        operator(*b"pp", "++", Step),
        operator(*b"ps", "+", Unary),
        operator(*b"pt", "->", Member),
        operator(*b"qu", "?", Other),
        operator(*b"rM", "%=", Binary),
        operator(*b"rS", ">>=", Binary),
        operator(*b"rm", "%", Binary),
        operator(*b"rs", ">>", Binary),
        operator(*b"ss", "<=>", Binary),
        operator(*b"sz", "sizeof ", Unary),
        operator(*b"st", "sizeof ", Other),
        operator(*b"az", "alignof ", Unary),
        operator(*b"at", "alignof ", Other),
        operator(*b"te", "typeid ", Unary),
        operator(*b"ti", "typeid ", Other),
        operator(*b"tw", "throw ", Unary),
        operator(*b"nx", "noexcept", Other),
    ]
};

/// Index in [`OPERATORS`] plus 1 by the two letters of a code.
static INDEX: [u8; 52 * 52] = {
    let mut index = [0; 52 * 52];
    let mut at = 0;
    while at < OPERATORS.len() {
        if let Some(slot) = slot(OPERATORS[at].code) {
            index[slot] = at as u8 + 1;
        }
        at += 1;
    }
    index
};

const fn slot(code: [u8; 2]) -> Option<usize> {
    const fn letter(byte: u8) -> Option<usize> {
        match byte {
            b'a'..=b'z' => Some((byte - b'a') as usize),
            b'A'..=b'Z' => Some((byte - b'A') as usize + 26),
            _ => None,
        }
    }
    match (letter(code[0]), letter(code[1])) {
        (Some(first), Some(second)) => Some(first * 52 + second),
        _ => None,
    }
}

impl Operator {
    /// The operator with a code.
    pub(super) fn find(code: [u8; 2]) -> Option<&'static Self> {
        let index = INDEX[slot(code)?];
        OPERATORS.get(usize::from(index).checked_sub(1)?)
    }
}
