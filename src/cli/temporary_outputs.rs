//! Removes incomplete outputs when a panic or a signal ends the program, SIGBUS included, which the system sends if a memory-mapped
//! input was truncated.

use perf_data::container::output::incomplete::{OutputHold, try_hold};
use perf_data::container::temp_directory::remove_all;
use perf_data::threads::is_caught;
use std::{io, panic, process};

/// Message when a memory-mapped input can no longer be read.
pub(super) const INPUT_TRUNCATED: &str =
    "an input can no longer be read: it was truncated while in use, or its disk failed";

/// Exit status after a panic, as Rust's runtime sets it.
const PANICKED: i32 = 101;

/// Removes incomplete outputs when a panic or, from now on in a thread, a signal ends the program.
///
/// # Errors
/// Errors of the system.
pub(super) fn watch() -> io::Result<()> {
    watch_panics();
    #[cfg(unix)]
    signals::watch()?;
    Ok(())
}

/// Ends the program on a panic in any thread, whether or not the program was built to unwind.
fn watch_panics() {
    let report = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if is_caught() {
            return;
        }
        report(info);
        if let Some(outputs) = try_hold() {
            remove_outputs(&outputs);
        }
        process::exit(PANICKED);
    }));
}

/// Restores signals that a program run in place of this one would inherit as ignored.
#[cfg(unix)]
pub(super) fn restore_signals() {
    signals::set_file_size_signal(libc::SIG_DFL);
}

fn remove_outputs(outputs: &OutputHold) {
    outputs.remove_incomplete();
    remove_all();
}

#[cfg(unix)]
mod signals {
    use crate::cli::progress;
    use perf_data::container::output::incomplete::hold;
    use perf_data::threads::builder;
    use signal_hook::consts::{SIGBUS, SIGHUP, SIGINT, SIGQUIT, SIGTERM};
    use signal_hook::iterator::Signals;
    use signal_hook::low_level::{emulate_default_handler, exit};
    use std::fs;
    use std::io::{self, Write};
    use std::sync::mpsc::channel;

    /// Starts a thread that handles signals that end the program: it removes incomplete outputs, then runs the default action.
    pub(super) fn watch() -> io::Result<()> {
        let ignored = ignored();
        let watched = [SIGINT, SIGTERM, SIGHUP, SIGQUIT].into_iter().filter(|signal| ignored >> (signal - 1) & 1 == 0);
        reset_bus_error_handler();
        // A write beyond the file size limit fails with an error that can be reported.
        set_file_size_signal(libc::SIG_IGN);
        // Without the thread, signals must keep their default action.
        let (hand_over, received) = channel::<Signals>();
        let watch = move || {
            let Ok(mut signals) = received.recv() else { return };
            for signal in signals.forever() {
                // Before the lock: a thread that prints may hold the display.
                progress::end_for_signal();
                let outputs = hold();
                super::remove_outputs(&outputs);
                if signal == SIGBUS {
                    // `exit` runs no destructors or exit handlers: the faulting thread may be in the middle of a write.
                    let _ = writeln!(io::stderr(), "perfconv: {}", super::INPUT_TRUNCATED);
                    exit(1);
                }
                // This does not return: the default action of all these signals ends the program, with the lock held.
                let _ = emulate_default_handler(signal);
            }
        };
        if builder("signals").spawn(watch).is_ok() {
            // After SIGBUS the faulting instruction runs again and again until the program ends.
            let _ = hand_over.send(Signals::new(watched.chain([SIGBUS]))?);
        }
        Ok(())
    }

    /// Removes std's handler of SIGBUS: it is for stack overflows, and ends the program at once on any other fault.
    #[expect(unsafe_code, reason = "signal handlers can only be set by an unsafe call")]
    fn reset_bus_error_handler() {
        // SAFETY: no handler is installed, only the default action, before any file is mapped.
        unsafe { libc::signal(libc::SIGBUS, libc::SIG_DFL) };
    }

    /// Sets the action of SIGXFSZ: the default one, or none.
    #[expect(unsafe_code, reason = "actions of signals can only be set by an unsafe call")]
    pub(super) fn set_file_size_signal(action: libc::sighandler_t) {
        // SAFETY: no handler is installed; the signal has its default action or is ignored.
        unsafe { libc::signal(libc::SIGXFSZ, action) };
    }

    /// Signals that the parent process set to be ignored, as `nohup` does, as a bit mask from signal 1.
    fn ignored() -> u64 {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perf_data::container::output::incomplete::file_in;
    use std::path::Path;
    use std::{env, fs};

    /// Set in the process that panics, to the directory of its output.
    const DIRECTORY: &str = "PERFCONV_TEST_PANIC";

    #[test]
    fn a_panic_removes_incomplete_outputs() {
        if let Some(directory) = env::var_os(DIRECTORY) {
            watch_panics();
            let output = file_in(Path::new(&directory)).unwrap();
            panic!("while writing {}", output.path().display());
        }
        let directory = tempfile::tempdir().unwrap();
        let mut test = process::Command::new(env::current_exe().unwrap());
        test.args(["--exact", "cli::temporary_outputs::tests::a_panic_removes_incomplete_outputs", "--nocapture"]);
        let output = test.env(DIRECTORY, directory.path()).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(PANICKED), "{errors}");
        assert!(errors.contains("while writing "), "{errors}");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
