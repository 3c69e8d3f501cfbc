//! What samples are grouped by, under perf's names of sort keys.

use crate::profile::labels::Label;

/// What samples are grouped by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Key {
    /// Name of the thread.
    Comm,
    /// File or memory with the code.
    Dso,
    /// Function.
    Sym,
    /// Source file and line.
    SrcLine,
    /// Source file.
    SrcFile,
    /// Process.
    Pid,
    /// Thread.
    Tid,
    /// CPU.
    Cpu,
    /// Event.
    Event,
}

impl Key {
    /// Names, with those that are equivalent.
    pub const NAMES: &[(&str, Self)] = &[
        ("comm", Self::Comm),
        ("dso", Self::Dso),
        ("sym", Self::Sym),
        ("symbol", Self::Sym),
        ("srcline", Self::SrcLine),
        ("srcfile", Self::SrcFile),
        ("pid", Self::Pid),
        ("tid", Self::Tid),
        ("cpu", Self::Cpu),
        ("event", Self::Event),
    ];

    /// The default keys of `perf report`.
    pub const DEFAULT: &[Self] = &[Self::Comm, Self::Dso, Self::Sym];

    /// The key with this name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(key_name, _)| *key_name == name).map(|(_, key)| *key)
    }

    /// A parser of key names for the command line.
    #[cfg(feature = "cli")]
    pub fn parser() -> impl clap::builder::TypedValueParser<Value = Self> {
        use clap::builder::{PossibleValuesParser, TypedValueParser};
        let names = PossibleValuesParser::new(Self::NAMES.iter().map(|(name, _)| *name));
        names.try_map(|name| Self::by_name(&name).ok_or("unknown key"))
    }

    /// The name of the key.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, key)| *key == self).map_or("", |(name, _)| name)
    }

    /// The label of samples that has its value; `None` if frames or the event have it.
    pub fn label(self) -> Option<Label> {
        match self {
            Self::Comm => Some(Label::ThreadComm),
            Self::Pid => Some(Label::Pid),
            Self::Tid => Some(Label::Tid),
            Self::Cpu => Some(Label::Cpu),
            Self::Dso | Self::Sym | Self::SrcLine | Self::SrcFile | Self::Event => None,
        }
    }
}
