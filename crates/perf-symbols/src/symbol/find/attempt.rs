//! Attempts to find a file, and their outcomes.

use crate::object::build_id::Id;
use crate::object::host::Doubt;
use std::fmt;
use std::path::PathBuf;

/// The kind of file that is searched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// The object itself.
    Object,
    /// The vdso of this process, which has no file.
    RunningVdso,
    /// A separate file with its debug information.
    DebugFile,
    /// Debug information that dwz moved from several files to a common one.
    Alternate,
    /// A split DWARF package.
    Package,
    /// Split DWARF of one unit.
    Split,
    /// Symbols of a running kernel.
    Kallsyms,
    /// Functions and lines of JIT code, over time.
    JitDump,
    /// Functions of JIT code.
    PerfMap,
    /// A source file.
    Source,
}

impl Role {
    /// Name of the kind, for messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Object => "object file",
            Self::RunningVdso => "vdso of the running kernel",
            Self::DebugFile => "debug file",
            Self::Alternate => "dwz file",
            Self::Package => "DWARF package",
            Self::Split => "split DWARF file",
            Self::Kallsyms => "kallsyms",
            Self::JitDump => "jitdump",
            Self::PerfMap => "perf map",
            Self::Source => "source file",
        }
    }
}

/// The outcome of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// The file is used.
    Used,
    /// The file is used although it differs from the recorded one, because [`Policy::Force`](super::Policy::Force) is set.
    Forced(Mismatch),
    /// The file was downloaded to a place where it is searched next.
    Downloaded,
    /// The file does not exist.
    NotFound,
    /// The file cannot be read, for this reason.
    Unreadable(String),
    /// The file is not an ELF file, or lacks the information that is searched for.
    Unsuitable(&'static str),
    /// The file is not the recorded one.
    Mismatch(Mismatch),
}

/// How a file differs from the recorded one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mismatch {
    /// Its build ID; `None` if it has none.
    BuildId(Option<Id>),
    /// Its checksum.
    Checksum,
    /// Its size.
    Size(u64),
    /// It was modified after the recording.
    Modified,
    /// It has another inode than the recorded file.
    Inode,
    /// It is of a kernel of this size.
    KernelSize(u64),
    /// No build ID was recorded, and the recording may be of another machine.
    Foreign,
}

impl From<Doubt> for Mismatch {
    fn from(doubt: Doubt) -> Self {
        match doubt {
            Doubt::OtherHost | Doubt::Unproven => Self::Foreign,
            Doubt::Inode => Self::Inode,
            Doubt::Modified => Self::Modified,
        }
    }
}

/// An attempt to find a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// The kind of file.
    pub role: Role,
    /// The path that was tried.
    pub path: PathBuf,
    /// The outcome.
    pub outcome: Outcome,
}

impl Attempt {
    /// Whether the file is used.
    pub fn is_used(&self) -> bool {
        matches!(self.outcome, Outcome::Used | Outcome::Forced(_))
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuildId(Some(id)) => write!(f, "has build ID {id}"),
            Self::BuildId(None) => f.write_str("has no build ID"),
            Self::Checksum => f.write_str("has another checksum"),
            Self::Size(size) => write!(f, "has {size} bytes"),
            Self::Modified => f.write_str("was modified after it was recorded"),
            Self::Inode => f.write_str("is not the recorded file (different inode)"),
            Self::KernelSize(size) => write!(f, "is of another kernel, which has {size} bytes"),
            Self::Foreign => f.write_str("may not be the recorded file: it has no recorded build ID"),
        }
    }
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.path.display())?;
        match &self.outcome {
            Outcome::Used => write!(f, "used as {}", self.role.name()),
            Outcome::Forced(mismatch) => write!(f, "used as {} although it {mismatch}", self.role.name()),
            Outcome::Downloaded => f.write_str("downloaded"),
            Outcome::NotFound => f.write_str("not found"),
            Outcome::Unreadable(why) => write!(f, "cannot be read: {why}"),
            Outcome::Unsuitable(why) => f.write_str(why),
            Outcome::Mismatch(mismatch) => mismatch.fmt(f),
        }
    }
}
