//! Short names of Rust: without hashes and disambiguators of crates, with generic arguments folded, and types in the brackets of an
//! implementation without their modules.

use super::brackets::bracketed;
use super::short_name::ShortName;

/// Number of generic arguments that are compared between functions of equal short names.
const MAX_ARGUMENTS: usize = 16;

/// Digits of a hash of the legacy scheme.
const HASH: usize = 16;

/// The short form of a demangled name.
pub(super) fn shorten(name: &str) -> ShortName {
    let mut short = ShortName::default();
    append(without_hash(name), false, true, &mut short);
    short
}

/// A name without the hash of the legacy scheme at its end, `::h0123456789abcdef`.
fn without_hash(name: &str) -> &str {
    let is_hash = |hash: &&str| hash.len() == HASH && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    name.rsplit_once("::h").filter(|(_, hash)| is_hash(hash)).map_or(name, |(path, _)| path)
}

/// Appends a path. In the brackets of an implementation, `<Vec<...> as Drop>`, types lose their modules.
fn append(name: &str, is_type: bool, has_parts: bool, short: &mut ShortName) {
    // What encloses the current text: the brackets of implementations, which other brackets separate.
    let (mut at, mut is_in_type, mut depth) = (0, is_type, 0_usize);
    while let Some(char) = name[at..].chars().next() {
        let rest = &name[at..];
        let before = &name[..at];
        match char {
            '<' if is_implementation(before, rest) => {
                depth += 1;
                is_in_type = true;
                short.push("<");
                at += 1;
            }
            '<' => {
                let (end, mut arguments) = bracketed(name, at, |_| 0);
                arguments.truncate(if has_parts { MAX_ARGUMENTS } else { 0 });
                let shortened = arguments.into_iter().map(|argument| {
                    let mut short = ShortName::default();
                    append(argument, true, false, &mut short);
                    short.text
                });
                short.replace("<...>", shortened.collect());
                at = end;
            }
            '>' if !before.ends_with('-') => {
                depth = depth.saturating_sub(1);
                is_in_type = is_type || depth > 0;
                short.push(">");
                at += 1;
            }
            '{' => {
                let (end, _) = bracketed(name, at, |_| 0);
                short.push(&name[at..end]);
                at = end;
            }
            '[' if before.ends_with(is_identifier) && disambiguator(rest) > 0 => at += disambiguator(rest),
            _ if is_identifier(char) => {
                let len = rest.find(|char| !is_identifier(char)).unwrap_or(rest.len());
                let after = &rest[len + disambiguator(&rest[len..])..];
                let is_module = after.strip_prefix("::").is_some_and(|next| next.starts_with(is_identifier));
                if is_in_type && is_module {
                    at = name.len() - after.len() + 2;
                    short.omit(&name[before.len()..at]);
                } else {
                    short.push(&rest[..len]);
                    at += len;
                }
            }
            _ => {
                short.push(&rest[..char.len_utf8()]);
                at += char.len_utf8();
            }
        }
    }
}

fn is_identifier(char: char) -> bool {
    char.is_alphanumeric() || char == '_'
}

/// Whether a `<` begins a type with its trait, not generic arguments.
fn is_implementation(before: &str, rest: &str) -> bool {
    let follows_path = before.ends_with(is_identifier) || before.ends_with("::") || before.ends_with(']');
    !follows_path || rest.starts_with("<impl ")
}

/// Length of the disambiguator of a crate, `[0123456789abcdef]`, at the start of a text.
fn disambiguator(text: &str) -> usize {
    let digits = text.strip_prefix('[').and_then(|text| text.split_once(']')).map_or("", |(digits, _)| digits);
    let is_hex = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_hex { digits.len() + 2 } else { 0 }
}
