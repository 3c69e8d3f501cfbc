//! Whether the machine that we run on is the one that was recorded, and a file here the one that was mapped there.

use crate::abi::record::mmap2::MappedFile;
use std::fs::{self, Metadata};

/// What a recording tells of the machine that it is of, compared with this one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Host {
    /// It tells nothing.
    #[default]
    Untold,
    /// It is this one, and the same version of the kernel if it `runs_the_kernel`.
    This {
        /// Whether the version of the kernel is told.
        runs_the_kernel: bool,
    },
    /// It is another one: which.
    Other(String),
}

impl Host {
    /// Compares what HOSTNAME and OSRELEASE tell with this machine.
    pub fn new(hostname: Option<String>, osrelease: Option<String>) -> Self {
        let here = |what: &str| fs::read_to_string(format!("/proc/sys/kernel/{what}")).ok();
        let differs = |told: &Option<String>, what: &str| {
            told.as_ref().is_some_and(|told| here(what).is_none_or(|here| here.trim_end() != told))
        };
        if differs(&hostname, "hostname") || differs(&osrelease, "osrelease") {
            let told: Vec<_> = [hostname, osrelease].into_iter().flatten().collect();
            return Self::Other(told.join(", Linux "));
        }
        match (hostname, osrelease) {
            (None, None) => Self::Untold,
            (_, osrelease) => Self::This { runs_the_kernel: osrelease.is_some() },
        }
    }
}

/// A file by its place on a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Inode {
    maj: u32,
    min: u32,
    ino: u64,
}

impl Inode {
    /// That which a map tells, if it does.
    pub fn of_map(file: &MappedFile) -> Option<Self> {
        match *file {
            MappedFile::Inode { maj, min, ino, .. } if ino != 0 => Some(Self { maj, min, ino }),
            _ => None,
        }
    }

    /// That of a file here; `None` where the system tells none.
    #[cfg(unix)]
    pub fn of_file(metadata: &Metadata) -> Option<Self> {
        use std::os::unix::fs::MetadataExt;
        let dev = metadata.dev();
        // As Linux tells both in one number.
        let maj = (dev >> 8 & 0xfff | dev >> 32 & !0xfff) as u32;
        let min = (dev & 0xff | dev >> 12 & !0xff) as u32;
        Some(Self { maj, min, ino: metadata.ino() })
    }

    /// That of a file here; `None` where the system tells none.
    #[cfg(not(unix))]
    pub fn of_file(_: &Metadata) -> Option<Self> {
        None
    }

    /// Whether it is the same file. Devices of major number 0 are those of overlayfs, btrfs and the like, of which stat(2) and
    /// the kernel's maps tell different ones, and others after each start.
    pub fn is(&self, other: &Self) -> bool {
        let is_made_up = self.maj == 0 || other.maj == 0;
        self.ino == other.ino && (is_made_up || (self.maj, self.min) == (other.maj, other.min))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_that_are_made_up_are_not_compared() {
        let inode = |maj, min, ino| Inode { maj, min, ino };
        assert!(inode(8, 1, 7).is(&inode(8, 1, 7)) && inode(0, 35, 7).is(&inode(8, 1, 7)));
        assert!(!inode(8, 1, 7).is(&inode(8, 2, 7)) && !inode(0, 35, 7).is(&inode(0, 35, 8)));
    }

    #[test]
    fn a_host_is_known_by_what_is_told_of_it() {
        let other = || Some("no such name or version".to_owned());
        assert_eq!(Host::new(None, None), Host::Untold);
        assert!(matches!(Host::new(other(), None), Host::Other(_)));
        assert!(matches!(Host::new(None, other()), Host::Other(_)));
        let Ok(here) = fs::read_to_string("/proc/sys/kernel/osrelease") else { return };
        assert_eq!(Host::new(None, Some(here.trim_end().to_owned())), Host::This { runs_the_kernel: true });
    }
}
