//! The recordings that the tests run on: the fixtures always, the corpus beside the repository when it is there.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A recording: a file, or a directory that `perf record --threads` wrote.
pub struct Recording {
    /// What messages call it: its path below the fixtures or below the corpus.
    pub name: String,
    pub path: PathBuf,
    /// The samples in it as the table says that lists it, counted when it was recorded. Nothing for the few that were
    /// damaged in ways that leave the count open.
    pub listed_samples: Option<u64>,
}

/// The recordings in the repository. The table in their README is the list.
pub fn fixtures() -> Vec<Recording> {
    let folder = fixture("");
    let table = fs::read_to_string(folder.join("README.md")).expect("the fixtures have a README.md");
    let listed: Vec<Recording> = table
        .lines()
        .filter_map(|line| {
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            let name = cells.get(1)?.strip_prefix('`')?.strip_suffix('`')?;
            let samples = cells.get(4)?.parse().ok();
            Some(Recording { name: name.into(), path: folder.join(name), listed_samples: samples })
        })
        .collect();
    for entry in fs::read_dir(&folder).expect("the fixtures can be listed") {
        let name = entry.expect("the fixtures can be listed").file_name();
        let is_listed = name == "README.md" || listed.iter().any(|recording| *recording.name == *name);
        assert!(is_listed, "{name:?} is not in the table of the fixtures' README.md");
    }
    assert_found(listed)
}

/// The recordings beside the repository, by their manifests; none where the folder is not there.
pub fn corpus() -> Vec<Recording> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus");
    if !root.exists() {
        return Vec::new();
    }
    let manifests =
        [("MANIFEST-own.tsv", "own"), ("MANIFEST-peers.tsv", "peers"), ("peers/derived/MANIFEST.tsv", "peers")];
    assert_found(manifests.iter().flat_map(|(manifest, folder)| manifest_rows(&root, manifest, folder)).collect())
}

/// Fixtures and corpus.
pub fn recordings() -> Vec<Recording> {
    fixtures().into_iter().chain(corpus()).collect()
}

/// Whether tests that take a share of the corpus take all of it: by hand, since it takes long.
pub fn takes_all() -> bool {
    std::env::var_os("PERFCONV_TEST_ALL").is_some()
}

/// The fixtures, and every so manieth recording of the corpus: all of them where `PERFCONV_TEST_ALL` is set.
pub fn share(one_of: usize) -> Vec<Recording> {
    let one_of = if takes_all() { 1 } else { one_of };
    fixtures().into_iter().chain(corpus().into_iter().step_by(one_of)).collect()
}

/// How much is enough of what has to be found in a [share]: by what is enough of the whole corpus and of the fixtures alone.
/// Recordings of a kind stand together, so that a share has its share of them, if not to one.
pub fn enough(test: &str, one_of: usize, whole: usize, fixtures: usize) -> usize {
    match (has_corpus(test), takes_all()) {
        (false, _) => fixtures,
        (true, true) => whole,
        (true, false) => fixtures + (whole - fixtures) / one_of * 4 / 5,
    }
}

/// Whether a test has more than the fixtures. Where it has not, it says so.
pub fn has_corpus(test: &str) -> bool {
    let has_corpus = !corpus().is_empty();
    if !has_corpus {
        // Not through the macros, whose output the test harness hides when the test passes.
        let mut out = io::stderr();
        writeln!(out, "{test}: the fixtures alone, there is no corpus").unwrap();
    }
    has_corpus
}

/// The path of a fixture.
pub fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("roundtrip/fixtures").join(name)
}

fn manifest_rows(root: &Path, manifest: &str, folder: &str) -> Vec<Recording> {
    let table = fs::read_to_string(root.join(manifest)).expect("the corpus has its manifests");
    let mut lines = table.lines();
    let columns: Vec<&str> = lines.next().expect("a manifest has a header line").split('\t').collect();
    let column = |name: &str| columns.iter().position(|column| *column == name);
    let records = column("records").expect("a manifest has a column of records");
    let errors = column("scan_errors").expect("a manifest has a column of errors");
    lines
        .map(|line| {
            let cells: Vec<&str> = line.split('\t').collect();
            let name = format!("{folder}/{}", cells[0]);
            let samples = cells[records].split(' ').find_map(|count| count.strip_prefix("SAMPLE="));
            let samples = samples.map_or(0, |count| count.parse().expect("a count of samples"));
            let listed_samples = cells[errors].is_empty().then_some(samples);
            Recording { path: root.join(&name), name, listed_samples }
        })
        .collect()
}

fn assert_found(recordings: Vec<Recording>) -> Vec<Recording> {
    assert!(!recordings.is_empty(), "no recording is listed");
    for recording in &recordings {
        assert!(recording.path.exists(), "{} is listed and not there", recording.path.display());
    }
    recordings
}

/// Files by their paths, with their bytes; and folders, whose paths end in a slash, with none.
pub type Files = BTreeMap<String, Vec<u8>>;

/// All that is in a folder and the folders in it.
pub fn files_in(folder: &Path) -> Files {
    let mut files = Files::new();
    for entry in fs::read_dir(folder).expect("a folder that can be listed") {
        let entry = entry.expect("a folder that can be listed");
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.path().is_dir() {
            files.insert(format!("{name}/"), Vec::new());
            let inside = files_in(&entry.path()).into_iter();
            files.extend(inside.map(|(inner, bytes)| (format!("{name}/{inner}"), bytes)));
        } else {
            files.insert(name, fs::read(entry.path()).expect("a file that can be read"));
        }
    }
    files
}

/// Whether a path is of what is not complete, or in that.
pub fn is_temporary(path: &str) -> bool {
    path.split('/').any(|name| name.starts_with(".perfconv-") && name.ends_with(".tmp"))
}
