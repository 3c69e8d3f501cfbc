//! Names of functions as reports show them.

use super::symbols::{Function, Symbols};

/// The name of a function without its parameters and what follows, as flame graphs show it. Parentheses in names of anonymous
/// namespaces, in `operator()` and in `decltype (...)` are kept; so is every name that is not demangled from C++: in those of other
/// languages, such as `RegExp: (a|b)` of JavaScript, parentheses have another meaning.
pub fn without_parameters(function: Function, symbols: &Symbols) -> &[u8] {
    let name = symbols.name(function.name);
    if is_cpp(function, symbols) { before_parameters(name, |before, _| is_decltype(before)) } else { name }
}

/// The name of a function without its own parameters: those of functions that contain it are also kept.
pub fn without_own_parameters(function: Function, symbols: &Symbols) -> &[u8] {
    let name = symbols.name(function.name);
    if is_cpp(function, symbols) {
        before_parameters(name, |before, rest| is_decltype(before) || after_parentheses(rest).starts_with(b"::"))
    } else {
        name
    }
}

/// Whether the name of a function is demangled from a C++ one, which the linker symbol name shows.
fn is_cpp(function: Function, symbols: &Symbols) -> bool {
    let mangled = symbols.name(function.system_name);
    let is_mangled = [&b"_Z"[..], b"__Z", b"___Z", b"_GLOBAL__"].iter().any(|prefix| mangled.starts_with(prefix));
    function.name != function.system_name && is_mangled
}

/// Whether a text ends where the expression of a `decltype (...)` begins.
fn is_decltype(before: &[u8]) -> bool {
    before.trim_ascii_end().ends_with(b"decltype")
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
                let is_kept = rest.starts_with(b"(anonymous namespace)") || keeps(&name[..at], rest);
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
            ("T::operator()(int) const", "T::operator()"),
            ("operator<<(std::ostream&, int)", "operator<<"),
            ("T::operator->()", "T::operator->"),
            ("{lambda(int)#1}::operator()(int) const", "{lambda(int)#1}::operator()"),
            ("<alloc::vec::Vec<T> as core::ops::Drop>::drop", "<alloc::vec::Vec<T> as core::ops::Drop>::drop"),
        ];
        for (name, short) in expected {
            assert_eq!(shown(b"_Z", name, without_parameters), short);
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
            ("f(", "f"),
        ];
        for (name, short) in expected {
            assert_eq!(shown(b"_Z", name, without_own_parameters), short);
        }
    }

    #[test]
    fn keeps_names_of_other_languages() {
        let names = [
            "RegExp: ^(a|b)*$",
            "JS:*(anonymous) /srv/app.js:1:1",
            "StubRoutines (initial stubs)",
            "void Buf.append(byte[], int)",
            "java.lang.String.indexOf(int, int)",
            "py::load:/srv/app (v2)/main.py",
            "net/http.(*Client).Do",
            "-[NSObject(Category) init:]",
            "Main.( + )_12",
            "f(int)",
            "(",
            "a)(b",
        ];
        for name in names {
            // A name that is not mangled is shown unchanged; one that is demangled from another language also has another prefix.
            for system_name in [name.as_bytes(), b"Lfoo/Bar;f(I)V", b"_RNvC1a1f", b"camlMain__f_12", b"?f@@YAHXZ"] {
                assert_eq!(shown(system_name, name, without_parameters), name);
                assert_eq!(shown(system_name, name, without_own_parameters), name);
            }
        }
        assert_eq!(shown(b"_Z1fi", "f(int)", without_parameters), "f");
    }

    fn shown(system_name: &[u8], name: &str, shorten: fn(Function, &Symbols) -> &[u8]) -> String {
        let mut symbols = Symbols::default();
        let [name, system_name, file] = [name.as_bytes(), system_name, b""].map(|name| symbols.name_id(name));
        let function = Function { name, system_name, file, start_line: 0 };
        String::from_utf8_lossy(shorten(function, &symbols)).into_owned()
    }
}
