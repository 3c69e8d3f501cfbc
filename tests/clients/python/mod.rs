//! The Python package: its wheel, and its tests with pytest.

use super::programs;
use super::tables::{read_each, totals_of};
use crate::common::files::{self, Recording};
use crate::common::oracle::note_missing_oracle;
use crate::common::program::run_other;
use crate::common::totals;
use std::collections::HashMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Instant;

/// The environment variable with the directories of packages.
const PATH: &str = "PYTHONPATH";

/// Seconds that a run of Python may take: the native module is built without optimization.
const TIME_LIMIT: &str = "300";

/// The directories of the installed package and of those that the tests use; `None` if they cannot be installed.
pub(super) fn packages() -> Option<&'static str> {
    static PACKAGES: OnceLock<Option<String>> = OnceLock::new();
    PACKAGES.get_or_init(|| programs::directory().and_then(install)).as_deref()
}

/// Builds the wheel with the program of this build, and installs it.
fn install(clients: &Path) -> Option<String> {
    let began = Instant::now();
    let tools = clients.join("wheel");
    let (wheels, target) = ["wheels", "python"].map(|name| Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)).into();
    let search = std::env::join_paths(
        [tools.join("bin")].into_iter().chain(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())),
    );
    for directory in [&wheels, &target] {
        let _ = fs::remove_dir_all(directory);
    }
    let mut build = Command::new("bash");
    build.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging/wheel.sh")).arg(&wheels);
    build.env("PROFILE", "quick").env("PROGRAM", env!("CARGO_BIN_EXE_perfconv"));
    build
        .env("PATH", search.expect("a search path"))
        .env("CARGO_TARGET_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("a target directory"));
    let built = run_other(&mut build);
    if built.status == 127 {
        note_missing_oracle("maturin");
        return None;
    }
    assert_eq!(built.status, 0, "{}", built.stderr);
    let wheel: PathBuf = fs::read_dir(&wheels).expect("wheels").next().expect("a wheel").expect("a wheel").path();
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--root-user-action", "ignore"]);
    let installed = run_other(pip.args(["--no-deps", "--target"]).arg(&target).arg(&wheel));
    assert_eq!(installed.status, 0, "{}", installed.stderr);
    let (size, seconds) = (fs::metadata(&wheel).expect("a wheel").len(), began.elapsed().as_secs());
    let mut out = io::stderr().lock();
    writeln!(out, "python: a wheel of {size} bytes is built and installed in {seconds} s").unwrap();
    Some([target, clients.join("python"), tools].map(|directory| directory.display().to_string()).join(":"))
}

/// Runs `python3` with the package.
fn python(packages: &str, args: &[&str], paths: &[&Path]) -> Result<String, String> {
    let mut command = Command::new("timeout");
    command.args([TIME_LIMIT, "python3"]).args(args).args(paths);
    let run = run_other(command.env(PATH, packages).env("PYTHONDONTWRITEBYTECODE", "1"));
    let text = String::from_utf8_lossy(&run.stdout).into_owned();
    if run.status == 0 { Ok(text) } else { Err(format!("{text}{}", run.stderr)) }
}

/// `pip install ./python` builds the source as it is in the repository, without the files that `packaging/wheel.sh` adds.
#[test]
fn the_source_installs_with_pip() {
    let Some(clients) = packages().and_then(|_| programs::directory()) else { return };
    let tools = clients.join("wheel");
    let target = tempfile::tempdir().unwrap();
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--root-user-action", "ignore"]);
    pip.args(["--no-deps", "--no-build-isolation", "--target"]).arg(target.path());
    pip.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("python")).env(PATH, &tools);
    let program = Path::new(env!("CARGO_BIN_EXE_perfconv")).parent().unwrap();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let search = [tools.join("bin"), program.to_owned()].into_iter().chain(std::env::split_paths(&path));
    let search = std::env::join_paths(search).unwrap();
    // The crate that the wheel was built from.
    let target_dir = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    pip.env("PATH", &search).env("CARGO_TARGET_DIR", target_dir).env("MATURIN_PEP517_ARGS", "--profile quick");
    let installed = run_other(&mut pip);
    assert_eq!(installed.status, 0, "{}", installed.stderr);
    let script = "import perfconv, sys; perfconv.rewrite(sys.argv[1], sys.argv[2], head=5)";
    let mut python = Command::new("python3");
    python.args(["-c", script]).arg(files::fixture("callgraph.data")).arg(target.path().join("out.data"));
    let rewritten = run_other(python.env(PATH, target.path()).env("PATH", &search));
    assert_eq!(rewritten.status, 0, "{}", rewritten.stderr);
}

#[test]
fn totals_in_pandas_polars_and_duckdb_equal_the_profile() {
    /// One of so many recordings of the corpus.
    const ONE_OF: usize = 4;
    let Some(packages) = packages() else { return };
    let recordings = files::share(ONE_OF);
    let paths: Vec<PathBuf> = recordings.iter().map(|recording| recording.path.clone()).collect();
    let read = read_each(&paths, include_str!("totals.py"), |script, paths| python(packages, &["-c", script], paths));
    let found: HashMap<_, _> = recordings.iter().map(|Recording { name, .. }| name.as_str()).zip(read).collect();
    let enough = files::enough("python", ONE_OF, 500, 20);
    totals::compare("python (pandas 3.1, Polars 2.1, DuckDB 2.0)", &recordings, enough, |recording, expected| {
        let found = found[recording.name.as_str()].clone()?;
        totals::check_equal(&totals::like(totals_of(&found), expected), expected)
    });
}

#[test]
fn the_package_passes_its_tests() {
    let Some(packages) = packages() else { return };
    let began = Instant::now();
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("python");
    let args = ["-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", "--rootdir"];
    let text = python(packages, &args, &[&tests, &tests]).unwrap_or_else(|text| panic!("{text}"));
    let summary = text.lines().last().unwrap_or_default();
    text.lines().filter(|line| line.contains(" of ") || line.contains(" are ")).for_each(|line| {
        note!("python: {}", line.trim_start_matches('.'));
    });
    note!("python: {summary}; {} s", began.elapsed().as_secs());
    let passed: usize = summary.split(' ').next().and_then(|count| count.parse().ok()).unwrap_or(0);
    assert!(passed >= 25 && !summary.contains("skipped"), "{text}");
}
