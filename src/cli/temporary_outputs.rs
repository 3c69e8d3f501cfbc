//! Outputs that are not complete yet, under their temporary names. A signal that ends the program removes what there is; so does the
//! one by which the system tells that a mapped input has become shorter.

use perfconv::container::temp_folder::temporary;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tempfile::{NamedTempFile, TempDir};

/// What there is to say where a mapped input cannot be read any more.
pub const CUT: &str = "an input cannot be read any more: it was cut while it was read, or its disk fails";

/// Those that are being written. A signal waits for the lock before it ends the program.
static CURRENT: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Signals do not end the program as long as it lives.
pub type Held = MutexGuard<'static, Vec<PathBuf>>;

/// Keeps signals from ending the program.
pub fn hold() -> Held {
    CURRENT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a file in a folder, with the permissions that new files get, or for its owner alone.
///
/// # Errors
/// What the system says.
pub fn file_in(folder: &Path, is_private: bool) -> io::Result<NamedTempFile> {
    let mut builder = temporary();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(if is_private { 0o600 } else { 0o666 }));
    }
    start(|| builder.tempfile_in(folder), NamedTempFile::path)
}

/// Starts a folder in a folder, with the permissions that new folders get, or for its owner alone.
///
/// # Errors
/// What the system says.
pub fn folder_in(folder: &Path, is_private: bool) -> io::Result<TempDir> {
    let mut builder = temporary();
    #[cfg(unix)]
    if is_private {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o700));
    }
    start(|| builder.tempdir_in(folder), TempDir::path)
}

/// Has signals remove what is not complete, from now on.
///
/// # Errors
/// What the system says.
pub fn watch() -> io::Result<()> {
    #[cfg(unix)]
    signals::watch()?;
    Ok(())
}

fn start<T>(create: impl FnOnce() -> io::Result<T>, path: fn(&T) -> &Path) -> io::Result<T> {
    let mut current = hold();
    // The user knows the output by another name than the one that tempfile adds to what the system said.
    let created = create().map_err(|e| io::Error::from(e.kind()))?;
    // What is complete has another name by now.
    current.retain(|path| path.exists());
    current.push(path(&created).to_owned());
    Ok(created)
}

#[cfg(unix)]
mod signals {
    use perfconv::container::temp_folder::{remove, remove_all};
    use signal_hook::consts::{SIGBUS, SIGHUP, SIGINT, SIGQUIT, SIGTERM};
    use signal_hook::iterator::Signals;
    use signal_hook::low_level::{emulate_default_handler, exit};
    use std::io::{self, Write};
    use std::{fs, thread};

    /// Has the signals by which users and systems end programs remove what is not complete, and then do what they do.
    pub fn watch() -> io::Result<()> {
        let ignored = ignored();
        let watched = [SIGINT, SIGTERM, SIGHUP, SIGQUIT].into_iter().filter(|signal| ignored >> (signal - 1) & 1 == 0);
        std_handles_no_bus_error();
        files_that_grow_too_large_are_errors();
        // Whoever reads what is not there any more tries again and again, until the program ends.
        let mut signals = Signals::new(watched.chain([SIGBUS]))?;
        let watch = move || {
            for signal in signals.forever() {
                let current = super::hold();
                current.iter().for_each(|path| remove(path));
                remove_all();
                if signal == SIGBUS {
                    // Whoever tries again may be just about to write.
                    let _ = writeln!(io::stderr(), "perfconv: {}", super::CUT);
                    exit(1);
                }
                // It does not return: all of them end a program, and the lock is never given back to whoever would go on.
                let _ = emulate_default_handler(signal);
            }
        };
        thread::Builder::new().spawn(watch).map(drop)
    }

    /// Gives up the handler that std has: it is for stacks that overflow, and has any other fault end the program at once.
    #[expect(unsafe_code, reason = "a signal's handler cannot be set otherwise")]
    fn std_handles_no_bus_error() {
        // SAFETY: no handler is set, but the system's own behaviour, before anything is mapped.
        unsafe { libc::signal(libc::SIGBUS, libc::SIG_DFL) };
    }

    /// Has a file that may not grow any more be an error of who writes to it, which can be told, not the end of the program.
    #[expect(unsafe_code, reason = "a signal cannot be ignored otherwise")]
    fn files_that_grow_too_large_are_errors() {
        // SAFETY: no handler is set; the system is told to ignore the signal.
        unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    }

    /// The signals that whoever started the program wants to be ignored, as `nohup` does; a bit for each, from signal 1.
    fn ignored() -> u64 {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
    }
}
