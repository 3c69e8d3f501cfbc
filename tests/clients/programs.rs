//! Programs that read profiles, installed from npm and PyPI.

use crate::common::oracle::{has_program, note_missing_oracle};
use crate::common::program::{perfconv, run_other, try_run, with_time_limit};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The directory with the programs, installed if needed; `None` if that fails.
pub(super) fn directory() -> Option<&'static Path> {
    static DIRECTORY: OnceLock<Option<PathBuf>> = OnceLock::new();
    DIRECTORY.get_or_init(install).as_deref()
}

fn install() -> Option<PathBuf> {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("clients");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/install-clients.sh");
    // The script copies itself at its end.
    if fs::read(directory.join("complete")).is_ok_and(|installed| fs::read(&script).is_ok_and(|new| new == installed)) {
        return Some(directory);
    }
    let run = run_other(Command::new("sh").arg(script).arg(&directory));
    if run.status != 0 {
        note!("clients are not installed: {}", run.stderr);
        note_missing_oracle("tests/install-clients.sh");
        return None;
    }
    Some(directory)
}

/// Runs a Python script with arguments, in which the packages can be imported; returns its output.
pub(super) fn python(clients: &Path, script: &str, args: &[&Path]) -> Result<String, String> {
    let mut command = with_time_limit("python3");
    command.args(["-c", script]).args(args).env("PYTHONPATH", clients.join("python"));
    let run = run_other(&mut command);
    let text = String::from_utf8_lossy(&run.stdout).into_owned();
    if run.status == 0 { Ok(text) } else { Err(run.stderr) }
}

/// Converts a recording, and reads the output with a Python script that prints JSON.
pub(super) fn read_converted(
    clients: &Path,
    script: &str,
    recording: &Path,
    output: &Path,
    args: &[&str],
) -> Result<Value, String> {
    try_run(perfconv().arg(recording).arg("-o").arg(output).args(["-f", "-q"]).args(args))?;
    serde_json::from_str(&python(clients, script, &[output])?).map_err(|error| error.to_string())
}

const BROWSER: &str = "chromium";

/// Whether there is a browser.
pub(super) fn has_browser() -> bool {
    has_program(BROWSER)
}

/// The document of a page after its scripts have run, in a browser without a window.
pub(super) fn browse(address: &str) -> String {
    let mut browser = with_time_limit(BROWSER);
    let profile = tempfile::tempdir().expect("a temporary directory");
    browser.args(["--headless", "--no-sandbox", "--disable-gpu", "--enable-unsafe-swiftshader"]);
    browser.args(["--virtual-time-budget=20000", "--dump-dom"]);
    browser.arg(format!("--user-data-dir={}", profile.path().display()));
    String::from_utf8_lossy(&run_other(browser.arg(address)).stdout).into_owned()
}

/// What speedscope shows of a file.
pub(super) struct Speedscope {
    /// The title of the page, which contains the name of a loaded file.
    pub title: String,
    /// Names and values of the profiles; empty if there is only one.
    pub profiles: Vec<(String, String)>,
}

/// Loads a file in speedscope.
pub(super) fn speedscope(clients: &Path, file: &Path) -> Speedscope {
    let encoded = STANDARD.encode(fs::read(file).expect("a file"));
    let name = file.file_name().expect("a name").to_string_lossy();
    let script = file.with_extension("js");
    fs::write(&script, format!("speedscope.loadFileFromBase64(\"{name}\", \"{encoded}\")")).expect("a script");
    let page = clients.join("node_modules/speedscope/dist/release/index.html");
    let document = browse(&format!("file://{}#localProfilePath={}", page.display(), script.display()));
    let rows = document.split("<tr title=\"").skip(1).map(|row| {
        let text =
            |part: &str| part.split_once('>').map_or("", |(_, rest)| rest).split('<').next().unwrap_or("").to_owned();
        let name = row.split_once("<span").map_or(String::new(), |(_, rest)| text(rest));
        let value = row.rsplit_once("<td ").map_or(String::new(), |(_, rest)| text(rest));
        (unescape(&name), value)
    });
    let title = document.split_once("<title>").and_then(|(_, rest)| rest.split("</title>").next());
    Speedscope { title: unescape(title.unwrap_or_default()), profiles: rows.collect() }
}

fn unescape(text: &str) -> String {
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

/// A session of the command line of the Firefox Profiler with a profile.
pub(super) struct FirefoxSession<'a> {
    clients: &'a Path,
    /// Where it stores the session.
    home: tempfile::TempDir,
}

impl<'a> FirefoxSession<'a> {
    /// Loads a profile.
    pub(super) fn load(clients: &'a Path, profile: &Path) -> Result<Self, String> {
        let session = Self { clients, home: tempfile::tempdir().expect("a temporary directory") };
        let load = || session.run(&["load", &profile.display().to_string()]);
        // Its server must start within half a second, which a busy machine may not reach.
        let is_late = |loaded: &Result<String, String>| {
            loaded.as_ref().is_err_and(|error| error.contains("did not become ready"))
        };
        let mut attempts = std::iter::repeat_with(load).take(10);
        attempts.find(|loaded| !is_late(loaded)).ok_or("its server does not start")?.map(|_| session)
    }

    /// Runs a command; returns its output.
    pub(super) fn run(&self, args: &[&str]) -> Result<String, String> {
        let modules = self.clients.join("node_modules");
        let mut command = with_time_limit("env");
        command.arg(modules.join(".bin/node")).arg(modules.join("@firefox-devtools/profiler-cli/dist/profiler-cli.js"));
        let run = run_other(command.args(args).env("HOME", self.home.path()));
        let text = String::from_utf8_lossy(&run.stdout).into_owned();
        if run.status == 0 { Ok(text) } else { Err(format!("{args:?}: {text}{}", run.stderr)) }
    }

    /// Runs a command; returns its output as JSON.
    pub(super) fn query(&self, args: &[&str]) -> Result<serde_json::Value, String> {
        serde_json::from_str(&self.run(&[args, &["--json"]].concat())?).map_err(|error| error.to_string())
    }
}

impl Drop for FirefoxSession<'_> {
    fn drop(&mut self) {
        let _ = self.run(&["stop", "--all"]);
    }
}
