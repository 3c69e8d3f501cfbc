//! Names of functions as reports show them.

/// A function name without its parameters and what follows, as flame graphs show it. Parentheses in Go names (`(*T).f`), in names
/// of anonymous namespaces and in `operator()` are kept.
pub fn without_parameters(name: &[u8]) -> &[u8] {
    before_parameters(name, |_, _| false)
}

/// A function name without its own parameters: those of functions that contain it are kept, and the types in `decltype (...)`.
pub fn without_own_parameters(name: &[u8]) -> &[u8] {
    before_parameters(name, |before, rest| {
        before.trim_ascii_end().ends_with(b"decltype") || after_parentheses(rest).starts_with(b"::")
    })
}

/// What follows the closing parenthesis that belongs to the first one of a text.
fn after_parentheses(text: &[u8]) -> &[u8] {
    let mut depth = 0_usize;
    let end = text.iter().position(|&byte| {
        match byte {
            b'(' => depth += 1,
            b')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0
    });
    let after = end.map_or(&[][..], |end| &text[end + 1..]);
    after.strip_prefix(b" const").unwrap_or(after)
}

/// A function name up to the parentheses of its parameters. `keeps` decides, by the text before them and from them on, about
/// parentheses that are not.
fn before_parameters(name: &[u8], keeps: impl Fn(&[u8], &[u8]) -> bool) -> &[u8] {
    const OPERATOR: &[u8] = b"operator";
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(&byte) = name.get(at) {
        let rest = &name[at..];
        match byte {
            b'o' if rest.starts_with(OPERATOR) => {
                at += OPERATOR.len();
                let symbol = &name[at..];
                let is_pair = symbol.starts_with(b"()") || symbol.starts_with(b"[]");
                let is_symbol = |byte: &&u8| b"<>=!-+*/&|^~%,".contains(byte);
                at += if is_pair { 2 } else { symbol.iter().take_while(is_symbol).count() };
                continue;
            }
            b'<' | b'{' | b'[' => depth += 1,
            b'>' | b'}' | b']' | b')' => depth = depth.saturating_sub(1),
            b'(' => {
                let is_of_go = at > 0 && name[at - 1] == b'.';
                let is_kept = is_of_go || rest.starts_with(b"(anonymous namespace)") || keeps(&name[..at], rest);
                if depth == 0 && at > 0 && !is_kept {
                    return &name[..at];
                }
                depth += 1;
            }
            _ => {}
        }
        at += 1;
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removes_parameters_only() {
        let expected = [
            ("main", "main"),
            ("f(int, char)", "f"),
            ("ns::f(std::function<void (int)>) const", "ns::f"),
            ("void ns::g<int (*)(char)>(int)", "void ns::g<int (*)(char)>"),
            ("(anonymous namespace)::f(int)", "(anonymous namespace)::f"),
            ("ns::(anonymous namespace)::f(int)", "ns::(anonymous namespace)::f"),
            ("net/http.(*Client).Do", "net/http.(*Client).Do"),
            ("T::operator()(int) const", "T::operator()"),
            ("operator<<(std::ostream&, int)", "operator<<"),
            ("T::operator->()", "T::operator->"),
            ("{lambda(int)#1}::operator()(int) const", "{lambda(int)#1}::operator()"),
            ("<alloc::vec::Vec<T> as core::ops::Drop>::drop", "<alloc::vec::Vec<T> as core::ops::Drop>::drop"),
        ];
        for (name, short) in expected {
            assert_eq!(String::from_utf8_lossy(without_parameters(name.as_bytes())), short);
        }
    }

    #[test]
    fn keeps_parameters_of_outer_functions() {
        let expected = [
            ("main", "main"),
            ("f(int)::T::g(char) const", "f(int)::T::g"),
            ("f(int) const::{lambda(int)#1}::operator()(int) const", "f(int) const::{lambda(int)#1}::operator()"),
            ("decltype (std::declval<T>()) std::get<0>(T&&)", "decltype (std::declval<T>()) std::get<0>"),
            ("(anonymous namespace)::f(int)", "(anonymous namespace)::f"),
            ("net/http.(*Client).Do", "net/http.(*Client).Do"),
            ("f(", "f"),
        ];
        for (name, short) in expected {
            assert_eq!(String::from_utf8_lossy(without_own_parameters(name.as_bytes())), short);
        }
    }
}
