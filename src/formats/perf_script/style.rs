//! Versions of perf whose text differs.

use perf_symbols::symbol::demangle::Demangle;

/// Form of the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// perf 6.1: addresses in call chains are those in the file; C++ names have no parameters.
    #[default]
    Perf61,
    /// perf 6.12 and 7: addresses are those in memory; process and thread IDs have wider columns; C++ names have parameters.
    Perf612,
}

impl Style {
    /// Parses the versions.
    #[cfg(feature = "cli")]
    pub fn parser() -> impl clap::builder::TypedValueParser<Value = Self> {
        crate::option_values::choice([
            ("6.1", Self::Perf61, "Addresses in call chains are those in the file; C++ names have no parameters"),
            (
                "6.12",
                Self::Perf612,
                "Addresses are those in memory, columns of IDs are wider, and C++ names have parameters",
            ),
            ("7", Self::Perf612, "As 6.12"),
        ])
    }

    /// Width of process and thread IDs.
    pub fn id_width(self) -> usize {
        match self {
            Self::Perf61 => 5,
            Self::Perf612 => 7,
        }
    }

    /// How names are demangled.
    pub fn demangling(self) -> Demangle {
        match self {
            Self::Perf61 => Demangle::Short,
            Self::Perf612 => Demangle::Full,
        }
    }

    /// Whether addresses in call chains are those in memory.
    pub fn has_memory_addresses(self) -> bool {
        self == Self::Perf612
    }
}
