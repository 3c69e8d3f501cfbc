//! The standard streams as the program was started with them.

use super::failure::Failure;
use super::report::say;
use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicBool, Ordering};

static STDOUT_IS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Demands a standard output.
///
/// Before `main`, Rust's runtime opens `/dev/null` for reading and writing in place of standard streams that are closed, so that
/// writing succeeds and the output is lost. Afterwards nothing distinguishes that from a `/dev/null` of the caller: a shell opens
/// it for writing only, but Python's `subprocess.DEVNULL` and Node.js open it for both. So it is looked at before the runtime
/// starts, where the system allows that.
///
/// # Errors
/// Where the program was started without one.
pub fn demand_stdout() -> Result<(), Failure> {
    if STDOUT_IS_CLOSED.load(Ordering::Relaxed) {
        let what = "standard output: cannot write: it is closed; redirect it, or name a file with -o";
        return Err(Failure::Failed(what.to_owned()));
    }
    Ok(())
}

/// Says on standard error that a person is expected to type the input.
pub fn announce_terminal_input() {
    if io::stdin().is_terminal() {
        say(format_args!("perfconv: reading from standard input (terminal); end it with Ctrl-D, or name a recording"));
    }
}

#[cfg(target_os = "linux")]
mod before_main {
    use super::STDOUT_IS_CLOSED;
    use std::sync::atomic::Ordering;

    #[expect(unsafe_code, reason = "the place of functions that run before the runtime cannot be named otherwise")]
    #[used]
    // SAFETY: the section holds pointers to C functions, which the loader calls one by one. This one makes one system call and
    // stores to an atomic, neither of which needs the runtime.
    #[unsafe(link_section = ".init_array")]
    static CHECK_STREAMS: extern "C" fn() = check_streams;

    extern "C" fn check_streams() {
        let is_closed = rustix::io::fcntl_getfd(rustix::stdio::stdout()).is_err();
        STDOUT_IS_CLOSED.store(is_closed, Ordering::Relaxed);
    }
}
