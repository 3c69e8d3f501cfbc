//! Programs that do not know the names that a recording carries read it as before.

use crate::common::files::{self, enough};
use crate::common::oracle::has_program;
use crate::common::program::{for_each, rewrite, run_other, with_time_limit};
use crate::common::symbol_sources::in_repository;
use std::fs;
use std::path::{Path, PathBuf};

/// What perf prints of a recording, without its name.
fn printed(path: &Path, args: &[&str]) -> (bool, String) {
    let run = run_other(with_time_limit("perf").args(args).arg("-i").arg(path).env("LC_ALL", "C"));
    let text = String::from_utf8_lossy(&run.stdout).replace(&path.display().to_string(), "RECORDING");
    (run.status == 0, text)
}

/// The recordings with programs in the repository, and those of a share of the corpus.
fn recordings() -> Vec<PathBuf> {
    let directory = fs::read_dir(in_repository("")).expect("a directory");
    let paths = directory.map(|entry| entry.expect("an entry").path());
    let paths = paths.filter(|path| path.extension().is_some_and(|extension| extension == "data"));
    paths.chain(files::share(ONE_OF).into_iter().map(|recording| recording.path)).collect()
}

/// Which share of the corpus is used.
const ONE_OF: usize = 8;

#[test]
fn perf_reads_recordings_with_names_as_without() {
    if !has_program("perf") {
        return;
    }
    let symfs = in_repository("files").display().to_string();
    let compared = for_each(&recordings(), |path| {
        let directory = tempfile::tempdir().expect("a temporary directory");
        // The names of the machine's own programs are stored, too: those of the corpus need not be its own.
        let args = ["--embed-symbols=full", "--symbols", "force", "--symfs", &symfs, "-q"];
        let mut outputs = Vec::new();
        for (name, args) in [("named.data", &args[..]), ("plain.data", &["--strip-symbols", "-q"])] {
            let output = directory.path().join(name);
            if rewrite(path, &output, args).is_err() || !output.is_file() {
                return None;
            }
            let size = fs::metadata(&output).expect("a file").len();
            let texts = [&["report", "--stdio"][..], &["script"]].map(|args| printed(&output, args));
            outputs.push((size, texts));
        }
        let [(with_names, named), (without_names, plain)] = &outputs[..] else { return None };
        assert_eq!(named, plain, "{}", path.display());
        let lines: usize = named.iter().map(|(_, text)| text.lines().count()).sum();
        Some((with_names > without_names, lines))
    });
    let compared: Vec<_> = compared.into_iter().flatten().collect();
    let with_names = compared.iter().filter(|(has_names, _)| *has_names).count();
    let lines: usize = compared.iter().map(|(_, lines)| lines).sum();
    note!("perf prints {} recordings as without names, {lines} lines; {with_names} of them have names", compared.len());
    let limit = enough("embedded_symbols", ONE_OF, 100, 10);
    assert!(with_names >= limit && lines > 1000, "compared too little: {with_names} recordings with names");
}
