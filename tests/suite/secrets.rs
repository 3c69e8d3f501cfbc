//! Anonymized outputs of every format, with their side files, contain no string of the input: neither of its records nor of its
//! path, warnings, functions or titles.

use super::anonymize::secrets;
use crate::common::branch_profiles::BRANCH_PROFILES;
use crate::common::files::{self, fixture};
use crate::common::program::{for_each, perfconv, run, succeed};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::{MultiGzDecoder, ZlibDecoder};
use memchr::memmem;
use perfconv::formats::FORMATS;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Part of the path of each input.
const PLACE: &str = "confidential-project";

/// An input, and the strings that its outputs may not contain.
struct Secret {
    name: String,
    path: PathBuf,
    strings: BTreeSet<Vec<u8>>,
}

/// Formats that can be written.
fn formats() -> Vec<&'static str> {
    let names = FORMATS.iter().filter(|format| format.output.is_some()).map(|format| format.name);
    // Names of functions are what these are for.
    names.filter(|name| !BRANCH_PROFILES.contains(name)).collect()
}

/// The contents of a file as they are, decompressed, and decoded from Base64.
fn views(bytes: Vec<u8>) -> Vec<Vec<u8>> {
    let mut views = vec![bytes];
    let mut at = 0;
    while let Some(view) = views.get(at) {
        let mut inside = Vec::new();
        let mut unpack = |reader: &mut dyn Read| {
            let mut unpacked = Vec::new();
            // What precedes damage counts, too.
            let _ = reader.read_to_end(&mut unpacked);
            inside.extend((!unpacked.is_empty()).then_some(unpacked));
        };
        match &view[..] {
            [0x1f, 0x8b, ..] => unpack(&mut MultiGzDecoder::new(&view[..])),
            [0x78, 1 | 0x5e | 0x9c | 0xda, ..] => unpack(&mut ZlibDecoder::new(&view[..])),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => unpack(&mut zstd::Decoder::new(&view[..]).unwrap()),
            _ => {}
        }
        let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=".contains(byte);
        let blocks = view.split(|byte| !is_base64(byte)).filter(|block| block.len() >= 200);
        inside.extend(blocks.filter_map(|block| STANDARD.decode(block).ok()));
        views.extend(inside);
        at += 1;
    }
    views
}

/// The names and contents of everything that an anonymizing conversion writes; `None` if the format cannot be written from it.
fn written(input: &Path, format: &str, more: &[&str]) -> Option<Vec<Vec<u8>>> {
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("output");
    let mut command = perfconv();
    command.arg(input).args(["--anonymize", "-t", format, "-f", "-q", "-o"]).arg(&output).args(more);
    let run = run(command.env("HOME", "/nonexistent").current_dir(directory.path()));
    if run.status != 0 {
        assert_eq!(run.status, 1, "{}: {format}: {}", input.display(), run.stderr);
        return None;
    }
    let files = files::files_in(directory.path());
    Some(files.into_iter().flat_map(|(name, bytes)| views(bytes).into_iter().chain([name.into_bytes()])).collect())
}

/// Copies an input below a directory with a secret name.
fn placed(directory: &Path, name: &str, from: &Path) -> PathBuf {
    let place = directory.join(PLACE);
    fs::create_dir_all(&place).unwrap();
    let path = place.join(name);
    if from.is_dir() {
        fs::create_dir(&path).unwrap();
        fs::read_dir(from).unwrap().for_each(|entry| {
            let entry = entry.unwrap();
            fs::copy(entry.path(), path.join(entry.file_name())).unwrap();
        });
    } else {
        fs::copy(from, &path).unwrap();
    }
    path
}

/// A recording whose host, cgroup and threads, and whose own name, are secret.
fn named_recording(directory: &Path) -> Secret {
    let jsonl = run(perfconv().arg(fixture("cgroup.data")).args(["-t", "jsonl", "-q", "-o", "-"])).stdout;
    let mut text = String::from_utf8(jsonl).unwrap();
    let names = [
        ("{\"feature\":\"HOSTNAME\",\"content\":\"vm\"}", "vm", "classified-host"),
        ("\"path\":\"/demo\"", "demo", "classified-cgroup"),
        ("\"comm\":\"sh\"", "sh", "classified-comm"),
        ("{\"feature\":\"OSRELEASE\",\"content\":\"6.18.44-fc-v657\"}", "6.18.44", "6.18.44-classified-kernel"),
    ];
    for (field, before, after) in names {
        assert!(text.contains(field), "{field}");
        text = text.replace(field, &field.replace(before, after));
    }
    let secret_directory = directory.join(PLACE);
    let (edited, path) = (secret_directory.join("edited.jsonl"), secret_directory.join("classified-input.data"));
    fs::write(&edited, text).unwrap();
    succeed(perfconv().arg(&edited).args(["-q", "-o"]).arg(&path));
    let mut strings: BTreeSet<Vec<u8>> = names[..3].iter().map(|(.., name)| name.as_bytes().to_vec()).collect();
    strings.insert("classified-input".into());
    Secret { name: "named recording".to_owned(), path, strings }
}

/// Recordings, some of them with damage, which warnings describe.
fn recordings(directory: &Path) -> Vec<Secret> {
    let names = [
        "callgraph.data",
        "cgroup.data",
        "tracepoints.data",
        "system-wide.data",
        "truncated.data",
        "killed.data",
        "pipe.data",
    ];
    let mut inputs: Vec<_> = names.iter().map(|name| placed(directory, name, &fixture(name))).collect();
    // Not at the end of a record.
    for name in ["callgraph.data", "tracepoints.data"] {
        let bytes = fs::read(fixture(name)).unwrap();
        let path = directory.join(PLACE).join(format!("cut-{name}"));
        fs::write(&path, &bytes[..bytes.len() * 2 / 3 + 5]).unwrap();
        inputs.push(path);
    }
    let secret = |path: PathBuf| {
        let mut strings = secrets(&path);
        // Shorter words are parts of keys of JSON, such as `start_cpu`.
        strings.retain(|secret| secret.len() > 5);
        strings.insert(PLACE.into());
        Secret { name: path.file_name().unwrap().to_string_lossy().into_owned(), path, strings }
    };
    let named = named_recording(directory);
    inputs.into_iter().map(secret).chain([named]).collect()
}

/// Profiles of other formats, with functions and files.
fn profiles(directory: &Path) -> Vec<Secret> {
    let symbols = Path::new(env!("CARGO_MANIFEST_DIR")).join("roundtrip/symbols");
    let place = directory.join(PLACE);
    fs::create_dir_all(&place).unwrap();
    let secret = |format: &&str| {
        let path = place.join(format!("profile.{format}"));
        let mut command = perfconv();
        command.arg(symbols.join("words.data")).args(["-t", format, "-q", "-o"]).arg(&path);
        succeed(command.arg("--symfs").arg(symbols.join("files")).env("HOME", "/nonexistent"));
        let mut strings: BTreeSet<Vec<u8>> = [PLACE, "count_words", "words.c"].map(Into::into).into();
        strings.retain(|secret| {
            secret == PLACE.as_bytes() || {
                let views = views(fs::read(&path).unwrap());
                views.iter().any(|view| memmem::find(view, secret).is_some())
            }
        });
        assert!(strings.len() >= 2, "{format}: it has no function");
        Secret { name: format!("profile in {format}"), path, strings }
    };
    ["folded", "pprof", "firefox", "speedscope", "perf-script"].iter().map(secret).collect()
}

#[test]
fn no_output_of_any_format_contains_a_string_of_its_input() {
    let directory = tempfile::tempdir().unwrap();
    // What outputs contain of any recording, such as the program of the page and the keys of JSON.
    let neutral = ["callgraph", "tracepoints"].map(|scenario| {
        let path = directory.path().join(scenario);
        let toml = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios").join(scenario).with_extension("toml");
        succeed(perfconv().arg("synth").arg(toml).arg("-o").arg(&path));
        path
    });
    let formats = formats();
    let own =
        |format: &str| neutral.iter().filter_map(|input| written(input, format, &[])).flatten().collect::<Vec<_>>();
    let own: BTreeMap<_, _> = formats.iter().map(|format| (*format, own(format))).collect();
    let own: BTreeMap<_, _> = own.into_iter().filter(|(_, contents)| !contents.is_empty()).collect();
    assert!(own.len() + 3 >= formats.len(), "only {:?} of {formats:?}", own.keys());

    let inputs: Vec<_> = recordings(directory.path()).into_iter().chain(profiles(directory.path())).collect();
    let jobs = inputs.iter().enumerate().flat_map(|(number, input)| {
        // By default, each format is written from every other input.
        let is_selected = move |format: usize| files::uses_all() || (number + format).is_multiple_of(2);
        own.keys().enumerate().filter(move |(format, _)| is_selected(*format)).map(move |(_, format)| (input, *format))
    });
    let jobs: Vec<_> = jobs.collect();
    let results = for_each(&jobs, |&(input, format)| {
        let Some(contents) = written(&input.path, format, &[]) else { return (0, 0, Vec::new()) };
        let is_in = |contents: &[Vec<u8>], secret: &[u8]| {
            let finder = memmem::Finder::new(secret);
            contents.iter().any(|view| finder.find(view).is_some())
        };
        let searched: Vec<_> = input.strings.iter().filter(|secret| !is_in(&own[format], secret)).collect();
        let leaked = searched.iter().filter(|secret| is_in(&contents, secret));
        let leaks = leaked.map(|secret| format!("{}: {format}: {}", input.name, String::from_utf8_lossy(secret)));
        (1, searched.len(), leaks.collect::<Vec<_>>())
    });
    let outputs: usize = results.iter().map(|(output, ..)| output).sum();
    let searches: usize = results.iter().map(|(_, searched, _)| searched).sum();
    let leaks: Vec<_> = results.into_iter().flat_map(|(.., leaks)| leaks).collect();
    note!("{outputs} outputs of {} inputs in {} formats: {searches} searches for strings", inputs.len(), own.len());
    assert!(leaks.is_empty(), "{} leaks:\n{}", leaks.len(), leaks[..leaks.len().min(40)].join("\n"));
    assert!(outputs >= 140 && searches >= 3_000, "only {outputs} outputs, {searches} searches");
}

/// The files of a split are named after what they contain.
#[test]
fn names_of_split_profiles_are_anonymized() {
    let directory = tempfile::tempdir().unwrap();
    let input = placed(directory.path(), "forks.data", &fixture("forks.data"));
    for by in ["comm", "pid", "event"] {
        let contents = written(&input, "pprof", &["--split-by", by]).unwrap();
        for secret in ["forky", PLACE] {
            let is_found = contents.iter().any(|view| memmem::find(view, secret.as_bytes()).is_some());
            assert!(!is_found, "--split-by {by}: {secret}");
        }
    }
}
