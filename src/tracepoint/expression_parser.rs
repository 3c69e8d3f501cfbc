//! Parses the arguments of a print format.

use super::expression::{Expression, Names, Payload};
use super::field::Field;
use crate::abi::Endian;

/// Maximum depth of an expression.
const MAX_DEPTH: usize = 64;

/// Maximum number of operators with two operands in an argument: as `a + b + c` is `(a + b) + c`, each adds to the depth.
const MAX_OPERATORS: usize = 500;

/// Operators by precedence, loosest first.
const OPERATORS: [&[&str]; 10] = [
    &["||"],
    &["&&"],
    &["|"],
    &["^"],
    &["&"],
    &["==", "!="],
    &["<=", ">=", "<", ">"],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "/", "%"],
];

/// All tokens that are not names, numbers or strings, longest first.
const PUNCTUATION: [&str; 31] = [
    "->", "||", "&&", "==", "!=", "<=", ">=", "<<", ">>", "|", "^", "&", "<", ">", "+", "-", "*", "/", "%", "(", ")",
    "[", "]", "{", "}", ",", "?", ":", "~", "!", ".",
];

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Name(String),
    Number(i64),
    Text(String),
    Punctuation(&'static str),
}

/// A parser of arguments.
pub struct Parser<'a> {
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
    pub fn new(text: &str, fields: &'a [Field], long_size: usize) -> Option<Self> {
        let mut tokens = Vec::new();
        let mut rest = text.trim_start();
        while let Some(first) = rest.chars().next() {
            let end_of = |is: fn(char) -> bool| rest.find(|c| !is(c)).unwrap_or(rest.len());
            let (token, len) = if first == '"' {
                string(rest)?
            } else if first.is_ascii_digit() {
                let len = end_of(|c| c.is_ascii_alphanumeric());
                (Token::Number(number(&rest[..len])?), len)
            } else if first.is_ascii_alphabetic() || first == '_' {
                let len = end_of(|c| c.is_ascii_alphanumeric() || c == '_');
                (Token::Name(rest[..len].to_owned()), len)
            } else if let Some(character) = rest.strip_prefix('\'').and_then(|rest| rest.split_once('\'')) {
                let code = character.0.bytes().next_back()?;
                (Token::Number(code.into()), character.0.len() + 2)
            } else {
                let known = PUNCTUATION.iter().find(|known| rest.starts_with(**known))?;
                (Token::Punctuation(known), known.len())
            };
            tokens.push(token);
            rest = rest[len..].trim_start();
        }
        Some(Self { tokens, at: 0, fields, long_size, depth: 0, operators: 0 })
    }

    /// The format: one string, or several that follow each other.
    pub fn string(&mut self) -> Option<String> {
        let mut whole = String::new();
        let start = self.at;
        while let Some(Token::Text(text)) = self.tokens.get(self.at) {
            whole.push_str(text);
            self.at += 1;
        }
        (self.at > start).then_some(whole)
    }

    /// The next argument, after its comma.
    pub fn argument(&mut self) -> Option<Expression> {
        self.expect(",")?;
        self.operators = 0;
        self.expression()
    }

    /// Whether there are no more arguments.
    pub fn is_at_end(&self) -> bool {
        self.at == self.tokens.len()
    }

    fn take(&mut self, punctuation: &str) -> bool {
        let is_next = matches!(self.tokens.get(self.at), Some(Token::Punctuation(found)) if *found == punctuation);
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
        if self.depth == MAX_DEPTH {
            return None;
        }
        self.depth += 1;
        let condition = self.operation(0)?;
        let whole = if self.take("?") {
            let yes = self.expression()?;
            self.expect(":")?;
            Expression::Choice(Box::new([condition, yes, self.expression()?]))
        } else {
            condition
        };
        self.depth -= 1;
        Some(whole)
    }

    fn operation(&mut self, level: usize) -> Option<Expression> {
        let Some(operators) = OPERATORS.get(level) else { return self.operand() };
        let mut left = self.operation(level + 1)?;
        while let Some(operator) = operators.iter().find(|operator| self.take(operator)) {
            self.operators += 1;
            if self.operators > MAX_OPERATORS {
                return None;
            }
            left = Expression::Binary(operator, Box::new(left), Box::new(self.operation(level + 1)?));
        }
        Some(left)
    }

    fn operand(&mut self) -> Option<Expression> {
        if self.depth == MAX_DEPTH {
            return None;
        }
        for (punctuation, operator) in [("-", '-'), ("~", '~'), ("!", '!')] {
            if self.take(punctuation) {
                self.depth += 1;
                let operand = self.operand()?;
                self.depth -= 1;
                return Some(Expression::Unary(operator, Box::new(operand)));
            }
        }
        if self.take("(") {
            if let Some((size, is_signed)) = self.cast() {
                self.depth += 1;
                let operand = self.operand()?;
                self.depth -= 1;
                return Some(Expression::Cast(size, is_signed, Box::new(operand)));
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
                    return self.of_record();
                }
                if self.take("(") { self.call(&name) } else { Some(Expression::Number(0)) }
            }
            Token::Punctuation(_) => None,
        }
    }

    /// What follows `REC`: `->name`, or `->name[index]`.
    fn of_record(&mut self) -> Option<Expression> {
        self.expect("->")?;
        let field = self.field()?;
        if !self.take("[") {
            return Some(Expression::Field(field));
        }
        let index = self.expression()?;
        self.expect("]")?;
        Some(Expression::Element(field, Box::new(index)))
    }

    /// A call, after the opening parenthesis. Other functions than these are not known.
    fn call(&mut self, name: &str) -> Option<Expression> {
        let call = match name {
            "__get_str" | "__get_rel_str" | "__get_dynamic_array" | "__get_rel_dynamic_array" => {
                Expression::Field(self.field()?)
            }
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
                self.argument()?;
                Expression::Hex(field, name == "__print_hex")
            }
            _ => return None,
        };
        self.expect(")")?;
        Some(call)
    }

    /// `, { value, "name" }, ...`.
    fn names(&mut self) -> Option<Names> {
        let mut names = Names::new();
        let operators = self.operators;
        while self.take(",") {
            // The values of names are evaluated here, and add nothing to the depth.
            self.operators = 0;
            self.expect("{")?;
            let value = self.expression()?;
            self.expect(",")?;
            let name = self.expression()?;
            self.expect("}")?;
            let none = Payload { fields: &[], bytes: &[], endian: Endian::Little };
            // A null pointer ends some lists.
            if let Expression::Text(name) = name {
                names.push((value.evaluate(none).number(), name));
            }
        }
        self.operators = operators;
        Some(names)
    }

    /// After an opening parenthesis: size and sign of a type, if one follows, with the closing parenthesis.
    fn cast(&mut self) -> Option<(u32, bool)> {
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
            Some(Token::Punctuation(next)) => matches!(*next, "(" | "~" | "!") || (is_pointer && *next == "-"),
            Some(_) => true,
            None => false,
        };
        if !closes || !is_operand {
            self.at = start;
            return None;
        }
        let is = |word: &str| words.iter().any(|found| found == word);
        let long = words.iter().filter(|word| *word == "long").count();
        let last = words.last()?.trim_start_matches('_').trim_end_matches("_t");
        let (size, is_signed) = match last.trim_start_matches("uint").trim_start_matches("int") {
            _ if is_pointer => (8, false),
            "u8" | "s8" | "8" | "char" | "bool" => (1, last.starts_with(['s', 'i', 'c'])),
            "u16" | "s16" | "16" | "short" => (2, last.starts_with(['s', 'i'])),
            "u32" | "s32" | "32" | "pid" | "gfp" | "unsigned" => (4, last.starts_with(['s', 'i', 'p'])),
            "" if long == 0 => (4, true),
            "u64" | "s64" | "64" => (8, !last.starts_with('u')),
            _ if long == 1 => (self.long_size as u32, true),
            _ => (8, true),
        };
        Some((size, is_signed && !is("unsigned")))
    }
}

/// A string with its escapes, and its length in the text.
fn string(text: &str) -> Option<(Token, usize)> {
    let mut value = String::new();
    let mut characters = text.char_indices().skip(1);
    loop {
        match characters.next()? {
            (at, '"') => return Some((Token::Text(value), at + 1)),
            (_, '\\') => value.push(match characters.next()?.1 {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                other => other,
            }),
            (_, other) => value.push(other),
        }
    }
}

/// A number with an optional suffix, such as `0x10UL`.
fn number(text: &str) -> Option<i64> {
    let digits = text.trim_end_matches(['u', 'U', 'l', 'L']);
    let parsed = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hex) => u64::from_str_radix(hex, 16),
        None if digits.len() > 1 && digits.starts_with('0') => u64::from_str_radix(digits, 8),
        None => digits.parse(),
    };
    parsed.ok().map(|number| number as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tracepoint::field::{FieldLocation, Kind};

    fn fields() -> [Field; 2] {
        [("a", 0), ("b", 4)].map(|(name, offset)| Field {
            name: name.to_owned(),
            type_name: "int".to_owned(),
            place: FieldLocation::Here { offset, size: 4 },
            kind: Kind::Number(4),
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
    fn operators_bind_as_in_c() {
        for (text, expected) in [
            ("1 + 2 * 3", 7),
            ("(1 + 2) * 3", 9),
            ("10 - 4 - 3", 3),
            ("1 << 2 + 1", 8),
            ("6 & 3 == 3", 0),
            ("(6 & 3) == 2", 1),
            ("1 | 6 ^ 2", 5),
            ("0 || 2 && 0", 0),
            ("-1 + 2", 1),
            ("!0 + ~0", 0),
            ("1 ? 2 : 0 ? 3 : 4", 2),
            ("0 ? 2 : 0 ? 3 : 4", 4),
            ("7 / 2 % 2", 1),
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
    fn casts_truncate_and_extend() {
        for (text, expected) in [
            ("(u8)(-1)", 255),
            ("(unsigned char)(0x1ff)", 255),
            ("(s8)(0xff)", -1),
            ("(short)(0x8000)", -32768),
            ("(unsigned int)REC->b", 0xffff_fffe),
            ("(int)(0xffffffff)", -1),
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
        assert_eq!(number("REC->a * REC->b"), Some(-14));
        assert_eq!(parse("REC->b[1]"), Some(Expression::Element(1, Box::new(Expression::Number(1)))));
        assert_eq!(parse("__get_str(b)"), Some(Expression::Field(1)));
        assert_eq!(parse("__get_dynamic_array_len(a)"), Some(Expression::Length(0)));
        assert_eq!(parse("__print_hex(REC->a, 4)"), Some(Expression::Hex(0, true)));
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
        assert_eq!((number(&chain(500)), number(&chain(501)), number(&chain(100_000))), (Some(501), None, None));
        assert_eq!(number(&"-".repeat(100_000)), None);
        assert_eq!(number(&"(int)".repeat(100_000)), None);
        assert_eq!(number(&"1?".repeat(100_000)), None);
        let many = "{ 1|1, \"a\" },".repeat(1000);
        assert!(parse(&format!("__print_symbolic(REC->a, {})", many.trim_end_matches(','))).is_some());
    }
}
