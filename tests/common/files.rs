//! Test recordings: the fixtures, and a corpus next to the repository if it exists.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// A recording: a file, or a directory written by `perf record --threads`.
pub(crate) struct Recording {
    /// The name in messages: the path relative to the fixtures or the corpus.
    pub name: String,
    pub path: PathBuf,
    /// The number of samples by the table that lists the recording, counted when it was recorded. `None` for a few that are
    /// corrupted in ways that leave the count open.
    pub listed_samples: Option<u64>,
}

/// The recordings in the repository, listed by the table in their README.
pub(crate) fn fixtures() -> Vec<Recording> {
    let dir = fixture("");
    let table = fs::read_to_string(dir.join("README.md")).expect("the fixtures should have a README.md");
    let listed: Vec<Recording> = table
        .lines()
        .filter_map(|line| {
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            let name = cells.get(1)?.strip_prefix('`')?.strip_suffix('`')?;
            let samples = cells.get(4)?.parse().ok();
            Some(Recording { name: name.into(), path: dir.join(name), listed_samples: samples })
        })
        .collect();
    for entry in fs::read_dir(&dir).expect("the fixtures should be listable") {
        let name = entry.expect("the fixtures should be listable").file_name();
        let is_listed = ["README.md", "perf_to_profile"].iter().any(|other| name == *other)
            || listed.iter().any(|recording| *recording.name == *name);
        assert!(is_listed, "{name:?} is not in the table of the fixtures' README.md");
    }
    assert_found(listed)
}

/// The recordings of the corpus, listed by its manifests; none if it does not exist.
pub(crate) fn corpus() -> Vec<Recording> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus");
    if !root.exists() {
        return Vec::new();
    }
    let manifests =
        [("MANIFEST-own.tsv", "own"), ("MANIFEST-peers.tsv", "peers"), ("peers/derived/MANIFEST.tsv", "peers")];
    assert_found(manifests.iter().flat_map(|(manifest, dir)| manifest_rows(&root, manifest, dir)).collect())
}

/// The recordings in the directory that `PERFCONV_CORPUS` names, as of `tests/corpus.sh`; none if it is not set.
fn recorded_here() -> Vec<Recording> {
    let Some(directory) = std::env::var_os("PERFCONV_CORPUS").map(PathBuf::from) else { return Vec::new() };
    let entries = fs::read_dir(&directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("the directory should be listable").path()).collect();
    paths.sort();
    let name = |path: &Path| format!("here/{}", path.file_name().unwrap_or_default().display());
    assert_found(paths.into_iter().map(|path| Recording { name: name(&path), path, listed_samples: None }).collect())
}

/// All recordings: the fixtures, the corpus, and those of `PERFCONV_CORPUS`.
pub(crate) fn recordings() -> Vec<Recording> {
    fixtures().into_iter().chain(corpus()).chain(recorded_here()).collect()
}

/// Whether tests that use a share of the corpus should use all of it, which takes long.
pub(crate) fn uses_all() -> bool {
    std::env::var_os("PERFCONV_TEST_ALL").is_some()
}

/// The fixtures, every `one_of`th recording of the corpus, or all of them if `PERFCONV_TEST_ALL` is set, and those of
/// `PERFCONV_CORPUS`.
pub(crate) fn share(one_of: usize) -> Vec<Recording> {
    let one_of = if uses_all() { 1 } else { one_of };
    fixtures().into_iter().chain(corpus().into_iter().step_by(one_of)).chain(recorded_here()).collect()
}

/// The number of results that a test of a [share] must have, derived from the numbers for the whole corpus and for the fixtures
/// alone. Similar recordings are adjacent in the corpus, so a share covers roughly its share of each kind.
pub(crate) fn enough(test: &str, one_of: usize, all: usize, fixtures: usize) -> usize {
    match (has_corpus(test), uses_all()) {
        (false, _) => fixtures,
        (true, true) => all,
        (true, false) => fixtures + (all - fixtures) / one_of * 4 / 5,
    }
}

/// Whether the corpus exists. If not, prints a note.
pub(crate) fn has_corpus(test: &str) -> bool {
    let has_corpus = !corpus().is_empty();
    if !has_corpus {
        note!("{test}: no corpus; using the fixtures only");
    }
    has_corpus
}

/// The path of a fixture.
pub(crate) fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("roundtrip/fixtures").join(name)
}

fn manifest_rows(root: &Path, manifest: &str, dir: &str) -> Vec<Recording> {
    let table = fs::read_to_string(root.join(manifest)).expect("the corpus should contain its manifests");
    let mut lines = table.lines();
    let columns: Vec<&str> = lines.next().expect("a manifest should have a header line").split('\t').collect();
    let column = |name: &str| columns.iter().position(|column| *column == name);
    let records = column("records").expect("a manifest should have a column of records");
    let errors = column("scan_errors").expect("a manifest should have a column of errors");
    lines
        .map(|line| {
            let cells: Vec<&str> = line.split('\t').collect();
            let name = format!("{dir}/{}", cells[0]);
            let samples = cells[records].split(' ').find_map(|count| count.strip_prefix("SAMPLE="));
            let samples = samples.map_or(0, |count| count.parse().expect("a count of samples"));
            let listed_samples = cells[errors].is_empty().then_some(samples);
            Recording { path: root.join(&name), name, listed_samples }
        })
        .collect()
}

fn assert_found(recordings: Vec<Recording>) -> Vec<Recording> {
    assert!(!recordings.is_empty(), "no recordings are listed");
    for recording in &recordings {
        assert!(recording.path.exists(), "{} is listed, but missing", recording.path.display());
    }
    recordings
}

/// Files by relative path, with their bytes; and directories, whose paths end in a slash, with none.
pub(crate) type Files = BTreeMap<String, Vec<u8>>;

/// Returns all files in a directory, recursively.
pub(crate) fn files_in(dir: &Path) -> Files {
    let mut files = Files::new();
    for entry in fs::read_dir(dir).expect("a readable directory") {
        let entry = entry.expect("a readable directory");
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.path().is_dir() {
            files.insert(format!("{name}/"), Vec::new());
            let inside = files_in(&entry.path()).into_iter();
            files.extend(inside.map(|(inner, bytes)| (format!("{name}/{inner}"), bytes)));
        } else {
            files.insert(name, fs::read(entry.path()).expect("a readable file"));
        }
    }
    files
}

/// Whether a path is, or is in, a temporary output of perfconv.
pub(crate) fn is_temporary(path: &str) -> bool {
    path.split('/').any(|name| name.starts_with(".perfconv-") && name.ends_with(".tmp"))
}
