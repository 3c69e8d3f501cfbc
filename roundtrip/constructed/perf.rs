//! What the real perf shows of a recording.

use std::path::Path;
use std::process::{Command, Stdio};

/// What perf has to show.
#[derive(Clone)]
pub enum Perf {
    /// Arguments, and texts that stand in the output in this order; runs of blanks are made one.
    Shows(Vec<(&'static [&'static str], Vec<&'static str>)>),
    /// Why nothing of it.
    Unknown(&'static str),
}

/// Every record and all of its fields.
pub const DUMP: &[&str] = &["report", "-D", "--stdio"];
/// The features.
pub const HEADER: &[&str] = &["report", "--header-only", "-I", "--stdio"];
/// Every field of the attrs.
pub const EVENTS: &[&str] = &["evlist", "-v"];
/// Build ids of files.
pub const BUILD_IDS: &[&str] = &["buildid-list"];
/// Errors in AUX areas.
pub const AUX_ERRORS: &[&str] = &["script", "--itrace=e"];

impl Perf {
    /// What perf shows with arguments.
    pub fn shows(arguments: &'static [&'static str], texts: &[&'static str]) -> Self {
        Self::Shows(vec![(arguments, texts.to_vec())])
    }

    /// And with others.
    pub fn and(self, arguments: &'static [&'static str], texts: &[&'static str]) -> Self {
        match self {
            Self::Shows(mut shown) => {
                shown.push((arguments, texts.to_vec()));
                Self::Shows(shown)
            }
            unknown => unknown,
        }
    }

    /// Looks for the texts, and says what came of it.
    pub fn compare(&self, path: &Path) -> String {
        let shown = match self {
            Self::Shows(shown) => shown,
            Self::Unknown(why) => return format!("skipped: {why}"),
        };
        // Others say it in other words.
        if !run(&["--version"]).is_some_and(|version| version.starts_with("perf version 6.1.")) {
            return "skipped: there is no perf 6.1".to_owned();
        }
        let mut seen = 0;
        for (arguments, texts) in shown {
            let path_text = path.to_str().expect("the repository's path is text");
            let output = run(&[arguments, &["--force", "-i", path_text][..]].concat()).unwrap_or_default();
            let mut rest = &output[..];
            for text in texts {
                let Some(at) = rest.find(text) else {
                    panic!("{}: perf {arguments:?} does not show {text} in {rest:.4000}", path.display());
                };
                rest = &rest[at + text.len()..];
                seen += 1;
            }
        }
        format!("shows {seen} values")
    }
}

/// What perf prints, with runs of blanks made one; `None` where it is not there.
fn run(arguments: &[&str]) -> Option<String> {
    let mut perf = Command::new("timeout");
    perf.args(["60", "perf"]).args(arguments);
    perf.env("LC_ALL", "C").env_remove("DEBUGINFOD_URLS").stdin(Stdio::null());
    let output = perf.output().ok().filter(|output| output.status.code() != Some(127))?;
    Some(String::from_utf8_lossy(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" "))
}
