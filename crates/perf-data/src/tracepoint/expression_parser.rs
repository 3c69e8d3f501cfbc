//! Parses the arguments of a print format.

use super::expression::{Expression, Names, Payload};
use super::field::Field;
use super::tokens::{Token, tokens};
use crate::abi::Endian;

/// Maximum depth of an expression: parser and evaluation recurse, and a recording can have any number of parentheses.
const MAX_DEPTH: usize = 64;

/// Maximum number of operators with two operands in an argument, each of which adds to the depth: `a + b + c` is `a + (b + c)`.
const MAX_OPERATORS: usize = 100;

/// Operators with two operands, and how loosely each binds: 6 binds tightest.
const OPERATORS: [(&str, u8); 18] = [
    ("*", 6),
    ("/", 6),
    ("%", 6),
    ("+", 7),
    ("-", 7),
    ("<<", 8),
    (">>", 8),
    ("<=", 9),
    (">=", 9),
    ("<", 9),
    (">", 9),
    ("==", 10),
    ("!=", 10),
    ("&", 11),
    ("^", 12),
    ("|", 13),
    ("&&", 14),
    ("||", 15),
];

/// Looseness of `? :`.
const CHOICE: u8 = 16;

/// Constants that some kernels leave in their formats by name, with values that never changed.
const CONSTANTS: [(&str, i64); 12] = [
    ("HI_SOFTIRQ", 0),
    ("TIMER_SOFTIRQ", 1),
    ("NET_TX_SOFTIRQ", 2),
    ("NET_RX_SOFTIRQ", 3),
    ("BLOCK_SOFTIRQ", 4),
    ("IRQ_POLL_SOFTIRQ", 5),
    ("TASKLET_SOFTIRQ", 6),
    ("SCHED_SOFTIRQ", 7),
    ("HRTIMER_SOFTIRQ", 8),
    ("RCU_SOFTIRQ", 9),
    ("HRTIMER_NORESTART", 0),
    ("HRTIMER_RESTART", 1),
];

/// A parser of arguments.
pub(super) struct Parser<'a> {
    tokens: Vec<Token>,
    at: usize,
    fields: &'a [Field],
    long_size: usize,
    depth: usize,
    /// Operators with two operands in this argument.
    operators: usize,
}

impl<'a> Parser<'a> {
    /// Splits a format into tokens; `None` if it is malformed.
    pub(super) fn new(text: &str, fields: &'a [Field], long_size: usize) -> Option<Self> {
        let tokens = tokens(text)?;
        Some(Self { tokens, at: 0, fields, long_size, depth: 0, operators: 0 })
    }

    /// The format: one string, or several that follow each other.
    pub(super) fn string(&mut self) -> Option<String> {
        let mut whole = String::new();
        let start = self.at;
        while let Some(Token::Text(text)) = self.tokens.get(self.at) {
            whole.push_str(text);
            self.at += 1;
        }
        (self.at > start).then_some(whole)
    }

    /// The next argument, after its comma.
    pub(super) fn argument(&mut self) -> Option<Expression> {
        self.expect(",")?;
        self.operators = 0;
        self.expression()
    }

    /// Whether there are no more arguments.
    pub(super) fn is_at_end(&self) -> bool {
        self.at == self.tokens.len()
    }

    fn take(&mut self, punctuation: &str) -> bool {
        let is_next = matches!(self.tokens.get(self.at), Some(Token::Punctuation(next)) if *next == punctuation);
        self.at += usize::from(is_next);
        is_next
    }

    fn expect(&mut self, punctuation: &str) -> Option<()> {
        self.take(punctuation).then_some(())
    }

    fn name(&mut self) -> Option<String> {
        let Some(Token::Name(name)) = self.tokens.get(self.at) else { return None };
        self.at += 1;
        Some(name.clone())
    }

    fn field(&mut self) -> Option<usize> {
        let name = self.name()?;
        self.fields.iter().position(|field| field.name == name)
    }

    fn expression(&mut self) -> Option<Expression> {
        let mut whole = self.operand()?;
        while self.operator().is_some() {
            whole = self.operation(whole)?;
        }
        Some(whole)
    }

    /// The next token if it continues an expression, with its looseness. Elements of arrays bind tightest.
    fn operator(&self) -> Option<(&'static str, u8)> {
        let Token::Punctuation(next) = self.tokens.get(self.at)? else { return None };
        match *next {
            "?" => Some(("?", CHOICE)),
            "[" => Some(("[", 0)),
            next => OPERATORS.into_iter().find(|(operator, _)| *operator == next),
        }
    }

    /// What follows `left`, from its operator on. As perf does, an operator as loose as the one before it takes that one's right
    /// operand, so that `a - b - c` is `a - (b - c)`, and a right operand that binds more loosely gives up its own left operand,
    /// even in parentheses, so that `a & (b | c)` is `(a & b) | c`. The text of a sample is to be that of perf.
    fn operation(&mut self, left: Expression) -> Option<Expression> {
        self.operators += 1;
        if self.operators > MAX_OPERATORS {
            return None;
        }
        let (operator, looseness) = self.operator()?;
        self.at += 1;
        let whole = match operator {
            "?" => {
                let yes = self.expression()?;
                self.expect(":")?;
                Expression::Choice(Box::new([left, yes, self.operand()?]))
            }
            "[" => {
                let index = self.expression()?;
                self.expect("]")?;
                Expression::Element(array(left)?, Box::new(index))
            }
            _ => return self.binary(operator, looseness, left),
        };
        if self.operator().is_some() { self.operation(whole) } else { Some(whole) }
    }

    fn binary(&mut self, operator: &'static str, looseness: u8, left: Expression) -> Option<Expression> {
        let binary = |left, right| Expression::Binary(operator, Box::new(left), Box::new(right));
        let right = self.operand()?;
        let is_looser = |other: u8| looseness < other;
        // The operation whose left operand was moved here, if any: its own looseness decides what follows.
        let (whole, looseness) = match right {
            Expression::Binary(other, middle, right) if is_looser(operator_looseness(other)) => {
                (Expression::Binary(other, Box::new(binary(left, *middle)), right), operator_looseness(other))
            }
            Expression::Choice(parts) if is_looser(CHOICE) => {
                let [condition, yes, no] = *parts;
                (Expression::Choice(Box::new([binary(left, condition), yes, no])), 0)
            }
            Expression::Unary('-', operand) if is_looser(operator_looseness("-")) => {
                let empty = binary(left, Expression::Number(0));
                (Expression::Binary("-", Box::new(empty), operand), 0)
            }
            right => {
                let Some((_, next)) = self.operator() else { return Some(binary(left, right)) };
                if next > looseness {
                    return self.operation(binary(left, right));
                }
                return Some(binary(left, self.operation(right)?));
            }
        };
        match self.operator() {
            None => Some(whole),
            Some((_, next)) if next > looseness => self.operation(whole),
            Some(_) => match whole {
                Expression::Binary(other, moved, right) => {
                    Some(Expression::Binary(other, Box::new(self.operation(*moved)?), right))
                }
                whole => self.operation(whole),
            },
        }
    }

    fn operand(&mut self) -> Option<Expression> {
        if self.depth == MAX_DEPTH {
            return None;
        }
        self.depth += 1;
        let operand = self.operand_inside()?;
        self.depth -= 1;
        Some(operand)
    }

    fn operand_inside(&mut self) -> Option<Expression> {
        for (punctuation, operator) in [("-", '-'), ("~", '~'), ("!", '!'), ("+", '+')] {
            if self.take(punctuation) {
                let operand = self.operand()?;
                let whole = Expression::Unary(operator, Box::new(operand));
                return if self.operator().is_some() { self.operation(whole) } else { Some(whole) };
            }
        }
        if self.take("(") {
            if let Some(mask) = self.cast() {
                return Some(Expression::Cast(mask, Box::new(self.operand()?)));
            }
            let inner = self.expression()?;
            self.expect(")")?;
            return Some(inner);
        }
        match self.tokens.get(self.at)?.clone() {
            Token::Number(number) => {
                self.at += 1;
                Some(Expression::Number(number))
            }
            Token::Text(_) => self.string().map(Expression::Text),
            Token::Name(name) => {
                self.at += 1;
                if name == "REC" {
                    return self.record_field();
                }
                if self.take("(") {
                    return self.call(&name);
                }
                // A type of several words, as in `(unsigned long)-4095`, which is the difference of 0 and 4095.
                while self.name().is_some() {}
                Some(Expression::Number(0))
            }
            Token::Punctuation(_) => None,
        }
    }

    /// What follows `REC`: `->name`.
    fn record_field(&mut self) -> Option<Expression> {
        self.expect("->")?;
        Some(Expression::Field(self.field()?))
    }

    /// A call, after the opening parenthesis. Other functions than these are not known.
    fn call(&mut self, name: &str) -> Option<Expression> {
        let call = match name {
            "__get_str"
            | "__get_rel_str"
            | "__get_dynamic_array"
            | "__get_rel_dynamic_array"
            | "__get_sockaddr"
            | "__get_rel_sockaddr"
            | "__get_sockaddr_rel" => Expression::Field(self.field()?),
            "__get_cpumask" | "__get_rel_cpumask" => Expression::CpuList(self.field()?),
            "sizeof" => Expression::Number(self.type_size()?),
            "__get_dynamic_array_len" | "__get_rel_dynamic_array_len" => Expression::Length(self.field()?),
            "__get_bitmask" | "__get_rel_bitmask" => Expression::Bitmask(self.field()?),
            "__print_array" => {
                let Expression::Field(field) = self.expression()? else { return None };
                Expression::Array(field, Box::new(self.argument()?), Box::new(self.argument()?))
            }
            // The second argument only helps the compiler.
            "__builtin_expect" => {
                let value = self.expression()?;
                self.argument()?;
                value
            }
            "__print_flags" | "__print_flags_u64" => {
                let value = self.expression()?;
                self.expect(",")?;
                let separator = self.string()?;
                Expression::Flags(Box::new(value), separator, self.names()?)
            }
            "__print_symbolic" | "__print_symbolic_u64" => {
                Expression::Symbolic(Box::new(self.expression()?), self.names()?)
            }
            "__print_hex" | "__print_hex_str" => {
                let Expression::Field(field) = self.expression()? else { return None };
                Expression::Hex(field, Box::new(self.argument()?), name == "__print_hex")
            }
            _ => return None,
        };
        self.expect(")")?;
        Some(call)
    }

    /// The size of a type by its name.
    fn type_size(&mut self) -> Option<i64> {
        let mut words = Vec::new();
        while let Some(word) = self.name() {
            words.push(word);
        }
        let is_pointer = self.take("*");
        let long_size = self.long_size as i64;
        let words = words.iter().map(|word| word.trim_start_matches('_')).filter(|word| *word != "unsigned");
        Some(match &*words.collect::<Vec<_>>() {
            _ if is_pointer => long_size,
            ["u8" | "s8" | "char" | "bool"] => 1,
            ["u16" | "s16" | "short"] => 2,
            ["u32" | "s32" | "int"] | [] => 4,
            ["u64" | "s64"] | ["long", "long"] => 8,
            ["long"] => long_size,
            _ => return None,
        })
    }

    /// `, { value, "name" }, ...`.
    fn names(&mut self) -> Option<Names> {
        let mut names = Names::new();
        let operators = self.operators;
        while self.take(",") {
            // The values of names are evaluated here, and add nothing to the depth.
            self.operators = 0;
            self.expect("{")?;
            let value = self.named_value()?;
            self.expect(",")?;
            let name = self.expression()?;
            self.expect("}")?;
            // A null pointer ends some lists.
            if let Expression::Text(name) = name {
                names.push((value, name));
            }
        }
        self.operators = operators;
        Some(names)
    }

    /// The value of a name. As in perf, constants that are unknown are -1, and so is the result of an operation that is negative.
    fn named_value(&mut self) -> Option<i64> {
        if let [Token::Name(name), Token::Punctuation(",")] = self.tokens.get(self.at..self.at + 2)? {
            let value = CONSTANTS.iter().find(|(constant, _)| constant == name).map_or(-1, |(_, value)| *value);
            self.at += 1;
            return Some(value);
        }
        let mut value = &self.expression()?;
        while let Expression::Cast(_, operand) = value {
            value = operand;
        }
        let none = Payload { fields: &[], bytes: &[], endian: Endian::Little };
        Some(match value {
            Expression::Number(number) => *number,
            value => value.evaluate(none).number().max(-1),
        })
    }

    /// After an opening parenthesis: the bits that the type keeps, if one follows, with the closing parenthesis.
    fn cast(&mut self) -> Option<u64> {
        let start = self.at;
        let mut words = Vec::new();
        while let Some(name) = self.name() {
            words.push(name);
        }
        let mut is_pointer = false;
        while self.take("*") {
            is_pointer = true;
        }
        let closes = !words.is_empty() && self.take(")");
        let is_operand = match self.tokens.get(self.at) {
            Some(Token::Punctuation(next)) => *next == "(",
            Some(_) => true,
            None => false,
        };
        if !closes || !is_operand {
            self.at = start;
            return None;
        }
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        // Other types do not change a value in perf, which knows no signs either.
        Some(match words.strip_prefix(&["unsigned"]).unwrap_or(&words) {
            _ if is_pointer => u64::MAX,
            ["u8" | "s8" | "char"] => 0xff,
            ["u16" | "s16" | "short"] => 0xffff,
            ["u32" | "s32" | "int"] => 0xffff_ffff,
            _ => u64::MAX,
        })
    }
}

/// The field of an array, without casts.
fn array(mut expression: Expression) -> Option<usize> {
    while let Expression::Cast(_, operand) = expression {
        expression = *operand;
    }
    if let Expression::Field(field) = expression { Some(field) } else { None }
}

fn operator_looseness(operator: &str) -> u8 {
    OPERATORS.into_iter().find(|(symbol, _)| *symbol == operator).map_or(0, |(_, looseness)| looseness)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tracepoint::field::{FieldLocation, TracepointKind};

    fn fields() -> [Field; 2] {
        [("a", 0), ("b", 4)].map(|(name, offset)| Field {
            name: name.to_owned(),
            type_name: "int".to_owned(),
            location: FieldLocation::Here { offset, size: 4 },
            kind: TracepointKind::Number(4),
            is_signed: true,
        })
    }

    fn parse(text: &str) -> Option<Expression> {
        let fields = fields();
        let mut parser = Parser::new(&format!(",{text}"), &fields, 8)?;
        let expression = parser.argument()?;
        parser.is_at_end().then_some(expression)
    }

    /// Value of an expression in which `a` is 7 and `b` is -2.
    fn number(text: &str) -> Option<i64> {
        let bytes = [7_i32.to_le_bytes(), (-2_i32).to_le_bytes()].concat();
        let payload = Payload { fields: &fields(), bytes: &bytes, endian: Endian::Little };
        parse(text).map(|expression| expression.evaluate(payload).number())
    }

    #[test]
    fn operators_bind_as_in_perf() {
        for (text, expected) in [
            ("1 + 2 * 3", 7),
            ("(1 + 2) * 3", 9),
            // As in perf, from the right.
            ("10 - 4 - 3", 9),
            ("1 << 2 + 1", 8),
            ("6 & 3 == 3", 0),
            ("(6 & 3) == 2", 1),
            ("1 | 6 ^ 2", 5),
            ("0 || 2 && 0", 0),
            ("-1 + 2", 1),
            ("!0 + ~0", 0),
            ("1 ? 2 : 0 ? 3 : 4", 3),
            ("0 ? 2 : 0 ? 3 : 4", 4),
            ("7 / 2 % 2", 0),
            // As in perf, operators in parentheses that bind more loosely lose their left operand.
            ("2 * (3 + 4)", 10),
            ("6 & (8 | 1)", 1),
            ("6 + (0 ? 1 : 2)", 1),
            ("3 * -2", -2),
            ("1 / 0 + 1 % 0", 0),
            ("3 <= 3 != 4 > 5", 1),
        ] {
            assert_eq!(number(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn numbers_have_bases_and_suffixes() {
        for (text, expected) in [
            ("0x10UL", 16),
            ("010", 8),
            ("0", 0),
            ("12ull", 12),
            ("0xffffffffffffffff", -1),
            ("'A'", 65),
            ("UNKNOWN_CONSTANT", 0),
        ] {
            assert_eq!(number(text), Some(expected), "{text}");
        }
        assert_eq!((number("08"), number("0x"), number("1f")), (None, None, None));
    }

    #[test]
    fn casts_truncate() {
        for (text, expected) in [
            ("(u8)(-1)", 255),
            ("(unsigned char)(0x1ff)", 255),
            ("(s8)(0xff)", 255),
            ("(short)(0x8000)", 0x8000),
            ("(unsigned int)REC->b", 0xffff_fffe),
            ("(int)(0xffffffff)", 0xffff_ffff),
            ("(pid_t)(-1)", -1),
            ("(unsigned long)-4095", -4095),
            ("sizeof(u16) + sizeof(unsigned int)", 6),
            ("sizeof(unsigned long)", 8),
            ("(unsigned long long)(5)", 5),
            ("(void *)(8)", 8),
            ("(REC->a)", 7),
            ("(1) - 2", -1),
        ] {
            assert_eq!(number(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn fields_are_those_of_the_tracepoint() {
        assert_eq!(number("REC->a * REC->b"), Some(7 * 0xffff_fffe));
        assert_eq!(parse("REC->b[1]"), Some(Expression::Element(1, Box::new(Expression::Number(1)))));
        assert_eq!(parse("__get_str(b)"), Some(Expression::Field(1)));
        assert_eq!(parse("__get_dynamic_array_len(a)"), Some(Expression::Length(0)));
        assert_eq!(parse("__print_hex(REC->a, 4)"), Some(Expression::Hex(0, Box::new(Expression::Number(4)), true)));
        for unknown in ["REC->c", "REC", "__get_str(c)", "unknown(REC->a)", "__print_hex(1, 4)"] {
            assert_eq!(parse(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn names_of_values_are_evaluated() {
        let names = |parsed| match parsed {
            Some(Expression::Flags(_, separator, names)) => (separator, names),
            Some(Expression::Symbolic(_, names)) => (String::new(), names),
            other => panic!("{other:?}"),
        };
        let flags = names(parse(
            r#"__print_flags(REC->a, "|", { 1 << 2, "four" }, { 0x8UL, "ei" "ght" }, { -1, ((void *)0) })"#,
        ));
        assert_eq!(flags, ("|".to_owned(), vec![(4, "four".to_owned()), (8, "eight".to_owned())]));
        let unknown =
            names(parse(r#"__print_symbolic(REC->a, { HRTIMER_RESTART, "r" }, { OTHER, "o" }, { -6ULL, "n" })"#)).1;
        assert_eq!(unknown.iter().map(|(value, _)| *value).collect::<Vec<_>>(), [1, -1, -1]);
        let symbolic = names(parse(r#"__print_symbolic(REC->a, { 7, "a\"\n" })"#));
        assert_eq!(symbolic.1, [(7, "a\"\n".to_owned())]);
    }

    #[test]
    fn malformed_arguments_are_rejected() {
        for text in
            ["", "1 +", "(1", "1)", "1 ? 2", "REC->", "{1}", "\"open", "a ? : b", "#", "1 2", "__print_flags(1)"]
        {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn depth_is_limited() {
        let nested = |depth: usize| format!("{}1{}", "(".repeat(depth), ")".repeat(depth));
        assert_eq!((number(&nested(60)), number(&nested(100_000))), (Some(1), None));
        let chain = |len: usize| format!("1{}", "+1".repeat(len));
        assert_eq!((number(&chain(100)), number(&chain(101)), number(&chain(100_000))), (Some(101), None, None));
        assert_eq!(number(&"-".repeat(100_000)), None);
        assert_eq!(number(&"(int)".repeat(100_000)), None);
        assert_eq!(number(&"1?".repeat(100_000)), None);
        let many = "{ 1|1, \"a\" },".repeat(1000);
        assert!(parse(&format!("__print_symbolic(REC->a, {})", many.trim_end_matches(','))).is_some());
    }
}
