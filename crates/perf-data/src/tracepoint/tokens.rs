//! Tokens of a print format.

/// All tokens that are not names, numbers or strings, longest first.
const PUNCTUATION: [&str; 31] = [
    "->", "||", "&&", "==", "!=", "<=", ">=", "<<", ">>", "|", "^", "&", "<", ">", "+", "-", "*", "/", "%", "(", ")",
    "[", "]", "{", "}", ",", "?", ":", "~", "!", ".",
];

/// A token.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// A name of a field, function, type or constant.
    Name(String),
    /// A number or character.
    Number(i64),
    /// A string, with its escapes resolved.
    Text(String),
    /// Anything else.
    Punctuation(&'static str),
}

/// Splits a print format into tokens; `None` if it is malformed.
pub(super) fn tokens(text: &str) -> Option<Vec<Token>> {
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
            let punctuation = PUNCTUATION.iter().find(|punctuation| rest.starts_with(**punctuation))?;
            (Token::Punctuation(punctuation), punctuation.len())
        };
        tokens.push(token);
        rest = rest[len..].trim_start();
    }
    Some(tokens)
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
