//! Compatibility with perf_to_profile: the program called by that name, and its profiles.

use crate::common::compat::WorkDir;
use crate::common::files::{self, fixture};
use crate::common::program::{self, run};
use perf_data::abi::record::{Body, CpuMode, Misc, lost::LostSamples};
use perf_data::abi::sample::Sample as Sampled;
use perf_data::container::read::{ReadOptions, input::Input};
use perf_data::stream::source::Source;
use perfconv::formats::pprof::compat;
use perfconv::formats::pprof::proto::{Profile, Sample, ValueType};
use perfconv::synth::{Event, Map, RecordingBuilder, Stamp};
use prost::Message;
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The number of profiles of perf_to_profile in the repository, and in the corpus.
const FIXTURE_GOLDENS: usize = 12;
const CORPUS_GOLDENS: usize = 323;

#[test]
fn profiles_match_perf_to_profile() {
    let fixtures = fixture_goldens();
    assert_eq!(fixtures.len(), FIXTURE_GOLDENS);
    let corpus = corpus_goldens();
    if files::has_corpus("compat") {
        assert!(corpus.len() >= CORPUS_GOLDENS, "only {} profiles, expected {CORPUS_GOLDENS}", corpus.len());
    }
    let goldens = [fixtures, corpus].concat();
    let results = program::for_each(&goldens, |(input, golden)| compare(input, golden));
    let failures: Vec<String> = goldens
        .iter()
        .zip(&results)
        .filter_map(|((input, _), r)| Some(format!("{input:?}: {}", r.as_ref().err()?)))
        .collect();
    let equal = results.len() - failures.len();
    let has_golden = |path: &Path| goldens.iter().any(|(input, _)| *input == *path);
    let without = files::recordings().iter().filter(|recording| !has_golden(&recording.path)).count();
    // Not with the print macros, whose output the test harness captures.
    let mut out = io::stderr().lock();
    writeln!(out, "compat: {equal} of {} profiles equal those of perf_to_profile (e2c2da7)", results.len()).unwrap();
    writeln!(out, "compat: {without} recordings skipped: perf_to_profile writes no profile or a wrong one").unwrap();
    drop(out);
    assert!(failures.is_empty(), "{} differ:\n{}", failures.len(), failures.join("\n"));
}

/// A recording, and the profile that perf_to_profile wrote for it.
type Golden = (PathBuf, PathBuf);

/// The fixtures that perf_to_profile can convert.
fn fixture_goldens() -> Vec<Golden> {
    goldens(&fixture(""), &fixture("../perf_to_profile"))
}

/// The recordings of the corpus that perf_to_profile can convert.
fn corpus_goldens() -> Vec<Golden> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus");
    if root.exists() { goldens(&root, &root.join("golden-peer")) } else { Vec::new() }
}

/// Recordings below a directory, by the profiles below another: `profiles/NAME.pprof.zst` was written for `recordings/NAME`.
fn goldens(recordings: &Path, profiles: &Path) -> Vec<Golden> {
    let files = files::files_in(profiles);
    let names = files.keys().filter_map(|name| name.strip_suffix(".pprof.zst"));
    names.map(|name| (recordings.join(name), profiles.join(format!("{name}.pprof.zst")))).collect()
}

fn compare(input: &Path, golden: &Path) -> Result<(), String> {
    let dir = WorkDir::new();
    let run = dir.perf_to_profile(input, "out", &[]);
    run.ledger()?;
    let golden = zstd::decode_all(fs::File::open(golden).unwrap()).expect("a golden should decompress");
    let golden = Profile::decode(&golden[..]).expect("a golden should be a profile");
    compare_profiles(&dir.profile("out"), &golden)
}

/// Compares two profiles regardless of order and numbering.
fn compare_profiles(ours: &Profile, theirs: &Profile) -> Result<(), String> {
    let (ours, theirs) = (Resolved(ours), Resolved(theirs));
    compare_values("columns", &ours.columns(), &theirs.columns())?;
    compare_values("other fields", &ours.others(), &theirs.others())?;
    compare_values("first mapping", &ours.mapping(1), &theirs.mapping(1))?;
    let mappings = |profile: &Resolved| {
        counted((1..=profile.0.mapping.len() as u64).map(|id| format!("{:x?}", profile.mapping(id))))
    };
    compare_sets("mappings", &mappings(&ours), &mappings(&theirs))?;
    let samples = |profile: &Resolved| counted(profile.0.sample.iter().map(|sample| profile.sample(sample)));
    compare_sets("samples", &samples(&ours), &samples(&theirs))
}

fn counted(items: impl Iterator<Item = String>) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    items.for_each(|item| *counts.entry(item).or_default() += 1);
    counts
}

fn compare_values<T: PartialEq + std::fmt::Debug>(what: &str, ours: &T, theirs: &T) -> Result<(), String> {
    if ours == theirs { Ok(()) } else { Err(format!("{what}: {ours:?}, theirs {theirs:?}")) }
}

fn compare_sets(what: &str, ours: &BTreeMap<String, usize>, theirs: &BTreeMap<String, usize>) -> Result<(), String> {
    let only = |a: &BTreeMap<String, usize>, b: &BTreeMap<String, usize>| {
        let mut items: Vec<_> =
            a.iter().filter(|&(item, count)| b.get(item) != Some(count)).map(|(i, c)| format!("{c} {i}")).collect();
        let count = items.len();
        items.truncate(3);
        format!("{count}: {}", items.join("\n    "))
    };
    if ours == theirs {
        return Ok(());
    }
    Err(format!("{what}:\n  only ours, {}\n  only theirs, {}", only(ours, theirs), only(theirs, ours)))
}

/// A profile whose indices are resolved to what they refer to.
struct Resolved<'a>(&'a Profile);

/// Start, limit, offset, file name, build ID.
type Mapping<'a> = (u64, u64, u64, &'a str, &'a str);

impl<'a> Resolved<'a> {
    fn text(&self, index: i64) -> &'a str {
        &self.0.string_table[index as usize]
    }

    fn column(&self, column: &ValueType) -> (&'a str, &'a str) {
        (self.text(column.r#type), self.text(column.unit))
    }

    fn columns(&self) -> Vec<(&'a str, &'a str)> {
        self.0.sample_type.iter().map(|column| self.column(column)).collect()
    }

    fn others(&self) -> impl PartialEq + std::fmt::Debug + use<'a> {
        let Profile { time_nanos, duration_nanos, period, drop_frames, keep_frames, doc_url, .. } = *self.0;
        let comments: Vec<&str> = self.0.comment.iter().map(|&comment| self.text(comment)).collect();
        let period_type = self.0.period_type.as_ref().map(|column| self.column(column));
        let shown = self.text(self.0.default_sample_type);
        let functions = self.0.function.len();
        let numbers = [time_nanos, duration_nanos, period, drop_frames, keep_frames, doc_url];
        (comments, period_type, shown, functions, numbers)
    }

    fn mapping(&self, id: u64) -> Option<Mapping<'a>> {
        let mapping = self.0.mapping.get(usize::try_from(id.checked_sub(1)?).ok()?)?;
        assert_eq!(mapping.id, id);
        let (name, build_id) = (self.text(mapping.filename), self.text(mapping.build_id));
        Some((mapping.memory_start, mapping.memory_limit, mapping.file_offset, name, build_id))
    }

    fn sample(&self, sample: &Sample) -> String {
        let mut text = format!("{:?}", sample.value);
        for &id in &sample.location_id {
            let location = &self.0.location[id as usize - 1];
            assert_eq!((location.id, location.line.len()), (id, 0));
            text += &format!(" {:x} {:x?}", location.address, self.mapping(location.mapping_id));
        }
        for label in &sample.label {
            text += &format!(" {} {} {}", self.text(label.key), self.text(label.str), label.num);
        }
        text
    }
}

#[test]
fn acts_as_perf_to_profile_when_called_by_that_name() {
    let dir = WorkDir::new();
    let run = dir.perf_to_profile(&fixture("callgraph.data"), "out.pb.gz", &["-j"]);
    assert_eq!(run.ledger().unwrap().samples_out, 377);
    let profile = dir.profile("out.pb.gz");
    let column = |index: usize| Resolved(&profile).column(&profile.sample_type[index]);
    let name = column(0).0.strip_suffix("_sample").expect("the first column should count samples");
    assert_eq!([column(0).1, column(1).1], ["count", "count"]);
    assert_eq!(column(1).0, format!("{name}_event"));
    assert_eq!(profile.string_table[profile.default_sample_type as usize], column(1).0);

    let exists = dir.perf_to_profile(&fixture("callgraph.data"), "out.pb.gz", &[]);
    assert!(exists.failure().unwrap().contains("already exists"), "{exists:?}");
    assert_eq!(dir.perf_to_profile(&fixture("callgraph.data"), "out.pb.gz", &["-f"]).status, 0);

    // pprof reads the file through a descriptor that it opened before.
    fs::write(dir.path("opened"), "something long before").unwrap();
    let mut opened = fs::File::open(dir.path("opened")).unwrap();
    assert_eq!(dir.perf_to_profile(&fixture("callgraph.data"), "opened", &["-f"]).status, 0);
    let mut read = Vec::new();
    opened.read_to_end(&mut read).unwrap();
    assert_eq!(Profile::decode(&read[..]).unwrap(), profile);

    fs::rename(dir.path("perf_to_profile"), dir.path("link")).unwrap();
    // By another process: a child that a concurrent test forks would inherit the file, open for writing, and it could not be executed.
    let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_perfconv")).arg(dir.path("perf_to_profile")).status();
    assert!(copied.is_ok_and(|status| status.success()));
    assert_eq!(dir.perf_to_profile(&fixture("callgraph.data"), "of_copy", &[]).status, 0);
    assert_eq!(dir.profile("of_copy"), profile);
}

#[test]
fn a_failure_leaves_no_files() {
    let dir = WorkDir::new();
    let run = dir.perf_to_profile(Path::new("/dev/null"), "out", &[]);
    assert!(run.failure().is_ok(), "{run:?}");
    let mut empty = b"PERFILE2".to_vec();
    empty.extend(16_u64.to_le_bytes());
    // A FINISHED_ROUND: the stream has a record, but no sample.
    empty.extend([68, 0, 0, 0, 0, 0, 8, 0]);
    fs::write(dir.path("empty"), empty).unwrap();
    let run = dir.perf_to_profile(&dir.path("empty"), "out", &["-f"]);
    assert!(run.failure().unwrap().contains("no sample"), "{run:?}");
    assert!(!dir.path("out").exists());
    assert_eq!(fs::read_dir(&dir.0).unwrap().count(), 2);
}

#[test]
fn compat_option_gives_the_same_profile() {
    let dir = WorkDir::new();
    dir.perf_to_profile(&fixture("callgraph.data"), "expected", &[]);
    let compat = |input: Stdio, arguments: &[&str]| {
        run(program::perfconv().current_dir(&dir.0).args(["--compat", "perf_to_profile"]).args(arguments).stdin(input))
    };
    let input = fixture("callgraph.data").to_string_lossy().into_owned();
    assert_eq!(compat(Stdio::null(), &[&input, "-o", "out.pb.gz"]).status, 0);
    assert_eq!(program::profile(&dir.path("out.pb.gz")), dir.profile("expected"));
    assert_eq!(compat(Stdio::null(), &[&input, "-o", "out.pb"]).status, 0);
    assert_eq!(dir.profile("out.pb"), dir.profile("expected"));
    assert_eq!(compat(Stdio::null(), &[&input, "-o", "out.data"]).status, 2);

    // Standard input can be read only once.
    let shell = format!("cat {input} | {} --compat perf_to_profile - -o piped.pb", env!("CARGO_BIN_EXE_perfconv"));
    let piped = run(std::process::Command::new("sh").args(["-c", &shell]).current_dir(&dir.0));
    assert_eq!((piped.status, dir.profile("piped.pb")), (0, dir.profile("expected")), "{}", piped.stderr);
}

#[test]
fn converts_every_recording_with_samples() {
    let recordings = files::recordings();
    let results = program::for_each(&recordings, |recording| {
        let dir = WorkDir::new();
        let run = dir.perf_to_profile(&recording.path, "out", &[]);
        if run.failure().is_ok() {
            let ordinary = program::convert(&recording.path, &dir.path("out.pb.gz"));
            let is_empty = ordinary.status != 0 || program::profile(&dir.path("out.pb.gz")).sample.is_empty();
            return is_empty.then_some(false).ok_or(format!("{}: {}", recording.name, run.stderr));
        }
        let ledger = run.ledger().map_err(|error| format!("{}: {error}", recording.name))?;
        let accounted = ledger.samples_in == ledger.samples_out + ledger.dropped;
        accounted.then_some(true).ok_or(format!("{}: {ledger:?}", recording.name))
    });
    let failures: Vec<_> = results.iter().filter_map(|result| result.as_ref().err()).collect();
    assert!(failures.is_empty(), "{failures:#?}");
    let converted = results.iter().filter(|result| **result == Ok(true)).count();
    note!("compat: {converted} of {} recordings converted, the others have no samples", results.len());
    let enough = files::enough("compat", 1, 510, files::fixtures().len());
    assert!(converted >= enough, "only {converted} recordings converted, expected {enough}");
}

#[test]
fn random_corruption_causes_no_panic() {
    let mut random = 1_u64;
    let mut next = |below: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize % below
    };
    for name in ["forks.data", "lost.data", "pipe-compressed.data", "two-events.data"] {
        let intact = fs::read(fixture(name)).unwrap();
        for _ in 0..50 {
            let mut bytes = intact.clone();
            for _ in 0..=next(20) {
                let at = next(bytes.len());
                bytes[at] = [0, 1, 0x7f, 0x80, 0xff, next(256) as u8][next(6)];
            }
            let input = Input::Bytes { name: name.into(), bytes: bytes.into() };
            let profile = Source::open(input, ReadOptions::default()).and_then(compat::profile);
            if let Ok((profile, _)) = profile {
                let mut written = Vec::new();
                compat::write(&profile, &mut written).unwrap();
                Profile::decode(&written[..]).unwrap();
            }
        }
    }
}

/// The start and name of each mapping of a synthetic recording's profile. Expected values follow from the source of
/// perf_to_profile, which is not run.
fn mappings_of(recording: &RecordingBuilder) -> Vec<(u64, String)> {
    let dir = WorkDir::new();
    fs::write(dir.path("perf.data"), recording.to_bytes().unwrap()).unwrap();
    assert_eq!(dir.perf_to_profile(&dir.path("perf.data"), "out", &[]).status, 0);
    let profile = dir.profile("out");
    let name = |mapping: i64| profile.string_table[mapping as usize].clone();
    profile.mapping.iter().map(|mapping| (mapping.memory_start, name(mapping.filename))).collect()
}

#[test]
fn a_guest_kernel_with_a_suffix_is_the_main_mapping_of_its_process() {
    let mut recording = RecordingBuilder::new();
    let cycles = recording.event(Event::named("cycles").unwrap().period(1000));
    recording.mmap(CpuMode::GUEST_KERNEL, Stamp::at(0, 0, 0), Map::new("[guest.kernel.kallsyms]_text", 0x8000, 0x1000));
    recording.map(0, Map::new("/bin/x", 0x1000, 0x1000));
    let sample = Sampled { ip: Some(0x1010), task: Some((0, 0)), time: Some(5), ..Sampled::default() };
    recording.sample(cycles, sample);
    let expected = [(0x8000, "[guest.kernel.kallsyms]_text".into()), (0x1000, "/bin/x".into())];
    assert_eq!(mappings_of(&recording), expected);
}

#[test]
fn a_lost_sample_before_all_others_gives_no_main_mapping() {
    let mut recording = RecordingBuilder::new();
    let cycles = recording.event(Event::named("cycles:u").unwrap().period(1000));
    recording.process(7, "x").map(7, Map::new("/bin/x", 0x1000, 0x1000));
    recording.record(Misc::empty(), Body::LostSamples(LostSamples { lost: 3 }), Stamp::at(4, 7, 7));
    let sample = Sampled { ip: Some(0x1010), task: Some((7, 7)), time: Some(5), ..Sampled::default() };
    recording.sample(cycles, sample);
    assert_eq!(mappings_of(&recording), [(0, "".into()), (9 << 60, "[lost]".into()), (0x1000, "/bin/x".into())]);
}
