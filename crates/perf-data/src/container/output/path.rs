//! Paths of outputs.

use std::fs;
use std::path::{Path, PathBuf};

/// The directory of a path.
pub fn parent(target: &Path) -> &Path {
    match target.parent() {
        Some(directory) if directory != Path::new("") => directory,
        _ => Path::new("."),
    }
}

/// The path that links lead to, whether or not it exists; `None` if it is an open file of a process in `/proc`, whose link text
/// need not be a path.
pub fn follow_links(path: &Path) -> Option<PathBuf> {
    let mut target = path.to_owned();
    // Linux follows at most 40 links.
    for _ in 0..40 {
        let Ok(link) = fs::read_link(&target) else { break };
        let directory = parent(&target);
        if fs::canonicalize(directory).is_ok_and(|directory| directory.starts_with("/proc")) {
            return None;
        }
        target = directory.join(link);
    }
    Some(target)
}
