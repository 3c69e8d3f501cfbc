//! Paging of text on a terminal.

use std::process::Child;

/// A running pager whose input is the standard output of this process.
pub(super) struct Pager(Child);

/// Pagers in order of preference, by the variables that name them.
#[cfg(target_os = "linux")]
const VARIABLES: [&str; 2] = ["PERFCONV_PAGER", "PAGER"];

/// The pager if none is named: it exits if the text fits on the screen, and shows colors.
#[cfg(target_os = "linux")]
const DEFAULT: &str = "less -FRX";

impl Pager {
    /// Starts the pager in place of standard output; `None` if there is none, or it cannot be started.
    #[cfg(target_os = "linux")]
    pub(super) fn start() -> Option<Self> {
        use std::process::{Command, Stdio};
        let named = VARIABLES.into_iter().find_map(|name| std::env::var(name).ok());
        let command = named.unwrap_or_else(|| DEFAULT.to_owned());
        if command.trim().is_empty() || command.trim() == "cat" {
            return None;
        }
        let mut words = command.split_whitespace();
        let mut child = Command::new(words.next()?).args(words).stdin(Stdio::piped()).spawn().ok()?;
        let pipe = child.stdin.take()?;
        super::progress::share_terminal();
        rustix::stdio::dup2_stdout(&pipe).ok()?;
        Some(Self(child))
    }

    /// Paging needs a system that can replace standard output.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn start() -> Option<Self> {
        None
    }

    /// Ends the text, and waits until the user quits the pager.
    pub(super) fn wait(mut self) {
        #[cfg(target_os = "linux")]
        if let Ok(null) = std::fs::File::options().write(true).open("/dev/null") {
            // Closes the pipe.
            let _ = rustix::stdio::dup2_stdout(&null);
        }
        let _ = self.0.wait();
    }
}
