//! Names of the C++ library as programs write them: without inline namespaces, and aliases instead of what they stand for.

use std::borrow::Cow;

/// Inline namespaces of libraries, of which programs do not know.
const INLINE_NAMESPACES: [&str; 4] = ["::__cxx11::", "::__1::", "::__ndk1::", "::_V2::"];

/// Templates of the library with a character type: `basic_` and the name of the alias for `char`, and whether they also have an
/// allocator.
const ALIASES: [(&str, bool); 15] = [
    ("string", true),
    ("string_view", false),
    ("ostream", false),
    ("istream", false),
    ("iostream", false),
    ("ios", false),
    ("streambuf", false),
    ("ostringstream", true),
    ("istringstream", true),
    ("stringstream", true),
    ("stringbuf", true),
    ("ofstream", false),
    ("ifstream", false),
    ("fstream", false),
    ("filebuf", false),
];

/// Character types with the prefixes of their aliases.
const CHARACTERS: [(&str, &str); 5] =
    [("char", ""), ("wchar_t", "w"), ("char8_t", "u8"), ("char16_t", "u16"), ("char32_t", "u32")];

/// A name with aliases, without inline namespaces.
pub(super) fn with_std_names(name: &str) -> Cow<'_, str> {
    let mut name = Cow::Borrowed(name);
    for namespace in INLINE_NAMESPACES {
        if name.contains(namespace) {
            name = Cow::Owned(name.replace(namespace, "::"));
        }
    }
    if name.contains("std::basic_") { Cow::Owned(with_aliases(&name)) } else { name }
}

fn with_aliases(name: &str) -> String {
    const START: &str = "std::basic_";
    let mut parts = name.split(START);
    let mut aliased = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match alias(part) {
            Some((character, name, rest)) => {
                aliased.extend(["std::", character, name, rest]);
            }
            None => aliased.extend([START, part]),
        }
    }
    aliased
}

/// The alias of a type that begins after `basic_`: its prefix and name, and what follows the type.
fn alias(part: &str) -> Option<(&'static str, &'static str, &str)> {
    let (template, arguments) = part.split_once('<')?;
    let &(name, has_allocator) = ALIASES.iter().find(|(name, _)| *name == template)?;
    let (character, rest) = arguments.split_once(", std::char_traits<")?;
    let &(character, prefix) = CHARACTERS.iter().find(|(name, _)| *name == character)?;
    // Streams have aliases for two types of characters only.
    if prefix.len() > 1 && !["string", "string_view"].contains(&name) {
        return None;
    }
    let mut rest = rest.strip_prefix(character)?.strip_prefix('>')?;
    if has_allocator {
        rest = rest.strip_prefix(", std::allocator<")?.strip_prefix(character)?.strip_prefix('>')?;
    }
    Some((prefix, name, rest.strip_prefix(" >").or_else(|| rest.strip_prefix('>'))?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_exact_types_have_aliases() {
        let expected = [
            ("std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >", "std::string"),
            ("std::basic_string<char, std::char_traits<char>, std::allocator<char>>::size", "std::string::size"),
            (
                "std::__1::basic_string<wchar_t, std::__1::char_traits<wchar_t>, std::__1::allocator<wchar_t> >",
                "std::wstring",
            ),
            ("f<std::basic_string_view<char16_t, std::char_traits<char16_t> >, int>", "f<std::u16string_view, int>"),
            ("std::basic_ostream<char, std::char_traits<char> >&", "std::ostream&"),
            ("std::__cxx11::basic_stringbuf<char, std::char_traits<char>, std::allocator<char> >", "std::stringbuf"),
            ("std::chrono::_V2::system_clock::now()", "std::chrono::system_clock::now()"),
            (
                "std::basic_string<char, Traits, std::allocator<char> >",
                "std::basic_string<char, Traits, std::allocator<char> >",
            ),
            (
                "std::basic_string<char, std::char_traits<char>, Pool<char> >",
                "std::basic_string<char, std::char_traits<char>, Pool<char> >",
            ),
            ("app::basic_string<char>", "app::basic_string<char>"),
            ("std::basic_", "std::basic_"),
        ];
        for (name, aliased) in expected {
            assert_eq!(with_std_names(name), aliased);
        }
    }
}
