//! Comparison with the output of perf.

use std::path::Path;
use std::process::{Command, Stdio};

/// The expected output of perf.
#[derive(Clone)]
pub(crate) enum Perf {
    /// Command-line arguments, and texts that occur in the output in this order; each run of whitespace is one space.
    Shows(Vec<(&'static [&'static str], Vec<&'static str>)>),
    /// perf prints nothing useful, with the reason.
    Unknown(&'static str),
}

/// Prints every record with all its fields.
pub(super) const DUMP: &[&str] = &["report", "-D", "--stdio"];
/// Prints the features.
pub(super) const HEADER: &[&str] = &["report", "--header-only", "-I", "--stdio"];
/// Prints every field of the attrs.
pub(super) const EVENTS: &[&str] = &["evlist", "-v"];
/// Prints the build IDs.
pub(super) const BUILD_IDS: &[&str] = &["buildid-list"];
/// Prints errors in AUX areas.
pub(super) const AUX_ERRORS: &[&str] = &["script", "--itrace=e"];

impl Perf {
    /// Expects texts in the output of one perf command.
    pub(crate) fn shows(arguments: &'static [&'static str], texts: &[&'static str]) -> Self {
        Self::Shows(vec![(arguments, texts.to_vec())])
    }

    /// Expects texts in the output of another perf command too.
    pub(crate) fn and(self, arguments: &'static [&'static str], texts: &[&'static str]) -> Self {
        match self {
            Self::Shows(mut shown) => {
                shown.push((arguments, texts.to_vec()));
                Self::Shows(shown)
            }
            unknown => unknown,
        }
    }

    /// Runs perf and looks for the texts. Returns a summary.
    pub(crate) fn compare(&self, path: &Path) -> String {
        let shown = match self {
            Self::Shows(shown) => shown,
            Self::Unknown(why) => return format!("skipped: {why}"),
        };
        // Other versions print other texts.
        if !run(&["--version"]).is_some_and(|version| version.starts_with("perf version 6.1.")) {
            let is_required = std::env::var_os("PERFCONV_REQUIRE_ORACLES").is_some_and(|value| value == "1");
            assert!(!is_required, "perf 6.1 is missing, and PERFCONV_REQUIRE_ORACLES=1 requires it");
            return "skipped: perf 6.1 is not installed".to_owned();
        }
        let mut seen = 0;
        for (arguments, texts) in shown {
            let path_text = path.to_str().expect("the repository path should be UTF-8");
            let output = run(&[arguments, &["--force", "-i", path_text][..]].concat()).unwrap_or_default();
            let mut rest = &output[..];
            for text in texts {
                let Some(at) = rest.find(text) else {
                    panic!("{}: perf {arguments:?} does not print {text} in {rest:.4000}", path.display());
                };
                rest = &rest[at + text.len()..];
                seen += 1;
            }
        }
        format!("prints {seen} values")
    }
}

/// Returns perf's output, with each run of whitespace as one space; `None` if perf is not installed.
fn run(arguments: &[&str]) -> Option<String> {
    // A limit of CPU time, which a busy machine does not use up.
    let mut perf = Command::new("sh");
    perf.args(["-c", "ulimit -t 60 && exec perf \"$@\"", "sh"]).args(arguments);
    perf.env("LC_ALL", "C").env_remove("DEBUGINFOD_URLS").stdin(Stdio::null());
    let output = perf.output().ok().filter(|output| output.status.code() != Some(127))?;
    Some(String::from_utf8_lossy(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" "))
}
