//! Names of functions as reports show them.

use super::symbols::{Function, Symbols};

/// The name of a function without its parameters and what follows, as flame graphs show it. Parentheses in names of anonymous
/// namespaces, in `operator()` and in `decltype (...)` are kept; so is every name that is not demangled from C++: in those of other
/// languages, such as `RegExp: (a|b)` of JavaScript, parentheses have another meaning.
pub(crate) fn without_parameters(function: Function, symbols: &Symbols) -> &[u8] {
    let name = symbols.name(function.name);
    if is_cpp(function, symbols) { before_parameters(name, |_| false) } else { name }
}

/// The name of a function without its own parameters: those of functions that contain it are also kept.
pub(crate) fn without_own_parameters(function: Function, symbols: &Symbols) -> &[u8] {
    let name = symbols.name(function.name);
    if is_cpp(function, symbols) {
        before_parameters(name, |rest| after_parentheses(rest).starts_with(b"::"))
    } else {
        name
    }
}

/// The name of a function, with the version that perf prints in names that are not mangled: `cfree@GLIBC_2.2.5`.
pub(crate) fn with_version<'a>(function: &Function, symbols: &'a Symbols) -> &'a [u8] {
    let (name, system_name) = (symbols.name(function.name), symbols.name(function.system_name));
    let has_version = system_name.strip_prefix(name).is_some_and(|rest| rest.starts_with(b"@"));
    if has_version { system_name } else { name }
}

/// Whether the name of a function is demangled from a C++ one, which the linker symbol name shows.
fn is_cpp(function: Function, symbols: &Symbols) -> bool {
    let mangled = symbols.name(function.system_name);
    let is_mangled = [&b"_Z"[..], b"__Z", b"___Z", b"_GLOBAL__"].iter().any(|prefix| mangled.starts_with(prefix));
    function.name != function.system_name && is_mangled
}

/// Whether a text ends with a word whose parentheses belong to a type: `decltype (...)`, `int __vector(4)`, `_BitInt(8)`.
fn ends_with_type_keyword(before: &[u8]) -> bool {
    let before = before.trim_ascii_end();
    [&b"decltype"[..], b"__vector", b"_BitInt"].iter().any(|word| before.ends_with(word))
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
    without_qualifiers(end.map_or(&[][..], |end| &text[end + 1..]))
}

/// A text without the qualifiers of a member function at its start.
fn without_qualifiers(text: &[u8]) -> &[u8] {
    const QUALIFIERS: [&[u8]; 4] = [b" const", b" volatile", b" &&", b" &"];
    let rest = QUALIFIERS.iter().find_map(|qualifier| text.strip_prefix(*qualifier));
    rest.map_or(text, without_qualifiers)
}

/// Brackets that are open, of which `>` closes only `<`: in parentheses it is an operator.
#[derive(Default)]
struct Brackets {
    /// One bit each, the innermost one the lowest: 1 for `<`. Those around the innermost 128 are taken for others.
    are_angles: u128,
    depth: usize,
}

impl Brackets {
    fn open(&mut self, bracket: u8) {
        self.are_angles = self.are_angles << 1 | u128::from(bracket == b'<');
        self.depth += 1;
    }

    fn close(&mut self, bracket: u8) {
        if bracket == b'>' && self.are_angles & 1 == 0 {
            return;
        }
        // A `<` in parentheses that are closed is an operator.
        while bracket != b'>' && self.depth > 1 && self.are_angles & 1 == 1 {
            self.pop();
        }
        self.pop();
    }

    fn pop(&mut self) {
        self.are_angles >>= 1;
        self.depth = self.depth.saturating_sub(1);
    }
}

/// Symbols of operators, before others that they begin with.
const OPERATORS: [&[u8]; 38] = [
    b"()", b"[]", b"<=>", b"->*", b"<<=", b">>=", b"->", b"<<", b">>", b"<=", b">=", b"==", b"!=", b"&&", b"||", b"++",
    b"--", b"+=", b"-=", b"*=", b"/=", b"%=", b"&=", b"|=", b"^=", b"+", b"-", b"*", b"/", b"%", b"^", b"&", b"|",
    b"~", b"!", b"=", b"<", b">",
];

/// What a name of an operator has after the word `operator`.
enum OperatorName {
    /// A symbol of this length.
    Symbol(usize),
    /// A type, to which it converts.
    Conversion,
}

/// The operator that the word `operator` begins, if it is at this place in a name.
fn operator(name: &[u8], at: usize) -> Option<OperatorName> {
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
fn declarator(before: &[u8], rest: &[u8]) -> Option<usize> {
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
fn before_parameters(name: &[u8], keeps: impl Fn(&[u8]) -> bool) -> &[u8] {
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
            ("std::operator<=>(T const&, T const&)", "std::operator<=>"),
            (
                "decltype (({parm#1})<=>(1)) std::operator<=><T, int>(T)",
                "decltype (({parm#1})<=>(1)) std::operator<=><T, int>",
            ),
            ("auto T::operator-><void (*)(int)>(int)", "auto T::operator-><void (*)(int)>"),
            ("bool operator< <void (*)(int)>(int)", "bool operator< <void (*)(int)>"),
            ("bool operator><void (*)(int)>(int)", "bool operator><void (*)(int)>"),
            ("T& operator<< <T<int> >(T&)", "T& operator<< <T<int> >"),
            ("T::operator,(int)", "T::operator,"),
            ("operator new(unsigned long)", "operator new"),
            ("T::operator delete[](void*)", "T::operator delete[]"),
            ("operator\"\" _kg(long double)", "operator\"\" _kg"),
            ("T::operator std::function<void (int)>() const", "T::operator std::function<void (int)>"),
            ("T::operator void (*)(int)() const", "T::operator void (*)(int)"),
            ("T::operator void (*)()()", "T::operator void (*)()"),
            ("T::operator int<int>()", "T::operator int<int>"),
            ("T::operator decltype(nullptr)() const", "T::operator decltype(nullptr)"),
            ("binary_operator<void (*)(int)>(int)", "binary_operator<void (*)(int)>"),
            ("Arr<((sizeof (T))>(2))?(1) : (2)> gt<long>(long)", "Arr<((sizeof (T))>(2))?(1) : (2)> gt<long>"),
            ("Arr<((sizeof (T))<(2))> lt<long>(long)", "Arr<((sizeof (T))<(2))> lt<long>"),
            ("f<&(g(int))>(int)", "f<&(g(int))>"),
            ("f<&T::operator> >(int)", "f<&T::operator> >"),
            ("int (*pick<int>(int))(double)", "pick<int>"),
            ("int (T::*pick<int>(int))(double)", "pick<int>"),
            ("int (* const& T::pick<int>() const)(int)", "T::pick<int>"),
            ("int (* const* pick<int>(int))(double)", "pick<int>"),
            ("int (&pick<int>())[3]", "pick<int>"),
            ("void (anonymous namespace)::g<int>(int)", "void (anonymous namespace)::g<int>"),
            ("int __vector(4) v<int>(int)", "int __vector(4) v<int>"),
            ("decltype(nullptr) n<int>(int)", "decltype(nullptr) n<int>"),
            ("vtable for T", "vtable for T"),
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
            ("T::f(int) const &::L::g()", "T::f(int) const &::L::g"),
            ("T::f(int) volatile &&::L::g() const", "T::f(int) volatile &&::L::g"),
            ("T::operator int() const::L::g()", "T::operator int() const::L::g"),
            ("T::operator void (*)()()::L::g(int)", "T::operator void (*)()()::L::g"),
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
