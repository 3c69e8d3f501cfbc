//! The recordings that are tried: the fixtures, those that are constructed and made up, and the corpus beside the repository
//! when it is there.

use crate::{constructed, scenarios};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// Every recording.
pub fn all() -> Vec<PathBuf> {
    within(&["roundtrip/fixtures", "../shared/corpus/own", "../shared/corpus/peers"])
}

/// The recordings that are in the repository.
pub fn fixtures() -> Vec<PathBuf> {
    within(&["roundtrip/fixtures"])
}

fn within(folders: &[&str]) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    folders.iter().for_each(|folder| find(&root.join(folder), &mut found));
    found.sort();
    found.extend_from_slice(constructed::all());
    found.extend(scenarios::all().iter().map(|made| made.path.clone()));
    found
}

/// How many are in no folder.
fn made() -> usize {
    constructed::all().len() + scenarios::all().len()
}

/// How many recordings a test has to read, with the corpus and without. Where the corpus is not there, it
/// says so.
pub fn enough(test: &str) -> usize {
    if Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus").exists() {
        return 540 + made();
    }
    // Not through the macros, whose output the test harness hides when the test passes.
    let mut out = io::stderr();
    writeln!(out, "{test}: the fixtures and what is constructed and made up, there is no corpus").unwrap();
    15 + made()
}

fn find(path: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(path) else {
        found.extend(looks_like_a_recording(path).then(|| path.to_owned()));
        return;
    };
    if path.join("data").is_file() {
        found.push(path.to_owned());
        return;
    }
    entries.flatten().for_each(|entry| find(&entry.path(), found));
}

/// Whether a file begins with the magic of either version and byte order. Some in the corpus are compressed as a whole.
fn looks_like_a_recording(path: &Path) -> bool {
    let mut magic = [0; 8];
    let begins = File::open(path).and_then(|mut file| file.read_exact(&mut magic));
    begins.is_ok() && matches!(&magic, b"PERFILE2" | b"2ELIFREP" | b"PERFFILE")
}
