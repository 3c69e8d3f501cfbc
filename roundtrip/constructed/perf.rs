//! What the real perf shows of a recording.

use std::path::Path;
use std::process::{Command, Stdio};

/// What perf has to show.
pub enum Perf {
    /// The arguments, and texts that stand in the output in this order; runs of blanks are made one.
    Shows(&'static [&'static str], &'static [&'static str]),
    /// Why nothing of it.
    Unknown(&'static str),
}

/// Every record and all of its fields.
pub const DUMP: &[&str] = &["report", "-D", "--stdio"];

impl Perf {
    /// Looks for the texts, and says what came of it.
    pub fn compare(&self, path: &Path) -> String {
        let (arguments, texts) = match self {
            Self::Shows(arguments, texts) => (arguments, texts),
            Self::Unknown(why) => return format!("skipped: {why}"),
        };
        let mut perf = Command::new("timeout");
        perf.args(["60", "perf"]).args(*arguments).arg("--force").arg("-i").arg(path);
        perf.env("LC_ALL", "C").env_remove("DEBUGINFOD_URLS").stdin(Stdio::null());
        let Ok(output) = perf.output() else { return "skipped: there is no timeout(1)".to_owned() };
        if output.status.code() == Some(127) {
            return "skipped: there is no perf".to_owned();
        }
        let shown = String::from_utf8_lossy(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
        let mut rest = &shown[..];
        for text in *texts {
            let Some(at) = rest.find(text) else {
                let errors = String::from_utf8_lossy(&output.stderr);
                panic!("{}: perf does not show {text} in {rest}\n{errors}", path.display());
            };
            rest = &rest[at + text.len()..];
        }
        format!("shows {} values", texts.len())
    }
}
