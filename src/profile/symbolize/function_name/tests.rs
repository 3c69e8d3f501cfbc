//! Tests of names by language.

use super::*;
use proptest::prelude::*;

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

/// The short form of a demangled name.
fn short(system_name: &str, name: &str, code: CodeKind) -> String {
    shown_function(system_name, name, code).short.text
}

fn shown_function(system_name: &str, name: &str, code: CodeKind) -> ShownFunction {
    let mut symbols = Symbols::default();
    let [name, system_name, file] = [name, system_name, ""].map(|name| symbols.name_id(name.as_bytes()));
    let function = Function { name, system_name, file, start_line: 0 };
    ShownFunction::new(function, &symbols, code).expect("a name")
}

const STRING: &str = "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >";

#[test]
fn short_names_of_cpp() {
    let string_names = [
        (format!("{STRING}::append(char const*)"), "std::string::append"),
        (format!("{STRING}::~basic_string()"), "std::string::~basic_string"),
        (format!("{STRING} std::operator+<char>({STRING} const&, char const*)"), "std::operator+<...>"),
        (format!("T::operator {STRING}() const"), "T::operator std::string"),
        (
            format!("app::f({STRING}, int)::{{lambda({STRING}&)#2}}::operator()({STRING}&) const"),
            "app::f::{lambda#2}::operator()",
        ),
    ];
    let expected = [
        ("main", "main"),
        ("void engine::sort_range<int*, std::less<int> >(int*, int*, std::less<int>)", "engine::sort_range<...>"),
        ("ns::f(std::function<void (int)>) const", "ns::f"),
        ("(anonymous namespace)::f(int)", "(anonymous namespace)::f"),
        ("void (anonymous namespace)::g<int>(int)", "(anonymous namespace)::g<...>"),
        ("ns::(anonymous namespace)::T<int>::f(int)", "ns::(anonymous namespace)::T<...>::f"),
        (
            "std::_Function_handler<void (), (anonymous namespace)::T>::_M_invoke(std::_Any_data const&)",
            "std::_Function_handler<...>::_M_invoke",
        ),
        ("T<int>::operator()(int) const", "T<...>::operator()"),
        ("void T::operator()<int>(int) const", "T::operator()<...>"),
        ("bool operator< <void (*)(int)>(int)", "operator< <...>"),
        ("bool ns::operator><void (*)(int)>(int)", "ns::operator><...>"),
        (
            "std::ostream& std::operator<< <std::char_traits<char> >(std::ostream&, char const*)",
            "std::operator<< <...>",
        ),
        ("std::ostream& operator<<(std::ostream&, T const&)", "operator<<"),
        ("std::strong_ordering std::operator<=><int, 5ul>(std::array<int, 5ul> const&)", "std::operator<=><...>"),
        ("decltype (({parm#1})<=>(1)) std::operator<=><T, int>(T)", "std::operator<=><...>"),
        ("std::unique_ptr<T, std::default_delete<T> >::operator->() const", "std::unique_ptr<...>::operator->"),
        ("auto T::operator-><void (*)(int)>(int)", "T::operator-><...>"),
        ("T::operator->*(int)", "T::operator->*"),
        ("T::operator[](unsigned long)", "T::operator[]"),
        ("T::operator,(int)", "T::operator,"),
        ("operator new(unsigned long)", "operator new"),
        ("operator delete[](void*)", "operator delete[]"),
        ("void* Pool::operator new<int>(unsigned long)", "Pool::operator new<...>"),
        ("ns::operator\"\" _kg(long double)", "ns::operator\"\" _kg"),
        ("T::operator bool() const", "T::operator bool"),
        ("T::operator unsigned long() const", "T::operator unsigned long"),
        ("T::operator std::function<void (int)>() const", "T::operator std::function<...>"),
        ("T::operator void (*)(int)() const", "T::operator void (*)(int)"),
        ("T::operator int<int>()", "T::operator int<...>"),
        ("T::operator decltype(nullptr)() const", "T::operator decltype(nullptr)"),
        ("binary_operator<void (*)(int)>(int)", "binary_operator<...>"),
        ("f(int) const::{lambda(int)#1}::operator()(int) const", "f::{lambda#1}::operator()"),
        ("auto f()::{lambda(auto:1)#1}::operator()<int>(int) const", "f::{lambda#1}::operator()<...>"),
        ("T::f(int) volatile &&::L::g() const", "T::f::L::g"),
        ("T::operator int() const::L::g()", "T::operator int::L::g"),
        (
            "foundry::v2::local_phase(unsigned int)::{lambda(foundry::v2::local_phase(unsigned int)::Ladle&, unsigned int)#1}::operator()(foundry::v2::local_phase(unsigned int)::Ladle&, unsigned int) const",
            "foundry::v2::local_phase::{lambda#1}::operator()",
        ),
        ("T::{unnamed type#1}::f()", "T::{unnamed type#1}::f"),
        ("int (*pick<int>(int))(double)", "pick<...>"),
        ("int (T::*pick<int>(int))(double)", "pick<...>"),
        ("int (&T::pick<int>())[3]", "T::pick<...>"),
        ("int __vector(4) v<int>(int)", "v<...>"),
        ("decltype(nullptr) n<int>(int)", "n<...>"),
        ("decltype (std::declval<T>()) std::get<0>(T&&)", "std::get<...>"),
        ("std::enable_if<(true)&&(((sizeof (T))>(2))), int>::type gt<long>(long)", "gt<...>"),
        ("Arr<((sizeof (T))<(2))> lt<long>(long)", "lt<...>"),
        (
            "std::__1::vector<int, std::__1::allocator<int> >::push_back[abi:ne190000](int&&)",
            "std::vector<...>::push_back",
        ),
        ("ns::f[abi:cxx11](int)", "ns::f"),
        ("app::leaf(long) const & [clone .cold]", "app::leaf"),
        ("void app::g<int>(int) [clone .isra.0] [clone .part.3]", "app::g<...>"),
        ("non-virtual thunk to ns::T<int>::~T()", "non-virtual thunk to ns::T<...>::~T"),
        ("virtual thunk to A::f(int)", "virtual thunk to A::f"),
        ("vtable for T<int>", "vtable for T<...>"),
        ("TLS init function for ns::x", "TLS init function for ns::x"),
        ("f<>()", "f<>"),
        // Without its parameters, it would be taken for a conversion to another type.
        ("T::operator void (T::*)()() const", "T::operator void (T::*)()() const"),
        ("f(", "f"),
    ];
    for (name, expected) in expected.into_iter().chain(string_names.iter().map(|(name, expected)| (&**name, *expected)))
    {
        assert_eq!(short("_Z1f", name, CodeKind::Native), expected);
    }
}

#[test]
fn short_names_of_rust() {
    let expected = [
        ("main", "main"),
        ("<alloc::vec::Vec<T> as core::ops::Drop>::drop", "<Vec<...> as Drop>::drop"),
        ("<T as core::convert::Into<U>>::into", "<T as Into<...>>::into"),
        ("core::ptr::drop_in_place<alloc::vec::Vec<u8>>", "core::ptr::drop_in_place<...>"),
        (
            "core::slice::sort::stable::drift::sort::<u32, fn(&u32) -> bool>",
            "core::slice::sort::stable::drift::sort::<...>",
        ),
        ("alloc::vec::Vec<T,A>::push", "alloc::vec::Vec<...>::push"),
        ("harbor::run::<harbor::main::{closure#5}>", "harbor::run::<...>"),
        ("harbor::main::{closure#1}::{closure#0}", "harbor::main::{closure#1}::{closure#0}"),
        ("app::main::{{closure}}", "app::main::{{closure}}"),
        (
            "<app::main::{closure#0} as core::ops::function::FnOnce<()>>::call_once::{shim:vtable#0}",
            "<main::{closure#0} as FnOnce<...>>::call_once::{shim:vtable#0}",
        ),
        ("<&mut alloc::string::String as core::fmt::Write>::write_str", "<&mut String as Write>::write_str"),
        ("<[u64]>::sort_unstable_by_key::<u64, app::key_of>", "<[u64]>::sort_unstable_by_key::<...>"),
        ("core::ptr::mut_ptr::<impl *mut T>::sub", "core::ptr::mut_ptr::<impl *mut T>::sub"),
        ("core::fmt::num::<impl core::fmt::Debug for u32>::fmt", "core::fmt::num::<impl Debug for u32>::fmt"),
        ("<dyn core::any::Any + core::marker::Send as app::T>::f", "<dyn Any + Send as T>::f"),
        ("<fn(app::A) -> app::B as app::T>::f", "<fn(A) -> B as T>::f"),
        ("<<app::A as app::B>::C as app::D>::e", "<<A as B>::C as D>::e"),
        ("<(app::A, app::B<u8>) as app::T>::f", "<(A, B<...>) as T>::f"),
        ("core[846817f741e54dfd]::fmt::write", "core::fmt::write"),
        ("<app[1f]::A as core[846817f741e54dfd]::fmt::Debug>::fmt", "<A as Debug>::fmt"),
        ("app::f::h0123456789abcdef", "app::f"),
        ("app::f.cold", "app::f"),
        ("app::r#match::ünï", "app::r#match::ünï"),
        ("<", "<"),
    ];
    for (name, expected) in expected {
        assert_eq!(short("_RNvC1a1f", name, CodeKind::Native), expected);
        assert_eq!(short("_ZN1a1f17h0123456789abcdefE", name, CodeKind::Native), expected);
    }
}

#[test]
fn short_names_of_go() {
    let expected = [
        ("main.main.func1", "main.main.func1"),
        ("github.com/org/proj/pkg.(*T).Method", "pkg.(*T).Method"),
        ("net/http.(*conn).serve", "http.(*conn).serve"),
        ("slices.SortFunc[go.shape.[]int,go.shape.int]", "slices.SortFunc[go.shape.[]int,go.shape.int]"),
        ("github.com/a/b.Map[github.com/x/y.K,go.shape.int].Get", "b.Map[y.K,go.shape.int].Get"),
        ("gopkg.in/yaml%2ev3.(*parser).parse-fm", "yaml.v3.(*parser).parse-fm"),
        ("type:.eq.github.com/x/y.T", "type:.eq.github.com/x/y.T"),
        ("runtime.mallocgc", "runtime.mallocgc"),
        // Not a part of `main`: a function of that name.
        ("main.cold", "main.cold"),
    ];
    for (name, expected) in expected {
        assert_eq!(short(name, name, CodeKind::Go), expected);
    }
    assert_eq!(
        short("github.com/org/proj/pkg.f", "github.com/org/proj/pkg.f", CodeKind::Native),
        "github.com/org/proj/pkg.f"
    );
    assert!(is_go_symbol(b"runtime.(*mheap).alloc") && !is_go_symbol(b"runtime.") && !is_go_symbol(b"runtime_init"));
}

#[test]
fn short_names_of_generated_code() {
    let expected = [
        ("LazyCompile:*f /srv/x.js:1:2", "f"),
        ("JS:~get size /srv/my app/x.js:10:2", "get size"),
        ("JS:^emit node:events:465:44", "emit"),
        ("JS:+f file:///srv/x.mjs:3:1", "f"),
        ("InterpretedFunction:~f /srv/x.js:1:2", "f"),
        ("f /srv/x.js:1:2", "f"),
        ("f x.js:1:2", "f x.js:1:2"),
        ("Function:f /srv/x.js:1:2", "f"),
        ("JS:*(anonymous) /srv/app.js:1:1", "(anonymous)"),
        ("Script:~ /srv/app.js:1:1", "(anonymous)"),
        ("Builtin:ArrayPrototypePush", "Builtin:ArrayPrototypePush"),
        ("RegExp: ^(a|b)*$", "RegExp: ^(a|b)*$"),
        ("py::load:/srv/app (v2)/main.py", "load"),
        ("py::Cache.<locals>.get:/srv/app/main.py", "Cache.<locals>.get"),
        ("void [App] Program::Main(class [System.Runtime]System.String[])[Tier0]", "Program::Main"),
        (
            "instance void [System.Private.CoreLib] System.Collections.Generic.List`1[System.__Canon]::Add(!0)[OptimizedTier1]",
            "List`1[...]::Add",
        ),
        ("int32 [System.Private.CoreLib] System.String::IndexOf(char)[PreJIT]", "String::IndexOf"),
        ("java.util.HashMap.get(Object)", "HashMap.get"),
        ("int java.util.HashMap.size()", "HashMap.size"),
        ("double Jit$$Lambda$1/0x00007ff9d0000c08.go(double)", "Jit$$Lambda$1.go"),
        ("void java.lang.String.<init>(char[], int)", "String.<init>"),
        ("Ljava/util/HashMap;::get", "HashMap.get"),
        ("Ljava/util/HashMap;::get_[j]", "HashMap.get"),
        ("Interpreter", "Interpreter"),
        ("I2C/C2I adapters", "I2C/C2I adapters"),
        ("jitd middle 0", "jitd middle 0"),
        ("jitd::leaf<0>", "jitd::leaf<0>"),
        ("StubRoutines (initial stubs)", "StubRoutines (initial stubs)"),
    ];
    for (name, expected) in expected {
        assert_eq!(short(name, name, CodeKind::Jit), expected);
        assert_eq!(short(name, name, CodeKind::Native), name);
    }
    assert_eq!(short("Lfoo/Buf;append([BI)V", "void foo.Buf.append(byte[], int)", CodeKind::Native), "Buf.append");
}

#[test]
fn parts_clones_and_tiers_are_one_function() {
    let full = |name: &str, code| shown_function(name, name, code).full;
    for name in ["scan.cold", "scan.cold.12", "scan.part.0", "scan.constprop.0.isra.0", "scan.llvm.1234.cold"] {
        assert_eq!(full(name, CodeKind::Native), "scan");
    }
    for name in [".cold", "scan.cold.x", "scan.lto_priv.0", "scan.part", "scan.12"] {
        assert_eq!(full(name, CodeKind::Native), name);
    }
    for code in [CodeKind::Go, CodeKind::Jit] {
        assert_eq!(full("scan.cold", code), "scan.cold");
    }
    for tier in ["LazyCompile:*", "JS:~", "JS:^", "JS:+", "JS:"] {
        assert_eq!(full(&format!("{tier}f /x.js:1:2"), CodeKind::Jit), "f /x.js:1:2");
    }
    for tier in ["Tier0", "OptimizedTier1", "Instrumented Tier0", "QuickJitted"] {
        assert_eq!(full(&format!("void [A] B::f()[{tier}]"), CodeKind::Jit), "void [A] B::f()");
    }
    assert_eq!(full("Lfoo/Buf;::get_[i]", CodeKind::Jit), full("Lfoo/Buf;::get_[j]", CodeKind::Jit));
    let source = |name| shown_function(name, name, CodeKind::Jit).short.source;
    assert_eq!(source("JS:*f /srv/my app/x.js:10:2"), Some(("/srv/my app/x.js".to_owned(), 10)));
    assert_eq!(source("py::f:/srv/x.py"), Some(("/srv/x.py".to_owned(), 0)));
}

const LANGUAGES: [Language; 9] = [
    Language::C,
    Language::Cpp,
    Language::Rust,
    Language::Go,
    Language::Java,
    Language::V8,
    Language::Python,
    Language::Net,
    Language::Other,
];

proptest! {
    /// Whatever the name, its short form is not empty, and the short form of itself.
    #[test]
    fn shortening_is_idempotent(
        parts in prop::collection::vec(
            prop::sample::select(vec![
                "a", "T", "int", "std::", "::", "<", ">", "(", ")", "{", "}", "[", "]", " ", ", ", "operator", "operator()", "operator<",
                "->", "{lambda(int)#1}", "(anonymous namespace)", " const", "*", "&", "decltype", " for ", " as ", "impl ", "[abi:cxx11]",
                " [clone .cold]", ".cold", "::h0123456789abcdef", "std::basic_string<char, std::char_traits<char>, std::allocator<char> >",
                "/", ".", "%2e", "ü", "JS:*", " /x.js:1:2", "py::", ":/x.py", ";::", "L", "[Tier0]", "#1", "~",
            ]),
            1..14,
        ),
        language in prop::sample::select(LANGUAGES.to_vec()),
    ) {
        let name = parts.concat();
        let once = language.shorten(&name).text;
        prop_assert!(!once.is_empty());
        prop_assert_eq!(language.shorten(&once).text, once);
    }

    #[test]
    fn shortening_never_fails(name in "\\PC{1,60}", code in prop::sample::select(vec![CodeKind::Native, CodeKind::Go, CodeKind::Jit])) {
        for symbol in ["_Z1f", "_RNvC1a1f", &name, "LT;f()V"] {
            prop_assert!(!short(symbol, &name, code).is_empty());
        }
    }
}
