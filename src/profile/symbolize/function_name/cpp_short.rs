//! Short names of C++: without return types, parameters, qualifiers and ABI tags, with template arguments folded.

use super::brackets;
use super::cpp::{OperatorName, after_parentheses, declarator, ends_with_type_keyword, operator};
use super::short_name::ShortName;
use super::std_names::with_std_names;

/// Number of template arguments that are compared between functions of equal short names.
const MAX_ARGUMENTS: usize = 16;

/// A name that is being shortened.
struct Scanner<'a> {
    name: &'a str,
    at: usize,
    short: ShortName,
    /// Length of the [prefix].
    prefix: usize,
    is_conversion: bool,
}

/// The short form of a demangled name.
pub(super) fn shorten(name: &str) -> ShortName {
    let name = &*with_std_names(name);
    let prefix = prefix(name);
    let short = ShortName::unchanged(&name[..prefix]);
    let mut scanner = Scanner { name, at: prefix, short, prefix, is_conversion: false };
    while scanner.at < name.len() && scanner.step().is_some() {}
    scanner.short
}

/// Length of what precedes the name of a function or variable that this is code or data for, such as `virtual thunk to `.
fn prefix(name: &str) -> usize {
    let is_word = |at: usize| name[..at].bytes().all(|byte| byte.is_ascii_alphabetic() || b" -".contains(&byte));
    let prefixes = [" for ", " to "].iter().filter_map(|word| Some((name.find(word)?, word.len())));
    prefixes.filter(|&(at, _)| is_word(at)).map(|(at, len)| at + len).min().unwrap_or(0)
}

/// Whether a text ends with a word, not with a longer one.
fn ends_with_word(text: &str, word: &str) -> bool {
    let before = text.strip_suffix(word);
    before.is_some_and(|before| !before.ends_with(|char: char| char.is_alphanumeric() || char == '_'))
}

/// A type or another template argument, with its own arguments folded.
fn shorten_argument(argument: &str) -> String {
    let (mut short, mut at) = (String::new(), 0);
    while let Some(offset) = argument[at..].find('<') {
        let open = at + offset;
        let (end, _) = bracketed(argument, open);
        short.push_str(&argument[at..open]);
        short.push_str("<...>");
        at = end;
    }
    short + &argument[at..]
}

/// The end of the brackets that open here, and what commas separate in them.
fn bracketed(name: &str, open: usize) -> (usize, Vec<&str>) {
    brackets::bracketed(name, open, |at| match operator(name.as_bytes(), at) {
        Some(OperatorName::Symbol(len)) => "operator".len() + len,
        _ => 0,
    })
}

impl Scanner<'_> {
    /// Reads the next part of the name outside of brackets; `None` at the end of what is shown.
    fn step(&mut self) -> Option<()> {
        let bytes = self.name.as_bytes();
        let rest = &self.name[self.at..];
        if let Some(operator) = operator(bytes, self.at) {
            let len = "operator".len();
            match operator {
                OperatorName::Symbol(symbol) => self.take(len + symbol),
                OperatorName::Conversion => {
                    self.is_conversion = true;
                    self.take(len + 1);
                }
            }
            return Some(());
        }
        match bytes[self.at] {
            b'<' if rest.starts_with("<lambda") => self.lambda("<lambda"),
            b'{' if rest.starts_with("{lambda") => self.lambda("{lambda"),
            b'<' => self.template_arguments(),
            b'(' => return self.parentheses(),
            b'[' if rest.starts_with("[abi:") => self.at = bracketed(self.name, self.at).0,
            b'{' | b'[' => self.take(bracketed(self.name, self.at).0 - self.at),
            b' ' => return self.space(),
            _ => {
                // Up to the next byte that may mean something.
                let first = rest.chars().next().map_or(1, char::len_utf8);
                let len = rest[first..].find([' ', '<', '(', '{', '[', 'o']).map_or(rest.len(), |len| first + len);
                self.take(len);
            }
        }
        Some(())
    }

    /// Shows the next bytes.
    fn take(&mut self, len: usize) {
        let end = (self.at + len).min(self.name.len());
        self.short.push(&self.name[self.at..end]);
        self.at = end;
    }

    fn template_arguments(&mut self) {
        let (end, mut arguments) = bracketed(self.name, self.at);
        arguments.truncate(MAX_ARGUMENTS);
        if self.name[self.at..end].trim_matches(['<', '>', ' ']).is_empty() {
            self.short.push("<>");
        } else {
            self.short.replace("<...>", arguments.into_iter().map(shorten_argument).collect());
        }
        self.at = end;
    }

    /// A lambda, `{lambda(int)#1}`, without its parameters.
    fn lambda(&mut self, start: &str) {
        let (end, _) = bracketed(self.name, self.at);
        let inner = &self.name[self.at + start.len()..end];
        let number = inner.rfind('#').or_else(|| inner.rfind(['}', '>'])).unwrap_or(inner.len());
        self.short.push(start);
        if number > 0 {
            self.short.omit(&shorten_argument(&inner[..number]));
        }
        self.short.push(&inner[number..]);
        self.at = end;
    }

    fn parentheses(&mut self) -> Option<()> {
        let (bytes, rest) = (self.name.as_bytes(), &self.name[self.at..]);
        let before = &bytes[..self.at];
        let (end, _) = bracketed(self.name, self.at);
        let after = after_parentheses(rest.as_bytes());
        // The parameters of a conversion operator are empty and the last parentheses.
        let is_last = rest.starts_with("()") && !after.starts_with(b"(");
        if self.at == 0 || rest.starts_with("(anonymous namespace)") || ends_with_type_keyword(before) {
            self.take(end - self.at);
        } else if let Some(len) = declarator(before, rest.as_bytes()).filter(|_| !self.is_conversion) {
            self.at += len;
            self.short.truncate(self.prefix);
        } else if self.is_conversion && !is_last {
            self.take(end - self.at);
        } else if after.starts_with(b"::") {
            // A function that contains the rest.
            self.is_conversion = false;
            self.short.omit(&shorten_argument(&self.name[self.at..end]));
            self.at = self.name.len() - after.len();
        } else {
            return None;
        }
        Some(())
    }

    fn space(&mut self) -> Option<()> {
        let rest = &self.name[self.at..];
        // Of `operator new` and the suffix of a literal, `operator"" _kg`.
        let is_operator = [" new", " delete", " co_await"].iter().any(|word| rest.starts_with(word))
            && ends_with_word(&self.short.text, "operator")
            || self.short.text.ends_with("operator\"\"");
        if rest.starts_with(" [clone ") {
            return None;
        }
        // The arguments of `operator<< <int>`.
        if self.is_conversion || is_operator || rest.starts_with(" <") {
            self.take(1);
        } else {
            // What precedes is a type that is returned.
            self.short.truncate(self.prefix);
            self.at += 1;
        }
        Some(())
    }
}
