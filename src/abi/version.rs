//! Versions of perf.

use std::fmt;

/// A version of perf, which is that of its Linux release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PerfVersion(pub u32, pub u32);

impl fmt::Display for PerfVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}
