//! A real terminal, of tmux, for tests of what users see.

use crate::common::oracle::has_program;
use crate::common::program::run_other;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A program in a terminal. It ends with this value.
pub(super) struct Terminal {
    directory: TempDir,
}

/// How long a screen is waited for.
const LIMIT: Duration = Duration::from_secs(60);

impl Terminal {
    /// Starts a program in a terminal of 100 columns and 50 lines, in an empty home directory, with perfconv on its path; `None` if
    /// tmux is missing.
    pub(super) fn start(program: &[&str], prepare: impl FnOnce(&Path)) -> Option<Self> {
        if !has_program("tmux") {
            return None;
        }
        let terminal = Self { directory: tempfile::tempdir().expect("a temporary directory") };
        let home = terminal.home();
        prepare(home);
        let perfconv = Path::new(env!("CARGO_BIN_EXE_perfconv")).parent().expect("a directory").display();
        let path = format!("PATH={perfconv}:{}", std::env::var("PATH").unwrap_or_default());
        let variables = [path, format!("HOME={}", home.display()), "PS1=$ ".to_owned(), "LC_ALL=C.UTF-8".to_owned()];
        let size = ["-x", "100", "-y", "50"];
        let mut new = terminal.tmux(&["-f", "/dev/null", "new-session", "-d"]);
        new.args(size).arg("-c").arg(home).arg("env").args(variables).args(program);
        let started = run_other(&mut new);
        assert_eq!(started.status, 0, "{}", started.stderr);
        Some(terminal)
    }

    /// The home directory of the program, where it runs.
    pub(super) fn home(&self) -> &Path {
        self.directory.path()
    }

    fn tmux(&self, args: &[&str]) -> Command {
        let mut command = Command::new("tmux");
        command.arg("-S").arg(self.home().join(".tmux")).args(args).env_remove("TMUX");
        command
    }

    /// Types text.
    pub(super) fn type_text(&self, text: &str) {
        assert_eq!(run_other(&mut self.tmux(&["send-keys", "-l", text])).status, 0, "{text}");
    }

    /// Presses a key by tmux's name, such as `Enter`, `Tab` or `C-c`.
    pub(super) fn press(&self, key: &str) {
        assert_eq!(run_other(&mut self.tmux(&["send-keys", key])).status, 0, "{key}");
    }

    /// The screen without trailing blank lines.
    pub(super) fn screen(&self) -> String {
        let captured = run_other(&mut self.tmux(&["capture-pane", "-p"]));
        String::from_utf8_lossy(&captured.stdout).trim_end().to_owned()
    }

    /// Waits until the screen satisfies a condition, and returns it.
    pub(super) fn wait(&self, what: &str, is_reached: impl Fn(&str) -> bool) -> String {
        let end = Instant::now() + LIMIT;
        loop {
            let screen = self.screen();
            if is_reached(&screen) {
                return screen;
            }
            assert!(Instant::now() < end, "no {what} on the screen:\n{screen}");
            thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = run_other(&mut self.tmux(&["kill-server"]));
    }
}
