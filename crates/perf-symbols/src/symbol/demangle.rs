//! Demangling of function names: C++ by the Itanium ABI, Rust by both of its schemes, OCaml, and Java as JVMTI agents write it.

use super::cpp_name::{self, Extent};
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
            // Functions of Clang's blocks begin with more underscores, those that construct globals with `_GLOBAL_`.
            _ if ["_Z", "___Z", "____Z", "_GLOBAL_"].iter().any(|prefix| name.starts_with(prefix)) => {
                let extent = if self == Self::Short { Extent::Name } else { Extent::Full };
                cpp_name::demangle(name, extent, LIMIT)
            }
            _ => ocaml_name::demangle(name).or_else(|| java_name::demangle(name)),
        };
        demangled.or_else(|| (unversioned.len() < raw.len()).then(|| name.to_owned()))
    }
}

/// The name without the version that some linkers append: `memcpy@@GLIBC_2.14`.
fn without_version(name: &[u8]) -> &[u8] {
    match memchr::memchr(b'@', name) {
        Some(at) if at > 0 => &name[..at],
        _ => name,
    }
}

/// Whether this is a mangled Rust name: v0, or the legacy scheme, which is the C++ one with a hash of 16 digits at the end.
pub fn is_rust(name: &str) -> bool {
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
        let function = " std::chrono::duration_cast<std::chrono::duration<double";
        assert!(full(name).is_some_and(|name| name.contains(function)));
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
