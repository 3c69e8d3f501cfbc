//! Demangling of function names: C++ by the Itanium ABI, Rust by both of its schemes, OCaml, and Java as JVMTI agents write it.

use super::{java_name, ocaml_name, plt};
use std::fmt::{self, Write};

/// How much of a mangled name to show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Demangle {
    /// The whole name, with parameters.
    #[default]
    Full,
    /// Without parameters and return types.
    Short,
    /// Names are not demangled.
    No,
}

/// Maximum size of a demangled name. Back references let a short name expand to any size.
const LIMIT: usize = 64 << 10;

impl Demangle {
    /// The demangled name; `None` if the name is shown unchanged.
    pub fn demangle(self, raw: &[u8]) -> Option<String> {
        if let Some(function) = raw.strip_suffix(plt::SUFFIX.as_bytes()) {
            return self.demangle(function).map(|name| name + plt::SUFFIX);
        }
        let unversioned = without_version(raw);
        let name = str::from_utf8(unversioned).ok()?;
        let demangled = match self {
            Self::No => return None,
            _ if is_rust(name) => rust(name),
            _ if name.starts_with("_Z") || name.starts_with("___Z") || name.starts_with("_GLOBAL__") => self.cpp(name),
            _ => ocaml_name::demangle(name).or_else(|| java_name::demangle(name)),
        };
        demangled.or_else(|| (unversioned.len() < raw.len()).then(|| name.to_owned()))
    }

    fn cpp(self, name: &str) -> Option<String> {
        if let Some((prefix, name)) = prefixed(name) {
            // As in c++filt, a short name of these has its parameters, but no suffix of a clone.
            let name = if self == Self::Short { name.split('.').next().unwrap_or_default() } else { &name };
            return Self::Full.cpp(name).map(|name| format!("{prefix}{name}"));
        }
        let full = cpp_demangle::DemangleOptions::new();
        let short = full.no_params().no_return_type();
        let (symbol, options) = match cpp_demangle::Symbol::new(name) {
            Ok(symbol) => (symbol, if self == Self::Short { short } else { full }),
            // The parameters may be unknown to the parser although the name before them is valid.
            Err(_) => (name_before_parameters(name)?, short),
        };
        let mut out = Limited::default();
        symbol.structured_demangle(&mut out, &options).ok()?;
        let text = as_compilers_write(with_short_literals(out.text), name);
        Some(if self == Self::Short { without_qualifiers(&text).to_owned() } else { text })
    }
}

/// The name of a member function without what follows its parameters.
fn without_qualifiers(name: &str) -> &str {
    const QUALIFIERS: [&str; 4] = [" const", " volatile", " &", " &&"];
    let shorter = QUALIFIERS.iter().find_map(|qualifier| name.strip_suffix(qualifier));
    shorter.map_or(name, without_qualifiers)
}

/// The longest proper prefix of a name that is itself a mangled name. Scopes and template arguments end with `E`.
fn name_before_parameters(name: &str) -> Option<cpp_demangle::Symbol<&str>> {
    /// Maximum number of prefixes that are tried.
    const TRIES: usize = 64;
    let ends = name.rmatch_indices('E').map(|(at, _)| at + 1).filter(|&end| end < name.len());
    ends.take(TRIES).find_map(|end| cpp_demangle::Symbol::new(&name[..end]).ok())
}

/// The description of a name that refers to another function, such as a thunk, and the mangled name of that function.
fn prefixed(name: &str) -> Option<(&'static str, String)> {
    /// Skips a number, which may be negative, and an underscore.
    fn offset(text: &str) -> Option<&str> {
        let text = text.strip_prefix('n').unwrap_or(text);
        text.trim_start_matches(|c: char| c.is_ascii_digit()).strip_prefix('_')
    }
    /// Skips an offset of a non-virtual or a virtual base.
    fn call_offset(text: &str) -> Option<&str> {
        match text.strip_prefix('h') {
            Some(rest) => offset(rest),
            None => offset(text.strip_prefix('v')?).and_then(offset),
        }
    }
    let encoding = name.strip_prefix("_Z")?;
    let (prefix, rest) = if let Some(rest) = encoding.strip_prefix("Th") {
        ("non-virtual thunk to ", offset(rest)?)
    } else if let Some(rest) = encoding.strip_prefix("Tv") {
        ("virtual thunk to ", offset(rest).and_then(offset)?)
    } else if let Some(rest) = encoding.strip_prefix("Tc") {
        ("covariant return thunk to ", call_offset(call_offset(rest)?)?)
    } else if let Some(rest) = encoding.strip_prefix("GTt") {
        ("transaction clone for ", rest)
    } else {
        return None;
    };
    Some((prefix, format!("_Z{rest}")))
}

/// Corrects what the demangler writes differently from c++filt and LLVM.
fn as_compilers_write(mut text: String, mangled: &str) -> String {
    const TRAITS: &str = "char, std::char_traits<char>";
    // Constructors are named after the template, not after the alias.
    for tilde in ["", "~"] {
        if text.contains("std::string::") {
            let class = format!("std::basic_string<{TRAITS}, std::allocator<char> >::{tilde}basic_string");
            text = replaced(&text, &format!("std::string::{tilde}string"), |rest| !is_in_name(rest), &class);
        }
    }
    // Streams are shown by their aliases if the name is mangled with these.
    for stream in ["istream", "ostream", "iostream"] {
        let template = format!("basic_{stream}");
        let class = format!("std::{template}<{TRAITS} >");
        if !mangled.contains(&template) && text.contains(&class) {
            let is_constructor =
                |rest: &str| rest.trim_start_matches("::").trim_start_matches('~').starts_with(&template);
            text = replaced(&text, &class, |rest| !is_constructor(rest), &format!("std::{stream}"));
        }
    }
    if let Some(at) = text.find("::operator \"\"")
        && let Some(start) = text[..at].rfind("operator")
    {
        let suffix = text[start + "operator".len()..at].to_owned();
        text.replace_range(start..at + "::operator \"\"".len(), &format!("operator\"\" {suffix}"));
    }
    // Empty argument packs.
    while text.contains(", >") {
        text = text.replace(", >", ">");
    }
    if text.contains("std::nullptr_t") {
        text = text.replace("std::nullptr_t", "decltype(nullptr)");
    }
    text
}

fn is_in_name(rest: &str) -> bool {
    rest.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':')
}

/// Replaces each occurrence of `words` that is followed by a permitted text.
fn replaced(text: &str, words: &str, may_follow: impl Fn(&str) -> bool, by: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find(words) {
        let behind = &rest[at + words.len()..];
        out.push_str(&rest[..at]);
        out.push_str(if may_follow(behind) { by } else { words });
        rest = behind;
    }
    out + rest
}

/// The name without the version that some linkers append: `memcpy@@GLIBC_2.14`.
fn without_version(name: &[u8]) -> &[u8] {
    match memchr::memchr(b'@', name) {
        Some(at) if at > 0 => &name[..at],
        _ => name,
    }
}

/// Whether this is a Rust name: v0, or the legacy scheme, which is the C++ one with a hash of 16 digits at the end.
fn is_rust(name: &str) -> bool {
    const HASH: usize = 16;
    let has_hash = |path: &str| {
        let hash = path.rfind("17h").and_then(|at| path[at + 3..].split_at_checked(HASH));
        let is_hex = |hash: &str| hash.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        hash.is_some_and(|(hash, rest)| is_hex(hash) && (rest == "E" || rest.starts_with("E.")))
    };
    name.starts_with("_R") || name.strip_prefix("_ZN").is_some_and(has_hash)
}

fn rust(name: &str) -> Option<String> {
    let mut out = Limited::default();
    write!(out, "{:#}", rustc_demangle::try_demangle(name).ok()?).ok()?;
    Some(out.text)
}

/// Text of at most [`LIMIT`] bytes.
#[derive(Default)]
struct Limited {
    text: String,
}

impl Write for Limited {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        if self.text.len() + part.len() > LIMIT {
            return Err(fmt::Error);
        }
        self.text.push_str(part);
        Ok(())
    }
}

/// Literals as in C++ source: `131072u` for `(unsigned int)131072`.
fn with_short_literals(text: String) -> String {
    const TYPES: [(&str, &str); 6] = [
        ("(int)", ""),
        ("(unsigned int)", "u"),
        ("(long)", "l"),
        ("(unsigned long)", "ul"),
        ("(long long)", "ll"),
        ("(unsigned long long)", "ull"),
    ];
    if !text.contains(")0") && !text.bytes().zip(text.bytes().skip(1)).any(|pair| is_cast(pair.0, pair.1)) {
        return text;
    }
    let (mut out, mut rest) = (String::with_capacity(text.len()), text.as_str());
    while let Some(at) = rest.find('(') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let boolean = [("(bool)0", "false"), ("(bool)1", "true")].iter().find(|(cast, _)| rest.starts_with(cast));
        if let Some((cast, word)) = boolean {
            out.push_str(word);
            rest = &rest[cast.len()..];
            continue;
        }
        let literal = TYPES.iter().find_map(|&(cast, suffix)| {
            let digits = rest.strip_prefix(cast)?;
            let sign = usize::from(digits.starts_with('-'));
            let len = digits[sign..].bytes().take_while(u8::is_ascii_digit).count();
            (len > 0).then(|| (&digits[..sign + len], suffix, cast.len() + sign + len))
        });
        match literal {
            Some((digits, suffix, len)) => {
                out.push_str(digits);
                out.push_str(suffix);
                rest = &rest[len..];
            }
            None => {
                out.push('(');
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
    out
}

fn is_cast(before: u8, behind: u8) -> bool {
    before == b')' && (behind.is_ascii_digit() || behind == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full(name: &str) -> Option<String> {
        Demangle::Full.demangle(name.as_bytes())
    }

    fn short(name: &str) -> Option<String> {
        Demangle::Short.demangle(name.as_bytes())
    }

    #[test]
    fn cpp_names_with_and_without_parameters() {
        let name = b"_ZN3app4leafIiEEvlS0_";
        assert_eq!(short("_ZN3app4leafEl").as_deref(), Some("app::leaf"));
        assert_eq!(full("_ZN3app4leafEl").as_deref(), Some("app::leaf(long)"));
        assert_eq!(Demangle::No.demangle(name), None);
        assert_eq!(full("main"), None);
        assert_eq!(full("_ZNKR3app4leafEl.cold").as_deref(), Some("app::leaf(long) const & [clone .cold]"));
        assert_eq!(short("_ZNKR3app4leafEl.cold").as_deref(), Some("app::leaf"));
    }

    #[test]
    fn literals_are_written_as_in_source() {
        assert_eq!(full("_Z1fILj131072EEvv").as_deref(), Some("void f<131072u>()"));
        assert_eq!(full("_Z1fILb1ELin5EEvv").as_deref(), Some("void f<true, -5>()"));
        assert_eq!(full("_Z1fILc65EEvv").as_deref(), Some("void f<(char)65>()"));
        assert_eq!(full("_Z1fPFivE").as_deref(), Some("f(int (*)())"));
    }

    #[test]
    fn rust_names_lose_their_hash() {
        assert_eq!(full("_ZN4core3fmt5write17h0123456789abcdefE").as_deref(), Some("core::fmt::write"));
        assert_eq!(full("_ZN4core3fmt5write17h0123456789abcdefE.llvm.123").as_deref(), Some("core::fmt::write"));
        let name = "_ZN56_$LT$harbor..dock..Tug$u20$as$u20$harbor..dock..Ship$GT$4sail17h9162aae247596f57E";
        assert_eq!(full(name).as_deref(), Some("<harbor::dock::Tug as harbor::dock::Ship>::sail"));
        assert_eq!(full("_RNvC6_123foo3bar").as_deref(), Some("123foo::bar"));
    }

    #[test]
    fn cpp_names_are_not_taken_for_rust() {
        assert_eq!(
            full("_ZN12_GLOBAL__N_117hash_of_somethingEv").as_deref(),
            Some("(anonymous namespace)::hash_of_something()")
        );
        assert_eq!(full("_ZN3foo3barE").as_deref(), Some("foo::bar"));
    }

    #[test]
    fn literal_operators_and_transactions() {
        assert_eq!(full("_ZN7foundry2v2li3_kgEe").as_deref(), Some("foundry::v2::operator\"\" _kg(long double)"));
        let clone = "transaction clone for std::domain_error::domain_error(char const*)";
        assert_eq!(full("_ZGTtNSt12domain_errorC1EPKc").as_deref(), Some(clone));
        assert_eq!(full("_ZThn16_N1AD1Ev").as_deref(), Some("non-virtual thunk to A::~A()"));
        assert_eq!(full("_ZTcv0_n32_v0_n24_N1C2clEv").as_deref(), Some("covariant return thunk to C::cl()"));
        assert_eq!(full("_ZTch0_h16_N1C2clEv").as_deref(), Some("covariant return thunk to C::cl()"));
        assert_eq!(full("_ZTv0_n24_N1AD0Ev").as_deref(), Some("virtual thunk to A::~A()"));
        assert_eq!(short("_ZTv0_n24_N1AD0Ev.cold").as_deref(), Some("virtual thunk to A::~A()"));
        let argument = "INS_8durationIdSt5ratioILl1ELl1EEEElS2_ILl1ELl1000000000EEEE";
        let result = "NSt9enable_ifIXsrNS_13__is_durationIT_EE5valueES8_E4typeE";
        let name = &format!("_ZNSt6chrono13duration_cast{argument}{result}RKNS1_IT0_T1_EE");
        assert!(
            full(name).is_some_and(|name| name.starts_with("std::chrono::duration_cast<std::chrono::duration<double"))
        );
    }

    #[test]
    fn aliases_of_the_library_are_shown_as_by_cxxfilt() {
        let basic = "std::basic_string<char, std::char_traits<char>, std::allocator<char> >";
        assert_eq!(full("_ZNSsC1Ev"), Some(format!("{basic}::basic_string()")));
        assert_eq!(full("_ZNSs6appendEPKc").as_deref(), Some("std::string::append(char const*)"));
        assert_eq!(full("_ZNSi7getlineEPcl").as_deref(), Some("std::istream::getline(char*, long)"));
        assert_eq!(
            full("_ZNSiC1Ev").as_deref(),
            Some("std::basic_istream<char, std::char_traits<char> >::basic_istream()")
        );
    }

    #[test]
    fn versions_are_omitted() {
        assert_eq!(full("memcpy@@GLIBC_2.14").as_deref(), Some("memcpy"));
        assert_eq!(full("memcpy@plt"), None);
        assert_eq!(full("_ZdlPvm@plt").unwrap(), "operator delete(void*, unsigned long)@plt");
        assert_eq!(short("_ZdlPvm@plt").unwrap(), "operator delete@plt");
    }

    #[test]
    fn a_name_that_expands_without_end_is_kept() {
        let mut name = "_Z1fI1xE".to_owned();
        for digit in 0..30u32 {
            let _ = write!(name, "1yIS{digit}_S{digit}_S{digit}_S{digit}_E");
        }
        assert!(full(&name).is_none_or(|name| name.len() <= LIMIT));
    }
}
