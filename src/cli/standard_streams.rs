//! State of the standard streams at the start of the program.

use super::report::print_message;
use perf_data::error::{Error, Result};
#[cfg(unix)]
use std::fs::File;
use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the program was started without standard output; `false` where that cannot be determined.
static STDOUT_IS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Fails if standard output is closed.
///
/// Before `main`, Rust's runtime opens `/dev/null` for reading and writing in place of closed standard streams, so that writes
/// succeed and the output is lost. After that, it cannot be distinguished from a `/dev/null` that the caller passed: shells open
/// it for writing only, but Python's `subprocess.DEVNULL` and Node.js open it for both. Therefore the state is recorded before
/// the runtime starts, where the system allows that.
///
/// # Errors
/// If the program was started without standard output.
pub(super) fn require_stdout() -> Result<()> {
    if STDOUT_IS_CLOSED.load(Ordering::Relaxed) {
        let closed = io::Error::other("it is closed; redirect it, or name a file with -o");
        return Err(Error::io("standard output", "cannot write")(closed));
    }
    Ok(())
}

/// Whether standard input is a pipe; `false` where that cannot be determined.
#[cfg(unix)]
pub(super) fn stdin_is_pipe() -> bool {
    use std::os::fd::AsFd;
    use std::os::unix::fs::FileTypeExt;
    let stdin = io::stdin().as_fd().try_clone_to_owned().map(File::from);
    stdin.and_then(|stdin| stdin.metadata()).is_ok_and(|metadata| metadata.file_type().is_fifo())
}

#[cfg(not(unix))]
pub(super) fn stdin_is_pipe() -> bool {
    false
}

/// Reports that the program reads from a terminal.
pub(super) fn announce_terminal_input() {
    if io::stdin().is_terminal() {
        print_message(format_args!(
            "perfconv: reading from standard input (terminal); end it with Ctrl-D, or name a recording"
        ));
    }
}

#[cfg(target_os = "linux")]
mod before_main {
    use super::STDOUT_IS_CLOSED;
    use std::sync::atomic::Ordering;

    #[expect(unsafe_code, reason = "functions that run before the runtime must be in this section")]
    #[used]
    // SAFETY: the section contains pointers to C functions, which the loader calls in turn. This one makes one system call and
    // stores to an atomic; neither needs the runtime.
    #[unsafe(link_section = ".init_array")]
    static CHECK_STREAMS: extern "C" fn() = check_streams;

    extern "C" fn check_streams() {
        let is_closed = rustix::io::fcntl_getfd(rustix::stdio::stdout()).is_err();
        STDOUT_IS_CLOSED.store(is_closed, Ordering::Relaxed);
    }
}
