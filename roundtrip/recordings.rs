//! The recordings under test: the fixtures, the constructed recordings, those of the scenarios, and a corpus next to the
//! repository if it exists.

use crate::{constructed, scenarios};
use std::env;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

/// All recordings.
pub(crate) fn all() -> Vec<PathBuf> {
    let mut directories =
        ["roundtrip/fixtures", "../shared/corpus/own", "../shared/corpus/peers"].map(PathBuf::from).to_vec();
    // Recorded by tests/corpus.sh.
    directories.extend(env::var_os("PERFCONV_CORPUS").map(PathBuf::from));
    within(&directories)
}

/// Only the recordings in the repository.
pub(crate) fn fixtures() -> Vec<PathBuf> {
    within(&["roundtrip/fixtures".into()])
}

fn within(directories: &[PathBuf]) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut paths = Vec::new();
    directories.iter().for_each(|directory| find(&root.join(directory), &mut paths));
    paths.sort();
    paths.extend_from_slice(constructed::all());
    paths.extend(scenarios::all().iter().map(|recording| recording.path.clone()));
    paths
}

/// The number of generated recordings, which are in no directory of the repository.
fn generated() -> usize {
    constructed::all().len() + scenarios::all().len()
}

/// The number of recordings that a test must read. Prints a note if there is no corpus.
pub(crate) fn enough(test: &str) -> usize {
    if Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus").exists() {
        return 540 + generated();
    }
    note!("{test}: no corpus; using fixtures, constructed and synthetic recordings only");
    15 + generated()
}

fn find(path: &Path, paths: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(path) else {
        paths.extend(has_magic(path).then(|| path.to_owned()));
        return;
    };
    if path.join("data").is_file() {
        paths.push(path.to_owned());
        return;
    }
    entries.flatten().for_each(|entry| find(&entry.path(), paths));
}

/// Whether a file begins with the magic of either version and byte order. Some files of the corpus are compressed as a whole.
fn has_magic(path: &Path) -> bool {
    let mut magic = [0; 8];
    let result = File::open(path).and_then(|mut file| file.read_exact(&mut magic));
    result.is_ok() && matches!(&magic, b"PERFILE2" | b"2ELIFREP" | b"PERFFILE")
}
