//! Names of functions as reports show them.

mod brackets;
mod clones;
mod cpp;
mod cpp_short;
mod go;
mod java;
mod rust;
mod script;
pub(crate) mod short_name;
mod std_names;
#[cfg(test)]
mod tests;

use super::symbols::{Function, Symbols};
use cpp::{after_parentheses, before_parameters};
use perf_data::session::map::Map;
use perf_symbols::symbol::demangle;
use short_name::ShortName;
use std::borrow::Cow;

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

/// The code that a mapping contains, as far as names depend on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum CodeKind {
    /// Compiled to an object file.
    #[default]
    Native,
    /// Compiled from Go.
    Go,
    /// Compiled at run time.
    Jit,
}

/// Whether a mapping is code that a process generated, or its image.
pub(crate) fn is_jit(map: &Map) -> bool {
    let name = map.filename.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    map.pid.is_some() || name.starts_with(b"jitted-") || name.starts_with(b"perf-") && name.ends_with(b".map")
}

/// Whether a linker symbol is of the runtime of Go, which each of its programs contains.
pub(crate) fn is_go_symbol(system_name: &[u8]) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || b"_.(*)".contains(&byte);
    system_name.strip_prefix(b"runtime.").is_some_and(|rest| !rest.is_empty() && rest.iter().all(|&byte| is_word(byte)))
}

/// How a name is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Language {
    Cpp,
    Rust,
    Go,
    Java,
    V8,
    Python,
    Net,
    C,
    /// Names that are shown unchanged.
    Other,
}

impl Language {
    /// The language of a function, by its linker symbol, or else by the code that it is in.
    fn new(function: Function, symbols: &Symbols, code: CodeKind) -> Self {
        let [name, symbol] = [function.name, function.system_name].map(|name| symbols.name(name));
        let is_demangled = name != symbol;
        if is_rust(function, symbols) {
            return Self::Rust;
        }
        if is_cpp(function, symbols) {
            return Self::Cpp;
        }
        // As agents of Java virtual machines write it: `Ljava/util/HashMap;get(Ljava/lang/Object;)Ljava/lang/Object;`.
        if is_demangled && symbol.starts_with(b"L") && symbol.contains(&b';') {
            return Self::Java;
        }
        match code {
            CodeKind::Native => Self::C,
            CodeKind::Go => Self::Go,
            CodeKind::Jit => Self::from_generated(&String::from_utf8_lossy(name)),
        }
    }

    /// The language of generated code, whose names only their runtimes define.
    fn from_generated(name: &str) -> Self {
        if script::v8_function(name).is_some() {
            Self::V8
        } else if script::shorten_python(name).is_some() {
            Self::Python
        } else if script::net_method(name).is_some() {
            Self::Net
        } else if java::is_method(name) {
            Self::Java
        } else {
            Self::Other
        }
    }

    /// The name of a function without what differs between parts, clones and tiers of it.
    fn common_name(self, name: &str) -> &str {
        match self {
            Self::Rust | Self::C => clones::without_suffixes(name),
            Self::V8 => script::v8_function(name).unwrap_or(name),
            Self::Net => script::net_method(name).unwrap_or(name),
            Self::Java => java::without_marker(name),
            Self::Cpp | Self::Go | Self::Python | Self::Other => name,
        }
    }

    /// The short form of a common name: never empty, and the short form of itself. Other text than names of the language is shown
    /// unchanged.
    fn shorten(self, name: &str) -> ShortName {
        let short = self.shorten_once(name);
        let is_name = !short.text.trim().is_empty() && self.shorten_once(&short.text).text == short.text;
        if is_name { short } else { ShortName::unchanged(name) }
    }

    fn shorten_once(self, name: &str) -> ShortName {
        match self {
            Self::Cpp => cpp_short::shorten(name),
            Self::Rust => rust::shorten(name),
            Self::Go => go::shorten(name),
            Self::Java => java::shorten(name),
            Self::V8 => script::shorten_v8(name),
            Self::Python => script::shorten_python(name).unwrap_or_else(|| ShortName::unchanged(name)),
            Self::Net => script::shorten_net(name),
            Self::C | Self::Other => ShortName::unchanged(name),
        }
    }
}

/// A function as people see it: parts, clones and tiers of one have equal names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ShownFunction {
    /// Its full name, without its own parameters.
    pub full: String,
    /// Its short name.
    pub short: ShortName,
}

impl ShownFunction {
    /// The names of a function in code of this kind; `None` if its name is unknown.
    pub(crate) fn new(function: Function, symbols: &Symbols, code: CodeKind) -> Option<Self> {
        let language = Language::new(function, symbols, code);
        let shown = String::from_utf8_lossy(without_own_parameters(function, symbols));
        if shown.is_empty() {
            return None;
        }
        // Parameters of a C++ function may be needed to find its name, as in `operator int()`.
        let name: Cow<'_, str> = match language {
            Language::Cpp => String::from_utf8_lossy(symbols.name(function.name)),
            _ => Cow::Borrowed(language.common_name(&shown)),
        };
        let short = language.shorten(&name);
        Some(Self { full: language.common_name(&shown).to_owned(), short })
    }
}

/// Whether the name of a function is demangled from a Rust one.
fn is_rust(function: Function, symbols: &Symbols) -> bool {
    let mangled = str::from_utf8(symbols.name(function.system_name));
    function.name != function.system_name && mangled.is_ok_and(demangle::is_rust)
}
