//! Categories of data that anonymization replaces, removes or keeps.

use crate::suggest::unknown;
use std::fmt;

/// A category of data in a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Category {
    /// Paths and names of mapped files.
    Paths,
    /// Names of threads.
    Comms,
    /// Host name, and the distribution's parts of the kernel and perf versions.
    Host,
    /// perf's command line.
    Cmdline,
    /// Paths and IDs of cgroups.
    Cgroups,
    /// Names of events that neither perf nor the kernel defines.
    Events,
    /// Names of kernel symbols registered at run time, such as BPF programs.
    Symbols,
    /// Addresses.
    Addresses,
    /// Inodes, devices and namespace IDs.
    Inodes,
    /// Registers in samples.
    Registers,
    /// User stack dumps.
    Stacks,
    /// Physical addresses.
    PhysAddresses,
    /// Raw data of samples, and tracepoint formats.
    Raw,
    /// Build IDs.
    BuildIds,
    /// Process and thread IDs.
    Pids,
    /// Timestamps.
    Times,
    /// Model, memory and topology of the machine, and its kernel version.
    Machine,
}

impl Category {
    /// All categories, by their command line names.
    pub const NAMED: [(Self, &'static str); 17] = [
        (Self::Paths, "paths"),
        (Self::Comms, "comms"),
        (Self::Host, "host"),
        (Self::Cmdline, "cmdline"),
        (Self::Cgroups, "cgroups"),
        (Self::Events, "events"),
        (Self::Symbols, "symbols"),
        (Self::Addresses, "addresses"),
        (Self::Inodes, "inodes"),
        (Self::Registers, "registers"),
        (Self::Stacks, "stacks"),
        (Self::PhysAddresses, "phys-addresses"),
        (Self::Raw, "raw"),
        (Self::BuildIds, "build-ids"),
        (Self::Pids, "pids"),
        (Self::Times, "times"),
        (Self::Machine, "machine"),
    ];

    /// Categories kept by default: required for analysis and not identifying.
    pub const KEPT: [Self; 4] = [Self::BuildIds, Self::Pids, Self::Times, Self::Machine];

    /// Whether values are replaced, not removed.
    pub fn is_replaced(self) -> bool {
        !matches!(self, Self::Registers | Self::Stacks | Self::PhysAddresses | Self::Raw | Self::Machine)
    }

    /// Description in messages.
    pub fn text(self) -> &'static str {
        match self {
            Self::Paths => "file paths",
            Self::Comms => "thread names",
            Self::Host => "host name and versions",
            Self::Cmdline => "command line words",
            Self::Cgroups => "cgroups",
            Self::Events => "event names",
            Self::Symbols => "symbol names",
            Self::Addresses => "addresses",
            Self::Inodes => "inodes and namespaces",
            Self::Registers => "registers",
            Self::Stacks => "user stacks",
            Self::PhysAddresses => "physical addresses",
            Self::Raw => "raw data and tracepoint formats",
            Self::BuildIds => "build IDs",
            Self::Pids => "process and thread IDs",
            Self::Times => "times",
            Self::Machine => "machine and kernel",
        }
    }
}

impl std::str::FromStr for Category {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let named = Self::NAMED.iter().find(|(_, name)| *name == text).map(|(category, _)| *category);
        named.ok_or_else(|| {
            let names: Vec<_> = Self::NAMED.iter().map(|(_, name)| *name).collect();
            unknown("category", text, &names)
        })
    }
}

impl fmt::Display for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Self::NAMED.iter().find(|(category, _)| category == self).map_or("", |(_, name)| name))
    }
}

/// The set of categories that are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeptCategories(u32);

impl Default for KeptCategories {
    fn default() -> Self {
        Self::new(&[], &[])
    }
}

impl KeptCategories {
    /// The default categories and `kept`, without `replaced`.
    pub fn new(kept: &[Category], replaced: &[Category]) -> Self {
        let bits = |list: &[Category]| list.iter().fold(0, |bits, &category| bits | 1 << category as u32);
        Self((bits(&Category::KEPT) | bits(kept)) & !bits(replaced))
    }

    /// Whether a category is kept.
    #[inline]
    pub fn has(self, category: Category) -> bool {
        self.0 & 1 << category as u32 != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_override_the_defaults() {
        let kept = KeptCategories::new(&[Category::Comms], &[Category::Times]);
        let names: Vec<_> =
            Category::NAMED.iter().filter(|(category, _)| kept.has(*category)).map(|(_, name)| *name).collect();
        assert_eq!(names, ["comms", "build-ids", "pids", "machine"]);
        assert_eq!("phys-addresses".parse(), Ok(Category::PhysAddresses));
        assert!("x".parse::<Category>().unwrap_err().contains("paths, comms"));
    }
}
