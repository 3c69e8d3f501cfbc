//! What the program writes, the library writes: the same bytes, side files, permissions and counts of records.

use crate::common::files::fixture;
use crate::common::program::{perfconv, run};
use perfconv::Recording;
use perfconv::formats::FORMATS;
use perfconv::recording::{Key, SymbolOptions};
use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// Inputs, and the directory of their object files.
fn inputs(directory: &Path) -> Vec<(PathBuf, Option<PathBuf>)> {
    let folded = directory.join("in.folded");
    fs::write(&folded, "main;work 3\nmain;wait 4\n").unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let profile = directory.join("in.pb.gz");
    Recording::open(fixture("callgraph.data")).unwrap().profile().write(&profile).unwrap();
    let words = (root.join("roundtrip/symbols/words.data"), Some(root.join("roundtrip/symbols/files")));
    let fixtures = ["two-events.data", "threads.dir", "pipe-compressed.data", "truncated.data"].map(fixture);
    fixtures.into_iter().chain([folded, profile]).map(|input| (input, None)).chain([words]).collect()
}

/// Permissions and contents of a file, or of everything in a directory, by path.
pub(super) fn contents(path: &Path) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    let mut all = BTreeMap::new();
    let mut rest = vec![path.to_owned()];
    while let Some(next) = rest.pop() {
        let metadata = fs::symlink_metadata(&next).unwrap();
        let bytes = if metadata.is_dir() {
            rest.extend(fs::read_dir(&next).unwrap().map(|entry| entry.unwrap().path()));
            Vec::new()
        } else {
            fs::read(&next).unwrap()
        };
        let name = next.strip_prefix(path).unwrap().to_owned();
        all.insert(name, (metadata.permissions().mode() & 0o777, bytes));
    }
    all
}

#[test]
fn every_format_is_written_as_by_the_program() {
    let directory = tempfile::tempdir().unwrap();
    let (ours, theirs) = (directory.path().join("library"), directory.path().join("program"));
    let mut compared = 0;
    for (input, symfs) in inputs(directory.path()) {
        for format in FORMATS.iter().filter(|format| format.output.is_some()) {
            let Some((extension, _)) = format.extensions.first() else { continue };
            [&ours, &theirs].iter().for_each(|directory| fs::create_dir(directory).unwrap());
            let name = format!("out.{extension}");
            let mut command = perfconv();
            command.arg(&input).arg("-o").arg(theirs.join(&name));
            let mut recording = Recording::open(&input).unwrap();
            if let Some(symfs) = &symfs {
                recording = recording.with_symbols(SymbolOptions::default().symfs(symfs));
            }
            if format.with_defaults().is_some_and(|output| output.shows_functions()) {
                match &symfs {
                    Some(symfs) => command.arg("--symfs").arg(symfs),
                    None => command.args(["--symbols", "no"]),
                };
            }
            let run = run(&mut command);
            let ledger = recording.convert().write(ours.join(&name));
            assert_eq!(ledger.is_ok(), run.status == 0, "{command:?}: {} {ledger:?}", run.stderr);
            if let Ok(ledger) = ledger {
                let last = format!("[ perfconv: {}: {ledger} ]", theirs.join(&name).display());
                assert_eq!(run.stderr.lines().last(), Some(&*last), "{command:?}");
                let (library, program) = (contents(&ours), contents(&theirs));
                let differing: Vec<_> =
                    program.iter().filter(|(path, file)| library.get(*path) != Some(file)).collect();
                let differing: Vec<_> =
                    differing.iter().map(|(path, (mode, _))| format!("{} {mode:o}", path.display())).collect();
                assert!(differing.is_empty() && library.len() == program.len(), "{command:?}: {differing:?}");
                compared += 1;
            }
            [&ours, &theirs].iter().for_each(|directory| fs::remove_dir_all(directory).unwrap());
        }
    }
    note!("library: {compared} outputs are those of the program");
    assert!(compared >= 90, "compared only {compared} outputs");
}

#[test]
fn outputs_are_as_private_as_their_input_and_links_are_followed() {
    let directory = tempfile::tempdir().unwrap();
    let input = directory.path().join("in.data");
    fs::copy(fixture("callgraph.data"), &input).unwrap();
    fs::set_permissions(&input, Permissions::from_mode(0o600)).unwrap();
    let (link, target) = (directory.path().join("link.jsonl"), directory.path().join("target"));
    fs::write(&target, "old").unwrap();
    symlink(&target, &link).unwrap();
    let recording = Recording::open(&input).unwrap();
    assert!(recording.convert().write(&link).unwrap_err().to_string().contains("already exists"));
    recording.convert().overwrite().write(&link).unwrap();
    assert!(link.is_symlink() && fs::read(&target).unwrap().starts_with(b"{"));
    assert_eq!(fs::metadata(&target).unwrap().permissions().mode() & 0o777, 0o600);
    let error = recording.convert().overwrite().write(&input).unwrap_err().to_string();
    assert!(error.ends_with("cannot overwrite the input; nothing was written; choose another output"), "{error}");
}

#[test]
fn an_anonymized_output_of_an_imported_profile_has_no_names_beside_it() {
    let directory = tempfile::tempdir().unwrap();
    let (input, output) = (directory.path().join("in.folded"), directory.path().join("out.data"));
    fs::write(&input, "secret_main;secret_work 3\n").unwrap();
    let recording = Recording::open(&input).unwrap();
    recording.convert().anonymize(Key::random().unwrap()).write(&output).unwrap();
    let written: Vec<_> =
        contents(directory.path()).into_iter().filter(|(path, _)| !path.ends_with("in.folded")).collect();
    assert_eq!(written.len(), 2, "the directory and the recording");
    assert!(written.iter().all(|(_, (_, bytes))| !bytes.windows(6).any(|part| part == b"secret")));
    recording.convert().overwrite().write(&output).unwrap();
    assert!(directory.path().join("out.data.images").is_dir());
}
