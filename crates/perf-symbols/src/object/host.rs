//! Checks whether this machine is the recorded one, and whether a local file is the one that was mapped.

use perf_data::abi::record::mmap2::MappedFile;
use std::fs::{self, File, Metadata};
use std::io::{Read, Seek, SeekFrom};
use std::time::SystemTime;

/// The recorded machine, compared with this one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Host {
    /// Not recorded.
    #[default]
    Unknown,
    /// This machine.
    This {
        /// Whether the recorded kernel version is the running one; false if it is not recorded.
        runs_the_kernel: bool,
    },
    /// Another machine, with its description.
    Other(String),
}

impl Host {
    /// Compares HOSTNAME and OSRELEASE with this machine.
    pub fn new(hostname: Option<String>, osrelease: Option<String>) -> Self {
        let here = |setting: &str| fs::read_to_string(format!("/proc/sys/kernel/{setting}")).ok();
        let differs = |recorded: &Option<String>, setting: &str| {
            recorded.as_ref().is_some_and(|recorded| here(setting).is_none_or(|here| here.trim_end() != recorded))
        };
        if differs(&hostname, "hostname") || differs(&osrelease, "osrelease") {
            let recorded: Vec<_> = [hostname, osrelease].into_iter().flatten().collect();
            return Self::Other(recorded.join(", Linux "));
        }
        match (hostname, osrelease) {
            (None, None) => Self::Unknown,
            (_, osrelease) => Self::This { runs_the_kernel: osrelease.is_some() },
        }
    }
}

/// Why a local file may not be the one that was mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// The recording is of another machine.
    OtherHost,
    /// The recording names neither its machine, because `perf record` was killed or wrote to a pipe, nor the file's inode.
    Unproven,
    /// It has another inode.
    Inode,
    /// It was modified after the recording. A compiler's new output may reuse the inode of the old one.
    Modified,
}

/// What a recording without build IDs shows about a mapped file.
#[derive(Clone, Copy, Debug, Default)]
pub struct RecordedFile {
    /// Its inode.
    pub inode: Option<Inode>,
    /// Time of the recording.
    pub recorded: Option<SystemTime>,
}

impl RecordedFile {
    /// Checks whether the machine can have the file.
    ///
    /// # Errors
    /// If it is another machine, or nothing shows that it is the recorded one.
    pub fn may_be_on(&self, host: &Host) -> Result<(), Doubt> {
        match host {
            Host::Other(_) => Err(Doubt::OtherHost),
            Host::Unknown if self.inode.is_none() => Err(Doubt::Unproven),
            Host::Unknown | Host::This { .. } => Ok(()),
        }
    }

    /// Checks whether a file of that machine is this one.
    ///
    /// # Errors
    /// What differs.
    pub fn is(&self, file: &Metadata) -> Result<(), Doubt> {
        let here = Inode::from_metadata(file);
        if self.inode.is_some_and(|recorded| !here.is_some_and(|here| here.is(&recorded))) {
            return Err(Doubt::Inode);
        }
        let is_later = self.recorded.zip(file.modified().ok()).is_some_and(|(recorded, modified)| modified > recorded);
        if is_later { Err(Doubt::Modified) } else { Ok(()) }
    }
}

/// Identifies a file by device and inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Inode {
    maj: u32,
    min: u32,
    ino: u64,
}

impl From<(u32, u32, u64)> for Inode {
    fn from((maj, min, ino): (u32, u32, u64)) -> Self {
        Self { maj, min, ino }
    }
}

impl Inode {
    /// The inode of a mapping, if recorded.
    pub fn from_map(file: &MappedFile) -> Option<Self> {
        match *file {
            MappedFile::Inode { maj, min, ino, .. } if ino != 0 => Some(Self { maj, min, ino }),
            _ => None,
        }
    }

    /// The inode of a local file; `None` if the system has none.
    #[cfg(unix)]
    pub fn from_metadata(metadata: &Metadata) -> Option<Self> {
        use std::os::unix::fs::MetadataExt;
        let dev = metadata.dev();
        // Linux's encoding of major and minor in one number.
        let maj = (dev >> 8 & 0xfff | dev >> 32 & !0xfff) as u32;
        let min = (dev & 0xff | dev >> 12 & !0xff) as u32;
        Some(Self { maj, min, ino: metadata.ino() })
    }

    /// The inode of a local file; `None` if the system has none.
    #[cfg(not(unix))]
    pub fn from_metadata(_: &Metadata) -> Option<Self> {
        None
    }

    /// Whether this is the same file. Devices of major number 0 (overlayfs, btrfs and the like) are not compared: stat(2) and the
    /// kernel's mappings report different ones, which also change with each boot.
    pub fn is(&self, other: &Self) -> bool {
        let is_virtual = self.maj == 0 || other.maj == 0;
        self.ino == other.ino && (is_virtual || (self.maj, self.min) == (other.maj, other.min))
    }
}

/// The vdso that the kernel maps into this process.
pub fn vdso() -> Option<Vec<u8>> {
    /// The largest vdso has a few pages.
    const MAX_SIZE: u64 = 1 << 20;
    let maps = fs::read_to_string("/proc/self/maps").ok()?;
    let range = maps.lines().find(|line| line.ends_with("[vdso]"))?.split(' ').next()?;
    let (start, end) = range.split_once('-')?;
    let [start, end] = [start, end].map(|text| u64::from_str_radix(text, 16).ok());
    let size = end?.checked_sub(start?).filter(|size| *size <= MAX_SIZE)?;
    let mut memory = File::open("/proc/self/mem").ok()?;
    memory.seek(SeekFrom::Start(start?)).ok()?;
    let mut bytes = vec![0; size as usize];
    memory.read_exact(&mut bytes).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn virtual_devices_are_not_compared() {
        let inode = |maj, min, ino| Inode { maj, min, ino };
        assert!(inode(8, 1, 7).is(&inode(8, 1, 7)) && inode(0, 35, 7).is(&inode(8, 1, 7)));
        assert!(!inode(8, 1, 7).is(&inode(8, 2, 7)) && !inode(0, 35, 7).is(&inode(0, 35, 8)));
    }

    #[test]
    fn compares_hostname_and_osrelease() {
        let other = || Some("no such name or version".to_owned());
        assert_eq!(Host::new(None, None), Host::Unknown);
        assert!(matches!(Host::new(other(), None), Host::Other(_)));
        assert!(matches!(Host::new(None, other()), Host::Other(_)));
        let Ok(here) = fs::read_to_string("/proc/sys/kernel/osrelease") else { return };
        assert_eq!(Host::new(None, Some(here.trim_end().to_owned())), Host::This { runs_the_kernel: true });
    }
}
