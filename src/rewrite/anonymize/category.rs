//! What can be replaced or left out, and what is.

use std::fmt;

/// Something that a recording tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum What {
    /// Paths and names of mapped files.
    Paths,
    /// Names of threads.
    Comms,
    /// The host's name, and what is of its own in the versions of kernel and perf.
    Host,
    /// The command line of perf.
    Cmdline,
    /// Paths and ids of cgroups.
    Cgroups,
    /// Names of events that are not perf's or the kernel's.
    Events,
    /// Names of kernel symbols that came and went: BPF programs.
    Symbols,
    /// Addresses.
    Addresses,
    /// Inodes, devices, ids of namespaces.
    Inodes,
    /// Registers in samples.
    Registers,
    /// Copies of user stacks.
    Stacks,
    /// Physical addresses.
    PhysAddresses,
    /// Raw data of samples, and the formats of tracepoints.
    Raw,
    /// Build ids.
    BuildIds,
    /// Numbers of processes and threads.
    Pids,
    /// When it happened.
    Times,
    /// Model, memory and topology of the machine, and the version of its kernel.
    Machine,
}

impl What {
    /// All of it, by the names of the command line.
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

    /// What stays where nothing is said: what analysis needs, and what names nobody.
    pub const KEPT: [Self; 4] = [Self::BuildIds, Self::Pids, Self::Times, Self::Machine];

    /// Whether it is the name of something, of which another one takes the place, or else goes.
    pub fn is_replaced(self) -> bool {
        !matches!(self, Self::Registers | Self::Stacks | Self::PhysAddresses | Self::Raw | Self::Machine)
    }

    /// What it is called in sentences.
    pub fn text(self) -> &'static str {
        match self {
            Self::Paths => "paths of files",
            Self::Comms => "names of threads",
            Self::Host => "host name and versions",
            Self::Cmdline => "words of the command line",
            Self::Cgroups => "cgroups",
            Self::Events => "names of events",
            Self::Symbols => "names of symbols",
            Self::Addresses => "addresses",
            Self::Inodes => "inodes and namespaces",
            Self::Registers => "registers",
            Self::Stacks => "user stacks",
            Self::PhysAddresses => "physical addresses",
            Self::Raw => "raw data and formats of tracepoints",
            Self::BuildIds => "build ids",
            Self::Pids => "process numbers",
            Self::Times => "times",
            Self::Machine => "machine and kernel",
        }
    }
}

impl std::str::FromStr for What {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let named = Self::NAMED.iter().find(|(_, name)| *name == text).map(|(what, _)| *what);
        named.ok_or_else(|| {
            let names: Vec<_> = Self::NAMED.iter().map(|(_, name)| *name).collect();
            format!("there is no such thing; there is {}", names.join(", "))
        })
    }
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Self::NAMED.iter().find(|(what, _)| what == self).map_or("", |(_, name)| name))
    }
}

/// What stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept(u32);

impl Default for Kept {
    fn default() -> Self {
        Self::new(&[], &[])
    }
}

impl Kept {
    /// What stays by itself, and these, but not those.
    pub fn new(kept: &[What], replaced: &[What]) -> Self {
        let bits = |list: &[What]| list.iter().fold(0, |bits, &what| bits | 1 << what as u32);
        Self((bits(&What::KEPT) | bits(kept)) & !bits(replaced))
    }

    /// Whether it stays.
    #[inline]
    pub fn has(self, what: What) -> bool {
        self.0 & 1 << what as u32 != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_stays_or_goes() {
        let kept = Kept::new(&[What::Comms], &[What::Times]);
        let stay: Vec<_> = What::NAMED.iter().filter(|(what, _)| kept.has(*what)).map(|(_, name)| *name).collect();
        assert_eq!(stay, ["comms", "build-ids", "pids", "machine"]);
        assert_eq!("phys-addresses".parse(), Ok(What::PhysAddresses));
        assert!("x".parse::<What>().unwrap_err().contains("paths, comms"));
    }
}
