//! Build ids of programs that are made and recorded here, beside those of `perf inject`; and what is not believed.

use crate::suite::files::{Recording, has_corpus, recordings};
use crate::suite::program::{for_each, perfconv, profile, run, run_other, with_time_limit};
use perfconv::abi;
use perfconv::abi::feature::FeatureId;
use perfconv::abi::hex::to_hex;
use perfconv::abi::record::mmap2::Mmap2;
use perfconv::abi::record::{Misc, RecordType};
use perfconv::container::read::{Container, ReadOptions, input::Input};
use perfconv::stream::Sink;
use perfconv::stream::meta::{Meta, is_header};
use perfconv::stream::raw::Raw;
use perfconv::stream::source::Source;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};
use tempfile::TempDir;

/// Uses the CPU, in itself and in the C library. Its code is larger than any page, so that its size tells something.
const PROGRAM: &str = "#include <string.h>\n\
    __asm__(\".text\\n.fill 262144, 1, 0\\n\");\n\
    static char bytes[1 << 16]; volatile unsigned long sum;\n\
    int main(void) { for (long i = 0; i < 20000000; i++) {\n\
    sum += i * i; if (i % 1000 == 0) memset(bytes, (int)i, sizeof bytes); } return 0; }\n";

/// What was recorded: programs, and recordings of them.
struct Made {
    folder: TempDir,
}

/// Programs with a build id, without, stripped, and with a shorter id.
const PROGRAMS: [(&str, &[&str]); 4] = [
    ("with-id", &["-Wl,--build-id=sha1"]),
    ("without-id", &["-Wl,--build-id=none"]),
    ("stripped", &["-s", "-Wl,--build-id=sha1"]),
    ("short-id", &["-Wl,--build-id=md5"]),
];

impl Made {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).to_str().expect("a path of text").to_owned()
    }

    /// Has perf record a program; false where it cannot.
    fn record(&self, program: &str, output: &str, args: &[&str]) -> bool {
        let mut perf = self.perf(&["record", "-e", "cpu-clock", "-F", "999"]);
        perf.args(args).arg("-o");
        let perf = match output.strip_prefix("pipe:") {
            None => perf.arg(self.path(output)),
            Some(name) => perf.arg("-").stdout(File::create(self.path(name)).expect("a file")),
        };
        perf.arg(self.path(program)).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
    }

    /// perf, with a cache of build ids of its own.
    fn perf(&self, args: &[&str]) -> Command {
        let mut perf = with_time_limit("perf");
        perf.args(args).env("HOME", self.path("home")).env("LC_ALL", "C").env_remove("DEBUGINFOD_URLS");
        perf.stdin(Stdio::null());
        perf
    }

    /// Has perfconv rewrite a recording, and says what it warned of.
    fn rewrite(&self, input: &Path, output: &str, args: &[&str]) -> Vec<String> {
        let mut command = perfconv();
        command.env("HOME", self.path("home")).arg("rewrite").arg(input).args(["-f", "-o"]).arg(self.path(output));
        let run = run(command.args(args));
        assert_eq!(run.status, 0, "{input:?} {args:?}: {}", run.stderr);
        run.warnings().iter().map(|&warning| warning.to_owned()).collect()
    }
}

/// Programs and recordings, made once; `None` where there is no compiler or no perf that can record, which is said.
fn made() -> Option<&'static Made> {
    static MADE: OnceLock<Option<Made>> = OnceLock::new();
    let make = || {
        let made = Made { folder: tempfile::tempdir().expect("a temporary folder") };
        fs::create_dir(made.path("home")).expect("a folder");
        fs::write(made.path("program.c"), PROGRAM).expect("a source");
        for (name, args) in PROGRAMS {
            let mut cc = Command::new("cc");
            cc.arg("-O1").args(args).arg("-o").arg(made.path(name)).arg(made.path("program.c"));
            if !cc.status().is_ok_and(|status| status.success()) {
                say(format_args!("build ids: there is no compiler, nothing is compared"));
                return None;
            }
            // perf is to tell no build ids itself, nor to collect them.
            if !made.record(name, &format!("{name}.data"), &["-B"]) {
                say(format_args!("build ids: perf cannot record here, nothing is compared"));
                return None;
            }
        }
        let all = [("frames.data", "-z"), ("pipe:pipe.data", "-B"), ("maps.data", "--buildid-mmap"), ("g.data", "-gB")];
        all.iter().all(|(output, arg)| made.record("with-id", output, &[arg])).then_some(made)
    };
    MADE.get_or_init(make).as_ref()
}

/// What is told of build ids in a recording, and all else.
#[derive(Default)]
struct Told {
    /// By the table of a file, and by records.
    table: BTreeMap<String, String>,
    /// By records.
    records: BTreeMap<String, String>,
    /// By maps.
    maps: BTreeMap<String, String>,
    mapped: BTreeSet<String>,
    /// Features other than the table.
    features: BTreeMap<FeatureId, Vec<u8>>,
    /// All records but those of a pipe's header, and the numbers of those.
    bytes: Vec<u8>,
    kinds: BTreeMap<RecordType, u64>,
}

impl Sink for Told {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> perfconv::Result<()> {
        *self.kinds.entry(raw.header().kind).or_default() += 1;
        if !is_header(raw.header().kind) {
            self.bytes.extend_from_slice(raw.bytes());
        }
        if raw.header().kind == RecordType::MMAP2 {
            let (body, _) = meta.events.split(raw);
            let (map, _) = abi::parse::<Mmap2>(body, raw.endian(), (raw.header().misc,)).expect("a whole MMAP2");
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

fn told(path: &Path) -> Option<Told> {
    let mut told = Told::default();
    let source = Source::open(Input::Path(path.to_owned()), ReadOptions::default()).ok()?;
    let (meta, _) = source.run(&mut told).ok()?;
    let ids = |ids: &[(Misc, abi::record::build_id::BuildId)]| {
        ids.iter()
            .map(|(misc, id)| (String::from_utf8_lossy(id.filename.text()).into_owned(), to_hex(id.id(*misc))))
            .collect()
    };
    told.table = ids(&meta.build_ids());
    told.records = ids(&meta.build_id_records);
    told.features = meta.features.iter().map(|(&id, bytes)| (id, bytes.to_vec())).collect();
    told.features.remove(&FeatureId::BUILD_ID);
    if meta.container == Container::Pipe {
        // Of other numbers than those of the input, as there are more of them.
        told.kinds.remove(&RecordType::HEADER_BUILD_ID);
    }
    Some(told)
}

/// What `perf buildid-list` tells, where it tells an id.
fn listed(made: &Made, path: &Path) -> BTreeMap<String, String> {
    let list = run_other(made.perf(&["buildid-list", "-i"]).arg(path));
    let list = String::from_utf8_lossy(&list.stdout).into_owned();
    let ids = list.lines().filter(|line| !line.starts_with(' ')).filter_map(|line| line.split_once(' '));
    ids.map(|(id, name)| (name.trim().to_owned(), id.to_owned())).collect()
}

/// Whether perf reads these ids. Of a pipe and of maps it lists but the files that samples are in.
fn are_read(made: &Made, path: &Path, ids: &BTreeMap<String, String>) {
    let listed = listed(made, path);
    assert!(listed.len() >= 2 && listed.contains_key(&made.text("with-id")), "{path:?}: {listed:?}");
    assert!(listed.iter().all(|told| ids.get_key_value(told.0) == Some(told)), "perf: {listed:?}, ours: {ids:?}");
}

/// The differences that there are to be: perf tells the id of its own vdso for that which was recorded, by the name of a
/// temporary file, and perf 6.1 that of no kernel. Nor does it tell how long they are: they are filled up with zeros.
fn differ(perf: &BTreeMap<String, String>, ours: &BTreeMap<String, String>) -> Option<String> {
    let without = |ids: &BTreeMap<String, String>, name: &str| {
        let ids = ids.iter().filter(|(file, _)| *file != name && !file.contains("vdso"));
        ids.map(|(file, id)| (file.clone(), id.trim_end_matches("00000000").to_owned())).collect::<BTreeMap<_, _>>()
    };
    let kernel = if perf.contains_key("[kernel.kallsyms]") { "" } else { "[kernel.kallsyms]" };
    let (perf, ours) = (without(perf, kernel), without(ours, kernel));
    (perf != ours).then(|| format!("perf inject has {perf:?}, and we have {ours:?}"))
}

#[test]
fn the_ids_that_perf_inject_tells() {
    let Some(made) = made() else { return };
    let known = format!("00112233445566778899aabbccddeeff00112233 {},aabb /no/such", made.text("with-id"));
    let mut compared = 0;
    for args in [&["-b"][..], &["--buildid-all"], &["-b", "--known-build-ids", &known]] {
        for (program, _) in PROGRAMS {
            let input = made.path(&format!("{program}.data"));
            let perfs = made.path("perf-inject.data");
            let inject = run_other(made.perf(&["inject", "-f"]).args(args).arg("-i").arg(&input).arg("-o").arg(&perfs));
            assert_eq!(inject.status, 0, "{}", inject.stderr);
            let warnings = made.rewrite(&input, "ours.data", args);
            let [before, perfs, ours] = [&input, &perfs, &made.path("ours.data")].map(|path| told(path).unwrap());
            assert_eq!(differ(&perfs.table, &ours.table), None, "{program} {args:?}");
            assert_eq!(differ(&listed(made, &made.path("ours.data")), &ours.table), None, "{program} {args:?}");
            // The C library, the program, and by chance the kernel.
            let least = if program == "without-id" { 1 } else { 2 };
            assert!(ours.table.len() >= least, "{program} {args:?}: {:?}", ours.table);
            compared += perfs.table.len();
            // What perf inject loses.
            assert!(before.features.len() > 10 && before.features == ours.features, "{program} {args:?}");
            assert_ne!(before.features[&FeatureId::CMDLINE], perfs.features[&FeatureId::CMDLINE]);
            assert!(before.bytes == ours.bytes, "{program} {args:?}: other records");
            // The program that has none.
            let none = format!("no build id for {}: the file has none", made.text("without-id"));
            assert_eq!(warnings, if program == "without-id" { vec![none] } else { vec![] }, "{program} {args:?}");
            let check = run(perfconv().arg("check").arg(made.path("ours.data")));
            assert_eq!(check.status, run(perfconv().arg("check").arg(&input)).status, "{}", check.stderr);
        }
    }
    say(format_args!("build ids: {compared} ids of perf inject are ours, with all features and records as they were"));
}

#[test]
fn callers_have_their_ids_too() {
    let Some(made) = made() else { return };
    made.rewrite(&made.path("g.data"), "callers.data", &["-b"]);
    let table = told(&made.path("callers.data")).unwrap().table;
    // The program is a caller of the C library, and this of its main.
    assert!(table.contains_key(&made.text("with-id")) && table.keys().any(|name| name.contains("libc")), "{table:?}");
}

#[test]
fn compressed_and_piped_recordings_that_perf_inject_leaves_without() {
    let Some(made) = made() else { return };
    made.rewrite(&made.path("with-id.data"), "plain.data", &["--buildid-all"]);
    let plain = told(&made.path("plain.data")).unwrap().table;
    for name in ["frames.data", "pipe.data"] {
        let before = told(&made.path(name)).unwrap();
        for arg in ["--buildid-all", "-b"] {
            made.rewrite(&made.path(name), "with.data", &[arg]);
            let after = told(&made.path("with.data")).unwrap();
            assert_eq!((&before.table, before.features == after.features), (&BTreeMap::new(), true), "{name} {arg}");
            // Frames stay as they are, too.
            assert!(before.bytes == after.bytes && before.kinds == after.kinds, "{name} {arg}: other records");
            assert!(after.table.contains_key(&made.text("with-id")), "{name} {arg}: {:?}", after.table);
            assert!(after.table.iter().all(|told| arg == "-b" || plain.get_key_value(told.0) == Some(told)), "{name}");
            are_read(made, &made.path("with.data"), &after.table);
        }
        // And so do those who read it.
        let run = run(perfconv().arg(made.path("with.data")).arg("-o").arg(made.path("out.pb.gz")).arg("-f"));
        assert_eq!(run.status, 0, "{}", run.stderr);
        let profile = profile(&made.path("out.pb.gz"));
        let text = |index: i64| &profile.string_table[index as usize];
        let ids: BTreeMap<_, _> =
            profile.mapping.iter().map(|mapping| (text(mapping.filename), text(mapping.build_id))).collect();
        assert_eq!(ids.get(&made.text("with-id")), plain.get(&made.text("with-id")).as_ref(), "{name}");
    }
}

#[test]
fn maps_tell_ids_as_the_kernel_would_have() {
    let Some(made) = made() else { return };
    let kernels = told(&made.path("maps.data")).unwrap().maps;
    let input = made.path("with-id.data");
    for arg in ["--mmap2-buildid-all", "--mmap2-buildids"] {
        made.rewrite(&input, "ours.data", &[arg]);
        let [before, after] = [&input, &made.path("ours.data")].map(|path| told(path).unwrap());
        let mut ours = after.maps.clone();
        // The kernel tells that of its vdso.
        let shared: BTreeMap<_, _> = kernels.iter().filter(|(name, _)| *name != "[vdso]").collect();
        let also: BTreeMap<_, _> = ours.iter().filter(|(name, _)| kernels.contains_key(*name)).collect();
        assert!(also.contains_key(&made.text("with-id")) && also.len() >= 2, "{arg}: {also:?}");
        assert!(
            also.iter().all(|(name, id)| shared[name] == *id),
            "{arg}: the kernel has {shared:?}, we have {also:?}"
        );
        assert!(arg == "--mmap2-buildids" || also == shared, "{arg}: the kernel has {shared:?}, we have {also:?}");
        ours.retain(|name, _| !kernels.contains_key(name));
        assert!(ours.keys().all(|name| name == "[kernel.kallsyms]"), "{arg}: {ours:?}");
        assert_eq!(before.features, after.features);
        // The kernel's MMAP became a MMAP2, if it tells an id.
        let count = |told: &Told, kind| told.kinds.get(&kind).copied().unwrap_or(0);
        let [were, are] =
            [&before, &after].map(|told| [RecordType::MMAP, RecordType::MMAP2].map(|kind| count(told, kind)));
        let now_mmap2 = u64::from(after.maps.contains_key("[kernel.kallsyms]"));
        assert_eq!(are, [were[0] - now_mmap2, were[1] + now_mmap2], "{arg}");
        // Of a big-endian recorder, too.
        made.rewrite(&input, "big.data", &["--endian", "big"]);
        made.rewrite(&made.path("big.data"), "big-ids.data", &[arg]);
        made.rewrite(&made.path("big-ids.data"), "little.data", &["--endian", "little"]);
        assert!(told(&made.path("little.data")).unwrap().bytes == after.bytes, "{arg}: another byte order");
        let script = |path: &Path| {
            let args = ["script", "-F", "comm,pid,tid,time,event,ip,sym,dso,period", "-i"];
            String::from_utf8_lossy(&run_other(made.perf(&args).arg(path)).stdout).into_owned()
        };
        let shown = script(&made.path("ours.data"));
        assert!(shown.lines().count() > 20 && shown == script(&input), "{arg}: perf shows other samples");
        are_read(made, &made.path("ours.data"), &after.maps);
        let events = run_other(made.perf(&["script", "--show-mmap-events", "-i"]).arg(made.path("ours.data")));
        let events = String::from_utf8_lossy(&events.stdout).into_owned();
        let id = &after.maps[&made.text("with-id")];
        assert!(events.contains(&format!("<{id}>]: r-xp {}", made.text("with-id"))), "{events}");
    }
    // A map that tells it already keeps what it tells.
    made.rewrite(&made.path("maps.data"), "again.data", &["--mmap2-buildid-all"]);
    let again = told(&made.path("again.data")).unwrap().maps;
    assert!(kernels.iter().all(|told| again.get_key_value(told.0) == Some(told)), "{again:?}");
}

/// A copy of a program that was recorded, where only the test that asked for it finds it.
fn recorded_alone(made: &Made, name: &str) -> (PathBuf, PathBuf) {
    let program = made.path(name);
    fs::copy(made.path("with-id"), &program).unwrap();
    let recording = format!("{name}.data");
    assert!(made.record(name, &recording, &["-B"]));
    (program, made.path(&recording))
}

#[test]
fn a_file_that_is_not_the_recorded_one_is_not_believed() {
    let Some(made) = made() else { return };
    let (program, recording) = recorded_alone(made, "alone");
    let name = made.text("alone");
    let judge = |args: &[&str]| {
        let args = [&["--buildid-all"], args].concat();
        let warnings = made.rewrite(&recording, "judged.data", &args);
        let table = told(&made.path("judged.data")).unwrap().table;
        let others = table.keys().filter(|other| **other != name).count();
        (table.get(&name).cloned(), others, warnings)
    };
    let (id, others, warnings) = judge(&[]);
    assert!(id.is_some() && others >= 1 && warnings.is_empty(), "{warnings:?}");
    let refused = |why: &str| {
        let (id, still, warnings) = judge(&[]);
        assert_eq!((id, still), (None, others), "{why}");
        assert!(warnings.iter().any(|warning| warning.contains(&name) && warning.contains(why)), "{why}: {warnings:?}");
    };
    let bytes = fs::read(&program).unwrap();
    let was_modified = fs::metadata(&program).unwrap().modified().unwrap();
    let modified = |time: SystemTime| File::options().write(true).open(&program).unwrap().set_modified(time).unwrap();

    File::options().write(true).open(&program).unwrap().set_len(100).unwrap();
    modified(was_modified);
    refused("100 bytes, of which");
    fs::write(&program, &bytes).unwrap();
    modified(SystemTime::now() + Duration::from_secs(60));
    refused("changed since");
    modified(was_modified);
    assert_eq!(judge(&[]).0, id, "as it was");
    let copy = made.path("copy");
    fs::copy(&program, &copy).unwrap();
    fs::rename(&copy, &program).unwrap();
    modified(was_modified);
    refused("another inode");
    assert_eq!(judge(&["--symfs", "/"]).0, id, "the user says that it is the one");

    fs::remove_file(&program).unwrap();
    refused("there is no such file");
    // A cache that the user names has what was recorded.
    let cached = made.path("cache").join(name.trim_start_matches('/')).join(id.as_ref().unwrap());
    fs::create_dir_all(&cached).unwrap();
    fs::write(cached.join("elf"), &bytes).unwrap();
    assert_eq!(judge(&["--buildid-dir", &made.text("cache")]).0, id);
    let second = cached.parent().unwrap().join("aabbccdd");
    fs::create_dir(&second).unwrap();
    fs::write(second.join("elf"), "no program at all").unwrap();
    assert_eq!(judge(&["--buildid-dir", &made.text("cache")]).0, id, "what is not an ELF file of that id is none");
    let (known, _, warnings) = judge(&["--known-build-ids", &format!("aabb {name}")]);
    assert_eq!((known.as_deref(), warnings.len()), (Some("aabb"), 0));
    fs::create_dir(&program).unwrap();
    refused("another inode");
}

#[test]
fn nothing_of_this_machine_is_believed_for_another_host() {
    let Some(made) = made() else { return };
    let recording = made.path("with-id.data");
    for (feature, other) in [("hostname", "a-host-that-is-not"), ("osrelease", "2.6.31")] {
        let set = format!("{feature}={other}");
        for arg in ["-b", "--buildid-all", "--mmap2-buildids", "--mmap2-buildid-all"] {
            let warnings = made.rewrite(&recording, "other.data", &["--set", &set, arg]);
            let ids = told(&made.path("other.data")).unwrap();
            assert_eq!((ids.table.len(), ids.maps.len()), (0, 0), "{set} {arg}");
            let [warning] = &warnings[..] else { panic!("{set} {arg}: {warnings:?}") };
            assert!(warning.contains("is of another host") && warning.contains(other), "{warning}");
        }
        // Two passes say it once.
        assert_eq!(made.rewrite(&recording, "other.data", &["--set", &set, "-b", "-B"]).len(), 1);
        made.rewrite(&recording, "other.data", &["--set", &set, "-b", "--symfs", "/"]);
        assert!(told(&made.path("other.data")).unwrap().table.contains_key(&made.text("with-id")));
    }
}

#[test]
fn without_a_host_inodes_are_believed_and_names_alone_are_not() {
    let Some(made) = made() else { return };
    let args = ["--drop-feature", "hostname", "--drop-feature", "osrelease", "--buildid-all"];
    let warnings = made.rewrite(&made.path("with-id.data"), "untold.data", &args);
    let table = told(&made.path("untold.data")).unwrap().table;
    assert!(table.contains_key(&made.text("with-id")) && !table.contains_key("[kernel.kallsyms]"), "{table:?}");
    let [warning] = &warnings[..] else { panic!("{warnings:?}") };
    assert!(warning.starts_with("no build id for [kernel.kallsyms]: nothing shows that"), "{warning}");
}

/// What became of a recording.
enum Judged {
    /// Files of which perf inject and we have the same id.
    Same(usize),
    Skipped(&'static str),
    Differs(String),
}

#[test]
fn other_recordings_as_perf_inject_sees_them() {
    let test = "build ids of other recordings";
    has_corpus(test);
    if run_other(&mut with_time_limit("perf")).status == 127 {
        return say(format_args!("{test}: there is no perf, nothing is compared"));
    }
    let all = recordings();
    let results = for_each(&all, judge);
    let (mut same, mut compared, mut skipped, mut failures) = (0, 0, BTreeMap::<_, usize>::new(), Vec::new());
    for (recording, result) in all.iter().zip(results) {
        match result {
            Judged::Same(ids) => (same, compared) = (same + ids, compared + 1),
            Judged::Skipped(why) => *skipped.entry(why).or_default() += 1,
            Judged::Differs(how) => failures.push(format!("{}: {how}", recording.name)),
        }
    }
    say(format_args!("{test}: {compared} of {} compared with perf inject, {same} ids are the same", all.len()));
    skipped.iter().for_each(|(why, count)| say(format_args!("{count:6} skipped: {why}")));
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(compared >= 5, "too few were compared");
}

/// Files here taken as they are, as perf inject takes them.
fn judge(recording: &Recording) -> Judged {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let [perfs, ours] = ["perf.data", "ours.data"].map(|name| folder.path().join(name));
    let Some(before) = told(&recording.path) else { return Judged::Skipped("cannot be read at all") };
    let mut command = perfconv();
    command.args(["inject", "--buildid-all", "--symfs", "/", "-i"]).arg(&recording.path).arg("-o").arg(&ours);
    let run = run(command.env("HOME", folder.path()));
    if run.status != 0 {
        return Judged::Differs(run.stderr);
    }
    let Some(after) = told(&ours) else { return Judged::Differs("what we wrote cannot be read".to_owned()) };
    let lost: Vec<_> = before.features.keys().filter(|id| !after.features.contains_key(id)).collect();
    let is_whole = lost.iter().all(|&&id| id == FeatureId::DIR_FORMAT || id == FeatureId::COMPRESSED);
    if !is_whole || before.table.iter().any(|(name, id)| after.table.get(name) != Some(id)) {
        return Judged::Differs(format!("features {lost:?} or build ids are lost"));
    }
    let mut perf = with_time_limit("perf");
    perf.args(["inject", "-f", "--buildid-all", "-i"]).arg(&recording.path).arg("-o").arg(&perfs);
    let perf = run_other(perf.env("HOME", folder.path()).env("LC_ALL", "C"));
    let Some(told_by_perf) = told(&perfs).filter(|_| perf.status == 0) else {
        return Judged::Skipped("perf inject cannot");
    };
    let ids: Vec<_> = told_by_perf.records.iter().filter(|(name, _)| after.table.contains_key(*name)).collect();
    let Some((name, id)) = ids.iter().find(|(name, id)| after.table[*name] != **id) else {
        return if ids.is_empty() { Judged::Skipped("perf inject finds none") } else { Judged::Same(ids.len()) };
    };
    Judged::Differs(format!("{name} has {id} of perf inject and {} of us", after.table[*name]))
}

#[test]
fn what_inject_does_not_do_yet_is_said() {
    for (args, said) in [
        (&["--itrace=i100us", "--strip"][..], "--itrace: perf inject has it, and perfconv inject does not have it yet"),
        (&["--symfs", "/"], "--symfs is for --build-ids"),
        (&["-b", "--known-build-ids", "xyz /bin/cat"], "\"xyz\" is no build id"),
        (&["-b", "--known-build-ids", "/no/such/file"], "/no/such/file: cannot be read"),
    ] {
        let run = run(perfconv().arg("inject").args(args));
        assert_eq!((run.status, run.stderr.contains(said)), (2, true), "{}", run.stderr);
    }
}

/// Not through the macros, whose output the test harness hides when the test passes.
fn say(line: std::fmt::Arguments<'_>) {
    writeln!(io::stderr(), "{line}").expect("standard error can be written to");
}
