//! Build IDs of programs built and recorded here, compared with `perf inject`; and files whose build IDs are not trusted.

use crate::common::files::{Recording, has_corpus, recordings};
use crate::common::oracle::{has_program, note_missing_oracle};
use crate::common::program::{for_each, perfconv, profile, run, run_other, succeed, with_time_limit};
use perf_data::abi;
use perf_data::abi::feature::FeatureId;
use perf_data::abi::hex::to_hex;
use perf_data::abi::record::mmap2::Mmap2;
use perf_data::abi::record::{Misc, RecordType};
use perf_data::container::read::{Container, ReadOptions, input::Input};
use perf_data::stream::Sink;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use perf_data::stream::source::Source;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};
use tempfile::TempDir;

/// Uses the CPU, in itself and in the C library. Its code is larger than any page, so that a truncated file is detectable by
/// size.
const PROGRAM: &str = "#include <string.h>\n\
    __asm__(\".text\\n.fill 262144, 1, 0\\n\");\n\
    static char bytes[1 << 16]; volatile unsigned long sum;\n\
    int main(void) { for (long i = 0; i < 80000000; i++) {\n\
    sum += i * i; if (i % 1000 == 0) memset(bytes, (int)i, sizeof bytes); } return 0; }\n";

/// A directory of programs and their recordings.
struct Workspace {
    dir: TempDir,
}

/// Programs with a build ID, without one, stripped, and with a shorter one.
const PROGRAMS: [(&str, &[&str]); 4] = [
    ("with-id", &["-Wl,--build-id=sha1"]),
    ("without-id", &["-Wl,--build-id=none"]),
    ("stripped", &["-s", "-Wl,--build-id=sha1"]),
    ("short-id", &["-Wl,--build-id=md5"]),
];

impl Workspace {
    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).to_str().expect("a UTF-8 path").to_owned()
    }

    /// Records a program with perf; false if that fails.
    fn record(&self, program: &str, output: &str, args: &[&str]) -> bool {
        let mut perf = self.perf(&["record", "-e", "cpu-clock", "-F", "999"]);
        perf.args(args).arg("-o");
        let perf = match output.strip_prefix("pipe:") {
            None => perf.arg(self.path(output)),
            Some(name) => perf.arg("-").stdout(File::create(self.path(name)).expect("a file")),
        };
        perf.arg(self.path(program)).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
    }

    /// A perf command with its own build ID cache.
    fn perf(&self, args: &[&str]) -> Command {
        let mut perf = with_time_limit("perf");
        perf.args(args).env("HOME", self.path("home")).env("LC_ALL", "C").env_remove("DEBUGINFOD_URLS");
        perf.stdin(Stdio::null());
        perf
    }

    /// Rewrites a recording with perfconv, and returns the warnings.
    fn rewrite(&self, input: &Path, output: &str, args: &[&str]) -> Vec<String> {
        let mut command = perfconv();
        command.env("HOME", self.path("home")).arg("rewrite").arg(input).args(["-f", "-o"]).arg(self.path(output));
        let run = succeed(command.args(args));
        run.warnings().iter().map(|&warning| warning.to_owned()).collect()
    }
}

/// Builds and records the programs once; `None`, with a note, if there is no compiler or perf cannot record.
fn workspace() -> Option<&'static Workspace> {
    static WORKSPACE: OnceLock<Option<Workspace>> = OnceLock::new();
    let make = || {
        let workspace = Workspace { dir: tempfile::tempdir().expect("a temporary directory") };
        fs::create_dir(workspace.path("home")).expect("a directory");
        fs::write(workspace.path("program.c"), PROGRAM).expect("a source");
        for (name, args) in PROGRAMS {
            let mut cc = Command::new("cc");
            cc.arg("-O1").args(args).arg("-o").arg(workspace.path(name)).arg(workspace.path("program.c"));
            if !cc.status().is_ok_and(|status| status.success()) {
                note_missing_oracle("a C compiler");
                note!("build ids: skipped: no C compiler");
                return None;
            }
            // perf must neither record nor collect build IDs.
            if !workspace.record(name, &format!("{name}.data"), &["-B"]) {
                note_missing_oracle("a perf that can record");
                note!("build ids: skipped: perf cannot record here");
                return None;
            }
        }
        let all = [("frames.data", "-z"), ("pipe:pipe.data", "-B"), ("maps.data", "--buildid-mmap"), ("g.data", "-gB")];
        all.iter().all(|(output, arg)| workspace.record("with-id", output, &[arg])).then_some(workspace)
    };
    WORKSPACE.get_or_init(make).as_ref()
}

/// The build IDs in a recording, and all else.
#[derive(Default)]
struct Contents {
    /// In the build ID table, by file name.
    table: BTreeMap<String, String>,
    /// In HEADER_BUILD_ID records, by file name.
    records: BTreeMap<String, String>,
    /// In MMAP2 records, by file name.
    maps: BTreeMap<String, String>,
    mapped: BTreeSet<String>,
    /// Features other than the build ID table.
    features: BTreeMap<FeatureId, Vec<u8>>,
    /// All records but those of a pipe's header, and the number of records by type.
    bytes: Vec<u8>,
    kinds: BTreeMap<RecordType, u64>,
}

impl Sink for Contents {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> perfconv::Result<()> {
        *self.kinds.entry(raw.header().kind).or_default() += 1;
        if !raw.header().kind.is_header() {
            self.bytes.extend_from_slice(raw.bytes());
        }
        if raw.header().kind == RecordType::MMAP2 {
            let (body, _) = meta.events.split(raw);
            let (map, _) = abi::parse::<Mmap2>(body, raw.endian(), (raw.header().misc,)).expect("a complete MMAP2");
            let name = map.filename.text().strip_suffix(b"_text").unwrap_or(map.filename.text());
            let name = String::from_utf8_lossy(name).into_owned();
            if let Some(id) = map.file.build_id() {
                self.maps.insert(name.clone(), to_hex(id));
            }
            self.mapped.insert(name);
        }
        Ok(())
    }
}

fn contents(path: &Path) -> Option<Contents> {
    let mut contents = Contents::default();
    let source = Source::open(Input::Path(path.to_owned()), ReadOptions::default()).ok()?;
    let (meta, _) = source.run(&mut contents).ok()?;
    let ids = |ids: &[(Misc, abi::record::build_id::BuildId)]| {
        ids.iter()
            .map(|(misc, id)| (String::from_utf8_lossy(id.filename.text()).into_owned(), to_hex(id.id(*misc))))
            .collect()
    };
    contents.table = ids(&meta.build_ids());
    contents.records = ids(&meta.build_id_records);
    contents.features = meta.features.iter().map(|(&id, bytes)| (id, bytes.to_vec())).collect();
    contents.features.remove(&FeatureId::BUILD_ID);
    if meta.container == Container::Pipe {
        // The output has more of these than the input.
        contents.kinds.remove(&RecordType::HEADER_BUILD_ID);
    }
    Some(contents)
}

/// Returns the build IDs that `perf buildid-list` prints, by file name.
fn listed(workspace: &Workspace, path: &Path) -> BTreeMap<String, String> {
    let list = run_other(workspace.perf(&["buildid-list", "-i"]).arg(path));
    let list = String::from_utf8_lossy(&list.stdout).into_owned();
    let ids = list.lines().filter(|line| !line.starts_with(' ')).filter_map(|line| line.split_once(' '));
    ids.map(|(id, name)| (name.trim().to_owned(), id.to_owned())).collect()
}

/// Asserts that perf reads these IDs. For pipes and MMAP2 records, it lists only files with samples.
fn assert_perf_reads(workspace: &Workspace, path: &Path, ids: &BTreeMap<String, String>) {
    let listed = listed(workspace, path);
    assert!(listed.len() >= 2 && listed.contains_key(&workspace.text("with-id")), "{path:?}: {listed:?}");
    assert!(listed.iter().all(|entry| ids.get_key_value(entry.0) == Some(entry)), "perf: {listed:?}, ours: {ids:?}");
}

/// Compares IDs, except for known differences: perf reports the ID of its own vDSO under the name of a temporary file, and perf
/// 6.1 none of the kernel. perf also pads IDs with zeros, since it does not record their length.
fn difference(perf: &BTreeMap<String, String>, ours: &BTreeMap<String, String>) -> Option<String> {
    let without = |ids: &BTreeMap<String, String>, name: &str| {
        let ids = ids.iter().filter(|(file, _)| *file != name && !file.contains("vdso"));
        ids.map(|(file, id)| (file.clone(), id.trim_end_matches("00000000").to_owned())).collect::<BTreeMap<_, _>>()
    };
    let kernel = if perf.contains_key("[kernel.kallsyms]") { "" } else { "[kernel.kallsyms]" };
    let (perf, ours) = (without(perf, kernel), without(ours, kernel));
    (perf != ours).then(|| format!("perf inject has {perf:?}, perfconv has {ours:?}"))
}

#[test]
fn build_ids_match_perf_inject() {
    let Some(workspace) = workspace() else { return };
    let ids = format!("00112233445566778899aabbccddeeff00112233 {},aabb /no/such", workspace.text("with-id"));
    let mut compared = 0;
    for args in [&["-b"][..], &["--buildid-all"], &["-b", "--known-build-ids", &ids]] {
        for (program, _) in PROGRAMS {
            let input = workspace.path(&format!("{program}.data"));
            let by_perf = workspace.path("perf-inject.data");
            let inject =
                run_other(workspace.perf(&["inject", "-f"]).args(args).arg("-i").arg(&input).arg("-o").arg(&by_perf));
            assert_eq!(inject.status, 0, "{}", inject.stderr);
            let warnings = workspace.rewrite(&input, "ours.data", args);
            let [before, by_perf, ours] =
                [&input, &by_perf, &workspace.path("ours.data")].map(|path| contents(path).unwrap());
            assert_eq!(difference(&by_perf.table, &ours.table), None, "{program} {args:?}");
            assert_eq!(
                difference(&listed(workspace, &workspace.path("ours.data")), &ours.table),
                None,
                "{program} {args:?}"
            );
            // The C library, the program, and sometimes the kernel.
            let min = if program == "without-id" { 1 } else { 2 };
            assert!(ours.table.len() >= min, "{program} {args:?}: {:?}", ours.table);
            compared += by_perf.table.len();
            // perf inject loses features; perfconv keeps them.
            assert!(before.features.len() > 10 && before.features == ours.features, "{program} {args:?}");
            assert_ne!(before.features[&FeatureId::CMDLINE], by_perf.features[&FeatureId::CMDLINE]);
            assert!(before.bytes == ours.bytes, "{program} {args:?}: other records");
            // The program without a build ID.
            let none = format!("no build ID for {}: the file has no build ID", workspace.text("without-id"));
            assert_eq!(warnings, if program == "without-id" { vec![none] } else { vec![] }, "{program} {args:?}");
            let check = run(perfconv().arg("check").arg(workspace.path("ours.data")));
            assert_eq!(check.status, run(perfconv().arg("check").arg(&input)).status, "{}", check.stderr);
        }
    }
    note!("build ids: {compared} IDs equal those of perf inject; all features and records are preserved");
}

#[test]
fn callers_have_build_ids_too() {
    let Some(workspace) = workspace() else { return };
    workspace.rewrite(&workspace.path("g.data"), "callers.data", &["-b"]);
    let table = contents(&workspace.path("callers.data")).unwrap().table;
    // The program calls the C library, and the C library calls main.
    assert!(
        table.contains_key(&workspace.text("with-id")) && table.keys().any(|name| name.contains("libc")),
        "{table:?}"
    );
}

#[test]
fn compressed_and_piped_recordings_have_build_ids_too() {
    let Some(workspace) = workspace() else { return };
    workspace.rewrite(&workspace.path("with-id.data"), "plain.data", &["--buildid-all"]);
    let plain = contents(&workspace.path("plain.data")).unwrap().table;
    for name in ["frames.data", "pipe.data"] {
        let before = contents(&workspace.path(name)).unwrap();
        for arg in ["--buildid-all", "-b"] {
            workspace.rewrite(&workspace.path(name), "with.data", &[arg]);
            let after = contents(&workspace.path("with.data")).unwrap();
            assert_eq!((&before.table, before.features == after.features), (&BTreeMap::new(), true), "{name} {arg}");
            // Frames are preserved too.
            assert!(before.bytes == after.bytes && before.kinds == after.kinds, "{name} {arg}: other records");
            assert!(after.table.contains_key(&workspace.text("with-id")), "{name} {arg}: {:?}", after.table);
            assert!(
                after.table.iter().all(|entry| arg == "-b" || plain.get_key_value(entry.0) == Some(entry)),
                "{name}"
            );
            assert_perf_reads(workspace, &workspace.path("with.data"), &after.table);
        }
        // Profiles have them as well.
        succeed(perfconv().arg(workspace.path("with.data")).arg("-o").arg(workspace.path("out.pb.gz")).arg("-f"));
        let profile = profile(&workspace.path("out.pb.gz"));
        let text = |index: i64| &profile.string_table[index as usize];
        let ids: BTreeMap<_, _> =
            profile.mapping.iter().map(|mapping| (text(mapping.filename), text(mapping.build_id))).collect();
        assert_eq!(ids.get(&workspace.text("with-id")), plain.get(&workspace.text("with-id")).as_ref(), "{name}");
    }
}

#[test]
fn mmap2_build_ids_match_those_of_the_kernel() {
    let Some(workspace) = workspace() else { return };
    let kernels = contents(&workspace.path("maps.data")).unwrap().maps;
    let input = workspace.path("with-id.data");
    for arg in ["--mmap2-buildid-all", "--mmap2-buildids"] {
        workspace.rewrite(&input, "ours.data", &[arg]);
        let [before, after] = [&input, &workspace.path("ours.data")].map(|path| contents(path).unwrap());
        let mut ours = after.maps.clone();
        // The kernel records the ID of its vDSO too.
        let shared: BTreeMap<_, _> = kernels.iter().filter(|(name, _)| *name != "[vdso]").collect();
        let also: BTreeMap<_, _> = ours.iter().filter(|(name, _)| kernels.contains_key(*name)).collect();
        assert!(also.contains_key(&workspace.text("with-id")) && also.len() >= 2, "{arg}: {also:?}");
        assert!(
            also.iter().all(|(name, id)| shared[name] == *id),
            "{arg}: the kernel has {shared:?}, we have {also:?}"
        );
        assert!(arg == "--mmap2-buildids" || also == shared, "{arg}: the kernel has {shared:?}, we have {also:?}");
        ours.retain(|name, _| !kernels.contains_key(name));
        assert!(ours.keys().all(|name| name == "[kernel.kallsyms]"), "{arg}: {ours:?}");
        assert_eq!(before.features, after.features);
        // The kernel's MMAP becomes a MMAP2 if its ID is known.
        let count = |contents: &Contents, kind| contents.kinds.get(&kind).copied().unwrap_or(0);
        let [mmaps_before, mmaps_after] =
            [&before, &after].map(|contents| [RecordType::MMAP, RecordType::MMAP2].map(|kind| count(contents, kind)));
        let now_mmap2 = u64::from(after.maps.contains_key("[kernel.kallsyms]"));
        assert_eq!(mmaps_after, [mmaps_before[0] - now_mmap2, mmaps_before[1] + now_mmap2], "{arg}");
        // Same, from a big-endian recording.
        workspace.rewrite(&input, "big.data", &["--endian", "big"]);
        workspace.rewrite(&workspace.path("big.data"), "big-ids.data", &[arg]);
        workspace.rewrite(&workspace.path("big-ids.data"), "little.data", &["--endian", "little"]);
        assert!(contents(&workspace.path("little.data")).unwrap().bytes == after.bytes, "{arg}: another byte order");
        let script = |path: &Path| {
            let args = ["script", "-F", "comm,pid,tid,time,event,ip,sym,dso,period", "-i"];
            String::from_utf8_lossy(&run_other(workspace.perf(&args).arg(path)).stdout).into_owned()
        };
        let shown = script(&workspace.path("ours.data"));
        assert!(shown.lines().count() > 20 && shown == script(&input), "{arg}: perf prints other samples");
        assert_perf_reads(workspace, &workspace.path("ours.data"), &after.maps);
        let events =
            run_other(workspace.perf(&["script", "--show-mmap-events", "-i"]).arg(workspace.path("ours.data")));
        let events = String::from_utf8_lossy(&events.stdout).into_owned();
        let id = &after.maps[&workspace.text("with-id")];
        assert!(events.contains(&format!("<{id}>]: r-xp {}", workspace.text("with-id"))), "{events}");
    }
    // A MMAP2 with a build ID keeps it.
    workspace.rewrite(&workspace.path("maps.data"), "repeated.data", &["--mmap2-buildid-all"]);
    let repeated = contents(&workspace.path("repeated.data")).unwrap().maps;
    assert!(kernels.iter().all(|entry| repeated.get_key_value(entry.0) == Some(entry)), "{repeated:?}");
}

/// Records a copy of a program that only one test uses, so that the test may change it.
fn recorded_alone(workspace: &Workspace, name: &str) -> (PathBuf, PathBuf) {
    let program = workspace.path(name);
    fs::copy(workspace.path("with-id"), &program).unwrap();
    let recording = format!("{name}.data");
    assert!(workspace.record(name, &recording, &["-B"]));
    (program, workspace.path(&recording))
}

#[test]
fn ignores_a_file_that_is_not_the_recorded_one() {
    let Some(workspace) = workspace() else { return };
    let (program, recording) = recorded_alone(workspace, "alone");
    let name = workspace.text("alone");
    // Keeps the inode in use, so that no other file gets its number.
    fs::hard_link(&program, workspace.path("alone's inode")).unwrap();
    let rewrite_and_find = |args: &[&str]| {
        let args = [&["--buildid-all"], args].concat();
        let warnings = workspace.rewrite(&recording, "found.data", &args);
        let table = contents(&workspace.path("found.data")).unwrap().table;
        let others = table.keys().filter(|other| **other != name).count();
        (table.get(&name).cloned(), others, warnings)
    };
    let (id, others, warnings) = rewrite_and_find(&[]);
    assert!(id.is_some() && others >= 1 && warnings.is_empty(), "{id:?}, {others} others, {warnings:?}");
    let assert_ignored = |why: &str| {
        let (id, others_after, warnings) = rewrite_and_find(&[]);
        assert_eq!((id, others_after), (None, others), "{why}");
        assert!(warnings.iter().any(|warning| warning.contains(&name) && warning.contains(why)), "{why}: {warnings:?}");
    };
    let bytes = fs::read(&program).unwrap();
    let was_modified = fs::metadata(&program).unwrap().modified().unwrap();
    let modified = |time: SystemTime| File::options().write(true).open(&program).unwrap().set_modified(time).unwrap();

    File::options().write(true).open(&program).unwrap().set_len(100).unwrap();
    modified(was_modified);
    assert_ignored("100 bytes, but");
    fs::write(&program, &bytes).unwrap();
    modified(SystemTime::now() + Duration::from_secs(60));
    assert_ignored("modified after the recording");
    modified(was_modified);
    assert_eq!(rewrite_and_find(&[]).0, id, "the original file");
    let copy = workspace.path("copy");
    fs::copy(&program, &copy).unwrap();
    fs::rename(&copy, &program).unwrap();
    modified(was_modified);
    assert_ignored("another inode");
    assert_eq!(rewrite_and_find(&["--symfs", "/"]).0, id, "--symfs should override the check");

    fs::remove_file(&program).unwrap();
    assert_ignored("no such file");
    // A cache given on the command line has the recorded file.
    let cached = workspace.path("cache").join(name.trim_start_matches('/')).join(id.as_ref().unwrap());
    fs::create_dir_all(&cached).unwrap();
    fs::write(cached.join("elf"), &bytes).unwrap();
    assert_eq!(rewrite_and_find(&["--buildid-dir", &workspace.text("cache")]).0, id);
    let second = cached.parent().unwrap().join("aabbccdd");
    fs::create_dir(&second).unwrap();
    fs::write(second.join("elf"), "no program at all").unwrap();
    assert_eq!(
        rewrite_and_find(&["--buildid-dir", &workspace.text("cache")]).0,
        id,
        "a file that is not ELF with that ID should be ignored"
    );
    let (recorded, _, warnings) = rewrite_and_find(&["--known-build-ids", &format!("aabb {name}")]);
    assert_eq!((recorded.as_deref(), warnings.len()), (Some("aabb"), 0));
    fs::create_dir(&program).unwrap();
    assert_ignored("another inode");
}

#[test]
fn ignores_files_here_for_a_recording_of_another_host() {
    let Some(workspace) = workspace() else { return };
    let recording = workspace.path("with-id.data");
    for (feature, other) in [("hostname", "a-host-that-is-not"), ("osrelease", "2.6.31")] {
        let set = format!("{feature}={other}");
        for arg in ["-b", "--buildid-all", "--mmap2-buildids", "--mmap2-buildid-all"] {
            let warnings = workspace.rewrite(&recording, "other.data", &["--set", &set, arg]);
            let ids = contents(&workspace.path("other.data")).unwrap();
            assert_eq!((ids.table.len(), ids.maps.len()), (0, 0), "{set} {arg}");
            let [warning] = &warnings[..] else { panic!("{set} {arg}: {warnings:?}") };
            assert!(warning.contains("recorded on another host") && warning.contains(other), "{warning}");
        }
        // Two passes print the warning once.
        assert_eq!(workspace.rewrite(&recording, "other.data", &["--set", &set, "-b", "-B"]).len(), 1);
        workspace.rewrite(&recording, "other.data", &["--set", &set, "-b", "--symfs", "/"]);
        assert!(contents(&workspace.path("other.data")).unwrap().table.contains_key(&workspace.text("with-id")));
    }
}

#[test]
fn without_host_features_files_must_match_by_inode() {
    let Some(workspace) = workspace() else { return };
    let args = ["--drop-feature", "hostname", "--drop-feature", "osrelease", "--buildid-all"];
    let warnings = workspace.rewrite(&workspace.path("with-id.data"), "no-host.data", &args);
    let table = contents(&workspace.path("no-host.data")).unwrap().table;
    assert!(table.contains_key(&workspace.text("with-id")) && !table.contains_key("[kernel.kallsyms]"), "{table:?}");
    let [warning] = &warnings[..] else { panic!("{warnings:?}") };
    assert!(warning.starts_with("no build ID for [kernel.kallsyms]: cannot verify that"), "{warning}");
}

/// The result of comparing a recording.
enum Comparison {
    /// The number of files with the same ID by perf inject and by perfconv.
    Same(usize),
    Skipped(&'static str),
    Differs(String),
}

#[test]
fn build_ids_of_other_recordings_match_perf_inject() {
    let test = "build ids of other recordings";
    has_corpus(test);
    if !has_program("perf") {
        return;
    }
    let all = recordings();
    let results = for_each(&all, rewrite_and_find);
    let (mut same, mut compared, mut skipped, mut failures) = (0, 0, BTreeMap::<_, usize>::new(), Vec::new());
    for (recording, result) in all.iter().zip(results) {
        match result {
            Comparison::Same(ids) => (same, compared) = (same + ids, compared + 1),
            Comparison::Skipped(why) => *skipped.entry(why).or_default() += 1,
            Comparison::Differs(how) => failures.push(format!("{}: {how}", recording.name)),
        }
    }
    note!("{test}: {compared} of {} compared with perf inject, {same} IDs are the same", all.len());
    skipped.iter().for_each(|(why, count)| note!("{count:6} skipped: {why}"));
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(compared >= 5, "compared too few recordings");
}

/// Compares a recording, trusting the files here as perf inject does.
fn rewrite_and_find(recording: &Recording) -> Comparison {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let [by_perf, ours] = ["perf.data", "ours.data"].map(|name| dir.path().join(name));
    let Some(before) = contents(&recording.path) else { return Comparison::Skipped("unreadable") };
    let mut command = perfconv();
    command.args(["inject", "--buildid-all", "--symfs", "/", "-i"]).arg(&recording.path).arg("-o").arg(&ours);
    let run = run(command.env("HOME", dir.path()));
    if run.status != 0 {
        return Comparison::Differs(run.stderr);
    }
    let Some(after) = contents(&ours) else { return Comparison::Differs("the output is unreadable".to_owned()) };
    let lost: Vec<_> = before.features.keys().filter(|id| !after.features.contains_key(id)).collect();
    let is_complete = lost.iter().all(|&&id| id == FeatureId::DIR_FORMAT || id == FeatureId::COMPRESSED);
    if !is_complete || before.table.iter().any(|(name, id)| after.table.get(name) != Some(id)) {
        return Comparison::Differs(format!("features {lost:?} or build IDs are lost"));
    }
    let mut perf = with_time_limit("perf");
    perf.args(["inject", "-f", "--buildid-all", "-i"]).arg(&recording.path).arg("-o").arg(&by_perf);
    let perf = run_other(perf.env("HOME", dir.path()).env("LC_ALL", "C"));
    let Some(found_by_perf) = contents(&by_perf).filter(|_| perf.status == 0) else {
        return Comparison::Skipped("perf inject fails");
    };
    let ids: Vec<_> = found_by_perf.records.iter().filter(|(name, _)| after.table.contains_key(*name)).collect();
    let Some((name, id)) = ids.iter().find(|(name, id)| after.table[*name] != **id) else {
        return if ids.is_empty() {
            Comparison::Skipped("perf inject finds none")
        } else {
            Comparison::Same(ids.len())
        };
    };
    Comparison::Differs(format!("{name}: perf inject has {id}, perfconv has {}", after.table[*name]))
}
