//! Who may read an input, and therefore its outputs.

use std::fs::{self, File, Permissions};
use std::io;
use std::path::Path;

/// The users other than the owner who may read all inputs of an output. They are all who may read the output, if the umask permits
/// it, unless the user chooses its permissions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    group: GroupAccess,
    others: bool,
    /// Permissions that replace those of the inputs.
    chosen: Option<FileMode>,
}

/// Permissions of a file, as those of `chmod`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileMode(u32);

impl FileMode {
    /// These permissions, up to 0o777.
    pub fn new(bits: u32) -> Option<Self> {
        (bits <= 0o777).then_some(Self(bits))
    }

    /// Those of a file or a directory; who may read the files of a directory may also enter it.
    #[cfg(unix)]
    fn bits(self, is_directory: bool) -> u32 {
        if is_directory { self.0 | (self.0 & 0o444) >> 2 } else { self.0 }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GroupAccess {
    /// Any group.
    Any,
    /// The group with this ID.
    #[cfg_attr(not(unix), expect(dead_code, reason = "files of other systems have no group"))]
    Only(u32),
    /// No group.
    Denied,
}

impl Default for Access {
    /// The access to data that is not of a file: anyone's.
    fn default() -> Self {
        Self { group: GroupAccess::Any, others: true, chosen: None }
    }
}

impl Access {
    /// No other user's.
    pub const OWNER: Self = Self { group: GroupAccess::Denied, others: false, chosen: None };

    /// Gives outputs these permissions instead of those that their inputs have in common.
    #[must_use]
    pub fn with_mode(self, mode: FileMode) -> Self {
        Self { chosen: Some(mode), ..self }
    }

    /// The access to a file or a directory with its entries; to standard input if it is a file. The permissions of a pipe do not
    /// restrict the process that has it open.
    pub fn from_input(input: &Path) -> Self {
        if input == Path::new("-") {
            return stdin_access();
        }
        let Ok(metadata) = fs::metadata(input) else { return Self::default() };
        let entries = fs::read_dir(input).into_iter().flatten().flatten().filter(|_| metadata.is_dir());
        entries.fold(Self::from_metadata(&metadata), |access, entry| access.and(Self::from_path(&entry.path())))
    }

    /// The access to a file.
    pub fn from_path(path: &Path) -> Self {
        fs::metadata(path).map_or_else(|_| Self::default(), |metadata| Self::from_metadata(&metadata))
    }

    #[cfg(unix)]
    fn from_metadata(metadata: &fs::Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        if !metadata.is_file() && !metadata.is_dir() {
            return Self::default();
        }
        let group = match (metadata.mode() & 0o040, metadata.mode() & 0o004) {
            (0, _) => GroupAccess::Denied,
            (_, 0) => GroupAccess::Only(metadata.gid()),
            _ => GroupAccess::Any,
        };
        Self { group, others: metadata.mode() & 0o004 != 0, chosen: None }
    }

    #[cfg(not(unix))]
    fn from_metadata(_: &fs::Metadata) -> Self {
        Self::default()
    }

    /// The access to an output of two inputs.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let group = match (self.group, other.group) {
            (GroupAccess::Any, group) | (group, GroupAccess::Any) => group,
            (one, other) if one == other => one,
            _ => GroupAccess::Denied,
        };
        Self { group, others: self.others && other.others, chosen: self.chosen.or(other.chosen) }
    }

    /// The permissions of an output that would have `mode`: the chosen ones, otherwise those that inputs have.
    #[cfg(unix)]
    fn permitted(self, mode: u32, group: u32, is_directory: bool) -> u32 {
        if let Some(chosen) = self.chosen {
            return chosen.bits(is_directory);
        }
        let has_group = match self.group {
            GroupAccess::Any => true,
            GroupAccess::Only(of_input) => of_input == group,
            GroupAccess::Denied => false,
        };
        mode & (0o7700 | if has_group { 0o070 } else { 0 } | if self.others { 0o007 } else { 0 })
    }

    /// Restricts what was written to a temporary directory, before it is moved into place: all files and directories in it.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn restrict_entries(self, directory: &Path) -> io::Result<()> {
        if self == Self::default() {
            return Ok(());
        }
        for entry in fs::read_dir(directory)? {
            let path = entry?.path();
            let metadata = fs::symlink_metadata(&path)?;
            if metadata.is_dir() {
                self.restrict_entries(&path)?;
            }
            if !metadata.is_symlink() {
                self.restrict(&path, &metadata)?;
            }
        }
        Ok(())
    }

    #[cfg(unix)]
    fn restrict(self, path: &Path, metadata: &fs::Metadata) -> io::Result<()> {
        use std::os::unix::fs::{MetadataExt, PermissionsExt};
        let mode = metadata.mode() & 0o7777;
        let permitted = self.permitted(mode, metadata.gid(), metadata.is_dir());
        if mode == permitted { Ok(()) } else { fs::set_permissions(path, Permissions::from_mode(permitted)) }
    }

    #[cfg(not(unix))]
    fn restrict(self, _: &Path, _: &fs::Metadata) -> io::Result<()> {
        Ok(())
    }

    /// Restricts a new file or directory.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn restrict_path(self, path: &Path) -> io::Result<()> {
        self.restrict(path, &fs::symlink_metadata(path)?)
    }

    /// Restricts a file that is written in place, before anything is written to it.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn restrict_file(self, file: &File, path: &Path) -> io::Result<()> {
        self.restrict(path, &file.metadata()?)
    }

    /// Gives a complete temporary file, which only its owner may read, the permissions of the file that it replaces, or those of a
    /// new one, as far as inputs have them.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn open_file(self, file: &Path, target: &Path) -> io::Result<()> {
        let default = || new_file_permissions(file);
        self.open(
            file,
            fs::metadata(target).ok().filter(fs::Metadata::is_file).map(|metadata| metadata.permissions()),
            default,
        )
    }

    /// As [`open_file`](Self::open_file), for a directory, which does not take the permissions of one that it replaces.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn open_directory(self, directory: &Path) -> io::Result<()> {
        self.restrict_entries(directory)?;
        self.open(directory, None, || new_directory_permissions(directory))
    }

    #[cfg(unix)]
    fn open(
        self,
        path: &Path,
        replaced: Option<Permissions>,
        default: impl FnOnce() -> io::Result<Permissions>,
    ) -> io::Result<()> {
        use std::os::unix::fs::{MetadataExt, PermissionsExt};
        let wanted = replaced.map_or_else(default, Ok)?.mode() & 0o777;
        let metadata = fs::symlink_metadata(path)?;
        let permitted = self.permitted(wanted, metadata.gid(), metadata.is_dir());
        fs::set_permissions(path, Permissions::from_mode(permitted))
    }

    #[cfg(not(unix))]
    fn open(
        self,
        path: &Path,
        replaced: Option<Permissions>,
        _: impl FnOnce() -> io::Result<Permissions>,
    ) -> io::Result<()> {
        // WASI has no permissions.
        let replaced = replaced.filter(|_| !cfg!(target_os = "wasi"));
        replaced.map_or(Ok(()), |replaced| fs::set_permissions(path, replaced))
    }

    /// Creates a directory and those above it, unless they exist. A new one is accessible as the inputs are.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn create_directories(self, directory: &Path) -> io::Result<()> {
        if directory.is_dir() {
            return Ok(());
        }
        if let Some(above) = directory.parent().filter(|above| *above != Path::new("")) {
            self.create_directories(above)?;
        }
        match fs::create_dir(directory) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists && directory.is_dir() => Ok(()),
            created => created.and_then(|()| self.restrict_path(directory)),
        }
    }
}

#[cfg(unix)]
fn stdin_access() -> Access {
    use std::os::fd::AsFd;
    let stdin = io::stdin().as_fd().try_clone_to_owned().map(File::from);
    let metadata = stdin.and_then(|stdin| stdin.metadata()).ok();
    metadata.filter(fs::Metadata::is_file).map_or_else(Access::default, |metadata| Access::from_metadata(&metadata))
}

#[cfg(not(unix))]
fn stdin_access() -> Access {
    Access::default()
}

/// The permissions of a new file: the umask can only be read by creating one, without changing it for other threads.
#[cfg(unix)]
fn new_file_permissions(beside: &Path) -> io::Result<Permissions> {
    use super::temp_directory::temporary;
    use std::os::unix::fs::PermissionsExt;
    let directory = beside.parent().unwrap_or(Path::new("."));
    let file = temporary().permissions(Permissions::from_mode(0o666)).tempfile_in(directory)?;
    Ok(file.as_file().metadata()?.permissions())
}

/// As [`new_file_permissions`], of a new directory.
#[cfg(unix)]
fn new_directory_permissions(beside: &Path) -> io::Result<Permissions> {
    use super::temp_directory::temporary;
    use std::os::unix::fs::PermissionsExt;
    let parent = beside.parent().unwrap_or(Path::new("."));
    let directory = temporary().permissions(Permissions::from_mode(0o777)).tempdir_in(parent)?;
    Ok(fs::metadata(directory.path())?.permissions())
}

#[cfg(not(unix))]
fn new_file_permissions(file: &Path) -> io::Result<Permissions> {
    Ok(fs::metadata(file)?.permissions())
}

#[cfg(not(unix))]
use new_file_permissions as new_directory_permissions;

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn only_readers_of_all_inputs_may_read_the_output() {
        let group = |group, others| Access { group, others, chosen: None };
        let private = group(GroupAccess::Denied, false);
        let [of_5, of_6] = [5, 6].map(|id| group(GroupAccess::Only(id), false));
        assert_eq!(Access::default().permitted(0o644, 5, false), 0o644);
        assert_eq!(private.permitted(0o4755, 5, true), 0o4700);
        assert_eq!((of_5.permitted(0o664, 5, false), of_5.permitted(0o664, 6, false)), (0o660, 0o600));
        let chosen = private.with_mode(FileMode::new(0o640).unwrap()).and(private);
        assert_eq!((chosen.permitted(0o600, 5, false), chosen.permitted(0o700, 5, true)), (0o640, 0o750));
        assert_eq!(FileMode::new(0o1000), None);
        assert_eq!(of_5.and(Access::default()), of_5);
        assert_eq!((of_5.and(of_5), of_5.and(of_6), of_5.and(private)), (of_5, private, private));
    }
}
