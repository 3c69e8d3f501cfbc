//! Programs of living processes, whose files may have been deleted or replaced.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// The path that a deleted file had, if `/proc` or a recording says that it is deleted.
pub(super) fn without_deleted(path: &Path) -> Option<&Path> {
    path.to_str()?.strip_suffix(" (deleted)").map(Path::new)
}

/// The programs of the processes of this machine. By default none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LivingPrograms {
    /// Where the process file system is mounted.
    proc: Option<PathBuf>,
    /// Paths with the links that open the program that was once there, once they are needed.
    replaced: Arc<OnceLock<Vec<(PathBuf, PathBuf)>>>,
}

impl LivingPrograms {
    /// The programs of this machine.
    pub fn from_system() -> Self {
        Self { proc: Some("/proc".into()), ..Self::default() }
    }

    /// The programs that were at a path, and no longer are.
    pub fn formerly_at(&self, path: &Path) -> Vec<PathBuf> {
        let replaced = self.replaced.get_or_init(|| self.find());
        replaced.iter().filter(|(of, _)| of == path).map(|(_, link)| link.clone()).collect()
    }

    fn find(&self) -> Vec<(PathBuf, PathBuf)> {
        let Some(Ok(processes)) = self.proc.as_ref().map(fs::read_dir) else { return Vec::new() };
        let links = processes.flatten().map(|process| process.path().join("exe"));
        let replaced = links.filter_map(|link| {
            let target = fs::read_link(&link).ok()?;
            Some((without_deleted(&target)?.to_owned(), link))
        });
        replaced.collect()
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn finds_the_programs_that_are_no_longer_at_a_path() {
        let proc = tempfile::tempdir().unwrap();
        for (pid, target) in [("7", "/bin/app (deleted)"), ("8", "/bin/app"), ("9", "/bin/other (deleted)")] {
            fs::create_dir(proc.path().join(pid)).unwrap();
            symlink(target, proc.path().join(pid).join("exe")).unwrap();
        }
        let programs = LivingPrograms { proc: Some(proc.path().to_owned()), ..LivingPrograms::default() };
        assert_eq!(programs.formerly_at(Path::new("/bin/app")), [proc.path().join("7/exe")]);
        assert!(programs.formerly_at(Path::new("/bin/none")).is_empty());
        assert!(LivingPrograms::default().formerly_at(Path::new("/bin/app")).is_empty());
    }
}
