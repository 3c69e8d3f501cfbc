//! Versions of perf whose text differs.

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
    /// The style of a word of `--perf-style`.
    pub fn by_name(name: Option<&str>) -> Self {
        match name {
            Some("6.12" | "7") => Self::Perf612,
            _ => Self::Perf61,
        }
    }

    /// Width of process and thread IDs.
    pub fn id_width(self) -> usize {
        match self {
            Self::Perf61 => 5,
            Self::Perf612 => 7,
        }
    }

    /// How names are demangled: a word of `--demangle`.
    pub fn demangle(self) -> &'static str {
        match self {
            Self::Perf61 => "short",
            Self::Perf612 => "full",
        }
    }

    /// Whether addresses in call chains are those in memory.
    pub fn has_memory_addresses(self) -> bool {
        self == Self::Perf612
    }
}
